"""Network: the topology of a series on a network, its flows, its links and its ports."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from ethermeter.analysis.groups import FLOW_METRICS, PART
from ethermeter.analysis.media import METRICS
from ethermeter.analysis.ports import COUNTS, MOST, Port, PortPoint
from ethermeter.document import (
    Block,
    Heading,
    Label,
    Row,
    Table,
    Text,
    large_first,
    number,
    plain,
    valued,
)
from ethermeter.metrics import Metric
from ethermeter.quantities import suited
from ethermeter.report import topology
from ethermeter.report.axes import ENGINE, MOST_CURVES, keys
from ethermeter.report.data import ReportData
from ethermeter.report.extremes import Places, amount
from ethermeter.report.labels import key_title, point_title
from ethermeter.report.sections.groups import metric_figures
from ethermeter.report.tables import estimates_table
from ethermeter.results.estimates import Point
from ethermeter.scenario import Scenario

OPEN_ROWS = 40
"""Rows of a table that are shown at once."""
BUSY = Label("Busy", "%", 100.0, most=100.0, least=0.0)
TITLES = {
    "dropped": "frames dropped at the port out",
    "buffer_dropped": "frames dropped from memory",
    "pauses_sent": "PAUSE sent",
    "pauses_received": "PAUSE received",
    "collisions": "collisions",
    "late_collisions": "late collisions",
    "queue_most": "most frames in the queue",
    "queue_octets_most": "most octets in the queue",
    "buffer_most": "most octets in memory",
    "used": "opportunities used",
    "yielded": "let pass",
    "missed": "missed",
    "logical_collisions": "logical collisions",
    "beacons_lost": "beacons lost",
    "status_changes": "status changes",
}


def flow_blocks(series: str, data: ReportData) -> list[Block]:
    """Return figures by table of flows, or by flow of the only table.

    Empty where there is only one flow.
    """
    tables, flows = (
        [point for point in points if point.series == series]
        for points in (data.tables, data.flows)
    )
    shown = tables or flows
    names = list(dict.fromkeys(point.point[PART] for point in shown))
    several = len({tuple(sorted(_bare(point).items())) for point in shown}) > 1
    if not several or not 1 < len(names) <= MOST_CURVES:
        return []
    lead = (
        "Means over the flows of a table of the experiment file."
        if tables
        else "Each flow by itself."
    )
    # Delays by clocks are shown beside true ones instead.
    metrics = list(FLOW_METRICS)
    return metric_figures(shown, "By flow", lead, metrics=metrics)


def findings(data: ReportData) -> list[str]:
    """Say which link is busiest, and whether a port drops; nothing of runs without networks."""
    points = [point for point in data.ports if point.engine == "simulation"] or list(data.ports)
    points = [point for point in points if point.ports]
    if not points:
        return []
    worst = max(points, key=lambda point: point.busiest.medium.value)
    busiest = worst.busiest
    dropping = max(
        ((port.counts["dropped"] + port.counts["buffer_dropped"], port) for port in worst.ports),
        key=lambda pair: pair[0],
    )
    at = Places(tuple(worst.point), has_series=False).at(
        Point(worst.series, worst.point, worst.engine, 1, {})
    )
    share = amount(busiest.medium, BUSY)
    where = f" at {at}" if at else ""
    text = Markup("The busiest link is {} to {}: busy for {} of its time{}").format(
        busiest.node, busiest.peer, share, where
    )
    if not dropping[0]:
        return [text + "; no port drops a frame there."]
    port = dropping[1]
    name = "its port" if port is busiest else f"the port of {port.node} to {port.peer}"
    drops = number(dropping[0])
    return [text + f"; {name} drops most frames there, {drops} in the measured window."]


def network_blocks(series: str, data: ReportData) -> list[Block]:
    """Return the drawing of a series' network, and the tables of flows, links and ports."""
    flows = [point for point in data.flows if point.series == series]
    ports = [
        (point, network)
        for point, network in zip(data.ports, data.links, strict=True)
        if point.series == series
    ]
    # Of several engines the one that counts all ports.
    chosen = (
        max(ports, key=lambda pair: (len(pair[0].ports), pair[0].busiest.medium.value))
        if ports
        else None
    )
    if chosen is None:
        return _flows_table(flows, None)
    links = _links_table([point for point, _ in ports if point.engine == chosen[0].engine])
    same = [point for point, _ in ports if point.point == chosen[0].point]
    return [
        *_topology(*chosen),
        *_flows_table(flows, chosen[0]),
        *_media_table([point for point in data.media if point.series == series]),
        *links,
        *_ports_table(chosen[0], same),
    ]


def _media_table(points: Sequence[Point]) -> list[Block]:
    """Return the table of shared media; empty without any."""
    if not points:
        return []
    lead = "Each shared medium, with all its stations: ports of hosts, switches and routers."
    named = [
        replace(point, point={**_bare(point), "medium": point.point[PART]}) for point in points
    ]
    table = estimates_table(named, METRICS, open_rows=OPEN_ROWS)
    return [Heading("Shared media"), Text(lead, "lead"), table]


def _bare(point: Point) -> dict[str, str]:
    return {key: value for key, value in keys(point).items() if key != PART}


