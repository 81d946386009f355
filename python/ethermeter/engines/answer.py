"""A trial to the engine that answers it."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ethermeter.engines import simulation
from ethermeter.store.integrity import first_line
from ethermeter.store.trial_result import TrialResult, failed
from ethermeter.traces import NO_TRACES, Trace
from ethermeter.trial import SIMULATION, THEORY, Shared, digest_of, read_trial

if TYPE_CHECKING:
    from ethermeter._core import Watch


class _Shared(threading.local):
    """The scenario that a thread has read last: replications of a point have the same."""

    def __init__(self) -> None:
        self.last = Shared(most=1)


_SHARED = _Shared()


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
    trial = read_trial(line, _SHARED.last)
    if isinstance(trial, str):
        raise ValueError(trial)
    engine, *rest = trial.engine.split("/")
    if engine == SIMULATION:
        return simulation.run_trial(line, trial.scenario, watch, traces)
    try:
        # On demand: a simulation needs no theories, nor what these import.
        if engine == THEORY:
            from ethermeter.engines import theory

            return theory.run_trial(trial, *rest)
        from ethermeter.engines import idealised

        return idealised.run_trial(trial, *rest, watch=watch)
    except MemoryError:
        raise
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return failed(f"{trial.engine}: {kind}{first_line(error)}")
