"""Cobham 1954: mean waits with strict priorities, without preemption."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, plain
from ethermeter.theory.arguments import PACKET_S, SHARE, stable
from ethermeter.theory.entry import OF_QUEUES, Output, Symbol, Unstable, catalogued, read
from ethermeter.theory.pollaczek_khinchine import WaitS
from ethermeter.theory.waiting import cobham

MODEL = "cobham-1954"


@dataclass(frozen=True, slots=True)
class ClassWait:
    """Wait of a class; NaN and outside the range where it is not stable."""

    wait_s: WaitS
    residual_s: Annotated[
        Array,
        Output(
            "R",
            "mean residual service time that an arriving frame finds; 0 if no frame is in service",
            "s",
        ),
    ]
    outside_range: Flags


def _load(symbol: str, of: str) -> Symbol:
    return Symbol(symbol, f"share of time in which frames of {of} are served", SHARE)


def _service(symbol: str, of: str) -> Symbol:
    return Symbol(symbol, f"service time of frames of {of}", PACKET_S, "s")


@catalogued(
    "wait of a traffic class with strict priorities, without preemption",
    {
        "arrivals": "Poisson, of each class",
        "service": "one fixed time for each of three groups: classes above, the class, those below",
        "discipline": "strict priority without preemption, first come, first served within a class",
        "buffers": "unlimited",
    },
    aspects=OF_QUEUES,
    source="A. Cobham, Priority assignment in waiting line problems, Operations Research 2(1),"
    " 1954",
    confidence="mathematics solid: exact",
    validity="the loads of the class and of those above below 1 together; of all at most 1",
)
def cobham_1954(
    load: Annotated[Numbers, _load("rho_k", "the class")],
    *,
    load_above: Annotated[Numbers, _load("sigma_(k-1)", "classes above")],
    load_below: Annotated[Numbers, _load("", "classes below")] = 0.0,
    service_s: Annotated[Numbers, _service("S_k", "the class")],
    service_above_s: Annotated[Numbers, _service("", "classes above")],
    service_below_s: Annotated[Numbers, _service("", "classes below")],
    unstable: Unstable = "error",
) -> ClassWait:
    """Mean wait of a class: W_k = R / ((1 - sigma_(k-1)) (1 - sigma_k)), R = sum rho_i S_i / 2.

    Examples
    --------
    Two classes of 1 ms frames: R = 0.25 ms, 0.25 / 0.8 and 0.25 / (0.8 * 0.5).

    >>> of = {"service_s": 1e-3, "service_above_s": 1e-3, "service_below_s": 1e-3}
    >>> high = cobham_1954(0.2, load_above=0, load_below=0.3, **of)
    >>> low = cobham_1954(0.3, load_above=0.2, **of)
    >>> round(float(high.wait_s), 9), round(float(low.wait_s), 9)
    (0.0003125, 0.000625)

    """
    own, above, below, service, service_above, service_below = read(
        cobham_1954,
        load=load,
        load_above=load_above,
        load_below=load_below,
        service_s=service_s,
        service_above_s=service_above_s,
        service_below_s=service_below_s,
    )
    good = stable(MODEL, "load", own, 1 - above, unstable)
    residual = (own * service + above * service_above + below * service_below) / 2
    means = np.stack([service_above, service, service_below], axis=-1)
    rates = np.stack([above, own, below], axis=-1) / means
    wait = np.where(good, cobham(rates, means, means**2)[..., 1], np.nan)
    # A class below cannot be served more than is left.
    outside = ~good | (own + above + below > 1)
    return ClassWait(plain(wait), plain(residual), plain(outside))
