"""The report on the myths, of a short run: in a real browser, offline, with the figures of every pitfall, and their numbers beside them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethermeter import api, report
from ethermeter.cli.running import STUDIES
from ethermeter.papers import claims
from ethermeter.run import Manner, evaluate, execute

CHROMIUM = Path("/usr/bin/chromium")
RENDERED = "document.querySelectorAll('.plot').length === document.querySelectorAll('.plot[data-rendered] svg').length"
FIGURES = {"37": 2, "protocol": 2, "assumptions": 2, "dependent": 3, "independent": 3, "regime": 2}
"""Figures of every pitfall."""
SHORT = ("phases.transmit='300 ms'", "phases.measure='last 250 ms'")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    loaded = api.load(*STUDIES["myths"].experiments, overrides=SHORT, name="myths")
    directory = tmp_path_factory.mktemp("runs") / "myths"
    plan = loaded.plan(replications=3)
    execute(plan, loaded.experiments, directory=directory, manner=Manner(study="myths"))
    evaluate(directory)
    return directory


@pytest.fixture(scope="module")
def page(run_dir: Path) -> str:
    return (run_dir / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"])
        yield opened
        opened.close()


def test_claims_are_written_and_shown_before_the_pitfalls_and_these_before_the_series(run_dir: Path, page: str) -> None:
    found = claims.read(run_dir)
    assert found is not None
    study, every = found
    assert (study, len(every)) == ("myths", 32)
    assert not [claim.id for claim in every if claim.verdict == "not-run"]
    order = re.findall(r'<section id="([^"]+)"', page)
    assert order[: len(FIGURES) + 1] == ["claims", *(f"myth-{name}" for name in FIGURES)]
    assert order[len(FIGURES) + 1].startswith("series-")


def test_every_figure_of_a_pitfall_has_its_numbers_in_a_table(page: str) -> None:
    for name, count in FIGURES.items():
        text = page.split(f'<section id="myth-{name}">')[1].split("</section>")[0]
        assert (text.count("<figure "), text.count("<table")) == (count, count)


def test_the_report_can_be_written_anew_and_is_the_same(run_dir: Path, page: str) -> None:
    assert report.write(run_dir).read_text(encoding="utf-8") == page


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_pitfall_is_drawn_without_a_request_an_error_or_sideways_scrolling(
    browser: object, run_dir: Path, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    url = (run_dir / "report.html").resolve().as_uri()
    page.goto(url)
    page.wait_for_function(RENDERED, timeout=120_000)
    assert requests == [url]
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name, count in FIGURES.items():
        assert page.locator(f"#myth-{name} .plot[data-rendered={scheme}]").count() == count
    # Every drawing stays within its box, and so does every word of its legend.
    assert page.evaluate(
        "[...document.querySelectorAll('[id^=myth-] .plot')].every(p => { const right = p.getBoundingClientRect().right + 1;"
        " return [...p.querySelectorAll('svg, .mark-text text')].every(e => e.getBoundingClientRect().right <= right); })"
    )
    # Each has points whose values show when they are pointed at.
    assert page.evaluate(
        "[...document.querySelectorAll('[id^=myth-] .plot')].every(p => p.querySelectorAll('.mark-symbol path').length > 1)"
    )
    page.close()


@pytest.mark.browser
def test_pointing_at_a_point_shows_value_interval_and_where_it_comes_from(browser: object, run_dir: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((run_dir / "report.html").resolve().as_uri())
    page.wait_for_function(RENDERED, timeout=120_000)
    plot = page.locator("#myth-37 .plot").last
    plot.scroll_into_view_if_needed()
    box = plot.locator(".mark-symbol.role-mark path").last.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for(timeout=10_000)
    text = tip.inner_text()
    for expected in ("Utilisation", "95% interval", "Number of hosts", "64", "1536 B", "simulation of the segment"):
        assert expected in text
    page.close()
