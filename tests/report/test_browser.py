"""The report in a real browser: offline, without an error, with every figure, at two widths, on
screen and on paper.
"""

import re
from collections.abc import Iterator

import ethermeter as em
import pytest
import synthetic_run
from ethermeter.analysis import positions
from ethermeter.results import estimates
from ethermeter.studies import pages, registry
from visiting import Visit

pytestmark = pytest.mark.browser
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def desk(browser, study_page) -> Iterator[Visit]:
    with Visit(browser, study_page.as_uri(), 1280, "light") as visit:
        yield visit


@pytest.fixture(scope="module")
def phone(browser, study_page) -> Iterator[Visit]:
    with Visit(browser, study_page.as_uri(), 390, "dark") as visit:
        yield visit


def test_every_figure_renders_without_a_request_an_error_or_sideways_scrolling(desk, phone):
    for visit in (desk, phone):
        visit.expect_quiet_and_no_wider()
        assert visit.page.locator(f".plot[data-rendered={visit.scheme}]").count() == 61
        # Every drawing stays within its box, and has lines or bars in it.
        assert visit.page.evaluate(
            "[...document.querySelectorAll('.plot')].every(p => "
            "p.querySelector('svg').getBoundingClientRect().right "
            "<= p.getBoundingClientRect().right + 1 && p.querySelectorAll('.mark-line "
            "path, .mark-rect path').length > 0)"
        )


def test_sections_can_be_reached_by_keyboard(desk):
    desk.page.keyboard.press("Tab")
    assert desk.page.evaluate("document.activeElement.className") == "skip"
    desk.page.keyboard.press("Enter")
    assert desk.page.evaluate("location.hash") == "#content"
    assert desk.page.evaluate(
        "[...document.querySelectorAll('main > section')].every(s => s.querySelector('h2'))"
    )


def test_hovering_a_point_shows_its_value_with_its_interval(desk, study_run):
    found = next(
        p
        for p in estimates.read(study_run)
        if p.series == "I-2" and p.point == {"stations.count": "12", "stations.frames": "64 B"}
    )
    desk.unfold()
    plot = desk.page.locator("#series-I-2 .plot").first
    # Points are drawn curve by curve, one for every number of hosts: the twelfth is 64 B, 12 hosts.
    # What shows values lies over the points, so that no point is itself hit.
    plot.locator(".mark-symbol path").nth(11).hover(force=True)
    tip = desk.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
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
    assert desk.complaints == []


def test_paper_is_light_and_has_every_figure(phone):
    phone.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    phone.wait_for("document.querySelectorAll('.plot[data-rendered=light]').length === 61")
    assert phone.page.pdf()[:5] == b"%PDF-"
    assert phone.complaints == []


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
    path = pages.write_report(synthetic_run.other(tmp_path / "other", keys)).resolve()
    with Visit(browser, path.as_uri(), 1280) as visit:
        visit.expect_quiet_and_no_wider()
        assert visit.page.locator(".plot").count() > 5


@pytest.mark.parametrize(
    ("groups", "keys"),
    [
        ({"odd": [0], "others": [1, 1, 2, 2]}, {"a.b": ("x", "y"), "c.d": ("1 us", "2 us")}),
        ({"odd": [0], "others": [1, 1, 2, 2]}, {"a.b": tuple(f"{at / 10:g}" for at in range(9))}),
        ({"host": [0, 1]}, {"a.b": ("x", "y"), "c.d": ("1 us", "2 us")}),
        ({"host": [0, 1]}, {}),
    ],
)
def test_parts_render_without_a_complaint(browser, tmp_path, groups, keys):
    path = pages.write_report(synthetic_run.parted(tmp_path / "run", keys, groups)).resolve()
    with Visit(browser, path.as_uri(), 390, "dark") as visit:
        visit.expect_quiet_and_no_wider()
        shown = visit.page.locator(".group h4 ~ .grid .plot, .group .lead + .grid .plot")
        assert shown.count() > 0


