"""The idealised engine: one trial in the world that a theory assumes, by brute force."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ethermeter.applied.models import ENTRIES
from ethermeter.applied.situation import situation_of
from ethermeter.applied.switches import switched
from ethermeter.applied.worlds import World, ideal
from ethermeter.engines.simulation import observe, timed
from ethermeter.store.rows import TrialRows

if TYPE_CHECKING:
    from ethermeter._core import Watch


def run_trial(
    trial: Mapping[str, Any], model: str, step: str = "", *, watch: "Watch | None" = None
) -> TrialRows:
    """Simulate a trial in the world of a model, or at a step on the way from there to the segment
    as it is.

    Parameters
    ----------
    trial
        The trial, as a line of `plan.jsonl` has it.
    model
        Name of the model.
    step
        Name of the step; empty for the world of the model.
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
        If there is no such model or step, or the core refuses the world; or if it was stopped.
    RuntimeError
        If the core breaks off because of a fault of its own.

    """
    from ethermeter import _core

    scenario = trial["scenario"]
    situation = situation_of(scenario, scenario["theory"])
    obstacles = (
        ENTRIES[model].obstacles(situation) if model in ENTRIES else ["there is no such model"]
    )
    if obstacles:
        raise ValueError(f"{model} does not apply: {obstacles[0]}")
    world = (
        switched(model, step, situation, scenario) if step else ideal(model, situation, scenario)
    )
    if world is None:
        raise ValueError(
            f"{model} has no world of its own{f' with the step {step}' if step else ''}"
        )
    line = json.dumps({**trial, "engine": "simulation", "scenario": world.scenario})
    result, core_s = timed(
        _core.simulate_idealised if "idealised" in world.scenario else _core.simulate, line, watch
    )
    mended = {**result, "station_bits": _frame_bits(result, world)}
    if situation.arrivals == "poisson":
        # A world of attempts knows nothing of what arrives; the experiment does.
        mended["station_offered_load"] = np.full(
            situation.stations, min(1.0, situation.load / situation.stations)
        )
    return observe(scenario, mended, core_s=core_s)


def _frame_bits(result: Mapping[str, Any], world: World) -> np.ndarray[Any, Any]:
    """Bits of the frames that were delivered, without what the world counts as parts of them."""
    frames = np.asarray(result["station_frames"], np.float64)
    bits = (
        np.asarray(result["station_bits"], np.float64) * world.frame_bits
        - frames * world.overhead_bits
    )
    return np.where(frames > 0, np.round(bits), 0.0)
