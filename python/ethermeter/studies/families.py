"""Families: sections of a study with tables of its claims and figures with published points."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ethermeter.analysis.claims import NOT_COMPARED, Claim
from ethermeter.chart import Mark, Trace
from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Section,
    Table,
    Text,
)
from ethermeter.results.interval import Estimate, exact
from ethermeter.results.query import MissingError, Results

By = Mapping[str, Claim]
"""Claims by id."""
PUBLISHED = "Lines: this run. Diamonds: the study."
Maker = Callable[[Results, By], Figure]
HOW = "Published → this run, with the deviation; <strong>missed</strong> numbers are bold."


@dataclass(frozen=True, slots=True)
class Family:
    """A section of a study: its text, figures and tables."""

    anchor: str
    name: str
    title: str
    text: str
    tables: "tuple[ClaimGrid, ...]" = ()
    figures: tuple[Maker, ...] = ()
    has_marks: bool = True


def family_sections(
    families: "Sequence[Family]", results: Results, claims: Sequence[Claim]
) -> list[Section]:
    """Return the sections of a study whose tables or figures the run holds."""
    by = {claim.id: claim for claim in claims}
    found: list[Section] = []
    for family in families:
        drawn = [_drawn(make, results, by) for make in family.figures]
        figures = [figure for figure in drawn if figure is not None]
        shown = [of for of in family.tables if _has_run(of, by)]
        tables = [block for of in shown for block in claim_table(of, by)]
        if figures or tables:
            lead = [Text(PUBLISHED, "lead")] if family.has_marks and figures else []
            grid: list[Block] = [*lead, Grid(figures)] if figures else []
            blocks: list[Block] = [Text(Markup(family.text)), *grid, *tables]
            found.append(Section(family.anchor, family.name, family.title, blocks))
    return found


def _has_run(grid: "ClaimGrid", by: By) -> bool:
    """Whether the run holds the points of a claim of a table."""
    found = [by[identity] for _, ids in grid.rows for identity in ids if identity in by]
    return any(claim.verdict != "not-run" for claim in found)


def _drawn(make: "Maker", results: Results, by: By) -> Figure | None:
    try:
        return make(results, by)
    except MissingError:
        return None


@dataclass(frozen=True, slots=True)
class ClaimGrid:
    """A table of the study: claims by id, cell by cell, as rows with a name each."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def claim_table(grid: ClaimGrid, by: By) -> list[Block]:
    """Return a table with published → ours in every cell, and the deviation."""
    rows = [[name, *(_cell(by.get(identity)) for identity in ids)] for name, ids in grid.rows]
    if not any(identity in by for _, ids in grid.rows for identity in ids):
        return []
    return [Heading(grid.title), Table(grid.head, rows, grid.title)]


def _cell(claim: Claim | None) -> str:
    if claim is None:
        return ""
    ours = "not run" if claim.ours != claim.ours else f"{claim.ours:.4g}"
    text = Markup("{:g} → {}").format(claim.published, ours)
    if claim.deviation == claim.deviation:
        deviation = f"{claim.deviation:+.1%}".replace("-", "−")
        text += Markup(" <small>{}</small>").format(deviation)
    if claim.verdict == NOT_COMPARED:
        return Markup("<em>{}</em>").format(text)
    return Markup("<strong>{}</strong>").format(text) if claim.verdict == "missed" else text


def line_of(name: str, x: Iterable[float], y: Iterable[float | Estimate]) -> Trace:
    """Return a line from its x and y; x is known exactly."""
    return Trace(
        name,
        [
            (exact(at), of if isinstance(of, Estimate) else exact(of))
            for at, of in zip(x, y, strict=True)
        ],
    )


def published_line(name: str, by: By, identity: str, sizes: Iterable[float]) -> list[Mark]:
    """Return points of a published line at some sizes."""
    try:
        constant, slope = (
            by[f"{identity}-{coefficient}"].published for coefficient in ("constant", "slope")
        )
    except KeyError:
        raise MissingError(f"no claim {identity}") from None
    return [(name, octets, constant + slope * octets) for octets in sizes]
