"""The order of a page, and what is folded so that it is short; in a real browser, its height."""

from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.document import Block, Figure, Grid, Heading, Section, Table, Text
from ethermeter.report import topology
from ethermeter.report.layout import MOST_HEIGHT, OPEN_FIGURES, arrange, height, split
from ethermeter.studies import pages
from visiting import Visit

MOST_PIXELS = {1280: 6000, 390: 15_000}
FIGURE = Figure({}, "a figure")
TABLE = Table(("a",), [["b"]] * 5, "a table")


def section(name: str, *blocks: Block) -> Section:
    return Section(name, name, name, blocks)


def test_sections_and_groups_with_figures_stand_before_those_with_tables():
    found = arrange(
        [
            section("table", TABLE),
            section("both", Text("x"), Heading("numbers"), TABLE, Heading("drawn"), FIGURE),
            section("parameters", TABLE),
        ],
        MOST_HEIGHT,
    )
    assert [each.anchor for each in found] == ["both", "table", "parameters"]
    assert [group.title for group in found[0].groups] == ["", "drawn", "numbers"]
    # Anchors stay with their headings, wherever these stand.
    assert [group.anchor for group in found[0].groups] == ["both", "both-2", "both-1"]


def test_what_a_page_has_no_room_for_is_folded_and_the_first_section_never():
    long = [Grid([FIGURE] * OPEN_FIGURES)] * 10
    assert height(long) > MOST_HEIGHT
    three = [section("first", *long), section("second", *long), section("third", FIGURE)]
    found = arrange(three, MOST_HEIGHT)
    assert [each.is_open for each in found] == [True, False, False]
    one = section("first", FIGURE, Heading("a"), *long, Heading("b"), FIGURE)
    found = arrange([one], MOST_HEIGHT)
    assert [group.is_open for group in found[0].groups] == [True, False, True]


def test_of_many_figures_the_first_are_in_sight():
    assert [len(part) for part in split([FIGURE] * (OPEN_FIGURES + 2))] == [OPEN_FIGURES + 2, 0]
    assert [len(part) for part in split([FIGURE] * 20)] == [OPEN_FIGURES, 20 - OPEN_FIGURES]


SHORT = ("phases.transmit='30 ms'", "phases.measure='last 20 ms'", "run.replications=1")
SHIPPED = {
    "hub-and-switch": SHORT,
    "voice-network": ("run.replications=1",),
    "10base-t1s/plca-or-csma": SHORT,
    "poisson-load": SHORT,
}
"""Shipped experiments of different kinds, the longest pages among them."""


@pytest.fixture(scope="module", params=SHIPPED)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    out: Path = tmp_path_factory.mktemp("shipped") / "run"
    em.load(request.param, overrides=SHIPPED[request.param]).run(out=out)
    return pages.write_report(out).resolve().as_uri()


@pytest.mark.browser
def test_a_shipped_page_is_short_fits_a_phone_and_prints_whole(browser, url):
    tall = "document.documentElement.scrollHeight"
    with Visit(browser, url, 1280) as visit:
        visit.expect_quiet_and_no_wider()
        assert visit.page.evaluate(tall) <= MOST_PIXELS[1280]
        assert visit.page.locator("#explorer .plot").is_visible()
        tops = visit.page.evaluate(
            "['findings', 'content'].map(id => document.getElementById(id)"
            ".getBoundingClientRect().top)"
        )
        assert tops[0] == pytest.approx(tops[1], abs=1)
        folded = visit.page.locator("details.fold:not([open])").count()
        assert folded > 0
        # The list of contents is at the side, and leads into what is folded.
        last = visit.page.locator("nav.map > details > ul > li > a").last
        last.click()
        name = (last.get_attribute("href") or "").removeprefix("#")
        visit.wait_for(f"document.querySelector('#{name} > details').open")
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert visit.page.locator("details.fold:not([open])").count() == 0
        assert visit.page.pdf()[:5] == b"%PDF-"
        # What was opened for paper is folded again after it, the last section apart.
        assert visit.page.locator("details.fold:not([open])").count() >= folded - 3
    with Visit(browser, url, 390, "dark") as visit:
        visit.expect_quiet_and_no_wider()
        assert visit.page.evaluate(tall) <= MOST_PIXELS[390]
        assert visit.page.locator("#explorer .plot").is_visible()
        for drawing in visit.page.locator("svg.network").all():
            # A row at least, in a box that scrolls by itself where it is too narrow.
            assert drawing.bounding_box()["height"] >= topology.ROW
            assert drawing.evaluate("svg => svg.parentElement.clientWidth") <= 390
        assert not visit.page.locator("nav.map ul").first.is_visible()
        visit.page.locator("nav.map summary").click()
        assert visit.page.locator("nav.map a").first.is_visible()
        visit.unfold()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
        visit.expect_within_boxes("series-")
