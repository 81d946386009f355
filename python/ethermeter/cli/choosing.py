"""Commands that apply theories to an experiment."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import (
    first_point,
    point_text,
    print_json,
    say_assumed,
    show,
)

if TYPE_CHECKING:
    from ethermeter.experiment import Experiment

CHOOSE_EXAMPLES = """\
  ethermeter theory choose three-ways-poisson
  ethermeter theory choose my-network.toml --set stations.0.count=12 --json"""
AGREEMENT_EXAMPLES = """\
  ethermeter run three-ways-saturated --out runs/three-ways
  ethermeter theory agreement runs/three-ways
  ethermeter theory agreement runs/three-ways --differing --json"""


def choose(
    experiment: options.Experiment,
    *,
    overrides: options.Overrides = None,
    as_json: options.Json = False,
) -> None:
    """Say which models apply to an experiment, which do not and why; simulate nothing.

    For a network: bounds by network calculus and means by queueing theory for every flow and port
    at the first point, or the reason why there are none.
    """
    from ethermeter import api
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import judge_all

    (loaded,) = api.load(experiment, overrides=overrides or ()).experiments
    say_assumed(loaded)
    first = loaded.scenarios.point([0] * len(loaded.sweeps))
    if first.theory is None:
        _choose_of_network(loaded, as_json=as_json)
        return
    verdicts = judge_all(model_inputs(first.scenario(), first.theory))
    point = first_point(loaded)
    if as_json:
        print_json({"point": point, "models": [_plain(verdict) for verdict in verdicts]})
        return
    from ethermeter.blocks import Text
    from ethermeter.present.applicability import applicability

    show([Text(f"{point_text(point)}:"), *applicability(verdicts)])


def _choose_of_network(experiment: "Experiment", *, as_json: bool) -> None:
    """Print what the theories of networks say at the first point, as a run of them alone finds."""
    from ethermeter import plan
    from ethermeter.analysis import bounds
    from ethermeter.api import simulated
    from ethermeter.blocks import Text
    from ethermeter.trial import THEORY

    every = plan.expand([replace(experiment, engines=(THEORY,))]).trials
    point = every[0].point
    results = simulated([trial for trial in every if trial.point == point], jobs=1)
    answers, failed = bounds.read(results), results.failures()
    if as_json:
        print_json({"point": dict(point), **bounds.as_json(answers)})
    else:
        from ethermeter.present import bounds as layouts

        show([Text(f"{point_text(point)}:"), *layouts.bounds(answers)])
    for why in failed.values():
        say(f"ethermeter: an engine failed: {why}; it has no values")
    if failed:
        raise typer.Exit(FAILED)


def _plain(verdict: Any) -> dict[str, object]:
    return {
        "model": verdict.model,
        "applies": verdict.applies,
        "obstacles": list(verdict.obstacles),
        "differences": {str(key): text for key, text in verdict.differences.items()},
        "cautions": [str(word) for word in verdict.cautions],
        "values": {
            str(metric): None if value != value else value
            for metric, value in verdict.values.items()
        },
    }


def agreement(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Directory of a finished run with the engine theory.",
            autocompletion=completion.runs,
        ),
    ],
    *,
    differing: Annotated[
        bool, typer.Option("--differing", help="Print only the values that differ.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Compare theories with simulations, and name the assumptions that cause differences."""
    from ethermeter.analysis import agreement as theories
    from ethermeter.analysis import bounds
    from ethermeter.api import open as open_run
    from ethermeter.faults import InputError

    opened = open_run(run)
    found = theories.read(opened)
    answers = bounds.read(opened)
    if not found and not answers.times:
        raise InputError.of(str(run), "run.engines", "no theory", 'a run with the engine "theory"')
    shown = [
        each
        for each in found
        if not differing or "differs" in (each.verdict, each.idealised_verdict)
    ]
    if as_json:
        of_bounds = {"bounds": bounds.as_json(answers)} if answers.times else {}
        print_json(theories.as_json(shown) | of_bounds)
        return
    from ethermeter.present import agreement as comparisons
    from ethermeter.present import bounds as layouts

    show([*comparisons.agreement(found, shown), *layouts.bounds(answers)])
