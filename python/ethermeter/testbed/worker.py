"""A process on a host of a testbed that does tasks one after the other: a line of JSON in, a line
of JSON out.

Tasks are those of `ethermeter._core.host_task` (docs/bottleneck.md); each is bounded in time by what it
says itself.
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
from typing import Any, Self

from ethermeter.testbed.build import Host
from ethermeter.testbed.commands import TestbedError


class Worker:
    """Does tasks on a host while the block lasts.

    Parameters
    ----------
    namespace
        Network namespace of the host; this machine's own network if None.

    """

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
        # In a group of its own: Ctrl-C is for the one who waits, and that one ends it.
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        # The first answer comes when everything is loaded.
        self.ask({})
        try:
            self.answer(within_s=30.0)
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
        """The process, for those who limit it."""
        assert self._process is not None
        return self._process.pid

    def ask(self, task: Mapping[str, Any]) -> None:
        """Ask for a task without waiting for it; an empty one is answered at once.

        Raises
        ------
        TestbedError
            If the process is gone.

        """
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise TestbedError(f"a worker of the testbed is gone: {error}") from error

    def answer(self, *, within_s: float) -> dict[str, Any]:
        """Return the result of the task that was asked for first.

        Parameters
        ----------
        within_s
            How long to wait, in s.

        Raises
        ------
        TestbedError
            If the host could not do it, or gives no answer in time.

        """
        assert self._process is not None
        assert self._process.stdout is not None
        # One line is asked for at a time, so nothing lies in the reader's own buffer.
        ready, _, _ = select.select([self._process.stdout], [], [], within_s)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise TestbedError(
                f"a worker of the testbed {'ended' if ready else f'gave no answer within {within_s:g} s'}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise TestbedError(f"a host of the testbed answers: {answer['error']}")
        return answer

    def do(self, task: Mapping[str, Any], *, within_s: float) -> dict[str, Any]:
        """Ask for a task and wait for its result."""
        self.ask(task)
        return self.answer(within_s=within_s)


def main() -> None:
    """Do the tasks that come as lines, until there are no more; whatever is being done then is
    broken off.
    """
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    # The one who asks may be killed during a task of an hour, so somebody must listen meanwhile.
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
