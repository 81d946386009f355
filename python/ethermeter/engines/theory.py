"""The theory engines: a trial answered by a formula, or in the idealised scenario it assumes."""

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ethermeter.counts import Floats, StationCounts
from ethermeter.engines.simulation import observe, simulated
from ethermeter.metrics import ALL, Metric, caution_mask, without_samples
from ethermeter.scenario import Scenario
from ethermeter.station_groups import station_count
from ethermeter.store.rows import (
    TrialRows,
    formula_rows,
    has_plca,
    layout,
)
from ethermeter.theory.ablation import ablated
from ethermeter.theory.idealised import IdealisedScenario, ideal
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES, judge
from ethermeter.trial import Trial, core_trial

if TYPE_CHECKING:
    from ethermeter._core import Watch


def run_trial(trial: Trial, model: str) -> TrialRows:
    """Return the rows that a model predicts; ValueError if there is none, or it does not apply.

    What the model says nothing about is NaN with the caution `no-samples`; so is every value of a
    single station, but for those of models that distinguish stations.
    """
    begin_s = time.perf_counter()
    scenario: Scenario = trial.scenario
    verdict = judge(model, model_inputs(scenario, trial.assumptions()))
    if not verdict.applies:
        raise ValueError(f"{model} does not apply: {verdict.obstacles[0]}")
    stations = station_count(scenario)
    entity, metric = layout(stations, plca=has_plca(scenario))
    nothing = np.full(stations, math.nan)
    # The last of a row is that of all stations: their number is -1.
    table = np.array(
        [
            [*verdict.of_stations.get(each, nothing), verdict.values.get(each, math.nan)]
            for each in Metric
        ]
    )
    assert ALL == -1, "the last column"
    values = table[metric, entity]
    mask = without_samples(np.full(len(values), caution_mask(verdict.cautions)), values)
    return formula_rows(
        values,
        mask,
        stations=stations,
        cells=stations * scenario.batches,
        plca=int(has_plca(scenario)),
        core_s=time.perf_counter() - begin_s,
    )


def run_idealised(
    trial: Trial, model: str, step: str = "", *, watch: "Watch | None" = None
) -> TrialRows:
    """Simulate a trial in the idealised scenario of a model, or at a step towards the segment.

    Frames of the rows have the lengths that they have on the segment itself. ValueError if there is
    no such model or step, or the core refuses the scenario; or if it was stopped. RuntimeError if
    the core breaks off because of a fault of its own.
    """
    scenario: Scenario = trial.scenario
    inputs = model_inputs(scenario, trial.assumptions())
    obstacles = ENTRIES[model].obstacles(inputs) if model in ENTRIES else ["there is no such model"]
    if obstacles:
        raise ValueError(f"{model} does not apply: {obstacles[0]}")
    idealised = ablated(model, step, inputs, scenario) if step else ideal(model, inputs, scenario)
    if idealised is None:
        raise ValueError(
            f"{model} has no idealised scenario{f' with the step {step}' if step else ''}"
        )
    line = core_trial(idealised.scenario, id=trial.id, seed=trial.seed)
    counts, core_s = simulated(line, watch)
    stations = replace(counts.stations, bits=_frame_bits(counts.stations, idealised))
    if inputs.arrivals == "poisson":
        # An idealised scenario of attempts has no arrivals; the experiment has.
        load = np.full(inputs.stations, min(1.0, inputs.load / inputs.stations))
        stations = replace(stations, offered_load=load)
    return observe(scenario, replace(counts, stations=stations), core_s=core_s)


def _frame_bits(stations: StationCounts, idealised: IdealisedScenario) -> Floats:
    """Bits of the frames that were delivered, without preamble and gap."""
    bits = stations.bits * idealised.frame_bits - stations.frames * idealised.overhead_bits
    return np.where(stations.frames > 0, np.round(bits), 0.0)
