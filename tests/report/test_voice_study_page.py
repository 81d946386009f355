"""The report on packet voice, of a short run: in a real browser, offline, with the study's figures
and its numbers upon them.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from anatomy import sections
from ethermeter import api
from ethermeter.analysis import claims
from ethermeter.analysis.interval import student
from ethermeter.run import RunOptions, evaluate, execute
from ethermeter.studies import pages, registry
from ethermeter.studies.gonsalves1982 import claims as gonsalves1982
from visiting import Visit

FIGURES = {"shortest": 4, "longest": 4, "rate": 4, "sensitivity": 8}
"""Figures of every section of the study's own."""
DIAMONDS = {
    "Delay against throughput (figure 4.1)": 9,
    "Delay against hosts (figure 4.2)": 9,
    "Loss against hosts (figure 4.3)": 6,
    "Throughput against hosts (figure 4.4)": 9,
    "Delay against throughput (figure 4.5)": 0,
    "Delay against hosts (figure 4.6)": 0,
    "Loss against hosts (figure 4.7)": 8,
    "Throughput against hosts (figure 4.8)": 8,
    "Normalised delay against load (figure 4.9)": 0,
    "Loss against load (figure 4.10)": 0,
    "Normalised delay against throughput (table 4.3)": 6,
    "Throughput against load": 0,
}
"""Rows of tables 4.1a, 4.1b, 4.2 and 4.3 that have both coordinates of a figure."""
SHORT = ("phases.settle='0 s'", "phases.transmit='500 ms'", "phases.measure='last 250 ms'")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    loaded = api.load(*registry.find("gonsalves1982").runs, overrides=SHORT, name="gonsalves1982")
    directory = tmp_path_factory.mktemp("runs") / "voice"
    execute(
        loaded.plan(replications=3),
        loaded.experiments,
        directory=directory,
        options=RunOptions(study="gonsalves1982"),
    )
    evaluate(directory)
    return directory


