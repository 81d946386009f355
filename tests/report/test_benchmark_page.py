"""The report of a benchmark: tables, figures and conditions of its tests."""

import re
from pathlib import Path

import pytest
from ethermeter.run import evaluate
from program import invoke
from visiting import Visit


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("benchmark") / "run"
    ended = invoke("benchmark", "rfc2544", "--frames", "64,1518", "--trial", "50 ms", "--out", out)
    assert ended.returncode == 0, ended.output
    return out


def test_each_test_is_a_table_and_the_trials_are_no_curves(benchmark: Path) -> None:
    page = evaluate(benchmark)["report"].read_text(encoding="utf-8")
    (section,) = re.findall(r'<section id="benchmark".*?</section>', page, re.DOTALL)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", section))
    for title in ("Throughput", "Latency at the throughput", "Frame loss rate", "System recovery"):
        assert title in text
    assert "MLRsearch 1.2.1, width 0.5%" in text
    assert "Of line (%)" in text
    # Single trials have no section of a series, and the answer is not listed a second time.
    assert set(re.findall(r'<section id="([^"]+)"', page)) >= {"benchmark", "search"}
    assert 'id="series' not in page
    (search,) = re.findall(r'<section id="search".*?</section>', page, re.DOTALL)
    assert "Result" not in search


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_it_needs_no_sideways_scrolling(browser, benchmark, width):
    url = evaluate(benchmark)["report"].resolve().as_uri()
    visit = Visit(browser, url, width, "light")
    visit.expect_quiet_and_no_wider()
    visit.page.close()
