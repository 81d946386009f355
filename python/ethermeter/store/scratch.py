"""Temporary directories, removed with their process or, if that was killed, by the next one."""

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "ethermeter-"
_NAME = re.compile(PREFIX + "[a-z0-9_]{8}")
_OWNED = ".owned"
"""A file in each directory whose maker holds, or held, its lock."""
_EMPTY_S = 3600.0
"""A directory without that file is a leftover after so long: its maker was killed before it wrote
one.
"""


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Make a temporary directory for the block, and remove those left by killed processes.

    Only those of this user. It is locked while the process lives; the kernel lets go of the lock
    however the process ends.
    """
    remove_leftovers()
    path = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (path / _OWNED).touch()
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_leftovers() -> list[Path]:
    """Remove temporary directories of this user whose processes are gone, and return them."""
    removed = []
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        # Another process may remove it meanwhile, and others may own what is called like ours.
        with suppress(OSError):
            if _NAME.fullmatch(path.name) and _is_left(path):
                removed.append(path)
    return removed


def _is_left(path: Path) -> bool:
    """Whether a directory was a leftover, which is then removed."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        names = {entry.name for entry in path.iterdir()}
        if _OWNED in names and stat.S_ISREG(
            os.stat(_OWNED, dir_fd=handle, follow_symlinks=False).st_mode
        ):
            shutil.rmtree(path)  # it follows no links
            return True
        if not names and time.time() - os.fstat(handle).st_mtime > _EMPTY_S:
            path.rmdir()
            return True
        return False
    finally:
        os.close(handle)
