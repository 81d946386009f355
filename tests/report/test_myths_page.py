"""The report on the myths, of a short run: in a real browser, offline, with the figures of every
pitfall, and their numbers beside them.
"""

from pathlib import Path

import pytest
from anatomy import sections, text_of
from ethermeter import api
from ethermeter.analysis import claims
from ethermeter.run import RunOptions, evaluate, execute
from ethermeter.studies import pages, registry
from visiting import Visit

FIGURES = {"37": 2, "protocol": 2, "assumptions": 2, "dependent": 3, "independent": 3, "regime": 2}
"""Figures of every pitfall."""
SHORT = ("phases.transmit='300 ms'", "phases.measure='last 250 ms'")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    loaded = api.load(*registry.find("myths").runs, overrides=SHORT, name="myths")
    directory = tmp_path_factory.mktemp("runs") / "myths"
    plan = loaded.plan(replications=3)
    execute(plan, loaded.experiments, directory=directory, options=RunOptions(study="myths"))
    evaluate(directory)
    return directory


@pytest.fixture(scope="module")
def page(run_dir: Path) -> str:
    return (run_dir / "report.html").read_text(encoding="utf-8")


def test_claims_are_written_and_shown_after_every_figure_and_the_pitfalls_before_the_series(
    run_dir, page
):
    found = claims.read(run_dir)
    assert found is not None
    study, every = found
    assert (study, len(every)) == ("myths", 32)
    assert not [claim.id for claim in every if claim.verdict == "not-run"]
    order = sections(page)
    assert order[: len(FIGURES)] == [f"myth-{name}" for name in FIGURES]
    assert order[len(FIGURES)] == "explore"
    drawn = [name for name in order if "<figure " in text_of(page, name)]
    assert len([name for name in drawn if name.startswith("series-")]) > 0
    assert order.index("claims") == len(drawn)


def test_every_figure_of_a_pitfall_has_its_numbers_in_a_table(page):
    for name, count in FIGURES.items():
        text = text_of(page, f"myth-{name}")
        assert (text.count("<figure "), text.count("<table")) == (count, count)


def test_the_report_can_be_written_anew_and_is_the_same(run_dir, page):
    assert pages.write_report(run_dir).read_text(encoding="utf-8") == page


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_pitfall_is_drawn_without_a_request_an_error_or_sideways_scrolling(
    browser, run_dir, width, scheme
):
    with Visit(browser, (run_dir / "report.html").resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        for name, count in FIGURES.items():
            visit.expect_drawn(f"myth-{name}", count)
        visit.expect_within_boxes("myth-")
        # Each has points whose values show when they are pointed at.
        assert visit.page.evaluate(
            "[...document.querySelectorAll('[id^=myth-] .plot')].every(p => "
            "p.querySelectorAll('.mark-symbol path').length > 1)"
        )


@pytest.mark.browser
def test_pointing_at_a_point_shows_value_interval_and_where_it_comes_from(browser, run_dir):
    with Visit(browser, (run_dir / "report.html").resolve().as_uri(), 1280) as visit:
        words = (
            "Utilisation",
            "95% interval",
            "Number of hosts",
            "64",
            "1536 B",
            "simulation of the segment",
        )
        visit.expect_tip(visit.page.locator("#myth-37 .plot").last, *words)
