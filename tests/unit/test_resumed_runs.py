"""Runs that are continued: what is estimated of them, and failed trials that are repeated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import execution as runs
from ethermeter.engines.live.trials import FailedTrial
from ethermeter.engines.work import Finished, Work
from ethermeter.execution import Execution, Progress
from ethermeter.faults import InputError
from ethermeter.store import Recorder, RunDirectory
from ethermeter.store.trial_result import failed
from ethermeter.trial import Trial
from shared_experiments import SEGMENT, pair

LIVE = pair(
    em.flow("load", "a", "b", data="100 B", arrivals={"poisson": "1000 /s"}),
    phases={"transmit": "2 s", "measure": "middle 1 s"},
    run={"engines": ["live"], "replications": 3},
)


class Clock:
    """A clock that a test sets, in place of the module `time`."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


def test_the_remaining_time_counts_only_what_this_process_runs(tmp_path, monkeypatch):
    loaded = em.load(SEGMENT)
    plan, clock = loaded.plan(replications=20), Clock()
    monkeypatch.setattr(runs, "time", clock)
    opened = Recorder._read_parts

    def slowly(recorder: Recorder) -> None:
        clock.now_s += 1000.0
        opened(recorder)

    monkeypatch.setattr(Recorder, "_read_parts", slowly)
    seen: list[Progress] = []

    def until_half(progress: Progress) -> None:
        seen.append(progress)
        clock.now_s += 1.0
        if progress.done >= len(plan.trials) // 2:
            raise KeyboardInterrupt

    options = {"directory": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        runs.execute(
            plan, loaded.experiments, options=Execution(jobs=1), follow=until_half, **options
        )
    half = seen[-1].done
    seen.clear()

    def onwards(progress: Progress) -> None:
        seen.append(progress)
        clock.now_s += 1.0

    again = Execution(jobs=1)
    runs.execute(plan, loaded.experiments, options=again, follow=onwards, **options)
    first = seen[0]
    assert first.before == half
    # One trial of this session, in at most a second a look: not the 1000 s that opening took.
    assert first.elapsed_s <= 2.0
    assert all((of.remaining_s or 0.0) <= 2.0 * len(plan.trials) for of in seen)
    shares = [progress.share_of_all for progress in seen]
    assert shares[0] >= half / len(plan.trials)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@dataclass
class Place:
    """A place where the trials of given indices fail, and the others are without values."""

    failing: Sequence[int]
    ran: list[int] = field(default_factory=list)
    trials: Sequence[Trial] = ()
    name: str = "nowhere"

    def check(self, works: Sequence[Work]) -> None:
        del works

    def run(self, works: Sequence[Work], directory: Path) -> Iterator[Finished]:
        del directory
        for work in works:
            self.ran.append(work.place)
            if work.place in self.failing:
                yield FailedTrial(work.place, failed(), "agent b was lost: it ended")
            else:
                yield Finished(work.place, failed())


def measured(folder: Path, *, failing: Sequence[int]) -> tuple[RunDirectory, Place]:
    loaded = em.load(LIVE)
    plan = loaded.plan()
    place = Place(failing, trials=plan.trials)
    run = runs.execute(
        plan,
        loaded.experiments,
        directory=folder / "run",
        options=Execution(),
        place=place,
    )
    return run, place


def test_failed_trials_of_a_finished_run_are_run_again_and_no_other(tmp_path):
    run, place = measured(tmp_path, failing=[1])
    assert place.ran == [0, 1, 2]
    (trial,) = run.provenance()["failed"]
    assert trial == run.trials()[1].id
    plan = em.load(LIVE).plan()
    assert runs.finished_run(run.path, plan) is not None
    assert runs.finished_run(run.path, plan, repeat=True) is None
    run, place = measured(tmp_path, failing=[])
    assert place.ran == [1]
    assert "failed" not in run.provenance()
    assert run.is_finished()
    assert not (run.path / "parts").exists()
    with pytest.raises(InputError, match="finished"):
        measured(tmp_path, failing=[])


def test_a_trial_that_fails_again_can_be_repeated_again(tmp_path):
    measured(tmp_path, failing=[0, 2])
    run, place = measured(tmp_path, failing=[2])
    assert place.ran == [0, 2]
    assert list(run.provenance()["failed"]) == [run.trials()[2].id]
    _, place = measured(tmp_path, failing=[])
    assert place.ran == [2]
