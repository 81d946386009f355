"""The command that makes this host one that can be measured with."""

import os
import select
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\
  ethermeter agent --listen 127.0.0.1:4988
  ethermeter agent --listen 10.0.0.1:4988 --certificate sender.pem --key sender.key \
--authority authority.pem --ceilings ceilings.toml"""


def agent(
    *,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS:PORT",
            help="Address at which coordinators reach the agent. With port 0 a free port is taken "
            "and printed.",
        ),
    ],
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", show_default=False, help="Certificate of the agent."
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", metavar="FILE", show_default=False, help="Private key of the certificate."
        ),
    ] = None,
    authority: Annotated[
        Path | None,
        typer.Option(
            "--authority",
            metavar="FILE",
            show_default=False,
            help="Certificate of the authority that the agent trusts.",
        ),
    ] = None,
    ceilings: Annotated[
        Path | None,
        typer.Option(
            "--ceilings",
            metavar="FILE",
            show_default=False,
            help="File with the ceilings of what the agent may send; loopback only unless given.",
        ),
    ] = None,
    clock_offset: Annotated[
        int,
        typer.Option(
            "--clock-offset",
            metavar="NS",
            min=-(10**9) * 3600,
            max=10**9 * 3600,
            help="For tests: offset of the time stamps in its frames, in ns.",
        ),
    ] = 0,
    clock_drift: Annotated[
        int,
        typer.Option(
            "--clock-drift",
            metavar="PPB",
            min=-(10**6),
            max=10**6,
            help="For tests: drift of the time stamps in its frames, in ppb.",
        ),
    ] = 0,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="End when standard input closes.")
    ] = False,
) -> None:
    """Run an agent, which sends and receives frames for a coordinator.

    It stays within its ceilings and sends only with the consent of every receiver.

    Without certificates it listens on a loopback address only. It ends with Ctrl-C or when it is
    killed, and its transmissions end with it.
    """
    from ethermeter import _core
    from ethermeter.faults import InputError

    given = {"--certificate": certificate, "--key": key, "--authority": authority}
    if 0 < sum(path is not None for path in given.values()) < len(given):
        missing = ", ".join(option for option, path in given.items() if path is None)
        raise InputError.of(
            "command line",
            missing,
            "(missing)",
            "expected certificate, key and authority: all of them or none",
        )
    credentials = None
    if certificate is not None and key is not None and authority is not None:
        credentials = (
            _read("--certificate", certificate),
            _read("--key", key),
            _read("--authority", authority),
        )
    allowed = None
    if ceilings is not None:
        try:
            allowed = _read("--ceilings", ceilings).decode()
            _core.check_ceilings(allowed)
        except ValueError as error:  # of UTF-8 too
            lines = [line for line in str(error).splitlines() if line.strip()]
            raise InputError.of(
                str(ceilings),
                "ceilings",
                lines[-1] if lines else "",
                "expected keys and values of docs/reference/agents.md",
            ) from None
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    signal.signal(signal.SIGINT, lambda *_: ended.append(True))

    def should_stop() -> bool:
        return bool(ended) or (with_parent and _is_alone())

    def ready(place: str, warnings: list[str]) -> None:
        for warning in warnings:
            typer.echo(f"warning: {warning}", err=True)
        typer.echo(f"listening on {place}")
        sys.stdout.flush()

    try:
        _core.serve_agent(
            listen,
            ceilings=allowed,
            credentials=credentials,
            clock_offset_ns=clock_offset,
            clock_drift_ppb=clock_drift,
            ready=ready,
            should_stop=should_stop,
        )
    except ValueError as error:
        raise InputError.of("command line", "--listen", listen, str(error)) from None
    except OSError as error:
        raise InputError.of("command line", "--listen", listen, str(error)) from None


def _is_alone() -> bool:
    """Whether standard input has been closed, by who started us or with them."""
    readable, _, _ = select.select([0], [], [], 0)
    return bool(readable) and not os.read(0, 4096)


def _read(option: str, path: Path) -> bytes:
    from ethermeter.faults import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError.of(
            "command line",
            option,
            str(path),
            f"expected a readable file: {error.strerror or error}",
        ) from None
