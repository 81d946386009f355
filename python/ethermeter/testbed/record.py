"""Records of testbeds, by which they can be removed after their maker was killed."""

import fcntl
import os
import re
import secrets
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ethermeter.live_reports import RelayResult
from ethermeter.testbed.commands import TestbedError, run
from ethermeter.testbed.elements import KeptTestbed
from ethermeter.testbed.relay import await_result, is_running

RECORDS = Path("/run/ethermeter/testbeds")
"""Directory of the records; empty after a restart of the machine, as namespaces are gone too."""

_NAME = re.compile(r"em-[0-9]{1,10}-[0-9a-f]{4}")
_NAMESPACE = re.compile(_NAME.pattern + r"-(h[0-9]{1,3}|[sr][0-9]{1,3}|wires|control)")
_DRAFT = re.compile(r"em-([0-9]{1,10})-[0-9a-f]{4}\.draft")
_LONGEST_RECORD = 1 << 20
GRACE_S = 2.0
"""Time that processes on a testbed have to end after SIGTERM, and then after SIGKILL."""
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


def _remove(namespaces: list[str], result: Path | None = None) -> RelayResult | None:
    """Remove namespaces, and end the processes that go on in them.

    `result`: the file into which a relay among them will write its result, which is returned. All
    that can be removed is, before TestbedError says which processes could not be ended.
    """
    with _numbered(namespaces) as numbers:
        remove_namespaces(namespaces)
        found = None if result is None else await_result(result)
        left = _end_processes(numbers)
    if left:
        raise TestbedError(f"{namespaces[0]}: could not be ended: {', '.join(left)}")
    return found


@contextmanager
def _numbered(namespaces: list[str]) -> Iterator[set[tuple[int, int]]]:
    """Give the numbers of those namespaces that exist, which are nobody else's meanwhile."""
    handles: list[int] = []
    try:
        for namespace in filter(_NAMESPACE.fullmatch, namespaces):
            with suppress(OSError):
                handles.append(os.open(NAMESPACES / namespace, os.O_RDONLY | os.O_CLOEXEC))
        yield {_number(os.fstat(handle)) for handle in handles}
    finally:
        for handle in handles:
            os.close(handle)


def _number(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _end_processes(namespaces: Collection[tuple[int, int]]) -> list[str]:
    """End the processes in namespaces with these numbers; name those that go on.

    They get SIGTERM, and after a while SIGKILL, which also ends those that are stopped.
    """
    there: list[Path] = []
    for kind in (signal.SIGTERM, signal.SIGKILL):
        until_s = time.monotonic() + GRACE_S
        for process in (there := _processes_in(namespaces)):
            with suppress(ProcessLookupError):
                os.kill(int(process.name), kind)
        while there and time.monotonic() < until_s:
            time.sleep(0.02)
            there = _processes_in(namespaces)
    return [f"process {process.name} ({_command(process)})" for process in there]


def _processes_in(namespaces: Collection[tuple[int, int]]) -> list[Path]:
    """Return the processes in these namespaces, less this one and those that started it."""
    own: set[int] = set()
    process = os.getpid()
    while process > 1:
        own.add(process)
        # The number of the parent is the second field after the name, which is in brackets.
        status = Path("/proc", str(process), "stat").read_text(encoding="utf-8", errors="replace")
        process = int(status.rpartition(")")[2].split()[1])
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if _number((each / "ns" / "net").stat()) in namespaces and int(each.name) not in own:
                found.append(each)
    return found


def _command(process: Path) -> str:
    with suppress(OSError):
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    return "ended"


def _virtual_interfaces(namespace: str) -> list[str]:
    try:
        text = run(["ip", "-n", namespace, "-json", "link", "show", "type", "veth"]) or "[]"
        return [each.ifname for each in msgspec.json.decode(text, type=list[_Interface])]
    except (TestbedError, ValueError):
        return []


def remove_leftovers(records: Path = RECORDS, *, names: Collection[str] | None = None) -> list[str]:
    """Remove testbeds whose makers have ended, and return their names; only `names`, if given."""
    for draft in records.glob("*.draft"):
        # A maker that was killed before its record was complete has made nothing else; of a record
        # that was to be kept there is the whole one, too.
        made = _DRAFT.fullmatch(draft.name)
        if made is not None and not Path("/proc", made[1]).exists():
            draft.unlink(missing_ok=True)
    removed = []
    for path, content in _left(records):
        if names is None or path.stem in names:
            _remove(_recorded(path.stem, content))
            path.with_suffix(".wires").unlink(missing_ok=True)
            path.with_suffix(".control").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            removed.append(path.stem)
    return removed


def unfinished(records: Path = RECORDS) -> list[str]:
    """Return the names of testbeds whose makers ended before they had made or removed them."""
    return [path.stem for path, _ in _left(records)]


def _left(records: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the records of testbeds whose makers have ended, each held meanwhile, and contents."""
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
            if _kept(content) is None:
                yield path, content
        finally:
            os.close(lock)


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
    relay was killed or stopped. Processes that go on in it are ended; TestbedError names those that
    could not be.
    """
    if name not in kept(records):
        raise KeyError(name)
    path = records / f"{name}.json"
    namespaces = _recorded(name, path.read_bytes())
    file = path.with_suffix(".wires")
    # A relay that has ended has written its result; one that was killed never will.
    has_result = is_running(f"{name}-wires") or (file.exists() and file.stat().st_size > 0)
    result = _remove(namespaces, file if has_result else None)
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
