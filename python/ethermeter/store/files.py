"""Files of a run directory: written whole or not at all, never through a link.

A run directory may lie where other users can write. So each file is created under an unpredictable
name that must not exist, relative to an open handle of its folder, and then renamed; folders below
the run directory are opened without following links.
"""

import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

LIVE = "live"
"""Folder of a run directory with what came of each test that was measured."""
CAPTURES = "captures"
"""Folder of a run directory with what was recorded at hosts meanwhile."""
TEMPORARY = ".tmp-"
"""How the name of a file that is not yet whole begins."""
ABANDONED_S = 2.0
"""A temporary file that has not changed for so long, and that nobody holds, belongs to a process
that was killed. Its writer holds it at once, but not from its very beginning.
"""

_HAS_HANDLES = os.open in os.supports_dir_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# A pipe is opened at once, too, although nobody writes into it.
_READ = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def written_whole(path: Path, *, within: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file that appears under `path`, durably, when the block ends without an error.

    What is there is replaced; a link is replaced, not followed. `within` is the run directory, if
    `path` is in a folder of it: folders between the two are made as needed and must not be links.
    Yields a binary file in the same folder, under a temporary name. Raises OSError if it cannot be
    written; `path` is then as before.
    """
    base = path.parent if within is None else within
    temporary = TEMPORARY + secrets.token_hex(8)
    with _told_of(path), _folder(base, path.parent.relative_to(base).parts) as handle:
        here = "" if handle is not None else f"{path.parent}{os.sep}"
        try:
            # Within the block: an interrupt may come at once.
            with os.fdopen(os.open(here + temporary, _NEW, 0o666, dir_fd=handle), "wb") as file:
                _held(file.fileno())
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(here + temporary, here + path.name, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:
            with suppress(OSError):
                os.unlink(here + temporary, dir_fd=handle)
            raise
        if handle is not None:
            os.fsync(handle)  # or a renamed file can be gone after a power cut


def write_whole(path: Path, data: bytes | str, *, within: Path | None = None) -> None:
    """Write `data` to `path`, wholly or not at all; `within` as in `written_whole`."""
    with written_whole(path, within=within) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def make_folder(path: Path, *, within: Path) -> None:
    """Make a folder of a run directory, with its parents, unless it exists; none may be a link.

    Raises OSError if it cannot be made, or something else has its name.
    """
    with _told_of(path), _folder(within, path.relative_to(within).parts):
        pass


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable.

    Without it a renamed file can be gone after a power cut.
    """
    if not _HAS_HANDLES:
        return
    descriptor = os.open(path, _FOLDER)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def foreign(directory: Path) -> Iterator[tuple[Path, str]]:
    """Find what is neither file nor folder in a run directory and its folders, and say what it is.

    To read a link leads elsewhere, a pipe or a socket makes its reader wait, a device has no end.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                with suppress(
                    FileNotFoundError
                ):  # another process has just finished, and removed its parts
                    yield from foreign(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    yield Path(entry.path), _KINDS.get(stat.S_IFMT(mode), "a device")


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open a file of a run directory to read it; links are not followed.

    Raises OSError if it is no regular file, at once.
    """
    with os.fdopen(os.open(path, _READ), "rb") as file:
        kind = stat.S_IFMT(os.fstat(file.fileno()).st_mode)
        if kind != stat.S_IFREG:
            raise OSError(errno.EINVAL, f"{_KINDS.get(kind, 'a device')}, no file", str(path))
        yield file


def remove_abandoned(directory: Path) -> None:
    """Remove temporary files that killed processes left in a run directory and its folders."""
    for path in directory.rglob(TEMPORARY + "*"):
        with suppress(OSError), opened(path) as file:
            is_old = time.time() - os.fstat(file.fileno()).st_mtime > ABANDONED_S
            if is_old and _held(file.fileno()):
                path.unlink()


def _held(file: int) -> bool:
    """Hold a temporary file until it is closed; False if another process does.

    The kernel lets go of it however a process ends.
    """
    try:
        import fcntl
    except ImportError:  # not on this system
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal; errors as of `opened`."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _folder(base: Path, parts: tuple[str, ...]) -> Iterator[int | None]:
    """Handle of a folder below `base`, made as needed; None on systems without such handles."""
    if not _HAS_HANDLES:
        base.joinpath(*parts).mkdir(parents=True, exist_ok=True)
        yield None
        return
    handle = os.open(base, _FOLDER)
    try:
        for part in parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=handle)
            inner = os.open(part, _FOLDER | _NO_LINK, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Name the wanted file in an error, not the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        why = (
            "a link, or no directory, is in its path"
            if error.errno in (errno.ELOOP, errno.ENOTDIR)
            else error.strerror
        )
        raise OSError(error.errno, why, str(path)) from error
