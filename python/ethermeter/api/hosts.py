"""The hosts of a laboratory: certified, or asked what they can do."""

import ipaddress
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.faults import InputError
from ethermeter.live_reports import ArtificialClock, HostAnswer
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


@operation(HostsOptions)
def hosts(options: HostsOptions, display: Display) -> Mapping[str, CheckedHost] | Certified:
    """Check the agents of all hosts of a file: reachability, clocks, interfaces and ceilings.

    Exit code 0 if all answer and have their addresses, 1 if not, 2 if the file is wrong.

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
    reported = file.laboratory().ask()
    found = {}
    for name, station in file.stations.items():
        agent = msgspec.json.decode(reported[name], type=HostAnswer)
        found[name] = CheckedHost(
            **structs.asdict(agent) | {"control": station.control},
            address=station.address,
            interface=None if agent.error else station.interface or _interface(agent, station),
            faults=_faults(agent, station),
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
