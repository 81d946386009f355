"""Voice: coders, whose samples gather in the frame sent next (Gonsalves 1982, section 3.3)."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from msgspec import structs

from ethermeter import scenario
from ethermeter.experiment.quantity import (
    BitRate,
    PositiveTime,
    complaint,
    size_up_to,
    time_up_to,
    words,
)
from ethermeter.experiment.segment import Constants
from ethermeter.experiment.tables import FileTable
from ethermeter.faults import Faults
from ethermeter.framing import (
    AROUND_DATA_OCTETS,
    FCS_OCTETS,
    IP_HEADER_OCTETS,
    UDP_HEADER_OCTETS,
)
from ethermeter.scenario import SamplesLengths
from ethermeter.units import LONGEST_PS, PS_PER_S
from ethermeter.voice import CODECS

if TYPE_CHECKING:
    from ethermeter.experiment.flows import Flow

LARGEST_SAMPLE_BITS = 4096
"""The largest sample, in bits."""

NAMED = {
    name: codec for name, codec in CODECS.items() if codec.frame_octets and len(codec.frames_s) == 1
}
"""Codecs that a coder may be called by: those that make frames of one size at one rate."""


class Coder(FileTable, frozen=True, kw_only=True):
    """A voice coder, which makes samples at a constant rate."""

    codec: (
        Annotated[
            str,
            words(
                *NAMED, allowed=f"expected a codec whose frames are all alike: {', '.join(NAMED)}"
            ),
        ]
        | None
    ) = None
    """Name of a codec whose frames are the samples; instead of `sample` with `every` or `rate`."""
    sample: Annotated[int, size_up_to(LARGEST_SAMPLE_BITS)] | None = None
    """Size of a sample, at most 4096 bit; required without `codec`."""
    every: Annotated[int, time_up_to(PS_PER_S, positive=True)] | None = None
    """Time from one sample to the next, at most 1 s; instead of `rate`."""
    rate: BitRate | None = None
    """Bit rate of the samples; instead of `every`. A sample must last a whole number of
    picoseconds.
    """
    talk: PositiveTime | None = None
    """Mean length of a talk spurt, exponential; together with `silence`. Talk is continuous if
    absent.
    """
    silence: PositiveTime | None = None
    """Mean silence between talk spurts, exponential; together with `talk`."""

    def check(self) -> None:
        """Refuse keys that contradict each other."""
        if self.codec is not None:
            if any(value is not None for value in (self.sample, self.every, self.rate)):
                raise complaint("expected either codec, or sample with every or rate")
        elif (self.every is None) == (self.rate is None):
            raise complaint("expected exactly one of every and rate")
        if (self.talk is None) != (self.silence is None):
            raise complaint("expected talk and silence together, or neither")

    @property
    def sample_bits(self) -> int:
        """Size of a sample in bits."""
        if self.codec is not None:
            return 8 * NAMED[self.codec].frame_octets
        assert self.sample is not None, "checked"
        return self.sample

    @property
    def every_ps(self) -> Fraction:
        """Time from one sample to the next in ps; by a rate it need not be whole."""
        if self.codec is not None:
            return Fraction(round(NAMED[self.codec].frames_s[0] * PS_PER_S))
        if self.every is not None:
            return Fraction(self.every)
        assert self.rate is not None  # one of the two is there
        return PS_PER_S * self.sample_bits / self.rate

    def source(self) -> scenario.CoderArrivals:
        """Return a coder without faults as in a plan."""
        spurts = None
        if self.talk is not None and self.silence is not None:
            spurts = scenario.Spurts(
                talk_mean_ps=float(self.talk), silence_mean_ps=float(self.silence)
            )
        return scenario.CoderArrivals(
            sample_bits=self.sample_bits, sample_ps=int(self.every_ps), spurts=spurts
        )


MOST_BITS = 1 << 24
"""Bits that a frame of samples may have."""


NO_SAMPLES = (
    "expected { samples = { least = …, most = …, overhead = … } }, because arrivals are of a coder"
)
NO_CODER = "expected { coder = { sample = …, every = … } }, because frames are samples"
"""What is allowed where one is there without the other."""


def _check_coder(coder: Coder, faults: Faults) -> None:
    """Find times that a coder cannot have."""
    path = ("arrivals", "coder")
    if coder.codec is None and coder.sample is None:
        allowed = "required: size of a sample; or codec instead of sample and every"
        faults.add((*path, "sample"), "(missing)", allowed)
        return
    every_ps = coder.every_ps
    rate = f"{float(coder.rate or 0):g} bit/s"
    if every_ps.denominator != 1:
        allowed = (
            "expected a rate at which a sample lasts a whole number of picoseconds; or every ="
            f' "{round(every_ps)} ps"'
        )
        faults.add((*path, "rate"), rate, allowed)
        return
    if every_ps > PS_PER_S:
        faults.add((*path, "rate"), rate, "expected at least a sample a second")
    for key in ("talk", "silence"):
        mean_ps = getattr(coder, key)
        # Shorter spurts would be skipped by the thousand between one sample and the next.
        if mean_ps is not None and mean_ps < every_ps:
            allowed = f"expected at least the time between two samples, {every_ps} ps"
            faults.add((*path, key), f"{mean_ps} ps", allowed)


def packets(
    coder: Coder,
    growth: SamplesLengths,
    added: int,
    medium: Constants | None,
    clock_error_ppb: int,
    faults: Faults,
) -> SamplesLengths:
    """Return the lengths of packets with check sequences, of a flow that passed `check_voice`.

    Parameters
    ----------
    coder, growth
        Samples, and the packets that they gather in.
    added
        Bits of the check sequence, if lengths are without it.
    medium
        The medium that receives the packets; None if a host does.
    clock_error_ppb
        Largest error of the clock that the coder follows.

    Raises
    ------
    InputError
        If the medium does not carry the packets, or no slower than samples come.

    """
    overhead, least, most = (
        bits + added for bits in (growth.overhead_bits, growth.min_bits, growth.max_bits)
    )
    lengths = structs.replace(growth, overhead_bits=overhead, min_bits=least, max_bits=most)
    if medium is None:
        return lengths
    path = ("frames", "samples")
    fcs_bits, bit_ps, sample_bits = medium.fcs_bits, medium.bit_ps, coder.sample_bits
    # A coder that is only played may fill the whole of a frame, as the study's did.
    if 0 < overhead < fcs_bits:
        allowed = (
            f'expected "0 B", at least the frame check sequence, {fcs_bits} bit, or'
            " frames_include_fcs = false"
        )
        faults.add((*path, "overhead"), f"{overhead} bit", allowed)
    given = f"{growth.max_bits} bit"
    if most > MOST_BITS:
        faults.add((*path, "most"), given, f"expected at most {MOST_BITS - added} bit")
    elif (medium.csma_cd.preamble_bits + most) * bit_ps > LONGEST_PS:
        faults.add((*path, "most"), given, "expected frames that last at most 1000 s at this rate")
    if sample_bits * bit_ps >= coder.every_ps * (10**9 - clock_error_ppb) // 10**9:
        key = "every" if coder.every is not None else "rate"
        allowed = (
            f"expected samples slower than the segment, which takes {sample_bits * bit_ps} ps"
            " for one"
        )
        faults.add(("arrivals", "coder", key), f"a sample every {coder.every_ps} ps", allowed)
    faults.raise_all()
    return lengths


def talks(flow: "Flow") -> bool:
    """Whether a flow is voice, or would be if its other keys were there."""
    has_samples = isinstance(flow.frames, SamplesLengths) or isinstance(flow.data, SamplesLengths)
    return has_samples or isinstance(flow.arrivals, Coder)


def check_voice(
    flow: "Flow", sent: scenario.Flow, faults: Faults, *, mtu_octets: int, most_octets: int
) -> None:
    """Find voice settings of a flow, which has frames or data, that contradict each other.

    `most_octets` is the length of the longest frame, and of the longest data of UDP.
    """
    if not talks(flow):
        return
    key, lengths = ("data", flow.data) if flow.data is not None else ("frames", flow.frames)
    if not isinstance(flow.arrivals, Coder):
        if flow.arrivals is not None:
            faults.add(("arrivals",), "no coder", NO_CODER)
        return
    if not isinstance(lengths, SamplesLengths):
        faults.add((key,), "no samples", NO_SAMPLES)
    others = {"generator": sent.generator, "queue": sent.queue_frames, "response": flow.response}
    for other, value in others.items():
        if value is not None:
            faults.add((other,), "given", "not allowed with a coder, whose buffer is the packet")
    if sent.address != "unicast":
        faults.add(("cast",), f'"{sent.address}"', 'expected "unicast" with a coder')
    if flow.port in ("tcp", "xdp") and "port" in flow.given:
        faults.add(("port",), f'"{flow.port}"', 'expected "udp" or "packet" with a coder')
    coder = flow.arrivals
    _check_coder(coder, faults)
    if coder.codec is None and coder.sample is None:
        return
    if flow.to and coder.sample_bits % 8:
        path = ("arrivals", "coder", "sample")
        faults.add(path, f"{coder.sample_bits} bit", "expected whole octets in a network")
    if isinstance(lengths, SamplesLengths):
        _check_room(lengths, key, coder.sample_bits, faults)
        _check_buffers(lengths, key, coder, faults, is_onto_medium=not flow.to)
        if flow.to:
            fcs_octets = 0 if flow.frames_include_fcs else FCS_OCTETS
            least, most, beside = AROUND_DATA_OCTETS - fcs_octets, most_octets - fcs_octets, ""
            if key == "data":
                least = 0
                most = min(most_octets, mtu_octets - IP_HEADER_OCTETS - UDP_HEADER_OCTETS)
                beside = f" beside the headers of IP and UDP in a packet of {mtu_octets} B"
            _check_octets(lengths, key, least, most, beside, faults)


def _check_room(growth: SamplesLengths, key: str, sample_bits: int, faults: Faults) -> None:
    """Find a longest packet without room for the samples of the shortest."""
    samples = max(1, -(-(growth.min_bits - growth.overhead_bits) // sample_bits))
    needed = growth.overhead_bits + samples * sample_bits
    if needed > growth.max_bits:
        allowed = (
            f"expected room for what least asks for, {samples} of {sample_bits} bit beside"
            f" {_size(growth.overhead_bits)} of overhead: at least {_size(needed)}"
        )
        faults.add((key, "samples", "most"), _size(growth.max_bits), allowed)


def _check_buffers(
    lengths: SamplesLengths, key: str, coder: Coder, faults: Faults, *, is_onto_medium: bool
) -> None:
    """Find packets of one length that are not of one length, or never leave."""
    path, buffers, after_ps = (key, "samples"), lengths.buffers, lengths.discard_after_ps
    if buffers is None:
        if after_ps is not None:
            allowed = "expected buffers beside it: a packet that grows loses its oldest samples"
            faults.add((*path, "discard_after"), f"{after_ps} ps", allowed)
        return
    if not is_onto_medium:
        allowed = "not allowed between hosts, whose packets grow: expected a station of a segment"
        faults.add((*path, "buffers"), str(buffers), allowed)
    if lengths.min_bits != lengths.max_bits:
        allowed = (
            f"expected {_size(lengths.min_bits)}, as least: with buffers packets have one length"
        )
        faults.add((*path, "most"), _size(lengths.max_bits), allowed)
    samples = max(1, -(-(lengths.min_bits - lengths.overhead_bits) // coder.sample_bits))
    fills_ps = (samples - 1) * coder.every_ps
    if after_ps is not None and after_ps <= fills_ps:
        allowed = f"expected longer than a packet fills, {float(fills_ps):g} ps"
        faults.add((*path, "discard_after"), f"{after_ps} ps", allowed)


def _check_octets(
    growth: SamplesLengths, key: str, least: int, most: int, beside: str, faults: Faults
) -> None:
    """Find lengths of packets that do not go in one frame of whole octets."""
    path = (key, "samples")
    sizes = {"least": growth.min_bits, "most": growth.max_bits, "overhead": growth.overhead_bits}
    for name, bits in sizes.items():
        if bits % 8:
            faults.add((*path, name), f"{bits} bit", "expected whole octets in a network")
    if growth.overhead_bits < 8 * least:
        allowed = f"expected at least {least} B: addresses, type and check sequence"
        faults.add((*path, "overhead"), _size(growth.overhead_bits), allowed)
    if growth.max_bits > 8 * most:
        allowed = f"expected at most {most} B{beside}: a packet of voice goes in one frame"
        faults.add((*path, "most"), _size(growth.max_bits), allowed)


def _size(bits: int) -> str:
    return f"{bits} bit" if bits % 8 else f"{bits // 8} B"
