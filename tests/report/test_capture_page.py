"""The report on a capture in a real browser."""

import struct

import captures
import pytest
from captures import Segment
from ethermeter.captures import explain
from ethermeter.report import capture_page
from visiting import Visit

pytestmark = pytest.mark.browser


def _lossy() -> bytes:
    """Return a transfer of 400 segments; every fiftieth is sent again after 300 ms."""
    found, now, number = captures.opened(round_trip_us=1000), 2000, 1
    for at in range(400):
        found.append(Segment(now, 0, number, 1, 1460))
        if at % 50 == 49:
            now += 300_000
            found.append(Segment(now, 0, number, 1, 1460))
        number += 1460
        now += 1000 + at
        found.append(Segment(now, 1, 1, number))
        now += 50
    return captures.segments(found)


def _datagrams() -> bytes:
    marks = [
        bytes([0xE3, 0x10, 0, 1, 0, 2]) + number.to_bytes(6, "big") + bytes(48)
        for number in range(500)
        if number % 10
    ]
    frames = [
        (at * 1000, bytes.fromhex("020000000001 020000000002 88b5") + mark)
        for at, mark in enumerate(marks)
    ]
    arp = [(600_000, bytes.fromhex("ffffffffffff 020000000002 0806") + bytes(46))]
    return captures.pcap([*frames, *arp])


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_transfer_is_drawn_without_a_request_an_error_or_sideways_scrolling(
    browser, tmp_path, width, scheme
):
    (tmp_path / "x.pcap").write_bytes(_lossy())
    path = capture_page.write(explain(tmp_path / "x.pcap"), tmp_path / "x.html")
    with Visit(browser, path.resolve().as_uri(), width, scheme) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("connections", 1)
        visit.expect_drawn("connection-1", 5)
        visit.expect_within_boxes("connection")
        plots = visit.page.locator("#connection-1 .plot")
        # Sent, acknowledged and allowed; and what was sent again, eight times.
        assert plots.nth(0).locator(".mark-line path").count() == 3
        assert plots.nth(0).locator("svg").text_content().count("sent again") == 1
        # In flight; the window is too large to be drawn beside a segment.
        assert plots.nth(1).locator(".mark-line path").count() == 1
        assert plots.nth(2).locator(".mark-line path").count() == 2
        assert plots.nth(3).locator(".mark-line path").count() == 2
        said = visit.page.locator("#connection-1").inner_text()
        assert "its congestion window, kept small by 8 losses (2.0%), allowed no more" in said
        assert "find what loses 2.0% of the segments between 10.0.0.1:5000 and 10.0.0.2:80" in said
        assert "near the sender" in said
        assert "network: losses" in visit.page.locator("#connections svg").text_content()
        visit.expect_tip(plots.nth(3), "ms", "time, s")


def test_flows_and_warnings_are_shown(browser, tmp_path):
    whole = _datagrams()
    (tmp_path / "x.pcap").write_bytes(
        whole + struct.pack("<IIII", 1_700_000_009, 0, 60, 60) + b"cut"
    )
    found = explain(tmp_path / "x.pcap")
    path = capture_page.write(found, tmp_path / "x.html")
    with Visit(browser, path.resolve().as_uri(), 1280) as visit:
        visit.expect_quiet_and_no_wider()
        visit.expect_drawn("flows", 1)
        # Of the numbers 1 to 499 every tenth is missing.
        assert "\t49\t0\t0" in visit.page.locator("#flows table").last.inner_text()
        assert "451 packets before it are whole" in visit.page.locator("#warnings").inner_text()
        assert visit.page.locator("#connections").count() == 0


def test_names_of_files_are_text(tmp_path):
    path = tmp_path / "<script>alert(1)</script>.pcap".replace("/", "∕")
    path.write_bytes(_lossy())
    assert "<script>alert" not in capture_page.page(explain(path))
