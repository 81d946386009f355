"""Designs: two runs of networks by capacity, flow, bound and port."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from ethermeter.analysis.bounds import FLOW, SEEN, FlowTime
from ethermeter.analysis.comparison import DIFFERS, Row
from ethermeter.analysis.designs import (
    METRICS,
    PORT,
    PORT_UNITS,
    Designs,
    FlowPair,
    PortPair,
    ports_alike,
)
from ethermeter.blocks import Heading, Table, Text
from ethermeter.document import plain
from ethermeter.faults import named
from ethermeter.metrics import Label, Metric
from ethermeter.present.bounds import OPEN_ROWS, TABLE_ROWS, time_text
from ethermeter.present.capacity import summary
from ethermeter.present.comparison import texts
from ethermeter.quantities import UNDEFINED, common_scale, number, suited

Block = Heading | Table | Text

ENDS: tuple[Literal["a", "b"], ...] = ("a", "b")
"""Fields of a row that have the values of the first and the second run."""


def designs(found: Designs | None, most: int | None = TABLE_ROWS) -> Iterator[Block]:
    """Lay out the capacities, flows, bounds and ports of two networks; nothing of none.

    `most`: rows of each table at most; all if it is None.
    """
    if found is None:
        return
    yield from _capacities(found)
    yield from _flows(found.alike, most)
    yield from _bounds(found.alike, most)
    yield from _ports(found, most)
    for kind, alone in (("Flows", found.alone_flows), ("Ports", found.alone_ports)):
        for name, only in zip(("first", "second"), alone, strict=True):
            if only:
                yield Text(f"{kind} of the {name} run only: {named(only)}.")


def _capacities(found: Designs) -> Iterator[Text]:
    """Say of each run whether it carries what it is offered; once if that is the same."""
    said = [summary(of_run) if of_run else "" for of_run in found.capacities]
    if not any(said):
        return
    if said[0] == said[1]:
        yield Text(f"Both: {said[0]}")
        return
    for name, text in zip(("First", "Second"), said, strict=True):
        yield Text(f"{name}: {text or 'no flow offers a rate.'}")


def _flows(found: Sequence[FlowPair], most: int | None) -> Iterator[Block]:
    """Tabulate what was simulated and measured of flows, the second run less the first."""
    rows = [row for flow in found for row in flow.rows]
    if not rows:
        return
    used = {row["metric"] for row in rows}
    metrics = [metric for metric in METRICS if metric in used]
    if Metric.DATA_RATE in metrics and Metric.MESSAGE_RATE in metrics:
        metrics.remove(Metric.MESSAGE_RATE)
    labels = {metric: _label(metric, rows) for metric in metrics}
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    cells, keys = [], _keys(found)
    for flow in found:
        for engine in engines:
            of_flow = {row["metric"]: row for row in flow.rows if row["engine"] == engine}
            if of_flow:
                by = [SEEN[engine]] * (len(engines) > 1)
                values = [_cell(of_flow.get(metric), labels[metric]) for metric in metrics]
                cells.append([*_at(flow, keys), flow.flow, *by, *values])
    lead = [*keys, FLOW, *(["by"] * (len(engines) > 1))]
    head = [*lead, *(labels[metric].axis for metric in metrics)]
    yield from _table("Flows, first → second", head, cells, len(lead), most)


def _label(metric: Metric, rows: Sequence[Row]) -> Label:
    """Return the label of a column, in the unit that suits its values."""
    values = [row[end] for row in rows if row["metric"] == metric.value for end in ENDS]
    return suited(metric.label, [value for value in values if value is not None])


def _cell(row: Row | None, label: Label) -> str:
    """Write a value of both runs, and what became of it."""
    if row is None:
        return UNDEFINED
    shown, verdict = texts(row, label), row["verdict"]
    if verdict == "same":
        return shown.first
    by = f" {shown.difference}" if verdict in DIFFERS else ""
    return f"{shown.first} → {shown.second}, {verdict}{by}"


def _bounds(found: Sequence[FlowPair], most: int | None) -> Iterator[Block]:
    """Tabulate the worst-case times of flows, and whether these keep their deadlines."""
    pairs = [
        (flow, metric, [of_run.get(metric) for of_run in flow.times])
        for flow in found
        for metric in dict.fromkeys([*flow.times[0], *flow.times[1]])
    ]
    pairs = [each for each in pairs if any(map(_has_bound, each[2]))]
    if not pairs:
        return
    shown = [flow for flow, _, _ in pairs]
    has_round_trips = any(metric is not Metric.ONE_WAY_DELAY for _, metric, _ in pairs)
    has_deadline = any(math.isfinite(due) for flow in shown for due in flow.deadlines_s)
    values = [time.bound_s for _, _, times in pairs for time in times if time is not None]
    scale = common_scale(filter(math.isfinite, values), "s")
    rows, keys = [], _keys(found)
    for flow, metric, times in pairs:
        first, second = (math.nan if time is None else time.bound_s for time in times)
        rows.append(
            [
                *_at(flow, keys),
                flow.flow,
                *([metric.value] * has_round_trips),
                time_text(first, scale),
                time_text(second, scale),
                _change(first, second),
                *([_arrow(*(time_text(due, scale) for due in flow.deadlines_s))] * has_deadline),
                *([_arrow(*map(_verdict, times))] * has_deadline),
            ]
        )
    unit = "" if scale is None else f" {scale.unit}"
    lead = [*keys, FLOW, *(["time"] * has_round_trips)]
    head = [*lead, f"first{unit}", f"second{unit}", "change %"]
    head += [f"deadline{unit}", "worst case"] * has_deadline
    yield from _table("Worst cases of flows, by theory", head, rows, len(lead), most)


def _change(first: float, second: float) -> str:
    """Write by how many per cent the second is above the first."""
    if first == second:
        return "0"
    return f"{100 * (second / first - 1):+.3g}" if first > 0 else UNDEFINED


def _has_bound(time: FlowTime | None) -> bool:
    return time is not None and math.isfinite(time.bound_s)


def _verdict(time: FlowTime | None) -> str:
    """Say whether the worst case of a flow keeps its deadline; a dash without a deadline."""
    if time is None or math.isnan(time.deadline_s):
        return UNDEFINED
    if math.isnan(time.margin_s):
        return "no bound"
    return "kept" if time.margin_s >= 0 else "missed"


def _arrow(first: str, second: str) -> str:
    return first if first == second else f"{first} → {second}"


def _ports(found: Designs, most: int | None) -> Iterator[Block]:
    """Tabulate what ports are offered, and their largest queues and drops in the simulation."""
    ports = ports_alike(found.ports)
    if not ports:
        return
    words = [word for word in PORT_UNITS if any(_is_known(port.values[word]) for port in ports)]
    if not any(sum(port.values["dropped"]) > 0 for port in ports):
        words = [word for word in words if word != "dropped"]
    rows, keys = [], _keys(found.ports)
    for port in ports:
        cells = []
        for word in words:
            factor = 100 if word == "load" else 1
            cells.append(_arrow(*(number(factor * value) for value in port.values[word])))
        rows.append([*_at(port, keys), port.port, *cells])
    titles = {"load": "offered %", "queue": "largest queue frames", "dropped": "dropped frames"}
    lead = [*keys, PORT]
    head = [*lead, *(titles[word] for word in words)]
    yield from _table("Ports, first → second", head, rows, len(lead), most)


def _is_known(values: Sequence[float]) -> bool:
    return not all(map(math.isnan, values))


def _keys(found: Sequence[FlowPair | PortPair]) -> list[str]:
    """Return the names of the columns that tell points apart."""
    several = ["series"] if len({each.series for each in found}) > 1 else []
    return [*several, *dict.fromkeys(key for each in found for key in each.point)]


def _at(of: FlowPair | PortPair, keys: Sequence[str]) -> list[str]:
    """Return the cells of these columns."""
    values = {"series": of.series, **of.point}
    return [plain(values.get(key, "")) for key in keys]


def _table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], headers: int, most: int | None
) -> Iterator[Block]:
    yield Heading(caption)
    kind = f"data names{min(headers, 3)}"
    yield Table(head, rows[:most], caption, kind, headers, OPEN_ROWS)
    if most is not None and len(rows) > most:
        yield Text(f"… {len(rows) - most} more with --json")
