"""Regressions: whether a result is worse than those before, with stated errors.

A value fails if it is worse by more than half of the tolerance, and chance alone would make it so
large with a probability of at most `FALSE_ALARMS` shared among all values that are judged
(Bonferroni): a comparison of two results of the same raises an alarm in at most 1 of 100. It passes
if a worsening of the whole tolerance would have been seen with a probability of `POWER`. In between
it is undecided: more replications decide.

Two runs are independent samples by their replications (Welch). With more runs of the same as a
baseline, the spread between runs counts, too: a machine differs from one run to the next by more
than replications within a run show.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ethermeter.analysis.checks import Check, Verdict
from ethermeter.analysis.comparison import Points
from ethermeter.metrics import Metric
from ethermeter.metrics.main import HIGHER_IS_BETTER, LOWER_IS_BETTER
from ethermeter.results.estimates import Point
from ethermeter.results.interval import (
    Estimate,
    difference,
    exact,
    quantile,
    student,
    upper_quantile,
    upper_tail,
)

FALSE_ALARMS, POWER = 0.01, 0.95


def regressions(before: Sequence[Points], after: Points, *, tolerance: float) -> tuple[Check, ...]:
    """Judge the metrics that have a better direction at the points that all runs have.

    Parameters
    ----------
    before
        Points of one run, or of several of the same.
    after
        Points of the run that is judged.
    tolerance
        Relative worsening that is looked for, above 0; of shares that were 0 before, absolute.

    Returns
    -------
    :
        A check of each value: the relative change for the worse, with its interval.

    """
    found = [*_changes(before, after)]
    level = FALSE_ALARMS / max(1, len(found))
    return tuple(
        Check(
            condition=f"{metric.value} is worse",
            metric="",
            name="",
            series=point.series,
            point=dict(point.point),
            engine=point.engine,
            value=worse,
            verdict=verdict_of(worse, tolerance, level=level),
        )
        for point, metric, worse in found
    )


def repeated(
    before: Sequence[Points], after: Sequence[Points], *, tolerance: float
) -> tuple[Check, ...]:
    """Judge several runs of the same, each as `regressions` does; return one check of each value.

    It fails if the value fails in each run, and passes if it passes in one. Its change is that of
    the first run with the same verdict, or of the first run where none has it.
    """
    found: dict[tuple[object, ...], list[Check]] = {}
    for run in after:
        for check in regressions(before, run, tolerance=tolerance):
            at = check.condition, check.series, check.engine, *sorted(check.point.items())
            found.setdefault(at, []).append(check)
    return tuple(_one(checks, len(after)) for checks in found.values())


def _one(checks: Sequence[Check], runs: int) -> Check:
    verdicts = [check.verdict for check in checks]
    verdict: Verdict = "passes" if "passes" in verdicts else "undecided"
    if verdicts == ["fails"] * runs:
        verdict = "fails"
    alike = [check for check in checks if check.verdict == verdict]
    return replace((alike or checks)[0], verdict=verdict)


def verdict_of(worse: Estimate, tolerance: float, *, level: float) -> Verdict:
    """Judge a relative change for the worse.

    `level`: probability of a false alarm.
    """
    if math.isnan(worse.value):
        return "undecided"
    error = _error(worse)
    is_large = worse.value > tolerance / 2
    if error == 0:
        return "fails" if is_large else "passes"
    if math.isnan(error):
        return "undecided"
    if is_large and upper_tail(worse.value / error, worse.degrees) <= level:
        return "fails"
    is_known = worse.value + upper_quantile(POWER, worse.degrees) * error < tolerance
    return "passes" if is_known else "undecided"


def _changes(before: Sequence[Points], after: Points) -> Iterator[tuple[Point, Metric, Estimate]]:
    """Yield the relative change of each value for the worse."""
    for key, point in after.items():
        others = [run[key] for run in before if key in run]
        if len(others) < len(before):
            continue
        for metric in (*HIGHER_IS_BETTER, *LOWER_IS_BETTER):
            values = [of.estimates.get(metric) for of in (*others, point)]
            known = [each for each in values if each is not None and math.isfinite(each.value)]
            if len(known) < len(values):
                continue
            is_share = math.isfinite(metric.label.most)
            if not is_share and not any(each.value for each in known):
                continue  # a count of nothing has no share by which it may be worse
            *earlier, later = known
            sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0
            yield point, metric, _change(earlier, later, sign, is_share=is_share)


def change(before: Estimate, after: Estimate, *, higher_is_better: bool) -> Estimate:
    """Return by which share of the value before the one after is worse, with its interval."""
    return _change([before], after, -1.0 if higher_is_better else 1.0, is_share=False)


def _change(
    earlier: Sequence[Estimate], later: Estimate, sign: float, *, is_share: bool
) -> Estimate:
    """Return by which share of the earlier value, or their mean, the later one is worse."""
    if len(earlier) == 1 and earlier[0] == later:
        return exact(0.0)  # the same simulation
    if len(earlier) == 1:
        found = difference(later, earlier[0])
        base, error, degrees = earlier[0].value, _error(found), found.degrees
        if found.ends is not None:
            degrees = math.inf
    else:
        runs = student(np.array([each.value for each in earlier]))
        # The run that is judged differs from their mean as one run and their mean do.
        base, degrees = runs.value, runs.degrees
        error = runs.error * math.sqrt(len(earlier) + 1)
        if error == 0 and later.value != base:
            error = math.nan  # of values that never differed nothing says what chance makes of them
        found = Estimate(later.value - base, error, degrees)
    scale = abs(base)
    if scale == 0:
        if found.value != 0 and not is_share:
            return Estimate(math.copysign(math.inf, sign * found.value), 0.0, math.inf)
        scale = 1.0
    return Estimate(sign * found.value / scale, error / scale, degrees)


def _error(found: Estimate) -> float:
    """Return the standard error, or of an interval with ends the one of its side towards 0."""
    if found.ends is None:
        return found.error
    end = found.low if found.value > 0 else found.high
    return abs(end - found.value) / quantile(math.inf)
