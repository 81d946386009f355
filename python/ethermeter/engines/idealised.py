"""The engines of idealised scenarios: a trial in the world of a model, or on the way there.

`idealised` simulates the world of the model, `ablation` that world with one simplification undone.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ethermeter.counts import Floats, StationCounts
from ethermeter.engines.simulation import result_of, simulated
from ethermeter.scenario import Scenario
from ethermeter.store.trial_result import TrialResult
from ethermeter.theory.ablation import ablated
from ethermeter.theory.idealised import IdealisedScenario, ideal
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES
from ethermeter.trial import Trial, core_trial

if TYPE_CHECKING:
    from ethermeter._core import Watch


def run_trial(
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
