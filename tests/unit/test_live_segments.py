"""Stations of a segment as hosts: what agents send for coders, saturated and other sources."""

import json
from collections.abc import Mapping

import ethermeter as em
import pytest
from ethermeter import _core
from ethermeter.engines.live import segments
from ethermeter.engines.live.description import describe
from ethermeter.engines.live.laboratory import Laboratory
from ethermeter.faults import InputError
from ethermeter.live_test import AgentEntry
from ethermeter.trial import Trial
from measured_trials import only_trial
from msgspec.json import encode

TALKERS = em.segment(
    "experimental-3",
    title="talkers and data",
    round_trip="5.5 us",
    gap="0 bit",
    turnaround="6 us",
    stations=[
        em.stations(
            "talker",
            count=2,
            frames={"samples": {"least": "32 B", "most": "512 B", "overhead": "0 B"}},
            arrivals={"coder": {"sample": "16 bit", "every": "152.32 us"}},
            service={"uniform": ["0 us", "1 ms"]},
            backoff={"load_register": {"bits": 8, "clock": "170 ns", "ticks": True}},
        ),
        em.stations("data", count=1, frames="512 B", arrivals={"poisson_load": 0.1}),
    ],
    phases={"settle": "100 ms", "transmit": "2 s", "measure": "last 1 s", "spread": "30 ms"},
    run={"engines": ["live"]},
)
NAMES = ("station-1", "station-2", "station-3")
LABORATORY = Laboratory(
    {name: AgentEntry(name=name, control="127.0.0.1:1", address="127.0.0.1") for name in NAMES},
    "bed",
)


def trial_of(changes: Mapping[str, object] | None = None) -> Trial:
    return only_trial(TALKERS, changes)


def test_hosts_with_coders_send_frames_of_the_longest_packet_by_credit():
    text = describe(trial_of(), LABORATORY, {})
    _core.check_test(text)
    talker, _, data = json.loads(text)["flows"]
    assert talker["traffic"]["source"]["frames"] == {"kind": "fixed", "bits": 8 * 512}
    assert talker["traffic"]["source"]["arrivals"] == {"kind": "saturated"}
    # A packet of 32 octets holds 16 samples, 2.44 ms; 101 ms of packets and one more, twice.
    assert talker["traffic"]["credit_frames"] == 2 * (42 + 1)
    assert "spread_ps" not in talker["traffic"]
    assert data["traffic"]["source"]["arrivals"]["kind"] == "poisson"
    assert "credit_frames" not in data["traffic"]


def test_sources_of_hosts_begin_within_the_spread_of_the_trial():
    *_, data = json.loads(describe(trial_of(), LABORATORY, {}))["flows"]
    assert data["traffic"]["spread_ps"] == 30 * 10**9
    text = describe(trial_of({"phases.spread": "0 s"}), LABORATORY, {})
    assert all("spread_ps" not in flow["traffic"] for flow in json.loads(text)["flows"])


def test_the_medium_of_a_trial_keeps_its_coders_and_its_spread():
    trial = trial_of()
    medium = segments.segment_trial(trial, NAMES)
    found = json.loads(encode(medium.trial))
    assert found["scenario"]["flows"][0]["arrivals"]["kind"] == "coder"
    assert found["scenario"]["phases"]["spread_ps"] == 30 * 10**9
    assert found["scenario"]["media"][0]["mac"]["csma_cd"]["turnaround_ps"] == 6_000_000
    assert tuple(medium.credit) == (43, 43, None)


def test_hosts_fill_their_cards_in_advance_where_all_have_credit():
    assert segments.lead_of(trial_of().scenario).lead_ps == 0
    trial = trial_of({"stations.1": None})
    assert segments.lead_of(trial.scenario) == segments.Lead(segments.LEAD_PS, 0)


def test_packets_that_frames_cannot_hold_are_refused():
    bits = trial_of({"stations.0.arrivals.coder.sample": "12 bit"})
    with pytest.raises(InputError, match="expected whole octets in a measurement"):
        segments.check(bits)
    short = trial_of({"stations.0.frames.samples.most": "60 B"})
    with pytest.raises(InputError, match="expected at least 64 B in a measurement"):
        describe(short, LABORATORY, {})


@pytest.mark.parametrize("group", [0, 1])
def test_hosts_of_a_measurement_have_no_calls(group):
    trial = trial_of({f"stations.{group}.calls": {"every": "1 s", "duration": "1 s"}})
    with pytest.raises(InputError, match=r"calls.*must be absent in a measurement"):
        describe(trial, LABORATORY, {})
