"""Runs of strategies: plans that grow, resumption, and what is refused."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from ethermeter.calls import OnSegment, Question, Wanted
from ethermeter.experiment import Experiment
from ethermeter.faults import InputError
from ethermeter.run import Progress, RunOptions, evaluate, finished_search, search
from ethermeter.store import RunDirectory
from ethermeter.strategies import Finished, Observed, answered
from ethermeter.strategies.calls import Answer, CallSearch
from ethermeter.trial import Trial, renumbered

DERIVED_FROM_THE_CLOCK = {"provenance.json"}


def strategy(seed: int = 1) -> CallSearch:
    segment = OnSegment({"standard": "ieee-10", "round_trip": "25 us", "clusters": 2})
    question = Question(
        segment, codec="g711", packet_s=0.02, duration_s=0.2, replications=2, seed=seed
    )
    return CallSearch(question, Wanted(mos=4.0))


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in directory.iterdir()
        if path.name not in DERIVED_FROM_THE_CLOCK
    }


def run(out: Path, **options: bool) -> RunDirectory:
    return search(strategy(), directory=out, options=RunOptions(jobs=1, **options))


def stop_after(trials: int):
    """Return what interrupts a run after so many trials."""

    def follow(progress: Progress) -> None:
        if progress.done >= trials:
            raise KeyboardInterrupt

    return follow


def test_a_run_holds_the_answer_that_is_found_in_memory(tmp_path: Path) -> None:
    found = run(tmp_path / "run")
    answer = msgspec.json.decode(found.answer(), type=Answer)
    assert answer == answered(strategy())
    tried = {each.calls for each in answer.tried}
    assert {int(trial.point["calls"]) for trial in found.trials()} == tried
    assert [trial.id for trial in found.trials()] == [
        f"calls/{number:05d}" for number in range(2 * len(tried))
    ]
    assert found.provenance()["trials"] == 2 * len(tried)
    assert finished_search(found.path, strategy()) is not None
    assert finished_search(found.path, strategy(seed=2)) is None
    # It is a run like all others.
    assert set(evaluate(found.path)) == {"estimates", "report"}


@pytest.mark.parametrize("trials", [1, 2, 5])
def test_an_interrupted_run_is_resumed_to_the_same_bytes(tmp_path: Path, trials: int) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole)
    with pytest.raises(KeyboardInterrupt):
        search(strategy(), directory=broken, options=RunOptions(jobs=1), follow=stop_after(trials))
    assert not RunDirectory(broken).is_finished()
    with pytest.raises(InputError, match="--resume"):
        run(broken)
    before = (broken / "plan.jsonl").read_bytes()
    run(broken, resume=True)
    assert files(broken) == files(whole)
    assert (broken / "plan.jsonl").read_bytes().startswith(before)


def test_a_damaged_plan_is_not_continued(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        search(strategy(), directory=out, options=RunOptions(jobs=1), follow=stop_after(3))
    text = (out / "plan.jsonl").read_text(encoding="utf-8")
    (out / "plan.jsonl").write_text(text.replace('"seed":', '"seed":1'), encoding="utf-8")
    with pytest.raises(InputError, match="damaged: not the trials that were proposed"):
        run(out, resume=True)
    assert run(out, force=True).is_finished()


def test_another_question_is_refused_and_an_altered_answer_is_noticed(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out)
    with pytest.raises(InputError, match="give another --out"):
        search(strategy(seed=2), directory=out, options=RunOptions(jobs=1))
    answer = json.loads((out / "answer.json").read_bytes())
    (out / "answer.json").write_text(json.dumps(answer | {"calls": 1000}), encoding="utf-8")
    with pytest.raises(InputError, match=r"answer\.json.*damaged"):
        finished_search(out, strategy())


class Doubling:
    """Proposes twice as many trials each time, up to seven in all."""

    name = "doubling"
    question = '{"strategy": "doubling"}'
    expected_trials = 7

    def __init__(self) -> None:
        self.asked = Question(
            OnSegment({"standard": "ieee-10", "round_trip": "25 us", "clusters": 2}),
            codec="g711",
            packet_s=0.02,
            duration_s=0.1,
            replications=1,
        )

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        return (self.asked.experiment(1),)

    def propose(self, observed: Sequence[Observed]) -> tuple[Trial, ...] | Finished[list[str]]:
        if len(observed) == 7:
            return Finished([each.trial.id for each in observed])
        (trial,) = self.asked.trials(1)
        numbers = range(len(observed), 2 * len(observed) + 1)
        return tuple(renumbered(trial, number, point={}) for number in numbers)


def test_any_strategy_is_run_and_its_progress_grows(tmp_path: Path) -> None:
    seen: list[Progress] = []
    found = search(
        Doubling(), directory=tmp_path / "run", options=RunOptions(jobs=2), follow=seen.append
    )
    assert json.loads(found.answer()) == [f"calls/{number:05d}" for number in range(7)]
    assert all(first.done <= last.done for first, last in itertools.pairwise(seen))
    assert (seen[-1].done, seen[-1].trials, seen[-1].share) == (7, 7, 1.0)
