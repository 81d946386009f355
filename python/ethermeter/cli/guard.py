"""Error handling of commands: a failure becomes a line and an exit code, not a traceback."""

import functools
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, ParamSpec

import typer
from typer.models import ArgumentInfo, OptionInfo

if TYPE_CHECKING:
    from ethermeter.faults import Fault

BAD_INPUT, FAILED, INTERRUPTED, BROKEN_PIPE, TERMINATED = 2, 1, 130, 141, 143

P = ParamSpec("P")


class Terminated(KeyboardInterrupt):  # as the interrupt that it is
    """SIGTERM: the command ends as after Ctrl-C."""


class Settings:
    """What holds for the whole command line."""

    debug = False


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """Turn the exceptions of a command into lines on stderr and an exit code."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, _terminate)
            function(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt as interrupt:
            raise interrupted(interrupt) from None
        except BrokenPipeError:
            # Whoever read us has seen enough. Nothing more may be flushed there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except Exception as error:
            if Settings.debug:
                raise
            raise typer.Exit(explain(error, function)) from None

    return wrapper


def interrupted(interrupt: KeyboardInterrupt, kept: str = "") -> typer.Exit:
    """Print that the command was ended from outside, and return what ends the process.

    Parameters
    ----------
    interrupt
        Ctrl-C, or `Terminated`.
    kept
        What is left and how to go on, if there is something.

    """
    by_signal = isinstance(interrupt, Terminated)
    say(f"ethermeter: {'terminated' if by_signal else 'interrupted'}{f'; {kept}' if kept else ''}")
    return typer.Exit(TERMINATED if by_signal else INTERRUPTED)


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def explain(error: Exception, command: Callable[..., object] | None = None) -> int:
    """Print what went wrong, a line each, and return the exit code.

    `command` has the options by which faults of arguments are named.
    """
    from ethermeter.cli.memory import lack

    # First: there may be no room for the modules below.
    if (why := lack(error)) is not None:
        say(f"ethermeter: {why}")
        return FAILED
    from ethermeter.engines.work import LostClusterError, TrialError
    from ethermeter.faults import InputError
    from ethermeter.store import RunError
    from ethermeter.testbed import TestbedError

    if isinstance(error, InputError):
        named = InputError(as_typed(fault, command) for fault in error.faults)
        for line in str(named).splitlines():
            say(line)
        return BAD_INPUT
    if isinstance(error, LostClusterError):
        from ethermeter.cli.summary import resume_command

        say(f"ethermeter: {error}. To continue: {resume_command()}")
        return FAILED
    if isinstance(error, RunError | TrialError | TestbedError):
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


def as_typed(fault: "Fault", command: Callable[..., object] | None) -> "Fault":
    """Return a fault of an argument as one of the command line, by the option that gave it."""
    from ethermeter.faults import ARGUMENTS

    if fault.file != ARGUMENTS:
        return fault
    name, space, rest = fault.key.partition(" ")
    parameters = {} if command is None else inspect.signature(command).parameters
    parameter = parameters.get(name)
    option = f"--{name.replace('_', '-')}"
    for kind in getattr(getattr(parameter, "annotation", None), "__metadata__", ()):
        if isinstance(kind, ArgumentInfo):
            option = kind.metavar or name
        elif isinstance(kind, OptionInfo):
            long = (each for each in kind.param_decls or () if each.startswith("--"))
            option = next(long, option)
    return replace(fault, file="command line", key=f"{option}{space}{rest}")


def say(line: str) -> None:
    """Print a line for the person on stderr."""
    typer.echo(line, err=True)
