"""Showing testbeds: which there are, what happens on a segment, and captures of it."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.api.testbed import NamedTestbed, named, read, testbed_of
from ethermeter.faults import InputError
from ethermeter.live_reports import CaptureCounts, RelayCounts, SegmentCounts
from ethermeter.operation import Argument, Display, operation
from ethermeter.testbed.elements import KeptTestbed

if TYPE_CHECKING:
    from ethermeter.testbed import MediumCapture

STANDARD_OUTPUT = Path("-")
REFRESH_S = 1.0
"""Time between two looks at a segment."""
LOOK_S = 0.2
"""Time between two looks whether a capture has ended."""
REMOVAL_LIMIT_S = 5.0
"""Time within which a testbed is removed whose relay has ended."""
_SNAP_OCTETS, _MOST_MB = 65_536, 256


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """Options of `show`."""

    name: Annotated[
        str | None,
        Argument(
            "Name of a testbed; only this one is shown, with the counters of its segment.", "NAME"
        ),
    ] = None
    _: KW_ONLY
    live: Annotated[bool, Argument("Watch the segment of the testbed, second by second.")] = False
    capture: Annotated[
        Path | None,
        Argument(
            "Capture the segment into this file in pcapng format; - for standard output.", "FILE"
        ),
    ] = None
    duration: Annotated[
        str | None, Argument("Duration of the capture; until Ctrl-C unless given.", "TIME")
    ] = None
    frames: Annotated[
        int | None,
        Argument(
            "End the capture after N frames, those in collisions included.",
            "N",
            least=1,
            is_setting=True,
        ),
    ] = None
    segment: Annotated[
        int | None,
        Argument(
            "Number of the segment that is captured, in the testbed; 1 unless given.", "N", least=1
        ),
    ] = None
    capture_octets: Annotated[
        int | None,
        Argument(
            f"Octets that are kept of each frame; {_SNAP_OCTETS} unless given.",
            "N",
            least=64,
            most=_SNAP_OCTETS,
            is_setting=True,
        ),
    ] = None
    capture_size: Annotated[
        int | None,
        Argument(
            f"Largest size of the capture; {_MOST_MB} unless given. Later frames are only counted.",
            "MB",
            least=1,
            most=1_000_000,
            is_setting=True,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A testbed whose maker was ended before it had made or removed it."""

    name: str
    unfinished: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """The testbeds that there are."""

    testbeds: Sequence[NamedTestbed | Unfinished]


@dataclass(frozen=True, slots=True)
class Look:
    """Counters of the relay of a testbed.

    Parameters
    ----------
    counted, before
        Counters so far, and of its segments those of the look before; None of the first.
    names
        Names of the stations of each segment.

    """

    counted: RelayCounts
    names: Sequence[Sequence[str]]
    before: Sequence[SegmentCounts] | None = None


class Captured(CaptureCounts, frozen=True, kw_only=True):
    """Account of a capture, its testbed and its file."""

    testbed: str
    file: str


@operation(ShowOptions)
def show(options: ShowOptions, display: Display) -> Listing | Look | Captured | None:
    """List testbeds, or show, watch or capture the segment of one.

    A capture has every frame on the segment with its start, and every collision as a mark. Ctrl-C
    ends it: the file is then complete, and the exit code 130.

    Raises
    ------
    InputError
        If there is no such testbed or segment, or options contradict each other.
    TestbedError
        If the testbed does not answer.

    """
    if options.name is None:
        for argument in ("live", "capture"):
            if getattr(options, argument):
                allowed = "the name of a testbed with a segment"
                raise InputError.of_argument(argument, "given without a testbed", allowed)
    _check_capture(options)
    if options.name is None:
        return _listing()
    kept = testbed_of(options.name)
    if (options.live or options.capture is not None) and not kept.segments:
        raise InputError.of_argument("name", options.name, "a testbed with a segment")
    if options.capture is not None:
        return _captured(options.name, kept, options.capture, options, display)
    control = _control_of(options.name)
    if options.live:
        _watched(options.name, control, kept, display)
        return None
    return Look(_counted(control), kept.segments)


def _check_capture(options: ShowOptions) -> None:
    """Refuse what is said of a capture that is not taken."""
    if options.capture is not None:
        if options.live:
            raise InputError.of_argument("live", "given with a capture", "one of the two")
        return
    for argument in ("duration", "frames", "segment", "capture_octets", "capture_size"):
        if (value := getattr(options, argument)) is not None:
            allowed = "expected of a capture only, which needs a file"
            raise InputError.of_argument(argument, str(value), allowed)


