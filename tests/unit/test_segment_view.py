"""The view of a segment: rates of a second, and what a terminal has room for."""

import io
import os
import sys

import msgspec
import pytest
from ethermeter.cli import segment_view
from ethermeter.live_reports import SegmentCounts

NAMES = [["station-1", "hub-2"]]


def counted(over_s: float, frames: int, *, plca: bool = False, used: int = 0) -> SegmentCounts:
    """Counters of two stations, of which the first has sent frames of 117 octets."""
    quantiles = {"p50": None, "p90": None, "p99": 40_000.0, "p999": None, "max": None}
    times = {**quantiles, "buckets": []}
    turns = {"is_ok": True, "used": used, "yielded": 10, "missed": 0} if plca else None
    of = {"arrived": frames, "dropped": 1, "discarded": 2, "starved": 0, "plca": turns}
    of |= {"queue_most": 1, "queue_octets_most": 117, "access_most_ps": 0, "samples": 0}
    stations = [
        {**of, "interface": "a", "frames": sent, "octets": 117 * sent, "collisions": 2 * sent}
        for sent in (frames, 0)
    ]
    whole = {
        "stations": stations,
        "bit_ps": 100_000,
        "over_ns": round(over_s * 1e9),
        "worked_ns": 0,
        "offset_ns": 0,
        "lag_ns": 0,
        "dropped": {},
        "violations": 3,
        "too_late_ns": times,
        "late_ns": times,
        "noticed_after_ns": times,
        "behind_ns": times,
        "cycles": 100 * frames if plca else None,
    }
    return msgspec.convert(whole, type=SegmentCounts)


def test_rates_are_those_of_the_time_between_two_looks():
    lines = segment_view.lines([counted(3.0, 1500)], [counted(1.0, 500)], NAMES)
    # A thousand frames of 125 octets with their preambles, at 100 ns a bit, in two seconds.
    assert lines[1].split() == ["station-1", "5.0%", "500", "1000", "2.00", "0", "0"]
    assert lines[2].split() == ["hub-2", "0.0%", "0", "0", "0.00", "0", "0"]
    assert lines[3] == "all: 5.0% of the medium over 2.0 s"
    assert lines[4] == "decided on too late: 3 frames; late to hosts: 40 us (99%)"


def test_without_a_look_before_and_after_a_trial_has_begun_all_is_counted():
    for before in (None, [counted(9.0, 9000)]):
        lines = segment_view.lines([counted(1.0, 500)], before, NAMES)
        assert lines[1].split() == ["station-1", "5.0%", "500", "1000", "2.00", "2", "1"]


@pytest.mark.usefixtures("wide")
def test_nodes_that_take_turns_show_their_opportunities_and_beacons():
    now, before = counted(2.0, 20, plca=True, used=30), counted(1.0, 10, plca=True, used=10)
    lines = segment_view.lines([now], [before], NAMES)
    assert lines[0].split()[-4:] == ["PLCA", "used/s", "yielded/s", "missed/s"]
    assert lines[1].split()[-4:] == ["OK", "20", "0", "0"]
    assert lines[3].endswith(", 1000 beacons/s")


def test_several_segments_have_headings():
    lines = segment_view.lines([counted(1.0, 1)] * 2, None, NAMES * 2)
    assert [line for line in lines if line.startswith("segment")] == ["segment 1:", "segment 2:"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_it_has_room_for_in_place(monkeypatch):
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(segment_view.shutil, "get_terminal_size", lambda: os.terminal_size((10, 5)))
    screen = segment_view.Screen()
    screen.show(["head", "a line that is too long", "last"])
    screen.show([f"line {number}" for number in range(8)] + ["last"])
    screen.show(["head"])
    shown = terminal.getvalue()
    assert shown == (
        "head\na line tha\nlast\n\x1b[3F\x1b[Jline 0\n… 6 more l\nline 7\nlast\n\x1b[4F\x1b[Jhead\n"
    )


def test_a_terminal_shows_every_digit_of_a_table_as_wide_as_it(monkeypatch):
    now, before = counted(3.0, 1500), counted(1.0, 500)
    wide = max(map(len, segment_view.lines([now], [before], NAMES)[:2]))
    size = os.terminal_size((wide, 24))
    monkeypatch.setattr(segment_view.shutil, "get_terminal_size", lambda *_: size)
    lines = segment_view.lines([now], [before], NAMES)
    monkeypatch.setattr(sys, "stdout", terminal := _Terminal())
    segment_view.Screen().show(lines)
    assert terminal.getvalue().splitlines()[:2] == lines[:2]


@pytest.mark.parametrize("count", [1, 3])
def test_without_a_terminal_lines_follow_each_other(capsys, count):
    screen = segment_view.Screen()
    for _ in range(count):
        screen.show(["head", "last"])
    assert capsys.readouterr().out == "head\nlast\n" * count
