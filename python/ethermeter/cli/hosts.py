"""Commands about the hosts of a laboratory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethermeter.cli import options
from ethermeter.cli.guard import FAILED, command
from ethermeter.cli.help import group
from ethermeter.cli.output import print_json, print_table

if TYPE_CHECKING:
    from ethermeter.engines.live import Station

INIT_EXAMPLES = "  ethermeter hosts init hosts.toml"
CHECK_EXAMPLES = "  ethermeter hosts check hosts.toml\n  ethermeter hosts check hosts.toml --json"

app = group(
    "hosts",
    "Certify and check the hosts of a laboratory.",
    {
        "Commands": {
            "init": "Make an authority and certificates for all hosts.",
            "check": "Ask the agents of all hosts what they can do.",
        }
    },
    examples=f"{INIT_EXAMPLES}\n{CHECK_EXAMPLES}",
)
File = Annotated[
    Path,
    typer.Argument(
        metavar="HOSTS", help="File of hosts, such as hosts.toml; docs/live.md has its keys."
    ),
]


def init(file: File, *, as_json: options.Json = False) -> None:
    """Make a private authority and certificates for the coordinator and each host of a file.

    Exit code 2 if the file is wrong, or certificates are there already: nothing is overwritten.
    """
    from ethermeter import _core, hosts_file
    from ethermeter.faults import Fault, InputError

    hosts = hosts_file.read(file)
    if hosts.certificates is None:
        raise InputError(
            [
                Fault(
                    str(file),
                    "certificates",
                    "(missing)",
                    'required: the folder for certificates, such as "lab"',
                )
            ]
        )
    try:
        _core.make_certificates(hosts.certificates, hosts.certified())
    except (ValueError, OSError) as error:
        raise InputError(
            [
                Fault(
                    str(file),
                    "certificates",
                    str(hosts.certificates),
                    f"expected a folder without certificates: {error}",
                )
            ]
        ) from None
    commands = {name: _command(name, station) for name, station in hosts.stations.items()}
    if as_json:
        print_json({"certificates": str(hosts.certificates), "agents": commands})
        return
    typer.echo(f"certificates: {hosts.certificates}; the key of the authority is not kept")
    for name, line in commands.items():
        typer.echo(
            f"on {name}, with {name}.pem, {name}.key and authority.pem copied there:\n  {line}"
        )
    typer.echo(
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
    said = laboratory.ask()
    found = {name: _judged(station, said[name]) for name, station in hosts.stations.items()}
    if as_json:
        print_json(found)
    else:
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
                "state",
            ],
            [_row(hosts.stations[name], one) for name, one in found.items()],
        )
    if any(one["faults"] for one in found.values()):
        raise typer.Exit(FAILED)


def _judged(station: "Station", said: dict[str, Any]) -> dict[str, Any]:
    """Add to what an agent said what is wrong with it."""
    if "error" in said:
        return {**said, "interface": None, "faults": [said["error"]]}
    faults = []
    interface = next(
        (
            name
            for name, addresses in said["interfaces"].items()
            if station.address in _plain(addresses)
        ),
        None,
    )
    if interface is None and not _is_loopback(station.address):
        faults.append(f"address = {station.address}: none of its interfaces has it")
    if station.interface is not None and station.interface not in said["interfaces"]:
        faults.append(f"interface = {station.interface}: it has {', '.join(said['interfaces'])}")
    return {**said, "interface": station.interface or interface, "faults": faults}


def _plain(addresses: list[str]) -> list[str]:
    return [address.partition("/")[0] for address in addresses]


def _is_loopback(address: str) -> bool:
    import ipaddress

    return ipaddress.ip_address(address).is_loopback


def _row(station: "Station", said: dict[str, Any]) -> list[str]:
    state = "; ".join(said["faults"]) or "ready"
    if "error" in said:
        return [station.name, station.control, station.address, *["–"] * 7, state]
    clock, ceilings = said["clock"], said["ceilings"] or {}
    return [
        station.name,
        station.control,
        station.address,
        said["interface"] or "lo",
        f"{clock['offset_ns'] / 1e6:.3f}",
        f"{clock['uncertainty_ns'] / 1e3:.0f}",
        f"{ceilings.get('rate_bps', 0) / 1e6:.0f}",
        str(ceilings.get("rate_frames_per_s", "")),
        str(ceilings.get("duration_s", "")),
        said["version"],
        state,
    ]


command(app, "init", examples=INIT_EXAMPLES)(init)
command(app, "check", examples=CHECK_EXAMPLES)(check)
