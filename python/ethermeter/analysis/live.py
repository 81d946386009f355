"""Live: what was measured against what was simulated of the same point.

The rule
--------
Replications are compared in pairs: a measured trial and a simulated one of the same seed offer the
same messages at the same times, so that chance in what is offered does not count. The *difference*
is the mean of live − simulation over pairs, with Student's t over pairs from three on; it is not
known better than to one message at the edges of the window. It *differs* if 0 is outside that
interval widened to hold for all comparisons of the run together at 95% (Bonferroni), else both
*agree*. Without an interval there is no verdict, unless all pairs have the same values, which
*agree*. A loss of which nothing was seen in a measurement is not known better than to the rule of
three (`ethermeter.results.interval.no_failure`).

Offered rates are not compared: a measured one is that of the whole transmission, in whose beginning
queues fill.

One-way delays of saturated sources are not compared. A simulated one counts from when it takes up a
message, after the one before; a measured one from when it hands it over, which is before the
message waits in the queue of its interface. Nor are those of voice, of which the voice delay is
compared.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from ethermeter.analysis import flows, groups
from ethermeter.entities import flows_in
from ethermeter.metrics import Metric, caution_text
from ethermeter.results.estimates import Point, meanings
from ethermeter.results.interval import LEVEL, Estimate, Floats, no_failure
from ethermeter.results.trials import point_of
from ethermeter.results.values import Whole, metrics_in, of_all
from ethermeter.scenario import CoderArrivals, SaturatedArrivals

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory
    from ethermeter.trial import Trial

ENOUGH_PAIRS = 3
DELAYS = (Metric.ONE_WAY_DELAY, Metric.ONE_WAY_DELAY_P50, Metric.ONE_WAY_DELAY_P99)
RATES = (Metric.MESSAGE_RATE, Metric.FRAME_RATE, Metric.GOODPUT, Metric.DATA_RATE)
OF_SEGMENTS = (
    *(Metric.BIT_RATE, Metric.PACKET_RATE, Metric.COLLISIONS_PER_FRAME),
    *(Metric.TRANSMISSION_DELAY, Metric.DELAY_P50, Metric.DELAY_P99),
    *(Metric.ACCESS_DELAY, Metric.RESPONSE_TIME),
    *(Metric.BIT_RATE_SD, Metric.PACKET_RATE_SD, Metric.TRANSMISSION_DELAY_SD),
    *(Metric.EXCESS_DELAY, Metric.UTILISATION_SD_OVER_MEAN),
)
"""Metrics of a medium that are compared: counted by the emulated one as by the simulated one."""
COMPARED = (
    *OF_SEGMENTS,
    *RATES,
    Metric.LOSS,
    *DELAYS,
    *(Metric.ROUND_TRIP, Metric.ROUND_TRIP_P50, Metric.ROUND_TRIP_P99, Metric.INTER_ARRIVAL),
    *(Metric.SAMPLE_LOSS, Metric.VOICE_DELAY, Metric.SAMPLE_DELAY, Metric.SAMPLE_DELAY_P99),
    Metric.RATING,
)
SIDE_BY_SIDE = (
    *(Metric.MESSAGE_RATE, Metric.DATA_RATE, Metric.LOSS, Metric.ONE_WAY_DELAY, Metric.ROUND_TRIP),
    *(Metric.SAMPLE_DELAY, Metric.SAMPLE_LOSS, Metric.RATING),
)
"""Metrics of tables of flows, simulated and measured."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric at one point, measured and simulated.

    Parameters
    ----------
    live, simulation
        Means over pairs.
    live_half_width, simulation_half_width
        Of their 95% intervals; NaN where there is none.

    """

    # series, point, metric: What is compared
    series: str
    point: dict[str, str]
    metric: Metric
    live: float
    live_half_width: float
    simulation: float
    simulation_half_width: float
    # difference, half_width: Mean of live − simulation over pairs, and the half width of its 95%
    # interval
    difference: float
    half_width: float
    verdict: str  # "agrees", "differs", or "no-interval"
    cautions: tuple[str, ...]  # Words that either carries


def read(run_dir: Path) -> tuple[Comparison, ...]:
    """Compare every point of a run that was measured and simulated, in the order of the plan."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    trials = _of_both(run)
    if not trials:
        return ()
    return comparisons(trials, of_all(run, trials))


def _of_both(run: "RunDirectory") -> "tuple[Trial, ...]":
    """Return the trials of a run that was both simulated and measured; none of another."""
    trials = run.replications()
    return trials if {"simulation", "live"} <= {trial.engine for trial in trials} else ()


def comparisons(trials: "Sequence[Trial]", whole: Whole) -> tuple[Comparison, ...]:
    """Compare every point that was both measured and simulated, in the order of the plan.

    `whole` has the values of all flows together.
    """
    cases = list(_cases(trials, whole))
    judged = sum(len(live) >= ENOUGH_PAIRS for _, _, live, *_ in cases)
    return tuple(_compared(*case, judged=judged) for case in cases)


