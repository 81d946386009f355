"""Boxma and Groenendijk 1988: exact waits of two queues that are served in turn.

The joint generating functions F_i(z1, z2) of both queues when the server comes to queue i, with
arrivals A(t) = exp(-t (lambda_1 (1 - z1) + lambda_2 (1 - z2))), messages B_i = E A(beta_i) and
switch-overs S_i = A(s_i) behind queue i, are

    F_2 = S_1 ((F_1 - g(z2)) B_1 / z1 + g(z2)),  g(z2) = F_1(0, z2)
    F_1 = S_2 ((F_2 - h(z1)) B_2 / z2 + h(z1)),  h(z1) = F_2(z1, 0).

Together they give F_1 times the kernel 1 - S_1 S_2 B_1 B_2 / (z1 z2). F_1 is finite within the unit
discs, so that where the kernel is 0 there, S_1 B_2 (z1 - B_1) / z1 g(z2) + (z2 - B_2) h(z1) = 0.
The paper reduces this to a boundary value problem. Here the power series of g and h are found by
least squares at many such places; the coefficients fall off geometrically. What is found is checked
by the last of them, and by the pseudo-conservation law, which the solution does not use.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import scipy

from ethermeter.arguments import Array, Flags, Numbers, plain
from ethermeter.theory.entry import OF_QUEUES, Output, Symbol, catalogued, read
from ethermeter.theory.polling import RATE, TIME_S, Queues, conserved_s

Complex = npt.NDArray[np.complex128]
FEWEST, MOST = 32, 512
"""Coefficients of each power series: of the first attempt, and at most."""
TOLERANCE = 1e-6
"""Relative error of the weighted sum of waits, by the pseudo-conservation law."""
TAIL = 1e-10
"""Largest of the last eighth of the coefficients."""
LEAST_SHARE = 1e-3
"""Messages of a queue in a cycle, below which rounding would show."""
STEPS = 200
"""Of the fixed-point iteration for a place; Newton's method goes on from there."""


@dataclass(frozen=True, slots=True)
class TwoWaits:
    """Exact mean waits of two queues; NaN and outside the range where they are not found."""

    wait_s: Annotated[Array, Output("W_1", "mean wait of the first queue", "s")]
    other_wait_s: Annotated[Array, Output("W_2", "mean wait of the other queue", "s")]
    head_s: Annotated[
        Array,
        Output(
            "H_1",
            "part of the mean wait of the first queue that a message spends at the head "
            "of the queue",
            "s",
        ),
    ]
    other_head_s: Annotated[
        Array,
        Output(
            "H_2",
            "part of the mean wait of the other queue that a message spends at the head "
            "of the queue",
            "s",
        ),
    ]
    cycle_s: Annotated[Array, Output("C", "mean time between two visits of a queue", "s")]
    load: Annotated[Array, Output("rho", "share of the time in which messages are served")]
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class Queue:
    """One of two queues: messages a second, their times and weights, and the switch-over behind."""

    rate: float
    times_s: Array
    weights: Array
    walk_s: float

    @property
    def mean_s(self) -> float:
        """Mean time of a message."""
        return float(self.times_s @ self.weights)

    @property
    def square_s2(self) -> float:
        """Mean square of the time of a message."""
        return float(self.times_s**2 @ self.weights)


@dataclass(frozen=True, slots=True)
class QueueWait:
    """Mean wait of a message, and the part of it as the first of its queue, in s."""

    wait_s: float
    head_s: float


def waits_of_two(first: Queue, second: Queue) -> tuple[QueueWait, QueueWait] | None:
    """Return the exact mean waits; None where queues are not stable, or too near to a limit."""
    pair = (first, second)
    rates, means_s, squares_s2 = (
        np.array([getattr(each, name) for each in pair]) for name in ("rate", "mean_s", "square_s2")
    )
    walk_s, load = first.walk_s + second.walk_s, float(rates @ means_s)
    if load >= 1 or not walk_s > 0:
        return None
    # Messages of each queue in a mean cycle.
    shares = rates * walk_s / (1 - load)
    if shares.max() >= 1 or shares.min() < LEAST_SHARE:
        return None
    conserved = float(conserved_s(Queues(np.ones(2), rates, means_s, squares_s2), np.array(walk_s)))
    count = FEWEST
    while count <= MOST:
        series = _Series(first, second, shares, count)
        waits = series.waits()
        weighted = float(rates * means_s * (1 - shares) @ [each.wait_s for each in waits])
        if series.tail <= TAIL and abs(weighted / conserved - 1) <= TOLERANCE:
            return waits
        count *= 2
    return None


