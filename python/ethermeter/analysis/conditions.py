"""Conditions: what must hold of metrics of flows or stations, such as "loss <= 0.1%"."""

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethermeter.analysis.groups import by_flow, by_group, by_table
from ethermeter.faults import choices
from ethermeter.metrics import ALL, Caution, EntityKind, Metric, caution_mask, caution_text
from ethermeter.metrics.main import metric_choices
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial
from ethermeter.results.values import metrics_in
from ethermeter.scenario import CoderArrivals, Flow
from ethermeter.store.columns import kinds_in
from ethermeter.theory.load import Overload, loads_of
from ethermeter.trial import LIVE, SIMULATION
from ethermeter.units import Dimension, UnitError, parse, quantity

TOGETHER = "together"
"""Name of all flows, or stations, together."""
RELATIONS = ("<=", ">=", "==", "<", ">")
_TEXT = re.compile(
    r"\s*(?:(?P<of>[^:<>=]+?)\s*:)?\s*(?P<metric>[A-Za-z0-9_.]+)\s*"
    rf"(?P<relation>{'|'.join(RELATIONS)})\s*(?P<limit>[^<>=]+?)\s*"
)
_SHARE = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(%|ppm)?", re.ASCII)
_SHARES = {None: 1.0, "%": 1e-2, "ppm": 1e-6}
DIMENSIONS = {
    "s": (Dimension.TIME, 1e12),
    "bit/s": (Dimension.RATE, 1.0),
    "1/s": (Dimension.FREQUENCY, 1.0),
    "B": (Dimension.SIZE, 8.0),
    "m": (Dimension.LENGTH, 1.0),
}
"""Dimension of the limits of values by their unit, and how many base units are one of it."""
EXAMPLES = '"loss <= 0.1%" or "call: one_way_delay.p99 <= 20 ms"'
_UNBOUNDED, _GROWING = (
    caution_mask([word]) for word in (Caution.UNBOUNDED_QUEUE, Caution.GROWING_QUEUE)
)
_RATES = ("bit/s", "1/s")
"""Units of metrics that an overload leaves as they are, in a short trial as in a long one."""
_UNDEFINED = caution_mask([Caution.NO_SAMPLES, Caution.NO_BOUND])


class ConditionError(ValueError):
    """A text that is no condition, or one that an experiment cannot have; what was allowed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A condition in a trial, of one flow or group.

    `name`: the flow or group; empty for all stations of a segment. `value`: of the metric, in its
    unit; NaN where it is undefined. `margin`: by how much the condition holds, negative where it
    does not; minus infinity where no other sample could change that. `cautions`: words of the
    closed list. `reason`: why it does not hold whatever the trial saw; empty otherwise.
    `is_growing`: whether a queue grew in the trial, so that a longer one has another value.
    """

    name: str
    value: float
    margin: float
    cautions: tuple[str, ...]
    reason: str = ""
    is_growing: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A metric, whose it is, and the limit it must keep.

    `of`: name of a flow, of a table of flows or of a group of stations; `TOGETHER`; empty for each
    flow, or all stations of a segment. `limit`: in the unit of the metric. `shown`: the limit as
    written.
    """

    of: str
    metric: Metric
    relation: str
    limit: float
    shown: str

    def __str__(self) -> str:
        """Return the condition as text."""
        of = f"{self.of}: " if self.of else ""
        return f"{of}{self.metric.value} {self.relation} {self.shown}"

    def check(self, trial: Trial) -> None:
        """Raise ConditionError if a trial has no such metric, flow or group."""
        self.members(trial)

    def judged(
        self, trial: Trial, results: Results, overloads: Mapping[int, Overload]
    ) -> list[Judged]:
        """Return what the results of a trial say of the condition, flow by flow.

        `overloads`: of flows, those in which it does not hold whatever the trial saw.
        """
        is_rate = self.metric.unit in _RATES
        found = []
        for name, members in self.members(trial).items():
            if ALL in members:
                values = np.array([results.all(self.metric)])
                masks = np.array([results.all_cautions(self.metric)])
            else:
                values = results.each(self.metric)[members]
                masks = results.each_cautions(self.metric)[members]
            known = values[np.isfinite(values)]
            value = float(known.mean()) if known.size else math.nan
            mask = int(np.bitwise_or.reduce(masks)) if masks.size else 0
            words = caution_text(mask & ~int(_UNDEFINED) if known.size else mask)
            numbers = overloads if ALL in members else members.tolist()
            reason = next(
                (
                    str(overloads[at])
                    for at in numbers
                    if at in overloads and (overloads[at].is_endless or not is_rate)
                ),
                "",
            )
            is_over = bool(reason or mask & int(_UNBOUNDED))
            margin = -math.inf if is_over else self.margin(value)
            is_growing = bool(mask & int(_GROWING)) and not is_rate
            found.append(Judged(name, value, margin, tuple(words.split()), reason, is_growing))
        return found

    def margin(self, value: float) -> float:
        """By how much a value keeps the limit, in the unit of the metric."""
        if math.isnan(value):
            return -math.inf
        if self.relation == "==":
            return 0.0 if value == self.limit else -math.inf
        found = self.limit - value if self.relation[0] == "<" else value - self.limit
        # A value at the limit does not keep one that it must be beyond.
        return -sys.float_info.min if found == 0 and len(self.relation) == 1 else found

    def members(self, trial: Trial) -> Mapping[str, NDArray[np.int64]]:
        """Return the flows or stations of which it must hold, by the name of each that counts."""
        scenario = trial.scenario
        known = metrics_in(trial)
        if self.metric not in known:
            of = f"the engine {trial.engine}" if trial.engine != "simulation" else "this experiment"
            raise ConditionError(
                f"expected a metric that {of} has: {metric_choices(self.metric.value, known)}"
            )
        if self.of == TOGETHER:
            return {TOGETHER: np.array([ALL])}
        if known[self.metric] == "station":
            return self._stations(trial)
        if not self.of:
            every = {
                name: members
                for name, members in by_flow(scenario).items()
                if _has(scenario.flows[int(members[0])], self.metric)
            }
            if not every:
                raise ConditionError(f"expected a metric that a flow has; none has {self.metric}")
            return every
        tables, flows = by_table(scenario), by_flow(scenario)
        if self.of not in tables and self.of not in flows:
            names = [TOGETHER, *tables, *flows]
            raise ConditionError(f"expected a flow: {choices(self.of, names)}")
        members = tables[self.of] if self.of in tables else flows[self.of]
        lacking = [
            scenario.flows[at].name
            for at in members.tolist()
            if not _has(scenario.flows[at], self.metric)
        ]
        if lacking:
            raise ConditionError(f"expected a metric that {lacking[0]} has, not {self.metric}")
        return {scenario.flows[at].name: np.array([at]) for at in members.tolist()}

    def _stations(self, trial: Trial) -> Mapping[str, NDArray[np.int64]]:
        if not self.of:
            return {"": np.array([ALL])}
        groups = by_group(trial.scenario)
        if self.of not in groups:
            raise ConditionError(
                f"expected a group of stations: {choices(self.of, [TOGETHER, *groups])}"
            )
        kinds = kinds_in(trial.scenario, trial.engine)
        definitions = [of for of in self.metric.definitions if of.kind in kinds]
        if not any(definition.is_of_each for definition in definitions):
            raise ConditionError(f"expected no group: {self.metric} is of all stations only")
        return {self.of: groups[self.of]}


def parts_of(text: str) -> tuple[str, str, str, str]:
    """Return whose value a condition is of, the value's name, its relation and limit, as texts.

    Raises ConditionError if it is no condition.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ConditionError(
            f"expected [FLOW:] METRIC RELATION VALUE with one of {' '.join(RELATIONS)}, such as "
            f"{EXAMPLES}"
        )
    name = found["metric"].replace(".", "_").lower()
    return (found["of"] or "").strip(), name, found["relation"], found["limit"]


