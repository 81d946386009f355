"""Tobagi and Hunt 1980: slotted non-persistent CSMA/CD with a finite population."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import special

from ethermeter.arguments import NOTHING, Array, Flags, Numbers, flag, plain
from ethermeter.theory.arguments import CHAIN_STATIONS, FLAG, PROBABILITY, WEIGHT, WHOLE_SLOTS, mix
from ethermeter.theory.entry import (
    EQUALLY_FAR,
    NOT_MODELLED,
    Output,
    Symbol,
    ThroughputS,
    catalogued,
    read,
)
from ethermeter.theory.probability import (
    binomial,
    some_of,
    stationary_falling_by_one,
    two_or_more_of,
)
from ethermeter.theory.tobagi_hunt import SOURCE

MODEL = "tobagi-hunt-1980-finite"
CollisionSlots = Annotated[
    Numbers, Symbol("gam", "length of a collision: 2 slots and the jam", WHOLE_SLOTS, "slots")
]
SLOTTED = {
    "slotting": "slots of one propagation time",
    "persistence": "non-persistent",
    "population": "finite, all stations alike",
    "collision_length": "fixed: collision_slots",
    "topology": EQUALLY_FAR,
    **NOT_MODELLED,
}


@dataclass(frozen=True, slots=True)
class FiniteNonPersistent:
    """Performance of a finite population; the delay is NaN if nothing gets through."""

    throughput: ThroughputS
    delay_slots: Annotated[
        Array, Output("D", "mean time from generation to the end of the success", "slots")
    ]
    backlog: Annotated[
        Array,
        Output("N_b", "mean number of stations with a packet, the one being sent included"),
    ]
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class Cycles:
    """The chain of idle slots: its transition matrix, and for every state means to the next one.

    `success` is the probability that a packet is sent, `slots` the length [slots], and `area` the
    number of stations with a packet, summed over the slots.
    """

    transition: Array
    success: Array
    slots: Array
    area: Array


@catalogued(
    "throughput and delay of slotted non-persistent CSMA/CD with a finite population",
    {
        **SLOTTED,
        "arrivals": "geometric, only at stations without a packet",
        "retransmission": "the same probability in every idle slot: no backoff",
        "buffers": "one packet",
        "packet_lengths": "fixed, or a mix",
    },
    source=SOURCE,
    confidence="mathematics solid: simulation within 0.13 % for throughput and 0.5 % for delay;"
    " very probably the paper's",
    validity="collisions from 2 slots to that of the shortest packet",
)
def tobagi_hunt_1980_finite(
    stations: Annotated[Numbers, Symbol("M", "stations", CHAIN_STATIONS)],
    *,
    generation: Annotated[
        Numbers,
        Symbol(
            "sigma", "probability that a station without a packet gets one in a slot", PROBABILITY
        ),
    ],
    retransmission: Annotated[
        Numbers,
        Symbol(
            "nu", "probability that a station with a packet senses in an idle slot", PROBABILITY
        ),
    ],
    packet_slots: Annotated[
        Numbers,
        Symbol("T", "length of a packet, or lengths of a mix", WHOLE_SLOTS, "slots", row=True),
    ],
    weights: Annotated[
        Numbers | None, Symbol("", "weights of the lengths of a mix", WEIGHT, row=True)
    ] = None,
    collision_slots: CollisionSlots = 2,
    delayed_first: Annotated[
        bool, Symbol("", "whether a new packet waits in the same way as a repeated one", FLAG)
    ] = False,
) -> FiniteNonPersistent:
    """Throughput and delay of M stations with one packet each (linear feedback model).

    Without `delayed_first` a new packet starts at once if the channel is idle. What is made while
    the channel is busy waits. With `weights`, of any sum, `packet_slots` has the lengths of a mix,
    both of shape (lengths,); without them it broadcasts with the others.
    """
    delayed = flag(MODEL, "delayed_first", delayed_first)
    given = {
        "stations": stations,
        "generation": generation,
        "retransmission": retransmission,
        "collision_slots": collision_slots,
    }
    if weights is None:
        m, sigma, nu, gam, packet = read(
            tobagi_hunt_1980_finite, **given, packet_slots=packet_slots
        )
        lengths, shares = packet.reshape(-1, 1), np.ones((packet.size, 1))
    else:
        m, sigma, nu, gam = read(tobagi_hunt_1980_finite, **given)
        of_mix, of_share = mix(MODEL, "packet_slots", packet_slots, weights, WHOLE_SLOTS)
        lengths, shares = np.tile(of_mix, (m.size, 1)), np.tile(of_share, (m.size, 1))
    throughput, backlog, delay = (np.empty(m.size) for _ in range(3))
    for at, (users, new, again, collision) in enumerate(
        zip(m.flat, sigma.flat, nu.flat, gam.flat, strict=True)
    ):
        build = delayed_cycles if delayed else immediate_cycles
        cycles = build(int(users), new, again, lengths[at], shares[at], collision)
        pi = stationary_falling_by_one(cycles.transition)
        rate = (pi @ cycles.success) / (pi @ cycles.slots)
        throughput[at], backlog[at] = (
            rate * (lengths[at] @ shares[at]),
            (pi @ cycles.area) / (pi @ cycles.slots),
        )
        # Little: the mean number is the rate times the mean time.
        delay[at] = backlog[at] / rate if rate > NOTHING else np.nan
    shortest = lengths.min(axis=1).reshape(m.shape)
    return FiniteNonPersistent(
        throughput=plain(throughput.reshape(m.shape)),
        delay_slots=plain(delay.reshape(m.shape)),
        backlog=plain(backlog.reshape(m.shape)),
        outside_range=plain((gam < 2) | (gam > shortest + 1)),
    )


def immediate_cycles(
    stations: int, new: float, again: float, lengths: Array, shares: Array, collision: float
) -> Cycles:
    """Return the chain of the first slots of idle periods when a new packet starts at once.

    A state is the number n of stations that have a packet. An idle period lasts until a station
    starts; then a success takes T + 1 slots, a collision `collision`, and stations without a packet
    go on making them, each slot with probability `new`.
    """
    n = np.arange(stations + 1.0)
    free = stations - n
    none_new, none_old = (1 - new) ** free, (1 - again) ** n
    starts = -np.expm1(special.xlog1py(free, -new) + special.xlog1py(n, -again))
    one_new = free * new * (1 - new) ** np.maximum(free - 1, 0)
    one_old = n * again * (1 - again) ** np.maximum(n - 1, 0)
    by_new, by_old = one_new * none_old / starts, one_old * none_new / starts
    # Collisions, by how many of the starters are new: none, one, more.
    old_only = none_new * two_or_more_of(n, again) / starts
    one_and_old = one_new * some_of(n, again) / starts
    column, row = n[None, :], n[:, None]
    transition = np.zeros((stations + 1, stations + 1))
    area = n / starts
    slots = 1 / starts
    for length, share in zip(lengths, shares, strict=True):
        made = some_of(np.asarray(length + 1), new)
        transition += share * by_new[:, None] * binomial(column - row, (free - 1)[:, None], made)
        transition += share * by_old[:, None] * binomial(column - row + 1, free[:, None], made)
        area += share * (
            by_new * _sum_of_backlog(stations, n + 1, new, length + 1)
            + by_old * _sum_of_backlog(stations, n, new, length + 1)
        )
        slots += share * (by_new + by_old) * (length + 1)
    made = some_of(np.asarray(collision), new)
    transition += old_only[:, None] * binomial(column - row, free[:, None], made)
    transition += one_and_old[:, None] * binomial(column - row - 1, (free - 1)[:, None], made)
    # k stations got their packet in the collision: they started with it, or made it later.
    made_or_started = some_of(np.asarray(collision + 1), new)
    several = two_or_more_of(np.maximum(column - row, 0.0), new / made_or_started)
    transition += binomial(column - row, free[:, None], made_or_started) * several / starts[:, None]
    # The mean over these of those left without a packet, n (1 - new) P(two or more among n - 1).
    remaining = free * (1 - new) * two_or_more_of(free - 1, new) / starts
    more_new = two_or_more_of(free, new) / starts
    area += old_only * _sum_of_backlog(stations, n, new, collision) + one_and_old * _sum_of_backlog(
        stations, n + 1, new, collision
    )
    area += more_new * stations * collision - remaining * _falling(new, collision)
    slots += (old_only + one_and_old + more_new) * collision
    return Cycles(transition, by_new + by_old, slots, area)


def delayed_cycles(
    stations: int,
    new: float,
    again: float,
    lengths: Array,
    shares: Array,
    collision: float,
    *,
    empties: float = 1.0,
) -> Cycles:
    """Return the chain of all idle slots when a new packet waits as a repeated one does.

    A state is the number n of stations that have a packet. Each senses with probability `again`.
    After none the next slot is idle, after one T + 1 slots follow, after more `collision` slots.
    A served station is without a packet with probability `empties`.
    """
    n = np.arange(stations + 1.0)
    free = stations - n
    none = (1 - again) ** n
    one = n * again * (1 - again) ** np.maximum(n - 1, 0)
    more = two_or_more_of(n, again)
    column, row = n[None, :], n[:, None]
    transition = none[:, None] * binomial(column - row, free[:, None], new)
    transition += more[:, None] * binomial(
        column - row, free[:, None], some_of(np.asarray(collision + 1), new)
    )
    area = none * n + more * _sum_of_backlog(stations, n, new, collision + 1)
    slots = none + more * (collision + 1)
    for length, share in zip(lengths, shares, strict=True):
        made = some_of(np.asarray(length + 2), new)
        served = empties * binomial(column - row + 1, free[:, None], made)
        if empties < 1:
            served = served + (1 - empties) * binomial(column - row, free[:, None], made)
        transition += share * one[:, None] * served
        area += share * one * _sum_of_backlog(stations, n, new, length + 2)
        slots += share * one * (length + 2)
    return Cycles(transition, one, slots, area)


def _falling(new: float, slots: float) -> float:
    """Return the sum of (1 - new)^k over k = 0 … slots - 1."""
    return float(some_of(np.asarray(slots), new)) / new


def _sum_of_backlog(stations: int, n: Array, new: float, slots: float) -> Array:
    """Return the mean number of stations with a packet, summed over `slots` slots from n."""
    return np.asarray(stations * slots - (stations - n) * _falling(new, slots))
