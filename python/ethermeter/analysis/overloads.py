"""Overloads of a run: resources that are offered more than they carry, by point."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ethermeter.results.trials import point_of
from ethermeter.theory.load import Overload, loads_of
from ethermeter.trial import SIMULATION, Trial


@dataclass(frozen=True, slots=True)
class OverloadedPoint:
    """A point of a run, and the resource that is offered most over what it carries there.

    `is_open`: whether each flow has a rate of its own, so that a smaller load fits.
    """

    series: str
    point: Mapping[str, str]
    overload: Overload
    is_open: bool


def overloaded_points(trials: Iterable[Trial]) -> Iterator[OverloadedPoint]:
    """Yield the simulated points of networks at which a flow passes an overload, in their order."""
    seen = set()
    for trial in trials:
        if trial.engine != SIMULATION or (point := point_of(trial)) in seen:
            continue
        seen.add(point)
        loads = loads_of(trial.scenario)
        if (worst := loads.worst) is not None:
            yield OverloadedPoint(trial.series, dict(trial.point), worst, loads.is_open)