def condition(text: str) -> Condition:
    """Return the condition of a text, such as "call: one_way_delay.p99 <= 20 ms".

    Raises ConditionError if it is none.
    """
    of, name, relation, limit = parts_of(text)
    if name not in set(Metric):
        raise ConditionError(f"expected a metric: {metric_choices(name, map(str, Metric))}")
    metric = Metric(name)
    return Condition(of, metric, relation, limit_of(limit, metric.unit, name), limit)


def limit_of(text: str, unit: str, name: str) -> float:
    """Return a limit of the value of this name, in the unit of the value.

    Raises ConditionError if it is none.
    """
    if unit in DIMENSIONS:
        dimension, size = DIMENSIONS[unit]
        try:
            return float(parse(text, dimension, signed=True)) / size
        except UnitError as error:
            raise ConditionError(f"{name}: {error}") from None
    match = _SHARE.fullmatch(text)
    try:
        if match is not None:
            return float(match[1]) * _SHARES[match[2]]
        quantity(text)
    except (ValueError, UnitError):
        pass
    raise ConditionError(f'expected a number without a unit, or with %, such as "{name} <= 1%"')


_OF_RESPONSES = ("round_trip", "timed_out", "exchanges")
_OF_TRANSFERS = (
    *(Metric.TRANSFER_RATE, Metric.ACKNOWLEDGEMENT_DELAY, Metric.RETRANSMITTED, Metric.TIMEOUTS),
)
_OF_MESSAGES = ("one_way_delay", "inter_arrival", "offered", "message", "frame_rate", "loss")


def _has(flow: Flow, metric: Metric) -> bool:
    """Whether a flow is of a kind that has a metric."""
    if metric in _OF_TRANSFERS:
        return flow.transfer is not None
    if any(definition.kind is EntityKind.CALL for definition in metric.definitions):
        return isinstance(flow.arrivals, CoderArrivals)
    if metric.value.startswith(_OF_RESPONSES):
        return flow.response is not None or flow.transfer is not None
    if metric.value.startswith(_OF_MESSAGES):
        return flow.transfer is None
    return True


def margins_of(
    conditions: Sequence[Condition], trial: Trial, results: Results
) -> list[list[Judged]]:
    """Return what a trial says of conditions; an empty list for a measurement that failed.

    A value does not hold where a resource on the path of a flow is offered more than it carries,
    unless a condition permits the loss that follows in the long run and its queue is limited.
    """
    if trial.engine == LIVE and not results.is_known():
        return []
    overloads = _overloads(conditions, trial) if trial.engine == SIMULATION else {}
    return [each.judged(trial, results, overloads) for each in conditions]


def _overloads(conditions: Sequence[Condition], trial: Trial) -> dict[int, Overload]:
    """Return an overload of each flow that has one that no condition permits."""
    found = {
        number: overloads
        for number, overloads in enumerate(loads_of(trial.scenario).overloads)
        if overloads
    }
    if not found:
        return {}
    permitted: dict[int, float] = {}
    for each in conditions:
        if each.metric == Metric.LOSS and each.relation[0] == "<":
            for members in each.members(trial).values():
                for at in found if ALL in members else members.tolist():
                    permitted[at] = min(permitted.get(at, math.inf), each.limit)
    refused = {
        number: [
            each for each in overloads if each.is_endless or each.loss > permitted.get(number, 0.0)
        ]
        for number, overloads in found.items()
    }
    return {number: overloads[0] for number, overloads in refused.items() if overloads}
