"""The report in a real browser: offline, without an error, with every figure, at two widths, on
screen and on paper.
"""

import re
from pathlib import Path

import pytest
import synthetic_run
from ethermeter import api
from ethermeter.analysis import estimates, positions
from ethermeter.studies import pages, registry
from visiting import Visit

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(study_run: Path) -> str:
    estimates.write(study_run)
    registry.find("boggs1988").write_claims(study_run)
    return pages.write_report(study_run).resolve().as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (390, "dark")])
def test_every_figure_renders_without_a_request_an_error_or_sideways_scrolling(
    browser, url, width, scheme
):
    visit = Visit(browser, url, width, scheme)
    visit.expect_quiet_and_no_wider()
    assert visit.page.locator(f".plot[data-rendered={scheme}]").count() == 61
    # Every drawing stays within its box, and has lines or bars in it.
    assert visit.page.evaluate(
        "[...document.querySelectorAll('.plot')].every(p => "
        "p.querySelector('svg').getBoundingClientRect().right "
        "<= p.getBoundingClientRect().right + 1 && p.querySelectorAll('.mark-line "
        "path, .mark-rect path').length > 0)"
    )
    visit.page.close()


@pytest.mark.parametrize(
    "keys",
    [
        {"segment.length": ("100 m", "500 m", "1 km")},
        {
            "stations.count": ("4", "8", "12"),
            "stations.backoff": ("exponential", "linear"),
            "b": ("on", "off"),
        },
    ],
)
def test_any_run_renders_without_a_complaint(browser, tmp_path, keys):
    visit = Visit(
        browser,
        pages.write_report(synthetic_run.other(tmp_path / "other", keys)).resolve().as_uri(),
        1280,
        "light",
    )
    assert visit.page.locator(".plot").count() > 5
    assert visit.complaints == []
    visit.page.close()


@pytest.mark.parametrize("groups", [{"odd": [0], "others": [1, 1, 2, 2]}, {"host": [0, 1]}])
@pytest.mark.parametrize(
    "keys",
    [
        {"a.b": ("x", "y"), "c.d": ("1 us", "2 us")},
        {"a.b": tuple(f"{at / 10:g}" for at in range(9))},
        {},
    ],
)
def test_parts_render_without_a_complaint(browser, tmp_path, groups, keys):
    run = synthetic_run.parted(tmp_path / "run", keys, groups)
    visit = Visit(browser, pages.write_report(run).resolve().as_uri(), 390, "dark")
    assert visit.page.locator(".group h4 ~ .grid .plot, .group .lead + .grid .plot").count() > 0
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visit.complaints == []
    visit.page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_stations_along_the_cable_render_without_a_complaint(browser, tmp_path, width):
    distributions = {"[1, 3]": [0, 2, 2, 2], "[2, 2]": [0, 0, 2, 2]}
    run = synthetic_run.located(
        tmp_path / "run", distributions, (0.0, 4.0, 10.0), study="gonsalves-tobagi1986"
    )
    positions.write(run)
    registry.find("gonsalves-tobagi1986").write_claims(run)
    visit = Visit(browser, pages.write_report(run).resolve().as_uri(), width, "light")
    along = visit.page.locator(".group:has(h3:text-is('Along the cable')) .plot")
    assert along.count() >= 2
    # A line and a band for each of the two distributions, and their names at the ends.
    assert along.first.locator(".mark-line path").count() == 2
    assert along.first.locator(".mark-area path").count() == 2
    for expected in ("Position along the cable (µs)", "1 + 3", "2 + 2"):
        assert expected in along.first.inner_text()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.complaints == []
    visit.page.close()


def test_hovering_a_point_shows_its_value_with_its_interval(browser, url, study_run):
    visit = Visit(browser, url, 1280, "light")
    found = next(
        p
        for p in estimates.read(study_run)
        if p.series == "I-2" and p.point == {"stations.count": "12", "stations.frames": "64 B"}
    )
    plot = visit.page.locator("#series-I-2 .plot").first
    plot.scroll_into_view_if_needed()
    # Points are drawn curve by curve, one for every number of hosts: the twelfth is 64 B, 12 hosts.
    point = plot.locator(".mark-symbol path").nth(11).bounding_box()
    visit.page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    tip = visit.page.locator("#vg-tooltip-element.visible")
    tip.wait_for(timeout=10_000)
    text = tip.inner_text()
    estimate = next(value for metric, value in found.estimates.items() if metric == "bit_rate")
    assert f"{estimate.value / 1e6:.3f}"[:5] in text
    ends = re.search(r"95% interval\s+([\d.]+) to ([\d.]+) Mb/s", text)
    assert ends is not None
    # Five digits are shown.
    assert [float(end) for end in ends.groups()] == pytest.approx(
        [estimate.low / 1e6, estimate.high / 1e6], rel=5e-5
    )
    for expected in ("Mb/s", "95% interval", "Number of hosts", "12", "64 B"):
        assert expected in text
    assert visit.complaints == []
    visit.page.close()