class _Series:
    """The power series of g and h with so many coefficients each.

    `shares` are the messages of each queue in a mean cycle: g(1) and h(1) are what they leave of 1.
    """

    def __init__(self, first: Queue, second: Queue, shares: Array, count: int) -> None:
        self.pair, self.shares = (first, second), shares
        self.walk_s = first.walk_s + second.walk_s
        places = np.exp(2j * np.pi * (np.arange(2 * count) + 0.5) / (4 * count))
        z1 = np.concatenate([places, self._partner(places, 1)])
        z2 = np.concatenate([self._partner(places, 0), places])
        x = first.rate * (1 - z1) + second.rate * (1 - z2)
        b1, b2 = _message(first, x), _message(second, x)
        of_g = np.exp(-first.walk_s * x) * b2 * (z1 - b1) / z1
        powers = np.arange(count)
        rows = np.concatenate(
            [of_g[:, None] * z2[:, None] ** powers, (z2 - b2)[:, None] * z1[:, None] ** powers],
            axis=1,
        )
        sums = np.kron(np.eye(2), np.ones(count))
        wanted = np.zeros(2 * len(rows) + 2)
        wanted[-2:] = 1 - shares
        system = np.concatenate([rows.real, rows.imag, sums])
        found, *_ = scipy.linalg.lstsq(system, wanted, lapack_driver="gelsy")
        self.coefficients = found.reshape(2, count)
        self.tail = float(np.abs(self.coefficients[:, -count // 8 :]).max())

    def waits(self) -> tuple[QueueWait, QueueWait]:
        """Return the waits, from the messages of a queue when the server comes to it."""
        found = []
        for own, queue in enumerate(self.pair):
            chances, share = self._chances(own), self.shares[own]
            # A wait leaves the arrivals of its time behind the message.
            behind = float(np.arange(len(chances) - 1) @ chances[1:]) / share
            # A queue is empty as often as a message leaves it so, and by Little's law some message
            # is the first of it for the rest of the time.
            is_left_empty = chances[1] / share * float(_message(queue, np.array(queue.rate)))
            head_s = (1 - is_left_empty) / queue.rate - queue.mean_s
            found.append(QueueWait(behind / queue.rate, head_s))
        return found[0], found[1]

    def _partner(self, places: Complex, own: int) -> Complex:
        """Return the other coordinate within the unit disc where z1 z2 is the kernel's product.

        `own` is the queue of the places. The product over the place maps the disc to itself.
        """
        rate, other = (self.pair[number].rate for number in (own, 1 - own))
        found = np.zeros_like(places)
        for step in range(2 * STEPS):
            product, slope = self._product(rate * (1 - places) + other * (1 - found))
            value = product / places
            newton = found - (found - value) / (1 + other * slope * value)
            found = value if step < STEPS else newton
        return found

    def _product(self, x: Complex) -> tuple[Complex, Complex]:
        """Return S_1 S_2 B_1 B_2, and the derivative of its logarithm, by x."""
        product, slope = np.exp(-self.walk_s * x), np.full_like(x, -self.walk_s)
        for queue in self.pair:
            message = _message(queue, x)
            product = product * message
            slope -= (
                np.exp(-np.multiply.outer(x, queue.times_s))
                @ (queue.weights * queue.times_s)
                / message
            )
        return product, slope

    def _chances(self, own: int) -> Array:
        """Return how likely a queue has n messages when the server comes to it.

        The coefficients of F_1(z, 1) or F_2(1, z), by a discrete Fourier transform.
        """
        queue, other = self.pair[own], self.pair[1 - own]
        count = 4 * self.coefficients.shape[1]
        z = np.exp(2j * np.pi * (np.arange(count) + 0.5) / count)
        x = queue.rate * (1 - z)
        product, _ = self._product(x)
        of_other = np.polynomial.polynomial.polyval(z, self.coefficients[1 - own])
        of_both = product / _message(queue, x) * (z - _message(queue, x)) * (1 - self.shares[own])
        alone = np.exp(-other.walk_s * x) * (1 - _message(other, x)) * z * of_other
        values = (of_both + alone) / (z - product)
        shift = np.exp(-1j * np.pi * np.arange(count) / count)
        return np.asarray((np.fft.fft(values) / count * shift).real)


def _message(queue: Queue, x: Complex | Array) -> Complex:
    """Return the transform of the time of a message, E exp(-x beta)."""
    return np.asarray(np.exp(-np.multiply.outer(x, queue.times_s)) @ queue.weights)


@catalogued(
    "exact waits of two queues that are served in turn, one message a visit",
    {
        "arrivals": "Poisson, at each queue",
        "service": "one message at most at each visit; constant switch-overs",
        "discipline": "first come, first served, at each queue",
        "buffers": "unlimited",
    },
    aspects=OF_QUEUES,
    source="O. J. Boxma, W. P. Groenendijk, Two queues with alternating service and switching"
    " times, in: Queueing Theory and its Applications, North-Holland 1988; solved here by series",
    confidence="exact: solved until the weighted sum of the waits is within 1e-6 of that by the"
    " pseudo-conservation law, which the solution does not use",
    validity="rates below one message a cycle and above 0.001, at each queue; there is no value"
    " where waits are longer than some 40 messages",
)
def boxma_groenendijk_1988(
    arrival_rate: Annotated[
        Numbers, Symbol("lambda_1", "arrival rate at the first queue", RATE, "1/s")
    ],
    *,
    service_s: Annotated[
        Numbers, Symbol("beta_1", "service time of a message at the first queue", TIME_S, "s")
    ],
    walk_s: Annotated[
        Numbers, Symbol("s_1", "switch-over time after the first queue", TIME_S, "s")
    ],
    other_rate: Annotated[
        Numbers, Symbol("lambda_2", "arrival rate at the other queue", RATE, "1/s")
    ],
    other_service_s: Annotated[
        Numbers, Symbol("beta_2", "service time of a message at the other queue", TIME_S, "s")
    ],
    other_walk_s: Annotated[
        Numbers, Symbol("s_2", "switch-over time after the other queue", TIME_S, "s")
    ],
) -> TwoWaits:
    """Mean waits of two queues with constant messages, and the part as the first of the queue.

    Examples
    --------
    Two queues that are alike have the wait of limited service on a token ring of two stations,
    (lambda beta^2 + s (1 + rho / 2)) / (2 (1 - rho - lambda s / 2)) with both rates together.

    >>> found = boxma_groenendijk_1988(
    ...     0.2, service_s=1.0, walk_s=0.1, other_rate=0.2, other_service_s=1.0, other_walk_s=0.1
    ... )
    >>> wait_s = (0.4 + 0.2 * 1.2) / (2 * (1 - 0.4 - 0.04))
    >>> round(float(found.wait_s), 6) == round(wait_s, 6)
    True

    """
    arrays = read(
        boxma_groenendijk_1988,
        arrival_rate=arrival_rate,
        service_s=service_s,
        walk_s=walk_s,
        other_rate=other_rate,
        other_service_s=other_service_s,
        other_walk_s=other_walk_s,
    )
    rate, service, walk, other, other_service, other_walk = arrays
    found = np.full((4, rate.size), np.nan)
    for at, point in enumerate(zip(*(each.ravel().tolist() for each in arrays), strict=True)):
        waits = waits_of_two(_constant(*point[:3]), _constant(*point[3:]))
        if waits is not None:
            one, two = waits
            found[:, at] = one.wait_s, two.wait_s, one.head_s, two.head_s
    found = found.reshape(4, *rate.shape)
    load = rate * service + other * other_service
    outside = np.isnan(found[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        cycle = np.where(outside, np.nan, (walk + other_walk) / (1 - load))
    return TwoWaits(*(plain(each) for each in (*found, cycle, load, outside)))


def _constant(rate: float, time_s: float, walk_s: float) -> Queue:
    return Queue(rate, np.array([time_s]), np.ones(1), walk_s)
