"""Points: what is measured, by real hosts on an emulated segment, and simulated again and again."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import ethermeter as em
from ethermeter import _core
from ethermeter.counts import Counts
from ethermeter.engines.live import Captures, Local
from ethermeter.execution import Execution, Progress, execute
from ethermeter.live_reports import SenderCounts
from ethermeter.store.measured import read_result
from ethermeter.store.result import Result
from ethermeter.trial import Trial, core_trial
from msgspec import structs

from benches.emulation.replay import is_same_replayed

STATIONS = (2, 5, 10, 24)
OCTETS = (64, 512, 1518)
SATURATED = "saturated"
ARRIVALS = {SATURATED: '"saturated"', "poisson": "{ poisson_load = 0.5 }"}
EXPERIMENT = """\
title = "Emulated against simulated"
seed = {seed}
series = "{name}"
[segment]
standard = "ieee-10"
length = "500 m"
[[stations]]
name = "host"
count = {stations}
frames = "{octets} B"
arrivals = {arrivals}
[phases]
settle = "100 ms"
transmit = "{transmit_ms} ms"
measure = "last {measure_ms} ms"
drain = "0 ms"
[run]
engines = ["live"]
replications = 1
batches = 2
"""
BEFORE_MS = 500
"""Time of transmission before the measured window."""
MOST_SHIFT_PS = 50_000_000
"""Shift of simulated stations at most: about the lateness of real senders."""


@dataclass(frozen=True, slots=True)
class Point:
    """Stations that send frames of one length."""

    stations: int
    octets: int
    arrivals: str

    @property
    def name(self) -> str:
        """Name of the point."""
        return f"{self.arrivals}-{self.octets}-{self.stations}"

    def text(self, *, measure_s: float, seed: int) -> str:
        """Return its experiment file."""
        measure_ms = round(measure_s * 1000)
        return EXPERIMENT.format(
            name=self.name,
            seed=seed,
            stations=self.stations,
            octets=self.octets,
            arrivals=ARRIVALS[self.arrivals],
            transmit_ms=BEFORE_MS + measure_ms,
            measure_ms=measure_ms,
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """A point that was measured: the counts of its medium, and the result of the test."""

    trial: Trial
    counts: Counts
    result: Result
    is_same_replayed: bool | None = None
    """Whether a simulation of the frames as they came to the cards counts the same; None for
    saturated stations, and where the capture dropped frames.
    """

    @property
    def late_share(self) -> float:
        """Share of the frames that were sent more than 5 us late; 0 without arrivals in time."""
        pacings = [sender.pacing for sender in self._senders()]
        late = sum(of.frames * (1 - (of.share_on_time or 0.0)) for of in pacings)
        return late / max(1, sum(of.frames for of in pacings))

    def _senders(self) -> list[SenderCounts]:
        return [
            flow.sending.counted
            for flow in self.result.flows.values()
            if flow.sending is not None and isinstance(flow.sending.counted, SenderCounts)
        ]

    def late_send_us(self, share: float) -> float:
        """Quantile of the lateness of senders, over all of them; 0 without arrivals in time."""
        buckets = sorted(
            (high, count) for of in self._senders() for _, high, count in of.pacing.lateness.buckets
        )
        wanted = share * sum(count for _, count in buckets)
        seen = 0
        for high, count in buckets:
            seen += count
            if seen >= wanted:
                return high / 1e6
        return 0.0


def measure(
    points: list[Point], *, measure_s: float, seed: int, follow: Callable[[Progress], None]
) -> list[Measured]:
    """Measure points one after the other; alike ones, in a row, on one testbed."""
    found: list[Measured] = []
    for is_saturated, alike in itertools.groupby(points, lambda of: of.arrivals == SATURATED):
        with TemporaryDirectory(prefix="ethermeter-emulation-") as folder:
            files = []
            for point in alike:
                files.append(Path(folder, f"{point.name}.toml"))
                files[-1].write_text(point.text(measure_s=measure_s, seed=seed), encoding="utf-8")
            found += _measured(files, None if is_saturated else Captures(), follow)
    return found


def _measured(
    files: list[Path], captures: Captures | None, follow: Callable[[Progress], None]
) -> Iterator[Measured]:
    """Measure files on one testbed, and simulate the frames that were captured."""
    loaded = em.load(*files, name="emulation")
    plan = loaded.plan()
    run = files[0].with_name("run")
    execute(
        plan,
        loaded.experiments,
        directory=run,
        options=Execution(),
        follow=follow,
        place=Local("testbed", captures=captures),
    )
    for trial in plan.trials:
        result = read_result(run, trial.id)
        medium = result.segment
        if medium is None or medium.counts is None:
            raise RuntimeError(f"{trial.id}: the medium counted nothing")
        is_same = None if captures is None else is_same_replayed(trial, medium, run)
        yield Measured(trial, _core.read_counts(medium.counts), result, is_same)


def simulate(trial: Trial, *, runs: int) -> Iterator[Counts]:
    """Simulate a trial with other seeds."""
    for number in range(1, runs + 1):
        yield _core.simulate_trial(core_trial(trial.scenario, seed=trial.seed + number))


def repeat(trial: Trial, *, runs: int) -> Iterator[Counts]:
    """Simulate a trial with its own seed, each station beginning up to `MOST_SHIFT_PS` later.

    The arrivals are the same but for this shift, which differs from run to run; who collides with
    whom soon is another matter of chance.
    """
    scenario = trial.scenario
    for number in range(1, runs + 1):
        shift_ps = MOST_SHIFT_PS * number // runs
        phases = structs.replace(scenario.phases, spread_ps=shift_ps)
        changed = structs.replace(scenario, phases=phases)
        yield _core.simulate_trial(core_trial(changed, seed=trial.seed))
