"""Numbers: what a chart shows, as a table."""

from ethermeter.chart import Axis, Bars, Curves, Spans, Value, estimate_of, number_of
from ethermeter.document import Label, Row, Table, valued
from ethermeter.results.interval import Estimate


def curve_numbers(chart: Curves, title: str) -> Table:
    """Tabulate curves side by side by x; one below the other where they have no common x."""
    of_x, of_y = chart.x.label, chart.y.label
    has_means = any(trace.look.says for trace in chart.traces)
    if chart.order or has_means or (chart.marks.says and chart.marks.points):
        return _one_below_the_other(chart, title, has_means=has_means)
    found: dict[float | str, dict[str, Value]] = {}
    for trace in chart.traces:
        for x, y in trace.points:
            place = x if isinstance(x, str) else number_of(x) * of_x.factor
            found.setdefault(place, {})[trace.name] = y
    names = [trace.name for trace in chart.traces]
    rows = [
        [x if isinstance(x, str) else f"{x:g}", *(_cell(of.get(name), of_y) for name in names)]
        for x, of in sorted(found.items())
    ]
    head = [of_x.axis, *(name or of_y.axis for name in names)]
    return Table(head, rows, f"{title}: {of_y.axis}")


def _one_below_the_other(chart: Curves, title: str, *, has_means: bool) -> Table:
    """Tabulate curve, means, what orders the points, x and y; then what stands out and is known."""
    of_x, of_y = chart.x.label, chart.y.label

    def row(name: str, says: str, order: str, *cells: str) -> Row:
        return [name, *([says] if has_means else []), *([order] if chart.order else []), *cells]

    rows = []
    for trace in chart.traces:
        for at, (x, y) in enumerate(trace.points):
            order = f"{trace.order[at]:g}" if chart.order else ""
            place = x if isinstance(x, str) else f"{number_of(x) * of_x.factor:.6g}"
            place = _cell(x, of_x) if chart.order and isinstance(x, Estimate) else place
            rows.append(row(trace.name, trace.look.says, order, place, _cell(y, of_y)))
    if chart.marks.says:
        for name, along, high in chart.marks.points:
            place, height = f"{along * of_x.factor:g}", f"{high * of_y.factor:g}"
            rows.append(row(f"{name}, {chart.marks.says}", "", "–", place, height))
    legend = chart.legend.title if chart.legend and chart.legend.title else "Curve"
    return Table(row(legend, "By", chart.order, of_x.axis, of_y.axis), rows, title)


def bar_numbers(chart: Bars, title: str) -> Table:
    """Tabulate the bars of each place, or the parts until each time."""
    found: dict[str, dict[str, str]] = {}
    for bar in chart.bars:
        place = bar.place if isinstance(bar.place, str) else f"{bar.place[1]:.5g}"
        found.setdefault(place, {})[bar.name] = _cell(bar.height, chart.value.label)
    names = list(chart.names or dict.fromkeys(bar.name for bar in chart.bars))
    places = chart.places
    head = places.label.axis if isinstance(places, Axis) else places.title
    rows = [[place, *(of.get(name, "–") for name in names)] for place, of in found.items()]
    unit = chart.value.label.unit
    return Table([head, *(f"{name} ({unit})" if unit else name for name in names)], rows, title)


def span_numbers(chart: Spans, title: str) -> Table:
    """Tabulate row, name, what each value is, and the value."""
    rows = [
        [span.row, span.name, says, _cell(of, chart.value.label)]
        for span in chart.spans
        for _, says, of in span.values
    ]
    return Table([chart.rows.title, "Of", "By", chart.value.label.axis], rows, title)


def _cell(value: Value | None, label: Label) -> str:
    return valued(None if value is None else estimate_of(value), label)
