"""Limits that searches found: the largest or smallest value of a key, and the number of calls."""

import math
from dataclasses import dataclass

import msgspec

from ethermeter.analysis.call_search import CallsAnswer
from ethermeter.analysis.checks import Check, Verdict
from ethermeter.analysis.comparison import Row, row_of
from ethermeter.analysis.regressions import FALSE_ALARMS, change, verdict_of
from ethermeter.analysis.value_search import SearchAnswer
from ethermeter.faults import InputError
from ethermeter.results.interval import Estimate
from ethermeter.store import RunDirectory
from ethermeter.trial import SIMULATION


@dataclass(frozen=True, slots=True)
class Limit:
    """What a search found.

    `what`: the key, or "calls". `unit`: of the values. `higher_is_better`: whether the largest was
    looked for. `asked`: the conditions, in words. `value`: the answer with the values between which
    it lies; NaN without an answer, without an interval where one end is not known.
    """

    what: str
    unit: str
    engine: str
    higher_is_better: bool
    asked: str
    value: Estimate


def read(run: RunDirectory) -> Limit | None:
    """Return the limit that a run of a search found; None of runs, and searches, without one."""
    if not run.is_search():
        return None
    text = run.answer()
    try:
        return _of_value(msgspec.json.decode(text, type=SearchAnswer))
    except msgspec.DecodeError:
        pass
    try:
        return _of_calls(msgspec.json.decode(text, type=CallsAnswer))
    except msgspec.DecodeError:
        return None


def _of_value(answer: SearchAnswer) -> Limit:
    numbers = {point.value: point.number for point in answer.points}
    value, *ends = (
        math.nan if text is None else numbers.get(text, math.nan)
        for text in (answer.estimate, answer.at_least, answer.at_most)
    )
    asked = " and ".join(answer.conditions)
    return Limit(
        answer.key,
        answer.unit,
        answer.engine,
        higher_is_better=answer.direction == "largest",
        asked=asked,
        value=_estimate(value, *sorted(ends)),
    )


def _of_calls(answer: CallsAnswer) -> Limit:
    wanted = " and ".join(f"{name} {number:g}" for name, number in answer.wanted.items())
    asked = f"{answer.codec} with {wanted}"
    found = _estimate(answer.calls, answer.sure, answer.possible)
    return Limit("calls", "", SIMULATION, higher_is_better=True, asked=asked, value=found)


def _estimate(value: float, low: float, high: float) -> Estimate:
    is_known = all(map(math.isfinite, (value, low, high)))
    ends = (min(low, value), max(high, value)) if is_known else None
    return Estimate(value, math.nan, math.nan, ends=ends)


def compared(first: Limit, second: Limit) -> Row:
    """Compare two limits.

    Raises
    ------
    InputError
        If they are of different keys, or one is the largest and the other the smallest.

    """
    kinds = [(limit.what, limit.higher_is_better) for limit in (first, second)]
    if kinds[0] != kinds[1]:
        named = [f"the {'largest' if high else 'smallest'} {what}" for what, high in kinds]
        allowed = f"expected a search for {named[0]}, as the first"
        raise InputError.of_argument("second", named[1], allowed)
    values = [None if math.isnan(of.value.value) else of.value for of in (first, second)]
    return row_of("", {}, first.engine, first.what, first.unit, *values)


def have_intervals(first: Limit, second: Limit) -> bool:
    """Whether chance decides which of two limits is worse; else the tolerance alone."""
    return first.value.has_interval and second.value.has_interval


def judged(first: Limit, second: Limit, *, tolerance: float) -> Check:
    """Judge whether the second limit is worse, by a relative tolerance above 0."""
    worse = change(first.value, second.value, higher_is_better=first.higher_is_better)
    return Check(
        condition=f"{first.what} is worse",
        metric="",
        name="",
        series="",
        point={},
        engine=first.engine,
        value=worse,
        verdict=_verdict(worse, tolerance, has_intervals=have_intervals(first, second)),
    )


def _verdict(worse: Estimate, tolerance: float, *, has_intervals: bool) -> Verdict:
    if has_intervals:
        return verdict_of(worse, tolerance, level=FALSE_ALARMS)
    if math.isnan(worse.value):
        return "undecided"
    return "fails" if worse.value > tolerance else "passes"
