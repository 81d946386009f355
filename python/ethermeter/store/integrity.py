"""Integrity of a run directory: provenance with checksums and seal, and forbidden links."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from ethermeter import provenance
from ethermeter.faults import MOST_LISTED, Fault, InputError
from ethermeter.store.files import checksum, foreign, opened, write_whole

PROVENANCE = "provenance.json"
_DAMAGED = f"damaged: its SHA-256 differs from the one in {PROVENANCE}"
AGAIN = "the file as the run wrote it; restore it, or run again with --force"


def read_provenance(path: Path) -> dict[str, object]:
    """Read `provenance.json` of a run directory; empty if there is none."""
    file = path / PROVENANCE
    try:
        with opened(file) as content:
            found = json.loads(content.read())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise InputError.of(str(file), "provenance", "unreadable", first_line(error)) from error
    if wrong := provenance.damage(found):
        raise InputError.of(str(file), "provenance", wrong, f"expected {AGAIN}")
    return {key: value for key, value in found.items() if key != "seal"}


def write_provenance(path: Path, found: dict[str, object]) -> None:
    """Write `provenance.json` of a run directory."""
    write_whole(
        path / PROVENANCE, json.dumps(provenance.sealed(found), indent=2, ensure_ascii=False) + "\n"
    )


def checksums_in(found: Mapping[str, object]) -> dict[str, str]:
    """Return the SHA-256 of files that a provenance holds, by their names."""
    sums = found.get("sha256")
    return dict(sums) if isinstance(sums, dict) else {}


def failed_in(found: Mapping[str, object]) -> dict[str, str]:
    """Return why trials failed, by their ids, from a provenance."""
    failed = found.get("failed")
    return dict(failed) if isinstance(failed, dict) else {}


def read_verified(directory: Path, name: str) -> bytes:
    """Read a file of a run directory, and compare it with its checksum if there is one.

    The run may be unfinished. Raises InputError if the file was altered, OSError if it cannot be
    read.
    """
    with opened(directory / name) as file:
        content = file.read()
    known = checksums_in(read_provenance(directory)).get(name)
    if known is not None and hashlib.sha256(content).hexdigest() != known:
        raise InputError.of(str(directory / name), "file", _DAMAGED, AGAIN)
    return content


def fault_of(file: Path, known: str) -> str:
    """Say what is wrong with a file by its checksum; "" if nothing."""
    try:
        return "" if checksum(file) == known else _DAMAGED
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return first_line(error)


def is_altered(directory: Path, name: str) -> bool:
    """Whether a file of a run directory differs from its checksum in the provenance.

    False if there is no checksum.
    """
    known = checksums_in(read_provenance(directory)).get(name)
    return known is not None and fault_of(directory / name, known) != ""


def refuse_foreign(path: Path) -> None:
    """Refuse a run directory with something else in it than files and folders.

    Raises InputError with a fault for each.
    """
    allowed = "expected files and folders of the run itself; remove it"
    if found := sorted(islice(foreign(path), MOST_LISTED)):
        raise InputError(Fault(str(each), "file", what, allowed) for each, what in found)


def checksums_of(path: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of files of a run directory, by their names."""
    return {name: checksum(path / name) for name in names}


def raise_lack(error: Exception) -> None:
    """Raise MemoryError if an error of Arrow is for the lack of memory or of threads.

    It says nothing of the file that was read.
    """
    if isinstance(error, MemoryError) or "Failed to launch" in str(error):
        raise MemoryError(first_line(error)) from error


def first_line(error: BaseException) -> str:
    """First line of what went wrong, or its kind."""
    return (str(error).splitlines() or [type(error).__name__])[0]
