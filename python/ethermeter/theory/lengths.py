"""Lengths of packets: their moments, and the transform that the delay formulas ask for."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Numbers, Range, choice
from ethermeter.theory.arguments import PACKET_S, WEIGHT

LENGTHS = ("fixed", "exponential", "mix")


@dataclass(frozen=True, slots=True)
class PacketTimes:
    """The time a packet takes.

    Parameters
    ----------
    mean_s, square_s2
        First and second moment [s, s^2].
    transform
        From s [1/s] to the mean of e^(-s X).

    """

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
        raise ArgumentError(
            model,
            "weights",
            f"an array of shape {share.shape}",
            f"one for each length: shape {of.shape}",
        )
    if share.sum() == 0:
        raise ArgumentError(model, "weights", "0", "a sum above 0")
    return of, share / share.sum()


def packet_times(
    model: str, packet_s: Numbers, weights: Numbers | None, lengths: str
) -> PacketTimes:
    """Return the packet time for one of the words of `LENGTHS`.

    Raises
    ------
    ArgumentError
        If the lengths are no time, or weights are given without a mix, or a mix without weights.

    """
    choice(model, "lengths", lengths, LENGTHS)
    if lengths == "mix":
        if weights is None:
            raise ArgumentError(
                model, "weights", "nothing", 'one for each length, as lengths is "mix"'
            )
        of, share = mix(model, "packet_s", packet_s, weights, PACKET_S)
        return PacketTimes(
            np.asarray(of @ share),
            np.asarray(of**2 @ share),
            lambda s: np.asarray(np.exp(-np.multiply.outer(s, of)) @ share),
        )
    if weights is not None:
        raise ArgumentError(model, "weights", "given", f'nothing, as lengths is "{lengths}"')
    mean = PACKET_S.read(model, "packet_s", packet_s)
    if lengths == "exponential":
        return PacketTimes(mean, 2 * mean**2, lambda s: 1 / (1 + s * mean))
    return PacketTimes(mean, mean**2, lambda s: np.asarray(np.exp(-s * mean)))
