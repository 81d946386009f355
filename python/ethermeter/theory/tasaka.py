"""Tasaka 1986: stations with buffers on slotted non-persistent CSMA/CD."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy

from ethermeter.arguments import NOTHING, Array, Flags, Numbers, Range, choice, plain
from ethermeter.theory.arguments import CHAIN_STATIONS, PROBABILITY, WHOLE_SLOTS
from ethermeter.theory.entry import Output, Symbol, ThroughputS, catalogued, padded, read
from ethermeter.theory.probability import stationary_falling_by_one
from ethermeter.theory.tobagi_hunt_finite import SLOTTED, CollisionSlots, delayed_cycles

MODEL = "tasaka-1986"
METHODS = ("chain", "equilibrium")
BUFFERS = Range(1, 10_000, whole=True)
RETRANSMISSION = Range(1e-6, 1)
_SCAN = 4000


@dataclass(frozen=True, slots=True)
class Buffered:
    """Performance of stations with buffers; the delay is NaN if nothing gets through.

    `equilibria` are in ascending order, NaN after the last. One is stable; of three the outer two
    are, and the channel is bistable: outside the range, as one value does not describe it
    ("equilibrium" gives the lowest).
    """

    throughput: ThroughputS
    delay_slots: Annotated[
        Array, Output("D", "mean time from arrival to the end of the success", "slots")
    ]
    loss: Annotated[Array, Output("", "fraction of the packets that find all buffers full")]
    equilibria: Annotated[
        Array,
        Output(
            "x",
            "numbers of stations with a packet at which arrivals and departures balance",
            axis="equilibria",
        ),
    ]
    outside_range: Flags


@catalogued(
    "slotted non-persistent CSMA/CD, stations with buffers",
    {
        **SLOTTED,
        "arrivals": "geometric at all stations",
        "retransmission": "the same probability in every idle slot, for new packets too: no"
        " backoff",
        "buffers": "a finite number; a packet that finds all of them full is lost",
        "packet_lengths": "fixed",
    },
    source="S. Tasaka, Dynamic behaviour of a CSMA-CD system with a finite population of buffered"
    " users, IEEE Trans. Communications 34(6), 1986",
    confidence="throughput solid (simulation within 1.5 %, chain 0.1 %); delay approximate:"
    " equilibrium 30 to 75 % low below saturation, chain within 1 % with one buffer or light load"
    " and 20 to 25 % low near saturation with four; doubtful in detail, as a reconstruction from"
    " the abstract",
    validity="one buffer, light load, or saturation; one value does not describe several"
    " equilibria",
)
def tasaka_1986(
    stations: Annotated[Numbers, Symbol("N", "stations", CHAIN_STATIONS)],
    *,
    buffers: Annotated[
        Numbers,
        Symbol(
            "K", "number of packets that a station can hold, the one being sent included", BUFFERS
        ),
    ],
    generation: Annotated[
        Numbers, Symbol("sigma", "probability that a station gets a packet in a slot", PROBABILITY)
    ],
    retransmission: Annotated[
        Numbers,
        Symbol(
            "p", "probability that a station with a packet senses in an idle slot", RETRANSMISSION
        ),
    ],
    packet_slots: Annotated[Numbers, Symbol("T", "length of a packet", WHOLE_SLOTS, "slots")],
    collision_slots: CollisionSlots = 2,
    method: Annotated[
        str,
        Symbol(
            "",
            "method; chain: Markov chain of the number of stations with a packet; "
            "equilibrium: its point of equilibrium",
            METHODS,
        ),
    ] = "chain",
) -> Buffered:
    """Throughput, delay and loss of N stations with K buffers each.

    "chain" is that of the number of stations with a packet, "equilibrium" the point where its mean
    change vanishes. Both are approximations. A collision is sensibly from 2 to T + 1 slots.
    """
    choice(MODEL, "method", method, METHODS)
    n, k, sigma, p, length, gam = read(
        tasaka_1986,
        stations=stations,
        buffers=buffers,
        generation=generation,
        retransmission=retransmission,
        packet_slots=packet_slots,
        collision_slots=collision_slots,
    )
    throughput, delay, loss = (np.empty(n.size) for _ in range(3))
    roots: list[Array] = []
    for at, values in enumerate(
        zip(n.flat, k.flat, sigma.flat, p.flat, length.flat, gam.flat, strict=True)
    ):
        point = _Point(*(float(value) for value in values))
        roots.append(_equilibria(point))
        busy, rate = (
            _by_chain(point)
            if method == "chain"
            else (float(roots[-1][0]), float(_rate(point, roots[-1][:1])[0]))
        )
        throughput[at], delay[at], loss[at] = _figures(point, busy, rate)
    bistable = np.array([row.size > 1 for row in roots], dtype=np.bool_).reshape(n.shape)
    outside = bistable | (gam < 2) | (gam > length + 1)
    return Buffered(
        throughput=plain(throughput.reshape(n.shape)),
        delay_slots=plain(delay.reshape(n.shape)),
        loss=plain(loss.reshape(n.shape)),
        equilibria=padded(roots, n.shape),
        outside_range=plain(outside),
    )


@dataclass(frozen=True, slots=True)
class _Point:
    stations: float
    buffers: float
    generation: float
    retransmission: float
    packet_slots: float
    collision_slots: float


def _rate(point: _Point, busy: Array) -> Array:
    """Return the packets a slot when `busy` stations, whole or not, have a packet."""
    p = point.retransmission
    with np.errstate(under="ignore"):
        none = (1 - p) ** busy if p < 1 else np.where(busy > 0, 0.0, 1.0)
        one = busy * p * (1 - p) ** (busy - 1) if p < 1 else np.where(busy == 1, 1.0, 0.0)
    collides = np.maximum(1 - none - one, 0.0)
    return np.asarray(one / (1 + one * (point.packet_slots + 1) + collides * point.collision_slots))


def _terms(point: _Point, ratio: Array) -> tuple[Array, Array, Array]:
    """Return the shares of empty and full stations and the mean packets, of 1 + r + … + r^K."""
    k = np.arange(point.buffers + 1)
    r = np.asarray(ratio, dtype=np.float64)[..., None]
    with np.errstate(under="ignore", over="ignore"):
        # The largest term is 1, so nothing overflows.
        powers = np.where(r > 1, np.maximum(r, 1.0) ** (k - point.buffers), np.minimum(r, 1.0) ** k)
    total = powers.sum(axis=-1)
    return powers[..., 0] / total, powers[..., -1] / total, (powers * k).sum(axis=-1) / total


def _ratio(point: _Point, busy: Array, rate: Array) -> Array:
    """Return the arrivals over the departures of a station with a packet; at most 1e300."""
    return np.asarray(
        point.generation * busy / np.maximum(rate, point.generation * busy * 1e-300 + 1e-320)
    )


def _equilibria(point: _Point) -> Array:
    """Return the numbers of busy stations x with x = N (1 - share of empty ones), ascending."""

    def excess(busy: Array) -> Array:
        empty, _, _ = _terms(point, _ratio(point, busy, _rate(point, busy)))
        return np.asarray(busy - point.stations * (1 - empty))

    # Equilibria lie near 0 under light load and near N when collapsed: steps that are fine at both
    # ends.
    half = np.concatenate(
        [np.geomspace(1e-12, 1e-3, _SCAN // 8), np.linspace(1e-3, 0.5, _SCAN // 2)[1:]]
    )
    grid = point.stations * np.concatenate([half, 1 - half[-2::-1], [1.0]])
    values = excess(grid)
    changes = np.nonzero(
        (values[:-1] < 0) & (values[1:] >= 0) | (values[:-1] >= 0) & (values[1:] < 0)
    )[0]
    roots = [
        scipy.optimize.brentq(
            lambda x: float(excess(np.array([x]))[0]),
            grid[at],
            grid[at + 1],
            xtol=1e-13,
            rtol=1e-14,
        )
        for at in changes
    ]
    # At N there is never less than what comes; where that holds at the low end too, an equilibrium
    # is still lower.
    return np.array([float(grid[0]), *roots] if values[0] >= 0 else roots)


def _by_chain(point: _Point) -> tuple[float, float]:
    """Return the mean number of busy stations and the packets a slot.

    A station that was served has no further packet with the probability that one with packets has
    exactly one, which depends on the result; the two are brought to agree.
    """

    def solve(empties: float) -> tuple[float, float]:
        cycles = delayed_cycles(
            int(point.stations),
            point.generation,
            point.retransmission,
            np.array([point.packet_slots]),
            np.ones(1),
            point.collision_slots,
            empties=empties,
        )
        pi = stationary_falling_by_one(cycles.transition)
        slots = float(pi @ cycles.slots)
        return float(pi @ cycles.area) / slots, float(pi @ cycles.success) / slots

    def single(busy: float, rate: float) -> float:
        ratio = _ratio(point, np.array([busy]), np.array([rate]))
        empty, _, _ = _terms(_Point(0, point.buffers - 1, 0, 0, 0, 0), ratio)
        return float(empty[0])

    if point.buffers == 1:
        return solve(1.0)
    low = 1e-12
    if single(*solve(low)) <= low:
        return solve(low)
    agreed = scipy.optimize.brentq(
        lambda empties: single(*solve(empties)) - empties, low, 1.0, xtol=1e-12, rtol=1e-10
    )
    return solve(float(agreed))


def _figures(point: _Point, busy: float, rate: float) -> tuple[float, float, float]:
    """Return throughput, delay and loss from the mean busy stations and the packets a slot."""
    ratio = _ratio(point, np.array([busy]), np.array([rate]))
    # Among the busy, 1 … K packets have the shares of 0 … K - 1 with one packet more.
    _, full, more = _terms(_Point(0, point.buffers - 1, 0, 0, 0, 0), ratio)
    delay = busy * (1 + float(more[0])) / rate if rate > NOTHING else float("nan")
    return rate * point.packet_slots, delay, busy / point.stations * float(full[0])
