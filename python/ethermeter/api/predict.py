"""Predicting what a fitted network does in another scenario."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.faults import InputError
from ethermeter.json_values import plain
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.calibration.answer import PredictionAnswer

SCENARIO, PREDICTION, REPORT = "scenario.toml", "prediction.json", "report.html"


@dataclass(frozen=True, slots=True)
class PredictOptions:
    """Options of `predict`."""

    scenario: Annotated[
        Path,
        Argument("An experiment file; its hosts may be of the fitted models.", "SCENARIO"),
    ]
    _: KW_ONLY
    network: Annotated[Path, Argument("A network that `fit` wrote.", "FILE")]
    against: Annotated[
        Path | None,
        Argument(
            "Run that measured the scenario; the prediction is compared with it.", "RUN", "runs"
        ),
    ] = None
    draws: Annotated[
        int,
        Argument(
            "Number of parameter sets that are drawn for the intervals.", "N", least=2, most=10_000
        ),
    ] = 40
    out: Annotated[
        Path, Argument("Directory for scenario.toml, prediction.json and report.html.", "DIR")
    ] = Path("predicted")
    force: Annotated[bool, Argument("Overwrite the files in the directory.")] = False


@operation(PredictOptions)
def predict(options: PredictOptions, display: Display) -> "PredictionAnswer":
    """Predict another scenario with a fitted network, and compare it with a measurement.

    Raises
    ------
    InputError
        With every fault of the scenario or the network; if the scenario uses nothing of that
        network, the run has no point in common with it, or the files are there already.

    """
    from ethermeter.calibration import judge, read_network
    from ethermeter.calibration import predict as simulated
    from ethermeter.calibration.answer import JudgedPrediction, PredictionAnswer
    from ethermeter.calibration.show import prediction_page
    from ethermeter.report.model_page import fitted_page

    out = Path(options.out)
    _check(out, force=options.force)
    with display.progress("predict") as shown:
        found = simulated(
            Path(options.scenario),
            read_network(Path(options.network)),
            draws=options.draws,
            follow=shown.count,
        )
    answer = (
        PredictionAnswer.of(found)
        if options.against is None
        else JudgedPrediction.of_run(found, judge(found, Path(options.against)))
    )
    texts = {
        SCENARIO: found.text,
        PREDICTION: _text(plain(answer)),
        REPORT: fitted_page(prediction_page(answer)),
    }
    _write(out, texts)
    return answer


def _check(out: Path, *, force: bool) -> None:
    """Refuse a directory with such files in it, before anything is simulated."""
    there = [name for name in (SCENARIO, PREDICTION, REPORT) if (out / name).exists()]
    if (out.exists() and not out.is_dir()) or (there and not force):
        allowed = "expected a directory without these files, or to overwrite them (force)"
        raise InputError.of(str(out), "out", ", ".join(there) or "a file", allowed)


def _write(out: Path, texts: Mapping[str, str]) -> None:
    from ethermeter.store.files import remove_abandoned, written_whole

    out.mkdir(parents=True, exist_ok=True)
    remove_abandoned(out)
    for name, text in texts.items():
        with written_whole(out / name) as file:
            file.write(text.encode("utf-8"))


def _text(tree: object) -> str:
    import json

    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
