"""What follows from the sums of flows by batch: the observations themselves, intervals by hand, and
what runs without batches say.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import ethermeter as em
import numpy as np
import pyarrow.parquet as pq
import pytest
from ethermeter.analysis import flows
from ethermeter.analysis.flows_file import FlowsFile
from ethermeter.json_values import plain
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.metrics.evaluation import of_all_parts, of_each_part
from ethermeter.metrics.slices import Slice
from ethermeter.results import estimates
from ethermeter.results.interval import Estimate
from ethermeter.results.slices import batch_slices
from ethermeter.results.values import of_all, values_of_each
from ethermeter.store import RunDirectory, directory, parquet
from ethermeter.store.columns import FLOW_BATCHES
from ethermeter.store.gathered import Gathered, gathered
from flow_totals import together

# Streams of which a queue loses some and a source refuses some, requests of which some are not
# answered in time, a group, and a transfer.
NETWORK = em.network(
    title="All kinds of flows",
    rate="100 Mb/s",
    hosts=[em.host("sender", count=3), "sink"],
    switches=[em.switch("s", queue=4)],
    links=[("sender", "s"), em.link("s", "sink", rate="10 Mb/s")],
    flows=[
        em.flow("load", "sender", "sink", frames="512 B", arrivals={"poisson": "900 /s"}, queue=2),
        em.flow(
            "ping",
            "sink",
            "sender1",
            frames="64 B",
            response={"timeout": "300 us"},
            arrivals={"poisson": "2000 /s"},
        ),
        em.flow(
            "news",
            "sender1",
            ["sender2", "sink"],
            cast="multicast",
            data="3000 B",
            arrivals={"regular": "7 ms"},
        ),
        em.flow("copy", "sender2", "sender3", transfer={"stream": {}, "tcp": {"window": "8760 B"}}),
    ],
    phases={"transmit": "300 ms", "measure": "last 250 ms", "drain": "50 ms"},
    run={"replications": 2, "batches": 7},
)
FROM_SUMS = {
    *(
        Metric.OFFERED_RATE,
        Metric.MESSAGE_RATE,
        Metric.FRAME_RATE,
        Metric.GOODPUT,
        Metric.DATA_RATE,
        Metric.LOSS,
        Metric.ONE_WAY_DELAY,
    ),
    *(
        Metric.ROUND_TRIP,
        Metric.INTER_ARRIVAL,
        Metric.MESSAGES,
        Metric.EXCHANGES,
        Metric.TIMED_OUT,
        Metric.DROPPED,
    ),
}


@dataclass(frozen=True)
class WithoutBatches:
    """A run of which nothing was counted by batch."""

    run: RunDirectory

    def gathered(self, name: str, trials: Sequence[str]) -> Gathered:
        return gathered([], trials) if name == FLOW_BATCHES else self.run.gathered(name, trials)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> em.Run:
    return em.load(NETWORK).run(out=tmp_path_factory.mktemp("flow-sums") / "run", jobs=1)


def test_all_batches_together_say_what_is_observed(run):
    trials = run.trials()
    ((_, positions, by_batch),) = batch_slices(run.directory, trials)
    assert positions.tolist() == [0, 1]
    assert by_batch["messages"].shape == (2, 7, 6)
    whole = of_all_parts(EntityKind.FLOW, together(by_batch))
    each = of_each_part(metrics_of(EntityKind.FLOW), EntityKind.FLOW, together(by_batch))
    assert set(whole) == FROM_SUMS
    assert set(each) == {*FROM_SUMS, Metric.ACKNOWLEDGEMENT_DELAY}
    observed = of_all(run.directory, trials)
    for metric, values in whole.items():
        assert values[:, 0] == pytest.approx(
            observed.values[:, observed.metrics.index(metric)], rel=1e-12, abs=1e-15
        ), metric
    for metric, values in each.items():
        expected = [of[metric] for of in values_of_each(run.directory, trials, [metric])]
        assert values[:, 0] == pytest.approx(
            np.array(expected), rel=1e-12, abs=1e-15, nan_ok=True
        ), metric
    # All that can happen did.
    assert all(np.nanmin(whole[metric]) > 0 for metric in FROM_SUMS)


def test_a_jackknife_of_a_rate_a_mean_and_a_loss_by_hand():
    # One flow, two batches of 1 s: 10 and 30 messages of 20 and 40 offered, 10 s and 90 s of
    # delays. With one left out the rates are 30 and 10 a second, and the error of two is half of
    # their difference: 10; delays are 3 s and 1 s, so 1 s; losses 1/4 and 1/2, so 1/8.
    columns = dict.fromkeys(
        (
            "dropped",
            "frames",
            "octets",
            "data_octets",
            "transfer.octets",
            "completed",
            "round_trip.count",
            "timed_out",
            "between_arrivals.count",
            "acknowledged",
        ),
        (0.0, 0.0),
    )
    columns |= dict.fromkeys(
        ("round_trip.sum_ps", "between_arrivals.sum_ps", "acknowledgement_ps"), (0.0, 0.0)
    )
    columns |= {
        "offered": (20.0, 40.0),
        "arrived": (10.0, 30.0),
        "messages": (10.0, 30.0),
        "one_way.count": (10.0, 30.0),
        "one_way.sum_ps": (10e12, 90e12),
    }
    cube = {name: np.array(values).reshape(1, 2, 1) for name, values in columns.items()}

    def errors(*, is_lossless: bool) -> dict[Metric, float]:
        one, false = np.ones((1, 1, 1)), np.zeros((1, 1, 1), np.bool_)
        flags = {"is_transfer": false, "is_lossless": np.full((1, 1, 1), is_lossless)}
        of = Slice(1, 2e12 * one, {**cube, "receivers": one, **flags}, counted_ps=1e12 * one)
        values = of_all_parts(EntityKind.FLOW, of.left_out())
        found = estimates.errors_within([(np.array([1]), values)], 2)
        assert all(math.isnan(of.error[0]) and math.isnan(of.degrees[0]) for of in found.values())
        assert all(math.isnan(of.error[1]) or of.degrees[1] == 1 for of in found.values())
        return {metric: float(of.error[1]) for metric, of in found.items()}

    found = errors(is_lossless=False)
    assert found[Metric.MESSAGE_RATE] == 10
    assert found[Metric.MESSAGES] == 20, "of both seconds"
    assert found[Metric.ONE_WAY_DELAY] == 1
    assert found[Metric.LOSS] == 0.125
    assert math.isnan(found[Metric.ROUND_TRIP]), "nobody answered"
    # What was under way when all was over is no loss, in no batch.
    assert errors(is_lossless=True)[Metric.LOSS] == 0


def test_two_replications_have_intervals_of_what_follows_from_sums_and_of_nothing_else(run):
    (point,) = estimates.compute(run.path)
    assert {
        metric for metric, found in point.estimates.items() if math.isfinite(found.error)
    } == FROM_SUMS
    # What was not seen has a limit; that no frame came late or twice is no chance.
    limits = {metric for metric, found in point.estimates.items() if found.has_interval} - FROM_SUMS
    lost = {Metric.LOST_ATTEMPTS, Metric.LOST_BUFFER, Metric.LOST_DAMAGED}
    assert limits == {*lost, Metric.FILTERED, Metric.TIMEOUTS}
    assert all(
        point.estimates[metric].high == pytest.approx(-math.log(0.05) / 2) for metric in limits
    )
    ((_, _, by_batch),) = batch_slices(run.directory, run.trials())
    delays = of_all_parts(EntityKind.FLOW, by_batch.left_out())[Metric.ONE_WAY_DELAY]
    variances = [6 / 7 * np.square(of - of.mean()).sum() for of in delays]
    found = point.estimates[Metric.ONE_WAY_DELAY]
    assert (found.error, found.degrees) == (
        pytest.approx(math.sqrt(sum(variances)) / 2, rel=1e-12),
        12,
    )
    assert found.cautions == ()
    by_flow = {
        each.point["stations"]: each.estimates
        for each in flows.each_flow(run.directory, run.trials())
    }
    assert by_flow["load sender1"][Metric.ONE_WAY_DELAY].has_interval
    assert by_flow["copy"][Metric.ACKNOWLEDGEMENT_DELAY].has_interval
    assert not by_flow["load sender1"][Metric.ROUND_TRIP].has_interval


def test_three_replications_are_students_whatever_the_batches(tmp_path):
    for batches in (2, 50):
        three = NETWORK.changed(run={"replications": 3, "batches": batches})
        em.load(three).run(out=tmp_path / str(batches), jobs=1)
    assert estimates.text_of(estimates.compute(tmp_path / "2")) == estimates.text_of(
        estimates.compute(tmp_path / "50")
    )
    assert estimates.compute(tmp_path / "2")[0].estimates[Metric.ONE_WAY_DELAY].degrees == 2


def test_how_fairly_flows_share_has_intervals_from_batches(run):
    (found,) = flows.sharing(run.trials(), run.directory)
    assert found.flows == "load"
    assert (found.jain_index.degrees, set(found.shares)) == (
        12,
        {"load sender1", "load sender2", "load sender3"},
    )
    ((_, _, by_batch),) = batch_slices(run.directory, run.trials())
    left = of_each_part([Metric.DATA_RATE], EntityKind.FLOW, by_batch.left_out())
    rates = left[Metric.DATA_RATE][:, :, :3]
    shares = rates[..., 0] / rates.sum(axis=-1)
    error = math.sqrt(6 / 7 * np.square(shares - shares.mean(axis=1, keepdims=True)).sum()) / 2
    assert found.shares["load sender1"].error == pytest.approx(error, rel=1e-12)
    assert 0 < found.jain_index.error < 0.1
    (without,) = flows.sharing(run.trials(), WithoutBatches(run.directory))
    assert without.jain_index.value == found.jain_index.value
    assert not without.jain_index.has_interval


def test_the_size_of_blocks_changes_no_octet(tmp_path, monkeypatch):
    lengths = ["64 B", "128 B", "256 B", "512 B", "1024 B"]
    run = (
        em.load(NETWORK.changed(vary={"flows.ping.frames": lengths}))
        .run(out=tmp_path / "run", jobs=1)
        .directory
    )
    assert len(list(estimates.in_blocks(run.trials()))) == 1

    def written() -> list[bytes]:
        of_flows = json.dumps(plain(FlowsFile.of_run(run)), allow_nan=False)
        return [estimates.write(run.path).read_bytes(), of_flows.encode()]

    together = written()
    monkeypatch.setattr(estimates, "MOST_AT_ONCE", 1)
    blocks = list(estimates.in_blocks(run.trials()))
    assert [len(block) for block in blocks] == [2] * 5, "both replications of every point"
    assert [trial for block in blocks for trial in block] == list(run.trials())
    assert written() == together
    content = json.loads(together[1])
    assert [len(content[name]) > 0 for name in ("lines", "differences", "fairness")] == [
        True,
        False,
        True,
    ]


def test_trials_are_read_from_the_row_groups_that_have_them(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 1)
    monkeypatch.setattr(directory, "KEPT_OCTETS", 0)
    run = em.load(NETWORK).run(out=tmp_path / "run", jobs=1).directory
    _, last = (trial.id for trial in run.trials())
    whole = run.table(FLOW_BATCHES)
    read = []
    get = pq.ParquetFile.read_row_group

    def counted(file: pq.ParquetFile, number: int, **how: object) -> object:
        read.append(number)
        return get(file, number, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    found, none = run.table(FLOW_BATCHES, trials=[last]), run.table(FLOW_BATCHES, trials=[])
    assert read == [1]
    assert found.to_pylist() == [row for row in whole.to_pylist() if row["trial"] == last] != []
    assert none.num_rows == 0


def test_estimates_are_the_same_as_numbers():
    found = {
        Metric.LOSS: Estimate(0.0, 1.0, 19.0, ends=(0.0, 0.5)),
        Metric.GOODPUT: Estimate(3.5, 0.25, 2.0, ("correlated-batches",)),
        Metric.MESSAGES: Estimate(math.nan, math.nan, math.nan),
    }
    kept = estimates.Estimates(found)
    assert (len(kept), list(kept), Metric.LOSS in kept, Metric.FRAMES in kept) == (
        3,
        list(found),
        True,
        False,
    )
    assert (kept[Metric.LOSS], kept[Metric.GOODPUT]) == (found[Metric.LOSS], found[Metric.GOODPUT])
    assert str(kept[Metric.MESSAGES]) == str(found[Metric.MESSAGES])


def test_a_run_without_batches_of_flows_has_values_without_intervals(run, tmp_path):
    tables = ("flows", "histograms", "ports")
    for name in ("plan.jsonl", *(f"{table}.parquet" for table in tables)):
        (tmp_path / name).write_bytes((run.path / name).read_bytes())
    (tmp_path / "provenance.json").write_text('{"finished": "long ago"}', encoding="utf-8")
    (old,), (new,) = estimates.compute(tmp_path), estimates.compute(run.path)
    assert not any(math.isfinite(found.error) for found in old.estimates.values())
    assert {metric: found.value for metric, found in old.estimates.items()} == pytest.approx(
        {metric: found.value for metric, found in new.estimates.items()}, nan_ok=True
    )
