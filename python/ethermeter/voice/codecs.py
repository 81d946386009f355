"""Codecs as data: frames, rates and E-model parameters, each with its source and confidence."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ethermeter.arguments import ArgumentError
from ethermeter.faults import choices, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """A codec."""

    name: str  # Its name here
    title: str  # What it is
    # Lowest and highest bit rate [bit/s]; equal where there is but one
    bit_rates_bps: tuple[float, float]
    frames_s: tuple[float, ...]  # Durations of the frames that it makes [s]
    frame_octets: int  # Octets of a frame; 0 where they follow from the bit rate
    look_ahead_s: float = 0.0  # Speech that the coder needs beyond the frame [s]
    decoder_s: float = 0.0  # Delay that the decoder adds [s]
    longest_packet_s: float | None = (
        None  # Longest speech of one packet [s]; None if no limit is known
    )
    # Whether it carries 300 to 3400 Hz, which is what the E-model of G.107 rates
    is_narrowband: bool = True
    ie: float | None = None  # Equipment impairment factor Ie; None without a source
    bpl: float | None = None  # Packet-loss robustness factor Bpl; None without a source
    rated: str  # The circumstances for which Ie and Bpl hold
    source: str  # Where the numbers come from
    confidence: str  # How sure they are

    @property
    def is_rated(self) -> bool:
        """Whether the E-model has numbers for it."""
        return self.ie is not None and self.bpl is not None


_G711 = "RFC 3551 section 4.5.14 (frames)"
_G729 = "RFC 3551 section 4.5.6 (frames); ITU-T G.729 (look-ahead)"
_G7231 = "RFC 3551 section 4.5.3 (frames); ITU-T G.723.1 (look-ahead)"
_G113 = "ITU-T G.113 Appendix I"
_SECOND_HAND = (
    "from memory; the pair is quoted alike by several programs, the text of G.113 was not at hand"
)
_BORROWED = (
    "Ie from memory (G.113 Table I.1); Bpl is borrowed from the neighbour that G.113 does rate: "
    "doubtful under loss"
)

_G711_CODEC = Codec(
    name="g711",
    title="G.711, 64 kb/s, losses not concealed",
    bit_rates_bps=(64_000, 64_000),
    frames_s=(0.125e-3,),
    frame_octets=1,
    ie=0.0,
    bpl=4.3,
    rated="random loss, packets of 10 ms",
    source=f"{_G711}; {_G113} (Ie, Bpl)",
    confidence=f"frames certain; Ie, Bpl {_SECOND_HAND}",
)
_G729_CODEC = Codec(
    name="g729",
    title="G.729, 8 kb/s",
    bit_rates_bps=(8_000, 8_000),
    frames_s=(10e-3,),
    frame_octets=10,
    look_ahead_s=5e-3,
    ie=10.0,
    bpl=19.0,
    rated="Ie without loss; Bpl is that of G.729A with silence suppression",
    source=f"{_G729}; {_G113} (Ie)",
    confidence=f"frames and look-ahead certain; {_BORROWED}",
)
_G7231_CODEC = Codec(
    name="g723.1-6.3k",
    title="G.723.1 with silence suppression, 6.3 kb/s",
    bit_rates_bps=(6_300, 6_300),
    frames_s=(30e-3,),
    frame_octets=24,
    look_ahead_s=7.5e-3,
    ie=15.0,
    bpl=16.1,
    rated="random loss, packets of 30 ms, its own concealment",
    source=f"{_G7231}; {_G113} (Ie, Bpl)",
    confidence=f"frames and look-ahead certain; Ie, Bpl {_SECOND_HAND}",
)
_ALL = (
    _G711_CODEC,
    replace(
        _G711_CODEC,
        name="g711-plc",
        title="G.711, 64 kb/s, losses concealed after its Appendix I",
        decoder_s=3.75e-3,
        bpl=25.1,
        source=f"{_G711}; {_G113} (Ie, Bpl); G.711 Appendix I (delay of the decoder)",
        confidence=f"frames certain; Ie, Bpl {_SECOND_HAND}; delay of the decoder from memory",
    ),
    _G729_CODEC,
    replace(
        _G729_CODEC,
        name="g729a",
        title="G.729 Annex A with silence suppression (Annex B), 8 kb/s",
        ie=11.0,
        rated="random loss, packets of 20 ms, its own concealment",
        source=f"{_G729}; {_G113} (Ie, Bpl)",
        confidence=f"frames and look-ahead certain; Ie, Bpl {_SECOND_HAND}",
    ),
    _G7231_CODEC,
    replace(
        _G7231_CODEC,
        name="g723.1-5.3k",
        title="G.723.1, 5.3 kb/s",
        bit_rates_bps=(5_300, 5_300),
        frame_octets=20,
        ie=19.0,
        rated="Ie without loss; Bpl is that of 6.3 kb/s with silence suppression",
        source=f"{_G7231}; {_G113} (Ie)",
        confidence=f"frames and look-ahead certain; {_BORROWED}",
    ),
    Codec(
        name="opus",
        title="Opus, constant bit rate",
        bit_rates_bps=(6_000, 510_000),
        frames_s=(2.5e-3, 5e-3, 10e-3, 20e-3, 40e-3, 60e-3),
        frame_octets=0,
        look_ahead_s=6.5e-3,
        longest_packet_s=0.12,
        is_narrowband=False,
        rated="nothing: G.113 has no numbers for it, and G.107 is for narrowband speech",
        source="RFC 6716 section 2 (frames, rates), RFC 7587 (packets); libopus (look-ahead)",
        confidence=(
            "frames and rates certain; look-ahead from memory: of the coder as libopus has it, "
            "2.5 ms in its low-delay mode"
        ),
    ),
)

CODECS: Mapping[str, Codec] = MappingProxyType({codec.name: codec for codec in _ALL})
"""Every codec, by name."""


def codec_named(function: str, value: object) -> Codec:
    """Return the codec of that name, or the codec itself.

    Raises
    ------
    ArgumentError
        If there is none.

    """
    if isinstance(value, Codec):
        return value
    if not isinstance(value, str) or value not in CODECS:
        raise ArgumentError(function, "codec", shown(value), choices(value, CODECS))
    return CODECS[value]