@pytest.fixture(scope="module")
def page(run_dir: Path) -> str:
    return (run_dir / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def specs(page: str) -> dict[str, dict[str, Any]]:
    """Specifications of the figures by their titles."""
    titles = dict(re.findall(r'<figure id="(figure-\d+)"><figcaption>([^<]*)<', page))
    found = re.findall(
        r'<script type="application/json" id="(figure-\d+)-spec">(.*?)</script>',
        page,
        flags=re.DOTALL,
    )
    return {titles[identity]: json.loads(text) for identity, text in found}


def test_the_figures_of_the_study_stand_before_the_series_and_the_table_of_its_claims(page):
    order = sections(page)
    assert order[: len(FIGURES)] == [f"voice-{name}" for name in FIGURES]
    assert order[len(FIGURES)] == "explore"
    # What the study's own figures show whole is not shown again: such series are tables.
    drawn = [f"series-{name}" for name in ("conversations", "data-load", "data-queued")]
    tables = [f"series-{name}" for name in ("minimum", "maximum", "rate-70", "rate-84", "fairness")]
    assert [name for name in order if name == "claims" or name.startswith("series-")] == [
        *drawn,
        "claims",
        *tables,
    ]
    assert order[-3:] == ["cautions", "parameters", "provenance"]


def test_every_figure_has_its_numbers_in_a_table(page):
    for name, count in FIGURES.items():
        text = page.split(f'<section id="voice-{name}">')[1].split("</section>")[0]
        assert text.count("<figure ") == count
        # Each parameter has a table of its own besides.
        assert text.count("<table") == count + (4 if name == "sensitivity" else 0)


def test_only_conversations_have_distributions_and_channel_time(page):
    sections = dict(
        re.findall(r'<section id="series-([^"]+)">(.*?)</section>', page, flags=re.DOTALL)
    )
    for heading in ("How long frames take", "Channel time"):
        assert [name for name, text in sections.items() if f"<h3>{heading}</h3>" in text] == [
            "conversations"
        ]
    assert all("<h3>Estimates</h3>" in text for text in sections.values())
    for name in ("minimum", "maximum", "rate-70", "rate-84"):
        assert "<figure " not in sections[name]


def test_the_published_points_are_where_the_tables_have_them(specs):
    found = {
        title: [layer for layer in specs[title]["layer"] if "data" in layer] for title in DIAMONDS
    }
    assert {
        title: sum(len(layer["data"]["values"]) for layer in layers)
        for title, layers in found.items()
    } == DIAMONDS
    first = {
        (row["c"], row["x"], row["y"])
        for row in found["Delay against throughput (figure 4.1)"][0]["data"]["values"]
    }
    assert {("64 B", 72, 5.4), ("64 B", 84, 33), ("64 B", 89, 45), ("512 B", 95, 40.7)} <= first
    loss = {
        (row["c"], row["x"], row["y"])
        for row in found["Loss against hosts (figure 4.7)"][0]["data"]["values"]
    }
    assert {("64 B", 18, 1), ("512 B", 22, 5)} <= loss
    last = {
        (row["c"], row["x"], row["y"])
        for row in found["Normalised delay against throughput (table 4.3)"][0]["data"]["values"]
    }
    assert {("70 kb/s", 86.8, 6.3), ("105 kb/s", 88, 7.9)} <= last


def test_figures_draw_what_claims_are_judged_by(run_dir, specs):
    curves = gonsalves1982.curves_of(run_dir)
    where = {"stations.frames.samples.least": "128 B", "stations.count": "28"}
    (row,) = [
        row
        for row in specs["Delay against throughput (figure 4.1)"]["data"]["values"]
        if row["c"] == "128 B" and row["n"] == 28
    ]
    for axis, quantity in (("x", "data_throughput"), ("y", "delay")):
        # Figures have six digits.
        assert row[axis] == pytest.approx(
            student(gonsalves1982.reading(curves, "minimum", where, quantity)).value, rel=1e-5
        )


def test_every_number_of_hosts_is_drawn_once_a_curve_in_their_order(specs):
    rows = specs["Delay against throughput (figure 4.5)"]["data"]["values"]
    for name in ("64 B", "512 B"):
        hosts = [row["n"] for row in rows if row["c"] == name]
        assert hosts == sorted(set(hosts))
        assert len(hosts) == 18


def test_the_value_that_all_other_series_use_is_among_those_of_each_parameter(specs):
    # Else the diamonds of the figure would be left out.
    figures = [
        spec
        for title, spec in specs.items()
        if title.startswith(("Loss of samples, ", "Delay of samples, "))
    ]
    assert len(figures) == 8
    assert all(
        len(layer["data"]["values"]) == 2
        for spec in figures
        for layer in spec["layer"]
        if "data" in layer
    )
    assert all(any("data" in layer for layer in spec["layer"]) for spec in figures)


def test_the_report_can_be_written_anew_and_is_the_same(run_dir, page):
    assert pages.write_report(run_dir).read_text(encoding="utf-8") == page


def test_a_part_of_the_study_has_the_figures_that_it_holds(tmp_path):
    loaded = api.load(
        "gonsalves1982/maximum", overrides=(*SHORT, "vary.'stations.count'=[1, 8, 16]"), name="part"
    )
    execute(
        loaded.plan(replications=3),
        loaded.experiments,
        directory=tmp_path / "run",
        options=RunOptions(study="gonsalves1982"),
    )
    evaluate(tmp_path / "run")
    order = sections((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert order[:4] == ["voice-longest", "explore", "claims", "series-maximum"]
    found = claims.read(tmp_path / "run")
    assert found is not None
    assert {claim.verdict for claim in found[1]} == {"not-run"}


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_drawn_without_a_request_an_error_or_sideways_scrolling(
    browser, run_dir, width, scheme
):
    with Visit(browser, (run_dir / "report.html").resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        for name, count in FIGURES.items():
            visit.expect_drawn(f"voice-{name}", count)
        visit.expect_within_boxes("voice-")


@pytest.mark.browser
def test_pointing_at_a_point_shows_delay_throughput_and_hosts(browser, run_dir):
    with Visit(browser, (run_dir / "report.html").resolve().as_uri(), 1280) as visit:
        words = (
            "Delay of samples",
            "95% interval",
            "hosts",
            "32",
            "Throughput, data (%)",
            "Shortest packet",
            "512 B",
        )
        visit.expect_tip(visit.page.locator("#voice-shortest .plot").first, *words)
