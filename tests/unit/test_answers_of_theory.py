"""Theories of networks: the trials they make, and their rows in the tables of a run."""

import math
from dataclasses import replace
from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from ethermeter import plan
from ethermeter.experiment import Experiment, load
from ethermeter.faults import InputError
from ethermeter.plan import Plan
from ethermeter.store import Recorder, RunDirectory
from ethermeter.store.rows import (
    FLOW_METRICS,
    NOT_COUNTED,
    PORT_COLUMNS,
    Remark,
    TrialRows,
    remarks_text,
)
from ethermeter.trial import Trial, read_trial
from networks import network

TWO_FLOWS = network(
    """\
[[flows]]
name = "control"
from = "a"
to = "sink"
frames = "64 B"
arrivals = { regular = "1 ms" }
[[flows]]
name = "copy"
from = "b"
to = "sink"
frames = "1518 B"
arrivals = { poisson = "2000 /s" }
[phases]
transmit = "20 ms"
measure = "all"
[run]
replications = 3
""",
    title="Control beside a copy",
    hosts=("a", "b", "sink"),
    switch="queue = 20",
    rate="100 Mb/s",
)


def experiment(folder: Path, *engines: str, models: tuple[str, ...] | None = None) -> Experiment:
    path = folder / "x.toml"
    path.write_text(TWO_FLOWS, encoding="utf-8")
    return replace(load(path), engines=engines, models=models)


def test_each_theory_makes_one_trial_a_point_that_is_read_back(tmp_path):
    made = plan.expand([experiment(tmp_path, "theory", "simulation")])
    assert [trial.engine for trial in made.trials] == [
        "theory/network-calculus",
        "theory/queueing",
        *["simulation"] * 3,
    ]
    for trial in made.trials:
        assert trial.theory is None
        assert read_trial(trial.line) == trial
        assert '"theory":' not in trial.line
    only = plan.expand([experiment(tmp_path, "theory", models=("queueing",))])
    assert [trial.engine for trial in only.trials] == ["theory/queueing"]


def test_models_without_the_engine_are_refused_with_the_cure(tmp_path):
    with pytest.raises(InputError) as caught:
        plan.expand([experiment(tmp_path, "live", models=("queueing",))])
    (fault,) = caught.value.faults
    assert (fault.key, fault.value) == ("theory.models", "queueing")
    assert '"theory" among run.engines' in fault.allowed


def rows_of(trial: Trial, remarks: tuple[Remark, ...]) -> TrialRows:
    """Return rows of a theory that says nothing but a largest queue of 3 frames at port 1."""
    flows, ports = len(trial.scenario.flows), 2 * len(trial.scenario.links)
    values = np.full(len(FLOW_METRICS) * (1 + flows), math.nan)
    counts = np.full((ports, len(PORT_COLUMNS)), NOT_COUNTED)
    counts[1, PORT_COLUMNS.index("queue_most")] = 3
    none = np.empty(0, np.int64)
    return TrialRows(
        stations=0,
        values=values,
        cautions=np.zeros(len(values), np.uint64),
        batch_frames=none,
        batch_charged_ps=none,
        batch_delay_sum_s=np.empty(0),
        batch_delay_square_sum_s2=np.empty(0),
        histogram=np.empty(0, np.uint8),
        low_ps=none,
        high_ps=none,
        count=none,
        events=0,
        core_s=0.0,
        flows=flows,
        ports=counts.ravel(),
        remarks=remarks_text(remarks),
    )


def test_what_a_theory_does_not_know_of_a_port_is_null_and_its_words_have_a_table(tmp_path):
    source = experiment(tmp_path, "theory")
    made = plan.expand([source])
    remarks = (
        Remark("flow", 1, "reason", "arrivals are Poisson: no burst is the largest"),
        Remark("flow", 0, "method", "TFA"),
    )
    with Recorder(
        tmp_path / "run", Plan("x", made.trials), experiments={"x": TWO_FLOWS}, version="1"
    ) as recorder:
        for at, trial in enumerate(made.trials):
            recorder.record(at, rows_of(trial, remarks[: 2 - at]))
        recorder.finish({"finished": "2026-01-01T00:00:00+00:00"})
    run = RunDirectory(tmp_path / "run")
    table = run.ports()
    assert table is not None
    assert table["queue_most"].to_pylist() == [None, 3, None, None, None, None] * 2
    assert table["frames"].null_count == len(table)
    words = run.remarks()
    assert words is not None
    assert words.to_pylist() == [
        {
            "trial": "x/00000",
            "about": "flow",
            "number": 1,
            "kind": "reason",
            "text": remarks[0].text,
        },
        {"trial": "x/00000", "about": "flow", "number": 0, "kind": "method", "text": "TFA"},
        {
            "trial": "x/00001",
            "about": "flow",
            "number": 1,
            "kind": "reason",
            "text": remarks[0].text,
        },
    ]
    assert run.port_classes() is None


def test_a_run_without_theories_has_no_table_of_their_words(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(TWO_FLOWS, encoding="utf-8")
    assert em.load(path).run(out=tmp_path / "run", jobs=1).directory.remarks() is None
