"""The command that makes this host a STAMP reflector."""

import ipaddress
import json
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from ethermeter.cli import options
from ethermeter.cli.output import print_json, print_text

EXAMPLES = """\
  ethermeter reflector
  ethermeter reflector --listen 10.0.0.1:862 --allow 10.0.0.0/24
  ethermeter reflector --listen 10.0.0.1:862 --allow 10.0.0.7 --key-file stamp.key --rate 200"""
LOOPBACK = ("127.0.0.0/8", "::1/128")
PORT = 862


def reflector(
    *,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS[:PORT]",
            help="Address and port on which the reflector listens.",
        ),
    ] = f"127.0.0.1:{PORT}",
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="NETWORK",
            show_default=False,
            help="Address or network that is answered; can be given several times. Loopback only "
            "unless given.",
        ),
    ] = None,
    rate: Annotated[
        int,
        typer.Option(
            "--rate",
            min=1,
            max=1_000_000,
            metavar="N",
            help="Largest number of answers per second.",
        ),
    ] = 1000,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            show_default=False,
            help="File with a key of 1 to 64 octets; only authenticated packets are then answered.",
        ),
    ] = None,
    stateless: Annotated[
        bool,
        typer.Option(
            "--stateless", help="Answer with the sender's sequence numbers instead of own ones."
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Answer test packets of STAMP (RFC 8762) and TWAMP Light, so that delays can be measured.

    It answers allowed addresses only, at most at the given rate, and an answer is as long as the
    packet. It ends with Ctrl-C and prints its counters.
    """
    from ethermeter import _core
    from ethermeter.cli.quick import read_key
    from ethermeter.faults import InputError
    from ethermeter.quick.peers import address_of, joined

    try:
        address, port = address_of(listen)
    except InputError as error:
        (fault, *_) = error.faults
        raise InputError.of("command line", "--listen", listen, fault.allowed) from None
    ended: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    signal.signal(signal.SIGINT, lambda *_: ended.append(True))
    service = {
        "listen": joined(address, port if port is not None else PORT),
        "rules": {
            "allowed": [_network(text) for text in allow] if allow else list(LOOPBACK),
            "rate_packets_per_s": rate,
            "is_stateless": stateless,
        },
    }

    def ready(place: str) -> None:
        say = sys.stderr if as_json else sys.stdout
        print(f"listening on {place}", file=say, flush=True)

    try:
        counted = _core.serve_reflector(
            json.dumps(service),
            key=None if key_file is None else read_key(key_file),
            ready=ready,
            should_stop=lambda: bool(ended),
        )
    except (ValueError, OSError) as error:
        raise InputError.of("command line", "--listen", listen, str(error)) from None
    counts = json.loads(counted)
    if as_json:
        print_json(counts)
        return
    for name, count in counts.items():
        print_text(f"{name.replace('_', ' ')}: {count}")


def _network(text: str) -> str:
    from ethermeter.faults import InputError

    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        allowed = "expected an IP address or a network, such as 10.0.0.0/24"
        raise InputError.of("command line", "--allow", text, allowed) from None
