"""Charts: curves, bars and spans as Vega-Lite specifications, plain dictionaries.

A page of forty charts costs milliseconds.
"""

from ethermeter.chart import Bars, Chart, Curves
from ethermeter.document import Figure, Table
from ethermeter.report.charts.bars import bars
from ethermeter.report.charts.curves import curves
from ethermeter.report.charts.numbers import bar_numbers, curve_numbers, span_numbers
from ethermeter.report.charts.spans import spans
from ethermeter.report.theme import VegaLite


def vega_lite(chart: Chart) -> VegaLite:
    """Return the specification of a chart."""
    if isinstance(chart, Curves):
        return curves(chart)
    return bars(chart) if isinstance(chart, Bars) else spans(chart)


def numbers(figure: Figure) -> Table | None:
    """Return the table of a figure's numbers: its own, or its chart's; None beside another."""
    if figure.numbers is not None or figure.after is not None:
        return figure.numbers
    if isinstance(figure.chart, Curves):
        return curve_numbers(figure.chart, figure.title)
    if isinstance(figure.chart, Bars):
        return bar_numbers(figure.chart, figure.title)
    return span_numbers(figure.chart, figure.title)
