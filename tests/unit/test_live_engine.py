"""The live engine without a network: a line of the plan as a test, and counts as rows."""

import copy
import json
import math
from collections.abc import Mapping
from typing import Any

import ethermeter as em
import pytest
from ethermeter import _core, plan
from ethermeter.api.live_tests import QUICK
from ethermeter.engines.live import Laboratory
from ethermeter.engines.live.description import (
    LINGER_NS,
    describe,
    flow_names,
    selective_acknowledgements,
)
from ethermeter.engines.live.observed import observe
from ethermeter.engines.live.places import Local, mtu_octets
from ethermeter.engines.work import Work
from ethermeter.experiment import load, shipped
from ethermeter.faults import InputError
from ethermeter.live_reports import Ceilings, HostAnswer
from ethermeter.live_test import AgentEntry
from ethermeter.scenario import FixedLengths
from ethermeter.store.trial_result import failed
from ethermeter.studies import registry
from ethermeter.trial import LIVE, Live, Trial
from measured_trials import counted, histogram, loopback, only_trial, result_of
from msgspec.structs import replace
from result_values import cautions_in, measured, results_of, values_in
from shared_experiments import pair

TWO = pair(
    [
        em.flow("load", "a", "b", data="100 B", arrivals={"poisson": "1000 /s"}),
        em.flow(
            "ping",
            "b",
            "a",
            frames="76 B",
            arrivals="saturated",
            response={"frames": "76 B", "timeout": "10 ms"},
        ),
    ],
    phases={"settle": "0.1 s", "transmit": "2 s", "measure": "middle 1 s", "drain": "0.2 s"},
    run={"engines": ["live"]},
)
FRAMES = {"flows.0.data": None, "flows.0.frames": "64 B"}
LABORATORY = loopback()


def trial_of(changes: Mapping[str, object] | None = None) -> Trial:
    return only_trial(TWO, changes)


def test_a_trial_becomes_a_test_that_the_coordinator_takes():
    trial = trial_of()
    text = describe(trial, LABORATORY, {})
    _core.check_test(text)
    test = json.loads(text)
    assert test["seed"] == trial.seed
    assert test["phases"] == {
        "settle_ns": 100_000_000,
        "transmit_ns": 2_000_000_000,
        "measure_from_ns": 500_000_000,
        "measure_to_ns": 1_500_000_000,
        "drain_ns": 200_000_000 + LINGER_NS,
        "batches": 20,
    }
    load_, ping = test["flows"]
    # 100 octets of data and what is around them: 14 + 20 + 8 + 4 (802.3-2022 § 3.2, RFC 791, RFC
    # 768).
    assert load_["traffic"]["source"]["frames"] == {"kind": "fixed", "bits": 8 * 146}
    assert load_["traffic"]["source"]["arrivals"] == {"kind": "poisson", "mean_ps": 1e9}
    source = {"frames": {"kind": "fixed", "bits": 8 * 76}, "arrivals": {"kind": "saturated"}}
    at_once = {"think": {"kind": "constant", "ps": 0}}
    asked = {"source": source, "timeout_ns": 10_000_000, "response": at_once}
    assert ping["traffic"] == {"kind": "exchange", **asked}


def test_answers_of_another_length_that_are_thought_about_become_a_response():
    text = describe(
        trial_of(
            {
                "flows.1.frames": None,
                "flows.1.data": "40 B x 1 + 100 B x 1",
                "flows.1.arrivals": {"poisson": "9 /s"},
                "flows.1.response": {"data": "1000 B", "think": "1 ms", "timeout": "10 ms"},
            }
        ),
        LABORATORY,
        {},
    )
    _core.check_test(text)
    traffic = json.loads(text)["flows"][1]["traffic"]
    assert traffic["source"]["frames"] == {
        "kind": "mix",
        "bits": [8 * 86, 8 * 146],
        "weights": [1.0, 1.0],
    }
    assert traffic["source"]["arrivals"]["kind"] == "poisson"
    assert traffic["response"] == {
        "frames": {"kind": "fixed", "bits": 8 * 1046},
        "think": {"kind": "constant", "ps": 1_000_000_000},
    }


