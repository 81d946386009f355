"""`ethermeter` in tests: called in this process, or started as a process of its own."""

import contextlib
import functools
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest import mock

import fake_core
import pytest
from ethermeter import _core, cli

os.environ.setdefault("COLUMNS", "80")  # however wide the terminal of the tests is
SUPPORT = Path(__file__).parent
LIMIT_S = 300.0
"""Time in which a process does what it must: minutes, as other programs may take the processors."""
T = TypeVar("T")


class Ended(NamedTuple):
    """Exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """All that was printed."""
        return self.stdout + self.stderr


def invoke(
    *words: object, cwd: Path | None = None, core: Callable[..., Any] | None = None
) -> Ended:
    """Run `ethermeter WORDS` in this process, which saves the start of an interpreter.

    Parameters
    ----------
    words
        Arguments, as texts or what has one.
    cwd
        Working directory.
    core
        What simulates a trial instead of the compiled core.

    """
    command = ["ethermeter", *map(str, words)]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    terminate = signal.getsignal(signal.SIGTERM)
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, terminate)
        stack.enter_context(mock.patch.object(sys, "argv", command))
        if core is not None:
            stack.enter_context(mock.patch.object(_core, "simulate_trial", core))
        stack.enter_context(contextlib.chdir(cwd or "."))
        stack.enter_context(contextlib.redirect_stdout(streams[0]))
        stack.enter_context(contextlib.redirect_stderr(streams[1]))
        ended = stack.enter_context(pytest.raises(SystemExit))
        cli.main()
    printed = []
    for stream in streams:
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())
    return Ended(int(ended.value.code or 0), *printed)


invoke_fake = functools.partial(invoke, core=fake_core.simulate)
"""The same with the stand-in core."""


def real(*words: object) -> list[str]:
    """Command line of `ethermeter`."""
    return [sys.executable, "-m", "ethermeter", *map(str, words)]


def fake(*words: object, seconds_a_trial: float = 0.0) -> list[str]:
    """Command line of `ethermeter` with the stand-in core."""
    script = str(SUPPORT / "fake_ethermeter.py")
    return [sys.executable, script, str(seconds_a_trial), *map(str, words)]


def settings(*overrides: str) -> list[str]:
    """Words that override keys of an experiment, each as KEY=VALUE."""
    return [word for override in overrides for word in ("--set", override)]


def call(
    command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as a process."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=LIMIT_S,
        env={**os.environ, **(env or {})},
        check=False,
    )


def eventually(holds: Callable[[], T]) -> T:
    """Wait until something holds, and return it."""
    until_s = time.monotonic() + LIMIT_S
    while not (found := holds()):
        assert time.monotonic() < until_s, "it did not happen"
        time.sleep(0.02)
    return found


@contextlib.contextmanager
def started(
    command: Sequence[str], *, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a process; kill and await it at the end of the block."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
