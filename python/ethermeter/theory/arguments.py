"""Arguments of models: their ranges, the lengths of packets, and whether a queue is stable."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Flags, Numbers, Range, choice

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
FLAG = ("true", "false")
LENGTHS = ("fixed", "exponential", "mix")

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


@dataclass(frozen=True, slots=True)
class PacketTimes:
    """Time of a packet: two moments [s, s^2], and s [1/s] to the mean of e^(-s X)."""

    mean_s: Array
    square_s2: Array
    transform: Callable[[Array], Array]


def mix(
    model: str, name: str, values: Numbers, weights: Numbers, allowed: Range
) -> tuple[Array, Array]:
    """Return the values of a mix and their shares, which sum to 1; both of shape (lengths,).

    Raises
    ------
    ArgumentError
        If they are not two rows of one length, or the weights are all zero.

    """
    of, share = allowed.read(model, name, values), WEIGHT.read(model, "weights", weights)
    if of.ndim != 1 or of.size == 0:
        raise ArgumentError(
            model, name, f"an array of shape {of.shape}", "with weights: one row of lengths"
        )
    if share.shape != of.shape:
        given, expected = (
            f"an array of shape {share.shape}",
            f"one for each length: shape {of.shape}",
        )
        raise ArgumentError(model, "weights", given, expected)
    if share.sum() == 0:
        raise ArgumentError(model, "weights", "0", "a sum above 0")
    return of, share / share.sum()


def packet_times(
    model: str, packet_s: Numbers, weights: Numbers | None, lengths: str, *, name: str = "packet_s"
) -> PacketTimes:
    """Return the packet time for one of the words of `LENGTHS`; `name` is that of the argument.

    Raises
    ------
    ArgumentError
        If the lengths are no time, or weights are given without a mix, or a mix without weights.

    """
    choice(model, "lengths", lengths, LENGTHS)
    if lengths == "mix":
        if weights is None:
            expected = 'one for each length, as lengths is "mix"'
            raise ArgumentError(model, "weights", "nothing", expected)
        of, share = mix(model, name, packet_s, weights, PACKET_S)
        return PacketTimes(
            np.asarray(of @ share),
            np.asarray(of**2 @ share),
            lambda s: np.asarray(np.exp(-np.multiply.outer(s, of)) @ share),
        )
    if weights is not None:
        raise ArgumentError(model, "weights", "given", f'nothing, as lengths is "{lengths}"')
    mean = PACKET_S.read(model, name, packet_s)
    if lengths == "exponential":
        return PacketTimes(mean, 2 * mean**2, lambda s: 1 / (1 + s * mean))
    return PacketTimes(mean, mean**2, lambda s: np.asarray(np.exp(-s * mean)))
