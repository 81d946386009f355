"""Estimates of whole runs: which interval applies, which cautions they have, what they cost."""

import json
import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import synthetic_run
from ethermeter.metrics import Metric
from ethermeter.results import estimates
from ethermeter.results.interval import quantile


@pytest.fixture(scope="module")
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_run.study(
        tmp_path_factory.mktemp("runs") / "five",
        replications=5,
        series=("I-2",),
        counts=(1, 2, 5, 9),
    )


def whole(run: Path, trial: str, metric: Metric) -> float:
    rows = pq.read_table(run / "values.parquet").to_pylist()
    found = [
        row["value"]
        for row in rows
        if row["trial"] == trial and row["metric"] == metric.value and row["entity"] == -1
    ]
    return float(found[0])


def test_five_replications_give_students_interval(replicated):
    point = next(
        p
        for p in estimates.compute(replicated)
        if p.point == {"stations.count": "9", "stations.frames": "512 B"}
    )
    plan = [
        json.loads(line)
        for line in (replicated / "plan.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    trials = [line["id"] for line in plan if line["point"] == point.point]
    values = np.array([whole(replicated, trial, Metric.BIT_RATE) for trial in trials])
    found = point.estimates[Metric.BIT_RATE]
    assert point.replications == len(values) == 5
    assert found.value == pytest.approx(values.mean(), rel=1e-12)
    assert found.half_width == pytest.approx(
        2.776445 * values.std(ddof=1) / math.sqrt(5), rel=1e-6
    )  # t(4) = 2.776445
    assert found.cautions == ()


def test_one_replication_takes_its_interval_from_batches(study_run):
    point = next(
        p
        for p in estimates.compute(study_run)
        if p.series == "I-2" and p.point["stations.count"] == "9"
    )
    delay, percentile = (
        point.estimates[Metric.TRANSMISSION_DELAY],
        point.estimates[Metric.DELAY_P99],
    )
    assert delay.degrees == synthetic_run.BATCHES - 1
    assert delay.has_interval
    assert not percentile.has_interval
    assert delay.cautions == percentile.cautions == ()


def test_fewer_than_three_replications_are_a_caution_of_the_run_once_and_of_no_value(study_run):
    points = estimates.compute(study_run)
    assert estimates.run_cautions(points) == ["one-replication"]
    written = estimates.text_of(points)
    assert json.loads(written)["cautions"] == ["one-replication"]
    assert written.count("one-replication") == 1
    words = {
        word for point in points for found in point.estimates.values() for word in found.cautions
    }
    assert words <= {"illegal-frame-length", "correlated-batches", "no-samples"}
    three = [replace(point, replications=3) for point in points]
    assert estimates.run_cautions(three) == json.loads(estimates.text_of(three))["cautions"] == []
    # A formula has no replications that it could lack.
    assert (
        estimates.run_cautions(
            [*three, replace(points[0], engine="theory/lam-1980", replications=1)]
        )
        == []
    )


def test_batch_interval_equals_leaving_batches_out_by_hand(study_run):
    points = estimates.compute(study_run)
    point = next(
        p
        for p in points
        if p.series == "I-2" and p.point == {"stations.count": "5", "stations.frames": "1536 B"}
    )
    plan = [
        json.loads(line)
        for line in (study_run / "plan.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    trial = next(
        line["id"] for line in plan if line["series"] == "I-2" and line["point"] == point.point
    )
    rows = [
        row
        for row in pq.read_table(study_run / "station-batches.parquet").to_pylist()
        if row["trial"] == trial
    ]

    def mean_delay(kept: list[dict[str, float]]) -> float:
        return sum(row["delay_ps"] for row in kept) / sum(row["frames"] for row in kept) / 1e12

    def half_width(parts: int) -> float:
        """Of Student's t interval with neighbours merged into as many batches, by pseudo-values."""
        without = np.array(
            [mean_delay([row for row in rows if row["batch"] != batch]) for batch in range(20)]
        )
        influence = (19 * (without.mean() - without)).reshape(parts, -1).mean(axis=1)
        return float(influence.std(ddof=1)) / math.sqrt(parts) * quantile(parts - 1)

    found = point.estimates[Metric.TRANSMISSION_DELAY]
    t_half = found.error * quantile(found.degrees)
    assert t_half >= max(half_width(parts) for parts in (20, 10, 5)) * (1 - 1e-9)
    assert t_half == pytest.approx(max(half_width(parts) for parts in (20, 10, 5)), rel=0.5), (
        "and little more, for batches are independent"
    )
    assert min(found.value - found.low, found.high - found.value) == pytest.approx(t_half, rel=1e-9)


def test_two_replications_pool_their_batches(tmp_path):
    run = synthetic_run.study(tmp_path / "two", replications=2, series=("I-2",), counts=(6,))
    found = estimates.compute(run)[0].estimates[Metric.PACKET_RATE]
    assert found.degrees == 2 * (synthetic_run.BATCHES - 1)


def test_cautions_reach_their_points_only(study_run):
    for point in estimates.compute(study_run):
        is_long = point.point["stations.frames"] in ("2048 B", "3072 B", "4000 B")
        assert ("illegal-frame-length" in point.estimates[Metric.UTILISATION].cautions) == is_long


def test_file_survives_reading_and_writing(study_run):
    path = estimates.write(study_run)
    text = path.read_text(encoding="utf-8")
    assert "NaN" not in text
    assert estimates.text_of(estimates.points_of(text)) == text
    one = json.loads(text)["points"][0]["estimates"]["bit_rate_sd"]
    assert one["value"] is None  # one host has no spread over hosts


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "estimates.json").write_text('{"points": [{}]}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"estimates\.json: content = .*: not an estimates file"):
        estimates.read(tmp_path)


def test_analysis_of_the_study_takes_well_under_a_second_of_processor_time(study_run):
    estimates.compute(study_run)
    before = time.process_time()
    estimates.write(study_run)
    assert (
        time.process_time() - before < 3
    )  # measured 0.4 s; three seconds leave room for a slow and busy machine
