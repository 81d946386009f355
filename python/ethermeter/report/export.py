"""Export: a page as a file, or its figures, one below the other, as SVG, PDF or PNG."""

import textwrap
from pathlib import Path

from ethermeter.document import Figure, Grid
from ethermeter.faults import InputError
from ethermeter.report import charts
from ethermeter.report.charts import files
from ethermeter.report.charts.frame import SCHEMA
from ethermeter.report.render import Page, render
from ethermeter.report.theme import VegaLite, config

FORMATS = (".html", *files.FORMATS)
WIDTH = 460
"""Of a figure in a file, in pixels."""
_LINE = 84
"""Letters of a line of a caption that are no wider than that."""


def export(page: Page, out: Path) -> Path:
    """Write a page; the suffix of `out` gives the format, one of `FORMATS`.

    Raises
    ------
    InputError
        If the suffix is none of these, or the page has no figure to draw.

    """
    files.require_format(out, FORMATS)
    if out.suffix.lower() == ".html":
        out.write_text(render(page), encoding="utf-8")
        return out
    figures = _figures(page)
    if not figures:
        allowed = "expected .html: there is nothing to draw"
        raise InputError.of(str(out), "suffix", out.suffix, allowed)
    return files.save(_stacked(figures), out)


def _figures(page: Page) -> list[Figure]:
    found: list[Figure] = []
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Grid):
                found += block.figures
            elif isinstance(block, Figure):
                found.append(block)
    return found


def _stacked(figures: list[Figure]) -> VegaLite:
    """Return one specification of all figures, with captions above them."""
    specs = [charts.vega_lite(figure.chart) for figure in figures]
    # Colours are a matter of the whole specification.
    longest = max((spec["usermeta"]["colours"]["light"] for spec in specs), key=len)
    parts = []
    for figure, spec in zip(figures, specs, strict=True):
        own = ("autosize", "padding", "usermeta", "width")
        drawn = {key: value for key, value in spec.items() if key not in own}
        heading = {
            "text": figure.title,
            "subtitle": textwrap.wrap(figure.text, _LINE),
            "frame": "group",
            "offset": 22,
            "subtitleFontSize": 11,
        }
        parts.append({**drawn, "width": WIDTH, "title": heading})
    ground = {**config("light", font="sans-serif"), "background": "white"}
    return {
        "$schema": SCHEMA,
        "vconcat": parts,
        "spacing": 40,
        "padding": 12,
        "resolve": {"scale": {"color": "independent"}},
        "config": {**ground, "range": {"category": longest}},
    }
