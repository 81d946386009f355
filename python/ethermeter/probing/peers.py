"""Peers: measurements of `crates/peer`."""

import ipaddress
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.json import decode, encode

from ethermeter.faults import InputError
from ethermeter.live_reports import Iperf3Measurement, StampMeasurement

STAMP_PORT = 862
IPERF3_PORT = 5201
NS_PER_S = 1_000_000_000
Record = dict[str, Any]
"""What is asked of a peer, or a measurement, as JSON has it."""


class PeerError(Exception):
    """A peer does not answer, refuses, or breaks its protocol."""


def stamp(
    to: str,
    *,
    packets: int,
    interval_ns: int,
    timeout_ns: int = NS_PER_S,
    octets: int | None = None,
    has_tlvs: bool = False,
    ssid: int = 0,
    patience_ns: int | None = None,
    key: bytes | None = None,
    namespace: Path | None = None,
) -> StampMeasurement:
    """Send a session of STAMP packets to ADDRESS:PORT.

    Raises PeerError if the peer breaks the protocol, OSError if the system refuses.
    """
    task = {
        "to": to,
        "packets": packets,
        "interval_ns": interval_ns,
        "timeout_ns": timeout_ns,
        "octets": octets,
        "has_tlvs": has_tlvs,
        "ssid": ssid,
        "patience_ns": patience_ns,
    }
    return decode(_performed({"stamp": task}, key, namespace), type=StampMeasurement)


def iperf3(
    to: str,
    *,
    protocol: str,
    direction: str,
    duration_s: float,
    streams: int = 1,
    interval_s: float = 0.1,
    octets: int | None = None,
    rate_bps: int = 0,
    patience_s: float = 3.0,
    namespace: Path | None = None,
) -> Iperf3Measurement:
    """Perform a test with an iperf3 server at ADDRESS:PORT.

    `octets` are those of a datagram (1448 unless given) or of what is written to a stream at once
    (131 072, as iperf3 does); `rate_bps` is that of each stream, 0 for as fast as possible.
    Raises PeerError if the server does not answer, refuses or breaks the protocol.
    """
    task = {
        "to": to,
        "protocol": protocol,
        "direction": direction,
        "streams": streams,
        "duration_ns": round(duration_s * NS_PER_S),
        "interval_ns": round(interval_s * NS_PER_S),
        "octets": octets or (131_072 if protocol == "tcp" else 1448),
        "rate_bps": rate_bps,
        "patience_ns": round(patience_s * NS_PER_S),
    }
    return decode(_performed({"iperf3": task}, None, namespace), type=Iperf3Measurement)


def _performed(task: Record, key: bytes | None, namespace: Path | None) -> bytes:
    from ethermeter import _core

    try:
        text = _core.measure_peer(encode(task).decode(), key=key, namespace=namespace)
    except ConnectionError as error:
        raise PeerError(str(error)) from None
    except ValueError as error:
        raise InputError.of("measurement", "task", str(task)[:200], str(error)) from None
    return text.encode()


def address_of(host: str) -> tuple[str, int | None]:
    """Return the IP address and port of HOST, HOST:PORT or [ADDRESS]:PORT.

    Raises InputError if the name is unknown or the port is not one.
    """
    name, port = _split(host)
    try:
        return str(ipaddress.ip_address(name)), port
    except ValueError:
        pass
    try:
        found: Sequence[Any] = socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        allowed = "expected an IP address or a name that resolves, with :PORT if wanted"
        raise InputError.of_argument("to", host, allowed) from None
    return str(found[0][4][0]), port


def _split(host: str) -> tuple[str, int | None]:
    name, port = host, ""
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        port = rest.removeprefix(":") if rest else ""
    elif host.count(":") == 1:
        name, _, port = host.partition(":")
    if port and not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65_535):
        raise InputError.of_argument("to", host, "expected a port from 1 to 65535")
    if not name:
        raise InputError.of_argument("to", host, "expected a host, with :PORT if wanted")
    return name, int(port) if port else None


def joined(address: str, port: int) -> str:
    """Return ADDRESS:PORT, with brackets around an address of IPv6."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
