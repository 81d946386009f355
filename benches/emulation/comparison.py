"""Comparison: a measured point beside simulations of the same file.

Saturated stations do what they do in the simulation with the same seed, so their values are
compared with that one, and simulations of other seeds give the interval of chance. Stations with
arrivals of their own have those of the simulation with the same seed, some microseconds late. Their
values are compared with the mean of simulations whose stations begin up to 50 us later, and these
give the interval.

The distributions of delays are compared by the Kolmogorov-Smirnov distance. Delays of one run
depend on each other, so the distance is not judged by its table for independent samples: it is
judged by the distances of the simulations themselves, each from all others. The two distributions
differ at the stated level if the distance of the measurement is among the largest. Lateness of the
senders explains a distance that is below the share of frames sent more than 5 us late: frames that
are on time and meet no late one have the delays of the simulation.

Whatever differs, the medium is right if a simulation of the frames as they came to the cards counts
the same (`replay`): then the lateness of hosts explains every difference.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ethermeter import _core
from ethermeter.counts import Buckets, Counts
from ethermeter.engines.live.cautions import MOST_VIOLATIONS
from ethermeter.results.interval import Floats, quantile
from ethermeter.trial import core_trial

from benches.emulation.points import Measured, Point, repeat, simulate

LEVEL = 0.05
"""Probability of an error of the first kind among all distances of a table."""
TOLERANCE = {"bit_rate": 0.01, "collisions": 0.05, "delay": 0.02}
"""Relative differences that are accepted."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A relative difference, and the half width of its 95% interval: chance of one run."""

    value: float
    half_width: float
    tolerance: float

    @property
    def verdict(self) -> str:
        """Return `met` within the tolerance, `chance` if only the interval is, else `missed`."""
        if abs(self.value) <= self.tolerance or math.isnan(self.value):
            return "met"
        return "chance" if abs(self.value) - self.half_width <= self.tolerance else "missed"


@dataclass(frozen=True, slots=True)
class Compared:
    """A point, measured and simulated."""

    point: Point
    frames: int
    is_same: bool
    """Whether every station counted what it did in the simulation, and the delays are the same."""
    is_same_replayed: bool | None
    """Whether a simulation of the frames as they came has the frames, collisions and frames given
    up of every station; None for saturated stations.
    """
    bit_rate: Difference
    collisions: Difference
    delay: Difference
    distance: float
    """Kolmogorov-Smirnov distance of the delays from those of all simulations."""
    usual_distance: float
    """Median of the distances of the simulations."""
    chance: float
    """Share of the runs, the measured one included, with a distance as large."""
    level: float
    """Share at or below which the distributions differ."""
    violations: int
    arrived: int
    late_p99_us: float
    """Lateness of deliveries."""
    late_sends_us: tuple[float, float]
    """Lateness of the senders: median and 99th percentile."""
    late_share: float
    """Share of the frames that were sent more than 5 us late."""
    relay: float
    """Processors that the relay took."""
    starved: int
    lost: int
    window_s: float

    @property
    def distribution(self) -> str:
        """Return `same` where the distributions do not differ, else `late` or `differs`."""
        if self.chance > self.level:
            return "same"
        return "late" if self.distance <= self.late_share else "differs"

    @property
    def is_met(self) -> bool:
        """Whether no difference is missed, and lateness explains different distributions."""
        found = (self.bit_rate, self.collisions, self.delay)
        is_near = all(each.verdict != "missed" for each in found)
        return is_near and self.is_right and self.distribution != "differs"

    @property
    def is_right(self) -> bool:
        """Whether the medium knew of frames in time, and did what a simulation of them does."""
        is_punctual = self.violations < MOST_VIOLATIONS * max(1, self.arrived)
        return is_punctual and self.is_same_replayed is not False

    @property
    def is_explained(self) -> bool:
        """Whether a limit is missed because hosts were late, and for no other reason."""
        return not self.is_met and self.is_right and bool(self.is_same_replayed)


def compare(measured: Measured, point: Point, *, runs: int, points: int) -> Compared:
    """Compare a measured point, one of `points`, with so many simulations."""
    simulated = list(simulate(measured.trial, runs=runs))
    same = _core.simulate_trial(core_trial(measured.trial.scenario, seed=measured.trial.seed))
    ours, base = _values(measured.counts), _values(same)
    theirs = np.array([_values(each) for each in simulated])
    if point.arrivals != "saturated":
        theirs = np.array([_values(each) for each in repeat(measured.trial, runs=runs // 4)])
        base = theirs.mean(axis=0)
    differences = {}
    for at, (name, tolerance) in enumerate(TOLERANCE.items()):
        half_width = quantile(len(theirs) - 1) * theirs[:, at].std(ddof=1)
        differences[name] = Difference(
            float(ours[at] / base[at] - 1), float(half_width / base[at]), tolerance
        )
    distance, others = _distances(measured.counts, simulated)
    segment = measured.result.segment
    assert segment is not None
    return Compared(
        point,
        int(measured.counts.stations.frames.sum()),
        is_same=_is_same(measured.counts, same),
        is_same_replayed=measured.is_same_replayed,
        **differences,
        distance=distance,
        usual_distance=float(np.median(others)),
        chance=(1 + int((others >= distance).sum())) / (1 + runs),
        level=LEVEL / points,
        violations=segment.violations,
        arrived=sum(station.arrived for station in segment.stations),
        late_p99_us=(segment.late_ns.p99 or 0.0) / 1e3,
        late_sends_us=(measured.late_send_us(0.5), measured.late_send_us(0.99)),
        late_share=measured.late_share,
        relay=segment.worked_ns / segment.over_ns,
        starved=sum(station.starved for station in segment.stations),
        lost=sum(segment.dropped.values()),
        window_s=measured.counts.window_ps / 1e12,
    )


def _values(counts: Counts) -> Floats:
    """Bit rate (as share of the line), collisions a frame, and mean delay [s]."""
    of = counts.stations
    frames = max(1, of.frames.sum())  # hosts that were held up may have sent none
    charged = of.batches.charged_ps.sum() / counts.window_ps
    return np.array([charged, of.collisions.sum() / frames, of.delay_ps.sum() / frames / 1e12])


def _is_same(one: Counts, other: Counts) -> bool:
    """Whether two trials counted the same frames, collisions and delays at every station."""
    names = ("frames", "bits", "collisions", "discarded", "delay_ps", "access_ps")
    return all(
        np.array_equal(getattr(one.stations, name), getattr(other.stations, name)) for name in names
    )


def _distances(measured: Counts, simulated: Sequence[Counts]) -> tuple[float, Floats]:
    """Distance of the measured delays from all simulated ones, and of each simulation's."""
    every = [each.media[0].transmission_delay for each in (measured, *simulated)]
    edges = np.unique(np.concatenate([each.high_ps for each in every]))
    counted = np.array([_counted(each, edges) for each in every])
    ours, others = counted[0], counted[1:]
    total = others.sum(axis=0)
    distance = _distance(ours, total)
    return distance, np.array([_distance(each, total - each) for each in others])


def _counted(buckets: Buckets, edges: Floats) -> Floats:
    """Frames below each edge."""
    found = np.zeros(edges.size)
    np.add.at(found, np.searchsorted(edges, buckets.high_ps), buckets.count)
    return found.cumsum()


def _distance(one: Floats, other: Floats) -> float:
    """Largest difference of two cumulative counts, as shares."""
    return float(np.abs(one / one[-1] - other / other[-1]).max())
