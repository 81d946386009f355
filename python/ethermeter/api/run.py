"""Running an experiment."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING

from ethermeter.api.arguments import FailIf, Force, Jobs, Out, Overrides, ReadExperiment, Report
from ethermeter.operation import Display, operation

if TYPE_CHECKING:
    from ethermeter.api.experiments import Loaded
    from ethermeter.api.runs import Run


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of `run`."""

    experiment: ReadExperiment
    _: KW_ONLY
    overrides: Overrides = ()
    jobs: Jobs = None
    out: Out = None
    force: Force = False
    report: Report = True
    fail_if: FailIf = ()


@operation(RunOptions)
def run(options: RunOptions, display: Display) -> "Run":
    """Run an experiment, estimate its metrics and write a report.

    An unfinished run of the same experiment in the directory is continued, and failed trials are
    repeated.

    Raises
    ------
    InputError
        With every fault of the experiment, or if the directory has something else in it.
    RunError, TrialError
        If results cannot be written, or a trial broke off.

    """
    from ethermeter.api.checks import checked, require
    from ethermeter.api.experiments import load
    from ethermeter.api.runs import executed
    from ethermeter.execution import Execution

    loaded = _simulated(
        load(options.experiment, overrides=options.overrides), str(options.experiment), display
    )
    require(options.fail_if, loaded)
    execution = Execution(jobs=options.jobs, force=options.force, command=display.command)
    found = executed(loaded, execution, out=options.out, report=options.report, display=display)
    return checked(found, options.fail_if)


def _simulated(loaded: "Loaded", name: str, display: Display) -> "Loaded":
    """Leave out the engine "live" of an experiment that has others, and say how it is measured."""
    from ethermeter.trial import LIVE

    (experiment,) = loaded.experiments
    say_assumed(loaded, display)
    engines = tuple(engine for engine in experiment.engines if engine != LIVE)
    if not engines or engines == experiment.engines:
        return loaded
    how = f"ethermeter measure {name} --on testbed"
    display.say(f"ethermeter: nothing is measured here; to measure it, too: {how}")
    return replace(loaded, experiments=(replace(experiment, engines=engines),))


def say_assumed(loaded: "Loaded", display: Display) -> None:
    """Show what experiment files leave out, and what stands for it."""
    for experiment in loaded.experiments:
        for key, text in experiment.written.assumed.items():
            display.say(f"{experiment.path}: {key}: {text}")
