"""Memory: what is said where there is too little, before a library waits for it forever.

SciPy's OpenBLAS tries again and again, deaf to signals, while it gets no memory for its threads;
Arrow ends the process.
"""

import errno
import mmap
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

THREADS = "OPENBLAS_NUM_THREADS"
ROOM_OCTETS = {"scipy": 192 << 20, "pyarrow": 256 << 20}
"""Address space that libraries take as they are loaded and first used, as measured: SciPy with one
thread 91 MiB and buffers of 32 MiB for operations, Arrow 230 MiB.
"""
THREAD_OCTETS = 48 << 20
"""The same for each further thread of SciPy: a buffer of 32 MiB and a stack."""


def watch() -> None:
    """Where address space is limited, refuse libraries before they are loaded without room.

    Operations of SciPy then have one thread, unless the environment says otherwise.
    """
    if _limit_octets() is not None and not any(isinstance(of, _Room) for of in sys.meta_path):
        os.environ.setdefault(THREADS, "1")
        sys.meta_path.insert(0, _Room())


def lack(error: Exception) -> str | None:
    """Say what an error for the lack of memory is, in a line; None of another error."""
    is_lack = (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, ImportError) and "failed to map segment" in str(error))
        or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))
    )
    if not is_lack:
        return None
    limit = _limit_octets()
    # As `ulimit -v` counts.
    within = "" if limit is None else f" within the limit of {limit // 1024} KiB (ulimit -v)"
    what = (str(error).splitlines() or [""])[0]
    return f"not enough memory{within}{f': {what}' if what else ''}"


class _Room(MetaPathFinder):
    """Finds no module, but sees which is about to be loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if (octets := ROOM_OCTETS.get(name)) is not None:
            threads = os.environ.get(THREADS, "")
            if name == "scipy" and threads.isdecimal():
                octets += (int(threads) - 1) * THREAD_OCTETS
            try:
                mmap.mmap(-1, octets).close()
            except OSError as error:
                raise MemoryError(f"no room for {name}, {octets >> 20} MiB") from error
        return None


def _limit_octets() -> int | None:
    """Limit of this process's address space; None without one."""
    try:
        import resource
    except ImportError:  # not on this system
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
