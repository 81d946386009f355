"""`python -m benches.live`: measure our station beside its peers; needs root."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ethermeter.testbed import TestbedError, WireKind, make_testbed

from benches import machine
from benches.children import ChildError
from benches.live.frames import iperf3, ours_raw, ours_udp, testpmd, trafgen
from benches.live.pacing import PACED, pacing_rows, watch
from benches.live.process import build_station
from benches.live.round_trips import latency_slope, ours_round_trip, sockperf
from benches.live.rows import Rows
from benches.live.tables import print_results

ROUNDS = 5
"""Rounds, in each of which our station and a peer run once, so that other load falls on both.

Each round has a ratio; the median of these is judged.
"""
TABLES = ("frames", "round_trips", "pacing", "wires")


def measure(
    program: str,
    *,
    tables: Sequence[str] = TABLES,
    peers: Sequence[str] = PACED,
    rounds: int = ROUNDS,
    follow: Callable[[str], None],
) -> dict[str, Any]:
    """Measure the wanted tables, ours and theirs in turns.

    Parameters
    ----------
    program
        Path of our station.
    tables
        Of `TABLES`.
    peers
        Peers of the pacing table, of `PACED`.
    rounds
        Rounds, at least 1.
    follow
        Called with the name of the next measurement.

    Returns
    -------
    :
        `machine`, and for each table its rows: `ours` and `theirs` (medians), `ratio` (ours over
        the peer's of each round: `median`, `low`, `high`, by key), `met` (of each key with a target
        and a ratio, whether the median is at least `TARGET`); `status` has the reason if a row
        was not measured.

    """
    here = machine.describe()
    rows = Rows(rounds, follow)
    results: dict[str, Any] = {}
    with make_testbed(2) as bed:
        if "frames" in tables:
            results["frames"] = [
                rows.measure(
                    "UDP",
                    "iperf3",
                    lambda: ours_udp(bed, program),
                    lambda: iperf3(bed),
                    target=("sender", "both"),
                ),
                rows.measure(
                    "AF_PACKET",
                    "trafgen",
                    lambda: ours_raw("packet", bed, program),
                    lambda: trafgen(bed),
                    target=("sender",),
                ),
                rows.measure(
                    "AF_XDP",
                    "dpdk-testpmd",
                    lambda: ours_raw("xdp", bed, program),
                    lambda: testpmd(bed),
                    target=("sender",),
                ),
            ]
        if "round_trips" in tables:
            results["round_trips"] = [
                rows.measure(
                    name,
                    "sockperf",
                    lambda port=port: ours_round_trip(port, bed, program),  # type: ignore[misc]
                    lambda: sockperf(bed),
                )
                for name, port in (("UDP", "udp"), ("AF_PACKET", "packet"), ("AF_XDP", "xdp"))
            ]
        if "pacing" in tables:
            results["pacing"] = pacing_rows(bed, program, rows, peers)
    if "wires" in tables:
        kinds: dict[WireKind, str] = {"relay": "relayed wires", "shaped": "shaped wires"}
        results["wires"] = [
            rows.measure(what, "", lambda kind=kind: latency_slope(program, kind), None)  # type: ignore[misc]
            for kind, what in kinds.items()
        ]
    return {"machine": {**here, "load_at_end": machine.load()}, **results}


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


@contextmanager
def _reported() -> Iterator[None]:
    """Report a failure in one line."""
    try:
        yield
    except (ChildError, TestbedError) as error:
        print(f"benches.live: {error}", file=sys.stderr)
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; return 1 if a measurement of an installed peer failed, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.live", description="Live stations beside their peers; needs root."
    )
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="print JSON, and nothing else, on stdout",
    )
    parser.add_argument(
        "--only",
        choices=TABLES,
        action="append",
        metavar="TABLE",
        help=f"measure this table only: {', '.join(TABLES)}; may be repeated",
    )
    parser.add_argument(
        "--peer",
        choices=PACED,
        action="append",
        metavar="PEER",
        help=f"compare pacing with this peer only: {', '.join(PACED)}; may be repeated",
    )
    parser.add_argument(
        "--rounds",
        type=_count,
        default=ROUNDS,
        metavar="N",
        help=f"how often each is measured ({ROUNDS})",
    )
    parser.add_argument("--watch", nargs=2, metavar=("SECONDS", "SENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    with _reported():
        if options.watch:
            print(json.dumps(watch(float(options.watch[0]), options.watch[1])))
            return 0
        results = measure(
            build_station(),
            tables=options.only or TABLES,
            peers=options.peer or PACED,
            rounds=options.rounds,
            follow=lambda step: print(f"benches: {step}", file=sys.stderr, flush=True),
        )
    if options.as_json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_results(results)
    failed = [
        row
        for table in TABLES
        for row in results.get(table, [])
        if row["status"].startswith("failed")
    ]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
