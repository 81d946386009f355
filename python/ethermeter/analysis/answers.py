"""Answers: what follows from a run besides its estimates, for programs."""

from typing import TYPE_CHECKING

from ethermeter.analysis import accounts, bounds, bus_times, capacity
from ethermeter.analysis.accounts_file import AccountsFile
from ethermeter.analysis.bounds_file import BoundsFile
from ethermeter.analysis.flows_file import FlowsFile
from ethermeter.analysis.live import ComparisonsFile
from ethermeter.entities import flows_in
from ethermeter.json_values import plain
from ethermeter.results.query import Results
from ethermeter.trial import LIVE, SIMULATION, THEORY

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory

NAMES = ("capacity", "flows", "live_accounts", "live_agreement", "bounds")
"""Names of the answers."""


def answers(run: "RunDirectory", *, leave_out: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the answers that a finished run has, except for some, as JSON values by name.

    `capacity`: offered load and capacity of networks. `flows`: lines of times against lengths, and
    fairness. `live_accounts`: what agents reported besides metrics. `live_agreement`: measured
    against simulated values. `bounds`: worst cases beside what was simulated and measured. An
    undefined number is None.
    """
    trials = run.trials()
    engines = {trial.engine.partition("/")[0] for trial in trials}
    has_flows = any(flows_in(trial.scenario) for trial in trials)
    has_buses = any(bus_times.has_bus(trial.scenario) for trial in trials)
    wanted = {
        "capacity": has_flows,
        "flows": has_flows,
        "live_accounts": LIVE in engines,
        "live_agreement": {SIMULATION, LIVE} <= engines,
        "bounds": (has_flows and THEORY in engines) or has_buses,
    }
    return {
        name: plain(_answer(name, run)) for name in NAMES if wanted[name] and name not in leave_out
    }


def _answer(name: str, run: "RunDirectory") -> object:
    match name:
        case "capacity":
            return capacity.read(Results.of_run(run.path))
        case "flows":
            return FlowsFile.of_run(run)
        case "live_accounts":
            return AccountsFile.of(accounts.read(run.path))
        case "live_agreement":
            return ComparisonsFile.of_run(run.path)
        case _:
            return BoundsFile.of(bounds.read(Results.of_run(run.path)))
