"""Quantities about the myths from simulations, each with its interval and a remark.

Series and keys are those of the experiments of this folder. Estimates of different points come from
different trials and are taken as independent.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.analysis.curves import knee, rise
from ethermeter.analysis.frame_mixes import COUNT, FRAMES
from ethermeter.entities import charged_ps, mean_bits, senders
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats, difference, exact, ratio, student
from ethermeter.results.query import MissingError, Results
from ethermeter.results.trials import PS_PER_S
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES
from ethermeter.trial import SIMULATION

Found = tuple[Estimate, str]
LOAD, SLOT, ARRIVALS = (
    "stations.arrivals.poisson_load",
    "theory.contention_slot",
    "stations.arrivals",
)
ONE_SLOT, SATURATED, CSMA, CSMA_CD = "one slot", "saturated", "carrier sense", "collision detection"
ASSUMPTIONS, RING, KNEES, REGIME = "assumptions", "ring", "knees", "regime"
FORMULA = "metcalfe-boggs-1976"
RING_MODEL = "bux-1981-token-ring"
RING_WORLD = f"idealised/{RING_MODEL}"
PACKET_AS_SLOT = "70.4 us"
CROWDED = 2
"""Stations from which a segment is saturated: one alone waits for its host."""
CARRIED = 0.01
"""Share of frames that may be lost where a load still counts as carried."""
LIGHT, HEAVY = "0.2", "0.8"


def members(
    results: Results, series: str, engine: str = SIMULATION, **fixed: str
) -> Iterator[Results]:
    """Yield the points of a series by an engine, in the order of the plan.

    `fixed` by the last part of a key.
    """
    for of in results.points(series, engine=engine):
        leaves = {key.rpartition(".")[2]: value for key, value in of.point.items()}
        if all(leaves.get(key) == value for key, value in fixed.items()):
            yield of


def packet_s(results: Results) -> float:
    """Return the mean time of a packet of a point with its preamble and gap, in s.

    Of the first group of stations.
    """
    bits = mean_bits(senders(results.scenario)[0].flow.frames)
    return charged_ps(results.scenario, bits) / PS_PER_S


def lengths_of(results: Results, series: str) -> Sequence[str]:
    """Frame lengths of a series, in the order of the plan; at least one."""
    found = list(dict.fromkeys(point.point[FRAMES] for point in members(results, series)))
    if not found:
        raise MissingError(f"no series {series}")
    return found


@dataclass(frozen=True, slots=True)
class Knees:
    """Knees of the response time of one frame length, in the same trials.

    Against offered load, and against throughput.

    `apart` is the one less the other; `queue` is Q where throughput stops rising with it. Each is a
    mean over the replications with its interval; NaN if a replication has no clear knee.
    """

    load: Estimate
    throughput: Estimate
    apart: Estimate
    queue: Estimate


def knees(results: Results, frames: str) -> Knees:
    """Find the knees of every replication, by the rule of `analysis.curves.rise`."""
    points = [dict(point.point) for point in members(results, KNEES, frames=frames)]
    if len(points) < 3:
        raise MissingError(f"no curve for {frames}")
    loads = np.array([point[LOAD].number for point in points])
    order = np.argsort(loads)
    response, throughput, queue = (
        np.array([results.at(KNEES, points[at]).values(metric) for at in order])
        for metric in (Metric.RESPONSE_TIME, Metric.UTILISATION, Metric.OFFERED_LOAD_Q)
    )
    by_load = [_rise(loads[order], each) for each in response.T]
    by_throughput = [_rise(of, each) for of, each in zip(throughput.T, response.T, strict=True)]
    by_queue = [knee(*_sorted(of, each)).x for of, each in zip(queue.T, throughput.T, strict=True)]
    # Both knees come from the same trials, so their difference is taken replication by replication.
    apart = [one - other for one, other in zip(by_load, by_throughput, strict=True)]
    return Knees(_mean(by_load), _mean(by_throughput), _mean(apart), _mean(by_queue))


def _sorted(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    # A plateau goes up and down by chance; the curve is taken by its x, as it is drawn.
    order = np.argsort(x, kind="stable")
    distinct = np.concatenate([[True], np.diff(x[order]) > 0])
    return x[order][distinct], y[order][distinct]


def _rise(x: Floats, y: Floats) -> float:
    found = rise(*_sorted(x, y))
    return found.x if found is not None else math.nan


def _mean(found: Sequence[float]) -> Estimate:
    return student(np.array(found)) if all(map(math.isfinite, found)) else exact(math.nan)


def _formula_world(results: Results) -> Found:
    counts = [
        int(point.point[COUNT].number)
        for point in members(
            results, ONE_SLOT, f"idealised/{FORMULA}", contention_slot=PACKET_AS_SLOT
        )
    ]
    if not counts:
        raise MissingError("no world of the formula")
    most = str(max(counts))
    point = {SLOT: PACKET_AS_SLOT, COUNT: most}
    found = results.at(ONE_SLOT, point, engine=f"idealised/{FORMULA}").estimate(Metric.UTILISATION)
    formula = results.at(ONE_SLOT, point, engine=f"theory/{FORMULA}").estimate(Metric.UTILISATION)
    return found, f"simulated with {most} stations; the formula gives {formula.value:.4f}"


def _least(results: Results, frames: str, *, most: int) -> tuple[Estimate, str]:
    points = [
        point
        for point in members(results, SATURATED, frames=frames)
        if CROWDED <= int(point.point[COUNT].number) <= most
    ]
    if not points:
        raise MissingError(f"no saturated segment with {frames}")
    lowest = min(points, key=lambda point: point.estimate(Metric.UTILISATION).value)
    return lowest.estimate(Metric.UTILISATION), lowest.point[COUNT]


def _least_efficiency(results: Results) -> Found:
    found, hosts = _least(results, "64 B", most=1024)
    return found, f"lowest with {hosts} hosts"


def _nominal_capacity(results: Results) -> Found:
    found, hosts = _least(results, "1536 B", most=24)
    more, crowd = _least(results, "1536 B", most=1024)
    return found, f"lowest with {hosts} hosts; with {crowd} it is {more.value:.3f}"


def _load_carried(results: Results) -> Found:
    """Largest load of which less than 1% is lost, as of all smaller ones.

    At the frame length where it is least.
    """
    carried = {}
    for frames in lengths_of(results, KNEES):
        carried[frames] = 0.0
        for point in sorted(
            members(results, KNEES, frames=frames), key=lambda point: point.point[LOAD].number
        ):
            if not point.estimate(Metric.LOSS).high < CARRIED:
                break
            carried[frames] = point.point[LOAD].number
    remark = ", ".join(f"{load:.0%} with {frames}" for frames, load in carried.items())
    return exact(min(carried.values())), f"{remark}; loads were tried in steps of 5%"


def _stability(results: Results) -> Found:
    full, twice = (
        results.at(CSMA_CD, {LOAD: load}).estimate(Metric.UTILISATION) for load in ("1.0", "2.0")
    )
    return difference(twice, full), f"{full.value:.3f} at 100%, {twice.value:.3f} at 200%".replace(
        "-", "−"
    )


def _spread(results: Results) -> Found:
    """Rise of the delay's standard deviation over its mean from a light load to a heavy one."""
    light, heavy = (
        ratio(
            results.at(CSMA_CD, {LOAD: load}).estimate(Metric.TRANSMISSION_DELAY_SD),
            results.at(CSMA_CD, {LOAD: load}).estimate(Metric.TRANSMISSION_DELAY),
        )
        for load in (LIGHT, HEAVY)
    )
    return (
        ratio(heavy, light),
        f"standard deviation over mean {light.value:.2f} at 20%, {heavy.value:.2f} at 80%",
    )


