"""The relay process, which forwards the frames of a testbed's wires and shared segments.

Its plan, requests to it while it runs, and its results.
"""

import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from ethermeter.live_reports import RelayCounts, RelayResult, SegmentCounts
from ethermeter.relay_plan import Begin, ControlRequest, Count, End, RelayPlan, SegmentTrial
from ethermeter.testbed.commands import LIMIT_S, TestbedError, inside, run

_MODULE = "ethermeter.testbed.wire"
_ANSWER_LIMIT_S = 20.0
"""Timeout for an answer of a running relay: a machine may stand still for seconds."""
_RESULT_LIMIT_S = 2.0
"""Timeout for the result of a relay that ends."""

MOST_WIRES, MOST_SEGMENTS, MOST_STATIONS = 64, 16, 64
"""Wires and segments of a relay and stations of each segment, at most (crates/relay/src/plan.rs).
"""

T = TypeVar("T")


class _EndedTrial(msgspec.Struct, frozen=True):
    segments: tuple[SegmentCounts, ...]


class _Refusal(msgspec.Struct, frozen=True):
    error: str | None = None


def connect(to: socket.socket, path: Path | str) -> None:
    """Connect to a running relay; close the socket and raise `TestbedError` without one."""
    to.settimeout(_ANSWER_LIMIT_S)
    try:
        to.connect(str(path))
    except OSError as error:
        to.close()
        raise TestbedError(f"the relay does not listen: {error}") from None


def answer(connection: socket.socket, kind: type[T]) -> T:
    """Read an answer of a relay; raise `TestbedError` if it refused, or gave none."""
    line = b""
    try:
        # One line only: another answer may follow it.
        while not line.endswith(b"\n") and (piece := connection.recv(1 << 16, socket.MSG_PEEK)):
            line += connection.recv(piece.find(b"\n") + 1 or len(piece))
    except OSError as error:
        raise TestbedError(f"the relay did not answer: {error}") from None
    try:
        refused = msgspec.json.decode(line, type=_Refusal).error
        if refused is not None:
            raise TestbedError(f"the relay refused a request: {refused}")
        return msgspec.json.decode(line, type=kind)
    except ValueError:
        why = f"it answered {line[:200]!r}" if line else "it has ended"
        raise TestbedError(f"the relay gave no answer: {why}") from None


class Control:
    """A connection to a running relay, while the block lasts; one program at a time has one."""

    def __init__(self, path: Path | str) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def __enter__(self) -> Self:
        connect(self._socket, self._path)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def count(self) -> RelayCounts:
        """Return the counters so far; raise `TestbedError` if the relay does not answer."""
        return self._ask(ControlRequest(count=Count()), RelayCounts)

    def begin(self, at_ns: int, segments: tuple[SegmentTrial, ...]) -> None:
        """Begin a trial on every segment at a monotonic time, in place of one begun before."""
        self._ask(ControlRequest(begin=Begin(at_ns=at_ns, segments=segments)), _Refusal)

    def end(self) -> tuple[SegmentCounts, ...]:
        """End the trial on every segment, and return what was counted."""
        return self._ask(ControlRequest(end=End()), _EndedTrial).segments

    def _ask(self, request: ControlRequest, kind: type[T]) -> T:
        try:
            self._socket.sendall(msgspec.json.encode(request) + b"\n")
        except OSError as error:
            raise TestbedError(f"the relay did not answer: {error}") from None
        return answer(self._socket, kind)


@dataclass(slots=True)
class Relay:
    """A running relay."""

    process: subprocess.Popen[str]
    control: Path
    """Socket of the file system on which it listens."""
    result: RelayResult | None = None
    """None until the relay has ended."""

    @classmethod
    def start(cls, namespace: str, plan: RelayPlan, control: Path) -> "Relay":
        """Start a relay in the namespace of its interfaces; it ends with this process."""
        plan = msgspec.structs.replace(plan, maker=os.getpid(), control=str(control))
        return cls(_started(namespace, [_argument(plan)], subprocess.PIPE), control)

    def count(self) -> RelayCounts:
        """Return the counters of the running relay; raise `TestbedError` if it does not answer."""
        with Control(self.control) as control:
            return control.count()

    def stop(self) -> RelayResult:
        """End the relay if it runs, and return its result; raise `TestbedError` if it failed."""
        if self.result is None:
            self.process.terminate()
            try:
                out, error = self.process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                out, error = self.process.communicate()
            if self.process.returncode != 0:
                raise TestbedError(
                    f"the relay of the wires ended with exit code {self.process.returncode}: "
                    f"{error.strip() or 'no error message'}"
                )
            self.result = msgspec.json.decode(out, type=RelayResult)
        return self.result


def start_to_stay(namespace: str, plan: RelayPlan, control: Path, result: Path) -> None:
    """Start a relay that outlives this process and ends when its interfaces are removed.

    It writes its result into a file.
    """
    plan = msgspec.structs.replace(plan, control=str(control))
    try:
        with result.open("w", encoding="utf-8") as out:
            process = _started(namespace, ["--stay", _argument(plan)], out.fileno())
    except OSError as error:
        raise TestbedError(f"{result}: {error}") from error
    process.communicate(timeout=LIMIT_S)


def is_running(namespace: str) -> bool:
    """Whether a process is in the namespace of the wires."""
    with suppress(TestbedError):
        return bool(run(["ip", "netns", "pids", namespace]).split())
    return False


def await_result(file: Path) -> RelayResult | None:
    """Wait for the result of a relay whose interfaces were removed; None if it was killed."""
    until_s = time.monotonic() + _RESULT_LIMIT_S
    while time.monotonic() < until_s:
        with suppress(OSError, ValueError):
            return msgspec.json.decode(file.read_bytes(), type=RelayResult)
        time.sleep(0.01)
    return None


def _argument(plan: RelayPlan) -> str:
    """Return a plan as an argument of the relay's process."""
    return msgspec.json.encode(plan).decode()


def _started(namespace: str, arguments: list[str], out: int) -> subprocess.Popen[str]:
    command = inside(namespace, sys.executable, "-m", _MODULE, *arguments)
    # In a separate session: Ctrl-C goes to the measuring process, which then ends the relay.
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
    reason = " ".join((first + error).split()) or "no error message"
    raise TestbedError(f"the relay of the wires did not start: {reason}")
