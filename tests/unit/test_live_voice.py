"""The live engine's voice without a network: coders as agents are told them, and what agents
counted of samples as rows.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import ethermeter as em
import pytest
from ethermeter import _core
from ethermeter.engines.live.description import describe
from ethermeter.engines.live.observed import observe
from ethermeter.engines.live.places import mtu_octets
from ethermeter.faults import InputError
from ethermeter.store.trial_result import failed
from ethermeter.trial import Trial
from measured_trials import counted, histogram, loopback, only_trial, result_of
from result_values import measured
from shared_experiments import pair

TALKER = pair(
    [
        em.flow(
            "talk",
            "a",
            "b",
            data={"samples": {"least": "172 B", "most": "972 B", "overhead": "12 B"}},
            arrivals={"coder": {"codec": "g711"}},
        ),
        em.flow("load", "b", "a", data="100 B", arrivals={"regular": "1 ms"}),
    ],
    phases={"transmit": "2 s", "measure": "middle 1 s"},
    run={"engines": ["live"]},
)
CODER = {"kind": "coder", "sample_bits": 8, "sample_ps": 125_000_000}


def trial_of(changes: Mapping[str, object] | None = None) -> Trial:
    return only_trial(TALKER, changes)


def frames(least: str) -> dict[str, object]:
    """Frames of samples instead of data."""
    samples = {"least": least, "most": "972 B", "overhead": "30 B"}
    return {"flows.0.data": None, "flows.0.frames": {"samples": samples}}


def samples(overhead: int, least: int, most: int) -> dict[str, Any]:
    return {
        "kind": "samples",
        "overhead_bits": 8 * overhead,
        "min_bits": 8 * least,
        "max_bits": 8 * most,
    }


@pytest.mark.parametrize(
    ("address", "changes", "around"),
    [
        # 14 + 20 + 8 + 4 octets around the data of UDP over IPv4, 20 more over IPv6.
        ("127.0.0.", {}, 46),
        ("fd00::", {}, 66),
        # Raw frames as long as those of UDP over IPv4.
        ("127.0.0.", {"flows.0.port": "packet"}, 46),
        ("127.0.0.", frames("172 B"), 0),
    ],
)
def test_a_coder_becomes_a_stream_of_frames_of_samples_that_the_coordinator_takes(
    address, changes, around
):
    trial = trial_of(changes)
    text = describe(trial, loopback(address), {})
    _core.check_test(text)
    traffic = json.loads(text)["flows"][0]["traffic"]
    overhead = 12 if around else 30
    assert traffic["source"]["frames"] == samples(around + overhead, around + 172, around + 972)
    assert traffic["source"]["arrivals"] == CODER
    assert mtu_octets(trial.scenario) == 1500


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"flows.0.data.samples.least": "28 B"},
            "data.samples.least = 28 B: expected at least 29 B",
        ),
        (frames("74 B"), "frames.samples.least = 74 B: expected at least 75 B"),
        ({"flows.0.port": "tcp"}, '"tcp"'),
    ],
)
def test_voice_that_cannot_be_measured_is_refused_with_key_and_value(changes, fault):
    with pytest.raises(InputError) as caught:
        describe(trial_of(changes), loopback("127.0.0."), {})
    assert fault in str(caught.value)


def stream(frames: int) -> dict[str, Any]:
    measured = {
        "frames": frames,
        "payload_octets": 200 * frames,
        "first_ns": 0,
        "last_ns": 10**9,
        "delay": histogram((1_000_000, 1_000_002, frames)),
        "spacing": histogram((999_999_999, 1_000_000_001, frames - 1)),
    }
    return {"received": 2 * frames, "reordered": 0, "duplicate": 0, "measured": measured}


def result() -> dict[str, Any]:
    """8000 samples made in the window: 7000 sent, 900 lost at the talker, 100 left; 6500 came, in
    packets that took 30 or 50 ms.
    """
    pacing = {
        "frames": 80,
        "share_on_time": 1.0,
        "worst_ns": 1000,
        "lateness": histogram((1_000_000, 1_000_002, 80)),
    }
    said = {"made": 8000, "sent": 7000, "lost": 900, "left": 100, "packets": 35}
    heard = {
        "packets": 33,
        "samples": 6500,
        "voice_delay": histogram(
            (30_000_000_000, 30_000_000_002, 30), (50_000_000_000, 50_000_000_002, 3)
        ),
        "sample_delay": histogram(
            (30_000_000_000, 30_000_000_002, 6000), (50_000_000_000, 50_000_000_002, 500)
        ),
    }
    talk, load_ = stream(40), stream(1000)
    talk["voice"] = {"packets": 80, "samples": 15_000, "measured": heard}
    sent = counted("sender", frames=84, unsent=0, pacing=pacing, voice={"measured": said})
    losses = {"missing": 0, "seen": [], "unexplained": 0, "excess": 0}
    return {
        "outcome": "complete",
        "agents": {"a": {"address": "127.0.0.1"}, "b": {"address": "127.0.0.2"}},
        "flows": {
            "talk": {
                "cautions": ["clock-uncertain"],
                "losses": losses,
                "sending": sent,
                "receiving": counted("sink", streams=[talk]),
            },
            "load": {
                "cautions": [],
                "losses": losses,
                "sending": counted("sender", frames=2000, unsent=0, pacing=pacing),
                "receiving": counted("sink", streams=[load_]),
            },
        },
    }


def test_every_sample_that_was_made_is_in_one_row():
    rows = trial_of().scenario, observe(trial_of(), result_of(result()), took_s=1.0)
    expected = {
        "samples_offered": 8000,
        "samples_delivered": 6500,
        "samples_lost": 900 + 500,
        "samples_lost_host": 900,
        "samples_buffered": 100,
        "sample_loss": 1400 / 7900,
        # Middles of buckets.
        "voice_delay": (30 * 30e-3 + 3 * 50e-3) / 33,
        "sample_delay": (6000 * 30e-3 + 500 * 50e-3) / 6500,
        "one_way_delay": (30 * 30e-3 + 3 * 50e-3) / 33,
        "message_rate": 40,
        "offered_rate": 35,
        "loss": 2 / 35,
        # 200 octets of data a packet on average and 46 around them.
        "goodput": 8 * 246 * 40,
        "data_rate": 8 * 200 * 40,
    }
    for metric, wanted in expected.items():
        assert measured(*rows, metric, 0)[0] == pytest.approx(wanted, rel=1e-9), metric
    for metric in ("samples_offered", "sample_loss", "sample_delay"):
        assert measured(*rows, metric)[0] == pytest.approx(expected[metric], rel=1e-9), metric
    # The stream has no samples, and no rating.
    assert measured(*rows, "samples_offered", 1)[0] == 0
    assert math.isnan(measured(*rows, "sample_delay", 1)[0])
    assert math.isnan(measured(*rows, "mos", 1)[0])
    # A fifth of the samples is lost: with G.711 that conceals nothing hardly anybody is content.
    assert 1 <= measured(*rows, "mos", 0)[0] < 2.5


def test_a_doubtful_clock_is_a_caution_of_what_it_measures():
    rows = trial_of().scenario, observe(trial_of(), result_of(result()), took_s=1.0)
    for metric in ("voice_delay", "sample_delay_p99", "rating", "one_way_delay"):
        assert measured(*rows, metric, 0)[1] == "clock-uncertain"
    assert measured(*rows, "sample_loss", 0)[1] == ""


def test_a_listener_to_whom_nothing_came_has_lost_all_that_was_sent():
    said = result()
    said["flows"]["talk"]["receiving"]["counted"]["streams"][0] |= {"voice": None, "received": 0}
    rows = trial_of().scenario, observe(trial_of(), result_of(said), took_s=1.0)
    assert measured(*rows, "samples_lost", 0)[0] == 900 + 7000
    assert measured(*rows, "sample_loss", 0)[0] == 1


def test_of_a_trial_in_vain_nothing_is_known_of_samples():
    rows = trial_of().scenario, failed()
    for metric in ("samples_offered", "samples_lost", "sample_loss", "voice_delay", "mos"):
        found, cautions = measured(*rows, metric, 0)
        assert math.isnan(found)
        assert cautions == "no-samples"
