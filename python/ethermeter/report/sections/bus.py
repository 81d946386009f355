"""Bus: the longest cycles and access delays of 10BASE-T1S, simulated beside their bounds."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from ethermeter.analysis.bus_times import CYCLES, BusTime
from ethermeter.document import Block, Bullets, Figure, Grid, Heading, Label, Table, Text
from ethermeter.metrics import Metric
from ethermeter.present.bus import ACCESS_DELAY, ATTEMPT, QUEUE, us
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title, point_title
from ethermeter.report.plots import turns
from ethermeter.report.sections.bounds import exceeded_blocks
from ethermeter.report.tables import tag
from ethermeter.report.thinning import spread

OPEN_ROWS = 40
MOST_FIGURES = 6
MOST_GROUPS = 12
"""Groups of a figure."""
WHAT = {
    CYCLES: "cycle",
    Metric.ATTEMPT_DELAY_MAX: ATTEMPT,
    Metric.ACCESS_DELAY_MAX: QUEUE,
}
LEAD = (
    "A bound is a time that no cycle and no access delay of a node is longer than, whatever the "
    f"nodes send. {ACCESS_DELAY}"
)
BOUND, SIMULATED = "bound", "largest simulated"
OF_CYCLES = ("longest cycle", "bound of cycles")
CAPTION = "Access delays from the head of the queue, the largest over all replications."


def bus_blocks(series: str, data: ReportData) -> list[Block]:
    """Sentences, figures and a table of a series; empty if it is no bus."""
    times = [time for time in data.answers.buses if time.series == series]
    if not times:
        return []
    blocks: list[Block] = [Heading("Longest times and their bounds"), Text(LEAD, "lead")]
    blocks += exceeded_blocks(series, data)
    if unbounded := _unbounded(times):
        blocks.append(Bullets(unbounded))
    figures = _figures(times)
    return [*blocks, *([Grid(figures)] if figures else []), _table(times)]


def _unbounded(times: Sequence[BusTime]) -> list[str]:
    """Say at which points there is no bound, and why."""
    points: dict[tuple[str, ...], dict[tuple[tuple[str, str], ...], None]] = {}
    for time in times:
        if time.obstacles:
            points.setdefault(time.obstacles, {})[tuple(time.point.items())] = None
    count = len({tuple(time.point.items()) for time in times})
    return [
        Markup("<strong>No bound</strong>{}: {}.").format(
            _where([dict(point) for point in found], count), "; ".join(obstacles)
        )
        for obstacles, found in points.items()
    ]


def _where(points: Sequence[Mapping[str, str]], count: int) -> str:
    """Say at which of so many points; empty at all."""
    if len(points) == count:
        return ""
    if len(points) == 1:
        return f" at {point_title(points[0])}"
    return f" at {len(points)} of {count} points"


def _figures(times: Sequence[BusTime]) -> list[Figure]:
    """Draw the groups of some points; nothing of a single group, which the table shows."""
    found: dict[tuple[tuple[str, str], ...], list[BusTime]] = {}
    for time in times:
        found.setdefault(tuple(time.point.items()), []).append(time)
    drawn = [_figure(members) for members in spread(list(found.values()), MOST_FIGURES)]
    return [figure for figure in drawn if figure is not None]


def _figure(times: Sequence[BusTime]) -> Figure | None:
    """Draw the groups of a point, and its cycles as lines across."""
    groups = [time for time in times if time.metric is Metric.ACCESS_DELAY_MAX]
    nodes = {time.group: _known(time, SIMULATED, BOUND) for time in groups[:MOST_GROUPS]}
    if len(groups) < 2 or not any(nodes.values()):
        return None
    cycles = [time for time in times if time.metric is CYCLES]
    across = {name: time_s for of in cycles for name, time_s in _known(of, *OF_CYCLES).items()}
    text = CAPTION + (" Dashed: cycles." if across else "")
    if len(nodes) < len(groups):
        text += f" The first {len(nodes)} of {len(groups)} groups."
    return Figure(
        turns(nodes, across, Label("Longest time", "µs", 1e6)),
        point_title(times[0].point) or "Longest access delays by group",
        text,
        kind="roofline",
    )


def _known(time: BusTime, simulated: str, bound: str) -> dict[str, float]:
    values = {simulated: time.simulated_s, bound: time.bound_s}
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _table(times: Sequence[BusTime]) -> Table:
    keys = list(dict.fromkeys(key for time in times for key in time.point))
    rows = [
        [
            *(time.point.get(key, "") for key in keys),
            time.group or "all",
            WHAT[time.metric],
            us(time.simulated_s),
            us(time.bound_s) if not time.obstacles else Markup("no bound"),
            _share(time),
            _verdict(time),
        ]
        for time in times
    ]
    head = [
        *map(key_title, keys),
        "Stations",
        "Time",
        "Largest simulated (µs)",
        "Bound (µs)",
        "Of the bound",
        "Verdict",
    ]
    headers = len(keys) + 2
    kind = f"data names{min(headers, 3)}"
    return Table(head, rows, "Longest times and bounds", kind, headers, OPEN_ROWS)


def _share(time: BusTime) -> str:
    share = time.simulated_s / time.bound_s
    return f"{share:.1%}" if math.isfinite(share) else "–"


def _verdict(time: BusTime) -> str:
    if time.verdict == "unknown":
        return "–"
    kind = "holds" if time.verdict == "holds" else "missed"
    return tag(kind, "below" if kind == "holds" else "above")
