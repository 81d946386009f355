"""Plan: an experiment as a list of trials, each fully determined, with its own id and seed."""

import hashlib
import itertools
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ethermeter.experiment import Experiment
from ethermeter.experiment.document import MOST_TRIALS
from ethermeter.experiment.reading import raise_all
from ethermeter.faults import ARGUMENTS, Fault, InputError, counted
from ethermeter.notebook import html_table
from ethermeter.scenario import Scenario
from ethermeter.theory.assumptions import ANSWERING, MODELS, NETWORK_MODELS, Assumptions
from ethermeter.traces import StoredTraces, Trace, digests
from ethermeter.trial import (
    ABLATION,
    IDEALISED,
    LARGEST_SEED,
    LIVE,
    SIMULATION,
    THEORY,
    Shared,
    Trial,
    planned,
    read_trial,
    traces_of,
)

MOST_REPLICATIONS = 1000
"""Replications a plan may have."""

LARGEST_PLAN_CHARACTERS = 500_000_000
"""The longest a plan's text may be."""

_POINTS_CHECKED_AT_ONCE = 50
_NO_SIMULATION = "applies, but there is no simulation of what it assumes"
_ALLOWED_TRIALS = (
    f"expected at most {MOST_TRIALS} trials in a plan: points x engines x replications"
)


@dataclass(frozen=True, repr=False)
class Plan:
    """A list of trials under a short name, fit for a directory."""

    name: str
    trials: tuple[Trial, ...]

    def __repr__(self) -> str:
        engines = ", ".join(dict.fromkeys(trial.engine for trial in self.trials))
        return f"Plan({self.name!r}: {counted(len(self.trials), 'trial')}; {engines or 'none'})"

    def _repr_html_(self) -> str:
        """Return the varied values of every point as a table, for notebooks."""
        keys = list(dict.fromkeys(key for trial in self.trials for key in trial.point))
        points = Counter(
            (each.series, each.engine, *(each.point.get(key, "") for key in keys))
            for each in self.trials
        )
        rows = [(*point, count) for point, count in points.items()]
        return html_table(repr(self), ("series", "engine", *keys, "trials"), rows)

    @cached_property
    def hash(self) -> str:
        """First 12 hexadecimal digits of the SHA-256 of the plan's text."""
        digest = hashlib.sha256()
        for trial in self.trials:
            digest.update(trial.line.encode("utf-8") + b"\n")
        return digest.hexdigest()[:12]

    @cached_property
    def traces(self) -> Mapping[str, Trace]:
        """Traces that flows of its trials replay, by the SHA-256 of their text."""
        return traces_of(self.trials)

    def to_jsonl(self) -> str:
        """Return the plan's text, one trial a line."""
        return "".join([trial.line + "\n" for trial in self.trials])


