"""Measuring what each stage of this host can do, and rooflines of paths."""

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeAlias

from ethermeter.faults import InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.roofline import Roofline
    from ethermeter.ceilings import Ceiling, Facts, LeftOut, Options

Number = str | float


@dataclass(frozen=True, slots=True)
class CeilingsOptions:
    """Options of `ceilings`."""

    _: KW_ONLY
    quick: Annotated[
        bool,
        Argument(
            "Fewer and shorter repetitions: seconds instead of a minute.",
            "yes|no",
            is_setting=True,
        ),
    ] = False
    rate: Annotated[
        Number | None,
        Argument(
            "Line rate of the ceiling of framing; that of the fastest interface unless given.",
            "RATE",
            is_setting=True,
        ),
    ] = None
    round_trip: Annotated[
        Number | None,
        Argument(
            "Round-trip time of a path; adds the ceiling of the TCP window.",
            "TIME",
            is_setting=True,
        ),
    ] = None
    window: Annotated[
        str | int | None,
        Argument(
            "TCP window of the path; the kernel's largest unless given.", "SIZE", is_setting=True
        ),
    ] = None
    directory: Annotated[
        Path | None,
        Argument("Directory for the file of the disk stages.", "DIR", is_setting=True),
    ] = None
    roofline: Annotated[
        Path | None,
        Argument(
            "Show the roofline of a run or of a result of `find bottleneck` instead of measuring.",
            "RUN",
            "runs",
        ),
    ] = None
    figure: Annotated[
        Path | None,
        Argument("Also draw a figure into this file: .html, .svg, .pdf or .png.", "FILE"),
    ] = None


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Ceilings of this host.

    Parameters
    ----------
    level, interval
        Confidence of the intervals, 0 to 1, and what they are of.
    cpu
        Model of the processor; None if the system does not say.
    ceilings, left_out
        Stages in the order of a path, from source to sink, and those without a ceiling.
    interfaces
        Settings of each interface.
    processors, processors_used_by_others
        Processors of this host, and the mean number that other processes used meanwhile; None if
        the system does not say.

    """

    level: float
    interval: str
    cpu: str | None
    ceilings: "tuple[Ceiling, ...]"
    left_out: "tuple[LeftOut, ...]"
    interfaces: "Mapping[str, Facts]"
    processors: int | None
    processors_used_by_others: float | None


Surveyed: TypeAlias = "Ceilings | tuple[Roofline, ...]"


@operation(CeilingsOptions)
def ceilings(options: CeilingsOptions, display: Display) -> Surveyed:
    """Measure the rate of each stage of this host alone: memory, checksum, calls, stack, disk.

    Ceilings of bus, NIC, framing and window are added. Only frames over a virtual wire need
    root. Exit code 0; 2 for invalid input.

    Raises
    ------
    InputError
        If a setting, the run or the file of a roofline has faults.

    """
    from ethermeter.api.figures import require_drawing, require_room

    if options.figure is not None:
        require_drawing("figure", options.figure)
        require_room("figure", options.figure)
    if options.roofline is None:
        return _measured(_survey_options(options), options.figure, display)
    for field in fields(CeilingsOptions):
        given = getattr(options, field.name)
        if field.name not in ("roofline", "figure") and given != field.default:
            _refuse(field.name, str(given), "not with a roofline, for which nothing is measured")
    return _rooflines(options.roofline, options.figure)


def _survey_options(options: CeilingsOptions) -> "Options":
    from ethermeter import units
    from ethermeter.ceilings import Options

    rate, round_trip, window = (
        _with_unit(options.rate, "bit/s"),
        _with_unit(options.round_trip, "s"),
        _with_unit(options.window, "B"),
    )
    if window is not None and round_trip is None:
        _refuse("window", window, "only with a round-trip time")
    directory = options.directory
    if directory is not None and not directory.is_dir():
        _refuse("directory", str(directory), "an existing directory")
    field = "rate"
    try:
        rate_bps = None if rate is None else float(units.rate_bps(rate))
        field = "round_trip"
        round_trip_s = (
            None
            if round_trip is None
            else units.time_ps(round_trip, positive=True) / units.PS_PER_S
        )
        field = "window"
        octets = None if window is None else max(1, units.size_bits(window, positive=True) // 8)
    except units.UnitError as error:
        _refuse(field, str(getattr(options, field)), str(error))
    return Options(options.quick, directory, rate_bps, round_trip_s, octets)


def _with_unit(given: str | float | None, unit: str) -> str | None:
    """Return a quantity as a text; a number is in this unit."""
    return given if given is None or isinstance(given, str) else f"{given!r} {unit}"


def _measured(chosen: "Options", figure: Path | None, display: Display) -> Ceilings:
    from ethermeter import provenance
    from ethermeter.ceilings import survey
    from ethermeter.results.interval import LEVEL

    with display.progress("ceilings", pieces="stages") as shown:
        found = survey(chosen, shown.count)
    if figure is not None:
        from ethermeter.ceilings.paths import one_host
        from ethermeter.report.export import export
        from ethermeter.report.roofline import page

        export(page("Ceilings of this host", [one_host(found.ceilings)]), figure)
    return Ceilings(
        level=LEVEL,
        interval="of the mean of the repetitions, by Student's t",
        cpu=provenance.cpu_model(),
        ceilings=tuple(found.ceilings),
        left_out=tuple(found.left_out),
        interfaces=found.facts,
        processors=os.cpu_count(),
        processors_used_by_others=found.others,
    )


def _rooflines(source: Path, figure: Path | None) -> "tuple[Roofline, ...]":
    from ethermeter.ceilings.paths import rooflines

    found = rooflines(source)
    if figure is not None:
        from ethermeter.report.export import export
        from ethermeter.report.roofline import page

        export(page(f"Rooflines of {source.name}", found), figure)
    return tuple(found)


def _refuse(field: str, value: str, allowed: str) -> NoReturn:
    raise InputError.of_argument(field, value, allowed)
