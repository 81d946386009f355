"""Every kind of page that a command writes is opened by a test that counts its figures;
here those of a series of measurements, which has no other test.
"""

import re
from pathlib import Path

import ethermeter.report
import msgspec
import pytest
from ethermeter.metrics import Metric
from ethermeter.probing.result import Measurement, Value
from ethermeter.probing.series import opened
from ethermeter.results.interval import Estimate
from visiting import Visit

HERE = Path(__file__).parent
OPENED = {
    "bus_page": "test_bus_page",
    "capture_page": "test_capture_page",
    "comparison_page": "test_comparison_page",
    "index": "test_study_pages",
    "model_page": "test_model_page",
    "page": "test_browser",
    "roofline": "test_roofline_page",
    "series_page": "test_every_page",
}
"""The test that opens it, by the module that makes a kind of page."""


def test_every_module_that_makes_a_page_has_a_test_that_opens_it_and_counts_its_figures():
    room = Path(ethermeter.report.__file__).parent
    makers = {
        path.stem
        for path in room.glob("*.py")
        if re.search(r"(?<!class )\bPage\(", path.read_text())
    }
    assert makers == {*OPENED}
    for test in OPENED.values():
        text = (HERE / f"{test}.py").read_text(encoding="utf-8")
        assert "with Visit(" in text
        assert re.search(r"expect_drawn\(|\.plot\S*\)\.count\(\)", text), test


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """The page of three measurements in both directions, the last of which failed."""
    with opened(tmp_path / "series", {"to": "10.0.0.2"}, every_s=5.0, for_s=15.0) as kept:
        for slot, rate_bps in enumerate((90e6, 95e6)):
            at = f"2026-01-01T00:00:{5 * slot:02d}Z"
            values = [
                Value.made(flow, metric, Estimate(value, value / 100, 9.0), "agent")
                for flow in ("up", "down")
                for metric, value in ((Metric.DATA_RATE, rate_bps), (Metric.ROUND_TRIP, 1e-3))
            ]
            kept.append(
                slot, msgspec.to_builtins(Measurement("10.0.0.2", at, ("agent",), tuple(values)))
            )
        kept.append(2, {"at": "2026-01-01T00:00:10Z", "error": "nothing answers"})
        return kept.write_page()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_series_of_measurements_has_a_figure_of_each_metric(browser, series, width, scheme):
    with Visit(browser, series.resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("time", 2)
        visit.expect_within_boxes("time")
        for plot in visit.page.locator("#time .plot").all():
            # A line and two points of each direction, and an interval at each point.
            assert plot.locator(".mark-line path").count() == 2
            assert plot.locator(".mark-symbol.role-mark path").count() == 4
            assert plot.locator(".mark-rule.role-mark line").count() == 4
        visit.expect_tip(visit.page.locator("#time .plot").first, "95", "down")
        assert "nothing answers" in visit.page.locator("#failed").inner_text()
