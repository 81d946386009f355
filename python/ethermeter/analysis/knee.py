"""The knee of a curve: where it stops being flat or stops rising."""

from dataclasses import dataclass

import numpy as np

from ethermeter.analysis.interval import Floats


@dataclass(frozen=True, slots=True)
class Knee:
    """A point of a curve, and its distance from the chord as a share of the curve's extent.

    The distance is 0 on a straight line.
    """

    x: float
    y: float
    distance: float


def knee(x: Floats, y: Floats) -> Knee:
    """Return the point farthest from the chord between the curve's first and last point.

    The rule: scale x and y so that both run from 0 to 1 and take the point with the largest
    vertical distance from the straight line between the ends. It needs no threshold and does not
    depend on units. A straight line has no knee: its distance is 0; judge by it. There must be
    three points at least, with increasing x.

    Source
    ------
    Satopaa, Albrecht, Irwin and Raghavan, Finding a "Kneedle" in a Haystack, ICDCS workshops, 2011,
    without smoothing.
    """
    if x.shape != y.shape or x.size < 3:
        raise ValueError(f"a knee needs at least three points, got {x.size} x and {y.size} y")
    if not (np.diff(x) > 0).all():
        raise ValueError("a knee needs increasing x")
    chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    extent = float(np.ptp(y))
    distance = np.abs(y - chord) / extent if extent > 0 else np.zeros_like(y)
    at = int(np.argmax(distance))
    return Knee(float(x[at]), float(y[at]), float(distance[at]))


CLEAR = 0.1
"""Distance from which a rise counts as a knee; below, the curve is nearly straight."""


def rise(x: Floats, y: Floats) -> Knee | None:
    """Return where a rising curve, such as delay against load, leaves its floor.

    The rule: of the part up to the curve's highest point, the point farthest below the chord
    between its ends, both axes scaled to run from 0 to 1 (`knee`, looking below the chord only).
    What follows the highest point, such as the plateau of full queues, does not show where the rise
    began. None nearer than `CLEAR` to the chord. Points that are not finite are left out; x must
    increase.

    Examples
    --------
    >>> x = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
    >>> rise(x, np.array([1.0, 1.1, 1.2, 1.5, 9.0, 8.9])).x
    0.8
    >>> rise(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])) is None
    True
    """
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if x.size < 3:
        return None
    last = int(np.argmax(y)) + 1
    x, y = x[:last], y[:last]
    if x.size < 3:
        return None
    chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    found = knee(x, np.minimum(y, chord))
    return found if found.distance >= CLEAR else None
