"""The report of a benchmark: tables, figures and conditions of its tests."""

from pathlib import Path

import pytest
from ethermeter.document import StudyPage
from ethermeter.report.data import gather
from ethermeter.run import evaluate
from markup import by_id, headings, parse, sections, text_of
from program import invoke
from visiting import Visit


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("benchmark") / "run"
    ended = invoke("benchmark", "rfc2544", "--frames", "64,1518", "--trial", "50 ms", "--out", out)
    assert ended.returncode == 0, ended.output
    return evaluate(out)["report"]


def test_each_test_is_a_table_and_the_trials_are_no_curves(benchmark: Path) -> None:
    page = parse(benchmark)
    section = by_id(page, "benchmark")
    titles = {"Throughput", "Latency at the throughput", "Frame loss rate", "System recovery"}
    assert titles <= {*headings(section)}
    assert "MLRsearch 1.2.1, width 0.5%" in text_of(section)
    assert "Of line (%)" in {text_of(head) for head in section.iter("th")}
    # Single trials have no section of a series, and the answer is not listed a second time.
    found = sections(page)
    assert {"benchmark", "search"} <= {*found}
    assert not [name for name in found if name.startswith("series")]
    assert "Result" not in text_of(by_id(page, "search"))


def test_nothing_is_estimated_of_flows_and_ports_that_no_section_shows(benchmark: Path) -> None:
    # RFC 2889 sends thousands of flows at a time; estimates of each took 95% of its report's time.
    data = gather(benchmark.parent, StudyPage().presentation)
    assert data.search is not None
    assert data.search.is_suite
    found = (data.flows, data.tables, data.sharing, data.ports, data.rooflines, data.distributions)
    assert not any(found)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_it_needs_no_sideways_scrolling(browser, benchmark, width):
    with Visit(browser, benchmark.resolve().as_uri(), width) as visit:
        visit.expect_quiet_and_no_wider()
