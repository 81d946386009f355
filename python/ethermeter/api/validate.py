"""Checking experiments: their faults, their trials, and the theories that apply to them."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from ethermeter.api.arguments import Overrides
from ethermeter.faults import ARGUMENTS, Fault, InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.bounds import Answers
    from ethermeter.analysis.capacity import Capacity
    from ethermeter.analysis.time_flow import TimeFlow
    from ethermeter.api.experiments import Loaded
    from ethermeter.experiment import Experiment
    from ethermeter.metrics import Caution, Metric
    from ethermeter.plan import Plan
    from ethermeter.theory.simplifications import Simplification

Files = Annotated[
    Sequence[str] | Sequence[Path] | str | Path,
    Argument("Experiment files, or names of shipped ones.", "FILE", "experiments"),
]
Trials = Annotated[bool, Argument("List the trials of one experiment.")]
Models = Annotated[
    bool,
    Argument(
        "Say which models of theory apply to one experiment at its first point, which do not and "
        "why. For a network: bounds and means of every flow and port, or why there are none, and "
        "when one frame alone passes each stage."
    ),
]


@dataclass(frozen=True, slots=True)
class ValidateOptions:
    """Options of `validate`."""

    files: Files
    _: KW_ONLY
    trials: Trials = False
    models: Models = False
    overrides: Overrides = ()


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether experiments are valid.

    Parameters
    ----------
    valid
        Whether all are.
    trials
        Number of trials of those that are, by file.
    fault_count, faults
        What is wrong with the others.

    """

    valid: bool
    trials: Mapping[str, int]
    fault_count: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """Whether a model of theory applies to an experiment.

    Parameters
    ----------
    model
        Its name.
    applies, obstacles
        Whether it applies, and why not.
    differences
        What it assumes that is not so, in words.
    cautions
        Those of each of its values.
    values
        What it predicts, in the units of the metrics; empty if it does not apply.

    """

    model: str
    applies: bool
    obstacles: tuple[str, ...]
    differences: "Mapping[Simplification, str]"
    cautions: "tuple[Caution, ...]"
    values: "Mapping[Metric, float]"


@dataclass(frozen=True, slots=True)
class Applicability:
    """Which models of theory apply to a segment.

    Parameters
    ----------
    point
        The keys that the experiment varies, with the values for which this holds: the first.
    models
        Every model.

    """

    point: Mapping[str, str]
    models: tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class NetworkTheory:
    """What theories say of a network.

    Parameters
    ----------
    point
        The keys that the experiment varies, with the values for which this holds: the first.
    capacity
        Offered load and capacity; empty where no flow offers a rate.
    answers
        Bounds and means of flows and ports.
    time_flows
        When a lone frame passes each stage of its way, of the first flows.
    failed
        Why theories failed, by the ids of their trials.

    """

    point: Mapping[str, str]
    capacity: "tuple[Capacity, ...]"
    answers: "Answers"
    time_flows: "tuple[TimeFlow, ...]"
    failed: Mapping[str, str]


Checked: TypeAlias = "Validity | Plan | Applicability | NetworkTheory"


@operation(ValidateOptions)
def validate(options: ValidateOptions, display: Display) -> "Checked":
    """Check experiment files, and report every fault; run nothing.

    Raises
    ------
    InputError
        If trials or models are wanted of an experiment that has faults, or of several.

    """
    files = [options.files] if isinstance(options.files, str | Path) else options.files
    if not (options.trials or options.models):
        return _validity(files, options, display)
    if options.trials and options.models:
        raise InputError.of_argument("models", "given with trials", "expected one of them")
    if len(files) != 1:
        wanted = "trials" if options.trials else "models"
        raise InputError.of_argument(wanted, f"given with {len(files)} files", "expected one file")
    loaded = _loaded(files[0], options)
    return loaded.plan() if options.trials else _theory(loaded, display)


def _loaded(file: str | Path, options: ValidateOptions) -> "Loaded":
    """Read an experiment; that there is none of this name is a fault of the files."""
    from ethermeter.api.experiments import load

    try:
        return load(file, overrides=options.overrides)
    except InputError as error:
        raise InputError(
            replace(fault, key="files") if fault.file == ARGUMENTS else fault
            for fault in error.faults
        ) from None


def _validity(files: Sequence[str | Path], options: ValidateOptions, display: Display) -> Validity:
    from ethermeter.api.run import say_assumed
    from ethermeter.search import check_table

    faults: list[Fault] = []
    trials: dict[str, int] = {}
    for file in files:
        try:
            loaded = _loaded(file, options)
            trials[str(file)] = len(loaded.plan().trials)
            say_assumed(loaded, display)
            for experiment in loaded.experiments:
                check_table(experiment)
        except InputError as error:
            faults.extend(error.faults)
    return Validity(not faults, trials, len(faults), tuple(faults))


def _theory(loaded: "Loaded", display: Display) -> Applicability | NetworkTheory:
    from ethermeter.api.run import say_assumed
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import judge_all

    (experiment,) = loaded.experiments
    say_assumed(loaded, display)
    first = experiment.scenarios.point([0] * len(experiment.sweeps))
    if first.theory is None:
        return _theory_of_network(experiment)
    models = tuple(
        Model(of.model, of.applies, of.obstacles, of.differences, of.cautions, of.values)
        for of in judge_all(model_inputs(first.scenario(), first.theory))
    )
    return Applicability({sweep.key: sweep.texts[0] for sweep in experiment.sweeps}, models)


def _theory_of_network(experiment: "Experiment") -> NetworkTheory:
    """Return what the theories of networks say, as a run of them alone finds it."""
    from ethermeter import plan
    from ethermeter.analysis import bounds, capacity
    from ethermeter.analysis.time_flow import time_flows
    from ethermeter.api.experiments import simulated
    from ethermeter.trial import THEORY

    every = plan.expand([replace(experiment, engines=(THEORY,))]).trials
    point = every[0].point
    results = simulated([trial for trial in every if trial.point == point], jobs=1)
    return NetworkTheory(
        point,
        capacity.read(results),
        bounds.read(results),
        time_flows(every[0].scenario),
        results.failures(),
    )
