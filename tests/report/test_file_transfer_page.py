"""The report on file transfer, of a whole run: in a real browser, offline, with the study's figures
and numbers.
"""

import json
import re
from pathlib import Path

import pytest
from anatomy import sections
from ethermeter import api, report
from ethermeter.analysis import claims
from ethermeter.run import RunOptions, evaluate, execute
from ethermeter.studies import registry
from visiting import Visit

FIGURES = {"throughput": 1, "acknowledgements": 1, "remedies": 1}
"""Figures of every section of the study's own."""


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    loaded = api.load(*registry.find("fritz1999").runs, name="fritz1999")
    directory = tmp_path_factory.mktemp("runs") / "files"
    execute(
        loaded.plan(),
        loaded.experiments,
        directory=directory,
        options=RunOptions(study="fritz1999"),
    )
    evaluate(directory)
    return directory


@pytest.fixture(scope="module")
def page(run_dir: Path) -> str:
    return (run_dir / "report.html").read_text(encoding="utf-8")


def test_the_figures_of_the_study_stand_before_the_table_of_its_claims(page):
    order = sections(page)
    assert order[:6] == [
        *(f"files-{name}" for name in ("throughput", "acknowledgements", "remedies")),
        "explore",
        "claims",
        "files-time",
    ]
    assert not [name for name in order if name.startswith("series-")]


def test_the_bars_are_the_numbers_that_claims_are_judged_by(run_dir, page):
    spec = json.loads(
        re.search(
            r'<script type="application/json" id="figure-1-spec">(.*?)</script>', page, re.DOTALL
        )[1]
    )  # type: ignore[index]
    drawn = {(row["x"], row["c"]): row["y"] for row in spec["data"]["values"]}
    found = claims.read(run_dir)
    assert found is not None
    by_id = {claim.id: claim for claim in found[1]}
    assert len(drawn) == 20
    for rate, word in (("Fast", "fast"), ("Gigabit", "gigabit")):
        claim = by_id[f"{word}-nt-nt"]
        assert drawn["NT, NT", f"{rate}, measured"] == claim.published
        # Figures have six digits.
        assert drawn["NT, NT", f"{rate}, ours"] == pytest.approx(claim.ours, rel=1e-5)


def test_no_claim_of_the_whole_study_lacks_its_points(run_dir):
    found = claims.read(run_dir)
    assert found is not None
    assert "not-run" not in {claim.verdict for claim in found[1]}


def test_a_part_of_the_study_has_the_figures_that_it_holds(tmp_path):
    loaded = api.load("fritz1999/copies", name="part")
    execute(
        loaded.plan(),
        loaded.experiments,
        directory=tmp_path / "run",
        options=RunOptions(study="fritz1999"),
    )
    evaluate(tmp_path / "run")
    order = sections((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    figures = ["files-throughput", "files-acknowledgements", "explore"]
    assert order[:6] == [*figures, "claims", "cautions", "parameters"]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_drawn_without_a_request_an_error_or_sideways_scrolling(
    browser, run_dir, width, scheme
):
    with Visit(browser, (run_dir / "report.html").resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        for name, count in FIGURES.items():
            visit.expect_drawn(f"files-{name}", count)
        visit.expect_within_boxes("files-")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_all_studies_asks_for_nothing_and_fits(browser, run_dir, tmp_path, width):
    entries = [
        report.Reproduced("fritz1999", run_dir),
        report.Reproduced("myths", None, "runs/x: no space left on device"),
    ]
    path = report.write_index(tmp_path / "studies.html", entries, quick=True)
    with Visit(browser, path.resolve().as_uri(), width) as visit:
        visit.expect_quiet_and_no_wider()
        assert visit.page.locator("#fritz1999 table.claims tbody tr").count() > 20
