"""What is measured by parts: their sums are the figures of the whole, and one replication has the
intervals that follow from them.
"""

from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis.flows import each_flow
from ethermeter.analysis.groups import FLOW_METRICS
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.metrics.evaluation import of_each_part
from ethermeter.results.interval import Estimate
from ethermeter.results.slices import batch_slices
from ethermeter.results.unseen import is_unseen
from ethermeter.results.values import values_of_each
from ethermeter.store import RunDirectory
from flow_totals import together
from live_runs import measure
from shared_experiments import pair

WINDOW = {"window": "16 kB"}
BLOCKS = {
    "direction": "read",
    "block": "2000 B",
    "request": "64 B",
    "answer": "64 B",
    "client": "5 ms",
}
ALL_KINDS = pair(
    [
        em.flow("load", "a", "b", data="100 B x 1 + 200 B x 1", arrivals={"poisson": "500 /s"}),
        em.flow(
            "ask",
            "b",
            "a",
            data="100 B",
            arrivals={"poisson": "100 /s"},
            response={"data": "400 B", "timeout": "200 ms"},
        ),
        em.flow("bulk", "b", "a", transfer={"stream": {}, "tcp": WINDOW}),
        em.flow("copy", "a", "b", transfer={"file": BLOCKS, "tcp": WINDOW}),
    ],
    phases={"transmit": "1.2 s", "measure": "last 1 s", "drain": "0.2 s"},
    run={"engines": ["live"], "batches": 8},
)
OF_STREAM = {
    *(
        Metric.MESSAGE_RATE,
        Metric.FRAME_RATE,
        Metric.GOODPUT,
        Metric.DATA_RATE,
        Metric.MESSAGES,
        Metric.ONE_WAY_DELAY,
    ),
    *(Metric.INTER_ARRIVAL, Metric.EXCHANGES, Metric.TIMED_OUT, Metric.DROPPED),
}
FOLLOWS = {
    "load": OF_STREAM,
    "ask": {Metric.ROUND_TRIP, Metric.EXCHANGES, Metric.TIMED_OUT, Metric.DROPPED},
    "bulk": {Metric.EXCHANGES},
    "copy": {Metric.DATA_RATE, Metric.ROUND_TRIP, Metric.EXCHANGES},
}


def check_sums(flows: dict[str, Any]) -> None:
    """Counts of all parts are those of the whole, exactly."""
    measured = flows["load"]["receiving"]["counted"]["streams"][0]["measured"]
    parts = measured["batches"]

    def total(of: list[dict[str, int]], name: str) -> int:
        return sum(batch[name] for batch in of)

    assert len(parts) == 8
    assert total(parts, "frames") == measured["frames"] > 0
    assert total(parts, "payload_octets") == measured["payload_octets"]
    assert total(parts, "delays") == measured["delay"]["total"]
    assert total(parts, "spacings") == measured["frames"] - 1
    assert total(parts, "spacing_ns") == measured["last_ns"] - measured["first_ns"]
    asked = flows["ask"]["sending"]["counted"]
    assert total(asked["batches"], "requests") == asked["requests"] > 0
    complete = total(asked["batches"], "complete")
    assert complete == asked["complete"] == asked["since_arrival"]["total"]
    bulk = flows["bulk"]["receiving"]["counted"]["measured"]
    assert sum(bulk["batches"]) == bulk["octets"] > 0
    copied = flows["copy"]["sending"]["counted"]["measured"]
    blocks = total(copied["batches"], "blocks")
    assert blocks == copied["blocks"] == copied["round_trip"]["total"] > 0
    assert total(copied["batches"], "octets") == copied["octets"]
    # Means by sums are within the buckets, which are narrower than 0.8% of their times.
    for parts_, sum_ps, counts, histogram in (
        (parts, 1000 * total(parts, "delay_ns"), "delays", measured["delay"]),
        (
            asked["batches"],
            total(asked["batches"], "since_arrival_ps"),
            "complete",
            asked["since_arrival"],
        ),
        (
            copied["batches"],
            1000 * total(copied["batches"], "round_trip_ns"),
            "blocks",
            copied["round_trip"],
        ),
    ):
        low_ps, high_ps = (
            sum(bucket[at] * bucket[2] for bucket in histogram["buckets"]) for at in (0, 1)
        )
        assert low_ps <= sum_ps <= high_ps
        assert total(parts_, counts) == histogram["total"]


@pytest.mark.parametrize("place", ["loopback", pytest.param("testbed", marks=pytest.mark.root)])
def test_parts_add_up_and_one_replication_has_the_intervals_that_follow(tmp_path, place):
    measured = measure(ALL_KINDS, tmp_path, "--on", place, "--no-report")
    flows = measured.result()["flows"]
    check_sums(flows)
    rate = check_intervals(RunDirectory(measured.run))
    # The error of the mean of eight parts of an eighth of a second each.
    parts = flows["load"]["receiving"]["counted"]["streams"][0]["measured"]["batches"]
    rates = 8 * np.array([part["frames"] for part in parts])
    assert rate.error == pytest.approx(rates.std(ddof=1) / np.sqrt(8))


def check_intervals(run: RunDirectory) -> Estimate:
    """Which metrics have intervals of one replication, and that sums of parts are what was
    observed; return the rate of messages.
    """
    trials = run.trials()
    ((_, _, by_batch),) = batch_slices(run, trials)
    each = of_each_part(metrics_of(EntityKind.FLOW), EntityKind.FLOW, together(by_batch))
    (seen,) = values_of_each(run, trials, list(each))
    points = {point.point["stations"]: point.estimates for point in each_flow(run, trials)}
    for flow, (name, metrics) in enumerate(FOLLOWS.items()):
        # What was not seen has a limit, whether it is counted by batch or not.
        limited = {
            metric
            for metric, found in points[name].items()
            if is_unseen(metric, found.value, "live") and found.has_interval
        }
        assert {
            metric for metric, found in points[name].items() if found.has_interval
        } == metrics & set(FLOW_METRICS) | limited, name
        for metric in metrics:
            assert each[metric][0, 0, flow] == pytest.approx(
                seen[metric][flow], rel=1e-12, abs=1e-15
            ), (name, metric)
    rate = points["load"][Metric.MESSAGE_RATE]
    assert rate.degrees == 7
    return rate
