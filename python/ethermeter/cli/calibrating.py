"""The commands that fit a network to measurements, and predict with it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ethermeter.cli import options
from ethermeter.cli.guard import interrupted
from ethermeter.cli.output import print_json, show
from ethermeter.cli.summary import resume_command

CALIBRATE_EXAMPLES = """\
  ethermeter calibrate runs/ping-0123456789ab --model two-pcs.toml
  ethermeter calibrate latency.csv runs/streaming-0123456789ab --model two-pcs.toml --out calibrated
  ethermeter calibrate latency.csv --model two-pcs.toml --json"""
PREDICT_EXAMPLES = """\
  ethermeter predict four-to-one.toml --network calibrated/network.toml
  ethermeter predict four-to-one.toml --network calibrated/network.toml \
--against runs/four-to-one-0123456789ab"""


def calibrate(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA…",
            help=(
                "Run directories, CSV files (columns metric, value and error; each other column is "
                "a dotted key), and files of iperf3, flent, irtt, sockperf or ns-3."
            ),
        ),
    ],
    *,
    model: Annotated[
        Path,
        typer.Option(
            "--model",
            metavar="FILE",
            help="An experiment file on a network, with the table `calibrate`.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Run directory, with network.toml, answer.json and report.html.",
        ),
    ] = Path("calibrated"),
    jobs: options.Jobs = None,
    resume: options.Resume = False,
    force: options.Force = False,
    cluster: options.Cluster = None,
    columns: options.Columns = None,
    as_json: options.Json = False,
) -> None:
    """Estimate the unknown parameters of a network from measurements of it."""
    from ethermeter.calibration import read_data, read_model
    from ethermeter.calibration.document import network_text
    from ethermeter.calibration.show import calibration_json, calibration_page
    from ethermeter.cli.progress import ProgressDisplay
    from ethermeter.imports import parse_columns
    from ethermeter.report.model_page import fitted_page
    from ethermeter.run import RunOptions, search
    from ethermeter.strategies.calibration import CalibrationSearch

    _check_out(out, ("network.toml", "answer.json", "report.html"), force=force)
    known = read_model(model)
    mapped = parse_columns(columns) if columns is not None else ()
    measured = read_data(data, metrics=known.metrics, columns=mapped)
    strategy = CalibrationSearch(known, measured)
    known.check_interfaces([path for path in data if path.is_dir()])
    run_options = RunOptions(
        jobs=jobs,
        cluster=cluster,
        resume=resume,
        force=force,
        command=tuple(sys.argv),
        seed=known.seed,
    )
    try:
        with ProgressDisplay("calibrate") as display:
            run = search(strategy, directory=out, options=run_options, follow=display)
    except KeyboardInterrupt as interrupt:
        raise interrupted(
            interrupt, f"finished trials are kept. To continue: {resume_command()}"
        ) from None
    found = strategy.found
    run.keep("network.toml", network_text(found))
    run.keep("report.html", fitted_page(calibration_page(found)))
    if as_json:
        print_json(calibration_json(found))
        return
    from ethermeter.blocks import Text
    from ethermeter.present.calibration import calibration

    files = (f"network: {out / 'network.toml'}", f"report: {out / 'report.html'}")
    show([*calibration(found), *map(Text, files)])


def predict(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO",
            help="An experiment file; its hosts may be of the calibrated models.",
        ),
    ],
    *,
    network: Annotated[
        Path, typer.Option("--network", metavar="FILE", help="A network that `calibrate` wrote.")
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="RUN",
            help="Run that measured the scenario; the prediction is compared with it.",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            "--draws",
            min=2,
            max=10_000,
            help="Number of parameter sets that are drawn for the intervals.",
        ),
    ] = 40,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Directory for scenario.toml, prediction.json and report.html.",
        ),
    ] = Path("predicted"),
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the files in the directory.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Predict another scenario with a calibrated network, and compare it with a measurement."""
    from ethermeter.calibration import judge, read_network
    from ethermeter.calibration import predict as foresee
    from ethermeter.calibration.show import prediction_json, prediction_page
    from ethermeter.cli.progress import ProgressDisplay
    from ethermeter.report.model_page import fitted_page

    _check_out(out, ("scenario.toml", "prediction.json", "report.html"), force=force)
    with ProgressDisplay("predict") as display:
        found = foresee(scenario, read_network(network), draws=draws, follow=display.count)
    judged = judge(found, against) if against is not None else ()
    tree = prediction_json(found, judged if against is not None else None)
    _write(
        out,
        {
            "scenario.toml": found.text,
            "prediction.json": _json(tree),
            "report.html": fitted_page(prediction_page(found, judged)),
        },
    )
    if as_json:
        print_json(tree)
        return
    from ethermeter.blocks import Text
    from ethermeter.present.calibration import prediction

    files = (
        f"scenario with this network: {out / 'scenario.toml'}",
        f"report: {out / 'report.html'}",
    )
    show([*prediction(found, judged), *map(Text, files)])


def _check_out(out: Path, names: tuple[str, ...], *, force: bool) -> None:
    from ethermeter.faults import InputError

    there = [name for name in names if (out / name).exists()]
    if (out.exists() and not out.is_dir()) or (there and not force):
        value = ", ".join(there) or "a file"
        raise InputError.of(
            "--out", str(out), value, "expected a directory without these files, or --force"
        )


def _write(out: Path, texts: dict[str, str]) -> None:
    from ethermeter.store.files import remove_abandoned, written_whole

    out.mkdir(parents=True, exist_ok=True)
    remove_abandoned(out)
    for name, text in texts.items():
        with written_whole(out / name) as file:
            file.write(text.encode("utf-8"))


def _json(tree: object) -> str:
    import json

    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
