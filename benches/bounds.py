"""`python -m benches.bounds`: time and memory of theory for a network of 100 switches.

Each number of flows and each method has a process of its own, and its peak of memory is printed.
The network has 300 hosts at any number of flows; the more flows, the longer their periods, so that
the load of each wire stays.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING

import numpy as np

from benches.children import ChildError, run_child
from benches.tables import print_table

if TYPE_CHECKING:
    from ethermeter.scenario import Scenario

SWITCHES, HOSTS, FLOWS = 100, 300, 1000
MOST_MB = 1000.0
BUDGET_S = 10.0
"""Time that tighter bounds may take."""
LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Used:
    """What a method took in a process of its own: time of processors and memory at most."""

    cpu_s: float
    peak_mb: float
    found: str


def network(flows: int, seed: int = 1) -> str:
    """Return a file of a random tree of switches at 1 Gb/s, hosts at 100 Mb/s, regular flows."""
    random = np.random.default_rng(seed)
    switches = [f"s{number}" for number in range(SWITCHES)]
    hosts = [f"h{number}" for number in range(HOSTS)]
    pairs = [(switches[random.integers(at)], switches[at], "1 Gb/s") for at in range(1, SWITCHES)]
    pairs += [(name, switches[random.integers(SWITCHES)], "100 Mb/s") for name in hosts]
    lines = ['title = "A random tree"', "seed = 1", "[run]", 'engines = ["theory"]']
    lines += ["[phases]", 'transmit = "10 ms"', "[network]", 'rate = "1 Gb/s"']
    for name in switches:
        lines += ["[[network.switches]]", f'name = "{name}"', 'learning = "known"']
    for name in hosts:
        lines += ["[[network.hosts]]", f'name = "{name}"']
    for one, other, rate in pairs:
        lines += ["[[network.links]]", f'ends = ["{one}", "{other}"]', f'rate = "{rate}"']
    for number in range(flows):
        sender, receiver = random.choice(HOSTS, 2, replace=False)
        octets, period_ms = random.choice([64, 256, 512, 1518]), random.choice([4, 8, 20])
        lines += ["[[flows]]", f'name = "f{number}"', f'frames = "{octets} B"']
        lines += [f'from = "{hosts[sender]}"', f'to = "{hosts[receiver]}"']
        lines += [f'arrivals = {{ regular = "{period_ms * flows} us" }}']
    return "\n".join(lines) + "\n"


def by_means(file: Path, _: float) -> Callable[[], str]:
    """Return what finds the means of a file's flows and says what it found."""
    from ethermeter.theory.queueing import means_of

    scenario = _scenario(file)
    return lambda: _said([flow.delay_s for flow in means_of(scenario).flows])


def by_bounds(file: Path, budget_s: float) -> Callable[[], str]:
    """Return what finds the bounds of a file's flows and says what it found."""
    from ethermeter.theory.bounds import bounds_of

    scenario = _scenario(file)

    def find() -> str:
        flows = bounds_of(scenario, budget_s=budget_s).flows
        tighter = sum(flow.method == "PLP" for flow in flows)
        return f"{_said([flow.delay.largest_s for flow in flows])}, {tighter} by PLP"

    return find


def by_command(file: Path, _: float) -> Callable[[], str]:
    """Return what runs a file as a person does, with all that is printed and the report."""
    run = file.with_suffix(".run")
    words = ["run", str(file), "--out", str(run), "--force"]

    def find() -> str:
        run_child([sys.executable, "-m", "ethermeter", *words], limit_s=LIMIT_S)
        return f"report of {(run / 'report.html').stat().st_size / 1e6:.1f} MB"

    return find


def _scenario(file: Path) -> "Scenario":
    from ethermeter.experiment import load

    return load(file).scenarios.at(())


def _said(delays_s: Sequence[float | None]) -> str:
    known = [one for one in delays_s if one is not None]
    return f"{len(known)} flows, mean {1e6 * np.mean(known):.1f} µs"


Method = Callable[[Path, float], Callable[[], str]]


def measured(method: Method, file: Path, budget_s: float) -> Used:
    """Return what a method takes in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_used, method, file, budget_s).result()


def _used(method: Method, file: Path, budget_s: float) -> Used:
    find = method(file, budget_s)
    begin_s, _ = _used_so_far()
    found = find()
    end_s, peak_mb = _used_so_far()
    return Used(end_s - begin_s, peak_mb, found)


def _used_so_far() -> tuple[float, float]:
    """Return the time of processors of this process and its children, and the largest peak."""
    of_both = [getrusage(of) for of in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    cpu_s = sum(each.ru_utime + each.ru_stime for each in of_both)
    return cpu_s, max(each.ru_maxrss for each in of_both) / 1000


def rows(flows: Sequence[int], *, budget_s: float) -> Iterator[tuple[int, str, Used]]:
    """Yield what each method takes for each number of flows."""
    methods: list[tuple[str, Method, float]] = [
        ("means", by_means, 0.0),
        ("total-flow analysis", by_bounds, 0.0),
        (f"PLP within {budget_s:g} s", by_bounds, budget_s),
        ("ethermeter run", by_command, 0.0),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for number in flows:
            file = Path(folder) / f"{number}.toml"
            file.write_text(network(number), encoding="utf-8")
            for title, method, within_s in methods:
                yield number, title, measured(method, file, within_s)


def main(arguments: Sequence[str] = (), *, budget_s: float = BUDGET_S) -> int:
    """Print times and memory; 1 if a process takes more than it should or fails."""
    parser = argparse.ArgumentParser(prog="python -m benches.bounds", description=__doc__)
    parser.add_argument("--flows", type=int, nargs="+", default=[FLOWS], help="numbers of flows")
    options = parser.parse_args(arguments)
    try:
        found = list(rows(options.flows, budget_s=budget_s))
    except ChildError as error:
        print(f"benches.bounds: {error}", file=sys.stderr)
        return 1
    print_table(
        ["flows", "what", "CPU s", "peak MB", "found"],
        [
            [str(number), title, f"{used.cpu_s:.1f}", f"{used.peak_mb:.0f}", used.found]
            for number, title, used in found
        ],
    )
    return 0 if all(used.peak_mb <= MOST_MB for _, _, used in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
