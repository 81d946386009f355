"""The report of a search: what was asked, what was found, and the trials on the way."""

import re
import shutil
from contextlib import nullcontext
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from bottleneck_runs import Formula, search_bottleneck
from ethermeter.bottleneck import load
from ethermeter.calls import OnSegment, Question, Wanted
from ethermeter.execution import Execution, evaluate, search
from ethermeter.experiment import load as load_experiment
from ethermeter.experiment import shipped
from ethermeter.faults import InputError
from ethermeter.presentation import Presentation
from ethermeter.report.data import ReportData
from ethermeter.search import question_of
from ethermeter.store import RunDirectory
from ethermeter.strategies.calls import CallSearch
from ethermeter.strategies.search import ValueSearch
from markup import by_id, parse, rows, sections, table, text_of
from visiting import Visit


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    segment = OnSegment({"standard": "ieee-10", "round_trip": "25 us", "clusters": 2})
    question = Question(segment, codec="g711", packet_s=0.02, duration_s=0.2, replications=2)
    out = tmp_path_factory.mktemp("calls") / "run"
    search(CallSearch(question, Wanted(mos=4.0)), directory=out, options=Execution(jobs=1))
    return evaluate(out)["report"]


@pytest.fixture(scope="module")
def bottleneck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bottleneck") / "run"
    search_bottleneck(load("wire"), out, lambda: nullcontext(Formula(0.02)), repetitions=3)
    return evaluate(out)["report"]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = "network.switches.switch.queue"
    experiment = load_experiment(shipped()["buffer-sizing"], overrides=[f"{key}=24"])
    conditions = ["loss == 0", "event: one_way_delay.max <= 20 ms"]
    asked = {"smallest": key, "from": 20, "to": 27, "while": conditions}
    out = tmp_path_factory.mktemp("room") / "run"
    strategy = ValueSearch(question_of(experiment, asked))
    search(strategy, directory=out, options=Execution(jobs=2))
    return evaluate(out)["report"]


def section(report: Path) -> Element:
    """The section of the search."""
    return by_id(parse(report), "search")


def test_the_page_of_a_search_shows_question_answer_and_trials(calls):
    found, run = rows(section(calls)), RunDirectory(calls.parent)
    assert ["Strategy", "calls"] in found
    assert ["Wanted mos", "4"] in found
    assert "on one shared segment of 10 Mb/s" in text_of(section(calls))
    # Replications of a number of calls are in one row.
    numbers = dict.fromkeys(trial.point["calls"] for trial in run.trials())
    tried = [
        [f"calls/{2 * at:05d} to calls/{2 * at + 1:05d}", number]
        for at, number in enumerate(numbers)
    ]
    assert [row for row in found if row[0].startswith("calls/")] == tried


def test_a_verdict_is_shown_with_its_evidence(bottleneck):
    text = text_of(section(bottleneck))
    assert "Bottleneck: Wire – its relief moves the throughput" in text
    assert "A stage moves the throughput if its response" in text
    changes = [row[:3] for row in rows(table(section(bottleneck), "Changes"))]
    assert ["Wire", "relieved", "50 Mb/s to 100 Mb/s"] in changes
    ceilings = rows(table(section(bottleneck), "Ceilings along the path"))
    assert "Wire" in {row[0] for row in ceilings}
    assert "Nearest ceiling: Wire" in text
    assert "Bottleneck: Wire" in text_of(by_id(parse(bottleneck), "findings"))


def test_an_answer_of_another_strategy_than_the_question_is_refused(bottleneck, calls, monkeypatch):
    answer = RunDirectory(calls.parent).answer()
    monkeypatch.setattr(RunDirectory, "answer", lambda _: answer)
    with pytest.raises(InputError, match="expected question and answer"):
        _ = ReportData.of_run(bottleneck.parent, Presentation()).search


def test_the_page_of_a_value_has_the_answer_in_words_its_bound_and_every_value_tried(room):
    text, found = text_of(section(room)), rows(section(room))
    assert (
        "Smallest network.switches.switch.queue with loss == 0 and event: one_way_delay_max <= "
        "20 ms: 24 at 95%; 23 fails"
    ) in text
    assert "Bound: the largest queue of switch by network calculus" in text
    assert "24 frames; with this room nothing is lost" in text
    tried = {row[0]: row[1:] for row in found if row[1] in ("fails", "holds")}
    assert tried["23"][:3] == ["fails", "5", "100"]
    assert tried["24"][::2][:2] == ["holds", "0"]
    for row in tried.values():
        assert re.fullmatch(r"event frontend\d+", row[3])


def test_figures_have_the_points_the_limit_and_the_answer(room):
    # One for each condition, with its curve, its limit and one line for both ends.
    figures = [*section(room).iter("figure")]
    assert len(figures) == 2
    for figure in figures:
        assert all(name in text_of(figure) for name in ("trials", "limit", "answer"))


def test_a_run_of_no_strategy_has_no_such_section(study_page):
    assert "search" not in sections(parse(study_page))


def test_an_altered_answer_is_refused(calls, tmp_path):
    copy = shutil.copytree(calls.parent, tmp_path / "copy")
    (copy / "answer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"answer\.json.*damaged"):
        evaluate(copy)


@pytest.mark.browser
def test_figures_are_drawn_and_it_needs_no_sideways_scrolling(browser, calls, bottleneck, room):
    # A figure for each condition of a value, and the ceilings along a path; calls have tables.
    shown = ((room, 1280, 2), (room, 390, 2), (calls, 390, 0), (bottleneck, 390, 1))
    for report, width, conditions in shown:
        with Visit(browser, report.resolve().as_uri(), width) as visit:
            visit.expect_quiet_and_no_wider()
            visit.expect_drawn("search", conditions)
            visit.expect_drawn("explore", 1)
