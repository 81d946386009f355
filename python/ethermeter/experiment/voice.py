"""Voice: coders, whose samples gather in the frame sent next (Gonsalves 1982, section 3.3)."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import PlainValidator, WithJsonSchema, model_validator

from ethermeter import scenario
from ethermeter.experiment.frames import Frames, Samples
from ethermeter.experiment.quantity import (
    BitRate,
    PositiveTime,
    Table,
    complaint,
    size_up_to,
    time_up_to,
)
from ethermeter.experiment.segment import Constants
from ethermeter.faults import Faults
from ethermeter.framing import AROUND_DATA_OCTETS, IP_HEADER_OCTETS, UDP_HEADER_OCTETS
from ethermeter.units import LONGEST_PS, PS_PER_S
from ethermeter.voice import CODECS

if TYPE_CHECKING:
    from ethermeter.experiment.flows import Flow
    from ethermeter.experiment.stations import StationGroup

LARGEST_SAMPLE_BITS = 4096
"""The largest sample, in bits."""

NAMED = {
    name: codec for name, codec in CODECS.items() if codec.frame_octets and len(codec.frames_s) == 1
}
"""Codecs that a coder may be called by: those that make frames of one size at one rate."""


def _codec(value: object) -> str:
    if not isinstance(value, str) or value not in NAMED:
        raise complaint(f"expected a codec whose frames are all alike: {', '.join(NAMED)}")
    return value


class Coder(Table):
    """A voice coder, which makes samples at a constant rate."""

    codec: Annotated[str, PlainValidator(_codec), WithJsonSchema({"enum": list(NAMED)})] | None = (
        None
    )
    """Name of a codec whose frames are the samples; instead of `sample` with `every` or `rate`."""
    sample: Annotated[int, *size_up_to(LARGEST_SAMPLE_BITS)] | None = None
    """Size of a sample, at most 4096 bit; required without `codec`."""
    every: Annotated[int, *time_up_to(PS_PER_S, positive=True)] | None = None
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

    @model_validator(mode="after")
    def _is_complete(self) -> "Coder":
        if self.codec is not None:
            if any(value is not None for value in (self.sample, self.every, self.rate)):
                raise complaint("expected either codec, or sample with every or rate")
        elif (self.every is None) == (self.rate is None):
            raise complaint("expected exactly one of every and rate")
        if (self.talk is None) != (self.silence is None):
            raise complaint("expected talk and silence together, or neither")
        return self

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


class Coded(Table):
    """Samples at a steady rate."""

    coder: Coder
    """Codec, or size and rate of the samples, and talk spurts."""


MOST_BITS = 1 << 24
"""Bits that a frame of samples may have."""


NO_SAMPLES = (
    "expected { samples = { least = …, most = …, overhead = … } }, because arrivals are of a coder"
)
NO_CODER = "expected { coder = { sample = …, every = … } }, because frames are samples"
"""What is allowed where one is there without the other."""


def check_group(group: "StationGroup", faults: Faults) -> None:
    """Find voice settings of a group of stations that contradict each other."""
    if isinstance(group.arrivals, Coded) != isinstance(group.frames, Samples):
        if isinstance(group.arrivals, Coded):
            faults.add(("frames",), "no samples", NO_SAMPLES)
        else:
            faults.add(("arrivals",), "no coder", NO_CODER)
    if not isinstance(group.arrivals, Coded):
        return
    # A coder has neither a queue nor an end of its attempts: its buffer is the frame.
    if group.queue is not None:
        faults.add(("queue",), group.queue, "not allowed with a coder, whose buffer is the frame")
    for key, only in (("after_attempt_limit", "resume"), ("after_late_collision", "backoff")):
        if (value := getattr(group, key)) not in (None, only):
            allowed = f'expected "{only}" with a coder, whose buffer goes on'
            faults.add((key,), f'"{value}"', allowed)
    _check_coder(group.arrivals.coder, faults)


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


def frames_and_arrivals(
    group: "StationGroup", constants: Constants, faults: Faults
) -> tuple[scenario.SamplesLengths, scenario.CoderArrivals]:
    """Return the frames and arrivals of a group that passed `check_group`, as in a plan.

    If they do not fit each other or the segment with these constants, `InputError` is raised.
    """
    assert isinstance(group.frames, Samples)
    assert isinstance(group.arrivals, Coded)
    growth, coder = group.frames.samples, group.arrivals.coder
    path = ("frames", "samples")
    fcs_bits, bit_ps, sample_bits = constants.fcs_bits, constants.bit_ps, coder.sample_bits
    added = 0 if group.frames_include_fcs else fcs_bits
    least, most, overhead = (bits + added for bits in (growth.least, growth.most, growth.overhead))
    samples = max(1, -(-(least - overhead) // sample_bits))
    needed = overhead + samples * sample_bits
    # A coder that is only played may fill the whole of a frame, as the study's did.
    if 0 < overhead < fcs_bits:
        allowed = (
            f'expected "0 B", at least the frame check sequence, {fcs_bits} bit, or'
            " frames_include_fcs = false"
        )
        faults.add((*path, "overhead"), f"{overhead} bit", allowed)
    given = f"{growth.most} bit"
    if needed > most:
        allowed = (
            f"expected room for what least asks for, {samples} of {sample_bits} bit beside"
            f" {overhead} of overhead: at least {needed - added} bit"
        )
        faults.add((*path, "most"), given, allowed)
    if most > MOST_BITS:
        faults.add((*path, "most"), given, f"expected at most {MOST_BITS - added} bit")
    elif (constants.csma_cd.preamble_bits + most) * bit_ps > LONGEST_PS:
        faults.add((*path, "most"), given, "expected frames that last at most 1000 s at this rate")
    if sample_bits * bit_ps >= coder.every_ps * (10**9 - group.clock_error) // 10**9:
        key = "every" if coder.every is not None else "rate"
        allowed = (
            f"expected samples slower than the segment, which takes {sample_bits * bit_ps} ps"
            " for one"
        )
        faults.add(("arrivals", "coder", key), f"a sample every {coder.every_ps} ps", allowed)
    faults.raise_all()
    frames = scenario.SamplesLengths(overhead_bits=overhead, min_bits=least, max_bits=most)
    return frames, coder_plan(coder)


def coder_plan(coder: Coder) -> scenario.CoderArrivals:
    """Return a coder without faults as in a plan."""
    spurts = None
    if coder.talk is not None and coder.silence is not None:
        spurts = scenario.Spurts(
            talk_mean_ps=float(coder.talk), silence_mean_ps=float(coder.silence)
        )
    return scenario.CoderArrivals(
        sample_bits=coder.sample_bits, sample_ps=int(coder.every_ps), spurts=spurts
    )


def talks(flow: "Flow") -> bool:
    """Whether a flow is voice, or would be if its other keys were there."""
    has_samples = isinstance(flow.frames, Samples) or isinstance(flow.data, Samples)
    return has_samples or isinstance(flow.arrivals, Coded)


def check_flow(flow: "Flow", faults: Faults, *, mtu_octets: int, most_octets: int) -> None:
    """Find voice settings of a flow, which has frames or data, that contradict each other.

    `most_octets` is the length of the longest frame, and of the longest data of UDP.
    """
    if not talks(flow):
        return
    key, lengths = ("data", flow.data) if flow.data is not None else ("frames", flow.frames)
    if not isinstance(flow.arrivals, Coded):
        if flow.arrivals is not None:
            faults.add(("arrivals",), "no coder", NO_CODER)
        return
    if not isinstance(lengths, Samples):
        faults.add((key,), "no samples", NO_SAMPLES)
    for other in ("generator", "queue", "response"):
        if getattr(flow, other) is not None:
            allowed = (
                "not allowed with a coder, whose host has one packet on its way to the wire at a"
                " time"
            )
            faults.add((other,), "given", allowed)
    if flow.cast != "unicast":
        faults.add(("cast",), f'"{flow.cast}"', 'expected "unicast" with a coder')
    if flow.port in ("tcp", "xdp") and "port" in flow.model_fields_set:
        faults.add(("port",), f'"{flow.port}"', 'expected "udp" or "packet" with a coder')
    coder = flow.arrivals.coder
    _check_coder(coder, faults)
    if coder.codec is None and coder.sample is None:
        return
    if coder.sample_bits % 8:
        path = ("arrivals", "coder", "sample")
        faults.add(path, f"{coder.sample_bits} bit", "expected whole octets in a network")
    if isinstance(lengths, Samples):
        most = most_octets
        if key == "data":
            most = min(most, mtu_octets - IP_HEADER_OCTETS - UDP_HEADER_OCTETS)
        beside = f" beside the headers of IP and UDP in a packet of {mtu_octets} B"
        allowed = (
            f"expected at most {most} B{beside if key == 'data' else ''}: a packet of voice goes in"
            " one frame"
        )
        _check_lengths(lengths, key, coder.sample_bits, faults)
        if lengths.samples.most > 8 * most:
            faults.add((key, "samples", "most"), _size(lengths.samples.most), allowed)


def _check_lengths(lengths: Samples, key: str, sample_bits: int, faults: Faults) -> None:
    growth, path = lengths.samples, (key, "samples")
    for name in ("least", "most", "overhead"):
        if (bits := getattr(growth, name)) % 8:
            faults.add((*path, name), f"{bits} bit", "expected whole octets in a network")
    least_overhead = 0 if key == "data" else AROUND_DATA_OCTETS
    if growth.overhead < 8 * least_overhead:
        allowed = f"expected at least {least_overhead} B: addresses, type and check sequence"
        faults.add((*path, "overhead"), _size(growth.overhead), allowed)
    samples = max(1, -(-(growth.least - growth.overhead) // sample_bits))
    needed = growth.overhead + samples * sample_bits
    if needed > growth.most:
        allowed = (
            f"expected room for what least asks for, {samples} of {sample_bits} bit beside"
            f" {_size(growth.overhead)} of overhead: at least {_size(needed)}"
        )
        faults.add((*path, "most"), _size(growth.most), allowed)


def _size(bits: int) -> str:
    return f"{bits} bit" if bits % 8 else f"{bits // 8} B"


def samples_plan(lengths: Frames | None) -> scenario.SamplesLengths:
    """Return the lengths of a voice flow without faults as in a plan."""
    assert isinstance(lengths, Samples)
    growth = lengths.samples
    return scenario.SamplesLengths(
        overhead_bits=growth.overhead, min_bits=growth.least, max_bits=growth.most
    )
