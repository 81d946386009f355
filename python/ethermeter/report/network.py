"""Network: what a report shows of a network beside curves: its drawing, its flows, its links and
ports.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ethermeter.analysis.estimates import Point
from ethermeter.analysis.groups import FLOW_METRICS, PART
from ethermeter.analysis.ports import COUNTS, MOST, Port, PortPoint
from ethermeter.document import number, plain
from ethermeter.metrics import Metric
from ethermeter.report import drawing, results
from ethermeter.report.axes import ENGINE, MOST_CURVES, keys
from ethermeter.report.content import Content
from ethermeter.report.html import safe, table
from ethermeter.report.labels import key_title
from ethermeter.report.parts import parts_figures
from ethermeter.report.sheet import Sheet

OPEN_ROWS = 40
"""Rows of a table that are shown at once."""
TITLES = {
    "dropped": "dropped at the port out",
    "buffer_dropped": "dropped from memory",
    "pauses_sent": "PAUSE sent",
    "pauses_received": "PAUSE received",
    "collisions": "collisions",
    "late_collisions": "late collisions",
    "queue_most": "most frames in the queue",
    "buffer_most": "most octets in memory",
}


def flow_figures(series: str, content: Content, sheet: Sheet) -> str:
    """Return figures that tell tables of flows apart, or the flows of the only one; empty where
    there is nothing to tell.
    """
    tables, flows = (
        [point for point in points if point.series == series]
        for points in (content.tables, content.flows)
    )
    shown = tables or flows
    parts = list(dict.fromkeys(point.point[PART] for point in shown))
    several = len({tuple(sorted(_bare(point).items())) for point in shown}) > 1
    if not several or not 1 < len(parts) <= MOST_CURVES:
        return ""
    lead = (
        "Means over the flows of a table of the experiment file."
        if tables
        else "Each flow by itself."
    )
    # Delays by clocks are shown beside true ones instead.
    metrics = list(FLOW_METRICS)
    return parts_figures(shown, "By flow", lead, sheet, metrics=metrics)


def network_tables(series: str, content: Content) -> str:
    """Return the drawing of the network of a series with its links, and the tables of flows, links
    and ports.
    """
    flows = [point for point in content.flows if point.series == series]
    ports = [
        (point, network)
        for point, network in zip(content.ports, content.links, strict=True)
        if point.series == series
    ]
    chosen = max(ports, key=lambda pair: pair[0].busiest.medium.value) if ports else None
    body = _drawing(*chosen) if chosen is not None else ""
    body += _flows_table(flows, chosen[0] if chosen else None)
    if chosen is not None:
        body += _links_table([point for point, _ in ports]) + _ports_table(chosen[0])
    return body


def _bare(point: Point) -> dict[str, str]:
    return {key: value for key, value in keys(point).items() if key != PART}


def _at(point: Mapping[str, str]) -> str:
    """Say at which point; empty where there is only one."""
    text = ", ".join(f"{key_title(key)}: {plain(value)}" for key, value in point.items())
    return f" {text}." if text else ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _drawing(point: PortPoint, network: Mapping[str, Any]) -> str:
    busiest = point.busiest
    shares = {port.number: port.medium.value for port in point.ports}
    lead = (
        "Each link with the share of time in which it was busy (preambles, frames and gaps), of the busier direction, at the point "
        "with the busiest link."
        f"{_at(point.point)} "
        f"Busiest: {busiest.node} to {busiest.peer}, {_percent(busiest.medium.value)}."
    )
    picture = drawing.drawn(network, shares, busiest=busiest.link)
    return f'<h3>The network</h3><p class="lead">{safe(lead)}</p><div class="panel">{picture}</div>'


def _flows_table(flows: Sequence[Point], chosen: PortPoint | None) -> str:
    """Tabulate the flows at one point, by every engine that answered there."""
    if not flows:
        return ""
    at = (
        chosen.point
        if chosen
        else {key: value for key, value in flows[0].point.items() if key != PART}
    )
    shown = [
        point
        for point in flows
        if {key: value for key, value in point.point.items() if key != PART} == at
    ]
    metrics = [
        metric for metric in FLOW_METRICS if any(_is_something(point, metric) for point in shown)
    ]
    engines = len({point.engine for point in shown}) > 1
    rows = [
        [
            safe(point.point[PART]),
            *([safe(keys(point)[ENGINE])] if engines else []),
            *(results.cell(point.estimates[metric], metric.label.factor) for metric in metrics),
        ]
        for point in shown
    ]
    head = [
        "Flow",
        *(["Engine"] if engines else []),
        *(safe(metric.label.axis) for metric in metrics),
    ]
    return f'<h3>Flows</h3><p class="lead">{safe(_at(at).strip())}</p>' + _folded(
        head, rows, "Flows", headers=2 if engines else 1
    )


def _is_something(point: Point, metric: Metric) -> bool:
    value = point.estimates[metric].value
    return value == value and (value != 0 or metric is Metric.LOSS)


def _links_table(points: Sequence[PortPoint]) -> str:
    """Tabulate the busiest link of every point."""
    if len(points) < 2:
        return ""
    names = list(points[0].point)
    rows = []
    for point in points:
        busiest = point.busiest
        rows.append(
            [
                *(safe(plain(point.point[name])) for name in names),
                f"{safe(busiest.node)} to {safe(busiest.peer)}",
                results.cell(busiest.medium, 100),
                number(
                    sum(
                        port.counts["dropped"] + port.counts["buffer_dropped"]
                        for port in point.ports
                    )
                ),
            ]
        )
    head = [
        *(safe(key_title(name)) for name in names),
        "Busiest link",
        "Busy (%)",
        "Frames dropped at all ports",
    ]
    lead = "Where the network is at its limit; drops are means over the replications, in the measured window."
    return f'<h3>Busiest links</h3><p class="lead">{lead}</p>' + _folded(
        head, rows, "Busiest links", headers=len(names) or 1
    )


def _ports_table(point: PortPoint) -> str:
    counted = [name for name in (*COUNTS, *MOST) if any(port.counts[name] for port in point.ports)]
    is_shared = any(port.medium.value != port.share.value for port in point.ports)
    rows = [
        _port_row(
            port, counted, is_busiest=port.number == point.busiest.number, is_shared=is_shared
        )
        for port in point.ports
    ]
    head = [
        "Port out",
        "to",
        "Busy (%)",
        *(["Its medium (%)"] if is_shared else []),
        "Frames/s",
        "Mb/s",
        *(TITLES[name] for name in counted),
    ]
    lead = "What each port sent in the measured window; counts are means over the replications, the most in queue or memory is over all."
    if is_shared:
        lead += (
            " Ports of a collision domain share their medium; what collisions take is not counted."
        )
    lead += _at(point.point)
    return f'<h3>Ports</h3><p class="lead">{safe(lead)}</p>' + _folded(
        head, rows, "Ports", headers=2
    )


def _port_row(
    port: Port, counted: Sequence[str], *, is_busiest: bool, is_shared: bool
) -> list[str]:
    node = f"<strong>{safe(port.node)}</strong> (busiest)" if is_busiest else safe(port.node)
    return [
        node,
        safe(port.peer),
        results.cell(port.share, 100),
        *([results.cell(port.medium, 100)] if is_shared else []),
        number(port.frame_rate),
        number(port.bit_rate / 1e6),
        *(number(port.counts[name]) for name in counted),
    ]


def _folded(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, headers: int
) -> str:
    text = f'<div class="panel">{table(head, rows, caption=caption, kind=f"data names{headers}", headers=headers)}</div>'
    return (
        text
        if len(rows) <= OPEN_ROWS
        else f"<details><summary>{len(rows)} rows</summary>{text}</details>"
    )