def slug(text: str) -> str:
    """Return a text in lower case with all but letters and digits as single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-")


def trial_seed(seed: int, *, series: str, point: Mapping[str, str], replication: int) -> int:
    """Return the seed of a trial, below 2^63.

    It depends on nothing but the trial itself, so that points can be added to an experiment without
    changing the others.
    """
    # Sorted, so that the order in which an experiment lists what it varies does not matter either.
    text = json.dumps([seed, series, sorted(point.items()), replication], separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "big") >> 1


def expand(
    experiments: Sequence[Experiment],
    *,
    name: str | None = None,
    seed: int | None = None,
    replications: int | None = None,
) -> Plan:
    """Make the plan of one or more experiments.

    Parameters
    ----------
    name
        Name of the plan; by default the experiment's file, or the directory of several.
    seed, replications
        Replace those of the experiments: a seed below 2^63, and 1 to 1000 replications.

    Raises
    ------
    InputError
        If a combination of varied values contradicts itself, two experiments have the same
        series, or none of an experiment's engines answers at any point. An engine or a model that
        answers nowhere beside others that do is a warning, with the reason.
    ValueError
        If there is no experiment.
    """
    if not experiments:
        raise ValueError("a plan needs at least one experiment, got none")
    _check(experiments, seed=seed, replications=replications)
    trials: list[Trial] = []
    length = 0
    for experiment in experiments:
        chosen_seed = experiment.seed if seed is None else seed
        count = experiment.replications if replications is None else replications
        for trial in _trials(experiment, seed=chosen_seed, replications=count):
            length += len(trial.line)
            if length > LARGEST_PLAN_CHARACTERS:
                allowed = (
                    f"expected a plan of at most {LARGEST_PLAN_CHARACTERS} characters; vary less,"
                    " or use fewer attachment points"
                )
                raise InputError.of(
                    str(experiment.path), "vary", f"{len(trials)} trials and more", allowed
                )
            if len(trials) == MOST_TRIALS:
                raise InputError.of(
                    str(experiment.path), "vary", f"more than {MOST_TRIALS}", _ALLOWED_TRIALS
                )
            trials.append(trial)
    return Plan(slug(name or "") or _name(experiments), tuple(trials))


def _name(experiments: Sequence[Experiment]) -> str:
    if len(experiments) == 1:
        return slug(experiments[0].path.stem) or "experiment"
    folders = {experiment.path.resolve().parent.name for experiment in experiments}
    files = "-".join(experiment.path.stem for experiment in experiments)
    return slug(folders.pop() if len(folders) == 1 else files) or "experiments"


def _check(
    experiments: Sequence[Experiment], *, seed: int | None, replications: int | None
) -> None:
    faults = [
        Fault(ARGUMENTS, name, str(value), f"expected an integer from {least} to {most}")
        for name, value, least, most in (
            ("seed", seed, 0, LARGEST_SEED),
            ("replications", replications, 1, MOST_REPLICATIONS),
        )
        if value is not None and not least <= value <= most
    ]
    taken: dict[str, str] = {}
    total = 0
    for experiment in experiments:
        file, short = str(experiment.path), slug(experiment.series)
        if not short or short in taken:
            allowed = "expected a name with a letter a-z or a digit"
            if short:
                allowed = f"expected a unique series; {taken[short]} has the same"
            faults.append(Fault(file, "series", experiment.series, allowed))
        taken[short] = file
        count = experiment.replications if replications is None else replications
        total += replace(experiment, replications=count).trials
    if total > MOST_TRIALS:
        faults.append(Fault(str(experiments[0].path), "vary", str(total), _ALLOWED_TRIALS))
    if faults:
        raise InputError(faults)


def _trials(experiment: Experiment, *, seed: int, replications: int) -> Iterator[Trial]:
    short = slug(experiment.series)
    keys = [sweep.key for sweep in experiment.sweeps]
    number = 0
    silent_engines = []
    silent_models = set(experiment.models or ())
    for engine in experiment.engines:
        before = number
        for choice in itertools.product(*(range(len(sweep.values)) for sweep in experiment.sweeps)):
            try:
                at = experiment.scenarios.point(choice)
            except InputError:
                # One point is wrong, so others may be: report them together.
                _report(experiment, choice)
                raise
            scenario = at.scenario()
            point = {
                key: sweep.texts[index]
                for key, sweep, index in zip(keys, experiment.sweeps, choice, strict=True)
            }
            for answer in _answers(experiment, engine, scenario, at.theory):
                silent_models.discard("".join(answer.split("/")[1:2]))
                # A formula says the same every time.
                for replication in range(1 if engine == THEORY else replications):
                    series = experiment.series
                    yield planned(
                        id=f"{short}/{number:05d}",
                        series=series,
                        replication=replication,
                        seed=trial_seed(seed, series=series, point=point, replication=replication),
                        engine=answer,
                        point=point,
                        scenario=scenario,
                        live=at.live if engine == LIVE else None,
                        theory=None if engine in (SIMULATION, LIVE) else at.theory,
                        traces=experiment.scenarios.traces,
                    )
                    number += 1
        if number == before:
            silent_engines.append(engine)
    _check_silent(experiment, silent_engines, silent_models, is_answered=number > 0)


def _check_silent(
    experiment: Experiment, engines: Sequence[str], models: Set[str], *, is_answered: bool
) -> None:
    """Refuse engines and named models that apply nowhere, or warn if others have answers."""
    file, has_theory = str(experiment.path), {*experiment.engines} & {THEORY, IDEALISED, ABLATION}
    silent: list[tuple[str, str, str | None]] = [("run.engines", name, None) for name in engines]
    if not engines and {*experiment.engines} != {SIMULATION}:
        named = [model for model in experiment.models or () if model in models]
        silent = [("theory.models", model, model) for model in named]
    if silent and not has_theory:
        allowed = f'expected "{THEORY}" among run.engines, {", ".join(experiment.engines)}'
        raise InputError([Fault(file, key, value, allowed) for key, value, _ in silent])
    if silent and not is_answered:
        allowed = "expected a model that applies somewhere; at the first point "
        raise InputError(
            [
                Fault(file, key, value, allowed + _obstacles(experiment, model))
                for key, value, model in silent
            ]
        )
    for key, value, model in silent:
        logging.getLogger(__name__).warning(
            "%s: %s = %s gives no values: no model applies; at the first point %s",
            *(file, key, value, _obstacles(experiment, model)),
        )


def _obstacles(experiment: Experiment, model: str | None) -> str:
    """Say why a model, or every model, does not apply at the first point."""
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import judge

    first = experiment.scenarios.point([0] * len(experiment.sweeps))
    assert first.theory is not None, "theories of networks apply everywhere"
    inputs = model_inputs(first.scenario(), first.theory)
    names = (experiment.models or MODELS) if model is None else (model,)
    obstacles = (judge(name, inputs).obstacles or (_NO_SIMULATION,) for name in names)
    reasons = Counter(reason for reason, *_ in obstacles)
    return "; ".join(
        f"{reason} ({count} {'model' if count == 1 else 'models'})"
        for reason, count in reasons.items()
    )


def _answers(
    experiment: Experiment, engine: str, scenario: Scenario, theory: Assumptions | None
) -> list[str]:
    """Return the engines that answer at a point.

    Models that the experiment names and that do not apply at this point are left out, unless they
    apply nowhere.
    """
    if engine in (SIMULATION, LIVE):
        return [engine]
    if theory is None:  # of a network: where a theory has no answer, it says why
        models = experiment.models or ANSWERING
        return [f"{engine}/{name}" for name in NETWORK_MODELS if name in models]
    from ethermeter.theory.ablation import steps
    from ethermeter.theory.idealised import has_scenario
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import applicable

    inputs = model_inputs(scenario, theory)
    names = [
        name
        for name in applicable(inputs)
        if experiment.models is None or name in experiment.models
    ]
    if engine == THEORY:
        return [f"{engine}/{name}" for name in names]
    if engine == IDEALISED:
        return [f"{engine}/{name}" for name in names if has_scenario(name)]
    # The last step is the experiment itself, which the simulation answers.
    return [f"{engine}/{name}/{step.name}" for name in names for step in steps(name, inputs)[:-1]]


def _report(experiment: Experiment, first: Sequence[int]) -> None:
    """Raise the faults of the first wrong point together with those of points like it."""
    every = itertools.product(*(range(len(sweep.values)) for sweep in experiment.sweeps))
    after = itertools.dropwhile(lambda choice: choice != tuple(first), every)
    raise_all(experiment, itertools.islice(after, _POINTS_CHECKED_AT_ONCE))


def read(path: Path) -> Plan:
    """Read a plan back from its file; InputError with every line that is no trial.

    The trials' lines stay exactly as they are. What stands in a scenario is checked by the engine
    that runs it.
    """
    from ethermeter.experiment import toml

    file = str(path)
    text = toml.text_of(path, file=file, most_bytes=LARGEST_PLAN_CHARACTERS)
    faults: list[Fault] = []
    trials: list[Trial] = []
    seen: set[str] = set()
    shared = Shared()
    known: dict[tuple[str, ...], StoredTraces] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        where, found = f"line {number}", read_trial(line, shared)
        if isinstance(found, str):
            faults.append(Fault(file, where, line[:200] or "(empty)", found))
        elif found.id in seen:
            allowed = "expected an id that no line before has"
            faults.append(Fault(file, f"{where}, id", found.id, allowed))
        else:
            seen.add(found.id)
            if names := digests(found.scenario):
                stored = known.setdefault(names, StoredTraces(path.parent, names))
                found = replace(found, traces=stored)
            trials.append(found)
    if faults:
        raise InputError(faults)
    # A run's directory is called "name-hash".
    folder = path.resolve().parent.name
    return Plan(slug(re.sub(r"-[0-9a-f]{12}$", "", folder)) or "plan", tuple(trials))
