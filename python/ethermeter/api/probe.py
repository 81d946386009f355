"""Measuring a host that answers, without an experiment, once or again and again."""

import math
import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.faults import InputError, choices
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.probing import series
    from ethermeter.probing.measuring import Request
    from ethermeter.probing.result import Measurement

_SHORTEST_S, _LONGEST_S = 3.0, 3600.0
_LONGEST_SERIES_S = 366 * 86_400.0
_UNITS_S = {"ms": 0.001, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_LEAST_BPS, _MOST_BPS = 1_000_000, 1_000_000_000_000
_LONGEST_KEY = 64


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """Options of `probe`."""

    to: Annotated[
        str,
        Argument(
            "The host: its name or address, with a port if wanted; of agents its name in the file "
            "of hosts.",
            "HOST",
        ),
    ]
    _: KW_ONLY
    by: Annotated[
        str | None,
        Argument("What answers at the host; tried in turn unless given.", "agent|stamp|iperf3"),
    ] = None
    origin: Annotated[
        str | None, Argument("Of agents: the host to measure from, by its name.", "HOST")
    ] = None
    on: Annotated[str | Path | None, Argument("File of hosts with agents.", "FILE")] = None
    duration: Annotated[str, Argument("Duration of a measurement.", "TIME")] = "10 s"
    every: Annotated[
        str | None, Argument('Measure again at this interval, such as "5 min".', "TIME")
    ] = None
    until: Annotated[
        str | None, Argument('How long it is measured again, such as "24 h".', "TIME")
    ] = None
    streams: Annotated[
        int, Argument("By iperf3: number of parallel streams.", "N", least=1, most=128)
    ] = 1
    rate: Annotated[
        str | None,
        Argument(
            'By iperf3: rate of UDP, such as "50 Mb/s"; as fast as possible unless given.', "RATE"
        ),
    ] = None
    key_file: Annotated[
        Path | None, Argument("By STAMP: file with the key of the authenticated mode.", "FILE")
    ] = None
    out: Annotated[
        Path | None,
        Argument(
            "Directory of what is measured again and again, runs/probe-HOST unless given. What is "
            "in it is continued.",
            "DIR",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Series:
    """A host that was measured again and again.

    Parameters
    ----------
    series, report
        Its directory, and the page in it.
    measurements
        How many there are, failed ones included.
    failures
        How many failed since it was begun, or continued.

    """

    series: str
    report: str
    measurements: int
    failures: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A measurement of a series; `is_first`: whether the series has none before it."""

    measurement: "Measurement"
    is_first: bool


@operation(ProbeOptions)
def probe(options: ProbeOptions, display: Display) -> "Measurement | Series":
    """Measure the path to a host without an experiment, by what answers there.

    It may be an agent, a reflector of STAMP, or iperf3 -s. Exit code 1 if nothing answers.

    Raises
    ------
    InputError
        With an option that cannot be.
    PeerError, TrialError, TestbedError, RunError
        If nothing answers, or the measurement broke off; a series goes on.

    """
    request = _request(options)
    if (options.every is None) != (options.until is None):
        missing = "until" if options.until is None else "every"
        allowed = "expected the interval with the duration of all measurements"
        raise InputError.of_argument(missing, "(missing)", allowed)
    if options.every is not None and options.until is not None:
        every_s = seconds("every", options.every, request.duration_s + 1, _LONGEST_SERIES_S)
        for_s = seconds("until", options.until, every_s, _LONGEST_SERIES_S)
        return _series(request, every_s, for_s, options.out, display)
    if options.out is not None:
        allowed = "expected of what is measured again and again only"
        raise InputError.of_argument("out", str(options.out), allowed)
    return _measured(request, display)


def _request(options: ProbeOptions) -> "Request":
    from ethermeter.probing.measuring import BY, Request

    if options.by is not None and options.by not in BY:
        raise InputError.of_argument("by", options.by, choices(options.by, BY))
    return Request(
        to=options.to,
        by=options.by,
        duration_s=seconds("duration", options.duration, _SHORTEST_S, _LONGEST_S),
        streams=options.streams,
        rate_bps=_rate_bps(options.rate),
        key=None if options.key_file is None else read_key(options.key_file),
        hosts=None if options.on is None else _hosts(str(options.on)),
        origin=options.origin,
    )


def _hosts(text: str) -> Path:
    """Return a file of hosts; what stands for none has no agents to measure with."""
    from ethermeter.api.venues import venue_of

    file = venue_of(text).file
    if file is None:
        raise InputError.of_argument("on", text, "a file of hosts")
    return file


def _measured(request: "Request", display: Display) -> "Measurement":
    """Measure, with progress; whatever the system refuses is a fault of the peer."""
    from ethermeter.probing.measuring import measure
    from ethermeter.probing.peers import PeerError

    begun_s = time.monotonic()
    with display.progress(request.to) as shown:

        def follow(what: str, share: float) -> None:
            left_s = request.duration_s - (time.monotonic() - begun_s)
            shown.show(share, what, max(0.0, left_s))

        try:
            return measure(request, follow)
        except OSError as error:
            raise PeerError(str(error)) from error


def _series(
    request: "Request", every_s: float, for_s: float, out: Path | None, display: Display
) -> Series:
    """Measure again and again; what fails is kept as such."""
    from msgspec import to_builtins

    from ethermeter.engines.work import TrialError
    from ethermeter.plan import slug
    from ethermeter.probing import series
    from ethermeter.probing.peers import PeerError
    from ethermeter.store import RunError
    from ethermeter.testbed import TestbedError

    directory = out if out is not None else Path("runs") / f"probe-{slug(request.to)}"
    question: dict[str, object] = asdict(request)
    # A key is a secret, and no part of what is measured.
    question["key"] = request.key is not None
    question["hosts"] = None if request.hosts is None else str(request.hosts)
    failures = 0
    with series.opened(directory, question, every_s=every_s, for_s=for_s) as kept:
        is_first = not any(True for _ in kept.read())
        for slot in _slots(kept, display):
            try:
                found = _measured(request, display)
            except (PeerError, TrialError, RunError, TestbedError) as error:
                failures += 1
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                kept.append(slot, {"at": at, "error": str(error)})
                display.say(f"ethermeter: measurement {slot + 1} of {kept.slots}: {error}")
            else:
                kept.append(slot, to_builtins(found))
                display.part(Slot(found, is_first))
                is_first = False
            kept.write_page()
        page = kept.write_page()
        count = sum(1 for _ in kept.read())
    return Series(str(directory), str(page), count, failures)


def _slots(kept: "series.Series", display: Display) -> Iterator[int]:
    """Yield the slots of a series that are left, each when it begins."""
    from ethermeter.probing.series import wait_until

    last = max((found["slot"] for found in kept.read()), default=-1)
    while (slot := kept.next_slot(time.time(), after=last)) is not None:
        with display.activity(f"measurement {slot + 1} of {kept.slots}") as activity:
            wait_until(kept.due_s(slot), lambda left_s: activity(f"begins in {left_s:.0f} s"))
        yield slot
        last = slot


def seconds(argument: str, text: str, least_s: float, most_s: float) -> float:
    """Read a time such as "10 s", "5m", "24 h" between two bounds."""
    bare = text.strip()
    digits = bare.rstrip("abcdefghijklmnopqrstuvwxyz").strip()
    unit = bare[len(bare.rstrip("abcdefghijklmnopqrstuvwxyz")) :]
    try:
        found = float(digits) * _UNITS_S[unit]
    except (ValueError, KeyError):
        found = math.nan
    if not least_s <= found <= most_s:
        allowed = f"expected {least_s:g} s to {most_s:g} s, with one of {', '.join(_UNITS_S)}"
        raise InputError.of_argument(argument, text, allowed)
    return found


def _rate_bps(text: str | None) -> int:
    from ethermeter import units

    if text is None:
        return 0
    try:
        found = units.quantity(text, expected="a rate")
        rate = int(found.base) if found.dimension is units.Dimension.RATE else 0
    except units.UnitError:
        rate = 0
    if not _LEAST_BPS <= rate <= _MOST_BPS:
        allowed = 'expected a rate from 1 Mb/s to 1 Tb/s, such as "50 Mb/s"'
        raise InputError.of_argument("rate", text, allowed)
    return rate


def read_key(path: Path) -> bytes:
    """Read a key of 1 to 64 octets from a file; a line's end at its end is no part of it."""
    try:
        with path.open("rb") as file:
            key = file.read(1024)
    except OSError as error:
        allowed = f"expected a readable file: {error.strerror or error}"
        raise InputError.of_argument("key_file", str(path), allowed) from None
    key = key.removesuffix(b"\n").removesuffix(b"\r")
    if not 1 <= len(key) <= _LONGEST_KEY:
        allowed = f"expected a key of 1 to {_LONGEST_KEY} octets"
        raise InputError.of_argument("key_file", f"{len(key)} octets", allowed)
    return key
