"""Child processes and the CPU time they took."""

import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass


class ChildError(Exception):
    """A child process failed; the message says which, and what it said last."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process that ended well."""

    out: str
    wall_s: float
    cpu_s: float
    """User and system time, its own children included."""


def run_child(words: Sequence[str], *, limit_s: float) -> Child:
    """Run a process to its end.

    Parameters
    ----------
    words
        The command line.
    limit_s
        Wall time after which it is given up, in s.

    Returns
    -------
    :
        What it printed, and what it took.

    Raises
    ------
    ChildError
        If it cannot be started, does not end in time, or does not end with 0.

    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun_s = time.monotonic()
    try:
        done = subprocess.run(
            list(words),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except OSError as error:
        raise ChildError(f"{words[0]}: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise ChildError(f"{words[0]}: not finished after {limit_s:.0f} s") from None
    wall_s = time.monotonic() - begun_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        last = (
            [line.strip() for line in done.stderr.splitlines() if line.strip()]
            or ["it said nothing"]
        )[-1]
        raise ChildError(f"{words[0]}: ended with {done.returncode}: {last}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Child(done.stdout, wall_s, cpu_s)
