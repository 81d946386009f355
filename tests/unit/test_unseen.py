"""What was not seen has a limit in place of an interval without width, from the plan to every
table.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from comparing import compare
from ethermeter.analysis import flows, groups
from ethermeter.analysis.agreement import _chance
from ethermeter.document import cell
from ethermeter.metrics import Metric
from ethermeter.present.comparison import comparison
from ethermeter.render.text import lines
from ethermeter.report.charts.frame import datum
from ethermeter.results import estimates, unseen
from ethermeter.results.interval import Estimate, exact, no_failure
from segments import segment
from shared_experiments import pair

FEW = em.segment(
    "ieee-10",
    title="Few frames, none lost",
    length="100 m",
    stations=em.stations(
        "host", count=2, frames="512 B", arrivals={"poisson_load": 0.05}, queue=1000
    ),
    seed=3,
    phases={"settle": "0 s", "transmit": "500 ms", "measure": "last 400 ms", "drain": "0 s"},
    run={"replications": 4},
)
NETWORK = pair(
    [
        em.flow("load", "a", "b", frames="512 B", arrivals={"poisson": "200 /s"}),
        em.flow("rare", "b", "a", frames="512 B", arrivals={"regular": "20 ms"}),
    ],
    phases={"transmit": "500 ms", "measure": "last 400 ms", "drain": "50 ms"},
    run={"replications": 3},
)


def run_of(out: Path, experiment: Mapping[str, object]) -> em.Run:
    return em.load(experiment).run(out=out, jobs=1)


@pytest.fixture(scope="module")
def lossless(tmp_path_factory: pytest.TempPathFactory) -> em.Run:
    return run_of(tmp_path_factory.mktemp("unseen") / "four", FEW)


def total(run: em.Run, metric: Metric, station: int = -1) -> float:
    return float(sum(run.values(metric, run.entities[station] if station >= 0 else "")))


@pytest.mark.parametrize("replications", [1, 2, 4])
def test_a_loss_of_zero_has_the_limit_of_all_frames_of_all_replications(tmp_path, replications):
    run = run_of(tmp_path / "some", FEW.changed({"run.replications": replications}))
    (point,) = estimates.compute(run.path)
    found, frames = point.estimates[Metric.LOSS], total(run, Metric.FRAMES)
    assert frames > 20
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(1 - 0.05 ** (1 / frames), rel=1e-9)
    assert math.isnan(found.error), "no standard error follows from no loss"
    # Counts are Poisson, by trial; the frames that were delivered are no event that may be rare.
    assert point.estimates[Metric.LATE_COLLISIONS].high == pytest.approx(
        -math.log(0.05) / replications
    )
    assert point.estimates[Metric.FRAMES].low != 0


def test_the_limit_reaches_the_file_the_figures_the_tables_and_comparisons(lossless, tmp_path):
    text = estimates.write(lossless.path).read_text(encoding="utf-8")
    entry = json.loads(text)["points"][0]["estimates"]["loss"]
    limit = 1 - 0.05 ** (1 / total(lossless, Metric.FRAMES))
    assert (entry["value"], entry["low"], entry["error"], entry["degrees"]) == (
        0.0,
        0.0,
        None,
        None,
    )
    assert entry["high"] == pytest.approx(limit, rel=1e-9)
    (point,) = estimates.points_of(text)
    assert estimates.text_of([point]) == text
    found = point.estimates[Metric.LOSS]
    assert datum("x", 1.0, found, Metric.LOSS.label)["h"] == pytest.approx(100 * limit, rel=1e-5)
    assert f"(0 to {100 * limit:.1f})" in cell(found, 100.0)
    # A loss of 5% in another run is higher, one that the limit cannot exclude is not: and that is
    # what a comparison has to say.
    crowd = {"stations.0.queue": 1, "stations.0.arrivals.poisson_load": 0.9}
    busy = run_of(tmp_path / "busy", FEW.changed(crowd))
    (row,) = compare(lossless.path, busy.path, metrics=[Metric.LOSS])
    assert row["verdict"] == "higher"
    (row,) = compare(lossless.path, lossless.path, metrics=[Metric.LOSS])
    assert (row["verdict"], row["low"], row["high"]) == (
        "same",
        pytest.approx(-limit),
        pytest.approx(limit),
    )
    assert "1 same" in "\n".join(lines(comparison([row]), 200))


def test_flows_have_limits_of_their_own_messages(tmp_path):
    run = run_of(tmp_path / "net", NETWORK)
    by_flow = {
        point.point["stations"]: point.estimates
        for point in flows.each_flow(run.directory, run.trials())
    }
    (whole,) = estimates.compute(run.path)
    offered = {at: total(run, Metric.OFFERED_RATE, at) * 0.4 for at in (0, 1, -1)}
    assert offered[1] == pytest.approx(60)
    assert by_flow["load"][Metric.LOSS].high == pytest.approx(no_failure(offered[0]).high)
    assert by_flow["rare"][Metric.LOSS].high == pytest.approx(no_failure(60).high)
    assert whole.estimates[Metric.LOSS].high == pytest.approx(no_failure(offered[-1]).high)
    # That a path keeps the order is no matter of chance.
    assert (whole.estimates[Metric.REORDERED].low, whole.estimates[Metric.REORDERED].high) == (
        0.0,
        0.0,
    )


def test_a_part_is_not_known_better_than_its_station_that_was_seen_least(lossless):
    (part,) = groups.estimate(lossless.trials(), lossless.directory, groups.by_group)
    rows = lossless.frame("frames", by="entity", library="arrow").to_pylist()
    by_trial: dict[str, list[float]] = {}
    for row in rows:
        by_trial.setdefault(row["trial"], []).append(row["value"])
    behind = sum(2 * min(each) for each in by_trial.values())
    assert part.estimates[Metric.LOSS].high == pytest.approx(no_failure(behind).high)


def test_packets_of_voice_are_independent_and_samples_are_not():
    voice = {
        "points": [0],
        "frames": {"kind": "samples", "overhead_bits": 464, "min_bits": 512, "max_bits": 8144},
        "arrivals": {"kind": "coder", "sample_bits": 8, "sample_ps": 125_000_000},
    }
    scenario = segment(voice, {"points": [0]})
    counted = {Metric.SAMPLES_DELIVERED: np.array([9600.0]), Metric.SAMPLES_LOST: np.array([0.0])}
    assert unseen.exposure(Metric.SAMPLE_LOSS, counted, scenario).tolist() == [
        10.0
    ]  # of 960 samples at most
    # Where all is voice, the frames that came are packets of it.
    counted[Metric.FRAMES] = np.array([41.0])
    assert unseen.exposure(Metric.SAMPLE_LOSS, counted, segment(voice)).tolist() == [41.0]


def test_all_lost_has_a_lower_limit():
    scenario = segment()
    counted = {
        Metric.FRAMES: np.array([0.0]),
        Metric.DROPPED: np.array([40.0]),
        Metric.DISCARDED: np.array([5.0]),
    }
    exposure = float(unseen.exposure(Metric.LOSS, counted, scenario).sum())
    found = unseen.limited(Metric.LOSS, Estimate(1.0, 0.0, 2.0, ("few-samples",)), exposure)
    assert (found.low, found.high, found.cautions) == (
        pytest.approx(0.05 ** (1 / 45)),
        1.0,
        ("few-samples",),
    )
    assert "(94 to 100)" in cell(found, 100.0)


def test_what_is_unseen_and_what_is_not():
    assert unseen.is_unseen(Metric.LOSS, 0.0, "live")
    assert unseen.is_unseen(Metric.ATTEMPTS_PER_FRAME, 1.0, "simulation")
    assert unseen.is_unseen(Metric.REORDERED, 0.0, "live")
    assert not unseen.is_unseen(Metric.LOSS, 0.0, "theory/x")
    assert not unseen.is_unseen(Metric.LOSS, 0.01, "simulation")
    assert not unseen.is_unseen(Metric.UTILISATION, 0.0, "simulation"), (
        "a rate of zero is no event that was missed"
    )
    none = unseen.limited(Metric.TIME_COLLISION, Estimate(0.0, 0.0, 4.0), 1.0)
    assert not none.has_interval, "nobody knows how long a collision would have been"


def test_without_exposure_there_is_no_interval():
    assert not unseen.limited(Metric.LOSS, Estimate(0.0, 0.0, 4.0), math.nan).has_interval
    assert not unseen.limited(Metric.LOSS, Estimate(0.0, 0.0, 4.0), 0.0).has_interval


def test_a_theory_agrees_with_no_loss_as_far_as_that_excludes_it():
    none = no_failure(3000)
    assert _chance(none, exact(0.0)) == 1.0
    assert _chance(none, exact(none.high)) == pytest.approx(0.05)
    assert _chance(none, exact(0.01)) < 1e-10
