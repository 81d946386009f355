"""The theory engines: a trial answered by a formula, or in the idealised scenario it assumes."""

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ethermeter.counts import Floats, StationCounts
from ethermeter.engines.simulation import result_of, simulated
from ethermeter.metrics import caution_mask
from ethermeter.scenario import Scenario
from ethermeter.station_groups import station_count
from ethermeter.store.columns import VALUES
from ethermeter.store.trial_result import TrialResult, values_table
from ethermeter.theory.ablation import ablated
from ethermeter.theory.idealised import IdealisedScenario, ideal
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES, judge
from ethermeter.trial import Trial, core_trial

if TYPE_CHECKING:
    from ethermeter._core import Watch


def run_trial(trial: Trial, model: str) -> TrialResult:
    """Return what a model predicts; ValueError if there is none, or it does not apply.

    Of single stations only models that distinguish them say something.
    """
    begin_s = time.perf_counter()
    scenario: Scenario = trial.scenario
    verdict = judge(model, model_inputs(scenario, trial.assumptions()))
    if not verdict.applies:
        raise ValueError(f"{model} does not apply: {verdict.obstacles[0]}")
    nothing = np.full(station_count(scenario), math.nan)
    values = {
        metric: (verdict.values.get(metric, math.nan), verdict.of_stations.get(metric, nothing))
        for metric in {**verdict.values, **verdict.of_stations}
    }
    mask = caution_mask(verdict.cautions)
    cautions = {
        metric: (_where_known(mask, of_all), _where_known(mask, of_each))
        for metric, (of_all, of_each) in values.items()
    }
    tables = {VALUES: values_table(values, cautions)}
    return TrialResult(tables, core_s=time.perf_counter() - begin_s)


def _where_known(mask: np.uint64, values: Floats | float) -> Any:
    return np.where(np.isnan(values), np.uint64(0), mask)


def run_idealised(
    trial: Trial, model: str, step: str = "", *, watch: "Watch | None" = None
) -> TrialResult:
    """Simulate a trial in the idealised scenario of a model, or at a step towards the segment.

    Frames of the result have the lengths that they have on the segment itself. ValueError if there
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
    return result_of(scenario, replace(counts, stations=stations), core_s=core_s)


def _frame_bits(stations: StationCounts, idealised: IdealisedScenario) -> Floats:
    """Bits of the frames that were delivered, without preamble and gap."""
    bits = stations.bits * idealised.frame_bits - stations.frames * idealised.overhead_bits
    return np.where(stations.frames > 0, np.round(bits), 0.0)
