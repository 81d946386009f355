"""Reports on the studies of switched networks, of quick runs: in a real browser, with their tables
and their published points.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from anatomy import sections
from ethermeter import api
from ethermeter.analysis import claims
from ethermeter.run import RunOptions, evaluate, execute
from ethermeter.studies import pages, registry
from visiting import Visit

FIGURES = {
    "erg": {"erg-tables": 0, "erg-capture": 3},
    "hughesjones2000": {"hj-tables": 0, "hj-latency": 4, "hj-background": 6, "hj-streams": 6},
}
"""Figures of every section of the studies' own."""
DIAMONDS = {
    "erg": {
        "Both ways, by what the 100 Mb/s host offers": 2,
        "Both ways, by the Sparc’s time for a fragment": 2,
        "Through the router, by what is offered": 1,
    },
    "hughesjones2000": {
        "1 Gb/s": 9,
        "100 Mb/s": 18,
        "From 100 Mb/s to 1 Gb/s": 3,
        "Broadcast at 1 Gb/s (figure 5.1)": 8,
        "Time between received frames, 1 Gb/s (figure 4.11)": 5,
        "Throughput, 1 Gb/s (figure 4.12)": 2,
        "Time between received frames, 100 Mb/s (figure 4.13)": 3,
        "Latency by spacing, 512 B (figures 4.1, 4.4, 4.6)": 1,
    },
}
"""Published points of the figures that have some."""
TABLES = {"erg": 3, "hughesjones2000": 7}
SHORT = {
    "erg": ("phases.transmit='110 ms'", "phases.measure='last 100 ms'"),
    "hughesjones2000": ("phases.transmit='6 ms'", "phases.measure='last 5 ms'"),
}


@pytest.fixture(scope="module", params=list(FIGURES))
def study(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def run_dir(study: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    loaded = api.load(*registry.find(study).runs, overrides=SHORT[study], name=study)
    directory = tmp_path_factory.mktemp("runs") / study
    execute(
        loaded.plan(replications=1),
        loaded.experiments,
        directory=directory,
        options=RunOptions(study=study),
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


def test_figures_of_the_study_stand_before_the_series_and_its_tables_after_its_claims(study, page):
    order = sections(page)
    drawn = [name for name, count in FIGURES[study].items() if count]
    assert order[: len(drawn)] == drawn
    tables = [name for name, count in FIGURES[study].items() if not count]
    after = order[order.index("claims") + 1 :]
    assert [name for name in after if name in FIGURES[study]] == tables
    series = {name.removeprefix("series-") for name in order if name.startswith("series-")}
    files = {name.split("/")[1] for name in registry.find(study).runs}
    # Series that are drawn whole in figures of the study are not shown again.
    assert series < files


def test_every_figure_has_its_numbers_and_every_table_of_the_study_is_there(study, page):
    for name, count in FIGURES[study].items():
        text = page.split(f'<section id="{name}">')[1].split("</section>")[0]
        assert text.count("<figure ") == count
        assert text.count("<table") == (count or TABLES[study])


def test_tables_show_what_was_published_and_what_came_out(run_dir, study, page):
    found = claims.read(run_dir)
    assert found is not None
    by = {claim.id: claim for claim in found[1]}
    text = page.split(f'<section id="{next(iter(FIGURES[study]))}">')[1].split("</section>")[0]
    for identity in {
        "erg": ("1-switch", "3-10-100"),
        "hughesjones2000": ("t4.2-8-1024", "t3.1-two-gigabit-slope"),
    }[study]:
        assert f"{by[identity].published:g} → {by[identity].ours:.4g}" in text


def test_the_published_points_are_drawn(study, specs):
    found = {
        title: [
            row
            for layer in specs[title]["layer"]
            if "data" in layer
            for row in layer["data"]["values"]
        ]
        for title in DIAMONDS[study]
    }
    assert {title: len(rows) for title, rows in found.items()} == DIAMONDS[study]
    if study == "hughesjones2000":
        # 26.32 + 0.0235 b at 1500 B; 38.3 + 0.1614 b at 64 B.
        assert {"x": 1500, "y": pytest.approx(61.57), "c": "direct"} in found["1 Gb/s"]
        assert {"x": 64, "y": pytest.approx(48.6296), "c": "one switch, one module"} in found[
            "100 Mb/s"
        ]
    else:
        assert {"x": 100, "y": 24.5, "c": "whole datagrams"} in found[
            "Through the router, by what is offered"
        ]


def test_the_report_can_be_written_anew_and_is_the_same(run_dir, page):
    assert pages.write_report(run_dir).read_text(encoding="utf-8") == page


def test_a_part_of_a_study_has_the_figures_that_it_holds(tmp_path):
    loaded = api.load("hughesjones2000/gigabit-latency", name="part")
    execute(
        loaded.plan(),
        loaded.experiments,
        directory=tmp_path / "run",
        options=RunOptions(study="hughesjones2000"),
    )
    evaluate(tmp_path / "run")
    text = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    order = sections(text)
    assert order[:3] == ["hj-latency", "explore", "series-gigabit-latency"]
    assert order[order.index("claims") + 1] == "hj-tables"
    found = claims.read(tmp_path / "run")
    assert found is not None
    run = {claim.id for claim in found[1] if claim.verdict != "not-run"}
    assert all(identity.startswith("3.1-") for identity in run)
    assert "3.1-alteon-alone-slope" in run


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_drawn_without_a_request_an_error_or_sideways_scrolling(
    browser, study, run_dir, width, scheme
):
    with Visit(browser, (run_dir / "report.html").resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        for name, count in FIGURES[study].items():
            visit.expect_drawn(name, count)
        visit.expect_within_boxes("erg-" if study == "erg" else "hj-")
