"""Kleinrock and Tobagi 1975: 1-persistent CSMA without collision detection."""

import numpy as np

from ethermeter.arguments import Array, Numbers, flag, plain, together
from ethermeter.theory.arguments import LOAD, PROPAGATION
from ethermeter.theory.entry import (
    EQUALLY_FAR,
    LOAD_G,
    NOT_MODELLED,
    POISSON_INFINITE,
    PROPAGATION_A,
    THROUGHPUT_S,
    Model,
    Symbol,
    Throughput,
    assuming,
)
from ethermeter.theory.special import mean_decay

MODEL = "kleinrock-tobagi-1975"


def kleinrock_tobagi_1975(
    load: Numbers, *, propagation: Numbers, slotted: bool = True
) -> Throughput:
    """Throughput of 1-persistent CSMA without collision detection.

    Parameters
    ----------
    load
        G, attempts a packet time; at least 0.
    propagation
        a, one-way propagation over packet time; from 0 to 1.
    slotted
        Whether starts are synchronised to slots of one propagation time.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range or the shapes do not broadcast.

    Assumptions
    -----------
    Infinite Poisson population, new packets and repeated ones together; all stations one
    propagation time apart; fixed lengths.

    Source
    ------
    Kleinrock and Tobagi, IEEE T-COM 23(12), 1975.

    Examples
    --------
    >>> round(float(kleinrock_tobagi_1975(1.0, propagation=0.05, slotted=False).throughput), 5)
    0.49303

    """
    g, a = together(MODEL, load=(load, LOAD), propagation=(propagation, PROPAGATION))
    with np.errstate(under="ignore"):
        value = _slotted(g, a) if flag(MODEL, "slotted", slotted) else _unslotted(g, a)
    return Throughput(
        throughput=plain(value), outside_range=plain(np.zeros(value.shape, dtype=np.bool_))
    )


def _slotted(g: Array, a: Array) -> Array:
    # Divided by a, so that there is a value at a = 0; x is (1 - e^-aG)/a.
    x, silent = g * mean_decay(a * g), np.exp(-g * (1 + a))
    return np.asarray(g * silent * (1 + x) / ((1 + a) * x + silent))


def _unslotted(g: Array, a: Array) -> Array:
    above = g * (1 + g + a * g * (1 + g + a * g / 2)) * np.exp(-g * (1 + 2 * a))
    below = g * (1 + 2 * a) + np.expm1(-a * g) + (1 + a * g) * np.exp(-g * (1 + a))
    return np.asarray(above / below)


ENTRIES = (
    Model(
        MODEL,
        "1-persistent CSMA without collision detection: the limit of the later models",
        1975,
        kleinrock_tobagi_1975,
        (
            LOAD_G,
            PROPAGATION_A,
            Symbol(
                "slotted",
                "",
                "",
                "whether starts are synchronised to slots of one propagation time",
                ("true", "false"),
                default=True,
            ),
        ),
        (THROUGHPUT_S,),
        assuming(
            slotting="slots of one propagation time, or none",
            persistence="1-persistent",
            retransmission="a stable rate, part of the load",
            collision_length="a packet: there is no collision detection",
            topology=EQUALLY_FAR,
            packet_lengths="fixed",
            **POISSON_INFINITE,
            **NOT_MODELLED,
        ),
        "L. Kleinrock, F. A. Tobagi, Packet switching in radio channels, IEEE Trans."
        " Communications 23(12), 1975",
        "mathematics solid; the formulas are the paper's as remembered",
        "any load",
    ),
)
