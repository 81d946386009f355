"""The page of a roofline in a real browser."""

import pytest
from ethermeter.analysis.roofline import Roofline, Stage
from ethermeter.report.export import export
from ethermeter.report.roofline import page
from ethermeter.results.interval import Estimate, exact
from visiting import Visit

LONG = "Calls and receive interrupts, frames of 1518 octets"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
def test_a_roofline_is_drawn_whole_on_wide_and_narrow_screens(browser, tmp_path, width, scheme):
    stages = (
        Stage("Disk, read", Estimate(8e9, 3e9, 4.0), "measured"),
        Stage("Wire", exact(1e8), "computed"),
        Stage(LONG, exact(5e9), "measured"),
    )
    path = Roofline("Path", "octets of data", stages, Estimate(9e7, 1e6, 4.0))
    file = export(page("A path", [path]), tmp_path / "path.html")
    with Visit(browser, file.as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("rooflines", 1)
        visit.expect_within_boxes("rooflines")
        words = visit.page.locator(".plot svg").text_content()
        assert "achieved 90 Mb/s" in words
        assert "Nearest ceiling: Wire, 100 Mb/s" in visit.page.locator("figcaption").inner_text()
