"""The E-model inverted: largest loss and delay of a call; and Cole and Rosenbluth's simple form."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, plain, same_shape, together
from ethermeter.voice.arguments import BASE, BURST_RATIO, DELAY_S, MOS, SHARE
from ethermeter.voice.codecs import Codec
from ethermeter.voice.connection import Connection
from ethermeter.voice.e_model import (
    PERMITTED_DELAY,
    PERMITTED_LOSS,
    e_model,
    effective,
    impairment_of,
    opinion_of,
)

BEND_S = 0.1773
"""Delay from which Cole and Rosenbluth's line is steeper [s]."""

_GRID_S = 1e-3
_FIRST = 30
"""Milliseconds from which R is sure to fall: the terms that rise, exp(-T / 4) and exp(-0.3 T^2),
have died away.
"""
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Simple:
    """How a call would be rated by the simple form."""

    # r, mos: Transmission rating factor, and the mean opinion score that it stands for
    r: Array
    mos: Array
    # id_, ie_eff: Impairment by delay, and by the codec and lost packets
    id_: Array
    ie_eff: Array


@dataclass(frozen=True, slots=True)
class Largest:
    """The most of something that a wanted score allows."""

    # Fraction of packets, or seconds; NaN where the score cannot be had at all. 1 or 10 s where any
    # loss or delay will do.
    value: Array
    outside_range: Flags  # Where the value is beyond what G.107 permits, or there is none


def cole_rosenbluth_2001(
    delay_s: Numbers,
    loss: Numbers,
    *,
    codec: str | Codec = "g711",
    burst_ratio: Numbers = 1.0,
    ie: Numbers | None = None,
    bpl: Numbers | None = None,
    base: Numbers = 93.2,
) -> Simple:
    """Rate a call by two straight lines for the delay; other arguments as for `e_model`.

    `base` is R without any impairment: 93.2, the default of G.107 since 2000; the paper has 94.2 of
    the edition before. No echo, and the defaults of G.107. Ie_eff is G.107's, not the paper's own
    fits of Ie to loss.

    Source
    ------
    Cole and Rosenbluth, Computer Communication Review 31(2), 2001: Id = 0.024 d + 0.11 (d - 177.3)
    H(d - 177.3), d in ms; from memory.
    """
    function = "cole-rosenbluth-2001"
    impairment = impairment_of(function, codec, ie, bpl)
    checked = together(
        function,
        delay_s=(delay_s, DELAY_S),
        loss=(loss, SHARE),
        burst_ratio=(burst_ratio, BURST_RATIO),
        base=(base, BASE),
    )
    names = ["delay_s", "loss", "burst_ratio", "base", "ie", "bpl"]
    delay, lost, burst, start, ie_, bpl_ = same_shape(
        function, names, [*checked, impairment.ie, impairment.bpl]
    )
    late = 24 * delay + 110 * np.maximum(delay - BEND_S, 0)
    ie_eff = effective(ie_, bpl_, lost, burst)
    r = start - late - ie_eff
    return Simple(r=plain(r), mos=plain(opinion_of(r)), id_=plain(late), ie_eff=plain(ie_eff))


