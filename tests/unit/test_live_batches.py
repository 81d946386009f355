"""What agents count by parts of what they measure: asked for, as rows, and what follows from it and
what does not.
"""

import copy
import json
import math
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter import _core
from ethermeter.analysis.groups import _means_of_known
from ethermeter.counts import Floats
from ethermeter.engines.live.counts import stream_batches
from ethermeter.engines.live.description import describe
from ethermeter.engines.live.observed import observe
from ethermeter.live_reports import SinkReport, StreamWindow
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.metrics.counted import flow_batches
from ethermeter.metrics.evaluation import of_all_parts, of_each_part
from ethermeter.metrics.slices import Slice
from ethermeter.results.batches import within
from ethermeter.results.estimates import errors_within
from ethermeter.store.columns import FLOW_BATCHES, NOT_COUNTED
from ethermeter.store.trial_result import TrialResult, failed
from flow_totals import together
from measured_trials import counted, loopback, only_trial, result_of
from msgspec.structs import replace
from result_values import measured
from shared_experiments import pair

# A stream of lengths that differ, requests, a stream of octets and a file; measured for 1 s in four
# parts.
ALL_KINDS = pair(
    [
        em.flow("load", "a", "b", data="100 B x 1 + 200 B x 1", arrivals={"poisson": "10 /s"}),
        em.flow(
            "ping", "b", "a", frames="76 B", arrivals="saturated", response={"timeout": "10 ms"}
        ),
        em.flow("bulk", "a", "b", transfer={"stream": {}, "tcp": {"window": "64 kB"}}),
        em.flow(
            "copy",
            "a",
            "b",
            transfer={
                "file": {
                    "direction": "read",
                    "block": "4000 B",
                    "request": "64 B",
                    "answer": "64 B",
                },
                "tcp": {"window": "64 kB"},
            },
        ),
    ],
    phases={"transmit": "2 s", "measure": "middle 1 s"},
    run={"engines": ["live"], "batches": 4},
)
OF_STREAM = {
    *(Metric.MESSAGE_RATE, Metric.FRAME_RATE, Metric.GOODPUT, Metric.DATA_RATE, Metric.MESSAGES),
    *(
        Metric.ONE_WAY_DELAY,
        Metric.INTER_ARRIVAL,
        Metric.EXCHANGES,
        Metric.TIMED_OUT,
        Metric.DROPPED,
    ),
}
OF_EXCHANGE = {Metric.ROUND_TRIP, Metric.EXCHANGES, Metric.TIMED_OUT, Metric.DROPPED}
OF_FILE = {Metric.DATA_RATE, Metric.ROUND_TRIP, Metric.EXCHANGES}


def histogram(count: int) -> dict[str, Any]:
    # Its middle is not the mean that the sums tell.
    return {"total": count, "buckets": [[10_000_000, 10_080_000, count]]}