def test_stations_along_the_cable_render_without_a_complaint(browser, tmp_path):
    distributions = {"[1, 3]": [0, 2, 2, 2], "[2, 2]": [0, 0, 2, 2]}
    run = synthetic_run.located(
        tmp_path / "run", distributions, (0.0, 4.0, 10.0), study="gonsalves-tobagi1986"
    )
    positions.write(run)
    registry.find("gonsalves-tobagi1986").write_claims(run)
    url = pages.write_report(run).resolve().as_uri()
    for width in WIDTHS:
        with Visit(browser, url, width) as visit:
            visit.expect_quiet_and_no_wider()
            along = visit.page.locator(".group:has(h3:text-is('Along the cable')) .plot")
            assert along.count() >= 2
            # A line and a band for each of the two distributions, and their names at the ends.
            assert along.first.locator(".mark-line path").count() == 2
            assert along.first.locator(".mark-area path").count() == 2
            for expected in ("Position along the cable (µs)", "1 + 3", "2 + 2"):
                assert expected in along.first.inner_text()


def test_a_theory_its_world_and_the_segment_stand_side_by_side(browser, tmp_path):
    run = em.load(THREE_WAYS).run(out=tmp_path / "run", report=True)
    for width in WIDTHS:
        with Visit(browser, (run.path / "report.html").resolve().as_uri(), width) as visit:
            visit.expect_quiet_and_no_wider()
            visit.unfold()
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
            assert "metcalfe-boggs-1976, assumptions simulated" in drawn[0]
            assert "simulation" in drawn[0]


def test_voice_among_data_renders_without_a_complaint(browser, tmp_path):
    run = em.load(VOICE).run(out=tmp_path / "run", report=True)
    axes = (
        "Voice delay (ms)",
        "Delay of a sample (ms)",
        "Loss of samples (%)",
        "Voice utilisation",
    )
    for width in WIDTHS:
        with Visit(browser, (run.path / "report.html").resolve().as_uri(), width) as visit:
            visit.expect_quiet_and_no_wider()
            against = visit.page.locator(
                ".group:has(h3:text-is('Against offered voice load')) .plot svg"
            )
            for drawn, axis in zip(against.all_text_contents(), axes, strict=True):
                assert axis in drawn
                assert "Offered voice load" in drawn
            # Only talkers have a voice delay; of data the figure says so.
            visit.unfold()
            by_group = visit.page.locator(".group:has(h3:text-is('By group of stations')) .grid")
            assert "No value where there is no voice, or nothing was delivered: data." in "".join(
                by_group.all_inner_texts()
            )


VOICE = em.segment(
    "experimental-3",
    title="voice among data",
    length="550 m",
    stations=[
        em.stations(
            "talkers",
            count=4,
            frames={"samples": {"least": "64 B", "most": "1024 B", "overhead": "6 B"}},
            arrivals={
                "coder": {
                    "sample": "16 bit",
                    "every": "152.32 us",
                    "talk": "1.2 s",
                    "silence": "1.8 s",
                }
            },
        ),
        em.stations("data", count=2, frames="512 B", arrivals="saturated"),
    ],
    vary={
        "stations.talkers.count": [4, 20, 40],
        "stations.talkers.frames.samples.least": ["64 B", "512 B"],
    },
    phases={"transmit": "1 s", "measure": "all"},
    run={"replications": 3},
)
THREE_WAYS = em.segment(
    "dix-10",
    title="three ways",
    round_trip="12 us",
    clusters=2,
    stations=em.stations(count=4, frames="64 B", arrivals="saturated", service="75 us"),
    vary={"stations.count": [2, 8, 16]},
    phases={"transmit": "1 s", "measure": "all"},
    run={"engines": ["simulation", "theory", "idealised", "ablation"], "replications": 3},
)
