"""`python -m benches.emulation`: measure segments between real hosts and compare; needs root."""

import argparse
import itertools
import json
import sys
from collections.abc import Sequence

from ethermeter.execution import Progress
from ethermeter.faults import InputError
from ethermeter.testbed import TestbedError

from benches import machine
from benches.emulation.comparison import compare
from benches.emulation.points import ARRIVALS, OCTETS, STATIONS, Point, measure
from benches.emulation.tables import print_results, rows

EXAMPLES = """\
examples:
  python -m benches.emulation                                  24 points: five minutes
  python -m benches.emulation --quick                          does it work? seconds each
  python -m benches.emulation --hosts 2 --octets 64 --json

evidence/emulation.md has the limits, and how chance is taken into account."""
MEASURE_S, QUICK_S = 8.0, 1.0
RUNS, QUICK_RUNS = 499, 99
FAILED, INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and compare; return 1 if something is wrong besides late hosts."""
    options = _parser().parse_args(arguments)
    points = [
        Point(stations, octets, arrivals)
        for arrivals, octets, stations in itertools.product(
            options.arrivals or ARRIVALS, options.octets or OCTETS, options.hosts or STATIONS
        )
    ]
    measure_s = options.seconds or (QUICK_S if options.quick else MEASURE_S)
    runs = QUICK_RUNS if options.quick else RUNS
    try:
        here = machine.describe()
        measured = measure(points, measure_s=measure_s, seed=options.seed, follow=_follow)
        found = []
        for point, each in zip(points, measured, strict=True):
            print(f"benches: simulating {point.name}", file=sys.stderr, flush=True)
            found.append(compare(each, point, runs=runs, points=len(ARRIVALS) * 12))
    except (TestbedError, InputError, RuntimeError) as error:
        print(f"benches.emulation: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("benches.emulation: interrupted", file=sys.stderr)
        return INTERRUPTED
    here = {**here, "load_at_end": machine.load()}
    if options.as_json:
        results = {"machine": here, "measure_s": measure_s, "runs": runs, "points": rows(found)}
        print(json.dumps(results, indent=2, allow_nan=False))
    else:
        print(
            f"{here['cpu']}, {here['processors']} processors; {measure_s:g} s a point,"
            f" {runs} simulations"
        )
        print_results(found)
    return 0 if all(each.is_met or each.is_explained for each in found) else FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benches.emulation",
        description="Emulated segments beside simulated ones, point by point; needs root.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON on stdout")
    parser.add_argument("--quick", action="store_true", help="short runs, which decide little")
    parser.add_argument("--hosts", type=int, action="append", choices=STATIONS)
    parser.add_argument("--octets", type=int, action="append", choices=OCTETS)
    parser.add_argument("--arrivals", action="append", choices=tuple(ARRIVALS))
    parser.add_argument("--seconds", type=float, help="measured time of each point")
    parser.add_argument("--seed", type=int, default=17)
    return parser


def _follow(progress: Progress) -> None:
    if progress.phase == "" or progress.done == progress.trials:
        print(f"benches: {progress.done}/{progress.trials}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
