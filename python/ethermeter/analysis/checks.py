"""Checks: conditions that a result must not meet, such as "loss > 0.1%", judged by intervals.

A condition is met if the whole 95% interval of a value meets it, or the value where it has no
interval: the result fails. It passes if no part of the interval meets it, and is undecided in
between. A loss or a delay that follows from an overload fails whatever the length of the trial.
So a value just at its limit fails in at most 2.5 of 100 runs by chance.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ethermeter.analysis import groups
from ethermeter.analysis.conditions import Condition, ConditionError, condition
from ethermeter.analysis.verdicts import Decision, decision
from ethermeter.faults import InputError
from ethermeter.metrics import ALL
from ethermeter.results.interval import Estimate, exact
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, alike, point_of
from ethermeter.theory.load import loads_of
from ethermeter.trial import LIVE, SIMULATION

Verdict = Literal["fails", "passes", "undecided"]


@dataclass(frozen=True, slots=True)
class Check:
    """A condition at a point, of one flow or of all together.

    `name`: the flow, group of stations, or "together"; empty for all stations of a segment.
    `value`: in the unit of the metric, which is `unit` of what is no metric. `reason`: why it fails
    whatever the trial saw; else empty.
    """

    condition: str
    metric: str
    name: str
    series: str
    point: Mapping[str, str]
    engine: str
    value: Estimate
    verdict: Verdict
    reason: str = ""
    unit: str = ""


def conditions_of(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Return the conditions of texts; InputError with each that is none."""
    found = []
    for text in texts:
        try:
            found.append(condition(text))
        except ConditionError as error:
            raise InputError.of_argument("fail_if", text, str(error)) from None
    return tuple(found)


def require_in(texts: Sequence[str], trials: Sequence[Trial]) -> None:
    """Refuse conditions that trials cannot have; errors as of `checks`."""
    for each in conditions_of(texts):
        if not trials:
            allowed = "expected an experiment that is simulated or measured"
            raise InputError.of_argument("fail_if", str(each), allowed)
        for trial in trials:
            try:
                each.check(trial)
            except ConditionError as error:
                raise InputError.of_argument("fail_if", str(each), str(error)) from None


def checks(run: Results, texts: Sequence[str]) -> tuple[Check, ...]:
    """Judge conditions at every point of a run that was simulated or measured.

    Raises
    ------
    InputError
        If a text is no condition, or a point has no such metric, flow or group.

    """
    wanted = conditions_of(texts)
    trials = [trial for trial in run.trials() if trial.engine in (SIMULATION, LIVE)]
    found: list[Check] = []
    for members in alike(trials, lambda trial: (point_of(trial), trial.engine)):
        for each in wanted:
            try:
                found += _at_point(run, members, each)
            except ConditionError as error:
                raise InputError.of_argument("fail_if", str(each), str(error)) from None
    return tuple(found)


def _at_point(run: Results, trials: Sequence[Trial], wanted: Condition) -> Iterator[Check]:
    first = trials[0]
    members = wanted.members(first)
    if any(ALL in numbers for numbers in members.values()):
        at = point_of(first), first.engine
        points = [each for each in run.estimated if (point_of(each), each.engine) == at]
        values = dict.fromkeys(members, points[0].estimates[wanted.metric])
    else:
        metrics = [wanted.metric]
        points = [*groups.estimate(trials, run, lambda _: members, metrics=metrics)]
        values = {each.point[groups.PART]: each.estimates[wanted.metric] for each in points}
    for name, value in values.items():
        reason = _overload(first, wanted, members[name].tolist())
        yield Check(
            condition=str(wanted),
            metric=wanted.metric.value,
            name=name,
            series=first.series,
            point=dict(first.point),
            engine=first.engine,
            value=value,
            verdict="fails" if reason else verdict_of(value, wanted.relation, wanted.limit),
            reason=reason,
        )


def _overload(trial: Trial, wanted: Condition, members: Sequence[int]) -> str:
    """Return the overload from which it follows that a condition is met; empty if none."""
    if wanted.relation not in (">", ">=") or wanted.metric.unit in ("bit/s", "1/s"):
        return ""
    overloads = loads_of(trial.scenario).overloads
    chosen = range(len(overloads)) if ALL in members else members
    for number in chosen:
        for overload in overloads[number]:
            is_lost = wanted.metric.value == "loss" and overload.loss > wanted.limit
            is_late = overload.is_endless and wanted.metric.unit == "s"
            if ALL not in members and (is_lost or is_late):
                return str(overload)
    return ""


def verdict_of(value: Estimate, relation: str, limit: float) -> Verdict:
    """Judge whether a value meets a relation to a limit, by its interval.

    Examples
    --------
    >>> loss = Estimate(0.004, 0.001, float("inf"))
    >>> [verdict_of(loss, ">", limit) for limit in (0.001, 0.004, 0.01)]
    ['fails', 'undecided', 'passes']

    """
    if math.isnan(value.value):
        return "undecided"
    if relation == "==":
        return "fails" if value.value == limit else "passes"
    known = value if value.has_interval else exact(value.value)
    return _VERDICTS[decision(known, relation, limit)]


_VERDICTS: Mapping[Decision, Verdict] = {
    "holds": "fails",
    "fails": "passes",
    "undecided": "undecided",
}
"""Verdict about a result by the decision about the condition that it must not meet."""
