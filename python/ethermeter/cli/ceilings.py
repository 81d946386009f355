"""Ceilings of this host's stages, and rooflines of paths."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import options
from ethermeter.cli.output import print_json, require_drawing, show

if TYPE_CHECKING:
    from ethermeter.ceilings import Options, Survey

EXAMPLES = """\
  ethermeter ceilings --quick
  ethermeter ceilings --rate "1 Gb/s" --round-trip "20 ms" --window "64 kB" --json
  ethermeter ceilings --quick --out ceilings.html
  ethermeter ceilings --roofline runs/four-senders-0123456789ab --out roofline.svg"""


def ceilings(
    *,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer and shorter repetitions: seconds instead of a minute."),
    ] = False,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            show_default=False,
            help="Line rate of the ceiling of framing; that of the fastest interface unless given.",
        ),
    ] = None,
    round_trip: Annotated[
        str | None,
        typer.Option(
            "--round-trip",
            metavar="TIME",
            show_default=False,
            help="Round-trip time of a path; adds the ceiling of the TCP window.",
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="SIZE",
            show_default=False,
            help="TCP window of the path; the kernel's largest unless given.",
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory", show_default=False, help="Directory for the file of the disk stages."
        ),
    ] = None,
    roofline: Annotated[
        Path | None,
        typer.Option(
            "--roofline",
            metavar="RUN",
            show_default=False,
            help="Show the roofline of a run or of a result of `bottleneck` instead of measuring.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            show_default=False,
            help="Also draw a figure into this file: .html, .svg, .pdf or .png.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure the rate of each stage of this host alone: memory, checksum, calls, stack, disk.

    Ceilings of bus, NIC, framing and window are added. Only frames over a virtual wire need
    root. Exit code 0; 2 for invalid input.
    """
    from ethermeter.cli.voice_values import refuse

    require_drawing("--out", out)
    if roofline is not None:
        for name, given in (
            ("--quick", quick),
            ("--rate", rate),
            ("--round-trip", round_trip),
            ("--window", window),
            ("--directory", directory),
        ):
            if given:
                refuse(name, str(given), "not with --roofline, which measures nothing")
        _show_rooflines(roofline, out, as_json=as_json)
        return
    _measure(
        _options(quick=quick, rate=rate, round_trip=round_trip, window=window, directory=directory),
        out,
        as_json=as_json,
    )


def _options(
    *,
    quick: bool,
    rate: str | None,
    round_trip: str | None,
    window: str | None,
    directory: Path | None,
) -> "Options":
    from ethermeter import units
    from ethermeter.ceilings import Options
    from ethermeter.cli.voice_values import refuse

    if window is not None and round_trip is None:
        refuse("--window", window, "only with --round-trip")
    if directory is not None and not directory.is_dir():
        refuse("--directory", str(directory), "an existing directory")
    option, text = "", ""
    try:
        option, text = "--rate", rate or ""
        rate_bps = None if rate is None else float(units.rate_bps(rate))
        option, text = "--round-trip", round_trip or ""
        round_trip_s = (
            None if round_trip is None else units.time_ps(round_trip, positive=True) / 1e12
        )
        option, text = "--window", window or ""
        window_octets = (
            None if window is None else max(1, units.size_bits(window, positive=True) // 8)
        )
    except units.UnitError as error:
        refuse(option, text, str(error))
    return Options(quick, directory, rate_bps, round_trip_s, window_octets)


def _measure(chosen: "Options", out: Path | None, *, as_json: bool) -> None:
    from ethermeter.ceilings import survey
    from ethermeter.ceilings.paths import one_host
    from ethermeter.cli.progress import ProgressDisplay

    with ProgressDisplay("ceilings", pieces="stages") as display:
        found = survey(chosen, display.count)
    if out is not None:
        from ethermeter.report.export import export
        from ethermeter.report.roofline import page

        rates = {each.title: each.estimate for each in found.ceilings}
        host = one_host(rates, {each.title: each.basis for each in found.ceilings})
        export(page("Ceilings of this host", [host]), out)
    if as_json:
        print_json(_plain(found))
        return
    from ethermeter.present.ceilings import ceilings as layout

    show(layout(found, processors=os.cpu_count()))
    if out is not None:
        typer.echo(str(out))


def _plain(found: "Survey") -> dict[str, object]:
    from ethermeter import provenance
    from ethermeter.results.interval import LEVEL

    return {
        "level": LEVEL,
        "interval": "of the mean of the repetitions, by Student's t",
        "cpu": provenance.cpu_model(),
        "ceilings": [each.as_json() for each in found.ceilings],
        "left_out": [{"name": each.name, "why": each.why} for each in found.left_out],
        "interfaces": {name: asdict(facts) for name, facts in found.facts.items()},
        "processors": os.cpu_count(),
        "processors_used_by_others": found.others,
    }


def _show_rooflines(source: Path, out: Path | None, *, as_json: bool) -> None:
    from ethermeter.analysis.roofline import RooflineEntry
    from ethermeter.ceilings.paths import rooflines
    from ethermeter.json_values import plain
    from ethermeter.report import roofline
    from ethermeter.report.export import export

    found = rooflines(source)
    if out is not None:
        export(roofline.page(f"Rooflines of {source.name}", found), out)
    if as_json:
        print_json(plain([RooflineEntry.of(each) for each in found]))
        return
    from ethermeter.present.rooflines import rooflines as layout

    show(layout(found))
    if out is not None:
        typer.echo(str(out))
