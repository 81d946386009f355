"""The figure whose metric, axes and curves the reader chooses."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ethermeter as em
import pytest
from ethermeter.analysis import flows, groups
from ethermeter.document import Explorer
from ethermeter.metrics import Metric
from ethermeter.report.charts.explorer import explorer, thinned
from ethermeter.report.sections.explorer import explorer_of
from ethermeter.report.thinning import MOST_VALUES
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from ethermeter.store import RunDirectory
from small_runs import write_experiment
from test_large_page import NETWORK
from visiting import Visit

UNITS = {"b/s": 1.0, "kb/s": 1e-3, "Mb/s": 1e-6, "Gb/s": 1e-9}
UNITS |= {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
"""Factors from the SI unit."""
COUNTS, FRAMES = ("1", "2", "5"), ("64 B", "1536 B")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two keys, simulated and by theory, with its report."""
    folder = tmp_path_factory.mktemp("explorer")
    both = {"run": {"replications": 3, "engines": ["simulation", "theory"]}}
    return em.load(write_experiment(folder, both)).run(out=folder / "run", report=True).path


def at(run: Path, count: str, frames: str, metric: Metric, engine: str = "simulation") -> Estimate:
    """The estimate of a point, from `estimates.json`."""
    wanted = {"stations.count": count, "stations.frames": frames}
    return next(
        each.estimates[metric]
        for each in estimates.read(run)
        if each.engine == engine and each.point == wanted
    )


def of(points: list[Point]) -> Any:
    found = explorer(Explorer(points, Metric.GOODPUT, "x", "", "engine", ""))
    return json.loads(json.dumps(found, allow_nan=False))


def test_columns_hold_every_estimate_to_a_hundredth_of_its_interval(run):
    points = list(estimates.read(run))
    sent = of(points)
    names = {key["name"]: [key["names"][place] for place in key["at"]] for key in sent["keys"]}
    assert names["stations.count"] == [point.point["stations.count"] for point in points]
    assert names["stations.frames"] == [point.point["stations.frames"] for point in points]
    assert {"simulation", "metcalfe-boggs-1976"} <= set(names["engine"])
    compared = 0
    for metric in sent["metrics"]:
        label = Metric(metric["name"]).label
        # The unit is the one that suits the values.
        factor = UNITS.get(metric["unit"], label.factor)
        for number, point in enumerate(points):
            found = point.estimates.get(Metric(metric["name"]))
            if found is None or not math.isfinite(found.value):
                assert metric["y"][number] is None
                continue
            near = max(6e-6 * abs(found.value), found.half_width / 100 if found.has_interval else 0)
            assert metric["y"][number] / factor == pytest.approx(found.value, abs=near)
            if found.has_interval:
                low = found.low if label.least < 0 else max(found.low, 0.0)
                assert metric["l"][number] / factor == pytest.approx(low, abs=2 * near)
                assert metric["h"][number] / factor == pytest.approx(found.high, abs=2 * near)
            compared += 1
    assert compared > 200


def test_a_value_is_rounded_as_its_interval_allows():
    def rounded(value: float, error: float) -> tuple[Any, Any, Any]:
        found = {Metric.GOODPUT: Estimate(value * 1e6, error * 1e6, 1e9)}
        metric = of([Point("s", {"x": x}, "simulation", 3, found) for x in "12"])["metrics"][0]
        return metric["y"][0], metric.get("l", [None])[0], metric.get("h", [None])[0]

    assert rounded(8.4932171234, 0.01) == (8.4932, 8.4736, 8.5128)
    assert rounded(8493.2171234, 100.0) == (8.493, 8.297, 8.689)
    assert rounded(8.4932171234, math.nan) == (8.49322, None, None)
    assert rounded(0.0, 0.0) == (0, 0, 0)


def grid(**varied: int) -> list[Point]:
    """Every combination of so many values of each key; the last but one is the lowest."""
    found: list[dict[str, str]] = [{}]
    for key, count in varied.items():
        found = [{**point, key: str(place)} for point in found for place in range(count)]
    last = len(found) - 2
    return [
        Point(
            "s", point, "simulation", 1, {Metric.GOODPUT: Estimate(0.0 if n == last else 1.0, 0, 1)}
        )
        for n, point in enumerate(found)
    ]


