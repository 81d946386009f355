"""Agents on this machine: in the namespaces of a testbed, or on loopback addresses.

They end with the block, and with this process.
"""

import contextlib
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from ethermeter import credentials
from ethermeter.credentials import Credentials
from ethermeter.engines.live.laboratory import Laboratory
from ethermeter.engines.live.media import flow_faults, media_faults, segments_of
from ethermeter.engines.live.recording import MEDIUM, MediumTap, Tap
from ethermeter.engines.live.segments import segment_hosts, segment_trial
from ethermeter.entities import flows_in, stations_in
from ethermeter.faults import Fault, InputError
from ethermeter.live_test import AgentEntry
from ethermeter.nodes import Settings, hosts_in, kind_of
from ethermeter.scenario import Class, Host, Router, SaturatedArrivals, Scenario, Switch
from ethermeter.store.scratch import temporary_directory
from ethermeter.testbed import (
    AddressTable,
    Link,
    Network,
    NetworkBed,
    Segment,
    TestbedError,
    Wire,
    WireKind,
    keep_network,
    make_network,
)
from ethermeter.testbed.record import NAMESPACES
from ethermeter.trial import Trial

IPV6 = 6
CONTROL_PORT = 4988
READY_S = 30.0
"""Timeout of the start of an agent."""
END_S = 5.0
_CEILINGS = """\
rate_bps = 10_000_000_000_000
rate_frames_per_s = 10_000_000_000
duration_s = 3600
roles = 20_000
addresses = {addresses}
groups = ["multicast", "broadcast"]
priority = 7
"""
_WITHOUT_PRESSURE = (
    "expected arrivals at a rate in a measurement: frames of a host with classes wait in the "
    "relay, which holds no sender back"
)
_PS_OCTETS = 8_000_000_000_000
"""Bits of an octet times picoseconds of a second."""


