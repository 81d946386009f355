"""The relay process, which forwards the frames of a testbed's wires: its plan and its results."""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ethermeter.scenario import Class
from ethermeter.testbed.commands import LIMIT_S, TestbedError, inside, run

_MODULE = "ethermeter.testbed.wire"
_ANSWER_LIMIT_S = 2.0
"""Timeout for the counters of a running relay, and for the result of an ending one."""


class NoLoss(msgspec.Struct, frozen=True, tag_field="kind", tag="none"):
    """No frame is lost."""


class RandomLoss(msgspec.Struct, frozen=True, tag_field="kind", tag="chance"):
    """Each frame is lost with this probability, above 0, independent of the others."""

    probability: float


class PeriodicLoss(msgspec.Struct, frozen=True, tag_field="kind", tag="every"):
    """Every n-th frame is lost."""

    frames: int


class Direction(msgspec.Struct, frozen=True):
    """One direction of a relayed wire."""

    rate_bps: int
    delay_ns: int
    queue_octets: int
    loss: NoLoss | RandomLoss | PeriodicLoss
    seed: int


class RelayedWire(msgspec.Struct, frozen=True):
    """A wire between two interfaces: from the first to the second, and back."""

    ends: tuple[str, str]
    directions: tuple[Direction, Direction]
    classes: tuple[tuple[Class, ...], tuple[Class, ...]] = ((), ())
    """Traffic classes of the queue of each direction, highest first; one queue if empty."""


class RelayPlan(msgspec.Struct, frozen=True):
    """The wires of a relay, as `crates/relay/src/plan.rs` reads them."""

    wires: tuple[RelayedWire, ...]
    longest_octets: int
    """Longest frame, destination address to FCS."""
    maker: int | None = None
    """Process id with which the relay ends; None if it outlives its maker."""


class ClassCounts(msgspec.Struct, frozen=True):
    """Frames of a traffic class: `arrived` = `frames` + `dropped` + those that wait."""

    arrived: int
    frames: int
    """Frames sent."""
    octets: int
    """Octets of them, destination address to FCS."""
    dropped: int
    queue_most: int
    """Most frames in the queue, one being sent included, since the relay began."""
    queue_octets_most: int


class DirectionCounts(msgspec.Struct, frozen=True, rename={"source": "from", "sink": "to"}):
    """Frames of one direction: `came` = `left` + `under_way` + all of `dropped`."""

    source: str
    """Interface at which frames arrive."""
    sink: str
    came: int
    left: int
    octets: int
    """Octets of the frames that left, destination address to FCS."""
    under_way: int
    dropped: dict[str, int]
    """Frames by cause."""
    classes: tuple[ClassCounts, ...]
    """What was counted of each traffic class, in their order; empty of one queue."""
    latest_ns: int
    """Greatest lateness of any frame so far."""


class RelayCounts(msgspec.Struct, frozen=True):
    """Counters of a running relay."""

    directions: tuple[DirectionCounts, ...]


class Times(msgspec.Struct, frozen=True):
    """Quantiles and histogram of a time in ns; None without frames."""

    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float | None
    buckets: tuple[tuple[float, float, int], ...]
    """Lower bound, upper bound and count."""


class DirectionResult(DirectionCounts, frozen=True):
    """Counters of one direction, and how punctual the relay was."""

    late_ns: Times
    """How long after its due time a frame left."""
    noticed_after_ns: Times
    """How long after the kernel's timestamp a frame was noticed."""


class RelayResult(msgspec.Struct, frozen=True):
    """Result of a relay that has ended (docs/live.md)."""

    ended: str
    over_ns: int
    slept_ns: int
    sleeps: int
    forced_sleeps: int
    margin_ns: int
    real_time: bool
    clock_stepped_ns: int
    """Largest step of the wall clock, with which the kernel stamps frames, meanwhile."""
    directions: tuple[DirectionResult, ...]


@dataclass(slots=True)
class Relay:
    """A running relay."""

    process: subprocess.Popen[str]
    result: RelayResult | None = None
    """None until the relay has ended."""

    @classmethod
    def start(cls, namespace: str, plan: RelayPlan) -> "Relay":
        """Start a relay in the namespace of its interfaces; it ends with this process."""
        plan = msgspec.structs.replace(plan, maker=os.getpid())
        return cls(_started(namespace, [_json(plan)], subprocess.PIPE))

    def count(self) -> RelayCounts:
        """Return the counters of the running relay; raise `TestbedError` if it does not answer."""
        assert self.process.stdout is not None
        # One line is requested at a time, so the reader's own buffer is empty. An answer that came
        # after the timeout of an earlier request is discarded.
        while select.select([self.process.stdout], [], [], 0)[0] and self.process.stdout.readline():
            pass
        self.process.send_signal(signal.SIGUSR1)
        ready, _, _ = select.select([self.process.stdout], [], [], _ANSWER_LIMIT_S)
        line = self.process.stdout.readline() if ready else ""
        try:
            return msgspec.json.decode(line, type=RelayCounts)
        except ValueError:
            silence = "it has ended" if ready else f"no answer within {_ANSWER_LIMIT_S:g} s"
            why = f"it answered {line!r}" if line else silence
            raise TestbedError(f"the relay returned no counters: {why}") from None

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
            # An answer of `count` that came too late may stand before the result.
            self.result = msgspec.json.decode(out.splitlines()[-1], type=RelayResult)
        return self.result


def start_to_stay(namespace: str, plan: RelayPlan, result: Path) -> None:
    """Start a relay that outlives this process and ends when its interfaces are removed.

    It writes its result into a file.
    """
    try:
        with result.open("w", encoding="utf-8") as out:
            process = _started(namespace, ["--stay", _json(plan)], out.fileno())
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
    until_s = time.monotonic() + _ANSWER_LIMIT_S
    while time.monotonic() < until_s:
        with suppress(OSError, ValueError):
            return msgspec.json.decode(file.read_bytes(), type=RelayResult)
        time.sleep(0.01)
    return None


def _json(plan: RelayPlan) -> str:
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
