"""The report of a search: what was asked, what was found, and the trials on the way."""

import re
from contextlib import nullcontext
from html import unescape
from pathlib import Path

import pytest
from bottleneck_runs import Formula, search_bottleneck
from ethermeter.bottleneck import load
from ethermeter.calls import OnSegment, Question, Wanted
from ethermeter.experiment import load as load_experiment
from ethermeter.experiment import shipped
from ethermeter.faults import InputError
from ethermeter.run import RunOptions, evaluate, search
from ethermeter.search import question_of
from ethermeter.store import RunDirectory
from ethermeter.strategies.calls import CallSearch
from ethermeter.strategies.search import ValueSearch
from ethermeter.studies import pages
from visiting import Visit


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    segment = OnSegment({"standard": "ieee-10", "round_trip": "25 us", "clusters": 2})
    question = Question(segment, codec="g711", packet_s=0.02, duration_s=0.2, replications=2)
    out = tmp_path_factory.mktemp("calls") / "run"
    search(CallSearch(question, Wanted(mos=4.0)), directory=out, options=RunOptions(jobs=1))
    return out


@pytest.fixture(scope="module")
def bottleneck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bottleneck") / "run"
    search_bottleneck(load("wire"), out, lambda: nullcontext(Formula(0.02)), repetitions=3)
    return out


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = "network.switches.switch.queue"
    experiment = load_experiment(shipped()["buffer-sizing"], overrides=[f"{key}=24"])
    conditions = ["loss == 0", "event: one_way_delay.max <= 20 ms"]
    asked = {"smallest": key, "from": 20, "to": 27, "while": conditions}
    out = tmp_path_factory.mktemp("room") / "run"
    strategy = ValueSearch(question_of(experiment, asked))
    search(strategy, directory=out, options=RunOptions(jobs=2))
    return out


def text_of(run: Path) -> str:
    """The section of the search, as text."""
    page = evaluate(run)["report"].read_text(encoding="utf-8")
    (section,) = re.findall(r'<section id="search".*?</section>', page, re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", section)))


def test_the_page_of_a_search_shows_question_answer_and_trials(calls):
    text, run = text_of(calls), RunDirectory(calls)
    assert "Strategy calls" in text
    assert "Wanted mos 4" in text
    assert "Subject one shared segment of 10 Mb/s" in text
    # Replications of a number of calls are in one row.
    numbers = dict.fromkeys(trial.point["calls"] for trial in run.trials())
    for at, number in enumerate(numbers):
        assert f"calls/{2 * at:05d} to calls/{2 * at + 1:05d} {number}" in text


def test_a_verdict_is_shown_with_its_evidence(bottleneck):
    text = text_of(bottleneck)
    assert "Bottleneck wire" in text
    assert "Why its relief moves the throughput" in text
    assert "Stage Way Factor What Is evidence only Gain Response" in text
    assert "wire relieved 2 50 Mb/s to 100 Mb/s no" in text
    assert "Roofline achieved bit/s" in text


def test_the_page_of_a_value_has_the_answer_in_words_its_bound_and_every_value_tried(room):
    text = text_of(room)
    assert (
        "The smallest network.switches.switch.queue with loss == 0 and event: one_way_delay_max <= "
        "20 ms: 24 at 95%; 23 fails."
    ) in text
    assert "Bound: the largest queue of switch by network calculus" in text
    assert "24 frames; with it nothing is lost" in text
    assert "network.switches.switch.queue Verdict Trials loss == 0 (%) Of" in text
    assert re.search(r"23 fails 5 100 event frontend\d+ ", text)
    assert re.search(r"24 holds \d+ 0 event frontend\d+ ", text)


def test_figures_have_the_points_the_limit_and_the_answer(room):
    page = evaluate(room)["report"].read_text(encoding="utf-8")
    (section,) = re.findall(r'<section id="search".*?</section>', page, re.DOTALL)
    # One for each condition, with its curve, its limit and one line for both ends.
    assert section.count("<figure") == 2
    for name in ("trials", "limit", "answer"):
        assert len(re.findall(rf">{name}<", section)) >= 2, name


def test_a_run_of_no_strategy_has_no_such_section(study_run):
    page = pages.write_report(study_run).read_text(encoding="utf-8")
    assert 'id="search"' not in page


def test_an_altered_answer_is_refused(calls, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in calls.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    (copy / "answer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"answer\.json.*damaged"):
        evaluate(copy)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_needs_no_sideways_scrolling(browser, calls, bottleneck, room, width):
    for run in (calls, bottleneck, room):
        url = evaluate(run)["report"].resolve().as_uri()
        visit = Visit(browser, url, width, "light")
        visit.expect_quiet_and_no_wider()
        visit.page.close()