def by_row(columns: dict[str, list[int]]) -> list[dict[str, int]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def result() -> dict[str, Any]:
    """What agents would say: 10 messages of 1300 octets and their marks, 40 exchanges of which 3
    failed, and 5 blocks.
    """
    again = {"tcp": {"columns": {"sent_again": [0]}}}
    stream = {
        "frames": [1, 4, 2, 3],
        "payload_octets": [100, 500, 300, 400],
        "delays": [1, 4, 2, 3],
        "delay_ns": [10_010, 40_120, 20_050, 30_090],
        "spacings": [0, 4, 2, 3],
        "spacing_ns": [0, 400_000_000, 150_000_000, 300_000_000],
    }
    measured = {
        "frames": 10,
        "payload_octets": 1300,
        "first_ns": 600_000_000,
        "last_ns": 1_450_000_000,
        "delay": histogram(10),
        "spacing": histogram(9),
        "batches": by_row(stream),
    }
    asked = {
        "requests": [10, 10, 12, 8],
        "complete": [10, 8, 12, 7],
        "since_arrival_ps": [100_500_000, 80_100_000, 120_900_000, 70_200_000],
    }
    blocks = {
        "octets": [4000, 8000, 4000, 4000],
        "blocks": [1, 2, 1, 1],
        "round_trip_ns": [10_010, 20_030, 10_020, 10_050],
    }
    file = {"octets": 20_000, "blocks": 5, "round_trip": histogram(5), "batches": by_row(blocks)}
    taken = {"octets": 900, "data_rate_bps": 6400.0, "batches": [100, 200, 300, 300]}
    roles = {
        "load": ("sender", "sink"),
        "ping": ("requester", "responder"),
        "bulk": ("bulk-sender", "bulk-receiver"),
        "copy": ("client", "server"),
    }
    sides: dict[str, tuple[Any, Any]] = {
        "load": (
            {"frames": 20, "unsent": 0},
            {"streams": [{"received": 20, "reordered": 0, "duplicate": 0, "measured": measured}]},
        ),
        "ping": (
            {
                "requests": 40,
                "answered": 37,
                "lost": 3,
                "queued": 0,
                "since_arrival": histogram(37),
                "batches": by_row(asked),
            },
            {"requests": 40, "request_octets": 40 * 58},
        ),
        "bulk": ({"octets": 2000, **again}, {"octets": 2000, "last_ns": 5, "measured": taken}),
        "copy": ({**again, "completion_ns": None, "measured": file}, again),
    }
    flows = {
        name: {
            "cautions": [],
            "sending": counted(roles[name][0], **sending),
            "receiving": counted(roles[name][1], **receiving),
        }
        for name, (sending, receiving) in sides.items()
    }
    return {
        "outcome": "complete",
        "agents": {"a": {"address": "127.0.0.1"}, "b": {"address": "127.0.0.2"}},
        "flows": flows,
    }


def measured_load() -> StreamWindow:
    receiving = result_of(result()).flows["load"].receiving
    assert receiving is not None
    assert isinstance(receiving.counted, SinkReport)
    return receiving.counted.streams[0].measured


def slice_of(result: TrialResult, flows: slice = slice(None)) -> Slice:
    """Read a result as the analysis does, of some flows."""
    counters = {
        name: np.where(of == NOT_COUNTED, np.nan, of)
        .astype(np.float64)
        .reshape(1, -1, 4)[..., flows]
        for name, of in result.tables[FLOW_BATCHES].items()
    }
    scenario = only_trial(ALL_KINDS).scenario
    chosen = replace(scenario, flows=scenario.flows[flows])
    return flow_batches([chosen], counters, np.zeros((1, len(chosen.flows)), np.bool_))


def observed(result: TrialResult, metric: Metric, flow: int | None = None) -> float:
    return measured(only_trial(ALL_KINDS).scenario, result, metric, flow)[0]


def each_left_out(rows: TrialResult) -> dict[Metric, Floats]:
    return of_each_part(metrics_of(EntityKind.FLOW), EntityKind.FLOW, slice_of(rows).left_out())


def told(rows: TrialResult, flow: int) -> set[Metric]:
    """Metrics of a flow that have an error from batches."""
    errors = {
        metric: within(values[:, :, flow]).error for metric, values in each_left_out(rows).items()
    }
    return {metric for metric, error in errors.items() if np.isfinite(error).all()}


def test_agents_are_told_how_many_batches_there_are():
    trial = only_trial(ALL_KINDS)
    assert trial.scenario.batches == 4
    text = describe(trial, loopback(), {})
    _core.check_test(text)
    assert json.loads(text)["phases"]["batches"] == 4


@pytest.mark.parametrize("batches", [0, 1001])
def test_a_number_of_parts_that_nobody_counts_is_refused_with_what_is_allowed(batches):
    test = json.loads(describe(only_trial(ALL_KINDS), loopback(), {}))
    test["phases"] |= {"batches": batches, "measure_to_ns": 9_000_000_000}
    with pytest.raises(
        ValueError, match=rf"within the 2000000000 ns.*batches = {batches}: must be from 1 to 1000"
    ):
        _core.check_test(json.dumps(test))


def test_sums_of_all_batches_are_what_is_observed_and_nothing_else_has_an_error():
    rows = observe(only_trial(ALL_KINDS), result_of(result()), took_s=1.0)
    each = of_each_part(metrics_of(EntityKind.FLOW), EntityKind.FLOW, together(slice_of(rows)))
    for flow, metrics in enumerate((OF_STREAM, OF_EXCHANGE, {Metric.EXCHANGES}, OF_FILE)):
        assert told(rows, flow) == metrics, flow
        for metric in metrics:
            assert each[metric][0, 0, flow] == pytest.approx(
                observed(rows, metric, flow), rel=1e-12, abs=1e-15
            ), (metric, flow)
    # By hand: sums, not the middles of buckets; 46 octets are around the data of each message.
    assert observed(rows, Metric.ONE_WAY_DELAY, 0) == pytest.approx(100_270e-9 / 10, rel=1e-12)
    assert observed(rows, Metric.ROUND_TRIP, 1) == pytest.approx(371_700e-9 / 37, rel=1e-12)
    assert observed(rows, Metric.ROUND_TRIP, 3) == pytest.approx(50_110e-9 / 5, rel=1e-12)
    assert each[Metric.GOODPUT][0, 0, 0] == 8 * (1300 + 10 * 46)
    assert each[Metric.TIMED_OUT][0, 0, 1] == 3


def test_of_all_flows_together_there_is_what_all_of_them_count_by_part():
    rows = observe(only_trial(ALL_KINDS), result_of(result()), took_s=1.0)
    found = errors_within(
        [(np.array([0]), of_all_parts(EntityKind.FLOW, slice_of(rows).left_out()))], 1
    )
    # Octets in bulk have no rate by part, exchanges no messages, a file no timeouts.
    follows = {Metric.EXCHANGES, Metric.ROUND_TRIP, Metric.INTER_ARRIVAL}
    assert {metric for metric, of in found.items() if math.isfinite(of.error[0])} == follows
    whole = of_all_parts(EntityKind.FLOW, together(slice_of(rows)))
    for metric in follows:
        assert whole[metric][0, 0] == pytest.approx(observed(rows, metric), rel=1e-12), metric
    assert whole[Metric.EXCHANGES][0, 0] == 37 + 5
    first = of_all_parts(EntityKind.FLOW, slice_of(rows, slice(0, 1)).left_out())
    alone = errors_within([(np.array([0]), first)], 1)
    assert {metric for metric, of in alone.items() if math.isfinite(of.error[0])} == OF_STREAM
    # With one part of a quarter of a second left out: 9, 6, 8 and 7 messages in 0.75 s.
    rates = np.array([9, 6, 8, 7]) / 0.75
    assert alone[Metric.MESSAGE_RATE].error[0] == pytest.approx(
        math.sqrt(3 / 4 * np.square(rates - 10).sum()), rel=1e-12
    )
    assert alone[Metric.MESSAGE_RATE].degrees[0] == 3


def test_what_was_not_counted_by_part_of_a_stream_has_no_error():
    trial = only_trial(ALL_KINDS)

    def left(**changes: Any) -> set[Metric]:
        said = copy.deepcopy(result())
        load = said["flows"]["load"]
        load["sending"]["counted"]["unsent"] = changes.pop("unsent", 0)
        batches = load["receiving"]["counted"]["streams"][0]["measured"]["batches"]
        for name, column in changes.items():
            for batch, count in zip(batches, column, strict=True):
                batch[name] = count
        return OF_STREAM - told(observe(trial, result_of(said), took_s=1.0), 0)

    # One message came before it was sent: its delay is in no sum.
    assert left(delays=[1, 3, 2, 3]) == {Metric.ONE_WAY_DELAY}
    # When the port took some of them not is not known.
    assert left(unsent=2) == {Metric.DROPPED}
    assert "one_way_ps" not in stream_batches([measured_load()], is_voice=True, has_dropped=False)


def test_an_agent_that_counts_in_no_parts_or_in_others_leaves_its_flow_without_them():
    trial, said = only_trial(ALL_KINDS), result()
    del said["flows"]["load"]["receiving"]["counted"]["streams"][0]["measured"]["batches"]
    said["flows"]["ping"]["sending"]["counted"]["batches"] = [
        {"requests": 40, "complete": 37, "since_arrival_ps": 371_700_000}
    ]
    rows = observe(trial, result_of(said), took_s=1.0)
    assert [told(rows, flow) for flow in range(4)] == [set(), set(), {Metric.EXCHANGES}, OF_FILE]
    # Of one part the mean is exact all the same; without any it is that of the buckets.
    assert observed(rows, Metric.ROUND_TRIP, 1) == pytest.approx(371_700e-9 / 37, rel=1e-12)
    assert observed(rows, Metric.ONE_WAY_DELAY, 0) == pytest.approx(10.04e-6, rel=1e-12)
    assert not failed().tables


def test_several_receivers_are_counted_together():
    one = measured_load()
    found = stream_batches([one, one], is_voice=False, has_dropped=False)
    assert found["messages"].tolist() == [2, 8, 4, 6]
    assert found["one_way_ps"].tolist() == [20_020e3, 80_240e3, 40_100e3, 60_180e3]
    other = replace(one, batches=())
    assert not stream_batches([one, other], is_voice=False, has_dropped=False)
    assert not stream_batches([], is_voice=False, has_dropped=False)


def test_flows_have_an_interval_together_only_if_each_with_a_value_has_batches():
    # Three flows in two batches: one known in both, one that nobody counted by batch, one of which
    # there is nothing.
    values = np.array([[[1.0, np.nan, np.nan], [3.0, np.nan, np.nan]]])
    known = np.array([[True, False, False]])
    assert _means_of_known(values, known).tolist() == [[1.0, 3.0]]
    assert np.isnan(_means_of_known(values, known | np.array([False, True, False]))).all()
