"""The page as text: self-contained, safe, complete, for the study and for any other run."""

import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic_run
from ethermeter import report
from ethermeter.analysis import estimates
from ethermeter.papers import boggs1988
from ethermeter.report import parameters
from ethermeter.report.html import safe


@pytest.fixture(scope="module")
def text(study_run: Path) -> str:
    estimates.write(study_run)
    boggs1988.write_claims(study_run)
    return report.write(study_run).read_text(encoding="utf-8")


def without_scripts(text: str) -> str:
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


class Elements(HTMLParser):
    """Checks that elements nest, and collects what the page refers to."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href"):
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass  # closes itself

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_well_formed_and_refers_to_itself_only(text: str) -> None:
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    assert len(set(elements.ids)) == len(elements.ids)
    for reference in elements.references:
        assert reference == "data:," or reference.removeprefix("#") in elements.ids, reference


def test_study_has_eight_graphs_and_two_breakdowns_a_series(text: str) -> None:
    assert text.count("<figure id=") == 5 * 10
    assert len(re.findall(r'data-spec="figure-\d+-spec"', text)) == 50


def test_every_claim_is_in_the_table(text: str) -> None:
    for entry in boggs1988.published():
        assert safe(entry["what"]) in text
    assert text.count('<span class="tag predicted">') + text.count('<span class="tag fitted">') == len(boggs1988.published())


def test_text_from_files_is_escaped(text: str) -> None:
    page = without_scripts(text)
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;lab &amp; co&gt;" in page


def test_size_stays_below_four_megabytes(text: str) -> None:
    assert len(text.encode()) < 4e6


def test_report_of_the_study_takes_little_processor_time(study_run: Path, text: str) -> None:
    assert text
    before = time.process_time()
    report.write(study_run)
    assert time.process_time() - before < 3  # measured 0.4 s


def test_caution_is_marked_and_listed(text: str) -> None:
    page = without_scripts(text)
    assert "a frame is shorter or longer than the standard allows" in page
    assert "Frame length: 2048 B, 3072 B, 4000 B" in page
    assert '"w":"illegal-frame-length"' in text


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"segment.length": ("100 m", "500 m", "1 km")}, "segment.length (m)"),
        ({"stations.service": ("50 us", "100 us"), "stations.backoff": ("exponential", "linear")}, "stations.service (s)"),
        ({"stations.count": ("4", "8"), "a.x": ("1", "2", "3"), "b": ("on", "off")}, "b = on"),
        ({"stations.backoff": ("exponential", "linear")}, "Estimates"),
        ({}, "Estimates"),
    ],
)
def test_any_run_has_a_report(tmp_path: Path, keys: dict[str, tuple[str, ...]], expected: str) -> None:
    page = report.write(synthetic_run.other(tmp_path / "other", keys)).read_text(encoding="utf-8")
    assert expected in page
    assert "A &lt;b&gt;bold&lt;/b&gt; title" in page
    assert "Fish &amp; &lt;chips&gt;" in page
    assert "Published claims" not in page
    Elements().feed(page)


def test_partial_study_says_not_run(tmp_path: Path) -> None:
    run = synthetic_run.study(tmp_path / "part", series=("I-2",), counts=(1, 2, 3, 24))
    boggs1988.write_claims(run)
    page = without_scripts(report.write(run).read_text(encoding="utf-8"))
    assert page.count(">not run<") == 13  # 6 need I-1, I-4 or I-5; 6 more than two numbers from three hosts on; 1 needs 20
    assert page.count(">met<") + page.count(">missed<") > 5


def test_sources_stand_beside_what_they_speak_of() -> None:
    content = {"segment": {"standard": "dix-10", "length": "910 m"},
               "stations": [{"count": 24, "service": {"uniform": ["60 us", "90 us"]}}],
               "sources": {"segment": "standard: DIX 1.0", "stations.service": "fit: two numbers", "nothing": "loose"}}  # fmt: skip
    rows = parameters.Experiment("x", "X", content).parameters()
    assert ("segment.length", "910 m", "standard", "DIX 1.0") in rows
    assert ("stations.service.uniform", "60 us, 90 us", "fit", "two numbers") in rows
    assert ("stations.count", "24", "", "") in rows
    assert ("nothing", "", "", "loose") in rows


def test_an_experiment_that_is_not_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text("title = ", encoding="utf-8")
    with pytest.raises(ValueError, match=r"experiment\.toml: content = .*: expected TOML"):
        parameters.experiments(tmp_path)
