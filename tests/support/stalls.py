"""Stalls of the machine: measurements in windows without them, and tests that they end.

A virtual machine may lose its processors for tens of milliseconds at any moment, and other programs
may use them. Then a rate is too low and a delay too long, whatever was built. A witness process on
each processor sleeps for a short time, over and over, at a priority above all that tests do, and
counts how much later than asked it woke up. The processor time of other programs is what the system
has counted.

Laws (counts, conservation, order, octets) hold on any machine: tests assert them once. An
expectation of a time or a rate is asserted on a measurement from a quiet window. Whether a window
was quiet is decided by stalls and other programs alone, never by what was measured.

A test that runs beside others expects no time. What it needs so that there is something to assert,
as a number of frames in a second, may fail to come on a machine whose processors are taken: then
the test is inconclusive (`Contention`).
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Self, TypeVar

import pytest
import witness

T = TypeVar("T")
NewPath = Callable[[], Path]
"""Returns a new, empty directory at each call: what the fixture `new_path` is."""

CALLS = 3
"""Windows that are tried at most."""
REPEATS_S = 240.0
"""Time that all tests of a process together may spend on windows after the first.

A machine that stalls all the time makes each test inconclusive. It must not make the tests three
times as long, too.
"""
TOLERATED_STALL_S = 0.005
"""Sum of all stalls in a quiet window: a twentieth of the shortest window in which tests measure.
"""
TOLERATED_OTHERS = 0.1
"""Processor time of other programs in a quiet window, in processors.

A machine that does nothing else uses some hundredths of one.
"""
BUSY_OTHERS = 0.5
"""Processor time of other programs, in processors, beyond which no further window is tried: such
work goes on for longer than a test.
"""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
INCONCLUSIVE = "inconclusive: "
"""Begins the reason of a test that found no quiet window, or that a stall ended."""
PRESSURE = Path("/proc/pressure/cpu")
"""How long some task was ready and waited for a processor (Linux 4.20, `Documentation/accounting`).
"""
CONTENDED = 0.25
"""Share of a test in which some task waited for a processor, from which on it was held up."""
KERNEL_THREADS = 2
"""The process that makes all threads of the kernel.

