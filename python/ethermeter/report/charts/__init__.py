"""Charts: Vega-Lite specifications as plain dictionaries.

A page of forty charts costs milliseconds.
"""

from ethermeter.document import (
    AnnotatedCurves,
    Chart,
    Comparison,
    Figure,
    GroupedBars,
    Ladder,
    Table,
    VegaLite,
)
from ethermeter.report.charts.annotated import annotated_curves, annotated_numbers
from ethermeter.report.charts.bars import grouped_bars
from ethermeter.report.charts.comparison import comparison, comparison_numbers, ladder


def vega_lite(chart: Chart) -> VegaLite:
    """Return the specification of a chart."""
    if isinstance(chart, AnnotatedCurves):
        return annotated_curves(chart)
    if isinstance(chart, Comparison):
        return comparison(chart)
    if isinstance(chart, Ladder):
        return ladder(chart)
    if isinstance(chart, GroupedBars):
        return grouped_bars(chart)
    return chart


def numbers(figure: Figure) -> Table | None:
    """Return the table of a figure's numbers: its own, or that of its chart if it has one."""
    if figure.numbers is not None:
        return figure.numbers
    if isinstance(figure.chart, AnnotatedCurves):
        return annotated_numbers(figure.chart, figure.title)
    if isinstance(figure.chart, Comparison | Ladder):
        return comparison_numbers(figure.chart, figure.title)
    return None
