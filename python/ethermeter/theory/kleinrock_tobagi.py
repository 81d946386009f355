"""Kleinrock and Tobagi 1975: 1-persistent CSMA without collision detection."""

from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, flag, plain
from ethermeter.theory.arguments import FLAG
from ethermeter.theory.entry import (
    EQUALLY_FAR,
    NOT_MODELLED,
    POISSON_INFINITE,
    STABLE_RETRANSMISSION,
    Load,
    Propagation,
    Symbol,
    Throughput,
    catalogued,
    read,
)
from ethermeter.theory.probability import mean_decay

MODEL = "kleinrock-tobagi-1975"


@catalogued(
    "1-persistent CSMA without collision detection: the limit of the later models",
    {
        "slotting": "slots of one propagation time, or none",
        "persistence": "1-persistent",
        "retransmission": STABLE_RETRANSMISSION,
        "collision_length": "a packet: there is no collision detection",
        "topology": EQUALLY_FAR,
        "packet_lengths": "fixed",
        **POISSON_INFINITE,
        **NOT_MODELLED,
    },
    source="L. Kleinrock, F. A. Tobagi, Packet switching in radio channels, IEEE Trans."
    " Communications 23(12), 1975",
    confidence="mathematics solid; the formulas are the paper's as remembered",
    validity="any load",
)
def kleinrock_tobagi_1975(
    load: Load,
    *,
    propagation: Propagation,
    slotted: Annotated[
        bool, Symbol("", "whether starts are synchronised to slots of one propagation time", FLAG)
    ] = True,
) -> Throughput:
    """Throughput of 1-persistent CSMA without collision detection.

    Examples
    --------
    >>> round(float(kleinrock_tobagi_1975(1.0, propagation=0.05, slotted=False).throughput), 5)
    0.49303

    """
    g, a = read(kleinrock_tobagi_1975, load=load, propagation=propagation)
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
