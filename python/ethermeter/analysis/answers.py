"""Answers: what follows from a run besides its estimates, for programs."""

from typing import TYPE_CHECKING

from ethermeter.analysis import accounts, bounds, bus_times, flows, live
from ethermeter.entities import flows_in
from ethermeter.results.query import Results
from ethermeter.trial import LIVE, SIMULATION, THEORY

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory

NAMES = ("flows", "live_accounts", "live_agreement", "bounds")
"""Names of the answers."""


def answers(run: "RunDirectory", *, leave_out: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the answers that a finished run has, except for some, as JSON values by name.

    `flows`: lines of times against lengths, and fairness. `live_accounts`: what agents reported
    besides metrics. `live_agreement`: measured against simulated values. `bounds`: worst cases
    beside what was simulated and measured. An undefined number is None.
    """
    trials = run.trials()
    engines = {trial.engine.partition("/")[0] for trial in trials}
    has_flows = any(flows_in(trial.scenario) for trial in trials)
    has_buses = any(bus_times.has_bus(trial.scenario) for trial in trials)
    wanted = {
        "flows": has_flows,
        "live_accounts": LIVE in engines,
        "live_agreement": {SIMULATION, LIVE} <= engines,
        "bounds": (has_flows and THEORY in engines) or has_buses,
    }
    found: dict[str, object] = {}
    for name in NAMES:
        if not wanted[name] or name in leave_out:
            continue
        match name:
            case "flows":
                found[name] = flows.as_json(run)
            case "live_accounts":
                found[name] = accounts.as_json(accounts.read(run.path))
            case "live_agreement":
                found[name] = live.as_json(live.read(run.path), live.read_pairs(run.path))
            case _:
                found[name] = bounds.as_json(bounds.read(Results.of_run(run.path)))
    return found
