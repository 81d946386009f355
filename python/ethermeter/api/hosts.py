"""The hosts of a laboratory: certified, or asked what they can do."""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.faults import InputError
from ethermeter.live_reports import ArtificialClock, HostActivity, HostAnswer
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.hosts_file import HostsFile
    from ethermeter.live_test import AgentEntry


@dataclass(frozen=True, slots=True)
class HostsOptions:
    """Options of `hosts`."""

    file: Annotated[
        Path,
        Argument(
            "File of hosts, such as hosts.toml; docs/how-to/measure-two-hosts.md lists its keys.",
            "FILE",
        ),
    ]
    _: KW_ONLY
    certify: Annotated[
        bool,
        Argument(
            "Make a private authority, and certificates for the coordinator and each host; nothing "
            "is overwritten."
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Certified:
    """Certificates that were made.

    Parameters
    ----------
    certificates
        Their folder.
    agents
        The command that starts the agent of each host, by its name.

    """

    certificates: str
    agents: Mapping[str, str]


class CheckedHost(HostAnswer, frozen=True, kw_only=True, omit_defaults=True):
    """A host of a file, and what its agent answered."""

    artificial_clock: ArtificialClock | None
    address: str
    """Its address on the network that is measured."""
    interface: str | None
    """The interface that has it; None if none has, or the agent did not answer."""
    faults: tuple[str, ...]
    """What is wrong with it, by its file."""
    busy: tuple[str, ...] | None
    """What it does that disturbs a test, each with its limit; none if it is idle; None if unknown.
    """


MOST_PROCESSOR_SHARE = 0.05
"""Share of the time of an idle host's processors that other work may take.

Spread evenly, at most one message in 20 meets it, so that percentiles up to the 95th stay.
"""
MOST_LOAD_AVERAGE = 0.5
"""Mean number of tasks that run or wait for a disk on an idle host.

The mean forgets with a time constant of 1 min: a single task makes it so after 42 s.
"""
MOST_TRAFFIC_BPS = 1e5
"""Traffic of an interface of an idle host in b/s, both directions: 1% of the slowest Ethernet."""


@operation(HostsOptions)
def hosts(options: HostsOptions, display: Display) -> Mapping[str, CheckedHost] | Certified:
    """Check the agents of all hosts of a file: clocks, interfaces, ceilings, and who is idle.

    Exit code 0 if all answer, have their addresses and are idle, 1 if one has a fault, 2 if the
    file is wrong, 3 if of one it is not known whether it is idle, 4 if one is busy.

    Raises
    ------
    InputError
        With every fault of the file, or if certificates are there already.

    """
    import msgspec
    from msgspec import structs

    from ethermeter import hosts_file

    file = hosts_file.read(options.file)
    if options.certify:
        return _certified(file)
    reported = file.laboratory().ask(reads_activity=True)
    found = {}
    for name, station in file.stations.items():
        agent = msgspec.json.decode(reported[name], type=HostAnswer)
        interface = None if agent.error else station.interface or _interface(agent, station)
        found[name] = CheckedHost(
            **structs.asdict(agent) | {"control": station.control},
            address=station.address,
            interface=interface,
            faults=_faults(agent, station),
            busy=None if agent.activity is None else busy_with(agent.activity, interface),
        )
    return found


def _certified(file: "HostsFile") -> Certified:
    """Make certificates."""
    from ethermeter import _core

    if file.certificates is None:
        allowed = 'required: the folder for certificates, such as "lab"'
        raise InputError.of(str(file.path), "certificates", "(missing)", allowed)
    try:
        _core.make_certificates(file.certificates, file.certified())
    except (ValueError, OSError) as error:
        allowed = f"expected a folder without certificates: {error}"
        where = str(file.certificates)
        raise InputError.of(str(file.path), "certificates", where, allowed) from None
    commands = {
        name: f"ethermeter agent --listen {station.control} --credentials {name}.pem "
        "--ceilings ceilings.toml"
        for name, station in file.stations.items()
    }
    return Certified(str(file.certificates), commands)


def busy_with(activity: HostActivity, measured: str | None) -> tuple[str, ...]:
    """Return what a host does that disturbs a test, each with its limit; nothing if it is idle.

    `measured` is its interface on the measured network; the loopback interface counts only as
    that.
    """
    return tuple(_activities(activity, measured))


def _activities(activity: HostActivity, measured: str | None) -> Iterator[str]:
    if activity.tests:
        yield f"{activity.tests} test{'s' * (activity.tests > 1)} under way"
    if activity.processor_share > MOST_PROCESSOR_SHARE:
        tasks = activity.tasks_runnable
        runnable = f", {tasks} runnable task{'s' * (tasks != 1)}"
        yield (
            f"processors {activity.processor_share:.0%}{runnable} "
            f"(idle: at most {MOST_PROCESSOR_SHARE:.0%})"
        )
    if activity.load_average > MOST_LOAD_AVERAGE:
        yield f"load average {activity.load_average:.2f} (idle: at most {MOST_LOAD_AVERAGE})"
    for name, rate_bps in activity.traffic_bps.items():
        if rate_bps > MOST_TRAFFIC_BPS and (name != "lo" or measured in (None, "lo")):
            yield (
                f"{rate_bps / 1e6:.2f} Mb/s on {name} (idle: at most {MOST_TRAFFIC_BPS / 1e6} Mb/s)"
            )


def _interface(agent: HostAnswer, station: "AgentEntry") -> str | None:
    """Return the interface that has the address of a host; None if none has it."""
    for name, addresses in agent.interfaces.items():
        if station.address in (address.partition("/")[0] for address in addresses):
            return name
    return None


def _faults(agent: HostAnswer, station: "AgentEntry") -> tuple[str, ...]:
    """Return what is wrong with a host, by its file."""
    if agent.error:
        return (agent.error,)
    faults = []
    is_loopback = ipaddress.ip_address(station.address).is_loopback
    if _interface(agent, station) is None and not is_loopback:
        faults.append(f"address = {station.address}: none of its interfaces has it")
    if station.interface is not None and station.interface not in agent.interfaces:
        faults.append(f"interface = {station.interface}: it has {', '.join(agent.interfaces)}")
    return tuple(faults)
