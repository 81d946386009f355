"""Files of recorded messages: CSV with a header, or a capture, as traces.

A CSV file has one column of times and perhaps one of lengths (`COLUMNS`). Times of `time_…` count
from the begin of the source, those of `epoch_…` from the first row. Of a capture (pcap, pcapng) the
first frame is at 0, and a frame counts with its check sequence, which captures leave out.
"""

import csv
import io
import ipaddress
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ethermeter.faults import Fault, InputError, choices, shown
from ethermeter.traces import LONGEST_TRACE_PS, MOST_MESSAGES, Times, Trace

LARGEST_CSV_BYTES = 64_000_000
"""The largest CSV file that is read."""
LEAST_OCTETS, MOST_OCTETS = 19, 65_507
"""The shortest and the longest frame of a trace, destination address to check sequence."""
MOST_LENGTHS = 2000
"""Different lengths that a trace may have."""
MOST_FAULTS = 20
"""TableError rows that are reported."""
_DIGITS = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
TIMES = tuple(f"{of}_{unit}" for of in ("time", "epoch") for unit in _DIGITS)
LENGTH = "length_B"
COLUMNS = (*TIMES, LENGTH)
_CAPTURES = {
    bytes.fromhex(magic) for magic in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")
}
_HEADER = (
    "expected a header with a column of times, such as time_s or time_us, and perhaps "
    f"{LENGTH}; or a capture"
)

Ends = tuple[str | None, str | None]
"""Addresses of the sender and the receiver of the packets that are taken of a capture."""


