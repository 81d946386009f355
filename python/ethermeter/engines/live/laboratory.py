"""Laboratory: the hosts that there are, how they are reached and what their agents say of
themselves.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethermeter.testbed import NetworkBed

Credentials = tuple[bytes, bytes, bytes]
"""Certificate, key and authority, as PEM."""


@dataclass(frozen=True, slots=True)
class Station:
    """A host with an agent.

    Parameters
    ----------
    name
        What the experiment calls it.
    control
        Where its agent listens, as ADDRESS:PORT.
    address
        IP address with which it takes part in what is measured.
    interface
        Interface for what is measured; that of the address if None.

    """

    name: str
    control: str
    address: str
    interface: str | None = None


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Hosts and how to reach them.

    Parameters
    ----------
    stations
        By the name of the host.
    source
        What faults call it: the file of hosts, or "testbed".
    credentials
        Of the coordinator; None without certificates.
    namespace
        Network namespace from which agents are reached; None for this process's own.
    is_one_machine
        Whether all hosts share this machine's processors: then nobody spins or asks for real-time
        priority.
    has_wires
        Whether something between hosts carries no more than a wire; else a saturated source finds
        out what hosts can.
    bed
        The testbed that it is, whose switches can be read; None where nobody asks switches.

    """

    stations: Mapping[str, Station]
    source: str
    credentials: Credentials | None = None
    namespace: Path | None = None
    is_one_machine: bool = False
    has_wires: bool = True
    bed: "NetworkBed | None" = None

    def ask(self, names: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
        """Ask agents what they say of themselves.

        Parameters
        ----------
        names
            Of which hosts; of all if None.

        Returns
        -------
        :
            By name, what docs/live.md has; of an agent that does not answer, `error` says why.

        """
        from ethermeter import _core

        wanted = [self.stations[name] for name in (self.stations if names is None else names)]
        answer = _core.ask_hosts(
            [station.control for station in wanted],
            credentials=self.credentials,
            namespace=self.namespace,
        )
        return {
            station.name: said for station, said in zip(wanted, json.loads(answer), strict=True)
        }
