"""Growth: how long a queue takes to fill a room, or to come into balance."""

import math
from typing import NamedTuple

_SMALL = 1e-3


class Growth(NamedTuple):
    """How a queue grows: its mean and its variance in a picosecond, in frames or octets."""

    mean: float
    variance: float

    def __add__(self, other: object) -> "Growth":
        """Return the growth by two flows together."""
        assert isinstance(other, Growth)
        return Growth(self.mean + other.mean, self.variance + other.variance)

    def fill_ps(self, room: int | None) -> float:
        """Return the mean time in which a room is full; infinite without a limit."""
        return math.inf if room is None else fill_time(room, self.mean, self.variance)


def fill_time(room: float, mean: float, variance: float) -> float:
    """Return the mean time until a queue that grows has filled a room, from empty.

    Parameters
    ----------
    room
        Size of the room.
    mean, variance
        Growth in a unit of time, above 0, and its variance.

    Returns
    -------
    :
        The mean time that a Brownian motion takes from 0, where it is reflected, to the room: the
        solution of v T″ / 2 + g T′ = −1 with T′ = 0 at 0 and T = 0 at the room.

    Examples
    --------
    Without variance, and with so little growth that chance fills the room:

    >>> fill_time(100, 2.0, 0.0)
    50.0
    >>> round(fill_time(10, 1e-9, 4.0), 6)
    25.0

    """
    x = 2 * mean * room / variance if variance > 0 else math.inf
    if math.isinf(x):
        return room / mean
    # x - 1 + exp(-x), of which little is left where x is small.
    rest = x**2 / 2 * (1 - x / 3) if x < _SMALL else x + math.expm1(-x)
    return variance / (2 * mean**2) * rest


def settling_time(room: float, slack: float, variance: float) -> float:
    """Return the time in which a queue that does not grow comes into balance.

    Parameters
    ----------
    room
        Size of the room.
    slack
        By how much the queue shrinks in a unit of time, 0 or more, while it is not empty.
    variance
        Of what comes in a unit of time.

    Returns
    -------
    :
        The relaxation time of a Brownian motion with this drift and variance that is reflected at 0
        and at the room: 1/t = g² / 2v + π² v / 2b². After it, a queue that began empty has 94% of
        its mean length, if its room is large (J. Abate and W. Whitt, "Transient behavior of
        regulated Brownian motion", 1987).

    Examples
    --------
    Of a queue M/M/1 with a service time of 1 it is 1 / (1 - √ρ)², and near a load of 1 almost 4 /
    (1 - ρ)²; a small room is in balance soon.

    >>> round(settling_time(math.inf, 0.01, 2.0))
    40000
    >>> round(1 / (1 - math.sqrt(0.99)) ** 2)
    39800
    >>> round(settling_time(10, 0.0, 2.0), 2)
    10.13

    """
    if not variance > 0:
        return 0.0
    rate = slack**2 / (2 * variance) + math.pi**2 * variance / (2 * room**2)
    return 1 / rate if rate > 0 else math.inf