def rating_for(mos: Numbers) -> Any:
    """Smallest transmission rating factor, from 6.5 to 100, of a mean opinion score from 1 to 4.5.

    Source
    ------
    The inverse of ITU-T G.107, Annex B, on its rising branch, which begins at R = 3.2.

    Examples
    --------
    >>> f"{rating_for(3.6):.2f}"
    '70.06'
    """
    wanted = MOS.read("rating-for", "mos", mos)
    # The cubic is 1 at 80 - sqrt(5400) and rises from there to 4.5 at 100.
    low, high = np.full(wanted.shape, 80 - np.sqrt(5400)), np.full(wanted.shape, 100.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = opinion_of(middle) >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return plain(high)


def largest_loss(
    mos: Numbers,
    *,
    delay_s: Numbers,
    codec: str | Codec = "g711",
    burst_ratio: Numbers = 1.0,
    ie: Numbers | None = None,
    bpl: Numbers | None = None,
    advantage: Numbers = 0.0,
    connection: Connection | None = None,
) -> Largest:
    """Largest fraction of lost packets at which a call still has a score from 1 to 4.5.

    The other arguments are those of `e_model`, which is solved for Ppl.

    Examples
    --------
    >>> found = largest_loss(3.6, delay_s=0.15, codec="g711-plc")
    >>> f"{found.value:.4f}"
    '0.0647'
    """
    function = "largest-loss"
    impairment = impairment_of(function, codec, ie, bpl)
    clean = e_model(
        delay_s,
        0.0,
        codec=codec,
        burst_ratio=burst_ratio,
        ie=ie,
        bpl=bpl,
        advantage=advantage,
        connection=connection,
    )
    names = ["mos", "delay_s", "burst_ratio", "ie", "bpl"]
    wanted = np.asarray(rating_for(MOS.read(function, "mos", mos)))
    burst = BURST_RATIO.read(function, "burst_ratio", burst_ratio)
    arrays = [
        wanted,
        np.asarray(clean.r),
        burst,
        impairment.ie,
        impairment.bpl,
        np.asarray(clean.outside_range),
    ]
    wanted, best, burst, ie_, bpl_, outside = same_shape(function, [*names, "connection"], arrays)
    # Of Ie_eff = Ie + (95 - Ie) P / (P / BurstR + Bpl); with all lost it is (95 - Ie) / (1 / BurstR
    # + Bpl / 100) above Ie.
    spent = (best - wanted) / np.maximum(95 - ie_, 1e-12)
    rest = 1 - spent / burst
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = np.where(rest > 0, spent * bpl_ / np.where(rest > 0, rest, 1.0), 100.0)
    share = np.where(spent >= 0, np.minimum(percent / 100, 1.0), np.nan)
    return Largest(
        value=plain(share), outside_range=plain(outside.astype(bool) | ~PERMITTED_LOSS.holds(share))
    )


def largest_delay(
    mos: Numbers,
    *,
    loss: Numbers,
    codec: str | Codec = "g711",
    burst_ratio: Numbers = 1.0,
    ie: Numbers | None = None,
    bpl: Numbers | None = None,
    advantage: Numbers = 0.0,
    connection: Connection | None = None,
) -> Largest:
    """Largest delay from mouth to ear, up to 10 s, at which a call has a score from 1 to 4.5.

    The other arguments are those of `e_model`; the echo takes the same delay, T = Ta = Tr / 2. R
    need not fall everywhere in the first milliseconds, so the last millisecond that is good enough
    is searched first.

    Examples
    --------
    >>> found = largest_delay(4.0, loss=[0.0, 0.01], codec="g711-plc")
    >>> [f"{value:.4f}" for value in found.value]
    ['0.2486', '0.2220']
    """
    function = "largest-delay"
    rate = partial(
        e_model,
        loss=loss,
        burst_ratio=burst_ratio,
        advantage=advantage,
        codec=codec,
        ie=ie,
        bpl=bpl,
        connection=connection,
    )
    clean = np.asarray(rate(0.0).r)
    wanted, _ = same_shape(
        function, ["mos", "loss"], [np.asarray(rating_for(MOS.read(function, "mos", mos))), clean]
    )

    def enough(delay_s: Array) -> Flags:
        return np.asarray(np.asarray(rate(delay_s).r) >= wanted)

    best = np.full(wanted.shape, np.nan)
    for step in range(_FIRST + 1):
        at = np.full(wanted.shape, step * _GRID_S)
        best = np.where(enough(at), at, best)
    begin = np.where(np.isnan(best), 0.0, best)
    end = np.where(best == _FIRST * _GRID_S, DELAY_S.high, begin + _GRID_S)
    begin = np.where(enough(end), end, begin)
    for _ in range(_HALVINGS):
        middle = (begin + end) / 2
        good = enough(middle)
        begin, end = np.where(good, middle, begin), np.where(good, end, middle)
    value = np.where(np.isnan(best), np.nan, begin)
    return Largest(value=plain(value), outside_range=plain(~PERMITTED_DELAY.holds(value)))