def _cases(
    trials: "Sequence[Trial]", whole: Whole
) -> "Iterator[tuple[Trial, Metric, Floats, Floats, float, tuple[str, ...]]]":
    """Every metric of every point of which pairs have values.

    Each with measured and simulated values, the least difference that can be seen, and cautions.
    """
    points: dict[object, dict[str, dict[int, int]]] = {}
    for at, trial in enumerate(trials):
        engines = points.setdefault(point_of(trial), {})
        engines.setdefault(trial.engine, {})[trial.seed] = at
    for engines in points.values():
        pairs = [
            (at, engines["simulation"][seed])
            for seed, at in engines.get("live", {}).items()
            if seed in engines.get("simulation", {})
        ]
        if not pairs:
            continue
        example = trials[pairs[0][0]]
        is_saturated_or_voice = any(
            isinstance(flow.arrivals, SaturatedArrivals | CoderArrivals)
            for flow in example.scenario.flows
        )
        counted = Metric.FRAMES if Metric.FRAMES in metrics_in(example) else Metric.MESSAGES
        for metric in COMPARED:
            if metric not in whole.metrics or (metric in DELAYS and is_saturated_or_voice):
                continue
            column = whole.metrics.index(metric)
            values = whole.values[np.array(pairs), column]
            known = np.isfinite(values).all(axis=1)
            if not known.any():
                continue
            live, simulated = values[known, 0], values[known, 1]
            messages = whole.values[np.array(pairs)[known, 0], whole.metrics.index(counted)]
            by_message = float((np.abs(live) / np.maximum(messages, 1)).mean())
            least = by_message if metric in RATES else 0.0
            if metric == Metric.LOSS and not live.any():
                least = no_failure(float(messages.sum())).half_width
            mask = np.bitwise_or.reduce(whole.cautions[np.array(pairs), column], axis=None)
            words = tuple(sorted(caution_text(int(mask)).split()))
            yield example, metric, live, simulated, least, words


def _compared(
    trial: "Trial",
    metric: Metric,
    live: Floats,
    simulated: Floats,
    least: float,
    cautions: tuple[str, ...],
    *,
    judged: int,
) -> Comparison:
    differences = live - simulated
    difference, half_width = float(differences.mean()), _half_width(differences, 1 - LEVEL)
    wide = max(_half_width(differences, (1 - LEVEL) / max(judged, 1)), least)
    # What is the same to the last digits of a number agrees, though its interval may have no width.
    tiny = 1e-9 * float(max(np.abs(live).max(), np.abs(simulated).max()))
    is_same = bool(np.abs(differences).max() <= tiny)
    verdict = (
        "agrees"
        if is_same
        else "no-interval"
        if math.isnan(half_width)
        else "agrees"
        if abs(difference) <= wide
        else "differs"
    )
    return Comparison(
        trial.series,
        dict(trial.point),
        metric,
        float(live.mean()),
        _known(live, metric, least),
        float(simulated.mean()),
        _known(simulated, metric, least),
        difference,
        half_width if math.isnan(half_width) else max(half_width, least),
        verdict,
        cautions,
    )


def _known(values: Floats, metric: Metric, least: float) -> float:
    """Half width of the 95% interval; of losses without a loss the limit of what was not seen."""
    half = _half_width(values, 1 - LEVEL)
    is_limit = metric == Metric.LOSS and not values.any() and math.isfinite(half)
    return max(half, least) if is_limit else half


def _half_width(values: Floats, error: float) -> float:
    """Half width of the interval at an error probability; NaN for too few values."""
    if values.size < ENOUGH_PAIRS:
        return math.nan
    t = float(special.stdtrit(values.size - 1, 1 - error / 2))
    return float(values.std(ddof=1)) / math.sqrt(values.size) * t


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric of the flows of one table at one point, simulated and measured."""

    series: str
    point: Mapping[str, str]
    flows: str
    metric: Metric
    simulation: Estimate
    live: Estimate

    @property
    def ratio(self) -> float:
        """Measured over simulated; NaN where the simulated value is 0."""
        return self.live.value / self.simulation.value if self.simulation.value else math.nan


def read_pairs(run_dir: Path) -> tuple[Pair, ...]:
    """Pair the engines of a run that was both simulated and measured, in the order of its plan."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    trials = _of_both(run)
    trials = tuple(trial for trial in trials if flows_in(trial.scenario))
    return tuple(pairs(list(flows.of_parts(run, trials, groups.by_table, metrics=SIDE_BY_SIDE))))


def pairs(points: Sequence[Point]) -> Iterator[Pair]:
    """Yield a pair for each metric of which both engines have a value; `points` are of tables."""
    live = {point_of(point): point for point in points if point.engine == "live"}
    for point in points:
        measured = live.get(point_of(point))
        if point.engine != "simulation" or measured is None:
            continue
        where = {key: text for key, text in point.point.items() if key != groups.PART}
        for metric in SIDE_BY_SIDE:
            one, other = (each.estimates.get(metric) for each in (point, measured))
            if one is None or other is None:
                continue
            if math.isfinite(one.value) and math.isfinite(other.value):
                yield Pair(point.series, where, point.point[groups.PART], metric, one, other)


@dataclass(frozen=True, slots=True)
class PairEntry:
    """A metric of the flows of a table, for programs; `ratio`: measured over simulated."""

    series: str
    point: Mapping[str, str]
    flows: str
    metric: Metric
    simulation: float
    live: float
    ratio: float

    @classmethod
    def of(cls, pair: Pair) -> "PairEntry":
        """Return the values of a pair, without their intervals."""
        return cls(
            series=pair.series,
            point=pair.point,
            flows=pair.flows,
            metric=pair.metric,
            simulation=pair.simulation.value,
            live=pair.live.value,
            ratio=pair.ratio,
        )


@dataclass(frozen=True, slots=True)
class ComparisonsFile:
    """Measured against simulated values for programs, and what their metrics mean."""

    level: float
    metrics: Mapping[str, Mapping[str, str]]
    comparisons: tuple[Comparison, ...]
    side_by_side: tuple[PairEntry, ...]

    @classmethod
    def of_run(cls, run_dir: Path) -> "ComparisonsFile":
        """Compare the engines of a run that was both simulated and measured."""
        found, pairs = read(run_dir), tuple(map(PairEntry.of, read_pairs(run_dir)))
        used = dict.fromkeys([*(each.metric for each in found), *(pair.metric for pair in pairs)])
        return cls(LEVEL, meanings(used, "flow"), found, pairs)
