"""The simulation engine: a trial through the compiled core, its counts as a result."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ethermeter import functions
from ethermeter.counts import Counts
from ethermeter.engines.cautions import cautions_of
from ethermeter.scenario import Scenario
from ethermeter.store.trial_result import TrialResult, counted
from ethermeter.traces import NO_TRACES, Trace
from ethermeter.trial import core_trial_of

if TYPE_CHECKING:
    from ethermeter._core import Watch


def run_trial(
    line: str,
    scenario: Scenario,
    watch: "Watch | None" = None,
    traces: Mapping[str, Trace] = NO_TRACES,
) -> TrialResult:
    """Simulate the trial of a line of `plan.jsonl`, with its scenario; as `answer`."""
    makers = functions.Makers() if functions.named_in([scenario]) else None
    counts, core_s = simulated(core_trial_of(line), watch, traces, makers)
    return result_of(scenario, counts, core_s=core_s)


def result_of(scenario: Scenario, counts: Counts, *, core_s: float) -> TrialResult:
    """Return the result of a simulation from its counts; `core_s` is the time it took, in s."""
    return counted(scenario, counts, cautions=cautions_of(scenario, counts), core_s=core_s)


def simulated(
    line: str,
    watch: "Watch | None" = None,
    traces: Mapping[str, Trace] = NO_TRACES,
    makers: "functions.Makers | None" = None,
) -> tuple[Counts, float]:
    """Return what the core counted in a trial of its own form, and the time it took in s.

    `makers` makes the functions in Python that its stations follow. Raises RuntimeError if it
    breaks off because of a fault of its own, FunctionError if such a function fails.
    """
    from ethermeter import _core

    given = {sha256: traces[sha256].core for sha256 in traces}
    begin_s = time.perf_counter()
    try:
        counts = _core.simulate_trial(line, watch, given, makers)
    except BaseException as error:
        # The class is made inside the extension and cannot be imported; it is no `Exception`, so it
        # would kill a thread unseen.
        if type(error).__name__ == "PanicException":
            raise RuntimeError(f"the simulator broke off: {error}") from None
        raise
    return counts, time.perf_counter() - begin_s
