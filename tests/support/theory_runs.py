"""Runs whose theories say what a test wants, beside real simulations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import ethermeter as em
import numpy as np
from ethermeter.engines.answer import answer
from ethermeter.experiment import Experiment, load
from ethermeter.metrics import Caution, Metric, caution_mask
from ethermeter.plan import Plan, expand
from ethermeter.store import Recorder, RunDirectory
from ethermeter.store.columns import NOT_COUNTED, PORTS, VALUES
from ethermeter.store.trial_result import Fact, TrialResult, values_table
from ethermeter.trial import Trial

BOUNDED, MEAN = "theory/network-calculus", "theory/queueing"
TWO_FLOWS = em.network(
    title="Control beside a copy",
    series="x",
    rate="100 Mb/s",
    hosts=["a", "b", "sink"],
    switches=[em.switch("s", queue=20)],
    links=[(name, "s") for name in ("a", "b", "sink")],
    flows=[
        em.flow("control", "a", "sink", frames="64 B", arrivals={"regular": "1 ms"}),
        em.flow("copy", "b", "sink", frames="1518 B", arrivals={"poisson": "2000 /s"}),
    ],
    phases={"transmit": "20 ms", "measure": "all"},
    run={"replications": 3},
)


def experiment(
    folder: Path,
    *engines: str,
    models: tuple[str, ...] = ("network-calculus", "queueing"),
    more: str = "",
) -> Experiment:
    """Return the experiment of two flows, answered by these engines, with `more` in its file."""
    path = folder / "x.toml"
    path.write_text(TWO_FLOWS.text() + more, encoding="utf-8")
    return replace(load(path), engines=engines, models=models)


def result_of_theory(
    trial: Trial,
    of_flows: Mapping[Metric, Sequence[float]],
    *,
    cautions: Sequence[Caution] = (),
    queues: Mapping[tuple[int, str], int] | None = None,
    facts: Sequence[Fact] = (),
) -> TrialResult:
    """Result of a theory with some values of the flows, whose largest is that of all flows.

    `queues` are by port and column.
    """
    mask = caution_mask(cautions)
    arrays = {metric: np.array(values, np.float64) for metric, values in of_flows.items()}
    values = {metric: (float(of.max()), of) for metric, of in arrays.items()}
    masks = {
        metric: (
            np.uint64(0) if math.isnan(of_all) else mask,
            np.where(np.isnan(of), np.uint64(0), mask),
        )
        for metric, (of_all, of) in values.items()
    }
    ports = {
        name: np.full(2 * len(trial.scenario.links), NOT_COUNTED)
        for name in ("queue_most", "queue_octets_most")
    }
    for (port, column), count in (queues or {}).items():
        ports[column][port] = count
    return TrialResult({VALUES: values_table(values, masks), PORTS: ports}, tuple(facts))


def recorded(
    experiment: Experiment,
    directory: Path,
    theories: Mapping[str, TrialResult],
    *,
    trials: tuple[Trial, ...] = (),
) -> RunDirectory:
    """Record a run: results of theories by engine, and what engines answer to other trials."""
    trials = trials or expand([experiment]).trials
    source = {"x": experiment.source_text}
    with Recorder(directory, Plan("x", trials), experiments=source, version="1") as recorder:
        for at, trial in enumerate(trials):
            recorder.record(at, theories.get(trial.engine) or answer(trial.line))
        recorder.finish({"finished": "2026-01-01T00:00:00+00:00"})
    return RunDirectory(directory)
