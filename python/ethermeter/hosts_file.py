"""Hosts file: the hosts of a laboratory and the control addresses of their agents.

```toml
certificates = "lab"        # folder of certificates, beside this file; default: loopback only

[hosts.sender]              # its name in experiments
control = "10.0.0.1:4988"   # where its agent listens
address = "192.168.1.1"     # its address on the measured network; default: that of control
interface = "eth1"          # default: the interface of the address
```
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ethermeter import credentials
from ethermeter.engines.live import Laboratory
from ethermeter.experiment import toml
from ethermeter.faults import Fault, InputError, choices, shown
from ethermeter.live_test import AgentEntry

LARGEST_BYTES = 1_000_000
MOST_HOSTS = 1000
LONGEST_INTERFACE = 15
"""Longest interface name of the kernel in characters."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}", re.ASCII)
_RESERVED = ("authority", "coordinator")
_KEYS = ("control", "address", "interface")


@dataclass(frozen=True, slots=True)
class HostsFile:
    """A hosts file, with its hosts by name."""

    path: Path
    stations: Mapping[str, AgentEntry]
    certificates: Path | None
    """Folder of certificates, if any."""

    def laboratory(self) -> Laboratory:
        """Return the hosts with the coordinator's credentials; `InputError` if there are none."""
        coordinator = None
        if self.certificates is not None:
            try:
                coordinator = credentials.read(self.certificates / "coordinator.pem")
            except OSError as error:
                allowed = (
                    f"expected a certificate, which `ethermeter hosts {self.path} --certify` makes"
                )
                value = f"{error.filename}: {error.strerror}"
                raise InputError([Fault(str(self.path), "certificates", value, allowed)]) from None
        is_one = all(
            ipaddress.ip_address(address_of(station.control)).is_loopback
            for station in self.stations.values()
        )
        return Laboratory(
            self.stations, str(self.path), coordinator, is_one_machine=is_one, has_wires=not is_one
        )

    def certified(self) -> list[str]:
        """Return the subjects of each host's certificate: NAME=CONTROL_ADDRESS=ADDRESS."""
        return [
            f"{name}={address_of(station.control)}={station.address}"
            for name, station in self.stations.items()
        ]


def read(path: Path) -> HostsFile:
    """Read a hosts file.

    Raises
    ------
    InputError
        With all faults of the file.

    """
    file = str(path)
    document = toml.parsed(toml.text_of(path, file=file, most_bytes=LARGEST_BYTES), file=file)
    faults: list[Fault] = []

    def wrong(key: str, value: object, allowed: str) -> None:
        faults.append(Fault(file, key, value if value == "(missing)" else shown(value), allowed))

    for key in document:
        if key not in ("certificates", "hosts"):
            wrong(key, document[key], "unknown key; expected certificates and tables [hosts.NAME]")
    certificates = document.get("certificates")
    if certificates is not None and (
        not isinstance(certificates, str) or not certificates or "\0" in certificates
    ):
        wrong("certificates", certificates, 'expected a folder, such as "lab"')
        certificates = None
    hosts = document.get("hosts", {})
    if not isinstance(hosts, dict) or not 1 <= len(hosts) <= MOST_HOSTS:
        allowed = f"expected 1 to {MOST_HOSTS} tables [hosts.NAME]"
        wrong("hosts", hosts if "hosts" in document else "(missing)", allowed)
        raise InputError(faults)
    stations = {}
    for name, entry in hosts.items():
        key = f"hosts.{name}"
        if not _NAME.fullmatch(name) or name in _RESERVED:
            allowed = "expected letters, digits, dots and hyphens, at most 63, and none of "
            wrong(key, name, allowed + ", ".join(_RESERVED))
        if not isinstance(entry, dict):
            wrong(key, entry, "expected a table with control, and address and interface if wanted")
            continue
        found = _station(name, key, entry, wrong, needs_loopback="certificates" not in document)
        if found is not None:
            stations[name] = found
    for what in ("control", "address"):
        taken: dict[str, str] = {}
        for name, station in stations.items():
            value = getattr(station, what)
            if (other := taken.setdefault(value, name)) != name:
                allowed = f"expected a unique value; {other} has the same"
                wrong(f"hosts.{name}.{what}", value, allowed)
    if faults:
        raise InputError(faults)
    return HostsFile(path, stations, None if certificates is None else path.parent / certificates)


def _station(
    name: str,
    key: str,
    entry: Mapping[str, object],
    wrong: Callable[[str, object, str], None],
    *,
    needs_loopback: bool,
) -> AgentEntry | None:
    for unknown in entry.keys() - set(_KEYS):
        wrong(
            f"{key}.{unknown}",
            entry[unknown],
            f"unknown key; {choices(unknown, _KEYS, 'expected ')}",
        )
    control = entry.get("control", "(missing)")
    if not isinstance(control, str) or (address_and_port := _split(control)) is None:
        example = 'such as "10.0.0.1:4988" or "[fd00::1]:4988"'
        wrong(f"{key}.control", control, f"expected ADDRESS:PORT with an IP address, {example}")
        return None
    address = entry.get("address", address_and_port[0])
    try:
        ip = ipaddress.ip_address(address if isinstance(address, str) else "")
    except ValueError:
        wrong(f"{key}.address", address, 'expected an IP address, such as "192.168.1.1"')
        return None
    if needs_loopback and not (
        ip.is_loopback and ipaddress.ip_address(address_and_port[0]).is_loopback
    ):
        allowed = (
            "expected a loopback address, or the key certificates: agents beyond loopback have"
        )
        wrong(f"{key}.control", control, f"{allowed} certificates")
    interface = entry.get("interface")
    if interface is not None and not (
        isinstance(interface, str) and re.fullmatch(rf"[^\s/]{{1,{LONGEST_INTERFACE}}}", interface)
    ):
        allowed = f"expected the name of an interface, 1 to {LONGEST_INTERFACE} characters"
        wrong(f"{key}.interface", interface, allowed)
        return None
    return AgentEntry(name=name, control=control, address=str(ip), interface=interface)


def address_of(control: str) -> str:
    """Address of a valid ADDRESS:PORT."""
    address_and_port = _split(control)
    assert address_and_port is not None
    return address_and_port[0]


def _split(control: str) -> tuple[str, int] | None:
    """Address and port of ADDRESS:PORT; None if invalid."""
    match = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):([0-9]{1,5})", control, re.ASCII)
    if match is None or not 1 <= int(match.group(3)) <= 65_535:
        return None
    try:
        return str(ipaddress.ip_address(match.group(1) or match.group(2))), int(match.group(3))
    except ValueError:
        return None