def _listing() -> Listing:
    from ethermeter import testbed

    there = [named(name, kept) for name, kept in testbed.kept().items()]
    return Listing((*there, *map(Unfinished, testbed.unfinished())))


def _control_of(name: str) -> Path:
    """Return where the relay of a testbed listens."""
    from ethermeter import testbed

    control = testbed.control_of(name)
    if control is None:
        allowed = "a testbed with a segment or relayed wires"
        raise InputError.of_argument("name", name, allowed)
    return control


def _counted(control: Path) -> RelayCounts:
    from ethermeter.testbed import Control

    with Control(control) as connection:
        return connection.count()


def _watched(name: str, control: Path, kept: KeptTestbed, display: Display) -> None:
    """Show the segments of a testbed until Ctrl-C or until it is removed."""
    from ethermeter.testbed import TestbedError

    before: tuple[SegmentCounts, ...] | None = None
    try:
        while True:
            counted = _counted(control)
            if before is not None:
                display.part(Look(counted, kept.segments, before))
            before = counted.segments
            time.sleep(REFRESH_S)
    except TestbedError:
        if not _is_removed(name):
            raise
        display.say(f"ethermeter: testbed {name} was removed")


def _is_removed(name: str) -> bool:
    """Whether a testbed is removed, or is so within some seconds."""
    from ethermeter.testbed import kept

    until_s = time.monotonic() + REMOVAL_LIMIT_S
    while name in kept():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.05)
    return True


def _captured(
    name: str, kept: KeptTestbed, out: Path, options: ShowOptions, display: Display
) -> Captured:
    """Capture until its time is over, it has its frames, Ctrl-C, or the testbed is removed.

    What ends it before its time is raised when the account has been shown.
    """
    from msgspec import structs

    from ethermeter.relay_plan import CaptureOptions
    from ethermeter.testbed import MediumCapture, TestbedError

    number = options.segment or 1
    if number > len(kept.segments):
        raise InputError.of_argument("segment", str(number), f"from 1 to {len(kept.segments)}")
    for_s = None if options.duration is None else read("duration", options.duration, "time") / 1e9
    wanted = CaptureOptions(
        segment=number - 1,
        names=kept.segments[number - 1],
        snap_octets=options.capture_octets or _SNAP_OCTETS,
        most_octets=(options.capture_size or _MOST_MB) * 1_000_000,
        most_frames=options.frames,
    )
    control = _control_of(name)
    is_file = out != STANDARD_OUTPUT
    file = _opened(out) if is_file else sys.stdout.fileno()
    try:
        capture = MediumCapture(control, file, wanted)
    finally:
        if is_file:
            os.close(file)
    interrupt = None
    try:
        _await(capture, f"capture of {name}", for_s, display)
    except KeyboardInterrupt as error:
        interrupt = error
    account = Captured(testbed=name, file=str(out), **structs.asdict(capture.finish()))
    if account.ended == "relay":
        if not _is_removed(name):
            display.part(account)
            raise TestbedError(f"the relay of {name} ended, and the capture with it")
        display.say(f"ethermeter: testbed {name} was removed")
    if interrupt is not None:
        display.part(account)
        raise interrupt
    return account


def _opened(out: Path) -> int:
    """Open the file; a link that another user put there is not followed."""
    if not out.parent.is_dir():
        allowed = "a file in a directory that is there"
        raise InputError.of_argument("capture", str(out), allowed)
    if out.is_dir():
        raise InputError.of_argument("capture", str(out), "a file, not a directory")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(out, flags, 0o644)


def _await(capture: "MediumCapture", title: str, for_s: float | None, display: Display) -> None:
    """Wait for the end of a capture, and show how far it is."""
    if for_s is None:
        with display.activity(title) as activity:
            activity("until Ctrl-C")
            while not capture.has_ended(LOOK_S):
                pass
        return
    begin_s = time.monotonic()
    with display.progress(title) as shown:
        while (left_s := begin_s + for_s - time.monotonic()) > 0:
            if capture.has_ended(min(LOOK_S, left_s)):
                return
            spent_s = min(time.monotonic() - begin_s, for_s)
            shown.show(spent_s / for_s, f"{spent_s:.0f} of {for_s:g} s", for_s - spent_s)
