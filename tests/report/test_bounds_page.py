"""The report on the theory of a network beside its simulation: what it says, and in a browser."""

import math
from pathlib import Path

import pytest
from ethermeter import plan
from ethermeter.metrics import Caution, Metric
from ethermeter.store.rows import Remark
from ethermeter.studies import pages
from test_page import Elements
from theory_runs import BOUNDED, MEAN, experiment, recorded, rows_of_theory
from visiting import Visit

REASON = "its arrivals are Poisson, without a largest burst"
VARIED = '[vary]\n"flows.copy.frames" = ["1518 B", "512 B"]\n'


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two points; the bound of the first flow is too low, the second has none."""
    folder = tmp_path_factory.mktemp("bounds")
    source = experiment(folder, "theory", "simulation", more=VARIED)
    bounded, mean = plan.expand([source]).trials[0], plan.expand([source]).trials[1]
    remarks = [Remark("flow", 0, "method", "TFA"), Remark("flow", 1, "reason", REASON)]
    rows = {
        BOUNDED: rows_of_theory(
            bounded,
            {Metric.ONE_WAY_DELAY_MAX: (50e-6, math.nan)},
            cautions=[Caution.UPPER_BOUND],
            queues={(5, "queue_most"): 17, (5, "queue_octets_most"): 20_000},
            remarks=remarks,
        ),
        MEAN: rows_of_theory(mean, {Metric.ONE_WAY_DELAY: (41e-6, 123e-6)}),
    }
    return pages.write_report(recorded(source, folder / "run", rows).path)


def test_the_page_has_bound_mean_and_what_was_seen_of_each_flow_in_one_table(page):
    text = page.read_text(encoding="utf-8")
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    table = text.split('aria-label="Times of flows, by every engine"')[1].split("</table>")[0]
    # Two points, two flows, by theory and by simulation.
    assert table.count("<tr>") == 1 + 2 * 2 * 2
    assert table.count("no bound") == 2
    assert REASON in table
    assert table.count("TFA") == 2
    assert "never more than 50 µs" in text
    assert f"no bound: {REASON}" in text
    assert "room for 17 frames (20,000 octets) loses nothing" in text
    queues = text.split('aria-label="Queues of ports"')[1].split("</table>")[0]
    assert queues.count("no limit") > 0


def test_a_value_above_its_bound_is_a_warning_with_its_sentence(page):
    text = page.read_text(encoding="utf-8")
    # A frame of 1518 octets before one's own takes 121 µs.
    assert "flow control: the largest simulated one way delay, " in text
    assert "is above its bound, 50 µs" in text
    assert text.count('tag missed">above its bound') >= 1


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_bounds_are_drawn_without_a_complaint(browser, page, width, scheme):
    with Visit(browser, page.resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_within_boxes("series")
        plot = visit.page.locator("[id^=series] .plot").first
        plot.scroll_into_view_if_needed()
        words = plot.inner_text()
        assert [
            word for word in ("control", "copy", "theory", "simulated") if word not in words
        ] == []
