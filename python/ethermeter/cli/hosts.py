"""Commands about the hosts of a laboratory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ethermeter.cli import options
from ethermeter.cli.guard import FAILED
from ethermeter.cli.help import Entry, group
from ethermeter.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from ethermeter.live_reports import HostAnswer, PlcaFacts
    from ethermeter.live_test import AgentEntry

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
    print_text(f"certificates: {hosts.certificates}; the key of the authority is not kept")
    for name, line in commands.items():
        print_text(f"on {name}, with {name}.pem, {name}.key and authority.pem copied there:")
        typer.echo(f"  {line}")  # on one line, to be copied
    print_text(
        "ceilings.toml is its operator's: at least addresses = [the hosts' addresses]. Then "
        f"here: ethermeter hosts check {file}"
    )


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

    hosts = hosts_file.read(file)
    laboratory = hosts.laboratory()
    reported = laboratory.ask()
    agents = {name: msgspec.json.decode(reported[name], type=HostAnswer) for name in hosts.stations}
    if as_json:
        print_json(
            {
                name: {
                    **msgspec.json.decode(reported[name]),
                    **_judged(agents[name], station),
                }
                for name, station in hosts.stations.items()
            }
        )
    else:
        has_plca = any(agent.plca for agent in agents.values())
        print_table(
            [
                "host",
                "control",
                "address",
                "interface",
                "clock ahead ms",
                "± µs",
                "most Mb/s",
                "most frames/s",
                "most s",
                "version",
                *(["plca"] if has_plca else []),
                "state",
            ],
            [
                _row(agents[name], station, has_plca=has_plca)
                for name, station in hosts.stations.items()
            ],
        )
    if any(_faults(agents[name], station) for name, station in hosts.stations.items()):
        raise typer.Exit(FAILED)


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


def _judged(agent: "HostAnswer", station: "AgentEntry") -> dict[str, object]:
    """Return the interface and the faults of a host as JSON."""
    interface = None if agent.error else station.interface or _interface(agent, station)
    return {"interface": interface, "faults": _faults(agent, station)}


def _row(agent: "HostAnswer", station: "AgentEntry", *, has_plca: bool) -> list[str]:
    """Return the cells of a host, with PLCA of its interface if some host has it."""
    state = "; ".join(_faults(agent, station)) or "ready"
    interface = station.interface or _interface(agent, station) or "lo"
    plca = [_written(agent.plca.get(interface))] if has_plca else []
    if agent.clock is None:
        return [station.name, station.control, station.address, *["–"] * 7, *plca, state]
    most = agent.ceilings
    return [
        station.name,
        station.control,
        station.address,
        interface,
        f"{agent.clock.offset_ns / 1e6:.3f}",
        f"{agent.clock.uncertainty_ns / 1e3:.0f}",
        *(
            ["0", "", ""]
            if most is None
            else [f"{most.rate_bps / 1e6:.0f}", str(most.rate_frames_per_s), str(most.duration_s)]
        ),
        agent.version,
        *plca,
        state,
    ]


def _written(plca: "PlcaFacts | None") -> str:
    from ethermeter.store.result import plca_status

    if plca is None:
        return "–"
    if plca.enable is False:
        return "off"
    node = "no ID" if plca.node_id is None else f"node-id {plca.node_id}"
    return f"{node}, status {plca_status(plca)}"


def _is_loopback(address: str) -> bool:
    import ipaddress

    return ipaddress.ip_address(address).is_loopback
