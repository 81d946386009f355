"""Laboratory: hosts with agents, how they are reached, and what their agents answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw
from msgspec.json import decode

from ethermeter.credentials import Credentials
from ethermeter.live_test import AgentEntry

if TYPE_CHECKING:
    from ethermeter.testbed import NetworkBed


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Hosts by name, and how to reach them.

    Parameters
    ----------
    source
        What faults call it: the file of hosts, or "testbed".
    credentials
        Of the coordinator; None without certificates.
    namespace
        Network namespace from which agents are reached; None for this process's own.
    is_one_machine
        Whether all hosts share this machine's processors: then no role spins or asks for real-time
        priority.
    has_wires
        Whether something between hosts carries no more than a wire; else a saturated source
        measures the hosts.
    bed
        The testbed, if it is one with switches whose counters are read.
    """

    stations: Mapping[str, AgentEntry]
    source: str
    credentials: Credentials | None = None
    namespace: Path | None = None
    is_one_machine: bool = False
    has_wires: bool = True
    bed: "NetworkBed | None" = None

    def ask(
        self, names: Iterable[str] | None = None, *, reads_activity: bool = False
    ) -> dict[str, Raw]:
        """Ask agents for the description of their hosts, or of those with some names.

        With `reads_activity`, which takes a second, it has what the hosts do. Returns the JSON text
        that docs/reference/agent-tests.md describes, by name; of an agent that does not answer,
        `error` has the reason.
        """
        from ethermeter import _core

        wanted = [self.stations[name] for name in (self.stations if names is None else names)]
        answer = _core.ask_hosts(
            [station.control for station in wanted],
            credentials=self.credentials,
            namespace=self.namespace,
            reads_activity=reads_activity,
        )
        texts = decode(answer, type=list[Raw])
        return {station.name: text for station, text in zip(wanted, texts, strict=True)}
