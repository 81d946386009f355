"""Models of voice: the quality of calls, their packets, how many talk, how many are refused.

A model whose function finds what is not given of several arguments has all of them as results.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ethermeter import voice
from ethermeter.arguments import ArgumentError, Array
from ethermeter.faults import ARGUMENTS
from ethermeter.models.values import Values
from ethermeter.theory.entry import Model, Output, Symbol
from ethermeter.voice import arguments, connection
from ethermeter.voice.packets import OVERHEADS, Medium

MOST_POINTS = 10_000
Columns = Values
"""Results by name: an array of points, or one value for all."""
T = TypeVar("T")

_DELAY = Symbol(
    "Ta",
    "mouth-to-ear delay",
    arguments.DELAY_S,
    "s",
    always=True,
    also="delay_s",
    argument="delay",
    default=0.0,
)
_LOSS = Symbol(
    "Ppl",
    "share of packets lost or late",
    arguments.SHARE,
    always=True,
    argument="loss",
    default=0.0,
)
_CODEC = Symbol(
    "",
    "codec, which gives Ie and Bpl",
    tuple(voice.CODECS),
    always=True,
    argument="codec",
    default="g711",
)
_BURST_RATIO = Symbol(
    "BurstR",
    "mean length of loss runs over that of random loss",
    arguments.BURST_RATIO,
    always=True,
    argument="burst_ratio",
    default=1.0,
)
_IE = Symbol(
    "Ie",
    "equipment impairment factor; the codec's unless given",
    arguments.IMPAIRMENT,
    always=True,
    argument="ie",
    default=None,
)
_BPL = Symbol(
    "Bpl",
    "packet-loss robustness factor; the codec's unless given",
    arguments.ROBUSTNESS,
    always=True,
    argument="bpl",
    default=None,
)
_OF_CONNECTION = {of.symbol: of.field for of in connection.QUANTITIES}
_RATING = (
    Output("R", "transmission rating factor", field="r"),
    Output("MOS", "mean opinion score that it stands for", field="mos"),
)
_BY_DELAY = Output("Id", "impairment by delay", field="id")
_BY_CODEC = Output("Ie_eff", "impairment by the codec and by lost packets", field="ie_eff")


def _emodel(
    *,
    delay: Array,
    loss: Array,
    codec: str,
    burst_ratio: Array,
    advantage: Array,
    ie: Array | None = None,
    bpl: Array | None = None,
    wanted: Array | None = None,
    **others: Array,
) -> Columns:
    """Rate calls, and find the largest loss and delay where a mean opinion score is wanted."""
    known = voice.Connection(**{_OF_CONNECTION[symbol]: of for symbol, of in others.items()})

    def rated(function: Callable[..., T]) -> Callable[..., T]:
        return partial(
            function,
            codec=codec,
            burst_ratio=burst_ratio,
            ie=ie,
            bpl=bpl,
            advantage=advantage,
            connection=known,
        )

    full = rated(voice.e_model)(delay, loss)
    found = {
        "r": full.r,
        "mos": full.mos,
        "ro": full.ro,
        "is": full.is_,
        "id": full.id_,
        "ie_eff": full.ie_eff,
        "outside_range": full.outside_range,
    }
    if wanted is not None:
        found["largest_loss"] = rated(voice.largest_loss)(wanted, delay_s=delay).value
        found["largest_delay"] = rated(voice.largest_delay)(wanted, loss=loss).value
    return found


EMODEL = Model(
    "emodel",
    "E-model: the rating of a narrowband call",
    2015,
    _emodel,
    (
        _DELAY,
        _LOSS,
        _CODEC,
        _BURST_RATIO,
        _IE,
        _BPL,
        Symbol(
            "A",
            "advantage factor: what listeners accept for access, as of a mobile telephone",
            arguments.ADVANTAGE,
            always=True,
            argument="advantage",
            default=0.0,
        ),
        Symbol(
            "MOS",
            "mean opinion score, for which the largest loss and delay are found",
            arguments.MOS,
            always=True,
            also="mos",
            argument="wanted",
            default=None,
        ),
        *(
            Symbol(
                "",
                of.meaning,
                of.allowed,
                of.unit,
                also=of.field,
                argument=of.symbol,
                default=of.default,
            )
            for of in connection.QUANTITIES
        ),
    ),
    (
        *_RATING,
        Output("Ro", "basic signal-to-noise ratio", field="ro"),
        Output("Is", "impairment that comes with the speech", field="is"),
        _BY_DELAY,
        _BY_CODEC,
        Output("", "most loss that allows the wanted score", field="largest_loss"),
        Output("", "longest delay that allows the wanted score", "s", field="largest_delay"),
    ),
    (),
    "ITU-T G.107 (2015), sections 7.1 to 7.6 and Annex B",
    "from memory; gives the published R = 93.2 and MOS = 4.41 of a call without impairment",
    "delay up to 0.5 s, loss up to 20% and a burst ratio up to 8, which G.107 permits",
    (
        "Impairments add up: R = Ro - Is - Id - Ie_eff + A. The echo has the same delay.",
        "Calls of 300 to 3400 Hz through a handset; wideband calls have a scale of their own.",
    ),
    most_points=MOST_POINTS,
)


def _cole_rosenbluth(
    *, delay: Array, loss: Array, codec: str, burst_ratio: Array, **others: Array
) -> Columns:
    found = voice.cole_rosenbluth_2001(delay, loss, codec=codec, burst_ratio=burst_ratio, **others)
    return {"r": found.r, "mos": found.mos, "id": found.id_, "ie_eff": found.ie_eff}


COLE_ROSENBLUTH = Model(
    "cole-rosenbluth-2001",
    "E-model in its simple form: two straight lines for the delay",
    2001,
    _cole_rosenbluth,
    (
        _DELAY,
        _LOSS,
        _CODEC,
        _BURST_RATIO,
        _IE,
        _BPL,
        Symbol("", "R of a call without impairment", arguments.BASE, argument="base", default=93.2),
    ),
    (*_RATING, _BY_DELAY, _BY_CODEC),
    (),
    "R. G. Cole, J. H. Rosenbluth, Computer Communication Review 31(2), 2001",
    "from memory; Ie_eff is that of G.107, not the paper's fits of Ie to loss",
    "no echo, and the defaults of G.107",
    ("The paper's R without impairment is 94.2, of the edition of G.107 before 2000.",),
    most_points=MOST_POINTS,
)


def _codecs(
    *,
    codec: str,
    packet: Array,
    standard: str,
    ip: str,
    bit_rate: Array | None = None,
    network: Array | None = None,
    jitter_buffer: Array | None = None,
) -> Columns:
    """Cut the speech of a codec into packets; with the delay of a network, from mouth to ear."""
    from ethermeter.experiment.segment import standards

    if jitter_buffer is not None and network is None:
        raise ArgumentError(ARGUMENTS, "jitter_buffer", "given", "only with network")
    medium = Medium.of(standard, standards()[standard])
    made = voice.packets(codec, packet_s=packet, medium=medium, ip=ip, bit_rate_bps=bit_rate)
    found = {field: getattr(made, field) for field in made.__slots__}
    if network is not None:
        buffer = np.zeros(1) if jitter_buffer is None else jitter_buffer
        found["mouth_to_ear"] = voice.mouth_to_ear(
            codec, packet_s=packet, network_s=network, jitter_buffer_s=buffer
        ).delay_s
    return found


def codecs() -> Model:
    """Return the model of packets of codecs; standards of segments are those of the core."""
    from ethermeter.experiment.segment import standards

    return Model(
        "codecs",
        "codecs, and the packets of their speech on a segment, in one direction of a call",
        2003,
        _codecs,
        (
            Symbol("", "codec", tuple(voice.CODECS), always=True, argument="codec"),
            Symbol(
                "",
                "duration of the speech in a packet",
                arguments.PACKET_S,
                "s",
                always=True,
                also="packet_s",
                argument="packet",
            ),
            Symbol(
                "",
                "standard of the segment that carries the packets",
                tuple(standards()),
                always=True,
                argument="standard",
                default="ieee-10",
            ),
            Symbol(
                "",
                "headers between speech and frame: RTP, UDP and IP, or none",
                tuple(OVERHEADS),
                always=True,
                argument="ip",
                default="ipv4",
            ),
            Symbol(
                "",
                "bit rate of a codec that has several",
                arguments.BIT_RATE_BPS,
                "bit/s",
                always=True,
                also="bit_rate_bps",
                argument="bit_rate",
                default=None,
            ),
            Symbol(
                "",
                "delay of the network; adds the mouth-to-ear delay",
                arguments.DELAY_S,
                "s",
                always=True,
                also="network_s",
                argument="network",
                default=None,
            ),
            Symbol(
                "",
                "delay of the receiver's buffer, with network; 0 unless given",
                arguments.DELAY_S,
                "s",
                always=True,
                also="jitter_buffer_s",
                argument="jitter_buffer",
                default=None,
            ),
        ),
        _PACKETS,
        (),
        "RFC 3550 and RFC 3551 (2003), and the standard of the segment",
        "certain but for numbers of codecs, each of which has its own",
        "constant bit rate, no silence suppression, no compression of headers",
        data=tuple(voice.CODECS.values()),
        most_points=MOST_POINTS,
    )


_PACKETS = (
    Output("", "speech of a packet", "octet", field="payload_octets"),
    Output("", "frame that carries it, with padding and FCS", "octet", field="frame_octets"),
    Output("", "the same with preamble and gap", "bit", field="charged_bits"),
    Output("", "packets a second", "1/s", field="packets_per_s"),
    Output("", "bits of frames a second", "bit/s", field="frame_bps"),
    Output("", "charged time over time", field="offered_load"),
    Output("", "most calls on a shared segment, without contention", field="calls_shared"),
    Output("", "most calls on a full-duplex link", field="calls_duplex"),
    Output("", "delay from mouth to ear", "s", field="mouth_to_ear"),
)


def _two_of(**given: Array | None) -> None:
    there = [name for name, of in given.items() if of is not None]
    if len(there) != len(given) - 1:
        allowed = f"two of {', '.join(given)}"
        raise ArgumentError(ARGUMENTS, "arguments", ", ".join(there) or "none", allowed)


def _talkers(
    *,
    talkers: Array | None = None,
    room: Array | None = None,
    exceeding: Array | None = None,
    pattern: str | None = None,
    activity: Array | None = None,
) -> Columns:
    _two_of(talkers=talkers, room=room, exceeding=exceeding)
    if activity is not None and pattern is not None:
        raise ArgumentError(ARGUMENTS, "activity", "given", "pattern or activity, not both")
    follows: Columns = {}
    share: Any = activity
    if activity is None:
        known = voice.PATTERNS[pattern or "brady-1968"]
        share, follows = known.activity, {"activity": known.activity, "pattern": known.name}
    if exceeding is None:
        found = voice.talking(_given(talkers), activity=share, room=_given(room))
        return {**follows, **{name: getattr(found, name) for name in found.__slots__}}
    if room is None:
        most = voice.talking_quantile(_given(talkers), activity=share, exceeding=exceeding)
        return {**follows, "room": most}
    admitted = voice.admitted(room, activity=share, exceeding=exceeding)
    return {**follows, "talkers": admitted}


def _given(of: Array | None) -> Array:
    assert of is not None, "two of three are given"
    return of


TALKERS = Model(
    "talkers",
    "talkers who talk at the same time, and the room that they need",
    None,
    _talkers,
    (
        Symbol(
            "N",
            "independent talkers, two for each call",
            arguments.TALKERS,
            always=True,
            argument="talkers",
            default=None,
        ),
        Symbol(
            "",
            "talkers who may talk at the same time",
            arguments.CIRCUITS,
            always=True,
            argument="room",
            default=None,
        ),
        Symbol(
            "",
            "probability that more talk than there is room for",
            arguments.PROBABILITY,
            always=True,
            argument="exceeding",
            default=None,
        ),
        Symbol(
            "",
            "pattern of talk spurts; brady-1968 unless given, or an activity",
            tuple(voice.PATTERNS),
            always=True,
            argument="pattern",
            default=None,
        ),
        Symbol(
            "",
            "share of time in which each talks; the pattern's unless given",
            arguments.ACTIVITY,
            always=True,
            argument="activity",
            default=None,
        ),
    ),
    (
        Output("", "mean number of those who talk", field="mean"),
        Output("", "its standard deviation", field="deviation"),
        Output("", "probability that more talk than there is room for", field="exceeding"),
        Output("", "share of the talk that finds no room", field="frozen_out"),
        Output("", "room that is exceeded with at most this probability", field="room"),
        Output("N", "most talkers for whom the room is exceeded with at most it", field="talkers"),
    ),
    (),
    "the binomial distribution; freeze-out as in speech interpolation",
    "certain but for the patterns, each of which has its own",
    "independent talkers; the two of a call vary less",
    ("Of talkers, room and exceeding, two are given, and the other one is found.",),
    data=tuple(voice.PATTERNS.values()),
    most_points=MOST_POINTS,
)


def _erlang(
    *, offered: Array | None = None, circuits: Array | None = None, blocking: Array | None = None
) -> Columns:
    _two_of(offered=offered, circuits=circuits, blocking=blocking)
    if blocking is None:
        lost = voice.erlang_b(_given(offered), circuits=_given(circuits))
        return {"blocking": lost, "carried": _given(offered) * (1 - lost)}
    if offered is None:
        return {"offered": voice.erlang_b_offered(blocking, circuits=_given(circuits))}
    return {"circuits": voice.erlang_b_circuits(offered, blocking=blocking)}


ERLANG = Model(
    "erlang",
    "Erlang's B formula: blocking of calls, and the load or circuits for it",
    1917,
    _erlang,
    (
        Symbol(
            "a",
            "offered traffic, calls a second times their mean duration",
            arguments.ERLANGS,
            "erlang",
            always=True,
            also="offered_erlangs",
            argument="offered",
            default=None,
        ),
        Symbol("n", "circuits", arguments.CIRCUITS, always=True, argument="circuits", default=None),
        Symbol(
            "B",
            "probability that a call finds no free circuit",
            arguments.BLOCKING,
            always=True,
            argument="blocking",
            default=None,
        ),
    ),
    (
        Output("B", "probability that a call finds no free circuit", field="blocking"),
        Output("", "traffic that is carried", "erlang", field="carried"),
        Output("a", "largest traffic with at most this blocking", "erlang", field="offered"),
        Output("n", "fewest circuits with at most this blocking", field="circuits"),
    ),
    (),
    "A. K. Erlang, 1917, in the recursion B(n) = a B(n-1) / (n + a B(n-1))",
    "solid; compared with printed tables",
    "Poisson arrivals of calls; those refused do not return",
    ("Of offered, circuits and blocking, two are given, and the other one is found.",),
    most_points=MOST_POINTS,
)


def models() -> Mapping[str, Model]:
    """Return the models of voice by name."""
    found = (EMODEL, COLE_ROSENBLUTH, codecs(), TALKERS, ERLANG)
    return {entry.name: entry for entry in found}
