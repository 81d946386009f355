"""Tighter delays of paths in a network of packets, by the linear program of PLP.

The program applies to runs of FIFO servers with one class each, which send no faster than they
serve, and behind which a frame arrives a fixed time after its service. A frame in transmission at a
date of another one's path counts as not served, so that the program has a frame of latency at each
server but the last: it is tighter than total-flow analysis where bursts meet several times. The
smaller one of both is the bound.
"""

import numpy as np
import numpy.typing as npt

from ethermeter.theory.bounds.plp import Forest, TreeFlow, TreeServer, tree_delay
from ethermeter.theory.bounds.tfa import Analysis, Server, Visits

ROWS_PER_S = 2_000
"""Rows of a linear program that are built and solved in a second, to estimate its time. Programs of
8 to 60 000 rows of `benches.bounds` took 2200 to 23 000 a second on one core, the largest ones the
longest."""
_LEAST_GAIN = 1e-3
Ends = tuple[int, int]
"""A path of visits: the last one, and the one behind which it begins, or -1."""


def tighter_paths(
    servers: tuple[Server, ...],
    visits: Visits,
    analysis: Analysis,
    paths: dict[Ends, list[int]],
    *,
    budget_s: float,
) -> dict[Ends, float]:
    """Return the delays of paths that are smaller than by total-flow analysis.

    `paths`: the visits of each. The budget is one of rows, by the time that they are estimated to
    take, so that every machine finds the same: paths with larger programs than it has left are left
    out.
    """
    rows_left = budget_s * ROWS_PER_S
    runs = _runs(_eligible(servers, visits, analysis), visits)
    trees = _tree_servers(servers, visits, analysis, runs)
    forest = Forest([_tree_flow(run, visits, analysis) for run in runs])
    number = {visit: at for at, run in enumerate(runs) for visit in run}
    known: dict[tuple[int, ...], float | None] = {}
    found = {}
    for ends, path in sorted(paths.items(), key=lambda item: len(item[1])):
        total = float(analysis.hop[path].sum())
        tight = 0.0
        for section in _sections(path, number):
            hop = float(analysis.hop[section].sum())
            stations = tuple(int(visits.server[visit]) for visit in section)
            if len(section) > 1:
                if stations not in known:
                    rows = forest.rows(stations, most=rows_left)
                    rows_left -= rows or 0
                    known[stations] = None if rows is None else tree_delay(trees, forest, stations)
                delay = known[stations]
                if delay is not None:
                    hop = min(hop, delay + float(visits.tail[section[-1]]))
            tight += hop
        if tight < total * (1 - _LEAST_GAIN):
            found[ends] = tight
    return found


def _eligible(
    servers: tuple[Server, ...], visits: Visits, analysis: Analysis
) -> npt.NDArray[np.bool_]:
    """Whether the program holds at each visit, shape (visits,)."""
    count = len(servers)
    is_plain = np.array(
        [
            len(one.classes) == 1
            and one.is_ordered
            and not one.fault
            and one.batch == 0
            and one.line_rate == 1.0
            and one.turn is None
            for one in servers
        ],
        dtype=bool,
    )
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, visits.server, visits.tail)
    np.maximum.at(high, visits.server, visits.tail)
    waits = np.zeros(count)
    np.maximum.at(waits, visits.server, visits.wait)
    worst = np.zeros(count)
    np.maximum.at(worst, visits.server, analysis.hop)
    is_bounded = np.ones(count, dtype=bool)
    np.logical_and.at(is_bounded, visits.server, np.isfinite(analysis.bursts).all(axis=1))
    has_unit = np.ones(count, dtype=bool)
    np.logical_and.at(has_unit, visits.server, (visits.shortest > 0) | (visits.longest == 0))
    is_plain &= (low == high) & (waits == 0) & np.isfinite(worst) & is_bounded & has_unit
    return is_plain[visits.server]


def _runs(eligible: npt.NDArray[np.bool_], visits: Visits) -> list[list[int]]:
    """Return the visits in runs: one behind the other, each visit in at most one.

    A run begins where its frames take time, by which its amounts are measured.
    """
    runs: list[list[int]] = []
    ends: dict[int, int] = {}  # by the last visit of a run, its number
    for visit in np.flatnonzero(eligible).tolist():
        parent = int(visits.parent[visit])
        is_same = parent >= 0 and visits.emission[parent] == visits.emission[visit]
        number = ends.pop(parent, None) if is_same else None
        if number is None:
            if visits.longest[visit] == 0:
                continue
            number = len(runs)
            runs.append([])
        runs[number].append(visit)
        ends[visit] = number
    return runs


def _sections(path: list[int], number: dict[int, int]) -> list[list[int]]:
    """Return a path in sections of one run each; visits of none alone."""
    sections: list[list[int]] = []
    for visit in path:
        run = number.get(visit)
        if sections and run is not None and number.get(sections[-1][-1]) == run:
            sections[-1].append(visit)
        else:
            sections.append([visit])
    return sections


def _tree_flow(run: list[int], visits: Visits, analysis: Analysis) -> TreeFlow:
    first = run[0]
    rates, bursts = analysis.rates[first], analysis.bursts[first]
    jitter = analysis.jitter[first]
    buckets = {
        (float(rate), float(burst - rate * jitter))
        for rate, burst in zip(rates, bursts, strict=True)
    }
    work = tuple(float(np.max(visits.work[visit] / visits.work[first])) for visit in run)
    return TreeFlow(
        tuple(sorted(buckets)),
        tuple(int(visits.server[visit]) for visit in run),
        work,
        tuple(float(analysis.jitter[visit]) for visit in run),
    )


def _tree_servers(
    servers: tuple[Server, ...], visits: Visits, analysis: Analysis, runs: list[list[int]]
) -> list[TreeServer]:
    count = len(servers)
    longest, delay = np.zeros(count), np.zeros(count)
    after = np.zeros(count)
    np.maximum.at(longest, visits.server, visits.longest)
    np.maximum.at(delay, visits.server, analysis.hop - visits.tail)
    after[visits.server] = visits.tail
    # A line limits amounts where the frames of each flow have one ratio to them.
    is_exact = np.ones(count, dtype=bool)
    for run in runs:
        for visit in run:
            ratio = visits.work[visit] / visits.work[run[0]]
            is_exact[visits.server[visit]] &= bool(np.ptp(ratio) <= 1e-12 * ratio.max())
    return [
        TreeServer(
            ((1.0, 0.0),),
            1.0 if is_exact[at] else None,
            float(longest[at]),
            float(longest[at]),
            float(delay[at]),
            float(after[at]),
        )
        for at in range(count)
    ]
