"""The documentation site: every page opens without a network at two widths, and is accessible.

`make docs` builds it with warnings as errors, so that its links lead somewhere.
"""

import re

import pytest
from accessibility import WIDTHS, violations
from documents import ROOT

SITE = ROOT / "target" / "site"
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if path.name != "404.html" and not path.is_relative_to(SITE / "decisions")
)
OF_THE_THEME = (".md-code__nav",)
"""Landmarks without a name, which the theme's script makes around its buttons for copying."""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.skipif(not PAGES, reason="no site: make docs builds it"),
]


@pytest.mark.parametrize("name", PAGES or ["index.html"])
def test_a_page_of_the_site_opens_and_is_accessible(browser, name):
    url = (SITE / name).as_uri()
    # A page of its own for each width: when a width changes, the navigation moves for a while.
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900})
        complaints, requests = [], []
        page.on("pageerror", lambda error: complaints.append(str(error)))  # noqa: B023
        page.on("request", lambda request: requests.append(request.url))  # noqa: B023
        page.goto(url)
        assert complaints == []
        assert [asked for asked in requests if not re.match(r"file:|data:|blob:", asked)] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page, without=OF_THE_THEME) == [], width
        page.close()
