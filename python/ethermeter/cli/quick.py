"""The command that measures a host without an experiment file: `measure --to HOST`."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import print_json, show

if TYPE_CHECKING:
    from ethermeter.quick import Measurement, Request

To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="HOST",
        show_default=False,
        help="Measure the path to this host without an experiment.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="agent|stamp|iperf3",
        show_default=False,
        help="With --to: what answers at the host; tried in turn unless given.",
    ),
]
Origin = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="HOST",
        show_default=False,
        help="With --to and --hosts: the host to measure from.",
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="TIME",
        show_default=False,
        help='With --to: duration of the measurement; "10 s" unless given.',
    ),
]
Streams = Annotated[
    int | None,
    typer.Option(
        "--streams",
        min=1,
        max=128,
        metavar="N",
        show_default=False,
        help="With --to, by iperf3: number of parallel streams.",
    ),
]
Rate = Annotated[
    str | None,
    typer.Option(
        "--rate",
        metavar="RATE",
        show_default=False,
        help='With --to, by iperf3: rate of UDP, such as "50 Mb/s"; as fast as possible unless '
        "given.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        show_default=False,
        help="With --to, by stamp: file with the key of the authenticated mode.",
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="TIME",
        show_default=False,
        help='With --to and --for: repeat the measurement at this interval, such as "5 min".',
    ),
]
For = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        show_default=False,
        help='With --every: total duration, such as "24 h".',
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="With --to: print CSV.")]
_SHORTEST_S, _LONGEST_S = 3.0, 3600.0
_LONGEST_SERIES_S = 366 * 86_400.0
_UNITS_S = {"ms": 0.001, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def refuse(given: dict[str, object], allowed: str) -> None:
    """Refuse options that were given; raises InputError with each of them."""
    from ethermeter.faults import Fault, InputError

    faults = [
        Fault("command line", name, "given", allowed)
        for name, value in given.items()
        if value not in (None, False, [])
    ]
    if faults:
        raise InputError(faults)


def quick(
    to: str,
    *,
    by: str | None,
    origin: str | None,
    duration: str | None,
    streams: int | None,
    rate: str | None,
    key_file: Path | None,
    hosts: Path | None,
    every: str | None,
    until: str | None,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Measure a host once or again and again."""
    from ethermeter.faults import InputError, choices
    from ethermeter.quick import BY, Request

    if by is not None and by not in BY:
        raise InputError.of("command line", "--by", by, choices(by, BY))
    if as_json and as_csv:
        raise InputError.of(
            "command line", "--csv", "given with --json", "expected one of --csv and --json"
        )
    request = Request(
        to=to,
        by=by,
        duration_s=seconds("--time", duration or "10 s", _SHORTEST_S, _LONGEST_S),
        streams=streams or 1,
        rate_bps=_rate_bps(rate),
        key=None if key_file is None else read_key(key_file),
        hosts=hosts,
        origin=origin,
    )
    if (every is None) != (until is None):
        missing = "--for" if until is None else "--every"
        raise InputError.of("command line", missing, "(missing)", "expected --every with --for")
    if every is not None and until is not None:
        every_s = seconds("--every", every, request.duration_s + 1, _LONGEST_SERIES_S)
        for_s = seconds("--for", until, every_s, _LONGEST_SERIES_S)
        _series(request, every_s, for_s, out, as_json=as_json, as_csv=as_csv)
        return
    if out is not None:
        raise InputError.of("command line", "--out", str(out), "expected with --every only")
    found = _measured(request)
    if isinstance(found, str):
        say(f"ethermeter: {found}")
        raise typer.Exit(FAILED)
    _print(found, as_json=as_json, as_csv=as_csv)


def _measured(request: "Request") -> "Measurement | str":
    """Measure, with progress; why not, if nothing answers or it breaks off."""
    from ethermeter.cli.progress import ProgressDisplay
    from ethermeter.engines.work import TrialError
    from ethermeter.quick import measure
    from ethermeter.quick.peers import PeerError
    from ethermeter.store import RunError
    from ethermeter.testbed import TestbedError

    begun_s = time.monotonic()
    with ProgressDisplay(request.to) as display:

        def follow(what: str, share: float) -> None:
            left_s = request.duration_s - (time.monotonic() - begun_s)
            display.show(share, what, max(0.0, left_s))

        try:
            return measure(request, follow)
        except (PeerError, TrialError, RunError, TestbedError, OSError) as error:
            return str(error)


