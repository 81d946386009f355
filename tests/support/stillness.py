"""Whether the machine stood still: a witness on each processor, and tests that are done again when they were held up.

A virtual machine may lose its processors for tens of milliseconds at any moment, and then a rate is too low and a delay too long, whatever
was built. A test that expects times or rates carries the mark `timed`. If it fails, and a witness woke up late meanwhile, its failure says
nothing, and it is done once more. A test that fails while the machine went on has failed.
"""

import contextlib
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

ATTEMPTS = 6
"""At most; the last one counts, whatever the machine did."""
SLEEP_S = 0.002
LEAST_LATE_S = 0.001
"""A witness that wakes up later than this was held up. Interrupts, and what they leave for later, take some tenths of it."""
MOST_LATE_S = 0.005
"""Of all wakings together, for a failure to count: a twentieth of the shortest window that tests measure in."""
_LATE = struct.Struct("d")


def witness(processor: int, path: Path) -> None:
    """Sleep on one processor, before all that may be held up, and keep in a file how late all wakings were; ends with its maker."""
    maker, late_s = os.getppid(), 0.0
    os.sched_setaffinity(0, {processor})
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO) - 1))
    with path.open("r+b", buffering=0) as file:
        while os.getppid() == maker:
            due_s = time.monotonic() + SLEEP_S
            time.sleep(SLEEP_S)
            over_s = time.monotonic() - due_s
            if over_s > LEAST_LATE_S:
                late_s += over_s
                os.pwrite(file.fileno(), _LATE.pack(late_s), 0)


class Witnesses:
    """One on each processor that this process may use."""

    def __enter__(self) -> Self:
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._paths = [folder / str(processor) for processor in sorted(os.sched_getaffinity(0))]
        for path in self._paths:
            path.write_bytes(_LATE.pack(0.0))
            process = self._stack.enter_context(subprocess.Popen([sys.executable, "-I", "-S", __file__, path.name, path]))
            self._stack.callback(process.kill)
        return self

    def __exit__(self, *of: object) -> None:
        self._stack.close()

    def late_s(self) -> float:
        """How late they woke up, all together, since they began."""
        return sum(float(_LATE.unpack(path.read_bytes())[0]) for path in self._paths)


def until_it_counts(attempt: Callable[[int], object], late_s: Callable[[], float]) -> None:
    """Make an attempt, numbered from 0, and again while it fails and the machine stood still.

    Raises:
        AssertionError: of the first attempt that counts, or of the last.
    """
    for number in range(ATTEMPTS):
        before_s = late_s()
        try:
            attempt(number)
        except AssertionError as failure:
            held_up_s = late_s() - before_s
            if held_up_s < MOST_LATE_S or number == ATTEMPTS - 1:
                failure.add_note(f"attempt {number + 1} of {ATTEMPTS}: the machine stood still for {1e3 * held_up_s:.1f} ms meanwhile")
                raise
            print(f"attempt {number + 1}: the machine stood still for {1e3 * held_up_s:.1f} ms, so that this says nothing: {failure}")
        else:
            return


if __name__ == "__main__":
    witness(int(sys.argv[1]), Path(sys.argv[2]))
