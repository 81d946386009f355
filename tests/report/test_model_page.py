"""The page of a calibration in a real browser."""

import pytest
from ethermeter.metrics import Metric
from ethermeter.report.model_page import Fitted, Listing, fitted_page
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from visiting import Visit


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_data_fit_doubts_and_tables_are_shown(browser, tmp_path, width, scheme):
    points = tuple(
        Point(
            "",
            {"flows.ping.frames": f"{octets} B"},
            engine,
            1,
            {Metric.ONE_WAY_DELAY: Estimate(value * octets, error, 9.0)},
        )
        for octets in (64, 512, 1518)
        for engine, value, error in (("measured", 1.01e-8, 1e-7), ("fitted", 1e-8, 0.0))
    )
    listing = Listing(
        "Unknowns",
        "What the data say.",
        ("Unknown", "Value"),
        (("software <b>", "8.7"), ("nic", "4.2")),
    )
    content = Fitted(
        "A calibration",
        "ethermeter calibration",
        (("Data", "3"),),
        ("A doubt & more",),
        points,
        (listing,),
    )
    path = tmp_path / "page.html"
    path.write_text(fitted_page(content), encoding="utf-8")
    with Visit(browser, path.resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("figures", 1)
        visit.expect_within_boxes("figures")
        assert visit.page.locator("#warnings li").inner_text() == "A doubt & more"
        assert visit.page.locator("#table-0 th[scope=row]").first.inner_text() == "software <b>"
        text = visit.page.locator("#figures .plot").inner_text()
        assert "measured" in text
        assert "fitted" in text
