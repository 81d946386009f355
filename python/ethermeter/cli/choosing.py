"""Commands that apply theories to an experiment."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.bounds import print_bounds
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import (
    first_point,
    point_text,
    print_json,
    print_legend,
    print_table,
    print_text,
    say_assumed,
)
from ethermeter.present.measurement import value_text
from ethermeter.quantities import UNDEFINED

if TYPE_CHECKING:
    from ethermeter.analysis.agreement import Agreement, Value
    from ethermeter.experiment import Experiment
    from ethermeter.metrics import Metric

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
    from ethermeter.metrics import Caution
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
    print_text(f"{point_text(point)}:")
    for verdict in verdicts:
        words = f" ({', '.join(verdict.cautions)})" if verdict.cautions else ""
        print_text(
            f"\n{verdict.model}: {'applies' if verdict.applies else 'does not apply'}{words}"
        )
        for obstacle in verdict.obstacles:
            print_text(f"  {obstacle}")
        for text in verdict.differences.values():
            print_text(f"  assumes: {text}")
        if verdict.values:
            values = ", ".join(
                f"{metric} {value_text(metric, value)}" for metric, value in verdict.values.items()
            )
            print_text(f"  predicts: {values}")
    occurring = [word for word in Caution if any(word in verdict.cautions for verdict in verdicts)]
    if occurring:
        typer.echo()
    for word in occurring:
        print_text(f"{word}: {word.meaning}")


def _choose_of_network(experiment: "Experiment", *, as_json: bool) -> None:
    """Print what the theories of networks say at the first point, as a run of them alone finds."""
    from ethermeter import plan
    from ethermeter.analysis import bounds
    from ethermeter.api import simulated
    from ethermeter.trial import THEORY

    every = plan.expand([replace(experiment, engines=(THEORY,))]).trials
    point = every[0].point
    results = simulated([trial for trial in every if trial.point == point], jobs=1)
    answers, failed = bounds.read(results), results.failures()
    if as_json:
        print_json({"point": dict(point), **bounds.as_json(answers)})
    else:
        print_text(f"{point_text(point)}:")
        print_bounds(answers)
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
    if shown:
        _print_agreements(shown)
    for name, verdicts in (
        ("the worlds that they assume", [each.idealised_verdict for each in found]),
        ("the simulation", [each.verdict for each in found]),
    ):
        judged = [verdict for verdict in verdicts if verdict in ("agrees", "differs")]
        if judged:
            agreed = judged.count("agrees")
            print_text(f"theories and {name}: {agreed} of {len(judged)} comparisons agree")
    print_bounds(answers)


def _print_agreements(shown: "Sequence[Agreement]") -> None:
    """Print comparisons of theories with simulations, with the cautions of the theories."""
    from ethermeter.report.cautions import Marks

    keys = list(dict.fromkeys(key for each in shown for key in each.point))
    marks = Marks(each.cautions for each in shown)
    rows = [
        [
            each.series,
            *(each.point.get(key, "") for key in keys),
            each.model,
            str(each.metric),
            value_text(each.metric, each.theory),
            _shown(each.metric, each.idealised, each.idealised_verdict),
            f"{_shown(each.metric, each.simulation, each.verdict)} "
            f"{marks.at(each.cautions)}".rstrip(),
            each.cause,
        ]
        for each in shown
    ]
    print_table(
        [
            "series",
            *keys,
            "model",
            "metric",
            "theory",
            "world it assumes",
            "simulation",
            "cause",
        ],
        rows,
        keys=len(keys) + 3,
    )
    print_legend(marks.legend())


def _shown(metric: "Metric", value: "Value | None", verdict: str) -> str:
    if value is None:
        return UNDEFINED
    return f"{value_text(metric, value.value, value.half_width)} {verdict}"
