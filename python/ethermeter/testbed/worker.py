"""A process on a host of a testbed that does tasks in turn: JSON lines in, JSON lines out.

Tasks are those of `ethermeter._core.host_task` (docs/reference/transfer-file.md); each limits its
own duration.
"""

import json
import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from ethermeter.testbed.commands import TestbedError
from ethermeter.testbed.elements import Host

T = TypeVar("T")


class _Failure(msgspec.Struct, frozen=True):
    error: str | None = None


class Worker:
    """Does tasks in a network namespace, or this machine's own network, while the block lasts."""

    def __init__(self, namespace: str | None) -> None:
        command = [sys.executable, "-m", "ethermeter.testbed.worker"]
        self._command = (
            command if namespace is None else ["ip", "netns", "exec", namespace, *command]
        )
        self._process: subprocess.Popen[str] | None = None

    @classmethod
    def on(cls, host: Host) -> Self:
        """Return a worker on a host of a testbed."""
        return cls(host.namespace)

    def __enter__(self) -> Self:
        # In a separate session: Ctrl-C goes to this process, which then ends the worker.
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        # The first result comes when all modules are loaded.
        self.ask({})
        try:
            self.answer(_Failure, within_s=30.0)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()

    @property
    def pid(self) -> int:
        """Process id, for limits on its CPU time."""
        assert self._process is not None
        return self._process.pid

    def ask(self, task: Mapping[str, object]) -> None:
        """Start a task without waiting for it; an empty task returns at once."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise TestbedError(f"a worker of the testbed has ended: {error}") from error

    def answer(self, kind: type[T], *, within_s: float) -> T:
        """Return the result of the oldest pending task.

        Raises
        ------
        TestbedError
            If the task failed or the timeout passed.

        """
        assert self._process is not None
        assert self._process.stdout is not None
        # One line is requested at a time, so the reader's own buffer is empty.
        ready, _, _ = select.select([self._process.stdout], [], [], within_s)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            why = "ended" if ready else f"gave no result within {within_s:g} s"
            raise TestbedError(f"a worker of the testbed {why}")
        error = msgspec.json.decode(line, type=_Failure).error
        if error is not None:
            raise TestbedError(f"a task on a host of the testbed failed: {error}")
        return msgspec.json.decode(line, type=kind)

    def do(self, task: Mapping[str, object], kind: type[T], *, within_s: float) -> T:
        """Do a task and return its result."""
        self.ask(task)
        return self.answer(kind, within_s=within_s)


def main() -> None:
    """Do the tasks read from standard input; its end aborts the current task."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    # Standard input is read during a task too: the maker may be killed during a task of an hour.
    threading.Thread(target=_perform, args=(lines,), daemon=True).start()
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _perform(lines: "queue.SimpleQueue[str]") -> None:
    from ethermeter._core import host_task

    while True:
        line = lines.get()
        if line.strip() == "{}":
            print("{}", flush=True)
            continue
        try:
            print(host_task(line), flush=True)
        except (OSError, ValueError) as error:
            print(json.dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
