"""What was made and by whom, so that it can be removed after its maker was killed."""

import fcntl
import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethermeter.testbed.commands import TestbedError, run
from ethermeter.testbed.relay import is_running, last_words

RECORDS = Path("/run/ethermeter/testbeds")
"""Where records lie; gone after a restart of the machine, as namespaces are."""

_NAME = re.compile(r"em-[0-9]{1,10}-[0-9a-f]{4}")
_NAMESPACE = re.compile(_NAME.pattern + r"-(h[0-9]{1,3}|s[0-9]{1,3}|switch|wires|control)")
_NAMESPACES = Path("/run/netns")
_LONGEST_RECORD = 1 << 20
NAMESPACES = _NAMESPACES
"""Where namespaces have their names."""


@dataclass(frozen=True, slots=True)
class Record:
    """A testbed's record, locked as long as its maker lives.

    The lock goes with the process, whatever ends it; so nobody can take a living testbed for a
    leftover, even where process numbers come round again.
    """

    name: str
    path: Path
    lock: int
    """Descriptor of the locked file."""

    @classmethod
    def make(cls, suffixes: list[str], records: Path = RECORDS) -> "Record":
        """Record a testbed that is about to be made.

        Parameters
        ----------
        suffixes
            What its namespaces are called after its name, such as `h1`.
        records
            Where records lie.

        Raises
        ------
        TestbedError
            If it cannot be written.

        """
        name = f"em-{os.getpid()}-{secrets.token_hex(2)}"
        content = json.dumps({"namespaces": [f"{name}-{suffix}" for suffix in suffixes]})
        path = records / f"{name}.json"
        try:
            records.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".draft")
            lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(lock, content.encode())
            draft.rename(path)  # it gets its name only now that it is locked
        except OSError as error:
            raise TestbedError(f"{path}: {error}") from error
        return cls(name, path, lock)

    @property
    def wires(self) -> Path:
        """The file in which a relay that stays says at its end what happened."""
        return _wires_of(self.path)

    def keep(self, about: Mapping[str, Any]) -> None:
        """Let the testbed outlive this process, until somebody removes it by its name.

        Parameters
        ----------
        about
            What there is to tell of it.

        """
        content = json.loads(self.path.read_bytes()) | {"kept": about}
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(content), encoding="utf-8")
        draft.rename(self.path)
        os.close(self.lock)

    def close(self) -> None:
        """Forget the testbed, which has been removed."""
        self.wires.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
        os.close(self.lock)


def _wires_of(path: Path) -> Path:
    return path.with_suffix(".wires")


def remove_namespaces(namespaces: list[str]) -> None:
    """Remove those namespaces that exist, and what they hold.

    Parameters
    ----------
    namespaces
        Their names. Others than those of testbeds are refused.

    Raises
    ------
    TestbedError
        If one cannot be removed; the others are.

    """
    faults = []
    for namespace in namespaces:
        if not _NAMESPACE.fullmatch(namespace):
            faults.append(f"{namespace!r}: not the name of a testbed's namespace")
        elif (_NAMESPACES / namespace).exists():
            # A namespace lives on without its name as long as a process is in it; its interfaces
            # must not.
            for interface in _virtual_interfaces(namespace):
                with suppress(
                    TestbedError
                ):  # the other end may have gone with its own namespace in the meantime
                    run(["ip", "-n", namespace, "link", "delete", interface])
            try:
                run(["ip", "netns", "delete", namespace])
            except TestbedError as error:
                faults.append(str(error))
    if faults:
        raise TestbedError("; ".join(faults))


def _virtual_interfaces(namespace: str) -> list[str]:
    try:
        return [
            link["ifname"]
            for link in json.loads(
                run(["ip", "-n", namespace, "-json", "link", "show", "type", "veth"]) or "[]"
            )
        ]
    except (TestbedError, ValueError, KeyError, TypeError):
        return []


def remove_leftovers(records: Path = RECORDS) -> list[str]:
    """Remove testbeds whose makers have gone.

    Parameters
    ----------
    records
        Where records lie.

    Returns
    -------
    :
        Names of the testbeds that were removed.

    Raises
    ------
    TestbedError
        If something is left that cannot be removed.

    """
    removed = []
    for path in sorted(records.glob("*.json")) if records.is_dir() else []:
        if not _NAME.fullmatch(path.stem):
            continue
        try:
            lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # its maker has just removed it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its maker lives
        else:
            content = os.read(lock, _LONGEST_RECORD)
            if _told(content) is not None:
                continue  # it was made to stay
            remove_namespaces(_recorded(path.stem, content))
            _wires_of(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            removed.append(path.stem)
        finally:
            os.close(lock)
    return removed


def kept(records: Path = RECORDS) -> dict[str, dict[str, Any]]:
    """Find testbeds that were made to stay: by name, what there is to tell of each."""
    found = {}
    for path in sorted(records.glob("*.json")) if records.is_dir() else []:
        with suppress(FileNotFoundError):
            about = _told(path.read_bytes()) if _NAME.fullmatch(path.stem) else None
            if about is not None:
                found[path.stem] = about
    return found


def remove_kept(name: str, records: Path = RECORDS) -> dict[str, Any] | None:
    """Remove a testbed that was made to stay.

    Returns
    -------
    :
        What happened on its relayed wires (docs/live.md); nothing if it had none, or their relay
        had been killed.

    Raises
    ------
    KeyError
        If there is none of that name.
    TestbedError
        If it cannot be removed.

    """
    if name not in kept(records):
        raise KeyError(name)
    path = records / f"{name}.json"
    namespaces = _recorded(name, path.read_bytes())
    says = _wires_of(path)
    # One that is ended already has said it; of one that was killed there is nothing to wait for.
    had_words = is_running(f"{name}-wires") or (says.exists() and says.stat().st_size > 0)
    remove_namespaces(namespaces)
    told = last_words(says) if had_words else None
    says.unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    return told


def _told(content: bytes) -> dict[str, Any] | None:
    """Return what a record tells of a testbed that was made to stay; nothing of any other."""
    try:
        about = json.loads(content).get("kept")
    except (ValueError, AttributeError):
        return None
    return about if isinstance(about, dict) else None


def _recorded(name: str, content: bytes) -> list[str]:
    """Return the namespaces of a record that are its own; a damaged record has those that exist
    under its name.
    """
    try:
        namespaces = json.loads(content)["namespaces"]
        if all(
            isinstance(namespace, str) and namespace.startswith(f"{name}-")
            for namespace in namespaces
        ):
            return list(namespaces)
    except (ValueError, KeyError, TypeError):
        pass
    return [path.name for path in _NAMESPACES.glob(f"{name}-*")]
