"""The comparison of two runs as a page."""

import json
import re
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.document import number
from ethermeter.metrics import Metric
from markup import parse, sections, sentences
from program import invoke
from small_runs import SMALL_RUN
from visiting import Visit

SLOWER = SMALL_RUN.changed(
    {
        "stations.0.service.uniform": ["80 us", "110 us"],
        "vary": {"stations.count": [2, 5, 8], "stations.frames": ["64 B", "1536 B"]},
    }
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run, and one of a changed copy: hosts are slower, and other numbers of them."""
    folder = tmp_path_factory.mktemp("compared")
    found = []
    for name, experiment in (("before", SMALL_RUN), ("after", SLOWER)):
        path = experiment.save(folder / f"{name}.toml")
        found.append(em.load(path).run(out=folder / name).path)
    return found[0], found[1]


@pytest.fixture(scope="module")
def page(runs: tuple[Path, Path]) -> Path:
    out = runs[0].parent / "comparison.html"
    ended = invoke("compare", *runs, "--figure", out)
    assert ended.returncode == 0, ended.output
    assert ended.stdout.splitlines()[-1] == f"page: {out}"
    return out


def cells(visit: Visit, section: str) -> list[list[str]]:
    """Rows of the tables of a section."""
    found: list[list[str]] = visit.page.evaluate(
        f"[...document.querySelectorAll('#{section} tbody tr')].map(r => "
        "[...r.cells].map(c => c.textContent))"
    )
    return found


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_begins_with_what_differs(browser, runs, page, width, scheme):
    rows = json.loads(invoke("compare", *runs, "--json").stdout)
    goodput = [
        row for row in rows if row["metric"] == "goodput" and row["verdict"] in ("higher", "lower")
    ]
    most = max(goodput, key=lambda row: abs(row["difference"]))
    assert most["verdict"] == "lower", "slower hosts deliver less"
    with Visit(browser, page.resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("explorer", 1)
        assert visit.page.locator("main > section").first.get_attribute("id") == "findings"
        answer = visit.page.locator("#findings").inner_text()
        count = len({row["metric"] for row in rows if row["verdict"] in ("higher", "lower")})
        assert f"{count} of {len({row['metric'] for row in rows})} metrics differ" in answer
        assert "The experiment files differ in stations.service.uniform, vary" in answer
        assert "Only in the first run, 2 points: Number of hosts: 1, Frame length: 64 B;" in answer
        assert "Only in the second run, 2 points: Number of hosts: 8" in answer
        # The table says of the largest difference what the JSON says.
        of_point = [most["point"]["stations.count"], most["point"]["stations.frames"]]
        (shown,) = [
            row for row in cells(visit, "differences") if row[:3] == ["Goodput (Mb/s)", *of_point]
        ]
        half = (most["high"] - most["low"]) / 2e6
        assert shown[3:5] == [number(most[end] / 1e6, half) for end in ("a", "b")]
        found = [float(each) for each in re.findall(r"[-+]?[\d.]+", shown[5])]
        assert found == pytest.approx([most["difference"] / 1e6, half], abs=half / 10)
        ends = [most[end] / 1e6 for end in ("low", "high")]
        assert [found[0] - found[1], found[0] + found[1]] == pytest.approx(ends, abs=half / 10)
        assert shown[7] == "lower"
        assert ["stations.service.uniform", "60 µs, 90 µs", "80 µs, 110 µs"] in cells(
            visit, "parameters"
        )


@pytest.mark.browser
def test_both_runs_are_drawn_over_each_other(browser, runs, page):
    with Visit(browser, page.resolve().as_uri(), 1280) as visit:
        visit.page.locator("#explorer select[name=metric]").select_option("goodput")
        visit.page.locator("#explorer input[name=show][value='1536 B']").uncheck()
        visit.wait_for(
            "document.querySelectorAll('#explorer .mark-symbol.role-mark path').length === 6"
        )
        assert visit.page.locator("#explorer .mark-line path").count() == 2
        drawn = [(row[0], row[2], row[3]) for row in cells(visit, "explorer")]
        assert [count for count, run, _ in drawn if run == "first"] == ["1", "2", "5"]
        assert [count for count, run, _ in drawn if run == "second"] == ["2", "5", "8"]
        for run, path in zip(("first", "second"), runs, strict=True):
            points = {
                point.point["stations.count"]: point.estimates[Metric.GOODPUT]
                for point in em.open(path).estimated
                if point.point["stations.frames"] == "64 B"
            }
            for count, of, text in drawn:
                if of == run:
                    near = points[count].half_width / 1e8 + 6e-6 * points[count].value / 1e6
                    value = float(text.removesuffix(" Mb/s"))
                    assert value == pytest.approx(points[count].value / 1e6, abs=near)
        assert visit.complaints == []


def test_a_run_compared_with_itself_differs_in_nothing(runs, tmp_path):
    ended = invoke("compare", runs[0], runs[0], "--figure", tmp_path / "same.html")
    assert ended.returncode == 0, ended.output
    same = parse(tmp_path / "same.html")
    said = " ".join(sentences(same))
    assert re.search(r"None of \d+ metrics differs beyond the 95% interval", said)
    assert "The experiment files have the same keys and values." in said
    assert "only" not in sections(same)


def test_json_stays_json_beside_a_page(runs, tmp_path):
    ended = invoke("compare", *runs, "--figure", tmp_path / "page.html", "--json")
    assert json.loads(ended.stdout) == json.loads(invoke("compare", *runs, "--json").stdout)
    assert (tmp_path / "page.html").exists()


def test_the_only_series_of_two_runs_are_compared_whatever_their_names(runs):
    # A series without a name has that of its file.
    assert [trial.series for run in runs for trial in em.open(run).trials()[:1]] == [
        "before",
        "after",
    ]
    rows = json.loads(invoke("compare", *runs, "--json").stdout)
    assert {row["series"] for row in rows} == {"before"}


@pytest.mark.browser
def test_files_of_other_programs_are_compared_as_a_page(browser, tmp_path):
    for name, delays in (("a", (1.0, 1.1, 1.2, 1.1)), ("b", (2.0, 2.1, 2.2, 2.1))):
        lines = "\n".join(f"{delay}" for delay in delays * 5)
        (tmp_path / f"{name}.csv").write_text(f"delay\n{lines}\n", encoding="utf-8")
    out = tmp_path / "files.html"
    ended = invoke(
        "compare", tmp_path / "a.csv", tmp_path / "b.csv",
        "--columns", "one_way_delay=delay:ms", "--figure", out,
    )  # fmt: skip
    assert ended.returncode == 0, ended.output
    with Visit(browser, out.resolve().as_uri(), 390) as visit:
        visit.expect_quiet_and_no_wider()
        answer = visit.page.locator("#findings").inner_text()
        assert "None of 2 metrics differs" in answer
        # Files of single values have no intervals, which is no verdict that they are the same.
        assert "2 cannot be judged: the values differ, and no interval is known." in answer
        assert "One-way delay (ms)" in visit.page.locator("#differences").inner_text()
        assert visit.page.locator("#parameters").count() == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--figure", "page.pdf"], "expected one of .html"),
        (["--figure", "nowhere/page.html"], "a directory that is there"),
        (["--figure", "page.xml"], "expected one of .html"),
    ],
)
def test_a_page_that_cannot_be_is_refused(runs, tmp_path, words, message):
    ended = invoke("compare", *runs, *words, cwd=tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not list(tmp_path.iterdir())
