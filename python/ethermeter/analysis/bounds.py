"""Bounds: the theory of a network or bus beside what was simulated and measured there.

The rule
--------
A bound is a worst case: no delay of a flow, and no queue at a port, may ever be above it. So the
largest value over all replications is compared with it, without intervals, to the picosecond. A
measured delay may be above by what is not known of it: the bound of the error of the clocks of both
hosts, and the greatest lateness of relayed wires on its way. Where that is unknown there is no
verdict. A value above its bound is a defect: of the bound, of the engine, or of hosts that do not
send what the experiment says.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ethermeter.analysis import bus_times, groups
from ethermeter.analysis.bus_times import BusTime
from ethermeter.analysis.facts import BOUNDED, MEAN, Facts, facts_of, reason_of
from ethermeter.analysis.port_bounds import Queue, known_or, queues_of
from ethermeter.analysis.verdicts import Decision, Verdict, verdict_of
from ethermeter.entities import flows_in, receiver_flows
from ethermeter.metrics import Caution, Metric, caution_text, percentiles
from ethermeter.results.estimates import FORMULA_DEGREES, Point
from ethermeter.results.interval import Estimate
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, alike, point_of
from ethermeter.results.values import OfEach, of_each
from ethermeter.trial import LIVE, SIMULATION
from ethermeter.units import PS_PER_S

if TYPE_CHECKING:
    from ethermeter.store.result import Result

FLOW = "flow"
"""Key that a point of a flow has besides those that the experiment varies."""
TIMES = (Metric.ONE_WAY_DELAY, Metric.ROUND_TRIP)
"""Times that theories of networks speak of."""
SEEN = {SIMULATION: "simulated", LIVE: "measured"}
"""How what an engine saw is called, by the engine."""
DELAYS = ("delay of a flow", "delays of flows")
"""Kind of values that have bounds: what one is, and several."""
ESTIMATED = (
    *(of for time in TIMES for of in (time, *percentiles(time))),
    Metric.LOSS,
    Metric.OVERDUE_SHARE,
)


@dataclass(frozen=True, slots=True)
class Observed:
    """A time of a flow at a point, by simulation or by measurement."""

    engine: str
    mean: Estimate
    percentiles: Mapping[Metric, Estimate]  # Of the time, its largest value included
    largest_s: float  # Over all replications
    missed: Estimate | None  # Share of messages after their deadline; None without a deadline
    # By how much a delay may be above its bound: errors of clocks, lateness of relayed wires. 0 of
    # a simulation, NaN where it is unknown
    allowance_s: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class FlowTime:
    """A time of a flow at a point: its bound and mean by theory, and what was observed."""

    series: str
    point: Mapping[str, str]
    flow: str  # Its name, or "call × 4" of flows that are alike
    metric: Metric  # Of `TIMES`
    bound_s: float  # NaN without one
    deadline_s: float  # NaN without one
    margin_s: float  # Deadline of the flow less the bound; NaN without one of both
    method: str  # How the bound was found, or why there is none
    mean_s: float  # NaN without one
    cautions: tuple[str, ...]  # That the mean carries
    why_no_mean: str
    observed: tuple[Observed, ...]

    @property
    def nearness(self) -> float:
        """How near the flow is to its limit, for an order: infinite if beyond it, or without one.

        The largest value, or else the mean, as a share of the deadline or else of the bound.
        """
        values = [each.largest_s for each in self.observed if math.isfinite(each.largest_s)]
        if self.margin_s < 0 or any(each.verdict == "exceeded" for each in self.observed):
            return math.inf
        if math.isfinite(self.deadline_s):
            return max([*values, known_or(self.bound_s, 0.0)]) / self.deadline_s
        if math.isnan(self.bound_s):
            return math.inf if self.method else 0.0
        return max([*values, known_or(self.mean_s, 0.0)]) / self.bound_s if self.bound_s else 0.0

    @property
    def has_no_bound(self) -> bool:
        """Whether network calculus was asked for a bound and has none."""
        return math.isnan(self.bound_s) and bool(self.method)

    @property
    def deadline_decision(self) -> Decision | None:
        """Whether every message keeps the deadline; None without a deadline.

        It fails if one was seen late, holds if the bound is not above the deadline, and is
        undecided otherwise: that none was seen late is no proof.
        """
        if not math.isfinite(self.deadline_s):
            return None
        if any(each.missed is not None and each.missed.value > 0 for each in self.observed):
            return "fails"
        return "holds" if self.margin_s >= 0 else "undecided"

    def of(self, engine: str) -> Observed | None:
        """Return what an engine observed; None if it did not run."""
        return next((each for each in self.observed if each.engine == engine), None)


@dataclass(frozen=True, slots=True)
class Saturation:
    """At how many times the load of a point, of all flows alike, a resource is full."""

    series: str
    point: Mapping[str, str]
    scale: float
    resource: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many values of a kind were compared with their bounds, and how many have none."""

    kinds: tuple[str, str]  # What one value is, and several
    compared: int
    exceeded: int  # Of these, above their bounds
    bounded: int  # Values that have a bound, compared or not
    unbounded: int
    # Why values have no bound, each reason once with the number of its values, most of them first
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """What theory says of the networks and buses of a run, beside the other engines."""

    times: tuple[FlowTime, ...]
    queues: tuple[Queue, ...]
    saturations: tuple[Saturation, ...] = ()
    buses: tuple[BusTime, ...] = ()
    # Times with those of flows that are alike together, the nearest to their limits first
    alike: tuple[FlowTime, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """A sentence for every value above its bound."""
        return [*_late(self.times), *_full(self.queues), *_long(self.buses)]

    @property
    def coverage(self) -> tuple[Coverage, ...]:
        """What was compared with a bound and what has none, by kind; kinds without either left out.

        A delay is of a flow at a point, compared by each engine that observed it.
        """
        every = (
            _covered(
                DELAYS,
                [each.verdict for time in self.times for each in time.observed],
                sum(math.isfinite(time.bound_s) for time in self.times),
                [time.method for time in self.times if time.has_no_bound],
            ),
            _covered(
                ("queue of a port", "queues of ports"),
                [queue.verdict for queue in self.queues],
                sum(math.isfinite(queue.bound.frames) for queue in self.queues),
                [queue.reason for queue in self.queues if math.isnan(queue.bound.frames)],
            ),
            _covered(
                ("time of a bus", "times of buses"),
                [time.verdict for time in self.buses],
                sum(not time.obstacles for time in self.buses),
                ["; ".join(time.obstacles) for time in self.buses if time.obstacles],
            ),
        )
        return tuple(each for each in every if each.compared or each.unbounded)

    @property
    def verdicts(self) -> tuple[int, int]:
        """How many values were compared with their bound, and how many of them are above it."""
        kinds = self.coverage
        return sum(each.compared for each in kinds), sum(each.exceeded for each in kinds)


def _covered(
    kinds: tuple[str, str], verdicts: Sequence[Verdict], bounded: int, reasons: Sequence[str]
) -> Coverage:
    """Return the coverage of values with these verdicts; `reasons`: of each without a bound."""
    exceeded = verdicts.count("exceeded")
    compared = verdicts.count("holds") + exceeded
    counts = tuple(Counter(filter(None, reasons)).most_common())
    return Coverage(kinds, compared, exceeded, bounded, len(reasons), counts)


def _late(times: Sequence[FlowTime]) -> Iterator[str]:
    for time in times:
        for each in time.observed:
            if each.verdict == "exceeded":
                done = "measured" if each.engine == LIVE else "simulated"
                known = f" and {_us(each.allowance_s)} of uncertainty" if each.allowance_s else ""
                yield (
                    f"{where(time.series, time.point)}flow {time.flow}: the largest {done} "
                    f"{time.metric.value.replace('_', ' ')}, {_us(each.largest_s)}, is above its "
                    f"bound, {_us(time.bound_s)}{known}"
                )


def _full(queues: Sequence[Queue]) -> Iterator[str]:
    for queue in queues:
        if queue.verdict == "exceeded":
            of_class = "" if queue.traffic_class is None else f", class {queue.traffic_class}"
            yield (
                f"{where(queue.series, queue.point)}port {queue.node} to {queue.peer}{of_class}: "
                f"the largest simulated queue, {queue.simulated.frames:g} frames and "
                f"{queue.simulated.octets:g} octets, is above its bound, {queue.bound.frames:g} "
                f"frames and {queue.bound.octets:g} octets"
            )


def _long(times: Sequence[BusTime]) -> Iterator[str]:
    for time in times:
        if time.verdict == "exceeded":
            yield (
                f"{where(time.series, time.point)}{time.group or 'bus'}: the simulated "
                f"{time.metric.value}, {_us(time.simulated_s)}, is above its bound, "
                f"{_us(time.bound_s)}"
            )


def where(series: str, point: Mapping[str, str]) -> str:
    """Return the beginning of a sentence about a point."""
    return ", ".join([series, *(f"{key} = {text}" for key, text in point.items())]) + ": "


def _us(time_s: float) -> str:
    return f"{time_s * 1e6:.6g} µs"


def read(results: Results) -> Answers:
    """Return what theory says at every point of a run, beside the other engines."""
    # Found once for the report of a run and the terminal, which follow each other.
    return results.once("answers", _read)


def _read(run: Results) -> Answers:
    facts, trials = facts_of(run), run.trials()
    times: list[FlowTime] = []
    together: list[FlowTime] = []
    queues: list[Queue] = []
    saturations: list[Saturation] = []
    for members in alike([trial for trial in trials if flows_in(trial.scenario)], point_of):
        by_engine: dict[str, list[Trial]] = {}
        for trial in members:
            by_engine.setdefault(trial.engine, []).append(trial)
        if not {BOUNDED, MEAN} & by_engine.keys():
            continue
        single, grouped = _times(run, by_engine, facts)
        times += single
        together += grouped
        if BOUNDED in by_engine:
            queues += queues_of(run, by_engine, facts)
        for mean in by_engine.get(MEAN, ()):
            of = facts.get((mean.id, "saturation", 0))
            if of is not None and of.scale is not None and of.resource is not None:
                at = Saturation(mean.series, dict(mean.point), of.scale, of.resource)
                saturations.append(at)
    every = tuple(times), tuple(queues), tuple(saturations)
    return Answers(*every, bus_times.read(run), tuple(together))


def _times(
    run: Results, by_engine: Mapping[str, Sequence[Trial]], facts: Facts
) -> tuple[list[FlowTime], list[FlowTime]]:
    """Return the times of the flows of a point, each and with those that are alike together."""
    at = _Point(run, by_engine, facts)
    flows = at.flows
    single = [
        time
        for number, flow in enumerate(flows)
        for metric in TIMES
        if (time := at.time(flow.name, [number], metric)) is not None
    ]
    alike: dict[tuple[object, ...], list[FlowTime]] = {}
    for time in single:
        alike.setdefault(_likeness(time), []).append(time)
    numbers = {flow.name: number for number, flow in enumerate(flows)}
    members = {
        f"{times[0].flow.partition(' ')[0]} × {len(times)}": [numbers[time.flow] for time in times]
        for times in alike.values()
        if len(times) > 1
    }
    at.estimate(members)
    grouped = []
    for times in alike.values():
        name = f"{times[0].flow.partition(' ')[0]} × {len(times)}"
        if len(times) == 1 or len(members[name]) != len(times):
            grouped += times
        elif (time := at.time(name, members[name], times[0].metric)) is not None:
            grouped.append(time)
    return single, sorted(grouped, key=lambda time: -time.nearness)


def _likeness(time: FlowTime) -> tuple[object, ...]:
    """Return what flows have in common that are shown together: table, theory and deadline."""
    numbers = (time.bound_s, time.mean_s, time.deadline_s)
    texts = time.flow.partition(" ")[0], time.metric, time.method, time.why_no_mean
    return *texts, *(f"{number:.9g}" for number in numbers)


class _Point:
    """A point of a network: what each engine has of its flows."""

    def __init__(
        self, run: Results, by_engine: Mapping[str, Sequence[Trial]], facts: Facts
    ) -> None:
        self._run, self._by_engine, self._facts = run, by_engine, facts
        trials = [trial for members in by_engine.values() for trial in members]
        self.example = trials[0]
        self.flows = receiver_flows(self.example.scenario)
        most = [_most(time) for time in TIMES]
        of_trials = of_each(run, trials, [*TIMES, *most, Metric.DEADLINE_MARGIN])
        self._values = dict(zip([trial.id for trial in trials], of_trials, strict=True))
        self._allowances = _allowances(run, by_engine.get(LIVE, ()))
        self._seen = [trial for trial in trials if trial.engine in (SIMULATION, LIVE)]
        self._estimates = _estimated(run, self._seen, groups.by_flow)

    def estimate(self, members: Mapping[str, Sequence[int]]) -> None:
        """Estimate what flows have together, by the names of groups of them."""
        if members:
            parts = {name: np.array(numbers, np.int64) for name, numbers in members.items()}
            self._estimates |= _estimated(self._run, self._seen, lambda _: parts)

    def time(self, name: str, numbers: Sequence[int], metric: Metric) -> FlowTime | None:
        """Return a time of flows that are alike; None of round trips that they do not have."""
        number, is_round_trip = numbers[0], metric is Metric.ROUND_TRIP
        flow = self.flows[number]
        bound_s = self._of_theory(BOUNDED, _most(metric), number)
        mean_s = self._of_theory(MEAN, metric, number)
        due_s = math.nan
        if flow.deadline_ps is not None and not is_round_trip:
            due_s = flow.deadline_ps / PS_PER_S
        observed = [
            found
            for engine in (SIMULATION, LIVE)
            if (found := self._observed(engine, name, numbers, metric, bound_s, due_s)) is not None
        ]
        about = "round-trip" if is_round_trip else "flow"
        if is_round_trip and not observed and math.isnan(bound_s) and math.isnan(mean_s):
            return None
        margin = math.nan
        if BOUNDED in self._by_engine and not is_round_trip:
            margin = self._of_theory(BOUNDED, Metric.DEADLINE_MARGIN, number)
        means = [self._values[trial.id][metric] for trial in self._by_engine.get(MEAN, ())]
        return FlowTime(
            self.example.series,
            dict(self.example.point),
            name,
            metric,
            bound_s,
            due_s,
            margin,
            reason_of(self._by_engine.get(BOUNDED, ()), self._facts, about, number),
            mean_s,
            _cautions(means, number),
            reason_of(self._by_engine.get(MEAN, ()), self._facts, about, number),
            tuple(observed),
        )

    def _of_theory(self, engine: str, metric: Metric, number: int) -> float:
        """Return the value of a theory; NaN if it did not run, or has none."""
        if engine not in self._by_engine:
            return math.nan
        return float(self._values[self._by_engine[engine][0].id][metric].values[number])

    def _observed(
        self,
        engine: str,
        name: str,
        numbers: Sequence[int],
        metric: Metric,
        bound_s: float,
        due_s: float,
    ) -> Observed | None:
        """Return what an engine saw of flows; None if it saw nothing."""
        found = np.array(
            [
                self._values[trial.id][_most(metric)].values[numbers]
                for trial in self._by_engine.get(engine, ())
            ]
        )
        if not found.size or np.isnan(found).all():
            return None
        estimates, largest_s = self._estimates[engine, name], float(np.nanmax(found))
        allowance_s = 0.0
        if engine == LIVE:
            for number in numbers:
                # A test numbers flows that have no short names of their own.
                alias = self._allowances.get((f"flow-{number}", metric), math.nan)
                own_s = self._allowances.get((self.flows[number].name, metric), alias)
                allowance_s = _larger(allowance_s, own_s)
        ranks = {rank: estimates[rank] for rank in percentiles(metric)}
        return Observed(
            engine,
            estimates[metric],
            ranks,
            largest_s,
            None if math.isnan(due_s) else estimates.get(Metric.OVERDUE_SHARE),
            allowance_s,
            verdict_of(largest_s, bound_s, allowance=allowance_s),
        )


def _most(metric: Metric) -> Metric:
    """Return the largest value of a time."""
    return Metric(f"{metric}_max")


def _estimated(
    run: Results, trials: Sequence[Trial], divide: Callable[[Any], groups.Parts]
) -> dict[tuple[str, str], Mapping[Metric, Estimate]]:
    """Estimates of flows, or groups of them, by engine and name."""
    points = groups.estimate(trials, run, divide, metrics=ESTIMATED) if trials else ()
    return {(point.engine, point.point[groups.PART]): point.estimates for point in points}


def _cautions(means: Sequence[OfEach], number: int) -> tuple[str, ...]:
    """Return the cautions of the value of a flow; those of the last trial that has some."""
    for of in reversed(means):
        words = caution_text(int(of.cautions[number])).split()
        if words and words != [Caution.NO_SAMPLES]:
            return tuple(words)
    return ()


def _allowances(run: Results, trials: Sequence[Trial]) -> dict[tuple[str, Metric], float]:
    """Return the largest of `allowances` over some trials, by flow and time."""
    if not trials:
        return {}
    from ethermeter.store.measured import complete_results

    found: dict[tuple[str, Metric], float] = {}
    for _, result in complete_results(run.directory.path, [trial.id for trial in trials]):
        for flow, of_times in allowances(result).items():
            for time, allowance_s in zip(TIMES, of_times, strict=True):
                found[flow, time] = _larger(found.get((flow, time), 0.0), allowance_s)
    return found


def allowances(result: "Result") -> dict[str, tuple[float, float]]:
    """By how much a measured one-way delay, and round trip, may be above its bound, by flow.

    A one-way delay is taken by two clocks, a round trip by one. NaN where it is unknown.
    """
    from ethermeter.analysis import pacing

    clocks = dict.fromkeys(result.flows, 0.0)
    for clock in pacing.clocks(result):
        bound_s = 0.0 if clock.is_shared else clock.delay_bound_s
        clocks[clock.flow] = _larger(clocks[clock.flow], bound_s)
    return {
        flow: (clocks[flow] + there_s, there_s + back_s)
        for flow, (there_s, back_s) in pacing.relay_lateness_s(result).items()
    }


def _larger(one: float, other: float) -> float:
    """Return the larger of two numbers; NaN if one is."""
    return math.nan if math.isnan(one + other) else max(one, other)


def flow_points(run: Results) -> list[Point]:
    """Return points of every flow with its means by theory and simulation, for their agreement."""
    estimates: dict[tuple[str, tuple[tuple[str, str], ...], str], dict[Metric, Estimate]] = {}
    for time in read(run).times:
        of_flow = (*time.point.items(), (FLOW, time.flow))
        theory = Estimate(time.mean_s, 0.0, FORMULA_DEGREES, time.cautions)
        estimates.setdefault((time.series, of_flow, MEAN), {})[time.metric] = theory
        if (simulated := time.of(SIMULATION)) is not None:
            estimates.setdefault((time.series, of_flow, SIMULATION), {})[time.metric] = (
                simulated.mean
            )
    return [
        Point(series, dict(of_flow), engine, 1, found)
        for (series, of_flow, engine), found in estimates.items()
    ]
