"""Traces: recorded messages that a source replays, by the digest of their text.

A plan names a trace by its digest; the run directory has its text once, under `traces`.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ethermeter.faults import InputError
from ethermeter.scenario import Envelope, Scenario, TraceArrivals

if TYPE_CHECKING:
    from ethermeter import _core

FOLDER = "traces"
"""Folder of a run directory with the text of each trace, as `<SHA-256>.csv`."""
MOST_MESSAGES = 1_000_000
"""Messages that a trace may have."""
LONGEST_TRACE_PS = 9_000 * 10**12
"""The longest time of a trace: 9000 s."""
_RATES = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
"""Rates of an envelope over the mean rate: the first, and one of the others."""
PS_PER_S = 1e12
Times = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trace:
    """Recorded messages.

    Parameters
    ----------
    times_ps
        When each message comes, from the begin of the recording, in ps; shape (messages,). At least
        two, and not all alike; they do not decrease.
    octets
        Length of each, shape (messages,); None if unknown.
    """

    times_ps: Times
    octets: Times | None = None

    @property
    def messages(self) -> int:
        """How many messages it has."""
        return len(self.times_ps)

    @property
    def span_ps(self) -> int:
        """Time from its first message to its last, in ps."""
        return int(self.times_ps[-1] - self.times_ps[0])

    @property
    def period_ps(self) -> int:
        """Time after which it comes again, with the mean time between its last and first, in ps."""
        return self.span_ps + self.span_ps // (self.messages - 1)

    @cached_property
    def text(self) -> str:
        """Its text: a header, and a message a line."""
        if self.octets is None:
            return "time_ps\n" + "".join([f"{time}\n" for time in self.times_ps.tolist()])
        rows = zip(self.times_ps.tolist(), self.octets.tolist(), strict=True)
        return "time_ps,length_B\n" + "".join([f"{time},{octets}\n" for time, octets in rows])

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of its text, in hexadecimal."""
        return hashlib.sha256(self.text.encode("ascii")).hexdigest()

    @cached_property
    def core(self) -> "_core.Trace":
        """The trace as the simulator takes it."""
        from ethermeter import _core

        return _core.Trace(self.text)

    def __reduce__(self) -> tuple[type["Trace"], tuple[Times, Times | None]]:
        return Trace, (self.times_ps, self.octets)

    def lengths(self) -> list[tuple[int, int]]:
        """Return its different lengths in octets, in rising order, each with how often it comes."""
        assert self.octets is not None, "a trace with lengths"
        octets, counts = np.unique(self.octets, return_counts=True)
        return list(zip(octets.tolist(), counts.tolist(), strict=True))

    def arrivals(
        self, *, repeat_ps: int | None, offset_ps: int | None, speed: float
    ) -> TraceArrivals:
        """Return it as the arrivals of a source; `offset_ps` None is drawn."""
        times = self.times_ps.astype(np.float64)
        gaps = np.diff(times)
        if repeat_ps is not None:
            gaps = np.append(gaps, float(repeat_ps - self.span_ps))
            times = np.append(times, times + repeat_ps)
        mean_ps = float(gaps.mean())
        return TraceArrivals(
            sha256=self.sha256,
            messages=self.messages,
            repeat_ps=repeat_ps,
            offset_ps=offset_ps,
            speed=speed,
            mean_ps=mean_ps / speed,
            scv=float(gaps.var() / mean_ps**2),
            envelope=_envelope(times, mean_ps, speed),
        )


NO_TRACES: Mapping[str, Trace] = MappingProxyType({})


def _envelope(
    times_ps: npt.NDArray[np.float64], mean_ps: float, speed: float
) -> tuple[Envelope, ...]:
    """Return the tightest bursts at two rates: the faster that lowers the bound most, and the mean.

    With n(s, t) messages from s to t, both included, it is the largest n(s, t) − rate · (t − s).
    """
    numbers = np.arange(1.0, len(times_ps) + 1)

    def burst(rate: float) -> float:
        above = numbers - rate * times_ps
        # Replayed times are rounded down to picoseconds: a window may be shorter by one.
        return float((above - np.minimum.accumulate(above)).max()) + 1 + rate * speed + 1e-6

    mean = 1 / mean_ps
    bursts = {factor: burst(factor * mean) for factor in _RATES}

    def saved(factor: float) -> float:
        """Area below the bound of the mean rate and above that of a faster one."""
        return (bursts[1.0] - bursts[factor]) ** 2 / (factor - 1)

    fast = max(_RATES[1:], key=saved)
    factors = (fast, 1.0) if bursts[fast] < bursts[1.0] else (1.0,)
    return tuple(
        Envelope(rate_per_s=factor * mean * speed * PS_PER_S, burst=bursts[factor])
        for factor in factors
    )


def digests(scenario: Scenario) -> tuple[str, ...]:
    """Return the digests of the traces that a scenario's flows replay, each once."""
    found = (flow.arrivals for flow in scenario.flows)
    return tuple(dict.fromkeys(of.sha256 for of in found if isinstance(of, TraceArrivals)))


class StoredTraces(Mapping[str, Trace]):
    """The traces of a run directory by their digests, each read and verified when it is needed.

    Raises InputError if one is missing or was altered.
    """

    def __init__(self, directory: Path, names: tuple[str, ...]) -> None:
        self._directory = directory
        self._names = names
        self._read: dict[str, Trace] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, sha256: str) -> Trace:
        if sha256 not in self._names:
            raise KeyError(sha256)
        if sha256 not in self._read:
            self._read[sha256] = _stored(self._directory / FOLDER / f"{sha256}.csv", sha256)
        return self._read[sha256]


def _stored(path: Path, sha256: str) -> Trace:
    allowed = "expected the file as the run wrote it; restore it, or run again with --force"
    try:
        data = path.read_bytes()
    except OSError as error:
        value = error.strerror or type(error).__name__
        raise InputError.of(str(path), "file", value, allowed) from None
    if hashlib.sha256(data).hexdigest() != sha256:
        wrong = "damaged: its SHA-256 differs from its name"
        raise InputError.of(str(path), "file", wrong, allowed)
    header, *lines = data.decode("ascii").splitlines()
    rows = np.array([line.split(",") for line in lines], np.int64)
    return Trace(rows[:, 0], rows[:, 1] if "," in header else None)
