"""Lengths: times in a network against the length of what is sent, as straight lines.

Also what one path costs more than another.

A request and its answer pass every stage of their way once, so the round trip grows with each octet
by the sum of what the stages take for it: that is the slope; what does not depend on the length is
the intercept. Where one line does not fit, two do better: a stage has begun to overlap with
another, or a limit was passed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from ethermeter.analysis.curves import Line, line
from ethermeter.analysis.groups import PART
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate, Floats, difference
from ethermeter.results.trials import alike
from ethermeter.units import UnitError, quantity

METRICS = (Metric.ROUND_TRIP, Metric.ONE_WAY_DELAY, Metric.INTER_ARRIVAL)
"""Times that are laid against lengths."""
FEWEST = 4
"""Lengths from which a line is drawn."""
FEWEST_OF_A_PIECE = 3
BREAK_PROBABILITY = 0.05
"""Two lines are better than one if chance alone would make any division of the points so much
better with less than this.
"""
_Fixed = tuple[tuple[str, str], ...]
_ROUNDING = 1e-9
"""Scatter over the longest time, below which points lie on the line as far as numbers go."""


@dataclass(frozen=True, slots=True, eq=False)
class OfLengths:
    """A time against a length."""

    # series, engine, flow: What it is of
    series: str
    engine: str
    flow: str
    # key, fixed: The key of the length, and what else is varied at this line
    key: str
    fixed: Mapping[str, str]
    metric: Metric  # Which time
    # octets, times_s: Its points, shortest length first; shape `(points,)`
    octets: Floats
    times_s: Floats
    whole: Line  # The line through all of them: intercept in s, slope in s an octet
    # The lines of two pieces, where they are better; empty if one line fits
    pieces: tuple[Line, ...]
    # Between the pieces: half way from the last length of the first to the first of the second; NaN
    # without
    break_octets: float

    @property
    def residuals_s(self) -> Floats:
        """What lies between the points and the line through all of them, in s."""
        line = self.whole
        return np.asarray(self.times_s - line.intercept.value - line.slope.value * self.octets)


@dataclass(frozen=True, slots=True, eq=False)
class Extra:
    """What one path costs more than another: intercepts [s] and slopes [s an octet] apart."""

    one: OfLengths
    other: OfLengths
    intercept: Estimate
    slope: Estimate


def of_lengths(points: Iterable[Point]) -> list[OfLengths]:
    """Draw lines through every time of every flow that was found at several lengths.

    Points are of flows, each with the flow's name under `ethermeter.analysis.groups.PART`.
    """
    found: dict[tuple[str, str, str, str, _Fixed, Metric], dict[float, float]] = {}
    for point in points:
        flow = point.point.get(PART, "")
        for key, text in point.point.items():
            octets = _octets(text) if _is_length_of(key, flow) else math.nan
            if math.isnan(octets):
                continue
            fixed = tuple(
                (name, value) for name, value in point.point.items() if name not in (key, PART)
            )
            for metric in METRICS:
                estimate = point.estimates.get(metric)
                if estimate is not None and math.isfinite(estimate.value):
                    of = (point.series, point.engine, flow, key, fixed, metric)
                    found.setdefault(of, {})[octets] = estimate.value
    return [
        OfLengths(series, engine, flow, key, dict(fixed), metric, *_drawn(times))
        for (series, engine, flow, key, fixed, metric), times in found.items()
        if len(times) >= FEWEST
    ]


def extras(lines: Sequence[OfLengths]) -> list[Extra]:
    """Compare lines that were drawn at the same lengths: each with the first of them.

    Lines belong together that are of the same time and engine, of flows that begin with the same
    word, with all else equal: of paths beside each other in a network, or of experiments that
    differ in what lies between the hosts.
    """
    together = alike(
        lines,
        lambda line: (
            *(line.metric, line.engine, line.flow.partition(" ")[0], line.key),
            *(tuple(line.fixed.items()), tuple(line.octets)),
        ),
    )
    return [
        Extra(
            one=each,
            other=members[0],
            intercept=difference(each.whole.intercept, members[0].whole.intercept),
            slope=difference(each.whole.slope, members[0].whole.slope),
        )
        for members in together
        for each in members[1:]
    ]


def broken(octets: Floats, times_s: Floats) -> tuple[tuple[Line, ...], float]:
    """Divide points into two lines where that is better than chance alone makes it.

    The rule: of all divisions with three points on either side the one with the least scatter about
    two lines, if the F test of two lines against one gives a probability below `BREAK_PROBABILITY`
    over the number of divisions (Bonferroni, since the best one was picked). Octets increase; the
    break lies between the lines, in octets. No lines and NaN where one line is enough.

    Source
    ------
    Chow, Econometrica 28(3), 1960, for the test of a division that was not picked.
    """
    scatter = _scatter(octets, times_s)
    divisions = range(FEWEST_OF_A_PIECE, len(octets) - FEWEST_OF_A_PIECE + 1)
    if not divisions or scatter <= len(octets) * (_ROUNDING * float(np.abs(times_s).max())) ** 2:
        return (), math.nan
    degrees = len(octets) - 4
    of_two, at = min(
        (_scatter(octets[:at], times_s[:at]) + _scatter(octets[at:], times_s[at:]), at)
        for at in divisions
    )
    statistic = (scatter - of_two) / 2 / (of_two / degrees) if of_two > 0 else math.inf
    if float(fdtrc(2, degrees, statistic)) * len(divisions) >= BREAK_PROBABILITY:
        return (), math.nan
    pieces = line(octets[:at], times_s[:at]), line(octets[at:], times_s[at:])
    return pieces, float(octets[at - 1] + octets[at]) / 2


def _drawn(
    times: Mapping[float, float],
) -> tuple[Floats, Floats, Line, tuple[Line, ...], float]:
    """Return points in the order of their lengths, the line through all, and the broken line."""
    octets, times_s = np.array(sorted(times.items()), dtype=np.float64).T.copy()
    return octets, times_s, line(octets, times_s), *broken(octets, times_s)


def _scatter(octets: Floats, times_s: Floats) -> float:
    found = line(octets, times_s)
    return float(np.square(times_s - found.intercept.value - found.slope.value * octets).sum())


def _is_length_of(key: str, flow: str) -> bool:
    """Whether a key is a length of this flow: of its frames, its data or their answers."""
    top, *between = key.split(".")
    if top != "flows" or not between or between.pop() not in ("frames", "data"):
        return False
    name = next((part for part in between if part != "response"), "")
    return not name or name == "*" or name.isdecimal() or name == flow.partition(" ")[0]


def _octets(text: str) -> float:
    try:
        found = quantity(text)
    except UnitError:
        return math.nan
    return float(found.number) * {"B": 1, "kB": 1000, "MB": 1_000_000}.get(found.unit, math.nan)
