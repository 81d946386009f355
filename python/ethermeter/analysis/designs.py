"""Designs: two runs of networks side by side, by capacity, flow, bound and port.

Flows and ports are matched by their names at points whose varied keys are the same. Flows are shown
together that are of one table of the file, have the same theory and deadline, each in both runs;
single flows are in the rows for programs.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.analysis import bounds, capacity, groups, ports
from ethermeter.analysis.bounds import FLOW, TIMES, FlowTime
from ethermeter.analysis.capacity import Capacity
from ethermeter.analysis.comparison import Row, counterparts, row_of
from ethermeter.analysis.facts import BOUNDED, MEAN
from ethermeter.analysis.flows import MOST_TABLES
from ethermeter.analysis.port_bounds import name_together, without_number
from ethermeter.entities import flows_in, receiver_flows
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate, exact
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, point_of
from ethermeter.store.columns import PORTS
from ethermeter.theory.load import loads_of
from ethermeter.trial import LIVE, SIMULATION
from ethermeter.units import PS_PER_S

PORT = "port"
"""Key that a row of a port has besides those that the experiment varies."""
RATES = "rates"
"""Engine of what follows from rates and paths, before any trial."""
METRICS = (
    *(Metric.ONE_WAY_DELAY_P99, Metric.ROUND_TRIP_P99, Metric.LOSS, Metric.DATA_RATE),
    *(Metric.TRANSFER_RATE, Metric.MESSAGE_RATE),
)
"""What flows are compared by."""
LARGEST = {time: Metric(f"{time}_max") for time in TIMES}
"""Of each time its largest value, for which a bound is."""
PORT_UNITS = {"load": "", "queue": "frames", "dropped": "frames"}
"""What ports are compared by, with its unit: what the port is offered by rates and paths, over what
it carries; its largest queue in a simulation; frames that it dropped there, mean over the
replications. Of queues and drops there is no interval.
"""


@dataclass(frozen=True, slots=True)
class FlowPair:
    """A flow, or flows that are alike, of two runs.

    `flow`: its name, or "call × 4". `rows`: what was simulated and measured, by engine and metric.
    `times`: of each run, the times that have a bound, or a mean by theory. `deadlines_s`: of each
    run; NaN without one.
    """

    series: str
    point: Mapping[str, str]
    flow: str
    rows: tuple[Row, ...]
    times: tuple[Mapping[Metric, FlowTime], Mapping[Metric, FlowTime]]
    deadlines_s: tuple[float, float]

    @property
    def nearness(self) -> float:
        """How near the flow is to a limit in either run, for an order; infinite if beyond it.

        As of `FlowTime`. Without theory: the 99th percentile as a share of the deadline, or the
        share that is lost.
        """
        known = [time.nearness for of_run in self.times for time in of_run.values()]
        for row in self.rows:
            for value, due_s in zip((row["a"], row["b"]), self.deadlines_s, strict=True):
                if value is not None and row["metric"] == Metric.LOSS:
                    known.append(value)
                elif value is not None and row["metric"] == Metric.ONE_WAY_DELAY_P99:
                    known.append(value / due_s if due_s > 0 else 0.0)
        return max(known, default=0.0)

    def of_bounds(self) -> Iterator[Row]:
        """Yield the worst-case times, and the margins to the deadline, that either run knows."""
        for time, largest in LARGEST.items():
            pair = [of_run.get(time) for of_run in self.times]
            limits = [math.nan if each is None else each.bound_s for each in pair]
            margins = [math.nan if each is None else each.margin_s for each in pair]
            for metric, values in ((largest, limits), (Metric.DEADLINE_MARGIN, margins)):
                if not all(map(math.isnan, values)):
                    at = self.series, {**self.point, FLOW: self.flow}, BOUNDED
                    yield row_of(*at, metric.value, metric.unit, *map(_exact, values))


@dataclass(frozen=True, slots=True)
class PortPair:
    """A port, or another resource that flows pass, of two runs.

    `node`, `peer`: the node that sends there, and the one that receives; of a shared medium or a
    stage of a node, its name and nothing. `values`: by the words of `PORT_UNITS`, first and second;
    NaN where one is unknown.
    """

    series: str
    point: Mapping[str, str]
    node: str
    peer: str
    values: Mapping[str, tuple[float, float]]

    @property
    def port(self) -> str:
        """The name of the port: "floor to core"."""
        return f"{self.node} to {self.peer}" if self.peer else self.node

    def rows(self) -> Iterator[Row]:
        """Yield what is known of either."""
        for name, values in self.values.items():
            if not all(map(math.isnan, values)):
                engine = RATES if name == "load" else SIMULATION
                at = self.series, {**self.point, PORT: self.port}, engine
                error = 0.0 if name == "load" else math.nan
                a, b = (
                    None if math.isnan(value) else Estimate(value, error, math.inf)
                    for value in values
                )
                yield row_of(*at, name, PORT_UNITS[name], a, b)


@dataclass(frozen=True, slots=True)
class Designs:
    """Two runs of networks.

    `capacities`: of each run, of its points. `flows`, `alike`: single flows, and with those that
    are alike together; `ports`: those that flows pass; nearest to their limits first.
    `alone_flows`, `alone_ports`: names that only the first has, and only the second.
    """

    capacities: tuple[tuple[Capacity, ...], tuple[Capacity, ...]]
    flows: tuple[FlowPair, ...]
    alike: tuple[FlowPair, ...]
    ports: tuple[PortPair, ...]
    alone_flows: tuple[tuple[str, ...], tuple[str, ...]]
    alone_ports: tuple[tuple[str, ...], tuple[str, ...]]

    def rows(self) -> Iterator[Row]:
        """Yield every single value, with the name of its flow or port."""
        for flow in self.flows:
            yield from flow.rows
            yield from flow.of_bounds()
        for port in self.ports:
            yield from port.rows()


def read(first: Results, second: Results) -> Designs | None:
    """Compare the networks of two runs by flow and port; None unless both have networks."""
    of_runs = [_points(run) for run in (first, second)]
    if not all(of_runs):
        return None
    series = [{trials[0].series for trials in of_run.values()} for of_run in of_runs]
    if len(series[0]) == len(series[1]) == 1:
        # The only series of two runs is compared whatever its names are.
        (name,) = series[0]
        of_runs[1] = {(name, *key[1:]): trials for key, trials in of_runs[1].items()}
    runs = _Run(first), _Run(second)
    single: list[FlowPair] = []
    alike: list[FlowPair] = []
    of_ports: list[PortPair] = []
    names: tuple[list[dict[str, None]], list[dict[str, None]]] = ([{}, {}], [{}, {}])
    for key in of_runs[0]:
        if key not in of_runs[1]:
            continue
        points = [_Point(run, of_run[key]) for run, of_run in zip(runs, of_runs, strict=True)]
        one, other = points
        every, grouped = _flows(one, other)
        single += every
        alike += grouped
        of_ports += _ports(one, other)
        for at, point in enumerate(points):
            names[0][at] |= dict.fromkeys(point.flows)
            names[1][at] |= dict.fromkeys(" to ".join(filter(None, ends)) for ends in point.ports)
    if not single and not of_ports and not any(names[0]):
        return None
    capacities = [capacity.read(run) for run in (first, second)]
    return Designs(
        (capacities[0], capacities[1]),
        _in_order(single),
        _in_order(alike),
        tuple(sorted(of_ports, key=lambda port: -_largest(port.values["load"]))),
        _alone(names[0]),
        _alone(names[1]),
    )


def _points(run: Results) -> dict[tuple[object, ...], list[Trial]]:
    """Return the trials of networks, by point."""
    found: dict[tuple[object, ...], list[Trial]] = {}
    for trial in run.trials():
        if trial.engine in (BOUNDED, MEAN, SIMULATION, LIVE) and flows_in(trial.scenario):
            found.setdefault((trial.series, *sorted(trial.point.items())), []).append(trial)
    return found


def _in_order(flows: Sequence[FlowPair]) -> tuple[FlowPair, ...]:
    return tuple(sorted(flows, key=lambda flow: -flow.nearness))


def _alone(names: Sequence[dict[str, None]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first, second = names
    return tuple(n for n in first if n not in second), tuple(n for n in second if n not in first)


def _exact(value: float) -> Estimate | None:
    return None if math.isnan(value) else exact(value)


class _Run:
    """A run, and what theory says of its flows, by point and name."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.times: dict[tuple[object, str], dict[Metric, FlowTime]] = {}
        for time in bounds.read(results).times:
            self.times.setdefault((point_of(time), time.flow), {})[time.metric] = time


