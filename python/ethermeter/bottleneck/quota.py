"""Limit a process to a share of a processor.

By control groups, or by stopping and waking the process where these are not available.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Protocol

PERIOD_S = 10e-3
"""Shares are given in periods of this length, so that a limited host is slow rather than now fast,
now dead.
"""
SHORTEST_QUOTA_S = 1e-3
"""The least that the kernel gives in a period; for smaller shares periods are longer."""

Means = Literal["cgroup v2", "cgroup v1", "SIGSTOP"]

_V2, _V1 = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")), Path("/sys/fs/cgroup/cpu")


class Quota(Protocol):
    """A limit on one process."""

    means: Means

    def limit(self, share: float | None) -> None:
        """Give at most this share of one processor from now on; None for no limit."""

    def close(self) -> None:
        """Take the limit away."""


def period_s(share: float) -> float:
    """Return the period in s in which a share is given."""
    return max(PERIOD_S, SHORTEST_QUOTA_S / share)


@contextmanager
def quota_on(pid: int) -> Iterator[Quota]:
    """Yield the best limit that this system offers for a process, and take it away at the end."""
    for group in _groups(pid):
        # Ctrl-C may come as soon as the group is there, and before anybody else knows of it.
        try:
            try:
                group.make()
            except OSError:
                continue
            yield group
            return
        finally:
            group.close()
    stopping = Stopping(pid)
    try:
        yield stopping
    finally:
        stopping.close()


def _groups(pid: int) -> Iterator["ControlGroup"]:
    """Yield the groups that may be made for a process, the best first."""
    for root in _V2:
        with suppress(OSError):
            if "cpu" in (root / "cgroup.subtree_control").read_text(encoding="ascii").split():
                yield ControlGroup(pid, root, "cgroup v2")
    yield ControlGroup(pid, _V1, "cgroup v1")


def _sweep(root: Path) -> None:
    """Remove the groups of makers that were killed; one that is not empty stays."""
    for group in root.glob("ethermeter-*-*"):
        maker = group.name.split("-")[1]
        if maker.isdigit() and not Path("/proc", maker).exists():
            with suppress(OSError):
                group.rmdir()


class ControlGroup:
    """A control group of its own for the process and its threads, once it is made.

    `pid`: the process. `root`: the hierarchy with the controller of processors. `means`: which
    version it is.
    """

    def __init__(self, pid: int, root: Path, means: Means) -> None:
        self.means: Means = means
        self._pid = pid
        self._group = root / f"ethermeter-{os.getpid()}-{pid}"
        self._root = root

    def make(self) -> None:
        """Make the group and move the process into it.

        Raises OSError if the system has no such groups, or forbids it.
        """
        _sweep(self._root)
        self._group.mkdir()
        (self._group / "cgroup.procs").write_text(str(self._pid), encoding="ascii")
        self.limit(None)

    def limit(self, share: float | None) -> None:
        """Give at most this share of one processor from now on; None for no limit."""
        period_us = round(1e6 * (PERIOD_S if share is None else period_s(share)))
        quota_us = -1 if share is None else max(1000, round(share * period_us))
        if self.means == "cgroup v2":
            (self._group / "cpu.max").write_text(
                f"{'max' if share is None else quota_us} {period_us}", encoding="ascii"
            )
            return
        # A quota must fit into the period at every moment, so the old one goes first.
        (self._group / "cpu.cfs_quota_us").write_text("-1", encoding="ascii")
        (self._group / "cpu.cfs_period_us").write_text(str(period_us), encoding="ascii")
        (self._group / "cpu.cfs_quota_us").write_text(str(quota_us), encoding="ascii")

    def close(self) -> None:
        """Move the process out and remove the group, if it is there."""
        with suppress(OSError):
            (self._root / "cgroup.procs").write_text(str(self._pid), encoding="ascii")
        with suppress(OSError):
            self._group.rmdir()


class Stopping:
    """Stops the process for the rest of each period.

    It is coarse, since the system wakes this thread late.

    `pid`: the process, which must be ours to signal.
    """

    means: Means = "SIGSTOP"

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._share: float | None = None
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def limit(self, share: float | None) -> None:
        """Let the process run for this share of each period from now on; None for always."""
        self._share = None if share is None or share >= 1 else share
        if self._share is not None and self._thread is None:
            self._thread = threading.Thread(target=self._turn, daemon=True)
            self._thread.start()

    def _turn(self) -> None:
        while not self._is_over.is_set():
            share = self._share
            if share is None:
                time.sleep(PERIOD_S)
                continue
            period = period_s(share)
            try:
                os.kill(self._pid, signal.SIGSTOP)
                time.sleep((1 - share) * period)
                os.kill(self._pid, signal.SIGCONT)
            except ProcessLookupError:
                return
            time.sleep(share * period)

    def close(self) -> None:
        """Let the process go."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGCONT)
