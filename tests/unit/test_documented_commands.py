"""Tutorials and how-to pages: every block is run, and pages stay short and of one kind."""

import json
import re
import shutil
from pathlib import Path

import documents
import pytest
from documents import DOCS, NOTES

MOST_WORDS = 2500
"""Words of a page outside the reference."""
NOTHING = frozenset[str]()


def _iperf3(rate_bps: float) -> str:
    sums = {"bits_per_second": rate_bps}
    end = {"sum_sent": {**sums, "retransmits": 3}, "sum_received": sums}
    second = {"sum": {"seconds": 1.0, "bytes": rate_bps / 8, "omitted": False}}
    start = {"test_start": {"protocol": "TCP", "reverse": 0}}
    return json.dumps({"start": start, "intervals": [second] * 4, "end": end})


def _inputs(page: str, folder: Path) -> None:
    """Write the reader's files that a page begins with."""
    match page:
        case "docs/tutorials/slow-copy.md" | "docs/how-to/check-backoff.md":
            for capture in (DOCS / "captures").iterdir():
                shutil.copy(capture, folder)
        case "docs/how-to/import-results.md":
            (folder / "before.json").write_text(_iperf3(9.4e6))
            (folder / "after.json").write_text(_iperf3(9.1e6))
            for name in ("ns3-a.csv", "ns3-b.csv"):
                (folder / name).write_text("sent,received\n0.001,0.0025\n1.001,1.0027\n2.0,2.002\n")
            for name in ("manet-a.csv", "manet-b.csv"):
                head = "SimulationSecond,ReceiveRate,PacketsReceived,NumberOfSinks\n"
                (folder / name).write_text(f"{head}0,16.384,32,1\n1,15.872,31,1\n2,16.384,32,1\n")


def _is_run(page: str) -> bool:
    # What pages of additions show is applied to a copy of the tree by tests of their own.
    is_run_elsewhere = page in documents.ANSWERED or page.startswith("docs/how-to/add-")
    return not is_run_elsewhere and any(
        block.language in {"sh", "python"} and not block.needs
        for block in documents.parsed(documents.page(page))
    )


@pytest.mark.parametrize("page", [page for page in documents.pages() if _is_run(page)])
def test_every_block_of_a_page_runs(page, tmp_path):
    _inputs(page, tmp_path)
    assert documents.run(page, tmp_path, with_needs=NOTHING) >= 1


def test_a_number_of_a_page_that_is_not_printed_is_found():
    printed = "largest x with loss <= 1%: 43 Mb/s at 95%;\n  44 Mb/s fails\n"
    documents.expect_printed("largest x … at 95%; 44 Mb/s fails\n…\n", printed)
    with pytest.raises(AssertionError, match="a page has '45 Mb/s fails', which is not printed"):
        documents.expect_printed("… 45 Mb/s fails\n", printed)


@pytest.mark.parametrize("page", [page for page in documents.pages() if _is_run(page)])
def test_pages_show_what_commands_answer_in_blocks_that_are_compared(page):
    # A number in the prose after a command would be compared with nothing.
    assert not re.findall(r"(?:answers|prints) `[^`]*[0-9]", documents.prose(documents.page(page)))


def test_the_examples_of_the_readme_run(tmp_path):
    text = documents.page("README.md")
    block = text.partition("## Three examples")[2].partition("```sh\n")[2].partition("```")[0]
    examples = [line for line in block.splitlines() if line.startswith("ethermeter ")]
    assert len(examples) == 3
    for example in examples:
        documents.shell(example, cwd=tmp_path)


@pytest.mark.parametrize("page", documents.pages())
def test_what_a_block_needs_is_known(page):
    assert {block.needs for block in documents.parsed(documents.page(page))} <= {
        "",
        *documents.NEEDS,
    }
    comments = re.findall(r"<!-- needs: (.*) -->", documents.page(page))
    assert len(comments) == sum(
        bool(block.needs) for block in documents.parsed(documents.page(page))
    )


@pytest.mark.parametrize(
    "page",
    [path for path in (*DOCS.rglob("*.md"), *NOTES) if path.parent.name != "reference"],
    ids=str,
)
def test_no_page_but_of_the_reference_is_long(page):
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS
