"""The report of a benchmark: tables, figures and conditions of its tests."""

from pathlib import Path

import pytest
from ethermeter.analysis import groups
from ethermeter.execution import evaluate
from ethermeter.presentation import Presentation
from ethermeter.report.data import ReportData
from markup import by_id, headings, parse, sections, text_of
from program import invoke
from visiting import Visit


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("benchmark") / "run"
    ended = invoke("find", "benchmark", "rfc2544", "frames=64,1518", "trial=50 ms", "--out", out)
    assert ended.returncode == 0, ended.output
    return evaluate(out)["report"]


def test_each_test_is_a_table_and_the_trials_are_no_curves(benchmark: Path) -> None:
    page = parse(benchmark)
    section = by_id(page, "benchmark")
    titles = {"Throughput", "Latency at the throughput", "Frame loss rate", "System recovery"}
    assert titles <= {*headings(section)}
    assert "MLRsearch 1.2.1, width 0.5%" in text_of(section)
    assert "of line %" in {text_of(head) for head in section.iter("th")}
    # Single trials have no section of a series, and the answer is not listed a second time.
    found = sections(page)
    assert {"benchmark", "search"} <= {*found}
    assert not [name for name in found if name.startswith("series")]
    assert "Result" not in text_of(by_id(page, "search"))


def test_what_the_page_does_not_show_is_not_computed(benchmark, monkeypatch):
    # Address tests of RFC 2889 have thousands of flows, each a table of its own.
    monkeypatch.setattr(groups, "estimate", None)
    data = ReportData.of_run(benchmark.parent, Presentation())
    assert not [*data.flows, *data.tables, *data.sharing, *data.ports, *data.rooflines]
    assert not data.distributions


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_figures_are_drawn_and_it_needs_no_sideways_scrolling(browser, benchmark, width):
    with Visit(browser, benchmark.resolve().as_uri(), width) as visit:
        visit.expect_quiet_and_no_wider()
        # Throughput, latency, frame loss and back-to-back frames; recovery and reset have tables.
        visit.expect_drawn("benchmark", 4)
