"""Error handling of commands: a failure becomes a line and an exit code, not a traceback."""

import functools
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, ParamSpec

import click
from click.exceptions import Abort, Exit

if TYPE_CHECKING:
    from ethermeter.analysis.checks import Check
    from ethermeter.faults import Fault

BAD_INPUT, FAILED, UNDECIDED, BUSY = 2, 1, 3, 4
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143

P = ParamSpec("P")


class Terminated(KeyboardInterrupt):  # as the interrupt that it is
    """SIGTERM: the command ends as after Ctrl-C."""


class Settings:
    """What holds for the whole command line."""

    debug = False


def guarded(
    function: Callable[P, None], *, option: Callable[[str], str] | None = None
) -> Callable[P, None]:
    """Turn the exceptions of a command into lines on stderr and an exit code.

    `option` tells how an argument of a function in Python is called in the command.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, _terminate)
            function(*args, **kwargs)
        except (Exit, Abort, click.ClickException):
            raise
        except KeyboardInterrupt as interrupt:
            raise interrupted(interrupt) from None
        except BrokenPipeError:
            # Whoever read us has seen enough. Nothing more may be flushed there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise Exit(BROKEN_PIPE) from None
        except Exception as error:
            if Settings.debug:
                raise
            raise Exit(explain(error, option)) from None

    return wrapper


def interrupted(interrupt: KeyboardInterrupt) -> Exit:
    """Print that the command was ended from outside, and return what ends the process.

    Parameters
    ----------
    interrupt
        Ctrl-C, or `Terminated`; its first note is what the same command goes on with.

    """
    by_signal = isinstance(interrupt, Terminated)
    notes = getattr(interrupt, "__notes__", ())
    kept = "".join(f"; {note}. To continue: {again()}" for note in notes[:1])
    say(f"ethermeter: {'terminated' if by_signal else 'interrupted'}{kept}")
    return Exit(TERMINATED if by_signal else INTERRUPTED)


def verdict(checks: "Sequence[Check]") -> int:
    """Return the exit code of checks: whether one fails, or none does but one is undecided."""
    verdicts = {check.verdict for check in checks}
    if "fails" in verdicts:
        return FAILED
    return UNDECIDED if "undecided" in verdicts else 0


def refused(file: str, key: str, value: str, allowed: str) -> Exit:
    """Print a fault, outside of a command, and return what ends the process."""
    from ethermeter.faults import InputError

    return Exit(explain(InputError.of(file, key, value, allowed)))


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def explain(error: Exception, option: Callable[[str], str] | None = None) -> int:
    """Print what went wrong, a line each, and return the exit code.

    `option` tells by which option of the command an argument is given.
    """
    from ethermeter.cli.memory import lack

    # First: there may be no room for the modules below.
    if (why := lack(error)) is not None:
        say(f"ethermeter: {why}")
        return FAILED
    from ethermeter.engines.work import LostClusterError, TrialError
    from ethermeter.faults import InputError
    from ethermeter.probing.peers import PeerError
    from ethermeter.store import RunError
    from ethermeter.testbed import TestbedError

    if isinstance(error, InputError):
        named = InputError(as_typed(fault, option) for fault in error.faults)
        for line in str(named).splitlines():
            say(line)
        return BAD_INPUT
    if isinstance(error, LostClusterError):
        say(f"ethermeter: {error}. To continue: {again()}")
        return FAILED
    if isinstance(error, RunError | TrialError | TestbedError | PeerError):
        say(f"ethermeter: {error}")
        return FAILED
    if isinstance(error, OSError) and error.filename is not None:
        say(f"ethermeter: {error.filename}: {error.strerror or error}")
        return FAILED
    first = (str(error).splitlines() or [""])[0]
    say(
        f"ethermeter: internal error: {type(error).__name__}: {first} (for the traceback: "
        f"ethermeter --debug {Path(*sys.argv[1:2])} …)"
    )
    return FAILED


def as_typed(fault: "Fault", option: Callable[[str], str] | None) -> "Fault":
    """Return a fault of an argument as one of the command line, by the option that gave it."""
    from ethermeter.faults import ARGUMENTS

    if fault.file != ARGUMENTS:
        return fault
    name, space, rest = fault.key.partition(" ")
    given = name if option is None else option(name)
    return replace(fault, file="command line", key=f"{given}{space}{rest}")


def say(line: str) -> None:
    """Print a line for the person on stderr."""
    click.echo(line, err=True)


def fresh(words: Sequence[str]) -> list[str]:
    """Return the words of a command without what it does with a run that is there."""
    return [word for word in words if word != "--force"]


def again() -> str:
    """Return this command as it is typed to continue it."""
    return shlex.join(["ethermeter", *fresh(sys.argv[1:])])
