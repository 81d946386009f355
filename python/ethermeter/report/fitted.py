"""Fitted: pages of measured values beside those of a model, with the model's parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ethermeter.analysis.estimates import Point
from ethermeter.metrics import Metric
from ethermeter.report.axes import choose, panels
from ethermeter.report.chart import lines
from ethermeter.report.html import safe, section, table
from ethermeter.report.sheet import Sheet
from ethermeter.report.shell import shell


@dataclass(frozen=True, slots=True)
class Listing:
    """A table of texts under its heading.

    Parameters
    ----------
    title
        Its heading.
    lead
        What it shows, one or two sentences.
    head, rows
        Texts of its cells.

    """

    title: str
    lead: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a page shows.

    Parameters
    ----------
    title, kind
        Its title, and the kind of page above it.
    facts
        The most important numbers, by name.
    doubts
        Sentences that a reader should have read first.
    points
        Measured and modelled estimates, told apart by their engines.
    listings
        Tables.

    """

    title: str
    kind: str
    facts: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    listings: tuple[Listing, ...] = field(default=())


def fitted_page(content: Fitted) -> str:
    """Return the page, which needs no network."""
    sheet = Sheet()
    sections = []
    if content.doubts:
        body = "<ul>" + "".join(f"<li>{safe(doubt)}</li>" for doubt in content.doubts) + "</ul>"
        sections.append(("doubts", "Doubts", section("doubts", "Before you believe it", body)))
    drawn = _figures(content.points, sheet)
    if drawn:
        sections.append(("figures", "Figures", section("figures", "Measured and modelled", drawn)))
    for at, listing in enumerate(content.listings):
        place = f"table-{at}"
        rows = [[safe(cell) for cell in row] for row in listing.rows]
        cells = table(listing.head, rows, caption=listing.title, kind="plain")
        body = f'<p class="lead">{safe(listing.lead)}</p><div class="panel">{cells}</div>'
        sections.append((place, listing.title, section(place, listing.title, body)))
    facts = [(name, safe(value)) for name, value in content.facts]
    return shell(
        content.title,
        sections,
        sheet,
        kind=content.kind,
        facts=facts,
        footer="Intervals are 95%. This file works offline.",
    )


def _figures(points: Sequence[Point], sheet: Sheet) -> str:
    """Draw each metric against what varies, with those points that vary it."""
    found = []
    groups: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(tuple(sorted(point.point)), []).append(point)
    for members in groups.values():
        axes = choose(members)
        metrics = dict.fromkeys(metric for point in members for metric in point.estimates)
        for metric in metrics:
            for panel in panels(members, axes, Metric(metric)):
                label = metric.label
                found.append(
                    sheet.add(
                        lines(panel, metric, axes),
                        title=label.title,
                        text=metric.meaning(),
                        numbers="",
                    )
                )
    return "".join(found)
