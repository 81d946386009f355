"""`python -m benches.threads`: many small trials on one thread and on two, in turns.

The core simulates without the interpreter, which one thread has at a time: to read a trial, for its
counts as tables, and for the files of the run. With these times of a trial, "own" and "core", two
threads are at most (own + core) / max(own, (own + core) / 2) times as fast as one. They are times
of processors, so that what else runs on the machine changes them less than the ratio.

No ratio can exceed that of two processes which only simulate and have nothing in common; it is
measured beside, since processors often share caches, memory and clock with others.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benches import machine
from benches.tables import print_table

if TYPE_CHECKING:
    from ethermeter.experiment import Experiment

RUNS = 5
FILE = """\
title = "Many small trials"
seed = 1

[segment]
standard = "ieee-10"
length = "250 m"

[[stations]]
count = 4
frames = "64 B"
arrivals = "saturated"

[vary]
"stations.frames" = {{ from = "64 B", to = "{longest} B", step = "2 B" }}

[phases]
settle = "1 ms"
transmit = "{ms} ms"
measure = "last {measured} ms"

[run]
replications = 100
"""
REPLICATIONS, SAMPLE = 100, 20
APART_S = 0.5
APART = """
import sys, time
from ethermeter._core import simulate_trial
line, count = sys.argv[1], int(sys.argv[2])
simulate_trial(line)
begin_s = time.perf_counter()
for _ in range(count):
    simulate_trial(line)
print(time.perf_counter() - begin_s)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Trials of about `core_ms` each: so much simulated time, at so many points."""

    core_ms: float
    simulated_ms: int
    points: int


CASES = (Case(0.2, 300, 30), Case(1.0, 2000, 10), Case(10.0, 20_000, 1))


@dataclass(frozen=True, slots=True)
class Run:
    """A run: its time until the last result is on disk, and that of processors in all."""

    wall_s: float
    cpu_s: float


def experiment(case: Case) -> "Experiment":
    """Return the experiment of a case."""
    from ethermeter.experiment import of_text

    longest = 64 + 2 * (case.points - 1)
    measured = case.simulated_ms - 1
    return of_text(FILE.format(longest=longest, ms=case.simulated_ms, measured=measured))


def timed(case: Case, threads: int) -> Run:
    """Return what a run of a case takes on so many threads."""
    from ethermeter import execution
    from ethermeter.plan import expand

    of = experiment(case)
    plan = expand([of])
    with tempfile.TemporaryDirectory(prefix="ethermeter-bench-") as folder:
        options = execution.Execution(jobs=threads)
        begin_s = time.process_time()
        run = execution.execute(plan, [of], directory=Path(folder) / "run", options=options)
        cpu_s = time.process_time() - begin_s
        wall_s = run.provenance()["wall_s"]
    assert isinstance(wall_s, float), "the run is finished"
    return Run(wall_s, cpu_s)


def lines_of(case: Case) -> list[str]:
    """Return some trials of a case as the core reads them."""
    from ethermeter.plan import expand
    from ethermeter.trial import core_trial_of

    return [core_trial_of(trial.line) for trial in expand([experiment(case)]).trials[::SAMPLE]]


def apart_s(case: Case, processes: int, *, core_s: float) -> float:
    """Return what the last of processes takes that begin together, each with as many trials."""
    line = lines_of(case)[0]
    command = [sys.executable, "-c", APART, line, str(max(1, round(APART_S / core_s)))]
    begun = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(float(process.communicate()[0]) for process in begun)


def core_s(case: Case) -> float:
    """Return the time of a processor that the core takes for a trial, with its counts as arrays."""
    from ethermeter._core import simulate_trial

    lines = lines_of(case)
    begin_s = time.process_time()
    for line in lines:
        simulate_trial(line)
    return (time.process_time() - begin_s) / len(lines)


def main(arguments: Sequence[str] = (), *, cases: Sequence[Case] = CASES) -> int:
    """Print the times of both, the best of several runs, and ratios; return 0."""
    parser = argparse.ArgumentParser(prog="python -m benches.threads", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each is timed")
    options = parser.parse_args(arguments)
    load = machine.load()
    rows = []
    for case in cases:
        runs: dict[int, list[Run]] = {1: [], 2: []}
        cores_s: list[float] = []
        apart: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(options.runs):
            cores_s.append(core_s(case))
            for processes, times in apart.items():
                times.append(apart_s(case, processes, core_s=cores_s[0]))
            for threads, found in runs.items():
                found.append(timed(case, threads))
        trials = case.points * REPLICATIONS
        one_s, two_s = (min(run.wall_s for run in found) for found in runs.values())
        all_s, both_s = (min(run.cpu_s for run in found) / trials for found in runs.values())
        own_s = all_s - min(cores_s)
        alone_s, together_s = (min(times) for times in apart.values())
        rows.append(
            [
                f"{1e3 * min(cores_s):.2f}",
                f"{1e3 * own_s:.2f}",
                str(trials),
                f"{one_s:.2f}",
                f"{two_s:.2f}",
                f"{one_s / two_s:.2f}",
                f"{all_s / max(own_s, all_s / 2):.2f}",
                f"{2 * alone_s / together_s:.2f}",
                f"{both_s / all_s:.2f}",
            ]
        )
    measured = ["core ms", "own ms", "trials", "one s", "two s"]
    print_table([*measured, "ratio", "at most", "apart", "CPU two/one"], rows)
    print(f"load {load} before, {machine.load()} after; best of {options.runs}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