def _print(found: "Measurement", *, as_json: bool, as_csv: bool) -> None:
    if as_json:
        print_json(found.as_json())
        return
    if as_csv:
        typer.echo(found.as_csv(), nl=False)
        return
    from ethermeter.present import quick as layout

    show(layout.measurement(found))


def _series(
    request: "Request",
    every_s: float,
    for_s: float,
    out: Path | None,
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    from ethermeter.plan import slug
    from ethermeter.quick import series

    directory = out if out is not None else Path("runs") / f"quick-{slug(request.to)}"
    question: dict[str, object] = asdict(request)
    # A key is a secret, and no part of what is measured.
    question["key"] = request.key is not None
    question["hosts"] = None if request.hosts is None else str(request.hosts)
    failures = 0
    with series.opened(directory, question, every_s=every_s, for_s=for_s) as kept:
        is_first_csv = not any(True for _ in kept.read())
        last = max((found["slot"] for found in kept.read()), default=-1)
        while (slot := kept.next_slot(time.time(), after=last)) is not None:
            _wait(kept.due_s(slot), slot, kept.slots)
            found = _measured(request)
            last = slot
            if isinstance(found, str):
                failures += 1
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                kept.append(slot, {"at": at, "error": found})
                say(f"ethermeter: measurement {slot + 1} of {kept.slots}: {found}")
            else:
                kept.append(slot, found.as_json())
                if as_csv:
                    typer.echo(found.as_csv(with_head=is_first_csv), nl=False)
                    is_first_csv = False
            page = kept.write_page()
        page = kept.write_page()
        count = sum(1 for _ in kept.read())
        if as_json:
            print_json({"series": str(directory), "report": str(page), "measurements": count})
        elif not as_csv:
            from ethermeter.present import quick as layout

            show(layout.series(count, failures=failures, page=page))
    if failures:
        raise typer.Exit(FAILED)


def _wait(due_s: float, slot: int, slots: int) -> None:
    from ethermeter.cli.progress import ActivityDisplay
    from ethermeter.quick.series import wait_until

    with ActivityDisplay(f"measurement {slot + 1} of {slots}") as activity:
        wait_until(due_s, lambda left_s: activity(f"begins in {left_s:.0f} s"))


def seconds(option: str, text: str, least_s: float, most_s: float) -> float:
    """Read a time such as "10 s", "5m", "24 h" between two bounds."""
    from ethermeter.faults import InputError

    bare = text.strip()
    digits = bare.rstrip("abcdefghijklmnopqrstuvwxyz").strip()
    unit = bare[len(bare.rstrip("abcdefghijklmnopqrstuvwxyz")) :]
    try:
        found = float(digits) * _UNITS_S[unit]
    except (ValueError, KeyError):
        found = float("nan")
    if not least_s <= found <= most_s:
        allowed = f"expected {least_s:g} s to {most_s:g} s, with one of {', '.join(_UNITS_S)}"
        raise InputError.of("command line", option, text, allowed)
    return found


def _rate_bps(text: str | None) -> int:
    from ethermeter import units
    from ethermeter.faults import InputError

    if text is None:
        return 0
    try:
        found = units.quantity(text, expected="a rate")
        rate = int(found.base) if found.dimension is units.Dimension.RATE else 0
    except units.UnitError:
        rate = 0
    if not 1_000_000 <= rate <= 1_000_000_000_000:
        allowed = 'expected a rate from 1 Mb/s to 1 Tb/s, such as "50 Mb/s"'
        raise InputError.of("command line", "--rate", text, allowed)
    return rate


def read_key(path: Path) -> bytes:
    """Read a key of 1 to 64 octets from a file; a line's end at its end is no part of it."""
    from ethermeter.faults import InputError

    try:
        with path.open("rb") as file:
            key = file.read(1024)
    except OSError as error:
        allowed = f"expected a readable file: {error.strerror or error}"
        raise InputError.of("command line", "--key-file", str(path), allowed) from None
    key = key.removesuffix(b"\n").removesuffix(b"\r")
    if not 1 <= len(key) <= 64:
        allowed = "expected a key of 1 to 64 octets"
        raise InputError.of("command line", "--key-file", f"{len(key)} octets", allowed)
    return key