def test_consent_is_asked_for_as_far_as_the_ceilings_of_both_hosts_have_room():
    said = {
        "a": HostAnswer(ceilings=Ceilings(rate_bps=10_000_000, rate_frames_per_s=2000)),
        "b": HostAnswer(ceilings=Ceilings(rate_bps=3_000_000, rate_frames_per_s=5000)),
    }
    flows = json.loads(describe(trial_of(), LABORATORY, said))["flows"]
    # From a to b there are two, the stream and an exchange's answers; from b to a its requests. The
    # stream's clocks are compared by a thousand frames of 96 octets a second.
    assert [(flow["most_bps"], flow["most_frames_per_s"]) for flow in flows] == [
        ((3_000_000 - 768_000) // 2, 500),
        (3_000_000 - 768_000, 1000),
    ]
    assert (flows[1]["most_response_bps"], flows[1]["most_response_frames_per_s"]) == (
        (3_000_000 - 768_000) // 2,
        500,
    )


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"flows.0.data": "17 B"}, "data = 17 B: expected at least 18 B"),
        ({**FRAMES, "flows.0.frames": "63 B"}, "frames = 63 B: expected at least 64 B"),
        ({"flows.1.response.frames": "63 B"}, "response.frames = 63 B: expected at least 64 B"),
        ({"phases.drain": None, "phases.spread": "1 s"}, "phases.spread"),
        (
            {"flows.0.data": "3000 B", "flows.0.port": "packet"},
            'expected data that fits into a frame with port = "packet"',
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_with_key_and_value(changes, fault):
    with pytest.raises(InputError) as caught:
        describe(trial_of(changes), LABORATORY, {})
    assert fault in str(caught.value)


def test_a_host_that_the_laboratory_lacks_is_named():
    laboratory = Laboratory(
        {"a": AgentEntry(name="a", control="127.0.0.1:1", address="127.0.0.1")}, "hosts.toml"
    )
    with pytest.raises(InputError, match=r"hosts\.toml: hosts\.b = \(missing\)"):
        describe(trial_of(), laboratory, {})


@pytest.mark.parametrize(
    ("kind", "changes", "fault"),
    [
        ("loopback", {**FRAMES, "flows.0.port": "packet"}, "port of flow load = packet"),
    ],
)
def test_what_cannot_be_built_on_this_machine_is_refused(kind, changes, fault):
    trial = trial_of(changes)
    with pytest.raises(InputError) as caught:
        Local(kind).check([Work(0, trial.id, trial.line)])
    assert fault in str(caught.value)


def test_interfaces_take_what_the_flows_need():
    assert mtu_octets(trial_of().scenario) == 1500
    assert mtu_octets(trial_of({**FRAMES, "flows.0.frames": "4018 B"}).scenario) == 4000


def test_flows_whose_names_are_too_long_for_a_test_are_numbered():
    scenario = trial_of().scenario
    assert flow_names(scenario) == ["load", "ping"]
    first, *rest = scenario.flows
    changed = replace(scenario, flows=(replace(first, name="x" * 61), *rest))
    assert flow_names(changed) == ["flow-0", "flow-1"]


def result() -> dict[str, Any]:
    """What agents would say of the trial: 2000 messages sent, 1990 came, 1000 in the window of 1 s;
    500 exchanges, 2 of them in vain.
    """
    stream = {
        "received": 1990,
        "reordered": 3,
        "duplicate": 4,
        "measured": {
            "frames": 1000,
            "payload_octets": 100_000,
            "first_ns": 500_000_000,
            "last_ns": 1_499_000_000,
            "delay": histogram((10_000_000, 10_000_002, 1000)),
            "spacing": histogram((999_999_999, 1_000_000_001, 999)),
        },
    }
    pacing = {
        "frames": 2000,
        "share_on_time": 0.995,
        "worst_ns": 9_000,
        "lateness": histogram((900_000, 907_000, 2000)),
    }
    return {
        "outcome": "complete",
        "agents": {"a": {"address": "127.0.0.1"}, "b": {"address": "127.0.0.2"}},
        "flows": {
            "load": {
                "cautions": ["clock-uncertain"],
                "losses": {"missing": 10, "seen": [["network", 10]], "unexplained": 0, "excess": 0},
                "sending": counted("sender", frames=2000, unsent=0, pacing=pacing),
                "receiving": counted("sink", streams=[stream]),
            },
            "ping": {
                "cautions": [],
                "sending": counted(
                    "requester",
                    requests=500,
                    answered=498,
                    lost=2,
                    queued=20,
                    since_arrival=histogram((20_000_000, 20_000_002, 498)),
                ),
                "receiving": counted("responder", requests=499, request_octets=499 * 58),
            },
        },
    }


def test_rows_are_what_the_agents_counted_over_the_time_in_which_they_did():
    rows = trial_of().scenario, observe(trial_of(), result_of(result()), took_s=3.0)
    assert measured(*rows, "offered_rate", 0)[0] == 1000
    assert measured(*rows, "message_rate", 0)[0] == 1000
    assert measured(*rows, "goodput", 0)[0] == 8 * 146 * 1000
    assert measured(*rows, "data_rate", 0)[0] == 8 * 100 * 1000
    assert measured(*rows, "loss", 0)[0] == pytest.approx(10 / 2000, rel=1e-12)
    assert measured(*rows, "reordered", 0)[0] == 3
    assert measured(*rows, "duplicates", 0)[0] == 4
    # The middle of its only bucket, 10 µs.
    assert measured(*rows, "one_way_delay", 0)[0] == pytest.approx(10.000001e-6, rel=1e-12)
    # 999 gaps from the first to the last.
    assert measured(*rows, "inter_arrival", 0)[0] == pytest.approx(1e-3, rel=1e-12)
    # Exchanges are counted over the whole transmission of 2 s.
    assert measured(*rows, "message_rate", 1)[0] == 499 / 2
    assert measured(*rows, "timed_out", 1)[0] == 2
    assert measured(*rows, "exchanges", 1) == (498, "")
    # Of those that came, 20 had not been asked by the end.
    assert measured(*rows, "offered_rate", 1)[0] == 520 / 2
    assert measured(*rows, "round_trip", 1)[0] == pytest.approx(20.000001e-6, rel=1e-12)
    assert measured(*rows, "loss", 1)[0] == pytest.approx(1 / 500, rel=1e-12)
    assert measured(*rows, "message_rate")[0] == 1000 + 499 / 2
    assert measured(*rows, "loss")[0] == pytest.approx(11 / 2500, rel=1e-12)


def test_what_nobody_counted_has_no_value_and_says_so():
    rows = trial_of().scenario, observe(trial_of(), result_of(result()), took_s=3.0)
    for metric, flow in (
        ("round_trip", 0),
        ("one_way_delay", 1),
        ("lost_queue", 0),
        ("ignored", None),
    ):
        found, cautions = measured(*rows, metric, flow)
        assert math.isnan(found)
        assert cautions == "no-samples"


@pytest.mark.parametrize(("wanted", "caution"), [(498, ""), (499, "few-samples")])
def test_fewer_exchanges_than_were_wanted_are_a_caution_of_what_they_tell(wanted, caution):
    trial = trial_of({"flows.1.response.exchanges": wanted})
    assert trial.live == Live(("udp", "udp"), (None, wanted))
    rows = trial.scenario, observe(trial, result_of(result()), took_s=3.0)
    for metric in ("exchanges", "round_trip", "round_trip_p99"):
        assert measured(*rows, metric, 1)[1] == caution
    assert measured(*rows, "message_rate", 1)[1] == ""
    assert measured(*rows, "message_rate", 0)[1] == ""


def test_a_doubtful_clock_is_a_caution_of_delays_only():
    rows = trial_of().scenario, observe(trial_of(), result_of(result()), took_s=3.0)
    assert measured(*rows, "one_way_delay", 0)[1] == "clock-uncertain"
    assert measured(*rows, "message_rate", 0)[1] == ""


@pytest.mark.parametrize(
    ("change", "caution"),
    [
        (lambda flow: flow["losses"].update(seen=[["socket", 10]]), "host-limited"),
        (lambda flow: flow.update(cautions=["consent-limited"]), "consent-limited"),
        (lambda flow: flow.update(cautions=["clock-stepped"]), "clock-stepped"),
    ],
)
def test_what_was_wrong_at_a_host_is_a_caution_of_its_flow(change, caution):
    changed = copy.deepcopy(result())
    change(changed["flows"]["load"])
    rows = trial_of().scenario, observe(trial_of(), result_of(changed), took_s=3.0)
    assert measured(*rows, "message_rate", 0)[1] == caution
    assert measured(*rows, "message_rate", 1)[1] == ""
    assert measured(*rows, "message_rate")[1] == caution


@pytest.mark.parametrize(
    ("steal", "others", "caution"),
    [
        (2, 198, ""),  # ticks: 1% of what the second processor did
        (2, 197, "cpu-steal"),
        (1, 9, ""),  # one tick, gathered since nobody knows when
        (0, 200, ""),
    ],
)
def test_what_was_taken_of_a_processor_is_a_caution_of_all_there_is(steal, others, caution):
    def edge(at: str, *processors: dict[str, int]) -> dict[str, Any]:
        return {"at": at, "host": {"processors": processors}}

    idle, before, after = (
        {"steal": 7, "user": 1},
        {"steal": 100, "user": 5},
        {"steal": 100 + steal, "user": 5 + others},
    )
    changed = copy.deepcopy(result())
    before_it = edge("transmit", idle, {"steal": 0, "user": 0})
    edges = [
        before_it,
        edge("measure_from", idle, before),
        edge("measure_to", {"steal": 7, "user": 900}, after),
    ]
    changed["agents"] = {
        "a": {"result": {"host": []}},
        "b": {"result": {"host": edges}},
        "c": {"result": None},
    }
    rows = trial_of().scenario, observe(trial_of(), result_of(changed), took_s=3.0)
    for flow in (0, 1, None):
        assert measured(*rows, "message_rate", flow)[1] == caution


MS_PS = 10**9


@pytest.mark.parametrize(
    ("lateness", "worst_ns", "of_times", "of_counts"),
    [
        # All 90 µs late, where messages come every millisecond: a tenth of that is 100 µs.
        (((90_000_000, 90_700_000, 2000),), 90_000, "", ""),
        (((100_000_000, 100_700_000, 2000),), 100_000, "late-send", ""),
        # One in a hundred by any time up to a hundredth of the window, which lasts 1 s.
        (((0, 7, 1980), (9 * MS_PS, 9 * MS_PS + 7, 20)), 10_000_000, "", ""),
        (((0, 7, 1979), (9 * MS_PS, 9 * MS_PS + 7, 21)), 10_000_000, "late-send", ""),
        (((0, 7, 1999), (11 * MS_PS, 11 * MS_PS + 7, 1)), 11_000_000, "", "late-send"),
    ],
)
def test_messages_that_left_late_are_a_caution_of_what_their_lateness_changes(
    lateness, worst_ns, of_times, of_counts
):
    changed = copy.deepcopy(result())
    pacing = changed["flows"]["load"]["sending"]["counted"]["pacing"]
    # However few were within the 5 µs that the report shows.
    pacing |= {"share_on_time": 0.0, "worst_ns": worst_ns, "lateness": histogram(*lateness)}
    rows = trial_of().scenario, observe(trial_of(), result_of(changed), took_s=3.0)
    for flow in (0, None):
        for metric in ("inter_arrival", "inter_arrival_p99", "loss"):
            assert measured(*rows, metric, flow)[1] == of_times, metric
        for metric in ("message_rate", "goodput", "data_rate", "messages", "offered_rate"):
            assert measured(*rows, metric, flow)[1] == of_counts, metric
    assert measured(*rows, "one_way_delay", 0)[1] == " ".join(
        word for word in (of_times, "clock-uncertain") if word
    )
    assert measured(*rows, "round_trip", 1)[1] == ""


@pytest.mark.parametrize(("period", "caution"), [("20 us", "late-send"), ("60 us", "")])
def test_what_pacing_cannot_do_better_on_an_idle_host_is_not_late(period, caution):
    # A tenth of 20 µs is less than 5 µs, within which an idle host sends; a tenth of 60 µs is more
    # than the 5.5 of these messages.
    trial = trial_of({"flows.0.arrivals": {"regular": period}})
    changed = copy.deepcopy(result())
    pacing = changed["flows"]["load"]["sending"]["counted"]["pacing"]
    for low_ps, expected in ((4_900_000, ""), (5_500_000, caution)):
        pacing["lateness"] = histogram((low_ps, low_ps + 7000, 2000))
        rows = trial.scenario, observe(trial, result_of(changed), took_s=3.0)
        assert measured(*rows, "inter_arrival", 0)[1] == expected


def test_a_saturated_source_has_no_times_that_it_could_miss():
    changed = copy.deepcopy(result())
    pacing = changed["flows"]["load"]["sending"]["counted"]["pacing"]
    pacing |= {"frames": 0, "share_on_time": None, "worst_ns": 0, "lateness": histogram()}
    saturated = trial_of({"flows.0.arrivals": "saturated"})
    rows = saturated.scenario, observe(saturated, result_of(changed), took_s=3.0)
    assert measured(*rows, "inter_arrival", 0)[1] == measured(*rows, "message_rate", 0)[1] == ""


def test_drops_that_were_tried_again_limit_nobody():
    changed = copy.deepcopy(result())
    changed["flows"]["load"]["losses"] = {
        "missing": 0,
        "seen": [["socket", 10]],
        "unexplained": 0,
        "excess": 10,
    }
    rows = trial_of().scenario, observe(trial_of(), result_of(changed), took_s=3.0)
    assert measured(*rows, "message_rate", 0)[1] == ""


def test_a_trial_in_vain_has_no_values_at_all():
    for trial in (trial_of(), transfer_of(STREAM)):
        assert all(math.isnan(of) for of in values_in(trial.scenario, failed()).values())
        words = cautions_in(trial.scenario, failed(), engine=LIVE)
        assert set(words.values()) == {"no-samples"}
        assert not results_of(trial.scenario, failed()).is_known()


def test_an_answer_of_which_nothing_is_said_is_as_long_as_its_request():
    (_, ping) = trial_of({"flows.1.response.frames": None}).scenario.flows
    assert ping.response.frames == ping.frames == FixedLengths(bits=8 * 76)


@pytest.mark.parametrize("study", registry.live_names())
def test_every_live_test_of_a_study_is_one_that_agents_can_be_asked_for(study):
    names = [name for name in shipped() if name.startswith(f"live/{study}/")]
    assert names
    series = set()
    for name in names:
        # What is laid over all of them by --quick fits all of them.
        for overrides in ((), QUICK):
            experiment = load(shipped()[name], overrides=overrides)
            assert "live" in experiment.engines
            trials = plan.expand([experiment]).trials
            Local("testbed").check(
                [
                    Work(at, trial.id, trial.line)
                    for at, trial in enumerate(trials)
                    if trial.engine == "live"
                ]
            )
        series |= {trial.series for trial in trials}
    assert len(series) == len(names)


STREAM: dict[str, object] = {"stream": {}}
COPY = {"size": "36 MB", "block": "4 kB", "request": "64 B", "answer": "32 B", "server": "1 ms"}


def transfer_of(job: Mapping[str, object]) -> Trial:
    copy = em.flow("copy", "a", "b", transfer={**job, "tcp": {"window": "64 kB"}})
    phases = {"transmit": "2 s", "measure": "last 1 s"}
    return only_trial(pair(copy, phases=phases, run={"engines": ["live"]}))


@pytest.mark.parametrize(
    ("job", "octets"), [(STREAM, {}), ({"stream": {"size": "36 MB"}}, {"octets": 36_000_000})]
)
def test_a_stream_of_octets_becomes_a_transfer_over_tcp(job, octets):
    trial = transfer_of(job)
    text = describe(trial, LABORATORY, {})
    _core.check_test(text)
    (flow,) = json.loads(text)["flows"]
    assert flow["port"] == "tcp"
    assert flow["traffic"] == {"kind": "transfer", **octets}
    assert flow["congestion"] == "cubic"
    assert mtu_octets(trial.scenario) == 1500


def test_hosts_of_a_testbed_acknowledge_selectively_or_not_for_all_transfers():
    scenario = transfer_of(STREAM).scenario
    assert selective_acknowledgements(scenario) is True
    (flow,) = scenario.flows
    tcp = replace(flow.transfer.tcp, sack=False)
    other = replace(flow, transfer=replace(flow.transfer, tcp=tcp))
    assert selective_acknowledgements(replace(scenario, flows=(other,))) is False
    with pytest.raises(
        InputError, match=r"flows\.\*\.transfer\.tcp\.sack = true and false: expected the same"
    ):
        selective_acknowledgements(replace(scenario, flows=(flow, other)))


@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_file_becomes_one_over_tcp_with_consent_both_ways(direction):
    trial = transfer_of({"file": {**COPY, "direction": direction}})
    text = describe(trial, LABORATORY, {})
    _core.check_test(text)
    (flow,) = json.loads(text)["flows"]
    assert (flow["port"], flow["most_response_bps"]) == ("tcp", flow["most_bps"])
    assert flow["traffic"]["kind"] == "file"
    file = flow["traffic"]["file"]
    assert (file["direction"], file["octets"], file["block_octets"]) == (
        direction,
        36_000_000,
        4000,
    )
    assert file["server"] == {"kind": "constant", "ps": 1_000_000_000}


def test_what_a_file_brought_is_blocks_and_the_time_of_all():
    def end(again: int) -> dict[str, Any]:
        return {"tcp": {"columns": {"sent_again": [0, again]}}}

    blocks = {
        "octets": 2_000_000,
        "blocks": 500,
        "round_trip": histogram((2_000_000_000, 2_000_000_002, 500)),
    }
    outcome = {
        "outcome": "complete",
        "agents": {"a": {"address": "127.0.0.1"}, "b": {"address": "127.0.0.2"}},
        "flows": {
            "copy": {
                "cautions": [],
                "sending": counted(
                    "client", **end(1), completion_ns=1_800_000_000, measured=blocks
                ),
                "receiving": counted("server", **end(2)),
            }
        },
    }
    trial = transfer_of({"file": {**COPY, "direction": "read"}})
    rows = trial.scenario, observe(trial, result_of(outcome), took_s=2.0)

    def at(metric: str) -> float:
        return measured(*rows, metric, 0)[0]

    assert at("data_rate") == pytest.approx(8 * 2_000_000, rel=1e-12)  # in a window of a second
    assert at("transfer_rate") == pytest.approx(8 * 36_000_000 / 1.8, rel=1e-12)
    assert at("exchanges") == 500
    assert at("retransmitted") == 3
    assert at("round_trip") == pytest.approx(2.000000001e-3, rel=1e-12)
    assert math.isnan(at("message_rate"))


def test_rates_of_a_transfer_are_those_from_the_first_read_to_the_last():
    tcp = {"columns": {"sent_again": [0, 3]}}
    copied = {
        "cautions": [],
        "sending": counted("bulk-sender", octets=2_000_000, tcp=tcp),
        "receiving": counted(
            "bulk-receiver",
            octets=2_000_000,
            last_ns=1_900_000_000,
            measured={"octets": 1_000_000, "data_rate_bps": 9_400_000.0},
        ),
    }
    outcome = {
        "outcome": "complete",
        "agents": {"a": {"address": "127.0.0.1"}, "b": {"address": "127.0.0.2"}},
        "flows": {"copy": copied},
    }
    trial = transfer_of({"stream": {"size": "2 MB"}})
    rows = trial.scenario, observe(trial, result_of(outcome), took_s=2.0)

    def at(metric: str) -> tuple[float, str]:
        return measured(*rows, metric, 0)

    assert at("data_rate") == (pytest.approx(9_400_000, rel=1e-12), "")
    # All of it was there after 1.9 s.
    assert at("transfer_rate")[0] == pytest.approx(8 * 2_000_000 / 1.9, rel=1e-12)
    assert at("retransmitted") == (3, "")
    for metric in ("message_rate", "goodput", "loss", "one_way_delay", "timeouts"):
        assert math.isnan(at(metric)[0])
        assert at(metric)[1] == "no-samples"
