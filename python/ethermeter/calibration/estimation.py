"""Estimation: weighted least squares between bounds.

It shows which parameters the data determine, and which only in sums.

All parameters are scaled to their bounds: 0 is the lower, 1 the upper. The Jacobian is by central
differences of `STEP` of that range, which delays and rates of networks bear: they are linear in the
times of stages, up to where another one becomes the slowest. Percentiles are known to a bucket of
their histogram, so they are a staircase: their differences are taken over `STAIRCASE_STEPS`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import chi2

from ethermeter.results.interval import Estimate

Floats = NDArray[np.float64]
Answer = Callable[[Floats], Floats]
"""Takes parameters, shape `(parameters,)`, scaled to their bounds; gives what the data should be,
shape `(data,)`.
"""


class UnansweredError(Exception):
    """The model's answers for some parameters are not known yet.

    `values`: those parameters, in their units.
    """

    def __init__(self, values: Sequence[Floats]) -> None:
        super().__init__(f"{len(values)} sets of parameters are not answered yet")
        self.values = tuple(values)


STEP = 1e-3
"""Step of differences, of a parameter's range."""

STAIRCASE_STEPS = (0.1, 0.02)
"""The same for answers that are known to 0.8% of their size only, one search after the other.

A search with the first finds the region, whatever it starts from; the second is over stairs enough,
and over a part of the range in which delays are nearly linear.
"""

NARROWED = 0.5
"""A direction is determined if its standard error is below this part of the parameters' range."""

PULL = 1e-2
"""Weight of the starting values, in standard errors a range: it decides only where the data do not.
"""

_TOUCHED = 1e-3
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Combination:
    """A sum of parameters that the data determine, where its parts are not determined.

    `factors`: by which the parameters are multiplied, shape `(parameters,)`; the first that is not
    zero is 1. `estimate`: its value in the unit of the first.
    """

    factors: Floats
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Fit:
    """What least squares found.

    `values`: parameters in their units, shape `(parameters,)`. `estimates`: the same with their
    intervals; without one where the data do not determine the parameter alone. `is_determined`,
    `is_at_bound`: of each parameter. `combinations`: sums that are determined although their parts
    are not. `covariance`: of the parameters in their units, along what is determined, shape
    `(parameters, parameters)`. `undetermined`: directions that the data do not determine, in units
    of the ranges, shape `(directions, parameters)`. `predicted`: what the data should be, shape
    `(data,)`. `residuals`: data less that, in standard errors, shape `(data,)`. `chi_square`,
    `degrees`: sum of the squares of the residuals, and how many are free. `scale`: by which
    standard errors of the parameters were multiplied: above 1 where residuals are larger than the
    data's errors.
    """

    values: Floats
    estimates: tuple[Estimate, ...]
    is_determined: NDArray[np.bool_]
    is_at_bound: NDArray[np.bool_]
    combinations: tuple[Combination, ...]
    covariance: Floats
    undetermined: Floats
    predicted: Floats
    residuals: Floats
    chi_square: float
    degrees: int
    scale: float

    @property
    def misfit(self) -> float:
        """Probability of residuals as large as these (chi-square).

        NaN without degrees of freedom. Errors are those stated.
        """
        return float(chi2.sf(self.chi_square, self.degrees)) if self.degrees else math.nan


def estimate(
    answer: Answer,
    data: Floats,
    errors: Floats,
    *,
    low: Floats,
    high: Floats,
    start: Floats,
    are_errors_known: bool,
    steps: Sequence[float] = (STEP,),
) -> Fit:
    """Fit parameters to data.

    `answer`: the model. `data`, `errors`: what was measured and its standard errors, all above
    zero, shape `(data,)`. `low`, `high`, `start`: bounds and starting values in the parameters'
    units, shape `(parameters,)`. `are_errors_known`: whether `errors` are the data's own; else only
    their ratios count, and their size is that of the residuals. `steps`: steps of differences, of a
    parameter's range: one search with each, from where the one before ended.
    Returns the fit. Intervals are Student's t with the free residuals' degrees of freedom, from the
    Jacobian at the solution, multiplied by `scale`: 1 where the data's errors explain the
    residuals, else the root of the mean square (Birge's ratio).

    Source
    ------
    Björck, Numerical Methods for Least Squares Problems, 1996, sections 2.7 and 9.1; Birge,
    Physical Review 40, 1932.
    """
    span = high - low
    origin = (start - low) / span

    def off(at: Floats) -> Floats:
        return np.concatenate([(answer(at) - data) / errors, PULL * (at - origin)])

    at = origin
    for step in steps:

        def slopes(at: Floats, step: float = step) -> Floats:
            slope = jacobian(answer, at, step) / errors[:, None]
            return np.vstack([slope, PULL * np.eye(at.size)])

        exact = step**4  # 1e-12 of ordinary steps; coarse differences do not bear as much
        found = least_squares(
            off,
            np.clip(at, _EDGE, 1 - _EDGE),
            jac=slopes,
            bounds=(0.0, 1.0),
            xtol=exact,
            ftol=exact,
            gtol=exact,
            max_nfev=60,
        )
        at = np.asarray(found.x, np.float64)
    predicted = answer(at)
    residuals = (data - predicted) / errors
    slope = jacobian(answer, at, steps[-1]) / errors[:, None]

    _, singular, directions = np.linalg.svd(slope, full_matrices=True)
    singular = np.concatenate([singular, np.zeros(at.size - singular.size)])
    known = singular * NARROWED > 1
    degrees = data.size - int(known.sum())
    chi_square = float(np.square(residuals).sum())
    ratio = (
        math.sqrt(chi_square / degrees) if degrees > 0 else (1.0 if are_errors_known else math.nan)
    )
    scale = max(1.0, ratio) if are_errors_known else ratio
    spread = directions[known].T / singular[known]
    covariance = spread @ spread.T * (scale**2 if math.isfinite(scale) else math.nan)
    undetermined = directions[~known]
    touched = np.square(undetermined).sum(axis=0)
    is_determined = touched < _TOUCHED**2
    width = math.inf if are_errors_known and scale == 1.0 else float(max(degrees, 0))
    values = low + at * span
    estimates = tuple(
        Estimate(
            float(values[one]),
            math.sqrt(covariance[one, one]) * span[one] if is_determined[one] else math.nan,
            width,
        )
        for one in range(at.size)
    )
    return Fit(
        values=values,
        estimates=estimates,
        is_determined=is_determined,
        is_at_bound=(at < 10 * _EDGE) | (at > 1 - 10 * _EDGE),
        combinations=tuple(_combinations(undetermined, covariance, values, span, width)),
        covariance=covariance * np.outer(span, span),
        undetermined=undetermined,
        predicted=predicted,
        residuals=residuals,
        chi_square=chi_square,
        degrees=max(degrees, 0),
        scale=scale,
    )


