"""The idealised engine: one trial in the idealised scenario that a theory assumes, by brute force."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ethermeter.engines.simulation import observe, timed
from ethermeter.scenario import Scenario
from ethermeter.store.rows import TrialRows
from ethermeter.theory.ablation import ablated
from ethermeter.theory.idealised import IdealisedScenario, ideal
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES
from ethermeter.trial import Trial, core_trial

if TYPE_CHECKING:
    from ethermeter._core import Watch


def run_trial(
    trial: Trial, model: str, step: str = "", *, watch: "Watch | None" = None
) -> TrialRows:
    """Simulate a trial in the idealised scenario of a model, or at a step from there to the segment.

    Parameters
    ----------
    trial
        The trial.
    model
        Name of the model.
    step
        Name of the step; empty for the idealised scenario of the model.
    watch
        For another thread: progress of the simulation, and how to stop it.

    Returns
    -------
    :
        The rows, as of a simulation of the segment itself; frames have the lengths that they have
        there.

    Raises
    ------
    ValueError
        If there is no such model or step, or the core refuses the scenario; or if it was stopped.
    RuntimeError
        If the core breaks off because of a fault of its own.

    """
    from ethermeter import _core

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
    result, core_s = timed(_core.simulate_trial, line, watch)
    mended = {**result, "station_bits": _frame_bits(result, idealised)}
    if inputs.arrivals == "poisson":
        # An idealised scenario of attempts knows nothing of what arrives; the experiment does.
        mended["station_offered_load"] = np.full(
            inputs.stations, min(1.0, inputs.load / inputs.stations)
        )
    return observe(scenario, mended, core_s=core_s)


def _frame_bits(result: Mapping[str, Any], idealised: IdealisedScenario) -> np.ndarray[Any, Any]:
    """Bits of the frames that were delivered, without preamble and gap."""
    frames = np.asarray(result["station_frames"], np.float64)
    bits = (
        np.asarray(result["station_bits"], np.float64) * idealised.frame_bits
        - frames * idealised.overhead_bits
    )
    return np.where(frames > 0, np.round(bits), 0.0)