@dataclass(slots=True)
class Agent:
    """An agent that was started here."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    """File of its stderr."""
    process: "subprocess.Popen[str] | None" = None
    is_started: threading.Event | None = None
    """Set when its process is known, or could not be made."""

    def start(self) -> None:
        """Start it."""
        failed: list[OSError] = []
        is_started = self.is_started = threading.Event()

        def begin() -> None:
            try:
                self.process = self._made()
            except OSError as error:
                failed.append(error)
            finally:
                is_started.set()

        # A thread, which Ctrl-C does not reach: it would leave a process that nobody knows.
        threading.Thread(target=begin).start()
        is_started.wait()
        if failed:
            raise failed[0]

    def _made(self) -> "subprocess.Popen[str]":
        with self.log.open("w") as log:
            # A session of its own: Ctrl-C reaches this process alone, which ends the test in order.
            # The agent ends when this end of its stdin closes.
            return subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self.environment,
                start_new_session=True,
            )

    def ready(self) -> str:
        """Wait until it listens, and return where; TestbedError if it does not come up."""
        assert self.process is not None
        assert self.process.stdout is not None
        line = ""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            if waiting.select(READY_S):
                line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.end()
            why = self.log.read_text().strip().splitlines()[-1:] or ["no message"]
            raise TestbedError(f"agent {self.name}: {why[0]}")
        return line.removeprefix("listening on ").strip()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def end(self) -> None:
        """End it, at the latest by force."""
        if self.is_started is not None:
            self.is_started.wait(END_S)
        process, self.process = self.process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@dataclass(slots=True)
class Bench:
    """Agents of this machine and the laboratory that they make."""

    laboratory: Laboratory
    agents: list[Agent] = field(default_factory=list)
    taps: Mapping[str, Tap | MediumTap] = field(default_factory=dict)
    """Interface at which the frames of each host are recorded."""

    def revive(self) -> None:
        """Start again those that have ended, where they were."""
        for agent in self.agents:
            if not agent.is_alive:
                agent.end()
                agent.start()
                agent.ready()


def check(trial: Trial, kind: str, wires: WireKind) -> None:
    """Refuse what cannot be built on this machine, with every fault.

    The kind is "testbed", "plain" or "loopback"; wires are those of a testbed.
    """
    if kind == "testbed" and flows_in(trial.scenario):
        _network(trial.scenario, wires, has_shapers=False)
        faults = flow_faults(trial.scenario, trial.settings().ports)
        if faults:
            raise InputError(faults)
    if kind == "loopback":
        allowed = "expected udp or tcp on loopback; others on a testbed, or between hosts of a file"
        faults = [
            Fault("loopback", f"port of flow {flow.name}", port, allowed)
            for flow, port in zip(trial.scenario.flows, trial.settings().ports, strict=True)
            if port not in ("udp", "tcp")
        ]
        if faults:
            raise InputError(faults)


@contextlib.contextmanager
def loopback(hosts: Sequence[str]) -> Iterator[Bench]:
    """Have an agent for each of at most 250 hosts on an address of the loopback interface.

    This needs no root, and there are no links. Raises TestbedError if an agent does not come up.
    """
    addresses = {name: f"127.0.77.{number}" for number, name in enumerate(hosts, 1)}
    ends: dict[str, tuple[str, int, list[str]]]
    ends = {name: (address, 0, []) for name, address in addresses.items()}
    with _running(addresses, ends, ["127.0.0.0/8"], None) as (agents, controls, _):
        stations = {
            name: AgentEntry(name=name, control=controls[name], address=addresses[name])
            for name in hosts
        }
        taps = {name: Tap("lo", only=(address, 24)) for name, address in addresses.items()}
        laboratory = Laboratory(stations, "loopback", is_one_machine=True, has_wires=False)
        yield Bench(laboratory, agents, taps)


@contextlib.contextmanager
def testbed(
    scenario: Scenario,
    *,
    mtu: int,
    plain: bool,
    wires: WireKind,
    ip: int,
    hosts_at_least: int,
    sack: bool | None,
) -> Iterator[Bench]:
    """Build a network out of namespaces, with an agent and certificates in each host.

    All of it is removed at the end.

    Parameters
    ----------
    mtu
        Octets of the longest IP packet.
    wires
        What makes its wires slow: `shaped` or `relay`.
    plain
        Whether to leave out its switches and wires and join all hosts by one switch, as fast as the
        machine is.
    ip
        4 or 6: with which addresses hosts take part in what is measured.
    hosts_at_least
        Hosts of a plain testbed; those that the network does not have stand by and do nothing.
    sack
        Whether TCP acknowledges selectively; as the system begins with if None.

    Raises
    ------
    InputError
        If there is something in it that cannot be built.
    TestbedError
        If it cannot be made: without root, for instance.
    """
    network = (
        _at_one_switch(scenario, hosts_at_least)
        if plain
        else _network(scenario, wires, has_shapers=False)
    )
    with (
        make_network(replace(network, mtu=mtu, sack=sack)) as bed,
        _in_hosts(bed, ip=ip, has_wires=not plain) as bench,
    ):
        yield bench


def keep(trial: Trial, *, mtu: int) -> NetworkBed:
    """Build the network of a trial with shaped wires, for programs, until `remove_kept`.

    Raises InputError if there is something in it that cannot be built.
    """
    return keep_network(replace(_network(trial.scenario, "shaped", has_shapers=True), mtu=mtu))


@contextlib.contextmanager
def segment(trials: Sequence[Trial], *, mtu: int, ip: int) -> Iterator[Bench]:
    """Build hosts on an emulated segment, enough for each of some trials, as `testbed` does."""
    largest = max(trials, key=lambda trial: stations_in(trial.scenario))
    hosts = segment_hosts(trials)
    of = Segment(tuple(hosts), segment_trial(largest, hosts))
    with (
        make_network(Network(hosts, segments=[of], layout="segment", mtu=mtu)) as bed,
        _in_hosts(bed, ip=ip, has_wires=True) as bench,
    ):
        yield bench


@contextlib.contextmanager
def _in_hosts(bed: NetworkBed, *, ip: int, has_wires: bool) -> Iterator[Bench]:
    """Run an agent with a certificate in each host of a testbed."""
    names = {name: f"h{number}" for number, name in enumerate(bed.hosts, 1)}
    addresses = {name: host.ipv6 if ip == IPV6 else host.ipv4 for name, host in bed.hosts.items()}
    certified = [f"{short}={bed.controls[name]}={addresses[name]}" for name, short in names.items()]
    ends = {name: (bed.controls[name], CONTROL_PORT, bed.hosts[name].command()) for name in names}
    networks = ["10.77.0.0/16", "fd77::/64"]
    with _running(names, ends, networks, certified) as (agents, controls, credentials):
        stations = {
            name: AgentEntry(
                name=name, control=controls[name], address=addresses[name], interface=host.interface
            )
            for name, host in bed.hosts.items()
        }
        laboratory = Laboratory(
            stations,
            "testbed",
            credentials,
            bed.control,
            is_one_machine=True,
            has_wires=has_wires,
            bed=bed,
        )
        taps: dict[str, Tap | MediumTap] = {
            name: Tap(host.interface, NAMESPACES / host.namespace)
            for name, host in bed.hosts.items()
        }
        if bed.relay is not None and bed.segments:
            taps[MEDIUM] = MediumTap(bed.relay.control, bed.segments[0].stations)
        yield Bench(laboratory, agents, taps)


def _at_one_switch(scenario: Scenario, hosts_at_least: int) -> Network:
    hosts = hosts_in(scenario)
    # No name of an experiment has a space.
    hosts += [f"bystander {number}" for number in range(len(hosts) + 1, hosts_at_least + 1)]
    return Network(hosts, ["switch"], [Link((name, "switch")) for name in hosts])


def _network(scenario: Scenario, wires: WireKind, *, has_shapers: bool) -> Network:
    """Return the network of a scenario; InputError with all of it that cannot be built."""
    kinds = {node.name: kind_of(node) for node in scenario.nodes}
    allowed = "expected hosts, switches, routers and hubs; others cannot be built of namespaces"
    faults = [
        Fault("testbed", name, kind, allowed)
        for name, (kind, _) in kinds.items()
        if kind not in ("host", "switch", "router", "hub")
    ]
    links = []
    for link in scenario.links:
        if link.half_duplex:
            continue  # of a shared medium
        ends = link.ends[0].node, link.ends[1].node
        rate_bps = round(_PS_OCTETS / link.ps_per_octet)
        delay_ns = round(link.delay_ps / 1000) if wires == "relay" else 0
        usual = Wire(rate_bps, kind=wires, delay_ns=delay_ns)
        (wire, frames), (other_wire, other_frames) = (_end(kinds[name], usual) for name in ends)
        classes, other_classes = (_classes(kinds[name][1]) for name in ends)
        links.append(
            Link(ends, (wire, other_wire), (frames, other_frames), (classes, other_classes))
        )
    faults += media_faults(scenario)
    if wires == "shaped":
        allowed = (
            "expected none with shaped wires, whose queues have no classes: --on testbed,relay"
        )
        faults += [
            Fault("testbed", f"{name}.classes", f"{len(classes)} classes", allowed)
            for name, (_, settings) in kinds.items()
            if (classes := _classes(settings))
        ]
    faults += [
        Fault("testbed", f"flows.{flow.name}.arrivals", "saturated", _WITHOUT_PRESSURE)
        for flow in scenario.flows
        if isinstance(flow.arrivals, SaturatedArrivals) and _classes(kinds[flow.from_][1])
    ]
    if faults:
        raise InputError(faults)
    hosts, switches, routers = (
        [name for name, (kind, _) in kinds.items() if kind == wanted]
        for wanted in ("host", "switch", "router")
    )
    return Network(
        hosts,
        switches,
        links,
        segments_of(scenario, has_shapers=has_shapers),
        tables=_tables(scenario),
        known=_known(scenario),
        routers=routers,
    )


def _classes(settings: Settings) -> tuple[Class, ...]:
    """Return the traffic classes of a node's ports, each with its queue limit in frames."""
    if not isinstance(settings, Host | Switch):
        return ()
    room = settings.queue_frames if isinstance(settings, Switch) else None
    return tuple(
        structs.replace(of, queue_frames=room) if of.queue_frames is None else of
        for of in settings.classes
    )


