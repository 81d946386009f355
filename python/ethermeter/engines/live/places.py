"""Places of measurement: hosts of a laboratory, a testbed that is built, or loopback."""

import ipaddress
import itertools
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ethermeter.engines.live import agents, trials
from ethermeter.engines.live.agents import IPV6, Bench
from ethermeter.engines.live.description import selective_acknowledgements
from ethermeter.engines.live.laboratory import Laboratory
from ethermeter.engines.live.recording import Captures
from ethermeter.engines.live.segments import of_hosts
from ethermeter.engines.live.trials import Underway, trial_of
from ethermeter.engines.work import Finished, Work
from ethermeter.entities import senders
from ethermeter.faults import InputError
from ethermeter.framing import AROUND_DATA_OCTETS, lengths_of, packet_octets
from ethermeter.live_test import AgentEntry
from ethermeter.nodes import hosts_in
from ethermeter.scenario import Scenario
from ethermeter.testbed.build import MOST_HOSTS
from ethermeter.testbed.elements import WireKind
from ethermeter.trial import Trial

MTU_OCTETS = 1500


class Place(Protocol):
    """Where trials are measured."""

    @property
    def name(self) -> str:
        """Name for the provenance."""
        ...

    def check(self, works: Sequence[Work]) -> None:
        """Refuse trials that cannot be measured here, with every fault, before anything runs."""
        ...

    def run(
        self, works: Sequence[Work], directory: Path
    ) -> Generator[Finished | Underway, None, None]:
        """Measure trials one after the other, as `ethermeter.engines.live.trials.run`."""
        ...


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts of a laboratory, whose agents are there."""

    laboratory: Laboratory

    @property
    def name(self) -> str:
        """Name for the provenance."""
        return self.laboratory.source

    @property
    def has_ipv6(self) -> bool:
        """Whether a host takes part with an address of IPv6."""
        stations = self.laboratory.stations.values()
        return any(ipaddress.ip_address(each.address).version == IPV6 for each in stations)

    def check(self, works: Sequence[Work]) -> None:
        """Refuse trials that cannot be measured here, before anything runs."""
        trials.check(works, self.laboratory)

    def run(
        self, works: Sequence[Work], directory: Path
    ) -> Generator[Finished | Underway, None, None]:
        """Measure trials one after the other, when the hosts are warm."""
        yield from trials.warm_up(works[0], self.laboratory)
        yield from trials.run(works, self.laboratory, directory)


@dataclass(frozen=True, slots=True)
class Local:
    """Venues on this machine: namespaces that are built for each network, or loopback.

    Parameters
    ----------
    kind
        "testbed", "plain" (a testbed of one fast switch, whatever the network is) or "loopback".
    wires
        Kind of the wires of a testbed.
    captures
        Recordings during a trial; None without.
    ip
        4 or 6: with which addresses hosts of a testbed take part.
    hosts_at_least
        Hosts of a plain testbed; those that the network does not have stand by.
    """

    kind: str
    wires: WireKind = "shaped"
    captures: Captures | None = None
    ip: int = 4
    hosts_at_least: int = 0

    @property
    def name(self) -> str:
        """Name for the provenance."""
        found = self.kind if self.kind != "testbed" else f"testbed ({self.wires})"
        return found if not self.has_ipv6 else f"{found}, IPv6"

    @property
    def has_ipv6(self) -> bool:
        """Whether hosts take part with addresses of IPv6."""
        return self.ip == IPV6

    def check(self, works: Sequence[Work]) -> None:
        """Refuse trials that cannot be measured here, before anything runs."""
        for work in works:
            trial = trial_of(work)
            scenario = trial.scenario
            if senders(scenario) and self.kind != "testbed":
                allowed = "expected a testbed: the medium of a segment is emulated there"
                raise InputError.of(self.kind, "segment", trial.id, allowed)
            trials.check([work], _expected(trial, self.kind, self.ip))
            agents.check(trial, self.kind, self.wires)
            selective_acknowledgements(scenario)
            if self.captures is not None:
                self.captures.check(scenario)

    def run(
        self, works: Sequence[Work], directory: Path
    ) -> Generator[Finished | Underway, None, None]:
        """Measure trials one after the other; what is built stays as long as the network does."""
        for _, group in itertools.groupby(works, key=self.key):
            alike = list(group)
            with self.bench([trial_of(work) for work in alike]) as bench:
                yield from trials.warm_up(alike[0], bench.laboratory)
                for work in alike:
                    bench.revive()
                    yield from self.measured(work, bench, directory)

    def measured(
        self, work: Work, bench: Bench, directory: Path
    ) -> Generator[Finished | Underway, None, None]:
        """Measure a trial on a bench."""
        if self.captures is None:
            yield from trials.run([work], bench.laboratory, directory)
            return
        with (
            self.captures.recording(trial_of(work), bench.taps, directory) as recording,
            closing(trials.run([work], bench.laboratory, directory)) as measured,
        ):
            for seen in measured:
                if isinstance(seen, Finished):
                    # Before its rows are: a trial that has a result has its captures too.
                    recording.keep()
                yield seen

    def key(self, work: Work) -> str:
        """Return what trials on one bench have in common."""
        trial = trial_of(work)
        scenario = trial.scenario
        if senders(scenario):
            # Any medium, one trial after the other, between interfaces that take its frames.
            return f"segment {mtu_octets(of_hosts(trial).scenario)}"
        parts = (scenario.nodes, scenario.links, scenario.media, trial.settings())
        return repr((*parts, mtu_octets(scenario), selective_acknowledgements(scenario)))

    @contextmanager
    def bench(self, alike: Sequence[Trial]) -> Iterator[Bench]:
        """Build what trials with one key need, and remove it at the end."""
        scenario = alike[0].scenario
        if senders(scenario):
            mtu = max(mtu_octets(of_hosts(trial).scenario) for trial in alike)
            with agents.segment(alike, mtu=mtu, ip=self.ip) as bench:
                yield bench
        elif self.kind == "loopback":
            with agents.loopback(hosts_in(scenario)) as bench:
                yield bench
        else:
            with agents.testbed(
                scenario,
                mtu=mtu_octets(scenario),
                sack=selective_acknowledgements(scenario),
                plain=self.kind == "plain",
                wires=self.wires,
                ip=self.ip,
                hosts_at_least=self.hosts_at_least,
            ) as bench:
                yield bench


class Kept:
    """A venue on this machine whose namespaces stay from one call to the next.

    They are built again when a trial needs another network, and removed at the end of the block.
    """

    def __init__(self, local: Local) -> None:
        self._local = local
        self._stack = ExitStack()
        self._bench: Bench | None = None
        self._key = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        self._stack.close()

    @property
    def name(self) -> str:
        """Name for the provenance."""
        return self._local.name

    def check(self, works: Sequence[Work]) -> None:
        """Refuse trials that cannot be measured here, before anything runs."""
        self._local.check(works)

    def run(
        self, works: Sequence[Work], directory: Path
    ) -> Generator[Finished | Underway, None, None]:
        """Measure trials one after the other."""
        for work in works:
            is_new = self._bench is None
            bench = self._prepared(work)
            bench.revive()
            if is_new:
                yield from trials.warm_up(work, bench.laboratory)
            yield from self._local.measured(work, bench, directory)

    def _prepared(self, work: Work) -> Bench:
        """Return the bench of the network of a trial."""
        key = self._local.key(work)
        if self._bench is None or key != self._key:
            self._stack.close()
            self._bench = self._stack.enter_context(self._local.bench([trial_of(work)]))
            self._key = key
        return self._bench


def mtu_octets(scenario: Scenario) -> int:
    """Longest IP packet that interfaces must take for the flows of a scenario."""
    found: list[int] = []
    for flow in scenario.flows:
        if flow.transfer is not None:
            found.append(max(MTU_OCTETS, packet_octets(flow.transfer)))
        elif not isinstance(flow.framing, str) and flow.framing.udp is not None:
            found.append(flow.framing.udp.mtu_octets)
        else:
            longest = max(lengths_of(flow.frames))
            found.append(max(MTU_OCTETS, longest // 8 - AROUND_DATA_OCTETS))
    return max(found)


def _expected(trial: Trial, kind: str, ip: int) -> Laboratory:
    """Return the laboratory that will be built, for checks."""
    scenario = of_hosts(trial).scenario
    network = "127.0.77" if kind == "loopback" else "10.77.0"
    names = hosts_in(scenario)
    if len(names) > MOST_HOSTS:
        raise InputError.of(
            kind, "hosts", str(len(names)), f"expected at most {MOST_HOSTS} on one machine"
        )
    stations = {
        name: AgentEntry(
            name=name,
            control=f"{network}.{number}:4988",
            address=f"fd77::{number:x}" if ip == IPV6 else f"{network}.{number}",
        )
        for number, name in enumerate(names, 1)
    }
    return Laboratory(stations, kind, is_one_machine=True)
