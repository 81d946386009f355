"""Charts: curves, bars and spans as Vega-Lite specifications, plain dictionaries.

A page of forty charts costs milliseconds.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from ethermeter.chart import Axis, Bars, Chart, Curves, number_of
from ethermeter.document import Figure, Table
from ethermeter.quantities import suited
from ethermeter.report.charts.bars import bars
from ethermeter.report.charts.curves import curves
from ethermeter.report.charts.numbers import bar_numbers, curve_numbers, span_numbers
from ethermeter.report.charts.spans import spans
from ethermeter.report.theme import VegaLite


def vega_lite(chart: Chart) -> VegaLite:
    """Return the specification of a chart, in the unit that suits its values."""
    chart = in_suited_unit(chart)
    if isinstance(chart, Curves):
        return curves(chart)
    return bars(chart) if isinstance(chart, Bars) else spans(chart)


def numbers(figure: Figure) -> Table | None:
    """Return the table of a figure's numbers: its own, or its chart's; None beside another."""
    if figure.numbers is not None or figure.after is not None:
        return figure.numbers
    chart = in_suited_unit(figure.chart)
    if isinstance(chart, Curves):
        return curve_numbers(chart, figure.title)
    if isinstance(chart, Bars):
        return bar_numbers(chart, figure.title)
    return span_numbers(chart, figure.title)


def in_suited_unit(chart: Chart) -> Chart:
    """Return a chart whose values are in the unit that suits them: 65.4 ms, not 65,400 µs.

    Ends of an axis that are given are kept in their own unit.
    """
    if isinstance(chart, Curves):
        values = [number_of(y) for trace in chart.traces for _, y in trace.points]
        return replace(chart, y=_suited(chart.y, [*values, *(y for _, _, y in chart.marks.points)]))
    if isinstance(chart, Bars):
        return replace(chart, value=_suited(chart.value, [number_of(b.height) for b in chart.bars]))
    if chart.limit is not None:
        return chart
    values = [number_of(value) for span in chart.spans for _, _, value in span.values]
    return replace(chart, value=_suited(chart.value, values))


def _suited(axis: Axis, values: Sequence[float]) -> Axis:
    has_ends = axis.low is not None or axis.high is not None
    if has_ends:
        return axis
    if not axis.is_log:
        # The largest value decides how long the numbers along a linear axis are.
        values = [max((abs(value) for value in values if math.isfinite(value)), default=0.0)]
    return replace(axis, label=suited(axis.label, values))
