"""The report on the theory of a network beside its simulation: what it says, and in a browser."""

import math
from pathlib import Path

import pytest
from ethermeter import plan
from ethermeter.metrics import Caution, Metric
from ethermeter.store.trial_result import Fact
from ethermeter.studies import pages
from markup import parse, rows, table, text_of
from theory_runs import BOUNDED, MEAN, experiment, recorded, result_of_theory
from visiting import Visit

REASON = "its arrivals are Poisson, without a largest burst"
VARIED = '[vary]\n"flows.copy.frames" = ["1518 B", "512 B"]\n'


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two points; the bound of the first flow is too low, the second has none."""
    folder = tmp_path_factory.mktemp("bounds")
    source = experiment(folder, "theory", "simulation", more=VARIED)
    bounded, mean = plan.expand([source]).trials[0], plan.expand([source]).trials[1]
    facts = [Fact("flow", 0, method="TFA"), Fact("flow", 1, reason=REASON)]
    values = {
        BOUNDED: result_of_theory(
            bounded,
            {Metric.ONE_WAY_DELAY_MAX: (50e-6, math.nan)},
            cautions=[Caution.UPPER_BOUND],
            queues={(5, "queue_most"): 17, (5, "queue_octets_most"): 20_000},
            facts=facts,
        ),
        MEAN: result_of_theory(mean, {Metric.ONE_WAY_DELAY: (41e-6, 123e-6)}),
    }
    return pages.write_report(recorded(source, folder / "run", values).path)


def test_the_page_has_bound_mean_and_what_was_seen_of_each_flow_in_one_table(page):
    whole = parse(page)
    times = rows(table(whole, "Times of flows, by every engine"))
    # Two points, two flows.
    assert len(times) == 2 * 2
    for words in (REASON, "TFA"):
        assert sum(words in " ".join(row) for row in times) == 2, words
    for said in ("room for 17 frames (20,000 octets) loses nothing",):
        assert said in text_of(whole)
    queues = rows(table(whole, "Queues of ports"))
    assert "no limit" in {cell for row in queues for cell in row}


def test_a_value_above_its_bound_is_a_warning_with_its_sentence(page):
    whole = parse(page)
    # A frame of 1518 octets before one's own takes 121 µs.
    assert "flow control: the largest simulated one way delay, " in text_of(whole)
    assert "is above its bound, 50 µs" in text_of(whole)
    tags = whole.findall(".//span[@class='tag missed']")
    assert "above its bound" in {text_of(tag) for tag in tags}


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_bounds_are_drawn_without_a_complaint(browser, page, width, scheme):
    with Visit(browser, page.resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_within_boxes("series")
        # A figure for each of the two points.
        whole = visit.page.locator(".group:has(h3:text-is('Bounds, means and what was seen'))")
        assert whole.locator(f".plot[data-rendered={scheme}]").count() == 2
        plot = visit.page.locator("[id^=series] .plot").first
        plot.scroll_into_view_if_needed()
        words = plot.inner_text()
        assert [
            word for word in ("control", "copy", "theory", "simulated") if word not in words
        ] == []
