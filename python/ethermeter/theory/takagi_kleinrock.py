"""Takagi and Kleinrock 1985: 1-persistent CSMA/CD without slots.

A collision that outlasts a packet, a + b above 1, is outside the range of all three.
"""

from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, plain
from ethermeter.theory.arguments import SAME
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
from ethermeter.theory.probability import binomial, stationary, two_or_more

FINITE_STATIONS = Range(2, 1000, whole=True)
_NODES = 24

Abort = Annotated[
    Numbers,
    Symbol(
        "b",
        "time from the detection of a collision to the end of the transmission, over packet time",
        Range(0, 1e6),
    ),
]
_SOURCE = (
    "H. Takagi, L. Kleinrock, Throughput analysis for persistent CSMA systems, IEEE Trans."
    " Communications 33(7), 1985"
)
_ASSUMED = {
    "slotting": "none",
    "persistence": "1-persistent",
    "retransmission": STABLE_RETRANSMISSION,
    "collision_length": "by the physics: 2a + b and the first rival's start",
    "topology": EQUALLY_FAR,
    "packet_lengths": "fixed",
    **POISSON_INFINITE,
    **NOT_MODELLED,
}
_VALIDITY = "a collision no longer than a packet: a + b up to 1"


@catalogued(
    "unslotted 1-persistent CSMA/CD",
    _ASSUMED,
    source=_SOURCE,
    confidence="mathematics solid: simulation within 0.4 %; identity with the paper's formula"
    " doubtful, as the second peak reported of it is absent",
    validity=_VALIDITY,
    notes=(
        "The authors' unslotted CSMA/CD was disputed: Sohraby, Molle, Venetsanopoulos, IEEE Trans."
        " Communications 35(2), 1987.",
    ),
)
def takagi_kleinrock_1985(load: Load, *, propagation: Propagation, abort: Abort) -> Throughput:
    """Throughput of unslotted 1-persistent CSMA/CD, by the physics of the authors' model.

    Packets that start together are noticed by their senders a propagation time later, as any
    collision.
    """
    g, a, b = read(takagi_kleinrock_1985, load=load, propagation=propagation, abort=abort)
    with np.errstate(under="ignore"):
        from_single = _single_after_single(g, a, b)
        waiting = g * (a + b)
        from_several = np.exp(-waiting) * (1 + waiting)
        single = np.divide(
            from_several,
            1 - from_single + from_several,
            out=np.zeros_like(g),
            where=from_several > 0,
        )
        # Times G, so that there is a value without load.
        cycle = single * _cycle_of_single(g, a, b) + (1 - single) * (
            g * (2 * a + b) + np.exp(-waiting)
        )
        value = np.divide(single * np.exp(-a * g) * g, cycle, out=np.zeros_like(g), where=cycle > 0)
    return Throughput(throughput=plain(value), outside_range=plain(_too_long(a, b)))


@catalogued(
    "unslotted 1-persistent CSMA/CD, variant with a second peak: an artefact",
    {
        **_ASSUMED,
        "collision_length": "of packets that start together: that of a success, unless another"
        " comes within the propagation time",
    },
    source=_SOURCE
    + ", as reported by D. R. Boggs, J. C. Mogul, C. A. Kent, WRL 88/4, 1988, section 2.4.6",
    confidence="mathematics solid for its assumption (simulation within 1 %); that this is what the"
    " paper computes is a hypothesis",
    validity="no real network: the variant shows how the reported second peak can arise",
    notes=("Artefact: this variant reproduces the reported double peak; do not predict with it.",),
)
def takagi_kleinrock_1985_double_peak(
    load: Load, *, propagation: Propagation, abort: Abort
) -> Throughput:
    """Throughput of a variant that shows the second peak reported of the paper: an artefact.

    Packets that start together are not noticed as a collision unless a further one comes within the
    propagation time, so that they last as long as a success.
    """
    g, a, b = read(
        takagi_kleinrock_1985_double_peak, load=load, propagation=propagation, abort=abort
    )
    with np.errstate(under="ignore"):
        value = _single_after_single(g, a, b) * np.exp(-a * g) * g / _cycle_of_single(g, a, b)
    return Throughput(throughput=plain(value), outside_range=plain(_too_long(a, b)))


