"""The documentation site: its pages open without a network, are accessible and fit a telephone.

`make docs` builds it with warnings as errors, so that its links lead somewhere. One page of each
kind is opened in a browser, at two widths; the others are made of what these show.
"""

import re
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from accessibility import WIDTHS, violations
from documents import ROOT
from markup import complaints, construction, elsewhere, parse, rows
from visiting import Visit

SITE = ROOT / "target" / "site"
PAGES = sorted(
    path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html"
)
KINDS = {
    "index.html": "body",
    "explanation/formulas.html": "article",
    "explanation/theory.html": "article",
    "how-to/add-a-metric.html": "div.highlight",
    "how-to/add-a-strategy.html": "body",
    "how-to/benchmark-a-switch.html": "div.highlight",
    "how-to/choose-a-queue.html": "article",
    "notebooks/hub-or-switch.html": "article",
    "notebooks/live-testbed.html": "div.jp-OutputArea",
    "notebooks/saturated-ethernet.html": "div.jp-OutputArea",
    "reference/idealised-media.html": "div.highlight",
    "reference/models.html": "div.highlight",
    "reference/python-voice.html": "article",
    "reference/python.html": "div.doc-class",
}
"""Pages with the least text that have every kind of element of the site, in these parts of them."""
OF_THE_THEME = frozenset({"md-toggle"})
"""Fields that the theme never shows: it uses their state."""
COPY_BUTTONS = ".md-code__nav"
"""Landmarks without a name, which the theme's script makes around its buttons for copying."""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.xdist_group("site"),
    pytest.mark.skipif(not PAGES, reason="no site: make docs builds it"),
]


@pytest.fixture(scope="module")
def site() -> dict[str, Element]:
    """Every page as a tree."""
    return {name: parse(SITE / name) for name in PAGES}


def parts(page: Element, selector: str) -> list[Element]:
    """Return the elements that a selector of a tag and a class selects."""
    tag, _, name = selector.partition(".")
    return [each for each in page.iter(tag) if not name or name in each.get("class", "").split()]


def scripts(page: Element) -> set[str]:
    """Return the scripts of a page: those of files by their names, others by their text."""
    found = [each for each in page.iter("script") if each.get("type") != "application/json"]
    return {
        Path(each.get("src", "")).name or re.sub(r'"(\.\.|\.)"', "", each.text or "")
        for each in found
    }


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_page_opens_and_is_accessible(browser, name, width):
    with Visit(browser, (SITE / name).as_uri(), width) as visit:
        visit.expect_quiet_and_no_wider(files=True)
        assert violations(visit.page, within=KINDS[name], without=COPY_BUTTONS) == []


def test_a_kind_has_each_element_and_script_that_any_page_has(site):
    shown = {
        each
        for name, selector in KINDS.items()
        for part in parts(site[name], selector)
        for each in construction(part)
    }
    run = {each for name in KINDS for each in scripts(site[name])}
    new = {
        name: (construction(page.find(".//body")) - shown) | (scripts(page) - run)
        for name, page in site.items()
    }
    assert {name: found for name, found in new.items() if found} == {}, "make it a kind"


def test_every_page_keeps_the_rules_of_its_text(site):
    found = {name: complaints(page, unseen=OF_THE_THEME) for name, page in site.items()}
    found |= {path.name: elsewhere(path.read_text()) for path in SITE.rglob("*.css")}
    assert {name: said for name, said in found.items() if said} == {}


def test_no_page_is_wider_than_a_telephone(browser):
    width = min(WIDTHS)
    with Visit(browser, (SITE / "how-to" / "install.html").as_uri(), width) as visit:
        visit.page.evaluate("document.head.append(document.createElement('base'))")
        widths = {name: visit.page.evaluate(TURN, _article(name)) for name in PAGES}
        assert {name: found for name, found in widths.items() if found > width} == {}
        visit.expect_quiet_and_no_wider(files=True)


TURN = """async ([address, html]) => {
  document.querySelector("base").href = address;
  document.querySelector("article").outerHTML = html;
  await Promise.all([...document.querySelectorAll("article img")].map(image => image.decode()));
  return document.documentElement.scrollWidth;
}"""
"""Show the article of another page, in the frame that all pages have; its width."""


def _article(name: str) -> tuple[str, str]:
    """Return the address of a page and the HTML of its article."""
    found = re.search("<article.*</article>", (SITE / name).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return (SITE / name).as_uri(), found[0]


def test_notebooks_were_executed_and_show_what_their_texts_say(site):
    def page(name):
        return site[f"notebooks/{name}.html"]

    def values(name, first):
        row = next(row for row in rows(page(name)) if row[0] == first)
        return [float(cell) for cell in row[1:]]

    # Jain's index of two bit rates after 20 ms and 4 s: mean, least, most.
    assert values("capture-effect", "0.02")[0] < 0.7
    assert values("capture-effect", "4.00")[0] > 0.9
    for octets in ("64", "256", "512", "1536"):
        ideal, _, theory = values("theory-and-simulation", octets)
        assert theory == pytest.approx(ideal, rel=0.02)
    # Goodput at the highest load.
    hubs, switches, *_ = values("hub-or-switch", "0.8")
    assert switches > 2 * hubs
    # Utilisation by 24 hosts, whatever the length of their frames.
    for row in ("12", "13", "14"):
        _, value, low, high = values("saturated-ethernet", row)
        assert 0.37 < low <= value <= high
    drawn = [text for text in page("saturated-ethernet").iter("text") if text.text]
    assert {"0.0", "1.0", "37%, the claim"} <= {text.text for text in drawn}
    for name in ("hub-or-switch", "saturated-ethernet"):
        assert [each for each in construction(page(name)) if "mark-symbol" in each]
    assert [row for row in rows(page("live-testbed")) if "simulation" in row]
