"""Accounts: what agents reported of a run's tests beside the metrics.

Hosts, connections, where messages were lost, pacing, clocks and emulated media.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.analysis import connections, hosts, losses, pacing
from ethermeter.analysis.connections import Connection
from ethermeter.analysis.emulated import EmulatedMedium, emulated
from ethermeter.analysis.hosts import Machine
from ethermeter.analysis.interfaces import Found, interfaces_of
from ethermeter.analysis.losses import Drops, Loss
from ethermeter.analysis.pacing import Clock, Pacing
from ethermeter.faults import InputError
from ethermeter.results.trials import alike, point_of
from ethermeter.store.result import Result

if TYPE_CHECKING:
    from ethermeter.trial import Trial

LIVE = "live"
"""The engine whose trials are tests."""


@dataclass(frozen=True, slots=True)
class Account:
    """What the agents of a trial reported; empty where there is nothing of a kind.

    Parameters
    ----------
    machines, connections, losses, drops, pacings, clocks, interfaces, medium
        See `ethermeter.analysis.hosts`, `connections`, `losses`, `pacing`, `interfaces` and
        `emulated`.

    """

    # trial, series, point: Of the plan
    trial: str
    series: str
    point: Mapping[str, str]
    machines: tuple[Machine, ...]
    connections: tuple[Connection, ...]
    losses: tuple[Loss, ...]
    pacings: tuple[Pacing, ...]
    clocks: tuple[Clock, ...]
    drops: tuple[Drops, ...] = ()
    interfaces: tuple[Found, ...] = ()
    medium: EmulatedMedium | None = None
    reads_switches: bool = False  # Whether the counters of switches between the hosts were read
    unread: str = ""  # Why they could not be read, where they should have been


def read(run_dir: Path) -> tuple[Account, ...]:
    """Read the accounts of a run, in the order of the plan; nothing where nothing was measured.

    Raises
    ------
    InputError
        If a file in `live/` is not what `ethermeter measure` writes.

    """
    from ethermeter.store import RunDirectory
    from ethermeter.store.measured import complete_results, result_file

    trials = {trial.id: trial for trial in RunDirectory(run_dir).trials() if trial.engine == LIVE}
    found = []
    for name, result in complete_results(run_dir, list(trials)):
        try:
            found.append(account(trials[name], result))
        except (ValueError, IndexError) as error:
            where = str(result_file(run_dir, name))
            raise InputError.of(
                where, "(file)", type(error).__name__, "the result of a test, as measure writes it"
            ) from error
    return tuple(found)


def account(trial: "Trial", result: Result) -> Account:
    """Return what the agents reported in the result of a test."""
    machines, transfers, lost = (
        hosts.machines(result),
        connections.connections(result),
        losses.losses(result),
    )
    # What goes on over time is read again for the trials that are drawn; whether it can be read is
    # known here.
    for machine in machines:
        hosts.course(result, machine.hosts[0])
    for transfer in transfers:
        connections.course(result, transfer.flow)
    return Account(
        trial=trial.id,
        series=trial.series,
        point=dict(trial.point),
        machines=machines,
        connections=transfers,
        losses=lost,
        pacings=pacing.pacings(result),
        clocks=pacing.clocks(result),
        drops=losses.drops(result, lost),
        interfaces=interfaces_of(result, trial.scenario),
        medium=emulated(result),
        reads_switches=result.switches is not None,
        unread=result.unread,
    )


def by_point(found: Sequence[Account]) -> list[list[Account]]:
    """Accounts of the replications of every point, in the order of the plan."""
    return alike(found, point_of)
