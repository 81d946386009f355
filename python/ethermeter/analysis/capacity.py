"""Capacity: whether a network carries what its flows offer, and how much more it could carry.

The answer follows from rates and paths, before any trial and whatever the length of a trial: a
resource that is offered more than it carries has a queue that grows until its room is full, and
then it loses frames. Flows that wait for responses or acknowledgements take what is left, and have
no share in it (`ethermeter.theory.load`). Where a simulation shows a queue that grows although no
load is above 1, the answer is undecided.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ethermeter.analysis import groups
from ethermeter.metrics import Caution
from ethermeter.results.estimates import Point
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, point_of
from ethermeter.theory.load import Loads, Overload, loads_of
from ethermeter.theory.load.sources import has_rate, is_open

Verdict = Literal["fits", "does not fit", "undecided"]


@dataclass(frozen=True, slots=True)
class Kind:
    """Flows of one table of the file: their load, and how much of it would fit beside the others.

    `load`, `offered_bps`: at the busiest resource, 0 if they do not pass it. `headroom`: at how
    many times their own load, that of all others unchanged, a resource is full; 0 if the others
    alone fill it, infinite if nothing limits it. `limit`: that resource.
    """

    name: str
    flows: int
    load: float
    offered_bps: float
    headroom: float
    limit: str


@dataclass(frozen=True, slots=True)
class Capacity:
    """Offered load and capacity of a network at a point.

    `verdict`: whether the network carries what is offered, in the long run. `resource`: the one
    with the highest load, `load`: that load. `offered_bps`, `rate_bps`: what it is offered and its
    line rate, preambles and gaps included; NaN of a stage. `is_shared`: whether it is a medium, of
    which contention takes more. `scale`: at how many times the load of all flows a resource or a
    source is full; NaN if `has_rates` is false: some flows always have a next message and take
    what is left. `overload`: that of any flow with the highest load; None without one. `kinds`:
    those that offer a rate, the largest load at the resource first. `uncounted`: kinds of flows
    that wait for responses or acknowledgements, and take what is left.
    """

    series: str
    point: Mapping[str, str]
    verdict: Verdict
    resource: str
    load: float
    offered_bps: float
    rate_bps: float
    is_shared: bool
    scale: float
    has_rates: bool
    overload: Overload | None
    kinds: tuple[Kind, ...]
    uncounted: tuple[str, ...]


def read(results: Results) -> tuple[Capacity, ...]:
    """Return the capacities of a run, found once for all who ask for them."""
    return results.once("capacities", lambda run: capacities(run.trials(), run.estimated))


def capacities(trials: Iterable[Trial], points: Sequence[Point] = ()) -> tuple[Capacity, ...]:
    """Return the capacity at each point of networks with an offered load, in the trials' order.

    `points`: estimates of the simulations, whose cautions tell where a queue grew.
    """
    growing = {
        point_of(point)
        for point in points
        if any(Caution.GROWING_QUEUE in each.cautions for each in point.estimates.values())
    }
    found: dict[object, Capacity] = {}
    for trial in trials:
        at = point_of(trial)
        if at not in found and (capacity := capacity_of(trial)) is not None:
            # Of wires whose flows all have rates the loads decide: a queue near its capacity grows
            # for a while. Contention, and flows that take what is left, have no load there.
            resources = loads_of(trial.scenario).resources
            is_whole = not capacity.uncounted and not any(of.is_shared for of in resources)
            if at in growing and capacity.overload is None and not is_whole:
                capacity = replace(capacity, verdict="undecided")
            found[at] = capacity
    return tuple(found.values())


def capacity_of(trial: Trial) -> Capacity | None:
    """Return the capacity of the network of a trial; None where no flow offers a rate."""
    loads = loads_of(trial.scenario)
    if not loads.resources or loads.resources[0].load == 0:
        return None
    busiest, flows = loads.resources[0], trial.scenario.flows
    with_receivers = np.flatnonzero([bool(flow.to) for flow in flows])
    members = {
        name: with_receivers[numbers].tolist()
        for name, numbers in groups.by_table(trial.scenario).items()
    }
    offering = {
        name for name, numbers in members.items() if any(is_open(flows[at]) for at in numbers)
    }
    kinds = _kinds({name: members[name] for name in members if name in offering}, loads)
    most = max(busiest.load, 0.0 if loads.worst is None else loads.worst.load)
    has_rates = all(has_rate(flow) for flow in flows if flow.to and is_open(flow))
    return Capacity(
        series=trial.series,
        point=dict(trial.point),
        verdict="fits" if loads.worst is None else "does not fit",
        resource=busiest.resource,
        load=busiest.load,
        offered_bps=busiest.load * busiest.rate_bps,
        rate_bps=busiest.rate_bps,
        is_shared=busiest.is_shared,
        scale=1 / most if has_rates else math.nan,
        has_rates=has_rates,
        overload=loads.worst,
        kinds=tuple(sorted(kinds, key=lambda kind: -kind.load)),
        uncounted=tuple(name for name in members if name not in offering),
    )


def _kinds(members: Mapping[str, Sequence[int]], loads: Loads) -> list[Kind]:
    """Return the load of each kind of flows, and its headroom; `members`: the flows by kind."""
    limits = {name: (math.inf, "") for name in members}

    def lower(name: str, headroom: float, resource: str) -> None:
        if headroom < limits[name][0]:
            limits[name] = headroom, resource

    wires = {each.resource for each in loads.resources}
    kind_of = {flow: name for name, flows in members.items() for flow in flows}
    for flow, name in kind_of.items():
        for overload in loads.overloads[flow]:
            # A shaper, coder or host offers no resource more than it lets pass.
            if overload.resource not in wires:
                lower(name, 1 / overload.load, overload.resource)
    for each in loads.resources:
        for limit in each.limits:
            shares = _by_kind(limit, kind_of)
            total = sum(shares.values())
            for kind, own in shares.items():
                if kind is not None and own > 0:
                    others = total - own if len(shares) > 1 else 0.0
                    lower(kind, max(1 - others, 0.0) / own, each.resource)
    busiest = loads.resources[0]
    there = _by_kind(busiest.limits[0], kind_of)
    return [
        Kind(name, len(flows), load, load * busiest.rate_bps, *limits[name])
        for name, flows in members.items()
        for load in (there.get(name, 0.0),)
    ]


def _by_kind(loads: Mapping[int, float], kind_of: Mapping[int, str]) -> dict[str | None, float]:
    """Return the load of each kind of flows, and of flows that are of none."""
    found: dict[str | None, float] = {}
    for flow, load in loads.items():
        name = kind_of.get(flow)
        found[name] = found.get(name, 0.0) + load
    return found
