"""Predict: what a calibrated network does in another scenario.

The uncertainty of its parameters is carried over to the prediction.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethermeter.calibration.document import NetworkFile
from ethermeter.calibration.estimation import Floats
from ethermeter.engines import simulation
from ethermeter.experiment import Experiment, toml
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.toml import assigned
from ethermeter.faults import Fault, InputError, shown
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.plan import expand
from ethermeter.results.interval import LEVEL, Estimate
from ethermeter.results.query import Results
from ethermeter.trial import LARGEST_SEED, SIMULATION

FLOW_METRICS = metrics_of(EntityKind.FLOW)
DRAWS = 40
"""Sets of parameters of which a prediction's interval is made: with 40 the outermost are 1.25% from
either end.
"""

Follow = Callable[[int, int], None]
"""Called with the number of finished trials, and of all."""


def between(value: float, low: float, high: float) -> Estimate:
    """Return a value with its interval, NaN if it has none."""
    ends = (low, high) if math.isfinite(low + high) else None
    return Estimate(value, math.nan, math.nan, ends=ends)


@dataclass(frozen=True, slots=True)
class Predicted:
    """What is predicted of one metric at one point, all flows together.

    `point`: the varied keys, as text. `metric`, `unit`: what, and in which unit. `value`: with the
    parameters that fit best: mean over the replications. `low`, `high`: between these lie 95% of
    what parameters make of it that the data allow, and chance.
    """

    point: Mapping[str, str]
    metric: Metric
    unit: str
    value: float
    low: float
    high: float

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        return between(self.value, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A scenario's predictions.

    `experiment`: the scenario with the calibrated network and the engines that its file asks for.
    `rows`: point by point, metric by metric. `draws`: sets of parameters behind the intervals.
    `doubts`: sentences on what of the calibrated network the scenario does not use.
    """

    experiment: Experiment
    rows: tuple[Predicted, ...]
    draws: int
    doubts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The scenario with the calibrated network, as the text of an experiment file."""
        return self.experiment.source_text


def predict(
    scenario: Path,
    calibrated: NetworkFile,
    *,
    draws: int = DRAWS,
    seed: int = 1,
    follow: Follow = lambda _done, _all: None,
) -> Prediction:
    """Simulate a scenario with a calibrated network.

    `scenario`: an experiment file. Without `network` it gets all of the calibrated one; else its
    own models are joined by those of the calibrated network that it has not itself. `calibrated`:
    the network. `draws`: sets of parameters to draw, at least 2: along what data determine from
    Student's t with their covariance, along what they do not from all of the range, cut off at the
    bounds. `seed`: of these draws, and of the simulations: chance is another one than that of a run
    with the file's seed, which a prediction would repeat rather than predict. `follow`: called with
    the progress.
    Raises InputError with every fault of the scenario, among them a model of its own in the place
    of a calibrated one, and a network that uses nothing of the calibrated one.
    """
    document = toml.parsed(toml.text_of(scenario, file=str(scenario)), file=str(scenario))
    doubts = _unused(document, scenario, calibrated)
    random = np.random.default_rng(seed)
    sets = [calibrated.values, *(_drawn(calibrated, random) for _ in range(draws))]
    best = of_document(_joined(document, scenario, calibrated, calibrated.values), scenario)
    points: list[Mapping[str, str]] = []
    found: list[Floats] = []
    for done, values in enumerate(sets):
        # Chance belongs to an interval, so that every set has its own.
        drawn = int(random.integers(LARGEST_SEED))
        joined = _joined(document, scenario, calibrated, values)
        run = joined.get("run")
        run = run if isinstance(run, dict) else {}
        simulated = {**joined, "run": {**run, "engines": [SIMULATION]}}
        trials = expand([of_document(simulated, scenario)], seed=drawn).trials
        rows = []
        for at, trial in enumerate(trials):
            follow(done * len(trials) + at, len(sets) * len(trials))
            result = simulation.run_trial(trial.line, trial.scenario, None, trial.traces)
            results = Results.of_trial(trial, result)
            rows.append([results.all(metric) for metric in FLOW_METRICS])
        points = [trial.point for trial in trials]
        found.append(np.array(rows))
    return Prediction(best, tuple(_rows(points, np.stack(found))), draws, doubts)


def _rows(points: Sequence[Mapping[str, str]], found: Floats) -> list[Predicted]:
    """Gather values, shape `(sets, trials, metrics)`, by point."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for at, point in enumerate(points):
        groups.setdefault(tuple(point.items()), []).append(at)
    rows = []
    edge = 100 * (1 - LEVEL) / 2
    for key, trials in groups.items():
        for place, metric in enumerate(FLOW_METRICS):
            value = float(found[0, trials, place].mean())
            if not np.isnan(value):
                # One trial a set: a measurement is one, so chance belongs to where it falls.
                spread = found[1:, trials, place].ravel()
                low, high = (
                    np.nanpercentile(spread, [edge, 100 - edge])
                    if not np.isnan(spread).all()
                    else (np.nan, np.nan)
                )
                ends = float(min(low, value)), float(max(high, value))
                rows.append(Predicted(dict(key), metric, metric.unit, value, *ends))
    return rows


