"""Speed of the simulator: delivered frames per CPU-second, in this process and on one thread."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from ethermeter.counts import Counts, Numbers

from benches.scenario import LENGTHS, LONG, LONG_NET, NETS, PS_PER_S, SHORT, Length, Net, trial_1988

STATIONS = (1, 2, 5, 24)
RUNS = 5
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Effort:
    """How long the benchmarks take: the full measure, or enough to see that they work."""

    runs: int
    simulated_s: dict[Length, int]
    reference_s: int
    peers_cpu_s: float
    """CPU time, start-up apart, that a peer's run takes at least."""
    switched_frames: int
    """Frames that the hosts of a switched network send, all together."""
    judged: bool
    """Whether the runs are long enough to be held against a target."""


FULL = Effort(RUNS, {SHORT: 600, LONG: 3000}, 20, 2.0, 3 * MILLION, judged=True)
QUICK = Effort(1, {SHORT: 5, LONG: 25}, 1, 0.1, 30_000, judged=False)


@dataclass(frozen=True, slots=True)
class Timing:
    """What several runs of one trial gave."""

    rates: tuple[float, ...]
    """Delivered frames per CPU-second, run by run."""
    frames: int
    attempts_per_frame: float
    utilisation: float
    frames_per_simulated_s: float

    @property
    def best(self) -> float:
        """The highest rate: other load on the machine can only lower it."""
        return max(self.rates)

    @property
    def median(self) -> float:
        """The middle rate."""
        return median(self.rates)


def time_runs(
    trial: str, *, delivered: Callable[[Counts], Numbers], runs: int
) -> tuple[tuple[float, ...], Counts]:
    """Time a trial, given as JSON: delivered per CPU-second, run by run, and the counts of each.

    `delivered` returns the counts of entities whose sum is what was delivered.
    """
    from ethermeter._core import simulate_trial

    rates = []
    for _ in range(runs):
        begun_s = time.process_time()
        found = simulate_trial(trial)
        rates.append(int(delivered(found).sum()) / (time.process_time() - begun_s))
    return tuple(rates), found


def time_trial(trial: str, *, runs: int) -> Timing:
    """Time a trial of a segment, given as JSON, `runs` times."""
    rates, found = time_runs(trial, delivered=lambda found: found.stations.frames, runs=runs)
    frames, collisions = int(found.stations.frames.sum()), int(found.stations.collisions.sum())
    return Timing(
        rates=rates,
        frames=frames,
        attempts_per_frame=(frames + collisions) / frames,
        utilisation=int(found.stations.charged_ps.sum()) / found.window_ps,
        frames_per_simulated_s=frames / (found.window_ps / PS_PER_S),
    )


def target(net: Net, *, stations: int, length: Length) -> float | None:
    """Return the target of delivered frames per CPU-second on the long net; None without one."""
    if net != LONG_NET:
        return None
    if stations <= 2:
        return 30.0 * MILLION
    if stations == 24:
        return (15.0 if length == SHORT else 5.0) * MILLION
    return None


def measure_speed(effort: Effort, *, follow: Callable[[str], None]) -> list[dict[str, Any]]:
    """Time the simulator on every net, number of stations and length; a row for each trial.

    `met` is None without a target.
    """
    from ethermeter._core import simulate_trial

    # The first trial of a process pays for pages and caches that all others find warm.
    simulate_trial(trial_1988(LONG_NET, stations=24, length=SHORT, simulated_s=5))
    rows = []
    for net, stations, length in itertools.product(NETS, STATIONS, LENGTHS):
        follow(f"simulator: {net.name} net, {stations} stations, {length.name}")
        simulated_s = effort.simulated_s[length]
        trial = trial_1988(net, stations=stations, length=length, simulated_s=simulated_s)
        timing = time_trial(trial, runs=effort.runs)
        aim = target(net, stations=stations, length=length)
        rows.append(
            {
                "net": net.name,
                "round_trip_us": net.round_trip_us,
                "stations": stations,
                "length": length.name,
                "frame_octets": length.frame_octets,
                "runs": effort.runs,
                "frames": timing.frames,
                "best_frames_per_cpu_s": timing.best,
                "median_frames_per_cpu_s": timing.median,
                "attempts_per_frame": timing.attempts_per_frame,
                "utilisation": timing.utilisation,
                "target_frames_per_cpu_s": aim,
                "met": timing.best >= aim if aim is not None and effort.judged else None,
            }
        )
    return rows


def measure_reference(effort: Effort, *, follow: Callable[[str], None]) -> dict[str, Any]:
    """Time the fast implementation and the reference on one trial: frames per CPU-second, ratio.

    Raises
    ------
    RuntimeError
        If the two do not deliver the same frames: their ratio would mean nothing.

    """
    follow("simulator: fast and reference")
    stations, length = 24, SHORT
    fast, reference = (
        time_trial(
            trial_1988(
                LONG_NET,
                stations=stations,
                length=length,
                simulated_s=effort.reference_s,
                implementation=implementation,
            ),
            runs=effort.runs,
        )
        for implementation in ("fast", "reference")
    )
    if fast.frames != reference.frames:
        raise RuntimeError(
            f"of the same trial, fast delivered {fast.frames} frames and "
            f"reference {reference.frames}"
        )
    return {
        "net": LONG_NET.name,
        "stations": stations,
        "length": length.name,
        "frames": fast.frames,
        "fast_frames_per_cpu_s": fast.best,
        "reference_frames_per_cpu_s": reference.best,
        "ratio": fast.best / reference.best,
    }