def _knees_apart(results: Results) -> Found:
    """Least margin by which the knee against throughput is below that against offered load."""
    found = {frames: knees(results, frames) for frames in lengths_of(results, KNEES)}
    remark = "; ".join(
        f"{frames}: load {each.load.value:.2f}, throughput {each.throughput.value:.2f}"
        for frames, each in found.items()
    )
    return (
        min((each.apart for each in found.values()), key=lambda each: each.value),
        f"{remark}; loads were tried in steps of 5%",
    )


def _worst_case(results: Results) -> Found:
    """Least ratio of what the segment carries to the formula with the longest segment."""
    found = {}
    for frames in lengths_of(results, ASSUMPTIONS):
        point = {FRAMES: frames}
        segment = results.at(ASSUMPTIONS, point).estimate(Metric.UTILISATION)
        found[frames] = ratio(
            segment,
            results.at(ASSUMPTIONS, point, engine=f"theory/{FORMULA}").estimate(Metric.UTILISATION),
        )
    remark = ", ".join(f"{each.value:.3f} times with {frames}" for frames, each in found.items())
    return min(found.values(), key=lambda each: each.value), remark


def ring_capacity(results: Results, frames: str) -> float:
    """Return the largest throughput of the series' token ring: N E / (N E + R).

    A station sends one packet a turn.

    N E is what all stations send in a turn, and R is how long a bit takes around the ring.
    """
    point = next((dict(each.point) for each in members(results, RING, frames=frames)), None)
    if point is None:
        raise MissingError(f"no ring with {frames}")
    trial = results.at(RING, point, engine=RING_WORLD).trials()[0]
    inputs = model_inputs(trial.scenario, trial.assumptions())
    parameters = ENTRIES[RING_MODEL].parameters(inputs)
    turn_s = parameters["stations"] * packet_s(results.at(RING, point))
    return float(turn_s / (turn_s + parameters["latency_s"]))


