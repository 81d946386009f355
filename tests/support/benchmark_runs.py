"""Benchmark suites in memory: on a simulated device, or on testers that are formulas."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ethermeter.analysis.benchmark import BenchmarkAnswer, Row
from ethermeter.benchmark import Bench, Settings, load
from ethermeter.benchmark.bench import Stimulus, bench_of
from ethermeter.benchmark.outcome import Delays, FlowOutcome, Outcome
from ethermeter.benchmark.steps import Ledger, UnansweredError
from ethermeter.experiment import shipped
from ethermeter.results.query import Results
from ethermeter.store.trial_result import failed
from ethermeter.strategies import answered
from ethermeter.strategies.benchmark import Benchmark

SWITCH = shipped()["benchmark/switch"]
BACKPLANE_FIXED_PS, BACKPLANE_PS_PER_OCTET, BACKPLANE_FRAMES = 300_000, 12_000, 64
"""The backplane of `benchmark/switch`: time of a frame, and frames that it holds."""


def device(network: Mapping[str, Any], **settings: Any) -> Bench:
    """Return the bench of a network without flows."""
    return bench_of(dict(network), Path("dut.toml"), testers=(), settings=Settings(**settings))


def answer(suite: str, bench: Bench) -> BenchmarkAnswer:
    """Return the answer of a suite by simulation."""
    return answered(Benchmark(load(suite, bench), venue="simulation"), jobs=2)


def rows_of(answer: BenchmarkAnswer, test: str) -> tuple[Row, ...]:
    """Return the rows of a test of an answer."""
    (found,) = (each for each in answer.tests if each.name == test)
    return found.rows


def number_of(row: Row, key: str) -> float:
    """Return a value of a row that must be a number."""
    value = row.values[key]
    assert isinstance(value, int | float), (key, value)
    return float(value)


def formula_outcome(bench: Bench, stimulus: Stimulus, lost: dict[str, int]) -> Outcome:
    """Return the outcome of a stimulus whose frames are lost at these locations."""
    wanted = [stream.intended or 0 for stream in stimulus.streams]
    gone = sum(lost.values())
    unsent = lost.get("generator", 0)
    trial = bench.trial(stimulus, 0, {})
    return Outcome(
        intended=sum(wanted),
        sent=sum(wanted) - unsent,
        received=sum(wanted) - gone,
        lost={name: count for name, count in lost.items() if count},
        flows=tuple(FlowOutcome(count, count, 0, 0.0) for count in wanted),
        delays=Delays(0.0, 0.0, 0.0, 0.0),
        transmit_s=stimulus.transmit_ps / 1e12,
        messages=np.empty((0, len(wanted)), np.int64),
        round_trip_s=float("nan"),
        loaded_round_trip_s=float("nan"),
        late_s=0.0,
        results=Results.of_trial(trial, failed()),
        scenario=trial.scenario,
    )


def results_by(
    suite: str, bench: Bench, losing: Callable[[Stimulus], dict[str, int]]
) -> tuple[dict[str, Any], str]:
    """Return the results of all steps and the culprit; `losing` gives lost frames of a trial."""
    whole = load(suite, bench)
    results: dict[str, Any] = {}
    for step in whole.steps:
        outcomes: list[Outcome] = []
        while step.key not in results:
            try:
                results[step.key] = step.run(Ledger(outcomes), results)
            except UnansweredError as error:
                outcomes += [formula_outcome(bench, each, losing(each)) for each in error.stimuli]
    return results, whole.culprit(results)
