"""Runs of strategies: plans that grow, resumption, and what is refused."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import ethermeter as em
import msgspec
import pytest
from ethermeter.analysis.call_search import CallsAnswer
from ethermeter.calls import OnSegment, Question, Wanted
from ethermeter.execution import Execution, Progress, evaluate, finished_run, search
from ethermeter.faults import InputError
from ethermeter.store import RunDirectory
from ethermeter.strategies import answered
from ethermeter.strategies.calls import CallSearch

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
    return search(strategy(), directory=out, options=Execution(jobs=1, **options))


def stop_after(trials: int):
    """Return what interrupts a run after so many trials."""

    def follow(progress: Progress) -> None:
        if progress.done >= trials:
            raise KeyboardInterrupt

    return follow


def test_a_run_holds_the_answer_that_is_found_in_memory(tmp_path):
    found = run(tmp_path / "run")
    answer = msgspec.json.decode(found.answer(), type=CallsAnswer)
    assert answer == answered(strategy())
    tried = {each.calls for each in answer.tried}
    assert {int(trial.point["calls"]) for trial in found.trials()} == tried
    assert [trial.id for trial in found.trials()] == [
        f"calls/{number:05d}" for number in range(2 * len(tried))
    ]
    assert found.provenance()["trials"] == 2 * len(tried)
    assert finished_run(found.path, strategy()) is not None
    assert finished_run(found.path, strategy(seed=2)) is None
    # It is a run like all others.
    assert set(evaluate(found.path)) == {"estimates", "report"}


@pytest.mark.parametrize("trials", [1, 2, 5])
def test_an_interrupted_run_is_resumed_to_the_same_bytes(tmp_path, trials):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole)
    with pytest.raises(KeyboardInterrupt):
        search(strategy(), directory=broken, options=Execution(jobs=1), follow=stop_after(trials))
    assert not RunDirectory(broken).is_finished()
    before = (broken / "plan.jsonl").read_bytes()
    run(broken)
    assert files(broken) == files(whole)
    assert (broken / "plan.jsonl").read_bytes().startswith(before)


def test_a_damaged_plan_is_not_continued(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        search(strategy(), directory=out, options=Execution(jobs=1), follow=stop_after(3))
    text = (out / "plan.jsonl").read_text(encoding="utf-8")
    (out / "plan.jsonl").write_text(text.replace('"seed":', '"seed":1'), encoding="utf-8")
    with pytest.raises(InputError, match="damaged: not the trials that were proposed"):
        run(out)
    assert run(out, force=True).is_finished()


def test_another_question_is_refused_and_an_altered_answer_is_noticed(tmp_path):
    out = tmp_path / "run"
    run(out)
    with pytest.raises(InputError, match="another directory"):
        search(strategy(seed=2), directory=out, options=Execution(jobs=1))
    answer = json.loads((out / "answer.json").read_bytes())
    (out / "answer.json").write_text(json.dumps(answer | {"calls": 1000}), encoding="utf-8")
    with pytest.raises(InputError, match=r"answer\.json.*damaged"):
        finished_run(out, strategy())


SEGMENT = em.segment(
    "ieee-10",
    title="Some stations with short queues",
    length="10 m",
    stations=em.stations(
        "sender", count=1, frames="512 B", arrivals={"poisson": "400 /s"}, queue=4
    ),
    phases={"settle": "0 s", "transmit": "600 ms", "measure": "last 500 ms", "drain": "0 s"},
)


def documented(name: str) -> Any:
    """Return a class of the examples of docs/how-to/add-a-strategy.md."""
    how_to = Path(__file__).parents[2] / "docs" / "how-to"
    page = (how_to / "add-a-strategy.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        if f"class {name}" in block:
            exec(block, names)
    return names[name]


def test_the_documented_strategy_is_run_and_its_progress_grows(tmp_path):
    strategy = documented("Doubling")(SEGMENT.save(tmp_path / "segment.toml"))
    seen: list[Progress] = []
    found = search(
        strategy, directory=tmp_path / "run", options=Execution(jobs=2), follow=seen.append
    )
    # Six of these offer the bits of the segment.
    answer = json.loads(found.answer())
    assert answer == answered(strategy) == 8
    assert [trial.point["stations"] for trial in found.trials()] == ["1", "2", "4", "8"]
    assert all(first.done <= last.done for first, last in itertools.pairwise(seen))
    assert (seen[-1].done, seen[-1].trials, seen[-1].share) == (4, 4, 1.0)