def _tables(scenario: Scenario) -> dict[str, AddressTable]:
    """Return the address tables of switches that the experiment gives."""
    return {
        node.name: AddressTable(of.learns.age_ps / 1e12, of.learns.addresses)
        for node in scenario.nodes
        if node.kind.switch is not None
        and not isinstance(of := node.kind.switch.learning, str)
        and of.learns is not None
    }


def _known(scenario: Scenario) -> list[str]:
    """Return the switches that know all addresses from the start."""
    return [
        node.name
        for node in scenario.nodes
        if node.kind.switch is not None and node.kind.switch.learning == "known"
    ]


def _end(node: tuple[str, Settings], usual: Wire) -> tuple[Wire, int | None]:
    """Return the wire out of a node, and its queue size in frames.

    That of a switch or router is as in the experiment, that of a host as network cards have it.
    """
    _, settings = node
    if isinstance(settings, Router):
        return usual, settings.queue_frames
    if not isinstance(settings, Switch):
        return usual, None
    room = settings.queue_octets
    wire = usual if room is None else replace(usual, queue_octets=room)
    return wire, settings.queue_frames


@contextlib.contextmanager
def _running(
    names: Mapping[str, str],
    ends: Mapping[str, tuple[str, int, list[str]]],
    addresses: Sequence[str],
    certified: Sequence[str] | None,
) -> Iterator[tuple[list[Agent], dict[str, str], Credentials | None]]:
    """Run agents; yields them, where they listen, and the coordinator's credentials."""
    from ethermeter import _core

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(temporary_directory())
        ceilings = folder / "ceilings.toml"
        ceilings.write_text(_CEILINGS.format(addresses=list(addresses)).replace("'", '"'))
        coordinator = None
        certificates = folder / "certificates"
        if certified is not None:
            _core.make_certificates(certificates, certified)
            coordinator = credentials.read(certificates / "coordinator.pem")
        # The agents import the same package as this process, however it was found.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        agents: list[Agent] = []
        controls: dict[str, str] = {}
        for name, (address, port, inside) in ends.items():
            command = [*inside, *(sys.executable, "-m", "ethermeter", "agent", "--with-parent")]
            command += ["--ceilings", str(ceilings)]
            if certified is not None:
                command += ["--credentials", str(certificates / f"{names[name]}.pem")]
            command += ["--listen", f"{address}:{port}"]
            agent = Agent(name, command, environment, folder / f"{len(agents)}.log")
            stack.callback(agent.end)
            agents.append(agent)
            agent.start()
        for agent in agents:
            controls[agent.name] = agent.ready()
            # Where the system chose a port, it is the same when the agent has to be started again.
            agent.command = [*agent.command[:-1], controls[agent.name]]
        yield agents, controls, coordinator
