"""Hosts of a laboratory: their certificates, and what their agents answer."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ethermeter.api.hosts import Certified, CheckedHost
from ethermeter.blocks import Code, Table, Text
from ethermeter.live_reports import PlcaFacts


def certificates(made: Certified, file: Path) -> Iterator[Code | Text]:
    """Lay out where certificates are, and the command that starts the agent of each host.

    `file` is that of the hosts.
    """
    yield Text(f"certificates: {made.certificates}; the key of the authority is not kept")
    for name, line in made.agents.items():
        yield Text(f"on {name}, with {name}.pem, {name}.key and authority.pem copied there:")
        yield Code(f"  {line}")
    yield Text(
        "ceilings.toml is its operator's: at least addresses = [the hosts' addresses]. Then "
        f"here: ethermeter hosts {file}"
    )


def hosts(found: Mapping[str, CheckedHost]) -> Iterator[Table]:
    """Tabulate hosts: clock, ceilings, activity and faults, and PLCA if one of them has it."""
    has_plca = any(each.plca for each in found.values())
    head = [
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
        "activity",
        *(["plca"] if has_plca else []),
        "state",
    ]
    yield Table(head, [_row(*each, has_plca=has_plca) for each in found.items()], "Hosts")


def _row(name: str, of: CheckedHost, *, has_plca: bool) -> list[str]:
    """Return the cells of a host, with PLCA of its interface if some host has it."""
    state = "; ".join(of.faults) or "ready"
    interface = of.interface or "lo"
    plca = [_plca(of.plca.get(interface))] if has_plca else []
    if of.clock is None:
        return [name, of.control, of.address, *["–"] * 8, *plca, state]
    most = of.ceilings
    return [
        name,
        of.control,
        of.address,
        interface,
        f"{of.clock.offset_ns / 1e6:.3f}",
        f"{of.clock.uncertainty_ns / 1e3:.0f}",
        *(
            ["0", "", ""]
            if most is None
            else [f"{most.rate_bps / 1e6:.0f}", str(most.rate_frames_per_s), str(most.duration_s)]
        ),
        of.version,
        _activity(of),
        *plca,
        state,
    ]


def _activity(of: CheckedHost) -> str:
    if of.busy is None:
        return "unknown"
    return f"busy: {'; '.join(of.busy)}" if of.busy else "idle"


def _plca(found: PlcaFacts | None) -> str:
    from ethermeter.store.result import plca_status

    if found is None:
        return "–"
    if found.enable is False:
        return "off"
    node = "no ID" if found.node_id is None else f"node-id {found.node_id}"
    return f"{node}, status {plca_status(found)}"