class _Point:
    """A point of a run: its flows by name with their numbers, and its ports."""

    def __init__(self, run: _Run, trials: Sequence[Trial]) -> None:
        self.run, self.trials, self.trial = run, trials, trials[0]
        scenario = self.trial.scenario
        of_receivers = receiver_flows(scenario)
        self.flows = {flow.name: number for number, flow in enumerate(of_receivers)}
        self.deadlines_s = {
            flow.name: math.nan if flow.deadline_ps is None else flow.deadline_ps / PS_PER_S
            for flow in of_receivers
        }
        self.ports = self._ports()

    def times(self, flow: str) -> Mapping[Metric, FlowTime]:
        """Return what theory says of a flow."""
        return self.run.times.get((point_of(self.trial), flow), {})

    def likeness(self, flow: str) -> tuple[str, ...]:
        """Return what a flow has in common with those that it is shown with."""
        numbers = [self.deadlines_s[flow]]
        for time in self.times(flow).values():
            numbers += [time.bound_s, time.mean_s]
        return flow.partition(" ")[0], *(f"{number:.9g}" for number in numbers)

    def estimates(self, members: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], Point]:
        """Return the estimates of groups of flows, by engine and name of the group."""
        seen = [trial for trial in self.trials if trial.engine in (SIMULATION, LIVE)]
        if not seen:
            return {}
        parts = {
            name: np.array([self.flows[flow] for flow in flows], np.int64)
            for name, flows in members.items()
        }
        found = groups.estimate(seen, self.run.results, lambda _: parts, metrics=METRICS)
        return {(point.engine, point.point[groups.PART]): point for point in found}

    def _ports(self) -> dict[tuple[str, str], dict[str, float]]:
        """Return what is known of each port, by its nodes and the words of `PORT_UNITS`."""
        found: dict[tuple[str, str], dict[str, float]] = {}
        for of in loads_of(self.trial.scenario).resources:
            if of.load > 0:
                node, _, peer = of.resource.removeprefix("wire ").partition(" → ")
                # A sum of the same numbers in another order is no other load.
                found[node, peer] = {"load": float(f"{of.load:.12g}")}
        simulated = [trial for trial in self.trials if trial.engine == SIMULATION]
        ids = [trial.id for trial in simulated]
        if not ids or not self.run.results.gathered(PORTS, ids).rows.any():
            return found
        for at in ports.estimate(simulated, self.run.results):
            for port in at.ports:
                if port.frame_rate > 0 or port.counts.get("dropped", 0) > 0:
                    of_port = found.setdefault((port.node, port.peer), {})
                    of_port["queue"] = port.counts.get("queue_most", math.nan)
                    of_port["dropped"] = port.counts.get("dropped", math.nan)
        return found


