"""Commands that look at runs."""

from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.output import print_json, print_text, require_room, show
from ethermeter.cli.summary import contents

REPORT_EXAMPLES = "  ethermeter report runs/poisson-load-0123456789ab"
COMPARE_EXAMPLES = """\
  ethermeter compare runs/before runs/after
  ethermeter compare runs/before runs/after --json
  ethermeter compare runs/before runs/after --out comparison.html
  ethermeter compare runs/release-1 runs/release-2 --fail-below 2%"""
FIGURES_EXAMPLES = """\
  ethermeter figures runs/poisson-load-0123456789ab
  ethermeter figures runs/poisson-load-0123456789ab --metric goodput --metric loss \
--format svg --out figures"""


class Format(StrEnum):
    """Formats a figure can be drawn in."""

    PNG = "png"
    PDF = "pdf"
    SVG = "svg"


def report(run: options.RunPath, *, as_json: options.Json = False) -> None:
    """Write the report of a finished run anew."""
    from ethermeter.cli.progress import ActivityDisplay
    from ethermeter.run import evaluate
    from ethermeter.store import RunDirectory

    with ActivityDisplay(run.name) as activity:
        written = evaluate(run, follow=activity)
    if as_json:
        print_json(
            {
                "run": str(run),
                "files": {name: str(path) for name, path in written.items()},
                **contents(RunDirectory(run), written),
            }
        )
    else:
        for path in written.values():
            typer.echo(str(path))


def figures(
    run: options.RunPath,
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            show_default=False,
            help="Metric to draw, can be given several times; unless given, the utilisation of a "
            "medium, or the goodput of flows.",
            autocompletion=completion.metrics,
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option("--series", show_default=False, help="Series to draw; all unless given."),
    ] = None,
    file_format: Annotated[
        Format, typer.Option("--format", "-f", help="Format of the files.")
    ] = Format.SVG,
    out: Annotated[
        Path, typer.Option("--out", help="Directory for the files; it is created if necessary.")
    ] = Path(),
    as_json: options.Json = False,
) -> None:
    """Draw figures of a finished run into files."""
    from ethermeter import api
    from ethermeter.faults import InputError, choices
    from ethermeter.present.points import TABLE_METRICS

    found = api.open(run)
    there = list(dict.fromkeys(trial.series for trial in found.trials()))
    if series is not None and series not in there:
        raise InputError.of("command line", "--series", series, choices(series, there))
    if not metrics:
        estimated = {metric for point in found.estimated for metric in point.estimates}
        usual = (metric for metric in (*TABLE_METRICS, *found.metrics) if metric in estimated)
        metrics = list(islice(usual, 1))
    drawn = [
        found.plot(metric, series=name)
        for metric in metrics
        for name in ([series] if series else there)
    ]
    out.mkdir(parents=True, exist_ok=True)
    files = [
        str(
            figure.save(
                out / f"{figure.series}-{figure.metric}.{file_format}".lower().replace(" ", "-")
            )
        )
        for figure in drawn
    ]
    if as_json:
        print_json({"run": str(run), "figures": files})
    else:
        for file in files:
            typer.echo(file)


def compare(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Run directory, or a file of iperf3, flent, irtt, sockperf, ns-3 or "
            "measure --to HOST --json.",
            autocompletion=completion.runs,
        ),
    ],
    second: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Second run directory or file, with which the first is compared.",
            autocompletion=completion.runs,
        ),
    ],
    *,
    fail_below: Annotated[
        str | None,
        typer.Option(
            "--fail-below",
            metavar="SHARE",
            show_default=False,
            help="With benchmarks: exit code 1 if a value of the second run is missing, or worse "
            "by more than this share of the first.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PAGE",
            show_default=False,
            help="Also write the comparison to this HTML file.",
        ),
    ] = None,
    columns: options.Columns = None,
    as_json: options.Json = False,
) -> None:
    """Compare two finished runs, or files of other programs, point by point."""
    from ethermeter import api
    from ethermeter.cli import benchmark
    from ethermeter.imports import parse_columns
    from ethermeter.present import comparison as present
    from ethermeter.report import compare as comparison

    if out is not None:
        _check_page(out)
    if fail_below is not None or (first.is_dir() and benchmark.is_benchmark(first)):
        if out is not None:
            from ethermeter.faults import InputError

            allowed = "runs that are no benchmarks; those are compared as text or --json"
            raise InputError.of("command line", "--out", str(out), allowed)
        benchmark.compare(first, second, fail_below=fail_below, as_json=as_json)
        return
    one, other = (path if path.is_file() else api.open(path).path for path in (first, second))
    mapped = parse_columns(columns) if columns is not None else ()
    points = comparison.matched(one, other, columns=mapped)
    found = comparison.compared(*points)
    if out is not None:
        from ethermeter.report.comparison_page import comparison_page
        from ethermeter.store import write_whole

        write_whole(out, comparison_page((one, other), points, found))
    if as_json:
        print_json(found)
    else:
        show(present.comparison(found))
        for text in comparison.failed_in((one, other)):
            print_text(text)
        if out is not None:
            typer.echo(f"page: {out}")


def _check_page(out: Path) -> None:
    """Refuse where no page can be written, before runs are read."""
    from ethermeter.report.charts.files import require_format

    require_format(out, (".html",))
    require_room("--out", out)