def test_of_many_points_values_of_the_longest_key_are_kept_with_the_extremes():
    points = grid(curve=7, x=1429)
    kept = thinned(points)
    assert MOST_VALUES * 0.9 < len(kept) <= MOST_VALUES + 2
    assert points[-2] in kept
    by_curve = [[int(p.point["x"]) for p in kept if p.point["curve"] == str(c)] for c in range(7)]
    assert all({0, 1428} <= set(places) for places in by_curve)
    steps = [after - before for before, after in zip(by_curve[0], by_curve[0][1:], strict=False)]
    assert max(steps) <= 6
    few = grid(curve=4, x=MOST_VALUES // 4)
    assert thinned(few) == few


def test_scattered_points_are_thinned_too():
    scattered = [
        Point("s", {"a": str(n), "b": str(n * 7919 % 9973)}, "simulation", 1, p.estimates)
        for n, p in enumerate(grid(x=9000))
    ]
    assert MOST_VALUES * 0.9 < len(thinned(scattered)) <= MOST_VALUES + 2


def test_the_page_says_what_it_leaves_out():
    found = explorer_of(grid(curve=7, x=1429), (), lines="engine")
    assert found is not None
    assert re.search(r" (1,99\d|2,00\d) of 10,003 points can be drawn here", found.text)
    few = explorer_of(grid(curve=2, x=3), (), lines="engine")
    assert few is not None
    assert "can be drawn here" not in few.text


def test_a_run_in_which_nothing_is_varied_has_none():
    assert explorer_of(grid(x=1), (), lines="engine") is None


@pytest.fixture(scope="module")
def opened(browser, run) -> Iterator[Visit]:
    with Visit(browser, (run / "report.html").resolve().as_uri(), 1280) as visit:
        yield visit


@pytest.fixture
def visit(opened) -> Visit:
    """The page with its first choice."""
    opened.page.evaluate(
        "() => new Promise(done => { if (location.hash === '#explorer?') done();"
        " addEventListener('hashchange', done, { once: true }); location.hash = '#explorer?'; })"
    )
    return opened


def expect(visit: Visit, script: str) -> None:
    """Wait until a condition on the figure `f` holds."""
    visit.wait_for(
        f"(() => {{ const f = document.getElementById('explorer'); return {script}; }})()"
    )


def choose(visit: Visit, name: str, value: str) -> None:
    visit.page.locator(f"#explorer select[name='{name}']").select_option(value)


def only(visit: Visit, name: str, value: str) -> None:
    """Leave one box of a set checked."""
    for box in visit.page.locator(f"#explorer input[name={name}]").all():
        box.set_checked(box.get_attribute("value") == value)


def symbols(count: int) -> str:
    return f"f.querySelectorAll('.mark-symbol.role-mark path').length === {count}"


def table(visit: Visit) -> list[list[str]]:
    """Rows of the numbers of the figure."""
    found: list[list[str]] = visit.page.evaluate(
        "[...document.querySelectorAll('#explorer tbody tr')].map(r => "
        "[...r.cells].map(c => c.textContent))"
    )
    return found


def numbers(text: str) -> list[float]:
    return [float(each.replace(",", "")) for each in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


@pytest.mark.browser
def test_a_metric_is_chosen_and_its_values_are_those_of_the_estimates(visit, run):
    choose(visit, "curve", "stations.frames")
    choose(visit, "metric", "transmission_delay")
    expect(visit, "f.querySelector('.plot svg').textContent.includes('Transmission delay (ms)')")
    drawn = [row for row in table(visit) if row[2] == "simulation"]
    assert sorted((row[0], row[1]) for row in drawn) == sorted(
        (count, frames) for count in COUNTS for frames in FRAMES
    )
    for count, frames, _, value, interval in drawn:
        found = at(run, count, frames, Metric.TRANSMISSION_DELAY)
        near = found.half_width / 100 + 6e-6 * found.value
        assert value.endswith(" ms")
        assert numbers(value)[0] == pytest.approx(found.value * 1e3, abs=near * 1e3)
        assert numbers(interval) == pytest.approx(
            [found.low * 1e3, found.high * 1e3], abs=2e3 * near
        )
    assert visit.complaints == []


@pytest.mark.browser
def test_a_logarithmic_axis_places_values_by_their_logarithms(visit, run):
    choose(visit, "metric", "transmission_delay")
    choose(visit, "curve", "")
    only(visit, "lines", "simulation")
    expect(visit, symbols(3))
    places = (
        "[...document.querySelectorAll('#explorer .mark-symbol.role-mark path')].map(p => "
        "{ const b = p.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })"
    )
    values = [at(run, count, "64 B", Metric.TRANSMISSION_DELAY).value for count in COUNTS]

    def expect_between(found: list[float], expected: list[float]) -> None:
        share = (expected[1] - expected[0]) / (expected[2] - expected[0])
        assert (found[1] - found[0]) / (found[2] - found[0]) == pytest.approx(share, abs=0.01)

    linear = visit.page.evaluate(places)
    expect_between([y for _, y in linear], values)
    expect_between([x for x, _ in linear], [1, 2, 5])
    visit.page.get_by_label("Logarithmic vertical axis").check()
    visit.page.get_by_label("Logarithmic horizontal axis").check()
    visit.wait_for(
        f"Math.abs({places}[1][1] - {linear[1][1]}) > 3 && {places}[1][0] > {linear[1][0]} + 3"
    )
    moved = visit.page.evaluate(places)
    expect_between([y for _, y in moved], [math.log(value) for value in values])
    expect_between([x for x, _ in moved], [math.log(x) for x in (1, 2, 5)])
    assert visit.complaints == []


@pytest.mark.browser
def test_what_is_not_above_zero_is_counted_where_the_axis_is_logarithmic(visit):
    choose(visit, "metric", "collisions_per_frame")
    visit.page.get_by_label("Logarithmic vertical axis").check()
    status = visit.page.locator("#explorer [role=status]")
    visit.wait_for(
        "/not above zero/.test(document.querySelector('#explorer [role=status]').textContent)"
    )
    left = numbers(status.inner_text())[2]
    assert left >= 1
    assert visit.complaints == []


@pytest.mark.browser
def test_a_curve_is_hidden_and_shown(visit):
    choose(visit, "curve", "stations.frames")
    only(visit, "lines", "simulation")
    expect(visit, symbols(6))
    box = visit.page.get_by_label("1536 B", exact=True)
    box.uncheck()
    expect(visit, symbols(3))
    assert {row[1] for row in table(visit)} == {"64 B"}
    assert "show=64+B" in visit.page.url
    box.check()
    expect(visit, symbols(6))
    assert "show=" not in visit.page.url
    visit.page.get_by_label("64 B", exact=True).uncheck()
    visit.page.get_by_label("1536 B", exact=True).uncheck()
    expect(visit, "f.querySelector('[role=status]').textContent.includes('No point')")
    assert not visit.page.locator("#explorer .plot").is_visible()
    assert visit.complaints == []


@pytest.mark.browser
def test_the_pointer_shows_a_value_with_unit_and_interval(visit, run):
    choose(visit, "metric", "goodput")
    choose(visit, "curve", "stations.frames")
    only(visit, "lines", "simulation")
    visit.page.get_by_label("1536 B", exact=True).uncheck()
    expect(visit, symbols(3))
    plot = visit.page.locator("#explorer .plot")
    visit.expect_tip(plot, "Goodput", "95% interval", "Number of hosts", "64 B", "simulation")
    text = visit.page.locator("#vg-tooltip-element.visible").inner_text()
    found = at(run, "5", "64 B", Metric.GOODPUT)
    shown = re.search(r"Goodput\s+([\d.]+) Mb/s\s+95% interval\s+([\d.]+) to ([\d.]+) Mb/s", text)
    assert shown is not None, text
    assert [float(each) for each in shown.groups()] == pytest.approx(
        [found.value / 1e6, found.low / 1e6, found.high / 1e6], abs=found.half_width / 5e7
    )
    assert visit.complaints == []


@pytest.mark.browser
def test_the_address_keeps_the_choice(browser, visit):
    choose(visit, "metric", "transmission_delay")
    choose(visit, "x", "stations.frames")
    choose(visit, "at.stations.count", "5")
    visit.page.get_by_label("Logarithmic vertical axis").check()
    expect(visit, "f.querySelector('.plot svg').textContent.includes('Frame length')")
    shown, address = table(visit), visit.page.url
    assert "#explorer?" in address
    with Visit(browser, address, 1280) as again:
        assert table(again) == shown
        assert again.page.locator("#explorer select[name=x]").input_value() == "stations.frames"
        assert again.page.get_by_label("Logarithmic vertical axis").is_checked()
        # The figure is what the reader sees first, not the top of the page.
        top = again.page.evaluate("document.getElementById('explorer').getBoundingClientRect().top")
        assert -5 < top < 900
        # An address opens what folds the figure away.
        again.page.evaluate("document.querySelector('#explore > details').open = false")
        assert not again.page.locator("#explorer .plot").is_visible()
        again.page.evaluate("location.hash = '#explorer?metric=goodput'")
        expect(again, "f.querySelector('.plot svg').textContent.includes('Goodput (Mb/s)')")
        assert again.page.locator("#explorer .plot").is_visible()
        assert again.complaints == []


@pytest.mark.browser
def test_an_address_with_what_the_run_has_not_shows_the_first_choice(browser, run):
    first = (run / "report.html").resolve().as_uri()
    odd = first + "#explorer?metric=nothing&x=none&curve=no&log=zz&at.stations.count=99&show=1"
    with Visit(browser, odd, 1280) as visit:
        assert visit.complaints == []
        assert visit.page.locator("#explorer select[name=x]").input_value() == "stations.count"
        assert visit.page.locator("#explorer select[name=metric]").input_value() == "utilisation"


@pytest.mark.browser
def test_the_keyboard_is_enough_and_keeps_its_place(visit):
    choose(visit, "curve", "stations.frames")
    visit.page.locator("#explorer select[name=metric]").focus()
    before = visit.page.locator("#explorer select[name=metric]").input_value()
    visit.page.keyboard.press("ArrowDown")
    assert visit.page.locator("#explorer select[name=metric]").input_value() != before
    box = visit.page.get_by_label("1536 B", exact=True)
    box.focus()
    visit.page.keyboard.press("Space")
    assert not box.is_checked()
    # What is drawn anew does not take the focus away.
    assert visit.page.evaluate("document.activeElement.value") == "1536 B"
    visit.page.keyboard.press("Space")
    assert box.is_checked()
    # Every control has a name, and so has the drawing.
    unnamed = visit.page.evaluate(
        "[...document.querySelectorAll('#explorer :is(select, input, button)')].filter(e => "
        "!e.labels?.length && !e.getAttribute('aria-label')).length"
    )
    assert unnamed == 0
    label = visit.page.locator("#explorer .plot").get_attribute("aria-label")
    assert label.endswith("against number of hosts")
    assert visit.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_fits_the_window(browser, run, width, scheme):
    with Visit(browser, (run / "report.html").resolve().as_uri(), width, scheme) as visit:
        choose(visit, "curve", "stations.frames")
        choose(visit, "metric", "transmission_delay")
        expect(
            visit, "f.querySelector('.plot svg').textContent.includes('Transmission delay (ms)')"
        )
        visit.expect_within_boxes("explore")
        assert visit.complaints == []
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        # Colours of samples are those of the curves, on either ground.
        sample, curve = visit.page.evaluate(
            "[getComputedStyle(document.querySelector('#explorer .sample')).color, "
            "getComputedStyle(document.querySelector('#explorer .mark-line path')).stroke]"
        )
        assert sample == curve


@pytest.mark.browser
def test_single_flows_are_chosen_too(browser, tmp_path):
    few = NETWORK.changed(vary={"flows.request.frames": ["64 B", "512 B"]})
    run = em.load(few).run(out=tmp_path / "run", report=True).path
    url = (run / "report.html").resolve().as_uri()
    with Visit(browser, url, 390) as visit:
        # On a long page and a narrow screen too the figure is not folded away.
        assert visit.page.locator("#explorer .plot").is_visible()
        flow = visit.page.locator("#explorer select[name='at.flow']")
        assert flow.input_value() == "all together"
        choose(visit, "metric", "data_rate")
        choose(visit, "at.flow", "request")
        expect(visit, "f.querySelector('.plot svg').textContent.includes('(Mb/s)')")
        directory = RunDirectory(run)
        values = {
            point.point["flows.request.frames"]: point.estimates[Metric.DATA_RATE]
            for point in flows.of_parts(directory, directory.trials(), groups.by_table)
            if point.point[groups.PART] == "request"
        }
        assert len(values) == 2
        shown = {row[0]: numbers(row[1]) for row in table(visit)}
        for length, estimate in values.items():
            near = estimate.half_width / 1e8
            assert shown[length] == [pytest.approx(estimate.value / 1e6, abs=near)]
        assert (visit.requests, visit.complaints) == ([url], [])
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
def test_what_is_drawn_is_vega_lite(visit, vega_lite):
    spec = "JSON.parse(document.getElementById('explorer-spec').textContent)"
    for name, value in (("x", "stations.count"), ("x", "engine"), ("curve", "stations.frames")):
        choose(visit, name, value)
        vega_lite.validate(visit.page.evaluate(spec))
    visit.page.get_by_label("Logarithmic vertical axis").check()
    vega_lite.validate(visit.page.evaluate(spec))
    assert visit.complaints == []


@pytest.mark.browser
def test_series_with_keys_of_their_own_are_explored_one_by_one(browser, study_page):
    with Visit(browser, study_page.as_uri(), 1280) as visit:
        choose(visit, "at.series", "I-4")
        expect(
            visit,
            "f.querySelector('fieldset[name=show]').textContent.includes('64 B x 7 + 1536 B x 1')",
        )
        assert "at.series=I-4" in visit.page.url
        assert visit.complaints == []
