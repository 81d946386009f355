"""The process that plays a testbed's wires, from the side of who starts it."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ethermeter.testbed.commands import LIMIT_S, TestbedError, inside, run

_MODULE = "ethermeter.testbed.wire"
_TELLS_S = 2.0
"""How long a relay that is asked, or whose interfaces are gone, is given to say what happened."""


@dataclass(slots=True)
class Relay:
    """Wires under way, as long as the testbed is there."""

    process: subprocess.Popen[str]
    told: dict[str, Any] | None = field(default=None)
    """What happened, once it has ended (docs/live.md)."""

    @classmethod
    def start(cls, namespace: str, plan: dict[str, Any]) -> "Relay":
        """Start one that ends with this process.

        Parameters
        ----------
        namespace
            Where its interfaces are.
        plan
            The wires, as `crates/relay/src/plan.rs` has them.

        Raises
        ------
        TestbedError
            If it does not begin.

        """
        return cls(
            _started(namespace, [json.dumps(plan | {"maker": os.getpid()})], subprocess.PIPE)
        )

    def count(self) -> dict[str, Any]:
        """Ask what it has counted so far: of each of `directions` what docs/live.md has but for
        times.

        Raises
        ------
        TestbedError
            If it does not answer.

        """
        assert self.process.stdout is not None
        # One line is asked for at a time, so nothing lies in the reader's own buffer; what came too
        # late for who asked before goes.
        while select.select([self.process.stdout], [], [], 0)[0] and self.process.stdout.readline():
            pass
        self.process.send_signal(signal.SIGUSR1)
        ready, _, _ = select.select([self.process.stdout], [], [], _TELLS_S)
        line = self.process.stdout.readline() if ready else ""
        try:
            counted: dict[str, Any] = json.loads(line)
        except ValueError:
            why = (
                f"it said {line!r}"
                if line
                else "it has ended"
                if ready
                else f"no answer within {_TELLS_S:g} s"
            )
            raise TestbedError(
                f"the relay of the wires did not say what it has counted: {why}"
            ) from None
        return counted

    def stop(self) -> dict[str, Any]:
        """End it, if it has not ended; returns what happened.

        Raises
        ------
        TestbedError
            If it failed.

        """
        if self.told is None:
            self.process.terminate()
            try:
                out, error = self.process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                out, error = self.process.communicate()
            if self.process.returncode != 0:
                raise TestbedError(
                    f"the relay of the wires ended with {self.process.returncode}: {error.strip() or 'it said nothing'}"
                )
            # An answer that nobody waited for any more stands before it.
            self.told = json.loads(out.splitlines()[-1])
        return self.told


def start_to_stay(namespace: str, plan: dict[str, Any], says: Path) -> None:
    """Start a relay that outlives this process and ends when its interfaces are removed.

    Parameters
    ----------
    namespace
        Where its interfaces are.
    plan
        The wires.
    says
        The file in which it says at its end what happened.

    Raises
    ------
    TestbedError
        If it does not begin.

    """
    try:
        with says.open("w", encoding="utf-8") as out:
            process = _started(
                namespace, ["--stay", json.dumps(plan | {"maker": None})], out.fileno()
            )
    except OSError as error:
        raise TestbedError(f"{says}: {error}") from error
    process.communicate(timeout=LIMIT_S)


def is_running(namespace: str) -> bool:
    """Tell whether a process is in the namespace of wires."""
    with suppress(TestbedError):
        return bool(run(["ip", "netns", "pids", namespace]).split())
    return False


def last_words(says: Path) -> dict[str, Any] | None:
    """Wait for what a relay says whose interfaces were just removed; nothing if it was killed
    before it could.
    """
    until_s = time.monotonic() + _TELLS_S
    while time.monotonic() < until_s:
        with suppress(OSError, ValueError):
            told: dict[str, Any] = json.loads(says.read_bytes())
            return told
        time.sleep(0.01)
    return None


def _started(namespace: str, words: list[str], out: int) -> subprocess.Popen[str]:
    command = inside(namespace, sys.executable, "-m", _MODULE, *words)
    # A session of its own: Ctrl-C is for who measures, who then ends the wires.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    if first == "ready\n":
        return process
    try:
        _, error = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        _, error = process.communicate()
    raise TestbedError(
        f"the relay of the wires did not begin: {' '.join((first + error).split()) or 'it said nothing'}"
    )
