"""Packets of a call on an Ethernet: overhead, rate and load; and mouth-to-ear delay."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Numbers, choice, plain, same_shape
from ethermeter.voice.arguments import BIT_RATE_BPS, DELAY_S, PACKET_S
from ethermeter.voice.codecs import Codec, codec_named

OVERHEADS: Mapping[str, int] = MappingProxyType(
    {"ipv4": 12 + 8 + 20, "ipv6": 12 + 8 + 40, "none": 0}
)
"""Octets of RTP (RFC 3550), UDP (RFC 768) and IP (RFC 791, RFC 8200), no options; "none": speech
straight into the frame.
"""

HEADER_OCTETS: Mapping[str, int] = MappingProxyType({"experimental-3": 1 + 1 + 2})
"""Octets of addresses and type where they are not `ETHERNET_HEADER`: the experimental Ethernet has
addresses of one octet.
"""

ETHERNET_HEADER = 6 + 6 + 2

_PS_PER_S = 1e12
_WHOLE = 1e-9
_FUNCTION = "packets"


@dataclass(frozen=True, slots=True)
class Medium:
    """What the standard of a segment adds to a packet."""

    name: str  # Name of the standard
    line_rate_bps: float  # Bits a second on the wire
    # header_octets, fcs_octets: What a frame has beside its data
    header_octets: int
    fcs_octets: int
    # min_frame_octets, max_frame_octets: Shortest and longest frame, destination address to FCS
    min_frame_octets: int
    max_frame_octets: int
    # preamble_bits, gap_bits: What surrounds a frame
    preamble_bits: int
    gap_bits: int

    @classmethod
    def of(cls, name: str, constants: Mapping[str, int]) -> "Medium":
        """Return the medium of a standard, from its constants as the core lists them."""
        return cls(
            name=name,
            line_rate_bps=_PS_PER_S / constants["bit_ps"],
            header_octets=HEADER_OCTETS.get(name, ETHERNET_HEADER),
            fcs_octets=constants["fcs_bits"] // 8,
            min_frame_octets=constants["min_frame_bits"] // 8,
            max_frame_octets=constants["max_frame_bits"] // 8,
            preamble_bits=constants["preamble_bits"],
            gap_bits=constants["gap_bits"],
        )


@dataclass(frozen=True, slots=True)
class Packets:
    """What one direction of a call puts on a medium while its talker talks."""

    payload_octets: Array  # Speech of a packet [octet]
    # Frame that carries it, destination address to FCS, padding included [octet]
    frame_octets: Array
    charged_bits: Array  # The same with preamble and inter-frame gap [bit]
    packets_per_s: Array  # Packets a second
    frame_bps: Array  # Bits of frames a second [bit/s]
    # Charged time over time: the share of the line rate that the direction asks for
    offered_load: Array
    # Most calls of two such directions, both always talking, that the bits of a shared segment
    # leave room for; contention takes some of them
    calls_shared: Array
    # The same for a full-duplex link, where each direction has the line rate for itself
    calls_duplex: Array


@dataclass(frozen=True, slots=True)
class MouthToEar:
    """Delay from mouth to ear and its components, all in seconds."""

    packetisation_s: Array  # From the first sample of a packet to its last
    look_ahead_s: Array  # Speech beyond it that the coder waits for
    processing_s: Array  # What coder and decoder take
    network_s: Array  # From the packet's being ready to its arrival, its transmission included
    jitter_buffer_s: Array  # How long the receiver holds it back
    delay_s: Array  # Their sum


def packets(
    codec: str | Codec,
    *,
    packet_s: Numbers,
    medium: Medium,
    ip: str = "ipv4",
    bit_rate_bps: Numbers | None = None,
) -> Packets:
    """Cut a call into packets and put them on an Ethernet.

    `packet_s` is the speech in a packet, whole frames of the codec, from 0.0001 to 1 s. `ip` is
    "ipv4" or "ipv6", with UDP and RTP, or "none", which puts the speech directly into the frame.
    `bit_rate_bps` is of a codec that has several, within its range. The bit rate is constant, to
    the nearest whole octet of a frame; no silence suppression; no header compression.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, a packet is not of whole frames or too long for the
        codec or the medium, or the codec needs a bit rate.

    Source
    ------
    RFC 3550, RFC 3551; the medium's standard.
    """
    known = codec_named(_FUNCTION, codec)
    choice(_FUNCTION, "ip", ip, list(OVERHEADS))
    length = PACKET_S.read(_FUNCTION, "packet_s", packet_s)
    rate = _bit_rate(known, bit_rate_bps)
    length, rate = same_shape(_FUNCTION, ["packet_s", "bit_rate_bps"], [length, rate])
    frame, frames = _frames(_FUNCTION, known, length)
    octets = (
        np.full(length.shape, float(known.frame_octets))
        if known.frame_octets
        else np.rint(rate * frame / 8)
    )
    payload = frames * octets
    unpadded = payload + OVERHEADS[ip] + medium.header_octets + medium.fcs_octets
    if np.any(unpadded > medium.max_frame_octets):
        most = medium.max_frame_octets
        raise ArgumentError(
            _FUNCTION,
            "packet_s",
            f"{length[unpadded > most].flat[0]:.12g}",
            f"frames of at most {most} octets on {medium.name}",
        )
    frame_octets = np.maximum(unpadded, medium.min_frame_octets)
    charged = medium.preamble_bits + 8 * frame_octets + medium.gap_bits
    load = charged / (length * medium.line_rate_bps)
    return Packets(
        payload_octets=plain(payload),
        frame_octets=plain(frame_octets),
        charged_bits=plain(charged),
        packets_per_s=plain(1 / length),
        frame_bps=plain(8 * frame_octets / length),
        offered_load=plain(load),
        # An integer quotient may be a rounding error too small.
        calls_shared=plain(np.floor(1 / (2 * load) * (1 + _WHOLE))),
        calls_duplex=plain(np.floor(1 / load * (1 + _WHOLE))),
    )


def mouth_to_ear(
    codec: str | Codec,
    *,
    packet_s: Numbers,
    network_s: Numbers,
    jitter_buffer_s: Numbers,
    coder_s: Numbers = 0.0,
) -> MouthToEar:
    """Add up the delay from mouth to ear.

    `packet_s` is as for `packets`; the delays of the network and of the receiver's buffer are from
    0 to 10 s, as is `coder_s`, the time that coding takes beyond the speech it waits for, by G.114
    up to a frame.

    Source
    ------
    ITU-T G.114, Annex A, from memory: frames of a packet, then look-ahead; processing is an
    argument here and not a rule.

    Examples
    --------
    >>> f"{mouth_to_ear('g729a', packet_s=0.02, network_s=0.01, jitter_buffer_s=0.04).delay_s:.4f}"
    '0.0750'
    """
    function = "mouth-to-ear"
    known = codec_named(function, codec)
    given = {
        "packet_s": PACKET_S.read(function, "packet_s", packet_s),
        "network_s": DELAY_S.read(function, "network_s", network_s),
        "jitter_buffer_s": DELAY_S.read(function, "jitter_buffer_s", jitter_buffer_s),
        "coder_s": DELAY_S.read(function, "coder_s", coder_s),
    }
    length, network, buffer, coder = same_shape(function, list(given), list(given.values()))
    _frames(function, known, length)
    look_ahead, processing = np.full(length.shape, known.look_ahead_s), coder + known.decoder_s
    return MouthToEar(
        packetisation_s=plain(length),
        look_ahead_s=plain(look_ahead),
        processing_s=plain(processing),
        network_s=plain(network),
        jitter_buffer_s=plain(buffer),
        delay_s=plain(length + look_ahead + processing + network + buffer),
    )


def _bit_rate(codec: Codec, bit_rate_bps: Numbers | None) -> Array:
    low, high = codec.bit_rates_bps
    if bit_rate_bps is None:
        if low != high:
            raise ArgumentError(
                _FUNCTION,
                "bit_rate_bps",
                "not given",
                f"{codec.name} has bit rates from {low:g} to {high:g} bit/s",
            )
        return np.asarray(low)
    rate = BIT_RATE_BPS.read(_FUNCTION, "bit_rate_bps", bit_rate_bps)
    wrong = (rate < low) | (rate > high)
    if wrong.any():
        allowed = f"{low:g} bit/s" if low == high else f"from {low:g} to {high:g} bit/s"
        raise ArgumentError(
            _FUNCTION, "bit_rate_bps", f"{rate[wrong].flat[0]:.12g}", f"{codec.name} has {allowed}"
        )
    return rate


def _frames(function: str, codec: Codec, length: Array) -> tuple[Array, Array]:
    """Return the longest frame duration of the codec that fits [s], and the frames a packet has."""
    frame, frames = np.zeros(length.shape), np.zeros(length.shape)
    for duration in sorted(codec.frames_s):
        count = np.rint(length / duration)
        fits = (count >= 1) & (np.abs(count * duration - length) <= _WHOLE * length)
        frame, frames = np.where(fits, duration, frame), np.where(fits, count, frames)
    longest = np.inf if codec.longest_packet_s is None else codec.longest_packet_s * (1 + _WHOLE)
    wrong = (frames == 0) | (length > longest)
    if wrong.any():
        of = " or ".join(f"{1e3 * duration:g}" for duration in codec.frames_s)
        most = (
            ""
            if codec.longest_packet_s is None
            else f", at most {1e3 * codec.longest_packet_s:g} ms of speech"
        )
        raise ArgumentError(
            function,
            "packet_s",
            f"{length[wrong].flat[0]:.12g}",
            f"{codec.name}: whole frames of {of} ms{most}",
        )
    return frame, frames