def _flows(one: _Point, other: _Point) -> tuple[list[FlowPair], list[FlowPair]]:
    """Return the flows that both have, each and with those that are alike together.

    Of more flows than have estimates of their own, only together.
    """
    both = [flow for flow in one.flows if flow in other.flows]
    alike: dict[tuple[object, ...], list[str]] = {}
    for flow in both:
        alike.setdefault((one.likeness(flow), other.likeness(flow)), []).append(flow)
    together = {
        flows[0] if len(flows) == 1 else _together(flows, both): flows for flows in alike.values()
    }
    single = {flow: [flow] for flow in both} if len(both) <= MOST_TABLES else {}
    members = together | single
    if not members:
        return [], []
    found = one.estimates(members), other.estimates(members)
    return (
        [_flow(name, flows[0], (one, other), found) for name, flows in single.items()],
        [_flow(name, flows[0], (one, other), found) for name, flows in together.items()],
    )


def _together(flows: Sequence[str], every: Sequence[str]) -> str:
    """Name flows that are alike: by their table, and their first if its others are not alike."""
    table = flows[0].partition(" ")[0]
    is_whole = sum(flow.partition(" ")[0] == table for flow in every) == len(flows)
    return f"{table if is_whole else flows[0]} × {len(flows)}"


def _flow(
    name: str,
    example: str,
    points: tuple[_Point, _Point],
    found: tuple[Mapping[tuple[str, str], Point], Mapping[tuple[str, str], Point]],
) -> FlowPair:
    one, other = points
    at = one.trial.series, {**one.trial.point, FLOW: name}
    rows = []
    of_engines = [dict.fromkeys(engine for engine, _ in of_run) for of_run in found]
    for theirs, engine in counterparts(*of_engines).items():
        first, second = found[0].get((engine, name)), found[1].get((theirs, name))
        if first is None or second is None:
            continue
        for metric in METRICS:
            a, b = _known(first, metric), _known(second, metric)
            if a is not None or b is not None:
                rows.append(row_of(*at, engine, metric.value, metric.unit, a, b))
    return FlowPair(
        one.trial.series,
        one.trial.point,
        name,
        tuple(rows),
        (one.times(example), other.times(example)),
        (one.deadlines_s[example], other.deadlines_s[example]),
    )


