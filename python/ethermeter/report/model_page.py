"""Fitted: pages of measured values beside those of a model, with the model's parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ethermeter.document import Block, Figure, Section, Table, Text
from ethermeter.metrics import Metric
from ethermeter.report.axes import choose, panels
from ethermeter.report.plots import against
from ethermeter.report.render import Page, render
from ethermeter.results.estimates import Point


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
        Sentences to read before the numbers are trusted.
    points
        Measured and modelled estimates, distinguished by their engines.
    listings
        Tables.
    findings
        The answer, in sentences.

    """

    title: str
    kind: str
    facts: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    listings: tuple[Listing, ...] = field(default=())
    findings: tuple[str, ...] = ()


def fitted_page(content: Fitted) -> str:
    """Return the page, which needs no network."""
    sections = []
    if figures := _figures(content.points):
        sections.append(Section("figures", "Figures", "Measured and modelled", figures))
    for at, listing in enumerate(content.listings):
        table = Table(listing.head, listing.rows, listing.title, "plain")
        blocks: list[Block] = [Text(listing.lead, "lead"), table]
        sections.append(Section(f"table-{at}", listing.title, listing.title, blocks))
    footer = "Intervals are 95%. This file works offline."
    return render(
        Page(
            content.title,
            content.kind,
            sections,
            footer,
            content.facts,
            findings=content.findings,
            warnings=content.doubts,
        )
    )


def _figures(points: Sequence[Point]) -> list[Figure]:
    """Draw each metric against what varies, with those points that vary it."""
    groups: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(tuple(sorted(point.point)), []).append(point)
    found = []
    for members in groups.values():
        axes = choose(members)
        for metric in dict.fromkeys(metric for point in members for metric in point.estimates):
            found += [
                Figure(
                    replace(against(panel, metric, axes), title=panel.title),
                    metric.label.title,
                    metric.meaning(),
                )
                for panel in panels(members, axes, Metric(metric))
            ]
    return found
