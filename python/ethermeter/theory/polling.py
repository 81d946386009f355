"""Boxma and Meister 1987: waits of unlike queues that are served in turn, one message a visit."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, plain
from ethermeter.theory.entry import OF_QUEUES, Output, Symbol, catalogued, read

_QUEUES = Range(0, 1000, whole=True)
RATE = Range(0, 1e12)
TIME_S = Range(0, 1e6)


@dataclass(frozen=True, slots=True)
class Waits:
    """Mean waits of two kinds of queues; NaN and outside the range where they are not stable."""

    wait_s: Annotated[Array, Output("W_1", "mean wait of the first kind", "s")]
    other_wait_s: Annotated[Array, Output("W_2", "mean wait of the other kind", "s")]
    head_s: Annotated[
        Array,
        Output(
            "H_1",
            "part of the mean wait of the first kind that a message spends at the head "
            "of its queue",
            "s",
        ),
    ]
    other_head_s: Annotated[
        Array,
        Output(
            "H_2",
            "part of the mean wait of the other kind that a message spends at the head "
            "of its queue",
            "s",
        ),
    ]
    cycle_s: Annotated[Array, Output("C", "mean time between two visits of a queue", "s")]
    load: Annotated[Array, Output("rho", "share of the time in which messages are served")]
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class Queues:
    """Kinds of queues; the last axis of each array is that of the kinds.

    `count`: queues of the kind. `rate`: messages a second at each. `mean_s`, `square_s2`: mean time
    of a message and of its square.
    """

    count: Array
    rate: Array
    mean_s: Array
    square_s2: Array


def conserved_s(queues: Queues, walk_s: Array) -> Array:
    """Return the sum of rho_i (1 - lambda_i s / (1 - rho)) W_i: the pseudo-conservation law."""
    own = queues.rate * queues.mean_s
    load = (queues.count * own).sum(axis=-1)
    squares = (queues.count * queues.rate * queues.square_s2).sum(axis=-1)
    loads2 = (queues.count * own**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        moving = load * squares + walk_s * (load**2 + loads2)
        return np.asarray(moving / (2 * (1 - load)) + load * walk_s / 2)


def limited_waits(queues: Queues, walk_s: Array) -> tuple[Array, Array, Array]:
    """Return mean waits by kind, the mean time from visit to visit, and the load.

    `walk_s` is the constant time of all switch-overs of a cycle; waits and cycle are NaN where a
    queue gets more than a message a cycle.
    """
    own = queues.rate * queues.mean_s
    load = (queues.count * own).sum(axis=-1)
    loads2 = (queues.count * own**2).sum(axis=-1)
    free, walked = 1 - load, queues.rate * walk_s[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        constant = conserved_s(queues, walk_s) * free / (free * load + loads2)
        waits = constant[..., None] * (free[..., None] + own) / (free[..., None] - walked)
        # Without any message they would wait for the residual of a cycle.
        waits = np.where((load > 0)[..., None], waits, (walk_s / 2)[..., None])
        cycle = walk_s / free
    stable = ((queues.count == 0) | (walked < free[..., None])).all(axis=-1) & (load < 1)
    return np.where(stable[..., None], waits, np.nan), np.where(stable, cycle, np.nan), load


def limited_heads(queues: Queues, walk_s: Array, waits_s: Array) -> Array:
    """Return the mean part of waits that a message spends as the first of its queue.

    An approximation from Little's law: lambda_i (H_i + beta_i) is the share of the time in which a
    message is the first. One that comes then waits for half a cycle in which its queue is served,
    of (s + beta_i) / (1 - rho + rho_i) (Kuehn 1979), and for a whole one behind each other.
    """
    own = queues.rate * queues.mean_s
    load = (queues.count * own).sum(axis=-1)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        served = (walk_s[..., None] + queues.mean_s) / (1 - load + own)
        late = waits_s * (1 - queues.rate * served) - own * served / 2
        return np.asarray(late / (1 - queues.rate * served / 2))


@catalogued(
    "waits of queues of two kinds that are served in turn, one message a visit",
    {
        "arrivals": "Poisson, at each queue",
        "service": "one message at most at each visit, in a fixed order; constant switch-overs",
        "discipline": "first come, first served, at each queue",
        "buffers": "unlimited",
    },
    aspects=OF_QUEUES,
    source="O. J. Boxma, W. P. Groenendijk, Pseudo-conservation laws in cyclic-service systems,"
    " Journal of Applied Probability 24(4), 1987; O. J. Boxma, B. Meister, Waiting-time"
    " approximations for cyclic-service systems with switch-over times, Performance Evaluation"
    " 7(4), 1987",
    confidence="exact where all queues are alike, for the sum of waits weighted by load otherwise;"
    " single waits are an approximation, up to 40% off where loads differ much, and so are times as"
    " the first of the queue; on a bus of 10BASE-T1S of nodes that are alike within 20%",
    validity="rates below one message a cycle, at each queue",
)
def boxma_meister_1987(
    arrival_rate: Annotated[
        Numbers, Symbol("lambda_1", "arrival rate at each queue of the first kind", RATE, "1/s")
    ],
    *,
    queues: Annotated[Numbers, Symbol("N_1", "number of queues of the first kind", _QUEUES)],
    service_s: Annotated[
        Numbers,
        Symbol("beta_1", "service time of a message at a queue of the first kind", TIME_S, "s"),
    ],
    walk_s: Annotated[Numbers, Symbol("s", "sum of the switch-over times of a cycle", TIME_S, "s")],
    other_rate: Annotated[
        Numbers, Symbol("lambda_2", "arrival rate at each queue of the other kind", RATE, "1/s")
    ] = 0.0,
    others: Annotated[Numbers, Symbol("N_2", "number of queues of the other kind", _QUEUES)] = 0,
    other_service_s: Annotated[
        Numbers,
        Symbol("beta_2", "service time of a message at a queue of the other kind", TIME_S, "s"),
    ] = 0.0,
) -> Waits:
    """Mean waits W_i = c (1 - rho + rho_i) / (1 - rho - lambda_i s), of constant messages.

    The constant c is that of the pseudo-conservation law: the sum of rho_i (1 - lambda_i s /
    (1 - rho)) W_i is rho Sum lambda_i beta_i^2 / (2 (1 - rho)) + rho s / 2 + s (rho^2 + Sum
    rho_i^2) / (2 (1 - rho)).

    Examples
    --------
    One queue with a switch-over behind each message is M/G/1 with vacations: at a load of 0.25,
    messages of 1 s and switch-overs of 0.5 s, W = (0.125 + 0.125 + 0.1875) / 0.625 s.

    >>> found = boxma_meister_1987(0.25, queues=1, service_s=1.0, walk_s=0.5)
    >>> round(float(found.wait_s), 9)
    0.7

    """
    rate, count, service, walk, other, number, other_service = read(
        boxma_meister_1987,
        arrival_rate=arrival_rate,
        queues=queues,
        service_s=service_s,
        walk_s=walk_s,
        other_rate=other_rate,
        others=others,
        other_service_s=other_service_s,
    )
    kinds = Queues(
        np.stack([count, number], axis=-1),
        np.stack([rate, other], axis=-1),
        np.stack([service, other_service], axis=-1),
        np.stack([service**2, other_service**2], axis=-1),
    )
    waits, cycle, load = limited_waits(kinds, walk)
    heads = limited_heads(kinds, walk, waits)
    return Waits(
        plain(waits[..., 0]),
        plain(np.where(number > 0, waits[..., 1], np.nan)),
        plain(heads[..., 0]),
        plain(np.where(number > 0, heads[..., 1], np.nan)),
        plain(cycle),
        plain(load),
        plain(np.isnan(cycle)),
    )