def jacobian(answer: Answer, at: Floats, step: float = STEP) -> Floats:
    """Slopes of the answer by central differences within 0 and 1, shape `(data, parameters)`."""
    columns = []
    unanswered: list[Floats] = []
    for one in range(at.size):
        ends = []
        for sign in (-1.0, 1.0):
            moved = at.copy()
            moved[one] = min(max(at[one] + sign * step, 0.0), 1.0)
            try:
                ends.append((moved[one], answer(moved)))
            except UnansweredError as error:
                unanswered += error.values
        if not unanswered:
            (first, before), (last, after) = ends
            columns.append((after - before) / (last - first))
    if unanswered:
        raise UnansweredError(unanswered)  # all at once, so that they are run side by side
    return np.stack(columns, axis=-1)


def _combinations(
    undetermined: Floats, covariance: Floats, values: Floats, span: Floats, degrees: float
) -> list[Combination]:
    """Find the sums that are determined, group by group of parameters that only occur together."""
    projection = undetermined.T @ undetermined
    found = []
    for group in _groups(np.abs(projection) > _TOUCHED**2):
        # Within its group, what is determined is all that is orthogonal to what is not.
        _, singular, rows = np.linalg.svd(projection[np.ix_(group, group)])
        basis = rows[singular < 0.5]
        for row in _reduced(basis / span[group]):
            factors = np.zeros(values.size)
            factors[group] = np.where(np.abs(row) < _TOUCHED * np.abs(row).max(), 0.0, row)
            scaled = factors * span
            error = math.sqrt(max(float(scaled @ covariance @ scaled), 0.0))
            found.append(Combination(factors, Estimate(float(factors @ values), error, degrees)))
    return found


def _groups(joined: NDArray[np.bool_]) -> list[list[int]]:
    """Find connected parameters among those that are joined to themselves."""
    left = {one for one in range(len(joined)) if joined[one, one]}
    groups = []
    while left:
        group, edge = set(), {min(left)}
        while edge:
            one = edge.pop()
            group.add(one)
            edge |= {other for other in left if joined[one, other]} - group
        left -= group
        groups.append(sorted(group))
    return groups


def _reduced(rows: Floats) -> Floats:
    """Bring rows to reduced echelon form, each beginning with 1; they are independent."""
    rows = rows.copy()
    columns = list(range(rows.shape[1]))
    for at in range(len(rows)):
        pivot = next(
            column
            for column in columns
            if np.abs(rows[at:, column]).max() > _TOUCHED * np.abs(rows[at:]).max()
        )
        best = at + int(np.abs(rows[at:, pivot]).argmax())
        rows[[at, best]] = rows[[best, at]]
        rows[at] /= rows[at, pivot]
        others = [other for other in range(len(rows)) if other != at]
        rows[others] -= np.outer(rows[others, pivot], rows[at])
        columns.remove(pivot)
    return rows


def in_words(names: Sequence[str], factors: Floats) -> str:
    """Write a combination: `software + nic`, `pci + 0.5 wire`."""
    words: list[str] = []
    for name, factor in zip(names, factors, strict=True):
        if factor:
            size = "" if abs(abs(factor) - 1) < _TOUCHED else f"{abs(factor):.3g} "
            sign = "- " if factor < 0 else "+ " if words else ""
            words.append(f"{sign}{size}{name}")
    return " ".join(words)