def test_paper_is_light_and_has_every_figure(browser, url):
    visit = Visit(browser, url, 1280, "dark")
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visit.page.wait_for_function(
        "document.querySelectorAll('.plot[data-rendered=light]').length === 61", timeout=120_000
    )
    assert visit.page.pdf()[:5] == b"%PDF-"
    assert visit.complaints == []
    visit.page.close()


def test_sections_can_be_reached_by_keyboard(browser, url):
    visit = Visit(browser, url, 1280, "light")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.className") == "skip"
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("location.hash") == "#content"
    assert visit.page.locator("h1").count() == 1
    assert visit.page.evaluate(
        "[...document.querySelectorAll('main > section')].every(s => s.querySelector('h2'))"
    )
    visit.page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_theory_its_world_and_the_segment_stand_side_by_side(browser, tmp_path, width):
    (tmp_path / "x.toml").write_text(THREE_WAYS, encoding="utf-8")
    run = api.load(tmp_path / "x.toml").run(out=tmp_path / "run", report=True)
    visit = Visit(browser, (run.path / "report.html").resolve().as_uri(), width, "light")
    assert visit.complaints == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    shown = visit.page.locator("#agreement").inner_text()
    assert "metcalfe-boggs-1976" in shown
    assert "Agrees with the world it assumes in" in shown
    assert "known-queue: stations with queues of their own" in shown
    # The table of steps has a value after each, and the marks of what is beyond chance.
    assert visit.page.locator("#agreement strong").count() > 3
    drawn = [
        figure
        for figure in visit.page.locator(".grid .plot svg").all_text_contents()
        if "Utilisation" in figure
    ]
    assert "metcalfe-boggs-1976, its world" in drawn[0]
    assert "simulation" in drawn[0]
    visit.page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_voice_among_data_renders_without_a_complaint(browser, tmp_path, width):
    (tmp_path / "x.toml").write_text(VOICE, encoding="utf-8")
    run = api.load(tmp_path / "x.toml").run(out=tmp_path / "run", report=True)
    visit = Visit(browser, (run.path / "report.html").resolve().as_uri(), width, "light")
    assert visit.complaints == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    against = visit.page.locator(".group:has(h3:text-is('Against offered voice load')) .plot svg")
    assert against.count() == 4
    for drawn, axis in zip(
        against.all(),
        ("Voice delay (ms)", "Delay of a sample (ms)", "Loss of samples (%)", "Voice utilisation"),
        strict=True,
    ):
        assert axis in drawn.text_content()
        assert "Offered voice load" in drawn.text_content()
    # Only talkers have a voice delay; of data the figure says so.
    visit.unfold()
    by_group = visit.page.locator(".group:has(h3:text-is('By group of stations')) .grid")
    assert "No value where there is no voice, or nothing was delivered: data." in "".join(
        by_group.all_inner_texts()
    )
    visit.page.close()


VOICE = """
title = "voice among data"
[segment]
standard = "experimental-3"
length = "550 m"
[[stations]]
name = "talkers"
count = 4
frames = { samples = { least = "64 B", most = "1024 B", overhead = "6 B" } }
arrivals = { coder = { sample = "16 bit", every = "152.32 us", talk = "1.2 s", silence = "1.8 s" } }
[[stations]]
name = "data"
count = 2
frames = "512 B"
arrivals = "saturated"
[vary]
"stations.talkers.count" = [4, 20, 40]
"stations.talkers.frames.samples.least" = ["64 B", "512 B"]
[phases]
transmit = "1 s"
measure = "all"
[run]
replications = 3
"""
THREE_WAYS = """
title = "three ways"
[segment]
standard = "dix-10"
round_trip = "12 us"
clusters = 2
[[stations]]
count = 4
frames = "64 B"
arrivals = "saturated"
service = "75 us"
[vary]
"stations.count" = [2, 8, 16]
[phases]
transmit = "1 s"
measure = "all"
[run]
engines = ["simulation", "theory", "idealised", "ablation"]
replications = 3
"""
