"""Capacity: whether a network carries what it is offered, how much more, and what is full first."""

import math
from collections.abc import Iterator, Sequence

from ethermeter.analysis.capacity import Capacity
from ethermeter.blocks import Table, Text
from ethermeter.quantities import UNDEFINED, Scale, number, scale_of
from ethermeter.theory.load import Overload

Block = Text | Table

TABLE_ROWS = 30
MOST_KINDS = 6
"""Kinds of flows that a sentence names."""
KIND_ROWS = 10
"""Kinds of flows of a table: those with the least headroom."""


def capacity(found: Sequence[Capacity]) -> Iterator[Block]:
    """Lay out the capacities of points; nothing of none."""
    if not found:
        return
    same = {sentence(each) for each in found}
    if len(same) == 1:
        yield Text(sentence(found[0]))
        if found[0].kinds:
            yield from _kinds(found[0])
        return
    yield Text(summary(found))
    yield _points(found[:TABLE_ROWS])
    if len(found) > TABLE_ROWS:
        yield Text(f"… {len(found) - TABLE_ROWS} more with --json")


def sentence(found: Capacity) -> str:
    """Say whether a network carries what it is offered, by what it is limited, and how far."""
    busiest = f"{found.resource} is offered {_offered(found)}"
    overload = found.overload
    if overload is None:
        text = f"{_verdict(found)}: {busiest}"
    elif found.load > 1:
        text = f"{_verdict(found)}: {busiest}; {_queue(overload)}"
    else:
        offered = f"{overload.resource} is offered {number(overload.load)} times what it lets pass"
        text = f"{_verdict(found)}: {offered}; {_queue(overload)}; {busiest}"
    if math.isfinite(found.scale):
        text += f"; full at {number(found.scale)} times this load"
    elif not found.has_rates:
        text += "; some flows always have a next message and take what is left"
    if found.is_shared:
        text += "; contention for the medium takes more"
    if found.uncounted:
        text += f"; without {_listed(found.uncounted)}, which take what is left"
    return f"{text}."


def summary(found: Sequence[Capacity]) -> str:
    """Say at how many points a network carries what it is offered, and where it is fullest."""
    if len({sentence(each) for each in found}) == 1:
        return sentence(found[0])
    fitting = sum(each.verdict == "fits" for each in found)
    worst = max(found, key=lambda each: each.load)
    at = ", ".join(f"{key} = {text}" for key, text in worst.point.items())
    lead = (
        f"Fits at {fitting} of {len(found)} points"
        if fitting
        else f"Fits at none of {len(found)} points"
    )
    return f"{lead}. Fullest, at {at or worst.series}: {sentence(worst)}"


def _verdict(found: Capacity) -> str:
    match found.verdict:
        case "fits":
            return "Fits"
        case "does not fit":
            return "Does not fit"
        case _:
            return "Undecided, a queue grew in the simulation"


def _offered(found: Capacity) -> str:
    """Write what the busiest resource is offered, of how much, and by which flows."""
    kinds = [kind for kind in found.kinds if kind.load > 0]
    if math.isnan(found.rate_bps):
        scale, total = Scale("%", 0.01), f"{number(100 * found.load)}% of its time"
        loads = [kind.load for kind in kinds]
    else:
        scale = scale_of(found.rate_bps / 10, "bit/s")
        offered, rate = found.offered_bps / scale.size, found.rate_bps / scale.size
        total = f"{number(offered)} {scale.unit} of {number(rate)}"
        loads = [kind.offered_bps for kind in kinds]
    if len(kinds) < 2:
        return total
    named = [
        f"{kind.name} {number(load / scale.size, digits=3)}"
        for kind, load in list(zip(kinds, loads, strict=True))[:MOST_KINDS]
    ]
    more = len(kinds) - MOST_KINDS
    return f"{total} ({', '.join(named)}{f', {more} more' if more > 0 else ''})"


def _queue(overload: Overload) -> str:
    return overload.queue if overload.is_endless else f"{overload.queue}, then it loses frames"


def _listed(names: Sequence[str]) -> str:
    if len(names) <= MOST_KINDS:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_KINDS])} and {len(names) - MOST_KINDS} more kinds of flows"


def _kinds(found: Capacity) -> Iterator[Block]:
    """Tabulate the kinds of flows: their share in the busiest resource, and their headroom."""
    shown = sorted(found.kinds, key=lambda kind: kind.headroom)[:KIND_ROWS]
    rows = [
        [
            kind.name,
            str(kind.flows),
            number(100 * kind.load, digits=3),
            _times(kind.headroom) if found.has_rates else UNDEFINED,
            kind.limit,
        ]
        for kind in shown
    ]
    head = ["flows", "count", f"load of {found.resource} %", "fits up to times", "full then"]
    yield Table(head, rows, "Headroom by kind of flow", "data names1")
    if len(found.kinds) > len(shown):
        yield Text(f"… {len(found.kinds) - len(shown)} more have more headroom")


def _times(headroom: float) -> str:
    return "no limit" if math.isinf(headroom) else number(headroom, digits=3)


def _points(found: Sequence[Capacity]) -> Table:
    """Tabulate the capacity of each point."""
    keys = list(dict.fromkeys(key for each in found for key in each.point))
    series = len({each.series for each in found}) > 1
    rows = [
        [
            *([each.series] * series),
            *(each.point.get(key, "") for key in keys),
            each.verdict,
            each.resource,
            number(100 * each.load),
            number(each.scale),
        ]
        for each in found
    ]
    lead = [*(["series"] * series), *keys]
    head = [*lead, "verdict", "busiest", "load %", "full at times"]
    names = f"data names{min(len(lead), 3)}"
    return Table(head, rows, "Capacity by point", names, len(lead), open_rows=TABLE_ROWS)
