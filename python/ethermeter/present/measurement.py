"""Measurements: live beside simulated, and what was dropped between hosts."""

from collections.abc import Iterator, Sequence

from ethermeter.analysis.live import Comparison, Pair
from ethermeter.analysis.losses import Drops
from ethermeter.blocks import Table, Text
from ethermeter.present.marks import Marks, legend
from ethermeter.present.points import FLOW_TABLE_METRICS, TABLE_ROWS
from ethermeter.quantities import metric_text, number, value_text
from ethermeter.store.captures import Captured

MOST_DROPS = 5
"""Places between hosts at which frames were dropped that are laid out."""


def side_by_side(pairs: Sequence[Pair]) -> Iterator[Table | Text]:
    """Lay out both engines by table of flows, where there are several."""
    if len({pair.flows for pair in pairs}) < 2:
        return
    keys = list(dict.fromkeys(key for pair in pairs for key in pair.point))
    rows = [
        [
            *(pair.point.get(key, "") for key in keys),
            pair.flows,
            pair.metric,
            metric_text(pair.metric, pair.simulation),
            metric_text(pair.metric, pair.live),
            number(pair.ratio, digits=3),
        ]
        for pair in pairs[:TABLE_ROWS]
    ]
    head = [*keys, "flows", "metric", "simulation", "live", "live / simulation"]
    yield Table(head, rows, "Simulated and measured", headers=len(keys) + 2)
    if len(pairs) > TABLE_ROWS:
        yield Text(f"… {len(pairs) - TABLE_ROWS} more with --json")


def captures(found: Sequence[Captured]) -> Iterator[Text]:
    """Say how much was recorded."""
    size_mb = sum(each.octets for each in found) / 1e6
    dropped = sum(each.dropped for each in found)
    yield Text(f"{len(found)} captures, {size_mb:.1f} MB, {dropped} frames dropped")


def agreement(found: Sequence[Comparison]) -> Iterator[Table | Text]:
    """Lay out how what was measured differs from what was simulated."""
    if not found:
        return
    keys = list(dict.fromkeys(key for each in found for key in each.point))
    comparisons = [each for each in found if each.metric in FLOW_TABLE_METRICS]
    shown = comparisons[:TABLE_ROWS]
    marks = Marks(each.cautions for each in shown)
    rows = [
        [
            *(each.point.get(key, "") for key in keys),
            each.metric,
            value_text(each.metric, each.live, each.live_half_width),
            value_text(each.metric, each.simulation, each.simulation_half_width),
            value_text(each.metric, each.difference, each.half_width),
            f"{each.verdict} {marks.at(each.cautions)}".rstrip(),
        ]
        for each in shown
    ]
    head = [*keys, "metric", "live", "simulation", "live − simulation", "verdict"]
    yield Table(head, rows, "Measured against simulated", headers=len(keys) + 1)
    if len(comparisons) > len(shown):
        more = len(comparisons) - len(shown)
        yield Text(f"… {more} more with --json")
    yield from legend(marks.legend())


def drops(found: Sequence[Drops]) -> Iterator[Text]:
    """Say what was dropped between hosts, all trials together, the most first."""
    frames: dict[tuple[str, str, str], int] = {}
    missing: dict[tuple[str, str, str], int] = {}
    for each in found:
        where = each.place, each.at, each.towards
        frames[where] = frames.get(where, 0) + round(each.frames)
        missing[where] = missing.get(where, 0) + round(each.missing)
    for place, at, towards in sorted(frames, key=lambda where: -frames[where])[:MOST_DROPS]:
        what = "port of" if place == "switch" else "wire from"
        of = place, at, towards
        yield Text(
            f"{what} {at} towards {towards}: dropped {frames[of]} frames; streams that pass miss "
            f"{missing[of]} messages"
        )
    if len(frames) > MOST_DROPS:
        yield Text(f"… {len(frames) - MOST_DROPS} more places in the report")