def _known(point: Point, metric: Metric) -> Estimate | None:
    found = point.estimates.get(metric)
    return None if found is None or math.isnan(found.value) else found


def _ports(one: _Point, other: _Point) -> Iterator[PortPair]:
    """Yield the ports that both have."""
    for ends, of_first in one.ports.items():
        if ends in other.ports:
            of_second = other.ports[ends]
            values = {
                word: (of_first.get(word, math.nan), of_second.get(word, math.nan))
                for word in PORT_UNITS
            }
            yield PortPair(one.trial.series, one.trial.point, *ends, values)


def ports_alike(found: Sequence[PortPair]) -> list[PortPair]:
    """Return ports with those that are alike together, in the order of the first of each.

    Ports are alike if their loads are, and they lead from or to nodes of one name but for the
    number at its end. Their largest queue is that of any, their drops are a sum.
    """
    alike: dict[tuple[object, ...], list[PortPair]] = {}
    for port in found:
        loads = (f"{load:.9g}" for load in port.values["load"])
        ends = map(without_number, (port.node, port.peer))
        alike.setdefault((point_of(port), *ends, *loads), []).append(port)
    return [
        PortPair(
            ports[0].series,
            ports[0].point,
            name_together([port.node for port in ports]),
            name_together([port.peer for port in ports]),
            {
                "load": ports[0].values["load"],
                "queue": _each_run(max, [port.values["queue"] for port in ports]),
                "dropped": _each_run(math.fsum, [port.values["dropped"] for port in ports]),
            },
        )
        for ports in alike.values()
    ]


def _each_run(
    of: Callable[[Sequence[float]], float], pairs: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    first, second = (of(values) for values in zip(*pairs, strict=True))
    return first, second


def _largest(values: Iterable[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=-math.inf)
