"""`python -m benches`: run the benchmarks and print what was measured beside what was aimed at."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

FAILED, INTERRUPTED = 1, 130
EXAMPLES = """\
examples:
  python -m benches                     all of it: some minutes
  python -m benches --quick             does it work? seconds, and no numbers worth keeping
  python -m benches --no-peers          ethermeter alone
  python -m benches --json > bench.json

evidence/speed.md says what is compared, and what cannot be."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks.

    Parameters
    ----------
    arguments
        Words of the command line; those of the process unless given.

    Returns
    -------
    :
        0 if everything could be measured, fast or slow; 1 if something failed; 130 after Ctrl-C.
        A peer that is not installed is no failure.

    """
    options = _parser().parse_args(arguments)
    try:
        results = measure(quick=options.quick, peers=options.peers)
    except ImportError as error:
        print(f"benches: {error}; build ethermeter first: make build", file=sys.stderr)
        return FAILED
    except (OSError, RuntimeError) as error:
        print(f"benches: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("benches: interrupted", file=sys.stderr)
        return INTERRUPTED
    if options.as_json:
        print(json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from benches.tables import print_results

        print_results(results)
    rows = (*results["study"], *results["switched"], *(results["peers"] or ()))
    failures = [row["status"] for row in rows if row["status"].startswith("failed")]
    return FAILED if failures else 0


def measure(*, quick: bool, peers: bool) -> dict[str, Any]:
    """Measure everything.

    Parameters
    ----------
    quick
        Take seconds instead of minutes.
    peers
        Run other simulators too.

    Returns
    -------
    :
        `machine`, `quick`, `speed`, `reference`, `buses`, `switched`, `study`, and `peers`, which
        is None if they were not asked for.

    """
    from benches import machine
    from benches.bus import measure_buses
    from benches.peers import measure_peers
    from benches.speed import FULL, QUICK, measure_reference, measure_speed
    from benches.study import FULL_CASES, QUICK_CASES, measure_study
    from benches.switched import measure_switched

    effort = QUICK if quick else FULL
    here = machine.describe()
    speed = measure_speed(effort, follow=_follow)
    reference = measure_reference(effort, follow=_follow)
    buses = measure_buses(effort, follow=_follow)
    switched = measure_switched(effort, peers=peers, follow=_follow)
    others = measure_peers(effort, follow=_follow) if peers else None
    study = measure_study(QUICK_CASES if quick else FULL_CASES, follow=_follow)
    return {
        "machine": {**here, "load_at_end": machine.load()},
        "quick": quick,
        "speed": speed,
        "reference": reference,
        "buses": buses,
        "switched": switched,
        "study": study,
        "peers": others,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benches",
        description="How fast ethermeter is on this machine, beside its targets and its peers.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="print JSON, and nothing else, on stdout",
    )
    parser.add_argument("--quick", action="store_true", help="short runs, judged by no target")
    parser.add_argument(
        "--peers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run ns-2 and ns-3 where installed",
    )
    return parser


def _follow(step: str) -> None:
    print(f"benches: {step}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
