"""Voice: coders, whose samples gather in the frame sent next (Gonsalves 1982, section 3.3)."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import PlainValidator, WithJsonSchema, model_validator

from ethermeter import scenario, units
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
from ethermeter.faults import Fault, InputError, Key, dotted
from ethermeter.framing import AROUND_DATA_OCTETS, IP_HEADER_OCTETS, UDP_HEADER_OCTETS
from ethermeter.units import LONGEST_PS, PS_PER_S
from ethermeter.voice import CODECS

if TYPE_CHECKING:
    from ethermeter.experiment.flows import Flow
    from ethermeter.experiment.stations import StationGroup

LARGEST_SAMPLE_BITS = 4096
"""The largest sample, in bits."""

SampleSize = Annotated[int, *size_up_to(LARGEST_SAMPLE_BITS)]
"""Size of a sample in bits."""

SampleTime = Annotated[int, *time_up_to(PS_PER_S, positive=True)]
"""Time from sample to sample in ps, at most 1 s."""


NAMED = {
    name: codec for name, codec in CODECS.items() if codec.frame_octets and len(codec.frames_s) == 1
}
"""Codecs that a coder may be called by: those that make frames of one size at one rate."""


def _codec(value: object) -> str:
    if not isinstance(value, str) or value not in NAMED:
        raise complaint(f"expected a codec whose frames are all alike: {', '.join(NAMED)}")
    return value


class Coder(Table):
    """What a coder makes."""

    codec: Annotated[str, PlainValidator(_codec), WithJsonSchema({"enum": list(NAMED)})] | None = (
        None
    )
    """Name of a codec, whose frames are the samples; or else sample with every or rate."""
    sample: SampleSize | None = None
    """Size of a sample; required where no codec is named."""
    every: SampleTime | None = None
    """Time from one sample to the next; or else rate."""
    rate: BitRate | None = None
    """Bits of samples a second; or else every."""
    talk: PositiveTime | None = None
    """Mean time of talk, exponential; without it there is talk all the time."""
    silence: PositiveTime | None = None
    """Mean time of silence between talk, exponential."""

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
            return Fraction(round(NAMED[self.codec].frames_s[0] * units.PS_PER_S))
        if self.every is not None:
            return Fraction(self.every)
        assert self.rate is not None  # one of the two is there
        return units.PS_PER_S * self.sample_bits / self.rate


class Coded(Table):
    """Samples at a steady rate."""

    coder: Coder
    """What makes them."""


MOST_BITS = 1 << 24
"""Bits that a frame of samples may have."""


NO_SAMPLES = (
    "expected { samples = { least = …, most = …, overhead = … } }, because arrivals are of a coder"
)
NO_CODER = "expected { coder = { sample = …, every = … } }, because frames are samples"
"""What is allowed where one is there without the other."""


class Problems:
    """Faults of one table, of stations or of a flow, found so far."""

    def __init__(self, file: str, place: tuple[Key, ...]) -> None:
        self.file = file
        self.place = place
        self.faults: list[Fault] = []

    def add(self, key: tuple[str, ...], value: object, allowed: str) -> None:
        """Take in a fault: the key within the table, its value, and what was allowed."""
        self.faults.append(Fault(self.file, dotted((*self.place, *key)), str(value), allowed))


def station_faults(group: "StationGroup", index: int, *, file: str) -> list[Fault]:
    """Return what a group says of its voice that cannot both be; nothing of one without voice."""
    problems = Problems(file, ("stations", index))
    if isinstance(group.arrivals, Coded) != isinstance(group.frames, Samples):
        if isinstance(group.arrivals, Coded):
            problems.add(("frames",), "no samples", NO_SAMPLES)
        else:
            problems.add(("arrivals",), "no coder", NO_CODER)
    if isinstance(group.arrivals, Coded):
        _check_host(group, problems)
        check_coder(group.arrivals.coder, problems)
    return problems.faults


def _check_host(group: "StationGroup", problems: Problems) -> None:
    """Find keys of queues and of giving up: a coder has neither, its buffer is the frame."""
    if group.queue is not None:
        problems.add(("queue",), group.queue, "not allowed with a coder, whose buffer is the frame")
    for key, only in (("after_attempt_limit", "resume"), ("after_late_collision", "backoff")):
        value = getattr(group, key)
        if value not in (None, only):
            problems.add(
                (key,), f'"{value}"', f'expected "{only}" with a coder, whose buffer goes on'
            )


def check_coder(coder: Coder, problems: Problems) -> None:
    """Find times that a coder cannot have."""
    if coder.codec is None and coder.sample is None:
        problems.add(
            ("arrivals", "coder", "sample"),
            "(missing)",
            "required: size of a sample; or codec instead of sample and every",
        )
        return
    every_ps = coder.every_ps
    if every_ps.denominator != 1:
        allowed = (
            "expected a rate at which a sample lasts a whole number of picoseconds; or every ="
            f' "{round(every_ps)} ps"'
        )
        problems.add(("arrivals", "coder", "rate"), f"{float(coder.rate or 0):g} bit/s", allowed)
        return
    if every_ps > PS_PER_S:
        problems.add(
            ("arrivals", "coder", "rate"),
            f"{float(coder.rate or 0):g} bit/s",
            "expected at least a sample a second",
        )
    for key in ("talk", "silence"):
        mean_ps = getattr(coder, key)
        # Shorter spurts would be skipped by the thousand between one sample and the next.
        if mean_ps is not None and mean_ps < every_ps:
            problems.add(
                ("arrivals", "coder", key),
                f"{mean_ps} ps",
                f"expected at least the time between two samples, {every_ps} ps",
            )


def frames_and_arrivals(
    group: "StationGroup", index: int, *, constants: Constants, file: str
) -> tuple[scenario.SamplesLengths, scenario.CoderArrivals]:
    """Return the frames and arrivals of a group without `station_faults` as in a plan.

    Parameters
    ----------
    group, index
        The group, with a coder, and which of the file it is.
    constants
        Of its segment.
    file
        What faults call the file.

    Raises
    ------
    InputError
        If they do not fit each other or the segment.

    """
    assert isinstance(group.frames, Samples)
    assert isinstance(group.arrivals, Coded)
    growth, coder = group.frames.samples, group.arrivals.coder
    problems = Problems(file, ("stations", index))
    fcs_bits, bit_ps = constants.fcs_bits, constants.bit_ps
    added = 0 if group.frames_include_fcs else fcs_bits
    least, most, overhead = (bits + added for bits in (growth.least, growth.most, growth.overhead))
    samples = max(1, -(-(least - overhead) // coder.sample_bits))
    # A coder that is only played may fill the whole of a frame, as the study's did.
    if 0 < overhead < fcs_bits:
        allowed = (
            f'expected "0 B", at least the frame check sequence, {fcs_bits} bit, or'
            " frames_include_fcs = false"
        )
        problems.add(("frames", "samples", "overhead"), f"{overhead} bit", allowed)
    if overhead + samples * coder.sample_bits > most:
        allowed = (
            f"expected room for what least asks for, {samples} of {coder.sample_bits} bit beside"
            f" {overhead} of overhead: at least"
            f" {overhead + samples * coder.sample_bits - added} bit"
        )
        problems.add(("frames", "samples", "most"), f"{growth.most} bit", allowed)
    if most > MOST_BITS:
        problems.add(
            ("frames", "samples", "most"),
            f"{growth.most} bit",
            f"expected at most {MOST_BITS - added} bit",
        )
    elif (constants.preamble_bits + most) * bit_ps > LONGEST_PS:
        problems.add(
            ("frames", "samples", "most"),
            f"{growth.most} bit",
            "expected frames that last at most 1000 s at this rate",
        )
    if (
        coder.sample_bits * bit_ps
        >= coder.every_ps * (1_000_000_000 - group.clock_error) // 1_000_000_000
    ):
        key = "every" if coder.every is not None else "rate"
        allowed = (
            f"expected samples slower than the segment, which takes {coder.sample_bits * bit_ps} ps"
            " for one"
        )
        problems.add(("arrivals", "coder", key), f"a sample every {coder.every_ps} ps", allowed)
    if problems.faults:
        raise InputError(problems.faults)
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


_ONE_PACKET = "not allowed with a coder, whose host has one packet on its way to the wire at a time"


def talks(flow: "Flow") -> bool:
    """Whether a flow is voice, or would be if all of it were there."""
    return (
        isinstance(flow.arrivals, Coded)
        or isinstance(flow.frames, Samples)
        or isinstance(flow.data, Samples)
    )


def flow_faults(
    flow: "Flow", place: tuple[Key, ...], *, mtu_octets: int, most_octets: int, file: str
) -> list[Fault]:
    """Return what a flow says of its voice that cannot be; nothing of one without voice.

    Parameters
    ----------
    flow, place
        The flow, with exactly one of frames and data, and its table in the file.
    mtu_octets
        Longest IP packet of a flow with data.
    most_octets
        Longest frame, and longest data of UDP.
    file
        What faults call the file.

    """
    if not talks(flow):
        return []
    problems = Problems(file, place)
    key, lengths = ("data", flow.data) if flow.data is not None else ("frames", flow.frames)
    if not isinstance(flow.arrivals, Coded):
        if flow.arrivals is not None:
            problems.add(("arrivals",), "no coder", NO_CODER)
        return problems.faults
    if not isinstance(lengths, Samples):
        problems.add((key,), "no samples", NO_SAMPLES)
    for other in ("generator", "queue", "response"):
        if getattr(flow, other) is not None:
            problems.add((other,), "given", _ONE_PACKET)
    if flow.cast != "unicast":
        problems.add(("cast",), f'"{flow.cast}"', 'expected "unicast" with a coder')
    if flow.port in ("tcp", "xdp") and "port" in flow.model_fields_set:
        problems.add(("port",), f'"{flow.port}"', 'expected "udp" or "packet" with a coder')
    coder = flow.arrivals.coder
    check_coder(coder, problems)
    if coder.codec is None and coder.sample is None:
        return problems.faults
    if coder.sample_bits % 8:
        problems.add(
            ("arrivals", "coder", "sample"),
            f"{coder.sample_bits} bit",
            "expected whole octets in a network",
        )
    if isinstance(lengths, Samples):
        _check_lengths(
            lengths,
            key,
            coder.sample_bits,
            mtu_octets=mtu_octets,
            most_octets=most_octets,
            problems=problems,
        )
    return problems.faults


def _check_lengths(
    lengths: Samples,
    key: str,
    sample_bits: int,
    *,
    mtu_octets: int,
    most_octets: int,
    problems: Problems,
) -> None:
    growth = lengths.samples
    for name in ("least", "most", "overhead"):
        if (bits := getattr(growth, name)) % 8:
            problems.add(
                (key, "samples", name), f"{bits} bit", "expected whole octets in a network"
            )
    is_data = key == "data"
    least_overhead = 0 if is_data else AROUND_DATA_OCTETS
    if growth.overhead < 8 * least_overhead:
        allowed = f"expected at least {least_overhead} B: addresses, type and check sequence"
        problems.add((key, "samples", "overhead"), _size(growth.overhead), allowed)
    samples = max(1, -(-(growth.least - growth.overhead) // sample_bits))
    if growth.overhead + samples * sample_bits > growth.most:
        allowed = (
            f"expected room for what least asks for, {samples} of {sample_bits} bit beside"
            f" {_size(growth.overhead)} of overhead: at least"
            f" {_size(growth.overhead + samples * sample_bits)}"
        )
        problems.add((key, "samples", "most"), _size(growth.most), allowed)
    most = (
        min(most_octets, mtu_octets - IP_HEADER_OCTETS - UDP_HEADER_OCTETS)
        if is_data
        else most_octets
    )
    if growth.most > 8 * most:
        where = (
            f" beside the headers of IP and UDP in a packet of {mtu_octets} B" if is_data else ""
        )
        problems.add(
            (key, "samples", "most"),
            _size(growth.most),
            f"expected at most {most} B{where}: a packet of voice goes in one frame",
        )


def _size(bits: int) -> str:
    return f"{bits} bit" if bits % 8 else f"{bits // 8} B"


def samples_plan(lengths: Frames | None) -> scenario.SamplesLengths:
    """Return the lengths of a voice flow without faults as in a plan."""
    assert isinstance(lengths, Samples)
    growth = lengths.samples
    return scenario.SamplesLengths(
        overhead_bits=growth.overhead, min_bits=growth.least, max_bits=growth.most
    )
