"""Tables of a run for spreadsheets: capacity, flows, bounds and ports, a row each.

Numbers are in the units that the heads name; a number that is not known is None.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from ethermeter.analysis import bounds, capacity, flows, groups
from ethermeter.analysis.bounds import SEEN, FlowTime
from ethermeter.analysis.capacity import Capacity
from ethermeter.analysis.port_bounds import Queue
from ethermeter.json_values import finite
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.query import Results

Cell = str | float | None
Row = Mapping[str, Cell]


def tables(run: Results) -> dict[str, list[Row]]:
    """Return the tables of a run that have rows, by name."""
    trials = run.directory.replications()
    every_flow = flows.each_flow(run.directory, flows.of_networks(trials))
    answers = bounds.read(run)
    found = {
        "capacity": [row for each in capacity.read(run) for row in _capacity(each)],
        "flows": [*map(_flow, every_flow)],
        "bounds": [*map(_time, answers.times)],
        "ports": [_queue(each) for each in answers.queues if not each.is_idle],
        "points": [*map(_point, run.estimated)],
    }
    return {name: rows for name, rows in found.items() if rows}


def _capacity(found: Capacity) -> Iterator[Row]:
    for kind in found.kinds:
        yield {
            "series": found.series,
            **found.point,
            "verdict": found.verdict,
            "busiest": found.resource,
            "load": found.load,
            "full at times": finite(found.scale),
            "flows": kind.name,
            "count": kind.flows,
            "load of flows": kind.load,
            "offered there (bit/s)": finite(kind.offered_bps),
            "fits up to times": finite(kind.headroom),
            "full then": kind.limit,
        }


def _point(point: Point) -> Row:
    return {"series": point.series, "engine": point.engine, **point.point, **_values(point)}


def _flow(point: Point) -> Row:
    where = {key: text for key, text in point.point.items() if key != groups.PART}
    name = point.point[groups.PART]
    lead = {"series": point.series, "engine": point.engine, **where, "flow": name}
    return {**lead, **_values(point)}


def _values(point: Point) -> dict[str, Cell]:
    """Return the values of a point and the ends of their intervals, in the units that pages use."""
    found: dict[str, Cell] = {}
    for metric, estimate in point.estimates.items():
        if math.isfinite(estimate.value):
            label = Metric(metric).label
            unit = f" ({label.unit})" if label.unit else ""
            found[f"{metric.value}{unit}"] = estimate.value * label.factor
            found[f"{metric.value} low"] = finite(estimate.low * label.factor)
            found[f"{metric.value} high"] = finite(estimate.high * label.factor)
    return found


def _time(time: FlowTime) -> Row:
    seen: dict[str, Cell] = {}
    for each in time.observed:
        name = SEEN[each.engine]
        seen[f"mean {name} (µs)"] = _us(each.mean.value)
        seen[f"mean {name} low (µs)"] = _us(each.mean.low)
        seen[f"mean {name} high (µs)"] = _us(each.mean.high)
        seen[f"largest {name} (µs)"] = _us(each.largest_s)
        if each.missed is not None:
            seen[f"too late {name} (%)"] = finite(100 * each.missed.value)
            seen[f"too late {name} low (%)"] = finite(100 * each.missed.low)
            seen[f"too late {name} high (%)"] = finite(100 * each.missed.high)
    return {
        "series": time.series,
        **time.point,
        "flow": time.flow,
        "time": time.metric.value,
        "deadline (µs)": _us(time.deadline_s),
        "bound (µs)": _us(time.bound_s),
        "margin (µs)": _us(time.margin_s),
        "every message in time": time.deadline_decision,
        "mean by theory (µs)": _us(time.mean_s),
        **seen,
        "bound by, or why there is none": time.method,
    }


def _queue(queue: Queue) -> Row:
    return {
        "series": queue.series,
        **queue.point,
        "from": queue.node,
        "to": queue.peer,
        "class": queue.traffic_class,
        "load": finite(queue.load),
        "mean (frames)": finite(queue.mean_frames),
        "bound (frames)": finite(queue.bound.frames),
        "bound (B)": finite(queue.bound.octets),
        "largest simulated (frames)": finite(queue.simulated.frames),
        "largest simulated (B)": finite(queue.simulated.octets),
        "room (frames)": finite(queue.room.frames),
        "room (B)": finite(queue.room.octets),
        "dropped a trial": finite(queue.dropped),
        "verdict": queue.verdict,
    }


def columns(rows: Sequence[Row]) -> list[str]:
    """Return the heads of rows, in the order in which they first appear."""
    return list(dict.fromkeys(key for row in rows for key in row))


def _us(value_s: float) -> float | None:
    return finite(value_s * 1e6)