def _stress_on_delay(results: Results) -> Found:
    """Ratio of ring to segment in delay over that in saturated throughput.

    For long frames at 70% load.
    """
    point = {FRAMES: "1536 B", LOAD: "0.7"}
    delay = ratio(
        results.at(RING, point).estimate(Metric.RESPONSE_TIME),
        results.at(RING, point, engine=RING_WORLD).estimate(Metric.RESPONSE_TIME),
    )
    segment = results.at(SATURATED, {FRAMES: "1536 B", COUNT: "24"}).estimate(Metric.UTILISATION)
    carried = ratio(exact(ring_capacity(results, "1536 B")), segment)
    remark = (
        f"delay at 70% load {delay.value:.2f} times the ring’s, but saturated the ring carries only"
        f" {carried.value:.3f} times as much"
    )
    return ratio(delay, carried), remark


def _typical_delay(results: Results) -> Found:
    """Transmission delay over packet time at a load of 5%, where it is longest."""
    found = {}
    for point in members(results, REGIME):
        time_s = packet_s(point)
        kind = regime(point.point[ARRIVALS])
        delay = point.estimate(Metric.TRANSMISSION_DELAY)
        found[kind] = Estimate(delay.value / time_s, delay.error / time_s, delay.degrees)
    quiet = {kind: each for kind, each in found.items() if kind.startswith("5%")}
    if not quiet:
        raise MissingError("no quiet segment")
    remark = ", ".join(
        f"{each.value:.2f} at {kind}" if kind in quiet else f"{each.value:.1f} at {kind}"
        for kind, each in found.items()
    )
    return max(quiet.values(), key=lambda each: each.value), f"packet times: {remark}"


def regime(arrivals: str) -> str:
    """Name an arrival process.

    Examples
    --------
    >>> regime("{ poisson_load = 0.05 }"), regime("saturated")
    ('5%, smooth', 'saturated')

    """
    if "on_off" in arrivals:
        return "5%, in bursts"
    if "poisson_load" in arrivals:
        return f"{float(arrivals.strip('{ }').partition('=')[2]):.0%}, smooth"
    return arrivals


SIMULATED: dict[str, Callable[[Results], Found]] = {
    "formula_world": _formula_world,
    "least_efficiency": _least_efficiency,
    "nominal_capacity": _nominal_capacity,
    "load_carried": _load_carried,
    "stability": _stability,
    "spread": _spread,
    "knees_apart": _knees_apart,
    "worst_case": _worst_case,
    "stress_on_delay": _stress_on_delay,
    "typical_delay": _typical_delay,
}
"""Every quantity by its name in `published.toml`."""
