"""The command that runs an experiment."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from ethermeter.cli import options
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import print_json, say_assumed, show

if TYPE_CHECKING:
    from ethermeter.api import Loaded
    from ethermeter.experiment import Experiment

EXAMPLES = """\
  ethermeter run poisson-load
  ethermeter run my-network.toml --jobs 2 --out runs/first
  ethermeter run my-network.toml --set stations.0.count=12 --set 'phases.transmit="2 s"'
  ethermeter run my-network.toml --resume
  ethermeter run my-network.toml --cluster tcp://10.0.0.1:8786 --json"""


def run(
    experiment: options.Experiment,
    *,
    overrides: options.Overrides = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    cluster: options.Cluster = None,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Run an experiment, estimate its metrics and write a report."""
    from ethermeter import api
    from ethermeter.cli import next_steps, summary
    from ethermeter.present import points
    from ethermeter.present.bounds import bounds
    from ethermeter.run import RunOptions

    loaded = _simulated(api.load(experiment, overrides=overrides or ()), experiment)
    say_assumed(loaded.experiments[0])
    run_options = RunOptions(
        jobs=jobs, cluster=cluster, resume=resume, force=force, command=tuple(sys.argv), seed=seed
    )
    found = summary.run_and_sum_up(
        loaded, run_options, replications=replications, out=out, report=not no_report
    )
    if as_json:
        print_json(found.as_json())
    else:
        estimated = found.points
        show(points.run(estimated, found.flow_tables(estimated[: points.TABLE_ROWS])))
        show(bounds(found.answers))
        show(points.overloads(found.overloads))
        show(points.cautions(estimated))
        summary.print_files(found)
        words = ["run", experiment, *next_steps.set_words(overrides or ())]
        next_steps.print_steps(next_steps.of_run(found, loaded.experiments[0], words))
    summary.say_failed(found)
    if found.failed:
        raise typer.Exit(FAILED)


def _simulated(loaded: "Loaded", name: str) -> "Loaded":
    """Leave out the engine "live" of an experiment that has others, and say how it is measured."""
    from ethermeter.trial import LIVE

    (experiment,) = loaded.experiments
    engines = tuple(engine for engine in experiment.engines if engine != LIVE)
    if not engines or engines == experiment.engines:
        return loaded
    how = f"ethermeter measure {name} --testbed{_wires(experiment)}"
    say(f"ethermeter: nothing is measured here; to measure it, too: {how}")
    return replace(loaded, experiments=(replace(experiment, engines=engines),))


def _wires(experiment: "Experiment") -> str:
    """Return the option of wires that a testbed of an experiment needs.

    Only relayed wires have traffic classes.
    """
    from ethermeter.nodes import classes_of

    first = experiment.scenarios.at([0] * len(experiment.sweeps))
    has_classes = any(map(classes_of, first.nodes))
    return " --wires relay" if has_classes else ""
