"""A trial to the engine that answers it."""

import json

from ethermeter.engines import simulation
from ethermeter.store.rows import TrialRows


def answer(line: str) -> TrialRows:
    """Run one trial and return its rows.

    Parameters
    ----------
    line
        The trial as JSON text, a line of `plan.jsonl`.

    Returns
    -------
    :
        The rows, which depend on `line` alone, except for `core_s`.

    Raises
    ------
    ValueError
        If the trial is refused; the message has the key.
    RuntimeError
        If the core breaks off because of a fault of its own.

    """
    trial = json.loads(line)
    engine, *rest = trial["engine"].split("/")
    # On demand: a simulation needs no theories, nor what these import.
    if engine == "theory":
        from ethermeter.engines import theory

        return theory.run_trial(trial, *rest)
    if engine in ("idealised", "switched"):
        from ethermeter.engines import idealised

        return idealised.run_trial(trial, *rest)
    if "network" in trial["scenario"]:
        from ethermeter.engines import network

        return network.run_trial(line, trial["scenario"])
    return simulation.run_trial(line, trial["scenario"])
