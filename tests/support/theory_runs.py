"""Runs whose theories say what a test wants, beside real simulations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import ethermeter as em
import numpy as np
from ethermeter.engines.answer import answer
from ethermeter.experiment import Experiment, load
from ethermeter.metrics import Caution, Metric, caution_mask, without_samples
from ethermeter.plan import Plan, expand
from ethermeter.store import Recorder, RunDirectory
from ethermeter.store.rows import (
    FLOW_METRICS,
    NOT_COUNTED,
    PORT_COLUMNS,
    Remark,
    TrialRows,
    formula_rows,
    remarks_text,
)
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


def rows_of_theory(
    trial: Trial,
    of_flows: Mapping[Metric, Sequence[float]],
    *,
    cautions: Sequence[Caution] = (),
    queues: Mapping[tuple[int, str], int] | None = None,
    remarks: Sequence[Remark] = (),
) -> TrialRows:
    """Rows of a theory with some values of the flows, whose largest is that of all flows.

    `queues` are by port and column.
    """
    flows, ports = len(trial.scenario.flows), 2 * len(trial.scenario.links)
    of_each = np.full((len(FLOW_METRICS), flows), math.nan)
    for metric, values in of_flows.items():
        of_each[FLOW_METRICS.index(metric)] = values
    values = np.concatenate([of_each.max(axis=1), of_each.ravel()])
    masks = np.where(np.isnan(values), np.uint64(0), caution_mask(cautions))
    counts = np.full((ports, len(PORT_COLUMNS)), NOT_COUNTED)
    for (port, column), count in (queues or {}).items():
        counts[port, PORT_COLUMNS.index(column)] = count
    return formula_rows(
        values,
        without_samples(masks, values),
        flows=flows,
        ports=counts.ravel(),
        remarks=remarks_text(remarks),
    )


def recorded(
    experiment: Experiment,
    directory: Path,
    theories: Mapping[str, TrialRows],
    *,
    trials: tuple[Trial, ...] = (),
) -> RunDirectory:
    """Record a run: rows of theories by their engine, and what engines answer to other trials."""
    trials = trials or expand([experiment]).trials
    source = {"x": experiment.source_text}
    with Recorder(directory, Plan("x", trials), experiments=source, version="1") as recorder:
        for at, trial in enumerate(trials):
            recorder.record(at, theories.get(trial.engine) or answer(trial.line))
        recorder.finish({"finished": "2026-01-01T00:00:00+00:00"})
    return RunDirectory(directory)
