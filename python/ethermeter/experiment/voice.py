"""Voice: a coder and the frames its samples gather in, as the engines read them; and what of it
cannot be.
"""

from collections.abc import Mapping
from typing import Any

from ethermeter.experiment.coder import Coded, Coder
from ethermeter.experiment.complaints import Part, dotted
from ethermeter.experiment.frames import Samples
from ethermeter.experiment.stations import StationGroup
from ethermeter.faults import Fault, InputError
from ethermeter.units import LONGEST_PS, PS_PER_S

MOST_BITS = 1 << 24
"""Bits that a frame of samples may have."""


NO_SAMPLES = (
    "expected { samples = { least = …, most = …, overhead = … } }, because arrivals are of a coder"
)
NO_CODER = "expected { coder = { sample = …, every = … } }, because frames are samples"
"""What is allowed where one is there without the other."""


class Problems:
    """Faults of one table, of stations or of a flow, found so far."""

    def __init__(self, file: str, place: tuple[Part, ...]) -> None:
        self.file = file
        self.place = place
        self.faults: list[Fault] = []

    def add(self, key: tuple[str, ...], value: object, allowed: str) -> None:
        """Take in a fault: the key within the table, its value, and what was allowed."""
        self.faults.append(Fault(self.file, dotted((*self.place, *key)), str(value), allowed))


def contradictions(group: StationGroup, index: int, *, file: str) -> list[Fault]:
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


def _check_host(group: StationGroup, problems: Problems) -> None:
    """Find keys of hosts that wait or give up: a coder's buffer is the frame, and goes on whatever
    becomes of attempts.
    """
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
        allowed = f'expected a rate at which a sample lasts a whole number of picoseconds; or every = "{round(every_ps)} ps"'
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
    group: StationGroup, index: int, *, constants: Mapping[str, Any], file: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the frames and arrivals of a group without contradictions as the engines read them.

    Parameters
    ----------
    group, index
        The group, with a coder, and which of the file it is.
    constants
        Of its segment: bit_ps, preamble_bits, fcs_bits.
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
    fcs_bits, bit_ps = constants["fcs_bits"], constants["bit_ps"]
    added = 0 if group.frames_include_fcs else fcs_bits
    least, most, overhead = (bits + added for bits in (growth.least, growth.most, growth.overhead))
    samples = max(1, -(-(least - overhead) // coder.sample_bits))
    # A coder that is only played may fill the whole of a frame, as the study's did.
    if 0 < overhead < fcs_bits:
        allowed = f'expected "0 B", at least the frame check sequence, {fcs_bits} bit, or frames_include_fcs = false'
        problems.add(("frames", "samples", "overhead"), f"{overhead} bit", allowed)
    if overhead + samples * coder.sample_bits > most:
        allowed = (
            f"expected room for what least asks for, {samples} of {coder.sample_bits} bit beside {overhead} of overhead: "
            f"at least {overhead + samples * coder.sample_bits - added} bit"
        )
        problems.add(("frames", "samples", "most"), f"{growth.most} bit", allowed)
    if most > MOST_BITS:
        problems.add(
            ("frames", "samples", "most"),
            f"{growth.most} bit",
            f"expected at most {MOST_BITS - added} bit",
        )
    elif (constants["preamble_bits"] + most) * bit_ps > LONGEST_PS:
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
        allowed = f"expected samples slower than the segment, which takes {coder.sample_bits * bit_ps} ps for one"
        problems.add(("arrivals", "coder", key), f"a sample every {coder.every_ps} ps", allowed)
    if problems.faults:
        raise InputError(problems.faults)
    return {
        "kind": "samples",
        "overhead_bits": overhead,
        "min_bits": least,
        "max_bits": most,
    }, arrivals_plan(coder)


def arrivals_plan(coder: Coder) -> dict[str, Any]:
    """Return a coder without faults as the engines read it."""
    spurts = (
        None
        if coder.talk is None or coder.silence is None
        else (float(coder.talk), float(coder.silence))
    )
    return {
        "kind": "coder",
        "sample_bits": coder.sample_bits,
        "sample_ps": int(coder.every_ps),
        "spurts": None
        if spurts is None
        else {"talk_mean_ps": spurts[0], "silence_mean_ps": spurts[1]},
    }
