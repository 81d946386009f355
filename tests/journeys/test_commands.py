"""What commands of tutorials and how-to pages answer; the other pages are run in `unit`."""

import json
from pathlib import Path

import captures
import pytest
from accessibility import WIDTHS, violations
from documents import blocks, commands, expect_printed, page, shell
from visiting import Visit


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory to work in, with the files that people bring."""
    # Windows of 115 times 128 octets have room for the ten segments of a round, and no more.
    (tmp_path / "copy.pcap").write_bytes(captures.rounds(20, window=115))
    return tmp_path


def expect_accessible(browser, page: Path) -> None:
    """Open a page at the width of a desk and of a telephone; it needs nothing but its file."""
    for width in WIDTHS:
        with Visit(browser, page.as_uri(), width) as visit:
            visit.expect_quiet_and_no_wider()
            assert violations(visit.page) == [], width


@pytest.mark.browser
def test_an_uplink_is_sized_in_fewer_than_five_commands_from_the_install(home, browser):
    shown = commands(page("docs/how-to/size-an-uplink.md"))
    assert 1 + len(shown) < 5, "the install is one more"
    copy, run, search = shown
    shell(copy, cwd=home)
    answer = shell(run, cwd=home)
    # Each call has the bound of its delay, the port of the uplink a queue that loses nothing.
    (call,) = [
        line.split() for line in answer.splitlines() if line.split()[:3] == ["8", "call", "×"]
    ]
    bound_ms, largest_ms = float(call[4]), float(call[-2])
    assert 0 < largest_ms <= bound_ms
    assert [line for line in answer.splitlines() if "floor to core" in line]
    # The same for all ports, so it stands once above the table.
    assert "loses: nothing" in answer
    of_run, of_search = blocks(page("docs/how-to/size-an-uplink.md"), "output")
    expect_printed(of_run, answer)
    assert "none above" in answer
    expect_printed(of_search, shell(search, cwd=home))
    found = json.loads(shell(f"{search} --json", cwd=home))
    # Five cameras offer 100.4 Mb/s to the uplink (tests/unit/test_load.py).
    assert (found["at_least"], found["at_most"]) == ("4", "4")
    expect_accessible(browser, home / "runs" / "office" / "report.html")


@pytest.mark.browser
def test_a_slow_copy_is_explained_with_a_cure(home, browser):
    table, report, *_ = commands(page("docs/tutorials/slow-copy.md"), needs="")
    answer = shell(table, cwd=home)
    assert "receiver's window" in answer
    assert "net.ipv4.tcp_rmem" in answer
    shell(report, cwd=home)
    expect_accessible(browser, home / "copy.html")
