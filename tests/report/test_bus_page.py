"""The page of a bus in a real browser."""

import ethermeter
import pytest
from ethermeter.report.bus_page import bus_page
from ethermeter.report.export import export
from ethermeter.theory.bus_advice import advice
from visiting import Visit


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_bus_is_drawn_whole_on_wide_and_narrow_screens(browser, tmp_path, width, scheme):
    (loaded,) = ethermeter.load("10base-t1s/sensor-bus").experiments
    found = advice(loaded.scenarios.at([0] * len(loaded.sweeps)))
    file = export(bus_page("A bus", {"seed": "1"}, found), tmp_path / "bus.html")
    with Visit(browser, file.as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("nodes", 1)
        visit.expect_drawn("bursts", 2)
        visit.expect_within_boxes("nodes")
        visit.expect_within_boxes("bursts")
        words = visit.page.locator("#nodes .plot svg").text_content()
        assert "longest cycle 1.279" in words


@pytest.mark.browser
def test_buses_of_a_network_are_drawn_each(browser, tmp_path):
    (loaded,) = ethermeter.load("10base-t1s/zone-gateway").experiments
    one = advice(loaded.scenarios.at([0]))["bus"]
    file = export(bus_page("Two", {}, {"front": one, "rear": one}), tmp_path / "bus.html")
    with Visit(browser, file.as_uri(), 390) as visit:
        visit.expect_quiet_and_no_wider()
        for section, plots in (("nodes", 1), ("bursts", 2), ("nodes-1", 1), ("bursts-1", 2)):
            visit.expect_drawn(section, plots)
        assert "Longest times of nodes of rear" in visit.page.locator("#nodes-1").inner_text()
