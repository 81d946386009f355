"""Numbers: what a chart shows, as a table."""

from ethermeter.chart import Axis, Bars, Curves, Spans, Trace, Value, estimate_of, number_of
from ethermeter.document import Row, Table, cell


def curve_numbers(chart: Curves, title: str) -> Table:
    """Tabulate curve, means, what orders the points, x and y; then what stands out and is known."""
    x, y = chart.x.label, chart.y.label
    named = any(trace.name for trace in chart.traces)
    means = any(trace.look.says for trace in chart.traces)

    def row(name: str, says: str, *cells: str) -> Row:
        return [*([name] if named else []), *([says] if means else []), *cells]

    def place(trace: Trace, at: int) -> list[str]:
        of = trace.points[at][0]
        if isinstance(of, str):
            return [of]
        if chart.order:
            return [f"{trace.order[at]:g}", _cell(of, chart.x)]
        return [f"{number_of(of) * (1 if isinstance(of, float | int) else x.factor):.6g}"]

    rows = [
        row(trace.name, trace.look.says, *place(trace, at), _cell(of, chart.y))
        for trace in chart.traces
        for at, (_, of) in enumerate(trace.points)
    ]
    if chart.marks.says:
        unknown = ["–"] if chart.order else []
        rows += [
            row(f"{name}, {chart.marks.says}", "", *unknown, f"{at:g}", f"{high * y.factor:g}")
            for name, at, high in chart.marks.points
        ]
    legend = chart.legend.title if chart.legend and chart.legend.title else "Curve"
    head = row(legend, "By", *([chart.order] if chart.order else []), x.axis, y.axis)
    return Table(head, rows, title)


def bar_numbers(chart: Bars, title: str) -> Table:
    """Tabulate the bars of each place, or the parts until each time."""
    found: dict[str, dict[str, str]] = {}
    for bar in chart.bars:
        place = bar.place if isinstance(bar.place, str) else f"{bar.place[1]:.5g}"
        found.setdefault(place, {})[bar.name] = _cell(bar.height, chart.value)
    names = list(chart.names or dict.fromkeys(bar.name for bar in chart.bars))
    places = chart.places
    head = places.label.axis if isinstance(places, Axis) else places.title
    rows = [[place, *(of.get(name, "–") for name in names)] for place, of in found.items()]
    unit = chart.value.label.unit
    return Table([head, *(f"{name} ({unit})" if unit else name for name in names)], rows, title)


def span_numbers(chart: Spans, title: str) -> Table:
    """Tabulate row, name, what each value is, and the value."""
    rows = [
        [span.row, span.name, says, _cell(of, chart.value)]
        for span in chart.spans
        for _, says, of in span.values
    ]
    return Table([chart.rows.title, "Of", "By", chart.value.label.axis], rows, title)


def _cell(value: Value, axis: Axis) -> str:
    return cell(estimate_of(value), axis.label.factor)
