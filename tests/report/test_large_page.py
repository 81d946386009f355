"""Pages of runs with more points than a page can show."""

import itertools
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import Element

import ethermeter as em
import pytest
from ethermeter.analysis.answers import answers
from ethermeter.document import Table
from ethermeter.metrics import Metric
from ethermeter.report.axes import Axes, choose, panels
from ethermeter.report.render import render_table
from ethermeter.report.thinning import FEWEST_PLACES, MOST_PANELS, MOST_ROWS, MOST_VALUES, notice
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from ethermeter.store import RunDirectory
from markup import parse, text_of
from program import call, fake, real
from small_runs import write_experiment
from visiting import Visit

pytestmark = pytest.mark.xdist_group("large page")
NETWORK = em.network(
    title="Three flows through a switch",
    seed=7,
    rate="100 Mb/s",
    hosts=["client", em.host("sender", count=2), "server"],
    switches=["switch"],
    links=[("client", "switch"), ("sender", "switch"), ("server", "switch")],
    flows=[
        em.flow(
            "request",
            "client",
            "server",
            frames="64 B",
            arrivals={"poisson": "5000 /s"},
            response={"frames": "64 B"},
        ),
        em.flow("load", "sender", "server", frames="1024 B", arrivals={"poisson": "2500 /s"}),
    ],
    phases={"transmit": "12 ms", "measure": "last 10 ms"},
)
LENGTHS = [f"{octets} B" for octets in range(64, 64 + 1429)]
REPORT = """
import re, sys
from pathlib import Path
from ethermeter.cli import main
sys.argv = ["ethermeter", "report", sys.argv[1]]
try:
    main()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def points(**varied: int) -> list[Point]:
    """Every combination of so many values of each key; a peak of one value in the middle."""
    found: list[dict[str, str]] = [{}]
    for key, count in varied.items():
        found = [{**point, key: f"{at}"} for point in found for at in range(1, count + 1)]
    return [
        Point(
            "s",
            point,
            "simulation",
            1,
            {Metric.UTILISATION: Estimate(9.0 if at == len(found) // 2 + 1 else 0.5, 0.1, 19.0)},
        )
        for at, point in enumerate(found)
    ]


def test_few_points_are_all_drawn():
    few = points(load=MOST_VALUES // 4, curve=4)
    (panel,) = panels(few, choose(few), Metric.UTILISATION)
    assert sum(len(curve.points) for curve in panel.curves) == MOST_VALUES
    assert notice(MOST_ROWS) == ""


def test_of_many_points_places_at_even_distances_the_ends_and_the_extremes_are_drawn():
    many = points(load=10_001)
    (panel,) = panels(many, choose(many), Metric.UTILISATION)
    (curve,) = panel.curves
    places = [x for x, _ in curve.points]
    assert MOST_VALUES <= len(places) <= MOST_VALUES + 2
    assert (places[0], places[-1]) == (1, 10_001)
    assert max(after - before for before, after in itertools.pairwise(places)) <= 6
    assert max(estimate.value for _, estimate in curve.points) == 9.0


def test_very_many_panels_are_thinned_and_their_curves_keep_some_places():
    many = points(x=50, curve=10, panel=300)
    found = panels(many, Axes("x", "", "curve", ("panel",)), Metric.UTILISATION)
    assert [panel.title for panel in (found[0], found[-1])] == ["panel: 1", "panel: 300"]
    assert len(found) == MOST_PANELS
    assert all(FEWEST_PLACES <= len(curve.points) < 50 for panel in found for curve in panel.curves)


def test_the_x_axis_is_the_key_that_makes_figures_of_all_points():
    assert choose(points(**{"stations.count": 7, "frames": 100})) == Axes(
        "frames", "", "stations.count", ()
    )
    assert choose(points(**{"stations.count": 7, "frames": 10})) == Axes(
        "stations.count", "", "frames", ()
    )


def test_of_a_long_table_rows_at_even_distances_are_shown_and_counted():
    text = render_table(Table(["a"], [[f"row {at}"] for at in range(10 * MOST_ROWS)], "rows"))
    assert text.startswith("<p>500 of 5,000 rows, at even distances.</p>")
    assert text.count('<th scope="row">') == MOST_ROWS
    assert "row 0<" in text
    assert "row 4999<" in text
    assert "of" not in render_table(Table(["a"], [["b"]] * MOST_ROWS, "rows")).partition("<div")[0]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 10 003 points without its report."""
    folder = tmp_path_factory.mktemp("large")
    varied = {"stations.count": [*range(1, 8)], "stations.frames": LENGTHS}
    path = write_experiment(folder, {"vary": varied, "run.replications": 1})
    # A process counts the memory of the one that starts it as its own, so this one stays small.
    ended = call(fake("run", path, "--out", folder / "run", "--no-report"))
    assert ended.returncode == 0, ended.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def large_network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 2858 points of a network with three flows, two of which share; no report."""
    folder = tmp_path_factory.mktemp("large-network")
    rates = [f"{rate} /s" for rate in range(2500, 2502)]
    varied = {"flows.request.frames": LENGTHS, "flows.load.arrivals.poisson": rates}
    path = NETWORK.changed(vary=varied).save(folder / "network.toml")
    ended = call(real("run", path, "--out", folder / "run", "--no-report"))
    assert ended.returncode == 0, ended.stderr
    return folder / "run"


def page_within_half_a_gigabyte(run: Path, points: str) -> Element:
    """Page of a run of many points, written by a process with less than 0.5 GB of memory."""
    ended = subprocess.run(
        [sys.executable, "-c", REPORT, str(run)], capture_output=True, text=True, check=True
    )
    assert int(ended.stdout.splitlines()[-1]) * 1024 < 500e6
    assert (run / "report.html").stat().st_size < 10e6
    page = parse(run / "report.html")
    assert f"These are {points} points, more than a page can show." in text_of(page)
    return page


@pytest.mark.long
@pytest.mark.browser
def test_ten_thousand_points_make_a_page_of_less_than_ten_megabytes_in_less_than_half_a_gigabyte(
    browser, large
):
    page = page_within_half_a_gigabyte(large, "10,003")
    # Of a few metrics each curve has a panel: their bands would lie over one another.
    assert len([*page.iter("figure")]) < 70
    assert "500 of 10,003 rows, at even distances." in text_of(page)
    for width in (1280, 390):
        with Visit(browser, (large / "report.html").resolve().as_uri(), width) as visit:
            visit.expect_quiet_and_no_wider()
            drawn = visit.page.locator(".plot[data-rendered=light]").count()
            assert visit.page.locator(".plot").count() == drawn > 5
            assert visit.page.locator(".lead", has_text="10,003 points").is_visible()


@pytest.mark.long
def test_almost_three_thousand_points_of_a_network_do_so_too(large_network):
    page_within_half_a_gigabyte(large_network, "2,858")
    found = answers(RunDirectory(large_network))["flows"]
    assert len(found["fairness"]) == 2858, "the two flows of load, at every point"
    assert {len(line["octets"]) for line in found["lines"] if line["metric"] == "round_trip"} == {
        1429
    }
