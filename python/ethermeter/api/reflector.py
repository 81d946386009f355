"""Answering test packets of STAMP on this host."""

import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from ethermeter.faults import InputError
from ethermeter.operation import Argument, Display, operation

LOOPBACK = ("127.0.0.0/8", "::1/128")
PORT = 862


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Options of `reflector`."""

    _: KW_ONLY
    listen: Annotated[
        str, Argument("Address and port on which the reflector listens.", "ADDRESS[:PORT]")
    ] = f"127.0.0.1:{PORT}"
    allow: Annotated[
        Sequence[str],
        Argument(
            "Address or network that is answered; can be given several times. Loopback only "
            "unless given.",
            "NETWORK",
        ),
    ] = ()
    rate: Annotated[
        int, Argument("Largest number of answers per second.", "N", least=1, most=1_000_000)
    ] = 1000
    key_file: Annotated[
        Path | None,
        Argument(
            "File with a key of 1 to 64 octets; only authenticated packets are then answered.",
            "FILE",
        ),
    ] = None
    stateless: Annotated[
        bool, Argument("Answer with the sender's sequence numbers instead of own ones.")
    ] = False


@operation(ReflectorOptions)
def reflector(options: ReflectorOptions, display: Display) -> Mapping[str, int]:
    """Answer test packets of STAMP (RFC 8762) and TWAMP Light, so that delays can be measured.

    It answers allowed addresses only, at most at the given rate, and an answer is as long as the
    packet. It ends with Ctrl-C and prints its counters.

    Raises
    ------
    InputError
        If it cannot listen there, or an address or the key cannot be.

    """
    from ethermeter import _core
    from ethermeter.api.probe import read_key
    from ethermeter.api.serving import until_signalled
    from ethermeter.probing.peers import address_of, joined

    try:
        address, port = address_of(options.listen)
    except InputError as error:
        (fault, *_) = error.faults
        raise InputError.of_argument("listen", options.listen, fault.allowed) from None
    allowed = (options.allow,) if isinstance(options.allow, str) else options.allow
    service = {
        "listen": joined(address, port if port is not None else PORT),
        "rules": {
            "allowed": [_network(text) for text in allowed] or list(LOOPBACK),
            "rate_packets_per_s": options.rate,
            "is_stateless": options.stateless,
        },
    }
    key = None if options.key_file is None else read_key(options.key_file)
    try:
        with until_signalled() as should_stop:
            counted = _core.serve_reflector(
                json.dumps(service),
                key=key,
                ready=lambda place: display.part(f"listening on {place}"),
                should_stop=should_stop,
            )
    except (ValueError, OSError) as error:
        raise InputError.of_argument("listen", options.listen, str(error)) from None
    counts: dict[str, int] = json.loads(counted)
    return counts


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        allowed = "expected an IP address or a network, such as 10.0.0.0/24"
        raise InputError.of_argument("allow", text, allowed) from None
