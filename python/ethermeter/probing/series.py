"""Series: probes of a host again and again, in a directory; a series in it is continued.

`series.json` has what is measured and when the series began, `measurements.jsonl` one line a
measurement, appended whole and durably, `report.html` its page.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.probing.peers import Record
from ethermeter.store.files import write_whole

QUESTION, LINES, PAGE = "series.json", "measurements.jsonl", "report.html"
MOST_MEASUREMENTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Series:
    """A series of measurements in a directory.

    Parameters
    ----------
    directory
        Where it is kept.
    begun_s
        When it began, in s since 1970.
    every_s, for_s
        Time from one measurement to the next, and of all.

    """

    directory: Path
    begun_s: float
    every_s: float
    for_s: float

    @property
    def slots(self) -> int:
        """Number of measurements."""
        return max(1, math.ceil(self.for_s / self.every_s))

    def next_slot(self, now_s: float, *, after: int) -> int | None:
        """Return the first slot after another one that is not over; None after the last.

        A slot is over when the next one begins: what was missed while nothing ran stays missing.
        """
        slot = max(after + 1, math.floor((now_s - self.begun_s) / self.every_s))
        return slot if slot < self.slots else None

    def due_s(self, slot: int) -> float:
        """Return when a slot begins, in s since 1970."""
        return self.begun_s + slot * self.every_s

    def append(self, slot: int, found: Record) -> None:
        """Append a measurement, durably: one line in one write."""
        line = json.dumps({"slot": slot, **found}, ensure_ascii=False, allow_nan=False) + "\n"
        # After a crash within a write the last line has no end: it stays apart and is not read.
        path = self.directory / LINES
        torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            os.write(handle, (("\n" if torn else "") + line).encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self) -> Iterator[Record]:
        """Yield the measurements in order; lines cut short by a crash are left out."""
        path = self.directory / LINES
        if not path.exists():
            return
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if isinstance(found, dict) and isinstance(found.get("slot"), int):
                    yield found

    def write_page(self) -> Path:
        """Write the page, and return its path."""
        from ethermeter.report.series_page import Moment, series_page

        question = json.loads((self.directory / QUESTION).read_text(encoding="utf-8"))
        moments = []
        for found in self.read():
            values = {}
            for each in found.get("values", []):
                if each["metric"] in set(Metric):
                    values[(each["flow"], Metric(each["metric"]))] = (
                        _number(each["value"]),
                        _number(each["low"]),
                        _number(each["high"]),
                    )
            moments.append(Moment(found["at"], found.get("error"), values))
        path = self.directory / PAGE
        write_whole(path, series_page(question["to"], moments), within=self.directory)
        return path


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


@contextmanager
def opened(directory: Path, question: Record, *, every_s: float, for_s: float) -> Iterator[Series]:
    """Begin a series in a new directory, or continue the same one; one process at a time.

    Raises InputError if the directory holds something else.
    """
    if for_s / every_s > MOST_MEASUREMENTS:
        allowed = f"expected at most {MOST_MEASUREMENTS} measurements"
        raise InputError.of_argument("until", f"{for_s:g} s", allowed)
    path = directory / QUESTION
    wanted = {**question, "every_s": every_s, "for_s": for_s}
    if path.exists():
        try:
            there = json.loads(path.read_text(encoding="utf-8"))
            begun_s = float(there.pop("begun_s"))
        except (ValueError, KeyError, AttributeError, TypeError, OSError):
            allowed = "expected the file of a series"
            raise InputError.of(str(path), "(text)", "unreadable", allowed) from None
        if there != wanted:
            differs = next(key for key in [*wanted, *there] if wanted.get(key) != there.get(key))
            allowed = f"expected {there.get(differs)!r}, as the series has it, or another directory"
            raise InputError.of(str(path), differs, repr(wanted.get(differs)), allowed)
    else:
        if directory.exists() and any(directory.iterdir()):
            allowed = "expected a new directory, or that of a series"
            raise InputError.of_argument("out", str(directory), allowed)
        directory.mkdir(parents=True, exist_ok=True)
        begun_s = time.time()
        write_whole(path, json.dumps({**wanted, "begun_s": begun_s}, indent=1) + "\n")
    with path.open("rb") as lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except OSError:
            allowed = "expected a series that no other process continues"
            raise InputError.of_argument("out", str(directory), allowed) from None
        yield Series(directory, begun_s, every_s, for_s)


def wait_until(due_s: float, follow: Callable[[float], None]) -> None:
    """Wait until a time in s since 1970; `follow` is called each second with the time left."""
    while (left_s := due_s - time.time()) > 0:
        follow(left_s)
        time.sleep(min(1.0, left_s))
