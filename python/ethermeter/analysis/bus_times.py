"""Bus times: the longest cycles and access delays of 10BASE-T1S, simulated beside their bounds.

As of networks (`ethermeter.analysis.bounds`), the largest value over all replications is compared
with the bound, to the picosecond; each node with its own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ethermeter.analysis.groups import by_group
from ethermeter.analysis.verdicts import PS_PER_S, Verdict, together, verdict_of
from ethermeter.entities import is_bus, senders, stations_in
from ethermeter.metrics import Metric
from ethermeter.results.interval import Floats
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, alike, point_of
from ethermeter.results.values import of_all, values_of_each
from ethermeter.scenario import Scenario
from ethermeter.theory.bus import Bus, bus_of, early
from ethermeter.trial import SIMULATION

CYCLES = Metric.CYCLE_TIME_MAX
OF_NODES = (Metric.ATTEMPT_DELAY_MAX, Metric.ACCESS_DELAY_MAX)


@dataclass(frozen=True, slots=True)
class BusTime:
    """The longest time of one kind at a point: of cycles, or of the access delays of a group."""

    series: str
    point: Mapping[str, str]
    metric: Metric  # `CYCLES`, or one of `OF_NODES`
    group: str  # Of stations; empty of cycles
    bound_s: float  # Longest of the group; NaN without one
    obstacles: tuple[str, ...]  # Why there is none
    simulated_s: float  # Longest of the group, over all replications; NaN without any
    verdict: Verdict


def has_bus(scenario: Scenario) -> bool:
    """Whether stations send onto a bus of 10BASE-T1S."""
    return bool(senders(scenario)) and any(map(is_bus, scenario.media))


def read(run: Results) -> tuple[BusTime, ...]:
    """Return the longest times at every point of a run at which stations send onto a bus."""
    points = alike([trial for trial in run.trials() if has_bus(trial.scenario)], point_of)
    if not points:
        return ()
    simulated = [trial for members in points for trial in members if trial.engine == SIMULATION]
    seen = _simulated(run, simulated) if simulated else {}
    found: list[BusTime] = []
    for members in points:
        found += _of_point(members[0], [seen[each.id] for each in members if each.id in seen])
    return tuple(found)


_Longest = Mapping[Metric, Floats]
"""Longest times in s by metric: of cycles one, of nodes that of each station."""


def _simulated(run: Results, trials: list[Trial]) -> dict[str, _Longest]:
    """Return the longest times of each trial, by its id; NaN what did not occur."""
    of_stations = values_of_each(run, trials, OF_NODES)
    cycles = of_all(run, trials, (CYCLES,)).values
    return {
        trial.id: {**nodes, CYCLES: of_trial}
        for trial, nodes, of_trial in zip(trials, of_stations, cycles, strict=True)
    }


def _of_point(trial: "Trial", seen: list[_Longest]) -> list[BusTime]:
    """Return the times at the point of a trial, from those of its simulations."""
    bus = bus_of(trial.scenario)
    assert bus is not None, "a medium with PLCA"
    stations = stations_in(trial.scenario)
    reason = early(trial.scenario, bus)
    if reason:
        bus = replace(bus, obstacles=(reason,))
    parts = [(CYCLES, "", np.array([0]))]
    for metric in OF_NODES:
        groups = by_group(trial.scenario).items()
        parts += [(metric, name, members) for name, members in groups]
    found = []
    for metric, group, members in parts:
        bounds_s = _bounds_s(bus, metric, stations)[members]
        longest_s = np.full(len(members), math.nan)
        for each in seen:
            longest_s = np.fmax(longest_s, each[metric][members])
        known = longest_s[np.isfinite(longest_s)]
        verdicts = {
            verdict_of(*pair) for pair in zip(longest_s.tolist(), bounds_s.tolist(), strict=True)
        }
        found.append(
            BusTime(
                series=trial.series,
                point=dict(trial.point),
                metric=metric,
                group=group,
                bound_s=float(bounds_s.max()),
                obstacles=bus.obstacles,
                simulated_s=float(known.max()) if known.size else math.nan,
                verdict=together(verdicts),
            )
        )
    return found


def _bounds_s(bus: Bus, metric: Metric, stations: int) -> Floats:
    """Return the bounds of a metric: of cycles one, of nodes that of each station; NaN without."""
    if not bus.is_bounded:
        return np.full(1 if metric is CYCLES else stations, math.nan)
    if metric is CYCLES:
        return np.array([bus.longest_ps]) / PS_PER_S
    of = bus.attempt_delay_ps if metric is Metric.ATTEMPT_DELAY_MAX else bus.access_delay_ps
    return np.array([of(node) for node in bus.nodes]) / PS_PER_S