class TraceFiles:
    """The traces of an experiment: each file is read once.

    Parameters
    ----------
    folder
        Where files named in the experiment are looked for.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.traces: dict[str, Trace] = {}
        """Traces that were read, by the SHA-256 of their text."""
        self._read: dict[tuple[str, Ends], Trace | InputError] = {}

    def trace(self, name: str, ends: Ends = (None, None)) -> Trace:
        """Read a trace from a file, which faults call `name`.

        Raises
        ------
        InputError
            With every row that is wrong, up to `MOST_FAULTS`.

        """
        key = name, ends
        if key not in self._read:
            try:
                trace = read_trace(self.folder / name, name=name, ends=ends)
                self._read[key] = self.traces.setdefault(trace.sha256, trace)
            except InputError as error:
                self._read[key] = error
        found = self._read[key]
        if isinstance(found, InputError):
            raise InputError(found.faults)
        return found


def read_trace(path: Path, *, name: str, ends: Ends = (None, None)) -> Trace:
    """Read a trace from a CSV file or a capture, which faults call `name`; errors as of a list."""
    try:
        if not path.is_file():
            value = "a directory" if path.is_dir() else "missing"
            allowed = "expected a CSV file of times, or a capture (pcap, pcapng)"
            raise InputError.of(name, "(file)", value, allowed)
        with path.open("rb") as file:
            begin = file.read(4)
            if begin in _CAPTURES:
                return _checked(*_capture(path, name, ends), name=name)
            data = begin + file.read(LARGEST_CSV_BYTES + 1 - len(begin))
    except OSError as error:
        value = error.strerror or type(error).__name__
        raise InputError.of(name, "(file)", value, "expected a readable file") from None
    if any(ends):
        allowed = "expected a capture with from or to: a CSV file has no addresses"
        raise InputError.of(name, "(file)", "no capture", allowed)
    if len(data) > LARGEST_CSV_BYTES:
        allowed = f"expected at most {LARGEST_CSV_BYTES} bytes"
        raise InputError.of(name, "(file)", "too large", allowed)
    try:
        text = data.decode("utf-8-sig")
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        return _checked(*_Rows(rows, name).read(), name=name)
    except UnicodeDecodeError as error:
        value = f"byte 0x{data[error.start]:02x} in line {data[: error.start].count(10) + 1}"
        raise InputError.of(name, "(file)", value, "expected UTF-8 text, or a capture") from None
    except csv.Error as error:
        raise InputError.of(name, "(file)", str(error), "expected a CSV file") from None


def _checked(times: Times, octets: Times | None, *, name: str) -> Trace:
    """Return a trace whose rows are right one by one."""
    count = len(times)
    if not 2 <= count <= MOST_MESSAGES:
        value = f"{count if count <= MOST_MESSAGES else 'more'} messages"
        allowed = f"expected from 2 to {MOST_MESSAGES}"
        raise InputError.of(name, "(file)", value, allowed)
    if times[0] == times[-1]:
        allowed = "expected messages at different times"
        raise InputError.of(name, "(file)", "all messages at one time", allowed)
    trace = Trace(times, octets)
    if octets is not None and (lengths := len(trace.lengths())) > MOST_LENGTHS:
        allowed = f"expected at most {MOST_LENGTHS} different lengths"
        raise InputError.of(name, LENGTH, f"{lengths} lengths", allowed)
    return trace


class _Column(NamedTuple):
    name: str
    place: int


class _Rows:
    """The rows of a CSV file on their way to a trace."""

    def __init__(self, rows: "csv._reader", name: str) -> None:  # type: ignore[name-defined,unused-ignore]
        self._rows = rows
        self._name = name
        self._faults: list[Fault] = []

    def read(self) -> tuple[Times, Times | None]:
        time, length = self._columns(next(iter(self._rows), []))
        digits = _DIGITS[time.name.partition("_")[2]]
        width = 2 if length is not None else 1
        times: list[int] = []
        octets: list[int] = []
        first, before = 0, 0
        is_epoch = time.name.startswith("epoch")
        for row in self._rows:
            if not row:
                continue
            if len(row) != width:
                self._wrong("", ",".join(row), f"expected {width} column{'s' * (width > 1)}")
                continue
            ps = _ps(row[time.place], digits)
            if ps is None:
                allowed = "expected a number, 0 or above, without a unit"
                self._wrong(time.name, row[time.place], allowed)
                continue
            if ps < before:
                allowed = "expected a time no earlier than the one before: times must not decrease"
                self._wrong(time.name, row[time.place], allowed)
            before = ps
            if is_epoch and not times:
                first = ps
            if ps - first > LONGEST_TRACE_PS:
                allowed = f"expected at most {LONGEST_TRACE_PS / 1e12:g} s"
                if not is_epoch:
                    allowed += (
                        ' from the begin of the source; columns "epoch_…" count from the first'
                    )
                self._wrong(time.name, row[time.place], allowed)
                raise InputError(self._faults)
            times.append(ps - first)
            if length is not None:
                octets.append(self._octets(row[length.place]))
            if len(times) > MOST_MESSAGES:
                break
        if self._faults:
            raise InputError(self._faults)
        lengths = None if length is None else np.array(octets, np.int64)
        return np.array(times, np.int64), lengths

    def _columns(self, header: Sequence[str]) -> tuple[_Column, _Column | None]:
        """Return where times and lengths are."""
        names = [cell.strip() for cell in header]
        if not names:
            raise InputError.of(self._name, "(file)", "empty", _HEADER)
        for name in names:
            if name not in COLUMNS:
                allowed = f"{_HEADER}. {choices(name, COLUMNS, 'Columns are ')}"
                raise InputError.of(self._name, "line 1", shown(name), allowed)
        times = [_Column(name, at) for at, name in enumerate(names) if name != LENGTH]
        lengths = [_Column(name, at) for at, name in enumerate(names) if name == LENGTH]
        if len(times) != 1 or len(lengths) > 1:
            raise InputError.of(self._name, "line 1", shown(",".join(names)), _HEADER)
        return times[0], lengths[0] if lengths else None

    def _octets(self, cell: str) -> int:
        text = cell.strip()
        octets = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        if not LEAST_OCTETS <= octets <= MOST_OCTETS:
            allowed = f"expected a whole number of octets from {LEAST_OCTETS} to {MOST_OCTETS}"
            self._wrong(LENGTH, cell, allowed)
        return octets

    def _wrong(self, column: str, value: str, allowed: str) -> None:
        key = f"line {self._rows.line_num}" + (f", {column}" if column else "")
        self._faults.append(Fault(self._name, key, shown(value), allowed))
        if len(self._faults) == MOST_FAULTS:
            raise InputError(self._faults)


def _ps(cell: str, digits: int) -> int | None:
    """Return a time in ps, rounded to the nearest; `digits` is how many decimal places one has."""
    text = cell.strip()
    scale = int(10**digits)
    whole, _, part = text.partition(".")
    if whole.isascii() and whole.isdigit() and len(whole) < 20 and len(part) <= digits:
        if not part:
            return int(whole) * scale
        if part.isascii() and part.isdigit():
            return int(whole) * scale + int(part.ljust(digits, "0"))
    # Decimal takes underscores and digits of every script, too.
    is_plain = len(text) <= 40 and text.isascii() and "_" not in text
    try:
        number = Decimal(text if is_plain else "NaN")
        if not number.is_finite() or number < 0 or number.adjusted() > 20:
            return None
        return int((number * scale).to_integral_value())
    except InvalidOperation:
        return None


def _capture(path: Path, name: str, ends: Ends) -> tuple[Times, Times]:
    """Read the frames of a capture, in the order of time."""
    from ethermeter import _core

    for key, address in zip(("from", "to"), ends, strict=True):
        if address is not None and not _is_address(address):
            allowed = "expected an IP address, such as 10.0.0.1"
            raise InputError.of(name, key, shown(address), allowed)
    source, destination = ends
    try:
        times, octets = _core.capture_frames(
            path, most=MOST_MESSAGES, source=source, destination=destination
        )
    except ValueError as error:
        allowed = "expected a complete capture"
        raise InputError.of(name, "(file)", str(error), allowed) from None
    if not len(times):
        what = "frames between these addresses" if any(ends) else "frames"
        raise InputError.of(name, "(file)", f"no {what}", "expected at least 2")
    if len(times) > MOST_MESSAGES:
        allowed = f"expected at most {MOST_MESSAGES}; select some by from and to"
        raise InputError.of(name, "(file)", "more frames", allowed)
    if octets.max() > MOST_OCTETS:
        allowed = (
            f"expected frames of at most {MOST_OCTETS} B; capture without segmentation offload"
        )
        raise InputError.of(name, "(file)", f"a frame of {octets.max()} B", allowed)
    order = np.argsort(times, kind="stable")
    since_ns = times[order] - times[order[0]]
    if since_ns[-1] > LONGEST_TRACE_PS // 1000:
        allowed = f"expected at most {LONGEST_TRACE_PS / 1e12:g} s"
        raise InputError.of(name, "last time", f"{since_ns[-1] / 1e9:g} s", allowed)
    return since_ns * 1000, octets[order].astype(np.int64)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
