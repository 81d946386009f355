"""A process that notices when its processor stalls.

Run as a script, so that it starts soon and uses little.
"""

import contextlib
import os
import struct
import sys
import time
from pathlib import Path

SLEEP_S = 0.002
STALL_S = 0.001
"""A witness that wakes up later than this was stalled.

Interrupts, and the work they defer, take some tenths of it.
"""
STATE = struct.Struct("ddd")
"""What its file holds, in seconds.

The sum of all stalls, the longest of them, and when it is due to wake up next by the monotonic
clock.
"""


def run(processor: int, path: Path) -> None:
    """Sleep on one processor, over and over, and keep the state in a file; end with the process
    that started this one.
    """
    parent, stalled_s, longest_s = os.getppid(), 0.0, 0.0
    os.sched_setaffinity(0, {processor})
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(
            0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO) - 1)
        )
    with path.open("r+b", buffering=0) as file:
        while os.getppid() == parent:
            due_s = time.monotonic() + SLEEP_S
            os.pwrite(file.fileno(), STATE.pack(stalled_s, longest_s, due_s), 0)
            time.sleep(SLEEP_S)
            late_s = time.monotonic() - due_s
            if late_s > STALL_S:
                stalled_s += late_s
                longest_s = max(longest_s, late_s)


if __name__ == "__main__":
    run(int(sys.argv[1]), Path(sys.argv[2]))