def _at(point: Mapping[str, str]) -> str:
    """Say at which point; empty where there is only one."""
    text = point_title(point)
    return f" {text}." if text else ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _topology(point: PortPoint, network: Scenario) -> list[Block]:
    busiest = point.busiest
    shares = {port.number: port.medium.value for port in point.ports}
    lead = (
        "Each link with the share of time in which it was busy (preambles, frames and gaps), of"
        f" the busier direction, at the point with the busiest link.{_at(point.point)} Busiest:"
        f" {busiest.node} to {busiest.peer}, {_percent(busiest.medium.value)}."
    )
    picture = topology.picture(network, shares, busiest=busiest.link)
    return [Heading("The network"), Text(lead, "lead"), picture]


def _flows_table(flows: Sequence[Point], chosen: PortPoint | None) -> list[Block]:
    """Tabulate the flows at one point, by every engine that answered there."""
    if not flows:
        return []
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
    labels = {
        metric: suited(metric.label, (point.estimates[metric].value for point in shown))
        for metric in metrics
    }
    engines = len({point.engine for point in shown}) > 1
    rows = [
        [
            point.point[PART],
            *([keys(point)[ENGINE]] if engines else []),
            *(valued(point.estimates[metric], labels[metric]) for metric in metrics),
        ]
        for point in shown
    ]
    head = [
        "Flow",
        *(["Engine"] if engines else []),
        *(label.axis for label in labels.values()),
    ]
    headers = 2 if engines else 1
    return [Heading("Flows"), Text(_at(at).strip(), "lead"), _table(head, rows, "Flows", headers)]


def _is_something(point: Point, metric: Metric) -> bool:
    value = point.estimates[metric].value
    return value == value and (value != 0 or metric is Metric.LOSS)


def _links_table(points: Sequence[PortPoint]) -> list[Block]:
    """Tabulate the busiest link of every point."""
    if len(points) < 2:
        return []
    names = list(points[0].point)
    rows = []
    for point in points:
        busiest = point.busiest
        rows.append(
            [
                *(plain(point.point[name]) for name in names),
                f"{busiest.node} to {busiest.peer}",
                valued(busiest.medium, BUSY),
                number(
                    sum(
                        port.counts["dropped"] + port.counts["buffer_dropped"]
                        for port in point.ports
                    )
                ),
            ]
        )
    head = [
        *(key_title(name) for name in names),
        "Busiest link",
        "Busy (%)",
        "Frames dropped at all ports",
    ]
    lead = (
        "Where the network is at its limit; drops are means over the replications, in the measured"
        " window."
    )
    table = _table(head, rows, "Busiest links", len(names) or 1)
    return [Heading("Busiest links"), Text(lead, "lead"), table]


def _ports_table(point: PortPoint, same: Sequence[PortPoint]) -> list[Block]:
    """Tabulate the ports of a network, by every engine that counted them at the same point."""
    every = sorted(
        ((port, of.engine) for of in same for port in of.ports), key=lambda row: row[0].number
    )
    ports = [port for port, _ in every]
    counted = [name for name in (*COUNTS, *MOST) if any(port.counts.get(name) for port in ports)]
    is_shared = any(port.medium.value != port.share.value for port in ports)
    has_access = any(not math.isnan(port.access_s) for port in ports)
    rows = [
        _port_row(
            port,
            counted,
            engine=engine if len(same) > 1 else None,
            is_busiest=port.number == point.busiest.number and engine == point.engine,
            is_shared=is_shared,
            has_access=has_access,
        )
        for port, engine in every
    ]
    head = [
        "Port out",
        "to",
        *(["Engine"] if len(same) > 1 else []),
        "Busy (%)",
        *(["Its medium (%)"] if is_shared else []),
        "Sent (frame/s)",
        "Sent (Mb/s)",
        *(["Access delay (µs)", "Longest access delay (µs)"] if has_access else []),
        *(large_first(TITLES[name]) for name in counted),
    ]
    lead = (
        "What each port sent in the measured window; counts are means over the replications, the"
        " most in queue or memory is over all."
    )
    if len(same) > 1:
        lead += " A measurement counts the ports at shared media."
    if is_shared:
        lead += (
            " Ports of a collision domain share their medium; what collisions take is not counted."
        )
    if has_access:
        lead += " The access delay runs from the head of a queue to the first bit on the segment."
    lead += _at(point.point)
    return [Heading("Ports"), Text(lead, "lead"), _table(head, rows, "Ports", 2 + (len(same) > 1))]


def _port_row(
    port: Port,
    counted: Sequence[str],
    *,
    engine: str | None,
    is_busiest: bool,
    is_shared: bool,
    has_access: bool,
) -> list[str]:
    delays = [number(seconds * 1e6) for seconds in (port.access_s, port.access_most_s)]
    node = Markup("<strong>{}</strong> (busiest)").format(port.node) if is_busiest else port.node
    return [
        node,
        port.peer,
        *([] if engine is None else [engine]),
        valued(port.share, BUSY),
        *([valued(port.medium, BUSY)] if is_shared else []),
        number(port.frame_rate),
        number(port.bit_rate / 1e6),
        *(delays if has_access else []),
        *(number(port.counts.get(name, math.nan)) for name in counted),
    ]


def _table(head: Row, rows: Sequence[Row], caption: str, headers: int) -> Table:
    return Table(head, rows, caption, f"data names{headers}", headers, OPEN_ROWS)