def _single_after_single(g: Array, a: Array, b: Array) -> Array:
    """Return the probability that a period begun by one packet is followed by another such."""
    rivals, waiting = 2 * a * g, g * (a + b)
    some = -np.expm1(-rivals)
    after_success = np.exp(-a * g) * np.exp(-g) * (1 + g)
    return np.asarray(
        after_success + np.exp(-waiting) * (some / 2 + waiting * some / 2 + two_or_more(rivals) / 4)
    )


def _cycle_of_single(g: Array, a: Array, b: Array) -> Array:
    """Return the mean length of a period begun by one packet and its silence, times G."""
    quiet, waiting = np.exp(-a * g), g * (a + b)
    success = quiet * (g * (1 + a) + np.exp(-g))
    collision = -np.expm1(-a * g) * (2 * a + b) * g + two_or_more(a * g)
    return np.asarray(success + collision + np.exp(-waiting) * -np.expm1(-2 * a * g) / 2)


def _too_long(a: Array, b: Array) -> Flags:
    """Return where a collision would outlast a packet."""
    return np.asarray(a + b > 1 + SAME)


@catalogued(
    "unslotted 1-persistent CSMA/CD with a finite population",
    {
        **_ASSUMED,
        "population": "finite",
        "arrivals": "Poisson while idle, new and repeated together",
        "buffers": "one packet",
    },
    source=_SOURCE,
    confidence="mathematics solid: simulation within 0.12 %; identity with the paper's formula"
    " doubtful",
    validity=_VALIDITY,
    notes=("All stations of a busy period are idle again at its end, also after a collision.",),
)
def takagi_kleinrock_1985_finite(
    load: Load,
    *,
    stations: Annotated[
        Numbers, Symbol("M", "number of stations that share the load", FINITE_STATIONS)
    ],
    propagation: Propagation,
    abort: Abort,
) -> Throughput:
    """Throughput of unslotted 1-persistent CSMA/CD with a finite population (reconstruction).

    The load is of all stations together while they are idle: an idle station gets a packet at rate
    G/M and has at most one.
    """
    g, m, a, b = read(
        takagi_kleinrock_1985_finite,
        load=load,
        stations=stations,
        propagation=propagation,
        abort=abort,
    )
    value = np.zeros(g.size)
    for at, (gi, mi, ai, bi) in enumerate(zip(g.flat, m.flat, a.flat, b.flat, strict=True)):
        if gi > 0:
            value[at] = _finite(float(gi), int(mi), float(ai), float(bi))
    return Throughput(
        throughput=plain(value.reshape(g.shape)), outside_range=plain(_too_long(a, b))
    )


def _finite(g: float, stations: int, a: float, b: float) -> float:
    """Return the throughput by the chain of how many start a busy period.

    With k = 0 ready at the end of one, all are idle until one starts. A single start at 0 fails if
    the first rival comes at z < a; by 2a+b+z all is quiet again. Every other station takes part too
    if its packet comes in (z, a), and waits if it comes after a.
    """
    each = g / stations
    starters = np.arange(1.0, stations + 1)
    ready = np.arange(0.0, stations + 1)
    with np.errstate(under="ignore"):
        quiet = np.exp(-(stations - 1) * each * a)
        # After several starts: a packet that comes in (a, 2a+b) waits.
        waits = np.exp(-each * a) * -np.expm1(-each * (a + b))
        to = binomial(ready[None, :], (stations - starters)[:, None], waits)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        # The first rival's time, by its probability u to have come: u is uniform below 1 - quiet,
        # which makes the integrand smooth.
        u = (nodes + 1) / 2 * (1 - quiet)
        z = -np.log1p(-u) / ((stations - 1) * each)
        waits_z = np.exp(-each * (a - z)) * -np.expm1(-each * (a + b + z))
        rivals = weights / 2 * (1 - quiet)
        to[0] = quiet * binomial(
            ready, np.asarray(stations - 1.0), -np.expm1(-each)
        ) + rivals @ binomial(ready[None, :], np.asarray(stations - 2.0), waits_z[:, None])
        length = np.full(stations, 2 * a + b)
        length[0] = quiet * (1 + a) + (1 - quiet) * (2 * a + b) + rivals @ z
        length += to[:, 0] / g
    # No station ready: the next starter is single.
    chain = to[:, 1:].copy()
    chain[:, 0] += to[:, 0]
    pi = stationary(chain)
    return float(pi[0] * quiet / (pi @ length))
