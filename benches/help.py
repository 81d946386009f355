"""`python -m benches.help`: the time of `ethermeter --help`, beside an interpreter without work.

Both are started in turns, so that what else the machine does meets both. Processor time tells on a
busy machine, wall time on an idle one.
"""

import statistics
import sys

from benches.children import run_child

STARTS = 15
LIMIT_S = 60.0
AIM_S = 0.2
"""Wall time of the help that is aimed at, on an idle machine."""
COMMANDS = {
    "ethermeter --help": ("-m", "ethermeter", "--help"),
    "python -c pass": ("-c", "pass"),
}


def main(*, starts: int = STARTS) -> int:
    """Measure and print the medians of both, of so many starts; return 0."""
    wall_s: dict[str, list[float]] = {name: [] for name in COMMANDS}
    processor_s: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(starts):
        for name, words in COMMANDS.items():
            child = run_child([sys.executable, *words], limit_s=LIMIT_S)
            wall_s[name].append(child.wall_s)
            processor_s[name].append(child.cpu_s)
    for name in COMMANDS:
        wall, processor = (statistics.median(of[name]) for of in (wall_s, processor_s))
        print(f"{name:18}  {1e3 * wall:4.0f} ms, of a processor {1e3 * processor:4.0f} ms")
    print(f"medians of {starts}; aimed at: the help in {1e3 * AIM_S:.0f} ms on an idle machine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
