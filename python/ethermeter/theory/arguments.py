"""Ranges of the arguments of models, and the check that a queue is stable."""

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Flags, Range, choice

SAME = 1e-9
"""Relative difference up to which two lengths count as equal where a range ends at one of them."""

LOAD = Range(0, 1e9)
SHARE = Range(0, 1)
PROPAGATION = Range(0, 1)
STATIONS = Range(1, 1e15, whole=True)
CHAIN_STATIONS = Range(1, 2000, whole=True)
PACKET_BITS = Range(1e-3, 1e12)
RATE_BPS = Range(1e-3, 1e15)
TIME_S = Range(0, 1e6)
PACKET_S = Range(1e-15, 1e6)
ARRIVAL_RATE = Range(0, 1e15)
COLLISION_SLOTS = Range(1, 1e9)
WHOLE_SLOTS = Range(1, 1e9, whole=True)
SLOTS = Range(1e-6, 1e9)
PROBABILITY = Range(1e-12, 1)
WEIGHT = Range(0, 1e9)

UNSTABLE = ("error", "nan")
"""What a delay model does where the queue grows without bound: refuse, or give NaN."""


def stable(model: str, name: str, value: Array, limit: Array, unstable: str) -> Flags:
    """Return where the queue is stable, that is `value` < `limit`.

    Raises
    ------
    ArgumentError
        If it is not everywhere and `unstable` is "error".

    """
    choice(model, "unstable", unstable, UNSTABLE)
    good: Flags = np.asarray(value < limit)
    if unstable == "error" and not good.all():
        at, most = value[~good].flat[0], np.broadcast_to(limit, value.shape)[~good].flat[0]
        raise ArgumentError(
            model,
            name,
            f"{at:.12g}",
            f'below {most:.6g}, from where the delay has no limit; unstable="nan" gives NaN there',
        )
    return good
