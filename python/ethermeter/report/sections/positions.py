"""Positions: what stations get, against their position along the cable."""

from collections.abc import Mapping, Sequence

from ethermeter.analysis.positions import Line
from ethermeter.document import Block, Figure, Grid, Heading, Label, Text, plain
from ethermeter.metrics import Metric
from ethermeter.report.axes import MOST_CURVES, Axes, Curve, Panel, keys
from ethermeter.report.labels import key_title
from ethermeter.report.plots import against
from ethermeter.report.sections.groups import MEANS
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate

POSITION = "position"
US_PER_S = 1e6
METRICS = (Metric.BIT_RATE, Metric.TRANSMISSION_DELAY)
MOST_PANELS = 4
"""Figures of one metric; beyond, keys stay at their last value."""


def position_blocks(lines: Sequence[Line]) -> list[Block]:
    """Figures of throughput and delay against position; empty where the run has nothing to compare.

    There is something to compare where points differ in where stations are, or where there are few
    enough points for one curve each.
    """
    varied = _varied(lines)
    placing = [key for key in varied if _places(lines, key)]
    if not lines or (not placing and (len(lines) > MOST_CURVES or len(lines[0].places) < 3)):
        return []
    curve = max(placing or varied, key=lambda key: len(varied[key]), default=None)
    others = {key: values for key, values in varied.items() if key != curve}
    fixed: dict[str, str] = {}
    while _count(others) > MOST_PANELS:
        # Of the keys with the most values the last, so that the first in the plan, which is the
        # figure's own, goes on varying.
        key = max(reversed(others), key=lambda key: (key != "stations.frames", len(others[key])))
        fixed[key] = others.pop(key)[-1]
    shown = [
        line for line in lines if all(_keys(line)[key] == value for key, value in fixed.items())
    ]
    blocks: list[Block] = []
    for metric in METRICS:
        label = MEANS.get(metric, metric.label)
        figures = _figures(shown, metric, label, curve, tuple(others))
        if figures:
            blocks += [Heading(label.title, 4), Grid(figures)]
    if not blocks:
        return []
    lead = (
        "Means over the stations at a place, with 95% bands; a place is the propagation time from "
        "one end of the cable."
    )
    at = "".join(f" {key_title(key)}: {plain(value)}." for key, value in fixed.items())
    return [Heading("Along the cable"), Text(lead + at, "lead"), *blocks]


def _figures(
    lines: Sequence[Line],
    metric: Metric,
    label: Label,
    curve: str | None,
    others: tuple[str, ...],
) -> list[Figure]:
    """One figure for every combination of the other keys."""
    by_panel: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        by_panel.setdefault(tuple(_keys(line)[key] for key in others), []).append(line)
    axes = Axes(POSITION, "µs", curve, ())
    drawn = []
    for values, members in by_panel.items():
        curves = [Curve(_name(line, curve), _points(line, metric)) for line in members]
        kept = tuple(found for found in curves if found.points)
        if not kept:
            continue
        panel = Panel("", kept, is_ordered=False)
        title = (
            ", ".join(
                f"{key_title(key)}: {plain(value)}"
                for key, value in zip(others, values, strict=True)
            )
            or label.title
        )
        chart = against(panel, metric, axes, label=label)
        drawn.append(Figure(chart, title))
    return drawn


def _points(line: Line, metric: Metric) -> tuple[tuple[float, Estimate], ...]:
    """Estimates by position in µs, to the tenth of a nanosecond.

    A station is half a metre wide anyway.
    """
    return tuple(
        (round(place.position_s * US_PER_S, 4), place.estimates[metric])
        for place in line.places
        if metric in place.estimates
    )


def _name(line: Line, key: str | None) -> str:
    """Name a curve by the distribution of its stations, or else by the key's value."""
    if key is None:
        return ""
    text = plain(_keys(line)[key])
    leaf = key.rpartition(".")[2]
    if leaf == "clusters":
        return "evenly" if all(place.stations == 1 for place in line.places) else f"{text} clusters"
    return text.replace(", ", " + ") if leaf == "per_cluster" else text


def _keys(line: Line) -> dict[str, str]:
    return keys(Point(line.series, line.point, line.engine, line.replications, {}))


def _varied(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return the values of every key that has several."""
    values: dict[str, dict[str, None]] = {}
    for line in lines:
        for key, value in _keys(line).items():
            values.setdefault(key, {})[value] = None
    return {key: list(found) for key, found in values.items() if len(found) > 1}


def _places(lines: Sequence[Line], key: str) -> bool:
    """Whether the key changes the positions of stations, all else being equal."""
    seen: dict[tuple[tuple[str, str], ...], set[tuple[tuple[float, int], ...]]] = {}
    for line in lines:
        rest = tuple(sorted((other, value) for other, value in _keys(line).items() if other != key))
        seen.setdefault(rest, set()).add(
            tuple((place.position_s, place.stations) for place in line.places)
        )
    return any(len(found) > 1 for found in seen.values())


def _count(values: Mapping[str, Sequence[str]]) -> int:
    count = 1
    for found in values.values():
        count *= len(found)
    return count
