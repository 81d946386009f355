"""The E-model of ITU-T G.107: how a narrowband call would be rated, from what impairs it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Flags, Numbers, Range, plain, same_shape
from ethermeter.faults import shown
from ethermeter.voice.arguments import (
    ADVANTAGE,
    BURST_RATIO,
    DELAY_S,
    IMPAIRMENT,
    RATING,
    ROBUSTNESS,
    SHARE,
)
from ethermeter.voice.codecs import Codec, codec_named
from ethermeter.voice.connection import Connection, connection_of

FUNCTION = "e-model"
SIDETONE_MS = 1.0
"""Echo that comes back sooner is heard as sidetone (G.107, from memory)."""

PERMITTED_DELAY = Range(0, 0.5)
PERMITTED_ROUND_TRIP = Range(0, 1)
PERMITTED_LOSS = Range(0, 0.2)
PERMITTED_BURST_RATIO = Range(1, 8)
"""Range of G.107 (its Table 2, from memory; the editions differ in the burst
ratio: 2 or 8).
"""


@dataclass(frozen=True, slots=True)
class Rating:
    """How a call would be rated: R = Ro - Is - Id - Ie_eff + A."""

    # Transmission rating factor; 93.2 for a perfect narrowband call, and below 50 no call should
    # have to listen
    r: Array
    mos: Array  # Mean opinion score that it stands for, from 1 to 4.5
    ro: Array  # Basic signal-to-noise ratio
    is_: Array  # Impairments that come with the speech: loudness, sidetone, quantising
    id_: Array  # Impairments by delay, the sum of the next three
    # talker_echo, listener_echo, long_delay: Idte, Idle and Idd
    talker_echo: Array
    listener_echo: Array
    long_delay: Array
    ie_eff: Array  # Impairment by the codec and by lost packets
    outside_range: Flags  # Where delay, loss or burst ratio is beyond what G.107 permits


@dataclass(frozen=True, slots=True)
class Impairment:
    """What a codec does to a call, with its losses: Ie and Bpl."""

    ie: Array
    bpl: Array


def e_model(
    delay_s: Numbers,
    loss: Numbers,
    *,
    codec: str | Codec = "g711",
    burst_ratio: Numbers = 1.0,
    ie: Numbers | None = None,
    bpl: Numbers | None = None,
    advantage: Numbers = 0.0,
    echo_delay_s: Numbers | None = None,
    round_trip_s: Numbers | None = None,
    connection: Connection | None = None,
) -> Rating:
    """Rate a narrowband call after G.107.

    Parameters
    ----------
    delay_s
        Ta, delay from mouth to ear [s]; from 0 to 10, and beyond 0.5 outside the range of G.107.
    loss
        Ppl / 100, fraction of the packets that do not arrive in time; beyond 0.2 outside the range.
    codec
        A name of `CODECS` or a codec, from which Ie and Bpl are taken; it must be rated.
    burst_ratio
        BurstR, mean length of runs of lost packets over that of random loss; from 1 (random) to
        1000, beyond 8 outside the range.
    ie, bpl
        Equipment impairment factor, from 0 to 95, and packet-loss robustness factor, from 0.01 to
        1000; the codec's unless given.
    advantage
        A, impairment that listeners accept for access: 0 (wired) to 20 (a location hard to reach).
    echo_delay_s, round_trip_s
        T and Tr [s], mean one-way delay of the echo path and round trip in the four-wire loop; Ta
        and 2 Ta unless given.
    connection
        Everything else; the defaults of G.107 unless given.

    Assumptions
    -----------
    Impairments add up. 300 to 3400 Hz through a handset; a wideband call is rated by G.107.1 on
    another scale, which this is not.

    Source
    ------
    ITU-T G.107 (2015), sections 7.1 to 7.6 and Annex B, from memory; gives its published R = 93.2
    and MOS = 4.41 without impairments.

    Examples
    --------
    >>> found = e_model([0.0, 0.15, 0.4], 0.0)
    >>> [f"{r:.2f} {mos:.2f}" for r, mos in zip(found.r, found.mos)]
    ['93.21 4.41', '89.54 4.33', '62.25 3.22']
    """
    impairment = impairment_of(FUNCTION, codec, ie, bpl)
    known = connection_of(FUNCTION, connection).values(FUNCTION)
    delay, lost = DELAY_S.read(FUNCTION, "delay_s", delay_s), SHARE.read(FUNCTION, "loss", loss)
    given = {
        "delay_s": delay,
        "loss": lost,
        "burst_ratio": BURST_RATIO.read(FUNCTION, "burst_ratio", burst_ratio),
        "advantage": ADVANTAGE.read(FUNCTION, "advantage", advantage),
        "echo_delay_s": delay
        if echo_delay_s is None
        else DELAY_S.read(FUNCTION, "echo_delay_s", echo_delay_s),
        "round_trip_s": 2 * delay
        if round_trip_s is None
        else Range(0, 20).read(FUNCTION, "round_trip_s", round_trip_s),
        "ie": impairment.ie,
        "bpl": impairment.bpl,
    }
    arrays = same_shape(FUNCTION, [*given, "connection"], [*given.values(), *known.values()])
    delay, lost, burst, gain, echo, round_trip, ie_, bpl_ = arrays[: len(given)]
    known = dict(zip(known, arrays[len(given) :], strict=True))
    noise = _noise(known)
    ro = 15 - 1.5 * (known["SLR"] + noise)
    simultaneous = _loudness(known, noise) + _sidetone(known, echo * 1e3) + _quantising(known, ro)
    talker, listener = (
        _talker_echo(known, noise, echo * 1e3),
        _listener_echo(known, ro, round_trip * 1e3),
    )
    late = _long_delay(known, delay)
    ie_eff = effective(ie_, bpl_, lost, burst)
    r = ro - simultaneous - (talker + listener + late) - ie_eff + gain
    inside = (
        PERMITTED_DELAY.holds(delay)
        & PERMITTED_DELAY.holds(echo)
        & PERMITTED_ROUND_TRIP.holds(round_trip)
    )
    inside = inside & PERMITTED_LOSS.holds(lost) & PERMITTED_BURST_RATIO.holds(burst)
    return Rating(
        r=plain(r),
        mos=plain(opinion_of(r)),
        ro=plain(ro),
        is_=plain(simultaneous),
        id_=plain(talker + listener + late),
        talker_echo=plain(talker),
        listener_echo=plain(listener),
        long_delay=plain(late),
        ie_eff=plain(ie_eff),
        outside_range=plain(~inside),
    )


def mean_opinion(r: Numbers) -> Any:
    """Mean opinion score of a transmission rating factor R, from -1000 to 1000.

    1 for R up to 0 and 4.5 from 100 on. Between 0 and 6.5 the recommendation's cubic is a little
    below 1.

    Source
    ------
    ITU-T G.107, Annex B.

    Examples
    --------
    >>> f"{mean_opinion(93.2):.2f}"
    '4.41'
    """
    return plain(opinion_of(RATING.read("mean-opinion", "r", r)))


def impairment_of(
    function: str, codec: object, ie: Numbers | None, bpl: Numbers | None
) -> Impairment:
    """Return Ie and Bpl as given, or else the codec's.

    Raises
    ------
    ArgumentError
        If one is out of its range, or not given and the codec has none.

    """
    known = codec_named(function, codec)
    ie, bpl = known.ie if ie is None else ie, known.bpl if bpl is None else bpl
    if ie is None or bpl is None:
        raise ArgumentError(
            function,
            "codec",
            shown(known.name),
            f"one that is rated, or ie and bpl of your own; {known.name} is rated for "
            f"{known.rated}",
        )
    return Impairment(IMPAIRMENT.read(function, "ie", ie), ROBUSTNESS.read(function, "bpl", bpl))


def effective(ie: Array, bpl: Array, loss: Array, burst: Array) -> Array:
    """Return Ie_eff = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl)."""
    percent = 100 * loss
    return np.asarray(ie + (95 - ie) * percent / (percent / burst + bpl))


def opinion_of(r: Array) -> Array:
    """Return the mean opinion score of any R."""
    cubic = 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6
    return np.where(r <= 0, 1.0, np.where(r >= 100, 4.5, cubic))


def _noise(known: dict[str, Array]) -> Array:
    """Return No, the sum of all noise, seen from the 0 dBr point [dBm0p]."""
    send, receive = known["SLR"], known["RLR"]
    room = (
        known["Ps"]
        - send
        - known["Ds"]
        - 100
        + 0.004 * (known["Ps"] - send - receive - known["Ds"] - 14) ** 2
    )
    effective_room = known["Pr"] + 10 * np.log10(1 + 10 ** ((10 - known["LSTR"]) / 10))
    far_room = receive - 121 + effective_room + 0.008 * (effective_room - 35) ** 2
    powers = [
        10 ** (level / 10) for level in (known["Nc"], room, far_room, known["Nfor"] + receive)
    ]
    return np.asarray(10 * np.log10(sum(powers)))


def _loudness(known: dict[str, Array], noise: Array) -> Array:
    """Return Iolr: the connection is too loud."""
    x = (known["SLR"] + known["RLR"] + 0.2 * (64 + noise - known["RLR"])) / 8
    return np.asarray(20 * ((1 + x**8) ** (1 / 8) - x))


def _sidetone(known: dict[str, Array], echo_ms: Array) -> Array:
    """Return Ist: the sidetone is not as it should be."""
    heard = -10 * np.log10(
        10 ** (-known["STMR"] / 10) + np.exp(-echo_ms / 4) * 10 ** (-known["TELR"] / 10)
    )
    too_low = 12 * (1 + ((heard - 13) / 6) ** 8) ** (1 / 8)
    return np.asarray(
        too_low
        - 28 * (1 + ((heard + 1) / 19.4) ** 35) ** (1 / 35)
        - 13 * (1 + ((heard - 3) / 33) ** 13) ** (1 / 13)
        + 29
    )


def _quantising(known: dict[str, Array], ro: Array) -> Array:
    """Return Iq: speech has been quantised."""
    q = 37 - 15 * np.log10(known["qdu"])
    g = 1.07 + 0.258 * q + 0.0602 * q**2
    y, z = (ro - 100) / 15 + 46 / 8.4 - g / 9, 46 / 30 - g / 40
    return np.asarray(15 * np.log10(1 + 10**y + 10**z))


def _talker_echo(known: dict[str, Array], noise: Array, echo_ms: Array) -> Array:
    """Return Idte.

    For STMR from 10 to 20 dB, which is what is permitted; G.107 corrects it beyond.
    """
    undisturbed = -1.5 * (noise - known["RLR"])
    echo = (
        known["TELR"]
        - 40 * np.log10((1 + echo_ms / 10) / (1 + echo_ms / 150))
        + 6 * np.exp(-0.3 * echo_ms**2)
    )
    half = (undisturbed - (80 + 2.5 * (echo - 14))) / 2
    annoyance = (half + np.sqrt(half**2 + 100) - 1) * -np.expm1(-echo_ms)
    return np.where(echo_ms < SIDETONE_MS, 0.0, annoyance)


def _listener_echo(known: dict[str, Array], ro: Array, round_trip_ms: Array) -> Array:
    """Return Idle."""
    half = (ro - 10.5 * (known["WEPL"] + 7) * (round_trip_ms + 1) ** -0.25) / 2
    return np.asarray(half + np.sqrt(half**2 + 169))


def _long_delay(known: dict[str, Array], delay_s: Array) -> Array:
    """Return Idd: the other side answers late."""
    x = np.log2(np.maximum(delay_s, known["mT"]) / known["mT"])
    power = 6 * known["sT"]
    return np.asarray(
        25 * ((1 + x**power) ** (1 / power) - 3 * (1 + (x / 3) ** power) ** (1 / power) + 2)
    )
