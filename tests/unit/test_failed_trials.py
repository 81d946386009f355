"""Trials that fail: what is left out, what is estimated of the others, and what is said."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from ethermeter import execution as runs
from ethermeter import trial
from ethermeter.analysis import comparison, failures
from ethermeter.cli.output import show
from ethermeter.counts import FlowCounts, flat, zeros
from ethermeter.engines.live.trials import FailedTrial
from ethermeter.engines.work import Finished, Work
from ethermeter.execution import Execution
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.metrics import Metric
from ethermeter.metrics.parameters import PS_PER_S
from ethermeter.present.points import main_metrics
from ethermeter.results import estimates
from ethermeter.store import RunDirectory
from ethermeter.store.columns import FLOWS
from ethermeter.store.trial_result import TrialResult, failed
from ethermeter.trial import Trial
from program import invoke
from shared_experiments import CALLS, COPY, NETWORK, SEGMENT, VOICE, pair

WHY = "agent b was lost: it ended"
LOAD = em.flow("load", "a", "b", data="100 B", arrivals={"poisson": "1000 /s"})


@dataclass
class Place:
    """A place where trials of some indices fail, and messages a second of the others are theirs."""

    trials: Sequence[Trial]
    failing: Sequence[int]
    values: Sequence[float] = ()
    name: str = "nowhere"

    def check(self, works: Sequence[Work]) -> None:
        del works

    def run(self, works: Sequence[Work], directory: Path) -> Iterator[Finished]:
        del directory
        for work in works:
            if work.place in self.failing:
                yield FailedTrial(work.place, failed(), WHY)
                continue
            messages = np.array([round(1000 * self.values[work.place])])
            flows = replace(
                zeros(FlowCounts, 1),
                messages=messages,
                received_ps=np.array([round(1000 * PS_PER_S)]),
            )
            yield Finished(work.place, TrialResult({FLOWS: flat(flows)}))


def measured(
    experiment: ExperimentTables,
    folder: Path,
    *,
    failing: Sequence[int],
    values: Sequence[float] = (),
) -> RunDirectory:
    """Measure an experiment where trials fail, and write all that is derived from its run."""
    loaded = em.load(experiment)
    plan = loaded.plan()
    run = runs.execute(
        plan,
        loaded.experiments,
        directory=folder,
        options=Execution(),
        place=Place(plan.trials, failing, values),
    )
    runs.evaluate(run.path)
    return run


def live(experiment: ExperimentTables, replications: int) -> ExperimentTables:
    """The same, to be measured so many times."""
    return experiment.changed({"run.engines": ["live"], "run.replications": replications})


def test_good_trials_are_used_with_their_interval_though_another_failed(tmp_path):
    run = measured(
        live(pair(LOAD), 4), tmp_path / "run", failing=[1], values=[1.0, math.nan, 2.0, 4.0]
    )
    (point,) = estimates.read(run.path)
    assert (point.replications, point.failed) == (3, 1)
    # Of 1, 2 and 4: mean 7/3, standard deviation sqrt(7/3), error sqrt(7/9); Student's t of two
    # degrees of freedom is 4.302653.
    found = point.estimates[Metric.MESSAGE_RATE]
    assert found.value == pytest.approx(7 / 3)
    assert found.half_width == pytest.approx(4.302653 * math.sqrt(7 / 9), rel=1e-6)
    assert found.cautions == ("failed-trials",)
    assert json.loads((run.path / "estimates.json").read_text())["points"][0]["failed"] == 1


@pytest.mark.parametrize(
    "experiment",
    [
        pair(LOAD),
        pair(
            em.flow("asked", "a", "b", data="9 B", arrivals="saturated", response={"data": "9 B"})
        ),
        *(SEGMENT, VOICE, NETWORK, CALLS, COPY),
    ],
    ids=lambda experiment: experiment.text().splitlines()[0],
)
def test_a_run_whose_only_trial_failed_has_a_page_and_a_table(tmp_path, experiment, capsys):
    run = measured(live(experiment, 1), tmp_path / "run", failing=[0])
    (point,) = estimates.read(run.path)
    assert (point.replications, point.failed) == (0, 1)
    assert all(math.isnan(of.value) for of in point.estimates.values())
    show(main_metrics([point]))
    assert "No point has a value." in capsys.readouterr().out
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert f"1 of 1 trials failed and is in no estimate: {WHY}." in page


def test_points_stay_in_the_order_of_the_plan_and_those_without_a_failure_are_as_before(tmp_path):
    varied = pair(
        LOAD,
        vary={"flows.load.data": ["100 B", "200 B"]},
        run={"engines": ["live"], "replications": 3},
    )
    plan = em.load(varied).plan()
    first = [at for at, of in enumerate(plan.trials) if of.point == plan.trials[0].point]
    run = measured(varied, tmp_path / "run", failing=first, values=[5.0] * 6)
    one, other = estimates.read(run.path)
    assert [of.point for of in (one, other)] == [
        {"flows.load.data": "100 B"},
        {"flows.load.data": "200 B"},
    ]
    assert (one.replications, one.failed) == (0, 3)
    assert (other.replications, other.failed) == (3, 0)
    assert other.estimates[Metric.MESSAGE_RATE].value == 5.0
    assert other.estimates[Metric.MESSAGE_RATE].cautions == ()


def test_a_comparison_and_a_page_of_two_runs_say_which_had_failures(tmp_path):
    one = measured(live(pair(LOAD), 3), tmp_path / "one", failing=[2], values=[1.0, 2.0, 0.0])
    other = measured(live(pair(LOAD), 3), tmp_path / "other", failing=[], values=[1.0, 2.0, 3.0])
    said = f"The first run: 1 of 3 trials failed and is in no estimate: {WHY}."
    assert comparison.failed_in((one.path, other.path)) == [said]
    done = invoke("compare", one.path, other.path, "--figure", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.split()).count(said) == 1
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_reasons_are_counted_and_those_of_few_are_not_all_listed():
    failed = {f"x/{at}": why for at, why in enumerate(["a", "b", "a", "c", "d", "e"])}
    text = failures.of_run({"trials": 9, "failed": failed})
    assert text == (
        "6 of 9 trials failed and are in no estimate: a (2); b (1); c (1); 2 other reasons"
    )


def test_rows_bear_the_digest_of_their_trial():
    from ethermeter.engines.answer import answer

    (one, *_) = em.load(SEGMENT).plan().trials
    assert answer(one.line).digest == trial.digest_of(one.line)
