"""Figures: one metric of a run as Vega-Lite, or exported to PNG, PDF or SVG without a browser."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ethermeter.chart import Curves
from ethermeter.faults import InputError, choices
from ethermeter.metrics import Metric
from ethermeter.metrics.main import metric_choices
from ethermeter.report.axes import choose, drawn, panels
from ethermeter.report.charts import vega_lite
from ethermeter.report.charts.files import require_format, save
from ethermeter.report.charts.frame import SCHEMA
from ethermeter.report.plots import against
from ethermeter.report.style import STYLES, Style
from ethermeter.report.theme import VegaLite, config
from ethermeter.results import estimates
from ethermeter.results.estimates import Point


def spec(
    run_dir: Path, metric: str, series: str | None = None, style: Style = STYLES["screen"]
) -> VegaLite:
    """Draw a metric of a run as a Vega-Lite specification, curves with 95% bands.

    Parameters
    ----------
    run_dir
        Directory of a finished run.
    metric
        Name of a metric, such as "utilisation".
    series
        One series of the run; all of them, side by side, if None.
    style
        Size, type and scales.

    Raises
    ------
    InputError
        If the run has no such series or metric, or varies nothing that could be an x axis.
    """
    return draw(estimates.read(run_dir), metric, series, name=str(run_dir), style=style)


def draw(
    points: Sequence[Point],
    metric: str,
    series: str | None,
    *,
    name: str,
    style: Style = STYLES["screen"],
) -> VegaLite:
    """Draw a metric of estimates as `spec` does; `name` stands for the run in errors."""
    known = {found.value for point in points for found in point.estimates}
    if metric not in known:
        raise InputError.of(
            name, "metric", metric, metric_choices(metric, sorted(known), "expected one of ")
        )
    every = list(dict.fromkeys(point.series for point in points))
    if series is not None and series not in every:
        raise InputError.of(name, "series", series, choices(series, every, "expected one of "))
    asked = Metric(metric)
    charts = []
    for of in every if series is None else [series]:
        of_series = [point for point in points if point.series == of]
        members = [point for point in drawn(of_series) if asked in point.estimates]
        members = members or of_series
        axes = choose(members)
        for panel in panels(members, axes, asked):
            logarithmic = "x" * style.log_x + "y" * style.log_y
            chart = against(panel, asked, axes, logarithmic=logarithmic, is_nearest=False)
            titles = [part for part in (of if len(every) > 1 else "", panel.title) if part]
            heading = ", ".join(titles) or asked.label.title
            box = replace(chart.box, width=style.width, height=style.height)
            if isinstance(chart, Curves):
                chart = _styled(chart, style)
            charts.append(vega_lite(replace(chart, box=box, title=heading)))
    if not charts:
        raise InputError.of(
            name,
            "metric",
            metric,
            "no figure, for the run varies no quantity or holds no value of it",
        )
    common = {"$schema": SCHEMA}
    if len(charts) == 1:
        title = {"title": style.title} if style.title else {}
        return {**common, **charts[0], **title, "config": _config(charts[0], style)}
    # Colours are a matter of the whole specification; the panel with the most curves needs the
    # longest ramp.
    longest = max(charts, key=lambda chart: len(chart["usermeta"]["colours"][style.theme]))
    # Parts of a concatenation keep their own padding as spacing, and each needs its own name for
    # what the pointer selects.
    parts = [_part(chart, number) for number, chart in enumerate(charts)]
    return {
        **common,
        **({"title": style.title} if style.title else {}),
        "concat": parts,
        "resolve": {"scale": {"color": "independent"}},
        "columns": style.columns,
        "spacing": 40,
        "config": _config(longest, style),
    }


def _styled(chart: Curves, style: Style) -> Curves:
    """Return curves with the letters, lines and ends of a style."""
    across = style.across or {}
    label = replace(chart.y.label, from_zero=chart.y.label.from_zero or style.from_zero)
    y = replace(chart.y, label=label, held=(*chart.y.held, *across.values()))
    return replace(chart, y=y, across=across, font_size=style.font_size - 0.5)


def _config(chart: VegaLite, style: Style) -> VegaLite:
    ground = config(style.theme, font=style.font, font_size=style.font_size)
    paper = "white" if style.theme == "light" else "#171d23"
    colours = {"category": chart["usermeta"]["colours"][style.theme]}
    return {**ground, "background": paper, "range": colours}


def _part(chart: VegaLite, number: int) -> VegaLite:
    kept = {
        key: value for key, value in chart.items() if key not in ("autosize", "padding", "usermeta")
    }
    renamed: VegaLite = json.loads(json.dumps(kept).replace('"hover"', f'"hover{number}"'))
    return renamed


def export(
    run_dir: Path,
    metric: str,
    out: Path,
    series: str | None = None,
    style: Style = STYLES["screen"],
) -> Path:
    """Write a figure; the suffix of `out` gives the format: PNG, PDF or SVG.

    Raises
    ------
    InputError
        If the suffix is none of these, or as for `spec`.
    """
    require_format(out)
    return save(spec(run_dir, metric, series, style), out)
