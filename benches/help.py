"""`python -m benches.help`: the time of `ethermeter --help`, beside an interpreter without work.

Both are started in turns, so that what else the machine does meets both. Processor time tells on a
busy machine, wall time on an idle one.
"""

import resource
import statistics
import subprocess
import sys
import time

STARTS = 15
AIM_S = 0.2
"""Wall time of the help that is aimed at, on an idle machine."""
COMMANDS = {
    "ethermeter --help": ("-m", "ethermeter", "--help"),
    "python -c pass": ("-c", "pass"),
}


def main() -> int:
    """Measure and print the medians of both; return 0."""
    wall_s: dict[str, list[float]] = {name: [] for name in COMMANDS}
    processor_s: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(STARTS):
        for name, words in COMMANDS.items():
            used_s, begin_s = _used_s(), time.perf_counter()
            subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
            wall_s[name].append(time.perf_counter() - begin_s)
            processor_s[name].append(_used_s() - used_s)
    for name in COMMANDS:
        wall, processor = (statistics.median(of[name]) for of in (wall_s, processor_s))
        print(f"{name:18}  {1e3 * wall:4.0f} ms, of a processor {1e3 * processor:4.0f} ms")
    print(f"medians of {STARTS}; aimed at: the help in {1e3 * AIM_S:.0f} ms on an idle machine")
    return 0


def _used_s() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
