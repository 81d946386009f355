"""`python -m benches.segments`: does the relay keep up with an emulated segment? Needs root.

Each row is a segment of saturated hosts, measured by `ethermeter measure FILE --on testbed`.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from ethermeter.live_reports import SegmentCounts
from ethermeter.quantities import number

from benches import machine
from benches.children import ChildError, run_child
from benches.tables import print_table

LIMIT_S = 120.0
TARGET_PER_S = 14_000
"""Frames on the medium, of which a quarter collide with CSMA/CD and none with PLCA."""
TARGET_LATE_US = 100.0
"""Most lateness of 99 in 100 frames to their hosts, beyond the declared offset."""
COAX = 'standard = "ieee-10"\nlength = "500 m"'
BUS = 'standard = "10base-t1s"\nlength = "25 m"\n[segment.plca]\nburst-cnt = 0'
FAST = 'standard = "ieee-100"\nround_trip = "2 us"'
EXPERIMENTAL = 'standard = "experimental-3"\nlength = "500 m"'
SATURATED = '"saturated"'
FILE = """\
title = "Saturated hosts on an emulated segment"
[segment]
{segment}
[[stations]]
name = "host"
count = {hosts}
frames = "{octets} B"
arrivals = {arrivals}
[phases]
settle = "1 ms"
transmit = "{transmit_ms} ms"
measure = "last {measure_ms} ms"
[run]
engines = ["live"]
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A segment to measure."""

    name: str
    segment: str
    hosts: int
    octets: int
    arrivals: str = SATURATED
    judged: str | None = None
    """What is to be at least `TARGET_PER_S`; None if nothing is."""


ROWS = (
    Row("CSMA/CD 10 Mb/s", COAX, 24, 64, judged="attempts_per_s"),
    Row("PLCA 10 Mb/s", BUS, 24, 64, judged="frames_per_s"),
    Row("CSMA/CD 10 Mb/s", COAX, 10, 1518),
)
MORE_ROWS = (
    Row("CSMA/CD 2.94 Mb/s", EXPERIMENTAL, 24, 64),
    *(
        Row("CSMA/CD 100 Mb/s", FAST, hosts, octets)
        for hosts in (2, 8)
        for octets in (1518, 512, 64)
    ),
    Row("PLCA 10 Mb/s, load 0.3", BUS, 24, 64, arrivals="{ poisson_load = 0.3 }"),
    Row("PLCA 10 Mb/s, load 0.3", BUS, 40, 64, arrivals="{ poisson_load = 0.3 }"),
)
"""Where it falls behind, for `--all`."""


def measure(row: Row, *, transmit_ms: int) -> dict[str, Any]:
    """Measure a segment.

    Returns the row with, in the measured window, `frames_per_s` delivered and `attempts_per_s` on
    the medium; of the whole test the relay's `processor_share` of one processor, lateness to the
    hosts in us beyond the declared offset (`late_us`: p50, p99, p999), violations, and by how much
    decisions came after their latest time (`behind_us`: p99, max).
    """
    from ethermeter import _core

    with tempfile.TemporaryDirectory() as folder:
        file, run = Path(folder) / "segment.toml", Path(folder) / "run"
        # The first tenth is not measured.
        text = FILE.format(
            **asdict(row), transmit_ms=transmit_ms, measure_ms=transmit_ms - transmit_ms // 10
        )
        file.write_text(text, encoding="utf-8")
        words = ["measure", str(file), "--on", "testbed", "--out", str(run)]
        run_child([sys.executable, "-m", "ethermeter", *words], limit_s=LIMIT_S)
        (result,) = (run / "live").glob("*/*.json")
        segment = json.loads(result.read_text(encoding="utf-8"))["segment"]
    found = msgspec.convert(segment, type=SegmentCounts)
    assert found.counts is not None, "the trial has ended"
    counts = _core.read_counts(found.counts)
    window_s = counts.window_ps / 1e12
    frames, collisions = counts.stations.frames.sum(), counts.stations.collisions.sum()
    of_late = found.late_ns
    return {
        **asdict(row),
        "frames_per_s": float(frames / window_s),
        "attempts_per_s": float((frames + collisions) / window_s),
        "processor_share": found.worked_ns / found.over_ns,
        "late_us": {
            name: None if ns is None else ns / 1000
            for name, ns in (("p50", of_late.p50), ("p99", of_late.p99), ("p999", of_late.p999))
        },
        "behind_us": {
            name: None if ns is None else ns / 1000
            for name, ns in (("p99", found.behind_ns.p99), ("max", found.behind_ns.max))
        },
        "violations": found.violations,
        "starved": sum(station.starved for station in found.stations),
        "dropped": {cause: count for cause, count in found.dropped.items() if count},
    }


def _verdict(row: dict[str, Any]) -> str:
    if row["judged"] is None:
        return ""
    is_late = (row["late_us"]["p99"] or 0.0) > TARGET_LATE_US
    return "MISS" if is_late or row[row["judged"]] < TARGET_PER_S else "PASS"


def print_results(results: dict[str, Any]) -> None:
    """Print the results as text."""
    print(machine.line(results["machine"]))
    print(
        "Emulated segments, saturated hosts; per second of the medium. PASS: at least"
        f" {TARGET_PER_S} attempts/s (PLCA: frames/s), and 99 in 100 frames at most"
        f" {TARGET_LATE_US:g} us late"
    )
    heads = ["segment", "hosts", "frame", "frames/s", "attempts/s", "relay", "late p50 us"]
    heads += ["p99", "p99.9", "behind p99 us", "violations", ""]
    print_table(
        heads,
        [
            [
                row["name"],
                str(row["hosts"]),
                f"{row['octets']} B",
                f"{row['frames_per_s']:.0f}",
                f"{row['attempts_per_s']:.0f}",
                f"{row['processor_share']:.0%}",
                *(number(row["late_us"][name], digits=3) for name in ("p50", "p99", "p999")),
                number(row["behind_us"]["p99"], digits=3),
                str(row["violations"]),
                _verdict(row),
            ]
            for row in results["segments"]
        ],
    )


def run(rows: Sequence[Row], *, transmit_ms: int, follow: Callable[[str], None]) -> dict[str, Any]:
    """Measure rows one after the other; `follow` is called with the name of the next."""
    here = machine.describe()
    segments = []
    for index, row in enumerate(rows, 1):
        follow(f"{row.name}, {row.hosts} hosts, {row.octets} B ({index} of {len(rows)})")
        segments.append(measure(row, transmit_ms=transmit_ms))
    return {"machine": {**here, "load_at_end": machine.load()}, "segments": segments}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 1 if a segment could not be measured, 2 without root, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.segments",
        description="Does the relay keep up with an emulated segment? Needs root.",
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON only")
    parser.add_argument(
        "--all", dest="is_all", action="store_true", help="also 2.94 and 100 Mb/s, and part loads"
    )
    parser.add_argument(
        "--transmit-ms", type=int, default=4000, metavar="MS", help="how long hosts send (4000)"
    )
    parser.add_argument(
        "--hosts", type=int, default=None, metavar="N", help="hosts of each segment (each its own)"
    )
    options = parser.parse_args(arguments)
    if options.hosts is not None and options.hosts < 1:
        parser.error(f"--hosts: must be at least 1, got {options.hosts}")
    if options.transmit_ms < 100:
        parser.error(f"--transmit-ms: must be at least 100, got {options.transmit_ms}")
    if os.geteuid() != 0:
        parser.error("needs root: network namespaces are made")
    rows = (*ROWS, *MORE_ROWS) if options.is_all else ROWS
    try:
        results = run(
            [replace(row, hosts=options.hosts or row.hosts) for row in rows],
            transmit_ms=options.transmit_ms,
            follow=lambda step: print(f"benches: {step}", file=sys.stderr, flush=True),
        )
    except ChildError as error:
        print(f"benches.segments: {error}", file=sys.stderr)
        return 1
    if options.as_json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_results(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
