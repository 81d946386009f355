"""Fitting a network to measurements of it."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.api.arguments import Columns, Force, Jobs
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.calibration.answer import FitAnswer
    from ethermeter.execution import Execution
    from ethermeter.store import RunDirectory
    from ethermeter.strategies.calibration import CalibrationSearch

NETWORK, REPORT = "network.toml", "report.html"


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Options of `fit`."""

    data: Annotated[
        Sequence[Path],
        Argument(
            "Run directories, CSV files (columns metric, value and error; each other column is a "
            "dotted key), and files of iperf3, flent, irtt, sockperf or ns-3.",
            "DATA",
        ),
    ]
    _: KW_ONLY
    experiment: Annotated[
        Path, Argument("An experiment file on a network, with the table `calibrate`.", "FILE")
    ]
    out: Annotated[
        Path,
        Argument(
            "Run directory, with network.toml, answer.json and report.html. An unfinished run in "
            "it is continued.",
            "DIR",
        ),
    ] = Path("calibrated")
    jobs: Jobs = None
    force: Force = False
    columns: Columns = None


@operation(FitOptions)
def fit(options: FitOptions, display: Display) -> "FitAnswer":
    """Estimate the unknown parameters of a network from measurements of it.

    Raises
    ------
    InputError
        With every fault of the experiment or of the data, or if the directory has something else
        in it.
    RunError, TrialError
        If results cannot be written, or a trial broke off.

    """
    import msgspec

    from ethermeter.calibration import read_data, read_model
    from ethermeter.calibration.answer import FitAnswer
    from ethermeter.execution import Execution, finished_run
    from ethermeter.imports import parse_columns
    from ethermeter.strategies.calibration import CalibrationSearch

    data = [Path(path) for path in options.data]
    known = read_model(Path(options.experiment))
    mapped = () if options.columns is None else parse_columns(options.columns)
    strategy = CalibrationSearch(known, read_data(data, metrics=known.metrics, columns=mapped))
    known.check_interfaces([path for path in data if path.is_dir()])
    execution = Execution(
        jobs=options.jobs, force=options.force, command=display.command, seed=known.seed
    )
    out = Path(options.out)
    run = None if options.force else finished_run(out, strategy)
    if run is None:
        run = _run(strategy, out, execution, display)
    else:
        display.say(f"{out}: this run is already finished; --force runs it again")
    answer = msgspec.json.decode(run.answer(), type=FitAnswer)
    _complete(run, strategy, answer, title=str(known.document["title"]))
    return answer


def _run(
    strategy: "CalibrationSearch", out: Path, execution: "Execution", display: Display
) -> "RunDirectory":
    from ethermeter.execution import search

    try:
        with display.progress("fit") as shown:
            return search(strategy, directory=out, options=execution, follow=shown)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note("finished trials are kept; the same command continues")
        raise


def _complete(
    run: "RunDirectory", strategy: "CalibrationSearch", answer: "FitAnswer", *, title: str
) -> None:
    """Write network and report, unless they are there and were not altered."""
    from ethermeter.calibration.document import network_text
    from ethermeter.calibration.show import calibration_page
    from ethermeter.report.model_page import fitted_page
    from ethermeter.strategies import answered

    if not run.is_kept(NETWORK):
        if not strategy.is_finished:
            answered(strategy)  # it is known by simulating again, with the same results
        run.keep(NETWORK, network_text(strategy.found))
    if not run.is_kept(REPORT):
        run.keep(REPORT, fitted_page(calibration_page(answer, title)))
