"""Live: what was measured against what was simulated of the same point.

The rule
--------
Both are means over replications with Student's t intervals. The *difference* is live − simulation, with the interval of Welch and
Satterthwaite: the errors' squares add, degrees of freedom follow from their shares. A comparison *agrees* if 0 is in that interval widened
to hold for all comparisons of the run together at 95% (Bonferroni), else it *differs*; without intervals there is no verdict.

One-way delays of saturated sources are not compared. A simulated one counts from when it takes up a message, after the one before; a
measured one from when it hands it over, which is before the message waits in the queue of its interface.
"""

import json
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import special

from ethermeter.analysis import estimates
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.interval import LEVEL, Estimate
from ethermeter.observation import DEFINITIONS, Metric

if TYPE_CHECKING:
    from ethermeter.plan import Trial

FILE = "live-agreement.json"
DELAYS = (Metric.ONE_WAY_DELAY, Metric.ONE_WAY_DELAY_P50, Metric.ONE_WAY_DELAY_P99)
COMPARED = (
    Metric.OFFERED_RATE,
    Metric.MESSAGE_RATE,
    Metric.FRAME_RATE,
    Metric.GOODPUT,
    Metric.DATA_RATE,
    Metric.LOSS,
    *DELAYS,
    Metric.ROUND_TRIP,
    Metric.ROUND_TRIP_P50,
    Metric.ROUND_TRIP_P99,
    Metric.INTER_ARRIVAL,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric at one point, measured and simulated.

    Parameters
    ----------
    series, point, metric
        What is compared.
    live, simulation
        Values.
    live_half_width, simulation_half_width
        Of their 95% intervals; NaN where there is none.
    difference, half_width
        live − simulation, and the half width of its 95% interval.
    verdict
        "agrees", "differs", or "no-interval".
    cautions
        Words that either carries.

    """

    series: str
    point: dict[str, str]
    metric: Metric
    live: float
    live_half_width: float
    simulation: float
    simulation_half_width: float
    difference: float
    half_width: float
    verdict: str
    cautions: tuple[str, ...]


Key = tuple[object, ...]


def _key(series: str, point: Mapping[str, str]) -> Key:
    return (series, *sorted(point.items()))


def comparisons(points: Sequence[Point], without_delays: Container[Key] = ()) -> tuple[Comparison, ...]:
    """Compare every point that was both measured and simulated, in the order of the plan.

    Parameters
    ----------
    points
        Estimates of the run.
    without_delays
        Points at which one-way delays are two different things.

    """
    by_engine: dict[Key, dict[str, Point]] = {}
    for each in points:
        by_engine.setdefault(_key(each.series, each.point), {})[each.engine] = each
    pairs = [(one["simulation"], one["live"]) for one in by_engine.values() if {"simulation", "live"} <= one.keys()]
    cases = [
        (live, metric, live.estimates[metric], simulated.estimates[metric])
        for simulated, live in pairs
        for metric in COMPARED
        if metric in live.estimates
        and metric in simulated.estimates
        and not (metric in DELAYS and _key(live.series, live.point) in without_delays)
        and math.isfinite(live.estimates[metric].value)
        and math.isfinite(simulated.estimates[metric].value)
    ]
    judged = sum(_has_error(live) and _has_error(simulated) for _, _, live, simulated in cases)
    return tuple(_compared(point, metric, live, simulated, judged) for point, metric, live, simulated in cases)


def _has_error(found: Estimate) -> bool:
    return math.isfinite(found.error)


def _compared(point: Point, metric: Metric, live: Estimate, simulated: Estimate, judged: int) -> Comparison:
    difference = live.value - simulated.value
    half_width, wide = math.nan, math.nan
    if _has_error(live) and _has_error(simulated):
        error = math.hypot(live.error, simulated.error)
        degrees = _degrees(live, simulated, error)
        half_width = error * float(special.stdtrit(degrees, (1 + LEVEL) / 2))
        wide = error * float(special.stdtrit(degrees, 1 - (1 - LEVEL) / (2 * judged)))
    # What is the same to the last digits of a number agrees, though its interval may have no width.
    tiny = 1e-9 * max(abs(live.value), abs(simulated.value))
    verdict = "no-interval" if math.isnan(wide) else "agrees" if abs(difference) <= max(wide, tiny) else "differs"
    return Comparison(
        point.series,
        dict(point.point),
        metric,
        live.value,
        live.half_width,
        simulated.value,
        simulated.half_width,
        difference,
        half_width,
        verdict,
        tuple(sorted({*live.cautions, *simulated.cautions})),
    )


def _degrees(live: Estimate, simulated: Estimate, error: float) -> float:
    """Degrees of freedom of a difference; of one without error those of either, which do not matter then."""
    if error == 0:
        return live.degrees
    return 1 / sum((each.error**2 / error**2) ** 2 / each.degrees for each in (live, simulated) if each.error > 0)


def saturated(trials: "Iterable[Trial]") -> set[Key]:
    """Points at which some source is saturated, whose one-way delays are two different things."""
    return {
        _key(trial.series, trial.point)
        for trial in trials
        if "network" in trial.scenario and any(flow["arrivals"]["kind"] == "saturated" for flow in trial.scenario["flows"])
    }


def write(run_dir: Path) -> Path:
    """Compare what a run measured with what it simulated and write `live-agreement.json` into its directory; the path of the file."""
    from ethermeter.store import RunDirectory, write_whole

    path = run_dir / FILE
    write_whole(path, to_json(comparisons(estimates.read(run_dir), saturated(RunDirectory(run_dir).trials()))))
    return path


def to_json(found: Sequence[Comparison]) -> str:
    """Text of `live-agreement.json`; an undefined number is null."""
    used = dict.fromkeys(each.metric for each in found)
    head = {
        "level": LEVEL,
        "metrics": {metric.value: {"unit": DEFINITIONS[metric].unit, "meaning": DEFINITIONS[metric].meaning} for metric in used},
        "comparisons": [{key: _plain(value) for key, value in asdict(each).items()} for each in found],
    }
    return json.dumps(head, ensure_ascii=False, indent=1) + "\n"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
