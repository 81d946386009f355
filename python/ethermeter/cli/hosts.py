"""Commands about the hosts of a laboratory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ethermeter.cli import options
from ethermeter.cli.guard import FAILED
from ethermeter.cli.help import Entry, group
from ethermeter.cli.output import print_json, show

if TYPE_CHECKING:
    from ethermeter.live_reports import HostAnswer
    from ethermeter.live_test import AgentEntry
    from ethermeter.present.hosts import CheckedHost

INIT_EXAMPLES = "  ethermeter hosts init hosts.toml"
CHECK_EXAMPLES = "  ethermeter hosts check hosts.toml\n  ethermeter hosts check hosts.toml --json"

app = group(
    "hosts",
    "Certify and check the hosts of a laboratory.",
    {
        "Commands": {
            "init": Entry(
                "Make an authority and certificates for all hosts.",
                "hosts",
                "init",
                "INIT_EXAMPLES",
            ),
            "check": Entry(
                "Ask the agents of all hosts what they can do.", "hosts", "check", "CHECK_EXAMPLES"
            ),
        }
    },
    examples=f"{INIT_EXAMPLES}\n{CHECK_EXAMPLES}",
)
File = Annotated[
    Path,
    typer.Argument(
        metavar="HOSTS",
        help="File of hosts, such as hosts.toml; docs/how-to/measure-two-hosts.md lists its keys.",
    ),
]


def init(file: File, *, as_json: options.Json = False) -> None:
    """Make a private authority and certificates for the coordinator and each host of a file.

    Exit code 2 if the file is wrong, or certificates are there already: nothing is overwritten.
    """
    from ethermeter import _core, hosts_file
    from ethermeter.faults import InputError
    from ethermeter.present.hosts import certificates

    hosts = hosts_file.read(file)
    if hosts.certificates is None:
        raise InputError.of(
            str(file),
            "certificates",
            "(missing)",
            'required: the folder for certificates, such as "lab"',
        )
    try:
        _core.make_certificates(hosts.certificates, hosts.certified())
    except (ValueError, OSError) as error:
        raise InputError.of(
            str(file),
            "certificates",
            str(hosts.certificates),
            f"expected a folder without certificates: {error}",
        ) from None
    commands = {name: _command(name, station) for name, station in hosts.stations.items()}
    if as_json:
        print_json({"certificates": str(hosts.certificates), "agents": commands})
        return
    show(certificates(hosts.certificates, commands, file))


def _command(name: str, station: "AgentEntry") -> str:
    files = (
        f"--certificate {name}.pem --key {name}.key --authority authority.pem --ceilings "
        "ceilings.toml"
    )
    return f"ethermeter agent --listen {station.control} {files}"


def check(file: File, *, as_json: options.Json = False) -> None:
    """Check the agents of all hosts: reachability, clocks, interfaces and ceilings.

    Exit code 0 if all answer and have their addresses, 1 if not, 2 if the file is wrong.
    """
    from ethermeter import hosts_file
    from ethermeter.live_reports import HostAnswer
    from ethermeter.present import hosts as layout

    hosts = hosts_file.read(file)
    laboratory = hosts.laboratory()
    reported = laboratory.ask()
    found = {
        name: _checked(msgspec.json.decode(reported[name], type=HostAnswer), station)
        for name, station in hosts.stations.items()
    }
    if as_json:
        print_json(
            {
                name: {
                    **msgspec.json.decode(reported[name]),
                    "interface": None if each.agent.error else each.interface,
                    "faults": each.faults,
                }
                for name, each in found.items()
            }
        )
    else:
        show(layout.hosts(list(found.values())))
    if any(each.faults for each in found.values()):
        raise typer.Exit(FAILED)


def _checked(agent: "HostAnswer", station: "AgentEntry") -> "CheckedHost":
    from ethermeter.present.hosts import CheckedHost

    interface = station.interface or _interface(agent, station)
    return CheckedHost(station, agent, interface, _faults(agent, station))


def _interface(agent: "HostAnswer", station: "AgentEntry") -> str | None:
    """Return the interface that has the address of a host; None if none has it."""
    for name, addresses in agent.interfaces.items():
        if station.address in (address.partition("/")[0] for address in addresses):
            return name
    return None


def _faults(agent: "HostAnswer", station: "AgentEntry") -> list[str]:
    """Return what is wrong with a host, by its file."""
    if agent.error:
        return [agent.error]
    faults = []
    if _interface(agent, station) is None and not _is_loopback(station.address):
        faults.append(f"address = {station.address}: none of its interfaces has it")
    if station.interface is not None and station.interface not in agent.interfaces:
        faults.append(f"interface = {station.interface}: it has {', '.join(agent.interfaces)}")
    return faults


def _is_loopback(address: str) -> bool:
    import ipaddress

    return ipaddress.ip_address(address).is_loopback