What they do is work for some process, as likely of a test as of others.
"""


class Witnesses:
    """One process on each processor that this process may use."""

    def __enter__(self) -> Self:
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._paths = [folder / str(processor) for processor in sorted(os.sched_getaffinity(0))]
        for path in self._paths:
            path.touch()
            process = self._stack.enter_context(
                subprocess.Popen([sys.executable, "-I", "-S", witness.__file__, path.name, path])
            )
            self._stack.callback(process.kill)
            self._processes.append(process)
        until_s = time.monotonic() + 30
        while not all(path.stat().st_size for path in self._paths):
            assert time.monotonic() < until_s, "a witness of stalls did not begin"
            time.sleep(witness.SLEEP_S)
        return self

    def __exit__(self, *of: object) -> None:
        self._stack.close()

    def stop(self) -> None:
        """End the witnesses; from then on all is one stall."""
        for process in self._processes:
            process.kill()
            process.wait()

    def stalled_s(self) -> float:
        """Sum of all stalls of all processors since the witnesses began, those that have not ended
        included.
        """
        return sum(stalled_s + late_s for stalled_s, _, late_s in self._seen())

    def longest_s(self) -> float:
        """The longest stall of any processor since the witnesses began, those that have not ended
        included.
        """
        return max(max(longest_s, late_s) for _, longest_s, late_s in self._seen())

    def _seen(self) -> list[tuple[float, float, float]]:
        """Of each processor: the sum of its stalls, the longest, and one that has not ended."""
        now_s, seen = time.monotonic(), []
        for path in self._paths:
            stalled_s, longest_s, due_s = witness.STATE.unpack(path.read_bytes())
            late_s = now_s - due_s
            seen.append((stalled_s, longest_s, late_s if late_s > witness.STALL_S else 0.0))
        return seen


def others() -> dict[int, float]:
    """Processor time that processes other than this one, its descendants and the kernel's threads
    have used, in seconds, by their ids.
    """
    parents, used_s = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            # Of the process and of its children that have ended, so that nothing is lost when one
            # ends.
            used_s[int(path.parent.name)] = sum(map(int, fields[11:15])) * TICK_S
    ours, found = {os.getpid(), KERNEL_THREADS}, True
    while found:
        found = {process for process, parent in parents.items() if parent in ours} - ours
        ours |= found
    return {process: seconds for process, seconds in used_s.items() if process not in ours}


@dataclass(frozen=True, slots=True)
class Usage:
    """What disturbs a measurement, since some time."""

    at_s: float
    stalled_s: float
    others_s: float


@dataclass(slots=True)
class Repeats:
    """Time that is left for windows after the first; all tests of a process share it."""

    left_s: float = REPEATS_S

    def take(self, time_s: float) -> bool:
        """Take the time of a window; whether there was so much."""
        is_there = time_s <= self.left_s
        self.left_s -= time_s if is_there else 0.0
        return is_there


class QuietWindow:
    """Takes measurements in quiet windows; the fixture `in_quiet_window`."""

    stalled_s: float
    """Sum of all stalls in the window that was quiet enough, for expectations that are less exact
    by as much.
    """

    def __init__(self, usage: Callable[[], Usage], repeats: Repeats | None = None) -> None:
        self._usage = usage
        self._repeats = repeats or Repeats()

    def __call__(
        self, measure: Callable[[], T], *, tolerated_stall_s: float = TOLERATED_STALL_S
    ) -> T:
        """Return what `measure` returns in the first quiet window of at most three; of one on a
        busy machine, or where no time is left for another.

        Args:
            measure: Called for each window. Files it writes must be new each time. A law that it
            asserts fails the test at once. tolerated_stall_s: Sum of stalls that what is expected
            of the result allows for.

        Raises:
            pytest.skip.Exception: No window was quiet: the test is inconclusive.
        """
        seen: list[str] = []
        while True:
            before = self._usage()
            result = measure()
            after = self._usage()
            lasted_s, stalled_s = after.at_s - before.at_s, after.stalled_s - before.stalled_s
            # Each reading is exact to a tick.
            others_s = max(0.0, after.others_s - before.others_s - TICK_S)
            if stalled_s <= tolerated_stall_s and others_s <= TOLERATED_OTHERS * lasted_s:
                self.stalled_s = stalled_s
                return result
            seen.append(f"{1e3 * stalled_s:.0f} ms and {1e3 * others_s:.0f} ms in {lasted_s:.1f} s")
            if others_s > BUSY_OTHERS * lasted_s or len(seen) == CALLS:
                break
            if not self._repeats.take(lasted_s):
                seen[-1] += " (no time was left for another window)"
                break
        allowed = f"{1e3 * tolerated_stall_s:g} ms and {TOLERATED_OTHERS:.0%} of a processor"
        inconclusive(
            f"stalls of the machine and work of other programs took {', '.join(seen)}; "
            f"allowed are {allowed}"
        )


def usage_by(witnesses: Witnesses) -> Callable[[], Usage]:
    """Return what reads the witnesses and what the system has counted."""
    return lambda: Usage(time.monotonic(), witnesses.stalled_s(), sum(others().values()))


def inconclusive(reason: str) -> NoReturn:
    """End a test that can say neither yes nor no; a run of tests counts and lists it."""
    pytest.skip(INCONCLUSIVE + reason)


class Contention:
    """How long tasks have waited for processors, and hosts have taken these away, since its making.

    Called with an expectation that only the lack of a processor may disappoint: on a machine that
    lacked none, it fails.
    """

    def __init__(self) -> None:
        self._begin_s, self._begin_waited_s = time.monotonic(), self._waited_s()

    def __call__(self, is_met: object, what: object) -> None:
        """Assert that something was met; on a machine that was held up, the test is inconclusive.

        Raises:
            pytest.skip.Exception: It was not met, and processors were lacking.
        """
        if not is_met and (why := self.figure()):
            inconclusive(f"{what}; {why}")
        assert is_met, what

    def figure(self) -> str:
        """How long processors were lacking; empty if they were not."""
        lasted_s = time.monotonic() - self._begin_s
        share = (self._waited_s() - self._begin_waited_s) / lasted_s
        return f"tasks waited for processors in {share:.0%} of the time" * (share >= CONTENDED)

    @staticmethod
    def _waited_s() -> float:
        stolen_s = int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) * TICK_S
        # A kernel without the account tells nothing, and a test fails.
        if not PRESSURE.exists():
            return stolen_s
        return stolen_s + int(PRESSURE.read_text().split("total=")[1].split()[0]) / 1e6
