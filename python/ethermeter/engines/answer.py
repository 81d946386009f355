"""A trial to the engine that answers it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ethermeter.engines import simulation
from ethermeter.nodes import is_segment
from ethermeter.store.integrity import first_line
from ethermeter.store.trial_result import TrialResult, failed
from ethermeter.traces import NO_TRACES, Trace
from ethermeter.trial import SIMULATION, THEORY, Trial, digest_of, read_trial

if TYPE_CHECKING:
    from ethermeter._core import Watch


def answer(
    line: str, watch: "Watch | None" = None, traces: Mapping[str, Trace] = NO_TRACES
) -> TrialResult:
    """Run the trial of a line of `plan.jsonl` and return its result, which bears its digest.

    It depends on the line alone, except for `core_s`; `traces` has those that it names. Another
    thread follows and stops the simulation by the watch. Raises ValueError if the trial is refused,
    with the key, was stopped, or a function in Python failed; RuntimeError if the core breaks off
    because of a fault of its own. A theory that fails costs its own values only: its result has
    the reason.
    """
    return replace(_answered(line, watch, traces), digest=digest_of(line))


def _answered(line: str, watch: "Watch | None", traces: Mapping[str, Trace]) -> TrialResult:
    trial = read_trial(line)
    if isinstance(trial, str):
        raise ValueError(trial)
    engine, *rest = trial.engine.split("/")
    if engine == SIMULATION:
        return simulation.run_trial(line, trial.scenario, watch, traces)
    try:
        return _by_theory(trial, engine, rest, watch)
    except MemoryError:
        raise
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return failed(f"{trial.engine}: {kind}{first_line(error)}")


def _by_theory(
    trial: Trial, engine: str, rest: Sequence[str], watch: "Watch | None"
) -> TrialResult:
    # On demand: a simulation needs no theories, nor what these import.
    from ethermeter.engines import theory

    if engine == THEORY and not is_segment(trial.scenario):
        from ethermeter.engines import network_theory

        return network_theory.run_trial(trial, *rest)
    if engine == THEORY:
        return theory.run_trial(trial, *rest)
    return theory.run_idealised(trial, *rest, watch=watch)