def _drawn(calibrated: NetworkFile, random: np.random.Generator) -> Floats:
    low, high = (
        np.array([getattr(unknown, end) for unknown in calibrated.unknowns])
        for end in ("low", "high")
    )
    width, root = np.linalg.eigh(calibrated.covariance)
    degrees = calibrated.degrees
    # The covariance's root times normals, over the root of a chi-square for the residuals' own
    # uncertainty: Student's t.
    chance = (
        np.sqrt(degrees / random.chisquare(degrees))
        if np.isfinite(degrees) and degrees > 0
        else 1.0
    )
    moved = root @ (np.sqrt(np.maximum(width, 0)) * random.standard_normal(len(width))) * chance
    for direction in calibrated.undetermined:
        moved = moved + direction * (high - low) * random.uniform(-1, 1)
    return np.asarray(np.clip(calibrated.values + moved, low, high), np.float64)


def _joined(
    document: Mapping[str, object], path: Path, calibrated: NetworkFile, values: Floats
) -> dict[str, object]:
    """Return the scenario's tables with the calibrated network, or its models, for given values."""
    tree: Any = {"network": dict(calibrated.network)}
    for unknown, value in zip(calibrated.unknowns, values, strict=True):
        for place in unknown.paths:
            if place[0] == "network":
                tree = assigned(tree, place, unknown.text(float(value)))
    given = document.get("network")
    if given is None:
        whole = {**document, "network": tree["network"]}
    elif isinstance(given, dict):
        network = tree["network"]
        own = given.get("models", {})
        known = _calibrated_models(network, calibrated)
        models = {**network.get("models", {}), **own, **known}
        whole = {**document, "network": {**given, "models": models}}
    else:
        whole = dict(document)
    if "flows" not in whole:
        raise InputError.of(str(path), "flows", "(missing)", "required: a scenario has flows")
    return whole


def _calibrated_models(network: Mapping[str, object], calibrated: NetworkFile) -> dict[str, object]:
    """Return the models of a network of which a parameter was calibrated, by name."""
    names = {_model_of(path) for unknown in calibrated.unknowns for path in unknown.paths}
    models = network.get("models")
    of_network = models if isinstance(models, dict) else {}
    return {name: model for name, model in of_network.items() if name in names}


def _model_of(path: Sequence[object]) -> object:
    """Return the name of the model that has a key; None of other keys."""
    return path[2] if tuple(path[:2]) == ("network", "models") else None


def _unused(
    document: Mapping[str, object], scenario: Path, calibrated: NetworkFile
) -> tuple[str, ...]:
    """Say which calibrated parameters a scenario does not use.

    Raises InputError if it uses none, or has models of its own in the place of calibrated ones.
    """
    given = document.get("network")
    if not isinstance(given, dict):
        return ()
    models = _calibrated_models(calibrated.network, calibrated)
    own = given.get("models", {})
    allowed = (
        f"expected none, or one of another name: {calibrated.path} has the calibrated model of "
        "this name, of which nothing would be used"
    )
    faults = [
        Fault(str(scenario), f"network.models.{name}", shown(own[name]), allowed)
        for name in (own if isinstance(own, dict) else {})
        if name in models and own[name] != models[name]
    ]
    if faults:
        raise InputError(faults)
    nodes = [given.get(kind) for kind in ("hosts", "switches", "routers")]
    used = {
        str(node.get("model"))
        for group in nodes
        for node in (group if isinstance(group, list) else ())
        if isinstance(node, dict)
    }
    unused = [
        unknown
        for unknown in calibrated.unknowns
        if not used & {_model_of(path) for path in unknown.paths} - {None}
    ]
    if len(unused) == len(calibrated.unknowns):
        names = " or ".join(f'model = "{name}"' for name in models)
        allowed = f"expected nodes with {names}, or no" if models else "expected no"
        why = f"{allowed} network: this one uses nothing of {calibrated.path}"
        raise InputError.of(str(scenario), "network", "(its own)", why)
    return tuple(
        f"not used: {unknown.name} ({', '.join(unknown.keys)}), because the scenario has a network "
        "of its own without it"
        for unknown in unused
    )
