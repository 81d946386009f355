"""Writing the report of a run again, and figures of it."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ethermeter.api.arguments import RunPath
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


@operation(ReportOptions)
def report(options: ReportOptions, display: Display) -> "Run | Figures":
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

    if options.metrics:
        return _figures(options)
    _refuse_without_metrics(options)
    with display.activity(options.run.name) as follow:
        evaluate(options.run, follow=follow)
    return Run.of_run(options.run)


def _refuse_without_metrics(options: ReportOptions) -> None:
    """Refuse what only figures have."""
    from ethermeter.faults import ARGUMENTS, Fault, InputError

    faults = [
        Fault(ARGUMENTS, name, str(value), "expected with a metric to draw")
        for name in ("series", "file_format", "out")
        if (value := getattr(options, name)) is not None
    ]
    if faults:
        raise InputError(faults)


def _figures(options: ReportOptions) -> Figures:
    from ethermeter.api.runs import open as open_run
    from ethermeter.faults import InputError, choices

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
    out = options.out or Path()
    out.mkdir(parents=True, exist_ok=True)
    suffix = options.file_format or FORMAT
    names = (f"{of.series}-{of.metric}.{suffix}".lower().replace(" ", "-") for of in drawn)
    files = [of.save(out / name) for of, name in zip(drawn, names, strict=True)]
    return Figures(options.run, tuple(files))
