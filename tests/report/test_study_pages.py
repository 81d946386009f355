"""Reports on the studies, of short runs: the figures of each with its numbers upon them, and in a
real browser, offline.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import ethermeter as em
import pytest
from ethermeter.analysis import claims
from ethermeter.analysis.claims import Claim
from ethermeter.execution import Execution, evaluate, execute
from ethermeter.report import index
from ethermeter.results.interval import student
from ethermeter.results.query import Results
from ethermeter.studies import pages, registry
from ethermeter.studies.gonsalves1982 import claims as gonsalves1982
from markup import by_id, headings, parse, rows, sections, specs, text_of
from visiting import Visit


@dataclass(frozen=True)
class Study:
    """What the page of a study has.

    `sections` are those of its own, with the numbers of their figures and tables; `series` those
    that are not drawn whole in figures of its own, and `tabled` those of which there are only
    tables. `is_whole` says that the run has the points of every claim. It is `seen` in windows of
    these widths and colours.
    """

    sections: dict[str, tuple[int, int]]
    series: tuple[str, ...] = ()
    tabled: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    replications: int | None = 1
    is_whole: bool = True
    seen: tuple[tuple[int, str], ...] = ((1280, "light"), (390, "dark"))


STUDIES = {
    "erg": Study(
        {"erg-one-way": (1, 3), "erg-duplex": (2, 3)},
        series=("simplex-100", "simplex-10", "duplex"),
        short=("phases.transmit='110 ms'", "phases.measure='last 100 ms'"),
    ),
    "fritz1999": Study(
        {
            "files-throughput": (1, 1),
            "files-acknowledgements": (1, 1),
            # Figures have their numbers, besides those of the section.
            "files-time": (1, 3),
            "files-remedies": (1, 2),
        },
        replications=None,
    ),
    "gonsalves1982": Study(
        {
            "voice-data": (2, 2),
            "voice-fixed": (3, 3),
            "voice-shortest": (4, 6),
            "voice-longest": (4, 5),
            "voice-rate": (4, 5),
            # Each parameter has a table of its own besides.
            "voice-sensitivity": (8, 12),
        },
        series=("conversations", "data-load", "data-queued"),
        tabled=(
            *("minimum", "maximum", "rate-70", "rate-84", "fairness", "fixed"),
            *("admission", "connections"),
        ),
        short=("phases.settle='0 s'", "phases.transmit='500 ms'", "phases.measure='last 250 ms'"),
        replications=3,
        is_whole=False,  # `duration` has no other times here
    ),
    "hughesjones2000": Study(
        {
            "hj-gigabit": (7, 8),
            "hj-fast": (1, 3),
            "hj-mixed": (1, 2),
            "hj-spacing": (6, 7),
            "hj-streams": (5, 6),
            "hj-groups": (5, 7),
        },
        series=(
            *("gigabit-latency", "fast-latency", "mixed-latency", "background", "two-pairs"),
            *("several-senders", "many-to-one", "unlearned"),
        ),
        short=("phases.transmit='6 ms'", "phases.measure='last 5 ms'"),
        seen=((390, "dark"),),
    ),
    "myths": Study(
        {
            "myth-37": (2, 2),
            "myth-protocol": (2, 2),
            "myth-assumptions": (2, 2),
            "myth-dependent": (3, 3),
            "myth-independent": (3, 3),
            "myth-regime": (2, 2),
        },
        series=(
            *("one-slot", "saturated", "carrier-sense", "collision-detection", "assumptions"),
            *("ring", "knees"),
        ),
        tabled=("regime",),
        short=("phases.transmit='300 ms'", "phases.measure='last 250 ms'"),
        replications=3,
    ),
}


def finished(directory: Path, study: str, *names: str, of: Study) -> Path:
    """Run experiments of a study, write its claims and its report."""
    loaded = em.load(*names, overrides=of.short, name=study)
    plan = loaded.plan(replications=of.replications)
    execute(plan, loaded.experiments, directory=directory, options=Execution(study=study))
    evaluate(directory)
    return directory


@pytest.fixture(scope="module", params=STUDIES)
def study(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def run_dir(study: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = registry.find(study).runs
    directory = tmp_path_factory.mktemp("runs") / study
    return finished(directory, study, *names, of=STUDIES[study])


@pytest.fixture(scope="module")
def page(run_dir: Path) -> Element:
    return parse(run_dir / "report.html")


@pytest.fixture(scope="module")
def drawn(page: Element) -> dict[str, dict[str, Any]]:
    """Specifications of the figures by their titles."""
    return specs(page)


def claims_of(run_dir: Path) -> dict[str, Claim]:
    found = claims.read(run_dir)
    assert found is not None
    return {claim.id: claim for claim in found[1]}


def only(*names: str) -> Any:
    """Run a test for these studies only."""
    return pytest.mark.parametrize("study", names, indirect=True, scope="module")


def test_figures_of_the_study_stand_first_and_its_tables_after_its_claims(study, page):
    own, order = STUDIES[study].sections, sections(page)
    first = [name for name, (figures, _) in own.items() if figures]
    assert order[: len(first) + 1] == [*first, "explore"]
    with_figures = [name for name in order if by_id(page, name).find(".//figure") is not None]
    assert order.index("claims") == len(with_figures)
    assert [name for name in order if name in own] == list(own)
    series = [name.removeprefix("series-") for name in order if name.startswith("series-")]
    # Series that figures of the study draw whole are not shown again.
    assert tuple(series) == STUDIES[study].series + STUDIES[study].tabled
    assert not {f"series-{name}" for name in STUDIES[study].tabled} & {*with_figures}
    assert order[-3:] == ["cautions", "parameters", "provenance"]


def test_every_figure_has_its_numbers_in_a_table(study, page):
    for name, counts in STUDIES[study].sections.items():
        section = by_id(page, name)
        assert (len([*section.iter("figure")]), len([*section.iter("table")])) == counts, name


def test_no_claim_of_a_whole_study_lacks_its_points(study, run_dir):
    lacking = [each.id for each in claims_of(run_dir).values() if each.verdict == "not-run"]
    assert bool(lacking) != STUDIES[study].is_whole, lacking


def test_the_report_can_be_written_anew_and_is_the_same(run_dir):
    before = (run_dir / "report.html").read_bytes()
    assert pages.write_report(run_dir).read_bytes() == before


@pytest.mark.browser
def test_the_page_is_drawn_without_a_request_an_error_or_sideways_scrolling(
    browser, study, run_dir
):
    of = STUDIES[study]
    for width, scheme in of.seen:
        with Visit(browser, (run_dir / "report.html").resolve().as_uri(), width, scheme) as visit:
            visit.expect_quiet_and_no_wider()
            for name, (figures, _) in of.sections.items():
                visit.expect_drawn(name, figures)
            visit.expect_within_boxes(next(iter(of.sections)).partition("-")[0])
            if width == 1280 and study in TIPS:
                number, *words = TIPS[study]
                visit.expect_tip(visit.page.locator(f"#{number} .plot"), *words)


TIPS = {
    "myths": (
        "figure-2",
        *("Utilisation", "95% interval", "Number of hosts", "64", "1536 B"),
        "simulation of the segment",
    ),
    "gonsalves1982": (
        # After two of data, and three of packets of one length.
        "figure-6",
        *("Delay of samples", "95% interval", "hosts", "32", "Throughput, data (%)"),
        *("Shortest packet", "512 B"),
    ),
}
"""A figure, and what pointing at its last point shows."""
PARTS = {
    "fritz1999/copies": (
        (),
        ["files-throughput", "files-acknowledgements", "explore", "claims", "left-open"],
    ),
    "gonsalves1982/maximum": (
        (*STUDIES["gonsalves1982"].short, "vary.'stations.count'=[1, 8, 16]"),
        ["voice-longest", "explore", "claims", "left-open"],
    ),
    "hughesjones2000/gigabit-latency": (
        (),
        ["hj-gigabit", "explore", "series-gigabit-latency", "time-flow", "claims"],
    ),
}
"""Overrides of an experiment, and the sections with which its page begins."""


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_study_has_the_figures_that_it_holds(tmp_path, name):
    study = name.partition("/")[0]
    short, order = PARTS[name]
    run = finished(tmp_path / "run", study, name, of=replace(STUDIES[study], short=short))
    assert sections(parse(run / "report.html"))[: len(order)] == order
    judged = {each.id for each in claims_of(run).values() if each.verdict != "not-run"}
    match study:
        case "gonsalves1982":
            assert judged == {"4.2-asymptote"}
        case "hughesjones2000":
            assert "3.1-alteon-alone-slope" in judged
            assert all(identity.startswith("3.1-") for identity in judged)


POINTS = {
    "erg": {
        "Both ways, by what the 100 Mb/s host offers": (2, []),
        "Both ways, by the Sparc’s time for a fragment": (2, []),
        "Through the router, by what is offered": (1, [("datagrams", 100, 24.5)]),
    },
    "gonsalves1982": {
        "Delay against throughput (figure 4.1)": (
            9,
            [("64 B", 72, 5.4), ("64 B", 84, 33), ("64 B", 89, 45), ("512 B", 95, 40.7)],
        ),
        "Delay against hosts (figure 4.2)": (9, []),
        "Loss against hosts (figure 4.3)": (6, []),
        "Throughput against hosts (figure 4.4)": (9, []),
        "Delay against throughput (figure 4.5)": (0, []),
        "Delay against hosts (figure 4.6)": (0, []),
        "Loss against hosts (figure 4.7)": (8, [("64 B", 18, 1), ("512 B", 22, 5)]),
        "Throughput against hosts (figure 4.8)": (8, []),
        "Normalised delay against load (figure 4.9)": (0, []),
        "Loss against load (figure 4.10)": (0, []),
        "Normalised delay against throughput (table 4.3)": (
            6,
            [("70 kb/s", 86.8, 6.3), ("105 kb/s", 88, 7.9)],
        ),
        "Throughput against load": (0, []),
    },
    "hughesjones2000": {
        # 26.32 + 0.0235 b at 1500 B; 38.3 + 0.1614 b at 64 B.
        "1 Gb/s": (9, [("direct", 1500, 61.57)]),
        "100 Mb/s": (18, [("one switch, one module", 64, 48.6296)]),
        "From 100 Mb/s to 1 Gb/s": (3, []),
        "Broadcast requests and answers at 1 Gb/s (figure 5.1)": (4, [("two ports", 64, 90)]),
        "Time between received frames, 1 Gb/s (figure 4.11)": (5, []),
        "Throughput, 1 Gb/s (figure 4.12)": (2, []),
        "Throughput, 100 Mb/s (figure 4.14)": (1, []),
        "Time between received frames, 100 Mb/s (figure 4.13)": (3, []),
        "Latency by spacing, 512 B (figures 4.1, 4.4, 4.6)": (1, []),
    },
}
"""Published points that a figure shows: how many, and some of them by curve, x and y."""


@only(*POINTS)
def test_the_published_points_are_where_the_tables_have_them(study, drawn):
    for title, (count, some) in POINTS[study].items():
        layers = [layer for layer in drawn[title]["layer"] if "data" in layer]
        points = [row for layer in layers for row in layer["data"]["values"]]
        assert len(points) == count, title
        for curve, x, y in some:
            at = [row["y"] for row in points if (row["c"], row["x"]) == (curve, x)]
            assert pytest.approx(y) in at


@only("erg", "hughesjones2000")
def test_tables_show_what_was_published_and_what_came_out(study, run_dir, page):
    found = claims_of(run_dir)
    for section, name in {
        "erg": (("erg-one-way", "1-switch"), ("erg-duplex", "3-10-100")),
        "hughesjones2000": (("hj-streams", "t4.2-8-1024"), ("hj-fast", "t3.1-two-gigabit-slope")),
    }[study]:
        shown = f"{found[name].published:g} → {found[name].ours:.4g}"
        assert shown in text_of(by_id(page, section))


@only("fritz1999")
def test_the_bars_are_the_numbers_that_claims_are_judged_by(study, run_dir, drawn):
    bars = next(iter(drawn.values()))["data"]["values"]
    heights = {(row["x"], row["c"]): row["y"] for row in bars}
    found = claims_of(run_dir)
    assert len(heights) == 20
    for rate, word in (("Fast", "fast"), ("Gigabit", "gigabit")):
        claim = found[f"{word}-nt-nt"]
        assert heights["NT, NT", f"{rate}, measured"] == claim.published
        # Figures have six digits.
        assert heights["NT, NT", f"{rate}, ours"] == pytest.approx(claim.ours, rel=1e-5)


@only("fritz1999")
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_all_studies_asks_for_nothing_and_fits(
    browser, study, run_dir, tmp_path, width
):
    entries = [
        index.Reproduced(study, run_dir),
        index.Reproduced("myths", None, "runs/x: no space left on device"),
    ]
    path = index.write(tmp_path / "studies.html", entries, quick=True)
    with Visit(browser, path.resolve().as_uri(), width) as visit:
        visit.expect_quiet_and_no_wider()
    assert len(rows(by_id(parse(path), study))) > 20


@only("gonsalves1982")
def test_only_conversations_have_distributions_and_channel_time(study, page):
    for name in STUDIES[study].series + STUDIES[study].tabled:
        found = headings(by_id(page, f"series-{name}"))
        assert "Estimates" in found
        assert ({"How long frames take", "Channel time"} <= {*found}) == (name == "conversations")


@only("gonsalves1982")
def test_figures_draw_what_claims_are_judged_by(study, run_dir, drawn):
    results = Results.of_run(run_dir)
    where = {"stations.frames.samples.least": "128 B", "stations.count": "28"}
    (row,) = [
        row
        for row in drawn["Delay against throughput (figure 4.1)"]["data"]["values"]
        if row["c"] == "128 B" and row["n"] == 28
    ]
    for axis, quantity in (("x", "data_throughput"), ("y", "delay")):
        judged = student(gonsalves1982.reading(results, "minimum", where, quantity)).value
        # Figures have six digits.
        assert row[axis] == pytest.approx(judged, rel=1e-5)


@only("gonsalves1982")
def test_every_number_of_hosts_is_drawn_once_a_curve_in_their_order(study, drawn):
    points = drawn["Delay against throughput (figure 4.5)"]["data"]["values"]
    for name in ("64 B", "512 B"):
        hosts = [row["n"] for row in points if row["c"] == name]
        assert hosts == sorted(set(hosts))
        assert len(hosts) == 18


@only("gonsalves1982")
def test_the_value_that_all_other_series_use_is_among_those_of_each_parameter(study, drawn):
    # Else the diamonds of the figure would be left out.
    figures = [
        spec
        for title, spec in drawn.items()
        if title.startswith(("Loss of samples, ", "Delay of samples, "))
    ]
    diamonds = [[layer for layer in spec["layer"] if "data" in layer] for spec in figures]
    assert len(diamonds) == 8
    assert all(diamonds)
    assert {len(layer["data"]["values"]) for of in diamonds for layer in of} == {2}
