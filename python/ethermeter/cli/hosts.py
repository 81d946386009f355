"""Commands about the hosts of a laboratory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ethermeter.cli import options
from ethermeter.cli.guard import FAILED
from ethermeter.cli.help import Entry, group
from ethermeter.cli.output import print_json, print_text
from ethermeter.cli.tables import print_table

if TYPE_CHECKING:
    from ethermeter.engines.live import Station

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


def _command(name: str, station: "Station") -> str:
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

    hosts = hosts_file.read(file)
    laboratory = hosts.laboratory()
    reported = laboratory.ask()
    agents = {name: msgspec.json.decode(reported[name], type=_Agent) for name in hosts.stations}
    if as_json:
        print_json(
            {
                name: {
                    **msgspec.json.decode(reported[name]),
                    **agents[name].judged(station),
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
                agents[name].row(station, has_plca=has_plca)
                for name, station in hosts.stations.items()
            ],
        )
    if any(agents[name].faults(station) for name, station in hosts.stations.items()):
        raise typer.Exit(FAILED)


class _Clock(msgspec.Struct):
    offset_ns: float
    uncertainty_ns: float


class _Agent(msgspec.Struct):
    """What an agent reported, or why it did not."""

    error: str = ""
    interfaces: dict[str, list[str]] = {}
    plca: dict[str, msgspec.Raw] = {}
    clock: _Clock | None = None
    ceilings: dict[str, object] | None = None
    version: str = ""

    def interface(self, station: "Station") -> str | None:
        """Return the interface that has the address of the host; None if none has it."""
        for name, addresses in self.interfaces.items():
            if station.address in (address.partition("/")[0] for address in addresses):
                return name
        return None

    def faults(self, station: "Station") -> list[str]:
        """Return what is wrong with the host, by its file."""
        if self.error:
            return [self.error]
        faults = []
        if self.interface(station) is None and not _is_loopback(station.address):
            faults.append(f"address = {station.address}: none of its interfaces has it")
        if station.interface is not None and station.interface not in self.interfaces:
            faults.append(f"interface = {station.interface}: it has {', '.join(self.interfaces)}")
        return faults

    def judged(self, station: "Station") -> dict[str, object]:
        """Return the interface and the faults as JSON."""
        interface = None if self.error else station.interface or self.interface(station)
        return {"interface": interface, "faults": self.faults(station)}

    def row(self, station: "Station", *, has_plca: bool) -> list[str]:
        """Return the cells of the host, with PLCA of its interface if some host has it."""
        state = "; ".join(self.faults(station)) or "ready"
        interface = station.interface or self.interface(station) or "lo"
        plca = [_written(self.plca.get(interface))] if has_plca else []
        if self.clock is None:
            return [station.name, station.control, station.address, *["–"] * 7, *plca, state]
        ceilings = self.ceilings or {}
        rate_bps = ceilings.get("rate_bps", 0)
        return [
            station.name,
            station.control,
            station.address,
            interface,
            f"{self.clock.offset_ns / 1e6:.3f}",
            f"{self.clock.uncertainty_ns / 1e3:.0f}",
            f"{rate_bps / 1e6 if isinstance(rate_bps, int | float) else 0:.0f}",
            str(ceilings.get("rate_frames_per_s", "")),
            str(ceilings.get("duration_s", "")),
            self.version,
            *plca,
            state,
        ]


def _written(given: msgspec.Raw | None) -> str:
    # On demand: the help needs no tables of results, nor what these import.
    from ethermeter.store.result import Plca

    if given is None:
        return "–"
    plca = msgspec.json.decode(given, type=Plca)
    if plca.enable is False:
        return "off"
    node = "no ID" if plca.node_id is None else f"node-id {plca.node_id}"
    return f"{node}, status {plca.status}"


def _is_loopback(address: str) -> bool:
    import ipaddress

    return ipaddress.ip_address(address).is_loopback
