"""Files that are either whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

LIVE = "live"
"""Folder of a run directory with what came of each test that was measured."""
CAPTURES = "captures"
"""Folder of a run directory with what was recorded at hosts meanwhile."""
TEMPORARY = ".tmp-"
"""How the name of a file that is not yet whole begins."""


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears under `path` only when the block ends without an error, and then durably.

    Parameters
    ----------
    path
        Where the file shall be; what is there is replaced.

    Yields
    ------
    :
        A binary file next to `path`, under a temporary name.

    Raises
    ------
    OSError
        If it cannot be written; `path` is then as before.

    """
    temporary = path.with_name(TEMPORARY + path.name)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_whole(path: Path, data: bytes | str) -> None:
    """Write `data` to `path`, wholly or not at all."""
    with written_whole(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: without it a renamed file can be gone after a power cut."""
    if os.name == "nt":  # a directory cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
