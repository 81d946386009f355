"""Sending and receiving frames on this host for a coordinator."""

import os
import select
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.faults import InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.credentials import Credentials

_MOST_OFFSET_NS = 3600 * 10**9
_MOST_DRIFT_PPB = 10**6


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Options of `agent`."""

    _: KW_ONLY
    listen: Annotated[
        str,
        Argument(
            "Address at which coordinators reach the agent. With port 0 a free port is taken and "
            "printed.",
            "ADDRESS:PORT",
        ),
    ]
    credentials: Annotated[
        Path | None,
        Argument(
            "Certificate of the agent, such as sender.pem. Beside it are its private key, "
            "sender.key, and the certificate of the authority that the agent trusts, "
            "authority.pem.",
            "FILE",
        ),
    ] = None
    ceilings: Annotated[
        Path | None,
        Argument(
            "File with the ceilings of what the agent may send; loopback only unless given.", "FILE"
        ),
    ] = None
    clock_offset: Annotated[
        int,
        Argument(
            "For tests: offset of the time stamps in its frames, in ns.",
            "NS",
            least=-_MOST_OFFSET_NS,
            most=_MOST_OFFSET_NS,
        ),
    ] = 0
    clock_drift: Annotated[
        int,
        Argument(
            "For tests: drift of the time stamps in its frames, in ppb.",
            "PPB",
            least=-_MOST_DRIFT_PPB,
            most=_MOST_DRIFT_PPB,
        ),
    ] = 0
    with_parent: Annotated[bool, Argument("End when standard input closes.", is_hidden=True)] = (
        False
    )


@operation(AgentOptions)
def agent(options: AgentOptions, display: Display) -> None:
    """Run an agent, which sends and receives frames for a coordinator.

    It stays within its ceilings and sends only with the consent of every receiver.

    Without certificates it listens on a loopback address only. It ends with Ctrl-C or when it is
    killed, and its transmissions end with it.

    Raises
    ------
    InputError
        If it cannot listen there, or a file cannot be read.

    """
    from ethermeter import _core
    from ethermeter.api.serving import until_signalled

    credentials = None if options.credentials is None else _credentials(options.credentials)
    ceilings = None if options.ceilings is None else _ceilings(options.ceilings)

    def ready(place: str, warnings: list[str]) -> None:
        for warning in warnings:
            display.say(f"warning: {warning}")
        display.part(f"listening on {place}")

    with until_signalled() as is_signalled:

        def should_stop() -> bool:
            return is_signalled() or (options.with_parent and _is_alone())

        try:
            _core.serve_agent(
                options.listen,
                ceilings=ceilings,
                credentials=credentials,
                clock_offset_ns=options.clock_offset,
                clock_drift_ppb=options.clock_drift,
                ready=ready,
                should_stop=should_stop,
            )
        except (ValueError, OSError) as error:
            raise InputError.of_argument("listen", options.listen, str(error)) from None


def _is_alone() -> bool:
    """Whether standard input has been closed, by who started us or with them."""
    readable, _, _ = select.select([0], [], [], 0)
    return bool(readable) and not os.read(0, 4096)


def _credentials(certificate: Path) -> "Credentials":
    """Read the certificate of an agent, its key and the certificate of its authority."""
    from ethermeter import credentials

    try:
        return credentials.read(certificate)
    except OSError as error:
        raise _unreadable("credentials", Path(error.filename or certificate), error) from None


def _ceilings(path: Path) -> str:
    from ethermeter import _core

    try:
        text = path.read_text(encoding="utf-8")
        _core.check_ceilings(text)
    except OSError as error:
        raise _unreadable("ceilings", path, error) from None
    except ValueError as error:  # of UTF-8 too
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise InputError.of(
            str(path),
            "ceilings",
            lines[-1] if lines else "",
            "expected keys and values of docs/reference/agents.md",
        ) from None
    return text


def _unreadable(argument: str, path: Path, error: OSError) -> InputError:
    allowed = f"expected a readable file: {error.strerror or error}"
    return InputError.of_argument(argument, str(path), allowed)
