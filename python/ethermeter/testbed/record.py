"""Records of testbeds, by which they can be removed after their maker was killed."""

import fcntl
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ethermeter.testbed.commands import TestbedError, run
from ethermeter.testbed.elements import KeptTestbed
from ethermeter.testbed.relay import RelayResult, await_result, is_running

RECORDS = Path("/run/ethermeter/testbeds")
"""Directory of the records; empty after a restart of the machine, as namespaces are gone too."""

_NAME = re.compile(r"em-[0-9]{1,10}-[0-9a-f]{4}")
_NAMESPACE = re.compile(_NAME.pattern + r"-(h[0-9]{1,3}|s[0-9]{1,3}|switch|wires|control)")
_DRAFT = re.compile(r"em-([0-9]{1,10})-[0-9a-f]{4}\.draft")
_LONGEST_RECORD = 1 << 20
NAMESPACES = Path("/run/netns")
"""Directory of named namespaces."""


class _Content(msgspec.Struct, frozen=True, omit_defaults=True):
    namespaces: tuple[str, ...]
    kept: KeptTestbed | None = None


class _Interface(msgspec.Struct, frozen=True):
    ifname: str


@dataclass(frozen=True, slots=True)
class Record:
    """A testbed's record, locked while its maker runs.

    The kernel releases the lock when the process ends for any reason, so a testbed in use is never
    taken for a leftover, even if process ids are reused.
    """

    name: str
    path: Path
    lock: int
    """Descriptor of the locked file."""

    @classmethod
    def make(cls, suffixes: list[str], records: Path = RECORDS) -> "Record":
        """Record a testbed with namespaces of these suffixes, such as `h1`, that will be made."""
        name = f"em-{os.getpid()}-{secrets.token_hex(2)}"
        content = _Content(tuple(f"{name}-{suffix}" for suffix in suffixes))
        path = records / f"{name}.json"
        try:
            records.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".draft")
            lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(lock, msgspec.json.encode(content))
            draft.rename(path)  # visible only once it is locked
        except OSError as error:
            raise TestbedError(f"{path}: {error}") from error
        return cls(name, path, lock)

    @property
    def control(self) -> Path:
        """The socket on which its relay listens for requests."""
        return self.path.with_suffix(".control")

    @property
    def wires(self) -> Path:
        """The file into which a relay that outlives its maker writes its result."""
        return self.path.with_suffix(".wires")

    def keep(self, testbed: KeptTestbed) -> None:
        """Let the testbed outlive this process, until `remove_kept`."""
        content = msgspec.json.decode(self.path.read_bytes(), type=_Content)
        draft = self.path.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(msgspec.structs.replace(content, kept=testbed)))
        draft.rename(self.path)
        os.close(self.lock)

    def close(self) -> None:
        """Remove the record of a testbed that has been removed."""
        self.wires.unlink(missing_ok=True)
        self.control.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
        os.close(self.lock)


def remove_namespaces(namespaces: list[str]) -> None:
    """Remove those of the namespaces that exist, with their interfaces.

    Names that are none of testbeds are refused, and all other namespaces are removed, before
    `TestbedError` is raised.
    """
    faults = []
    for namespace in namespaces:
        if not _NAMESPACE.fullmatch(namespace):
            faults.append(f"{namespace!r}: not the name of a testbed's namespace")
        elif (NAMESPACES / namespace).exists():
            # A namespace without a name exists while a process is in it: its interfaces go first.
            for interface in _virtual_interfaces(namespace):
                # The other end may have been removed with its own namespace in the meantime.
                with suppress(TestbedError):
                    run(["ip", "-n", namespace, "link", "delete", interface])
            try:
                run(["ip", "netns", "delete", namespace])
            except TestbedError as error:
                faults.append(str(error))
    if faults:
        raise TestbedError("; ".join(faults))


def _virtual_interfaces(namespace: str) -> list[str]:
    try:
        text = run(["ip", "-n", namespace, "-json", "link", "show", "type", "veth"]) or "[]"
        return [each.ifname for each in msgspec.json.decode(text, type=list[_Interface])]
    except (TestbedError, ValueError):
        return []


def remove_leftovers(records: Path = RECORDS) -> list[str]:
    """Remove testbeds whose makers have ended, and return their names."""
    for draft in records.glob("*.draft"):
        # A maker that was killed before its record was complete has made nothing else; of a record
        # that was to be kept there is the whole one, too.
        made = _DRAFT.fullmatch(draft.name)
        if made is not None and not Path("/proc", made[1]).exists():
            draft.unlink(missing_ok=True)
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
            continue  # its maker runs
        else:
            content = os.read(lock, _LONGEST_RECORD)
            if _kept(content) is not None:
                continue
            remove_namespaces(_recorded(path.stem, content))
            path.with_suffix(".wires").unlink(missing_ok=True)
            path.with_suffix(".control").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            removed.append(path.stem)
        finally:
            os.close(lock)
    return removed


def kept(records: Path = RECORDS) -> dict[str, KeptTestbed]:
    """Return the testbeds that outlive their makers, by name."""
    found = {}
    for path in sorted(records.glob("*.json")) if records.is_dir() else []:
        with suppress(FileNotFoundError):
            testbed = _kept(path.read_bytes()) if _NAME.fullmatch(path.stem) else None
            if testbed is not None:
                found[path.stem] = testbed
    return found


def control_of(name: str, records: Path = RECORDS) -> Path | None:
    """Return the socket on which the relay of a testbed listens; None if it has none."""
    path = records / f"{name}.control"
    return path if path.exists() else None


def remove_kept(name: str, records: Path = RECORDS) -> RelayResult | None:
    """Remove a testbed that outlives its maker; raise `KeyError` if there is none of that name.

    Returns the result of its relay (docs/reference/testbed-counts.md); None if it has none, or the
    relay was killed.
    """
    if name not in kept(records):
        raise KeyError(name)
    path = records / f"{name}.json"
    namespaces = _recorded(name, path.read_bytes())
    file = path.with_suffix(".wires")
    # A relay that has ended has written its result; one that was killed never will.
    has_result = is_running(f"{name}-wires") or (file.exists() and file.stat().st_size > 0)
    remove_namespaces(namespaces)
    result = await_result(file) if has_result else None
    file.unlink(missing_ok=True)
    path.with_suffix(".control").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    return result


def _kept(content: bytes) -> KeptTestbed | None:
    try:
        return msgspec.json.decode(content, type=_Content).kept
    except ValueError:
        return None


def _recorded(name: str, content: bytes) -> list[str]:
    """Return the namespaces of a record; of a damaged record those that exist under its name."""
    with suppress(ValueError):
        namespaces = msgspec.json.decode(content, type=_Content).namespaces
        if all(namespace.startswith(f"{name}-") for namespace in namespaces):
            return list(namespaces)
    return [path.name for path in NAMESPACES.glob(f"{name}-*")]
