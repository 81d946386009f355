"""Writing the report of a run again, and figures of it."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ethermeter.api.arguments import RunPath
from ethermeter.faults import InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.api.runs import Run

FORMAT: Literal["svg"] = "svg"
"""Format of figures unless another one is given."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Options of `report`."""

    run: RunPath
    _: KW_ONLY
    metrics: Annotated[
        Sequence[str],
        Argument(
            "Draw this metric into a file in place of the report; can be given several times.",
            "METRIC",
            "metrics",
        ),
    ] = ()
    series: Annotated[str | None, Argument("Series to draw; all unless given.", "SERIES")] = None
    file_format: Annotated[
        Literal["png", "pdf", "svg"] | None,
        Argument(f"Format of the figures; {FORMAT} unless given."),
    ] = None
    out: Annotated[
        Path | None,
        Argument(
            "Directory for the figures, which is created if necessary; the current one unless "
            "given.",
            "DIR",
        ),
    ] = None
    tables: Annotated[
        Path | None,
        Argument(
            "Write tables of capacity, flows, bounds, ports and points in place of the report: "
            ".xlsx with a sheet for each, or .csv, a file for each.",
            "FILE",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a run.

    Parameters
    ----------
    run
        The run directory.
    figures
        Files: one for each metric and series.

    """

    run: Path
    figures: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of a run.

    Parameters
    ----------
    run
        The run directory.
    rows
        Number of rows by table.
    files
        What was written.

    """

    run: Path
    rows: Mapping[str, int]
    files: tuple[Path, ...]


@operation(ReportOptions)
def report(options: ReportOptions, display: Display) -> "Run | Figures | Tables":
    """Write the report of a finished run anew, or draw figures of metrics into files.

    Raises
    ------
    InputError
        If the run is unfinished, a file of it is damaged, or there is no such metric or series.
    RunError
        If something cannot be written.

    """
    from ethermeter.api.runs import Run
    from ethermeter.execution import evaluate

    if options.metrics and options.tables is not None:
        raise InputError.of_argument("tables", str(options.tables), "expected without a metric")
    if options.metrics:
        return _figures(options, display)
    _refuse_without_metrics(options)
    if options.tables is not None:
        return _tables(options.run, options.tables)
    with display.activity(options.run.name) as follow:
        evaluate(options.run, follow=follow)
    return Run.of_run(options.run)


def _refuse_without_metrics(options: ReportOptions) -> None:
    """Refuse what only figures have."""
    from ethermeter.faults import ARGUMENTS, Fault

    faults = [
        Fault(ARGUMENTS, name, str(value), "expected with a metric to draw")
        for name in ("series", "file_format", "out")
        if (value := getattr(options, name)) is not None
    ]
    if faults:
        raise InputError(faults)


def _tables(path: Path, file: Path) -> Tables:
    from ethermeter.analysis.tables import tables
    from ethermeter.api.figures import require_room
    from ethermeter.api.runs import open as open_run
    from ethermeter.api.tables import require, write

    require(file)
    require_room("tables", file)
    found = tables(open_run(path))
    return Tables(path, {name: len(rows) for name, rows in found.items()}, write(file, found))


def _figures(options: ReportOptions, display: Display) -> Figures:
    from ethermeter.analysis.groups import by_table
    from ethermeter.api.runs import open as open_run
    from ethermeter.faults import choices

    found = open_run(options.run)
    there = list(dict.fromkeys(trial.series for trial in found.trials()))
    series = options.series
    if series is not None and series not in there:
        raise InputError.of_argument("series", series, choices(series, there))
    drawn = [
        found.plot(metric, series=name)
        for metric in options.metrics
        for name in ([series] if series else there)
    ]
    if any(len(by_table(trial.scenario)) > 1 for trial in found.trials()):
        display.say(
            f"ethermeter: figures have means over all flows; values of each: ethermeter report "
            f'{options.run} --tables FILE.csv, or frame(by="entity") of the run in Python'
        )
    out = options.out or Path()
    out.mkdir(parents=True, exist_ok=True)
    suffix = options.file_format or FORMAT
    names = (f"{of.series}-{of.metric}.{suffix}".lower().replace(" ", "-") for of in drawn)
    files = [of.save(out / name) for of, name in zip(drawn, names, strict=True)]
    return Figures(options.run, tuple(files))
