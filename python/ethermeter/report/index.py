"""Index: one page with every claim of every study that was reproduced, and links to the reports."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ethermeter.analysis import claims
from ethermeter.analysis.claims import BAD, GOOD, Claim
from ethermeter.document import NO_STUDY, Block, Section, Table, Text
from ethermeter.presentation import Presentation
from ethermeter.report.render import Page, render
from ethermeter.report.tables import claims_table, tag

SHORTENED = Markup(
    "These runs were shortened (<code>--quick</code>): intervals are wider, and what must be seen "
    "in long runs, or in many, may be missed here and met there."
)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A study that was run: its run directory, or what went wrong, and its presentation."""

    study: str
    run: Path | None
    error: str = ""
    presentation: Presentation = NO_STUDY


def index_page(entries: Sequence[Reproduced], *, folder: Path, quick: bool = False) -> str:
    """Put the page together.

    Parameters
    ----------
    entries
        Studies in the order in which they stand.
    folder
        Where the page will be; links are relative to it.
    quick
        Whether the runs were shortened.

    Raises
    ------
    InputError
        If a study's `claims.json` is not what it should be.

    """
    found = {entry.study: _claims(entry) for entry in entries}
    counted = [claim for of in found.values() for claim in of if claim.basis != "reference"]
    predicted = [claim for claim in counted if claim.basis == "predicted"]
    runs = sum(entry.run is not None for entry in entries)
    facts = [
        ("Studies", Markup(f"{runs} <small>of {len(entries)}</small>")),
        ("Claims met or holding", _share(counted)),
        ("Predicted ones", _share(predicted)),
    ]
    blocks: list[Block] = [_overview(entries, found, folder)]
    if quick:
        blocks.insert(0, Text(SHORTENED))
    sections = [Section("studies", "Studies", "Every study", blocks)]
    sections += [
        Section(
            entry.study,
            entry.study,
            entry.presentation.title or entry.study,
            _study(entry, found, folder),
        )
        for entry in entries
    ]
    footer = (
        "Every claim by the rule of its study; the reports have figures, parameters with their "
        "sources, and provenance. This page holds all it needs and works offline."
    )
    return render(Page("Published studies, reproduced", "ethermeter", sections, footer, facts))


def _share(claims: Sequence[Claim]) -> Markup:
    return Markup(f"{_count(claims, GOOD)} <small>of {_count(claims, GOOD + BAD)}</small>")


def _claims(entry: Reproduced) -> tuple[Claim, ...]:
    found = None if entry.run is None else claims.read(entry.run)
    return found[1] if found else ()


def _count(of: Sequence[Claim], verdicts: Sequence[str]) -> int:
    return sum(claim.verdict in verdicts for claim in of)


def _predicted(of: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in of if claim.basis == "predicted"]


def _link(entry: Reproduced, folder: Path, text: str) -> str:
    """Return a link to a study's report, relative to the page; the text alone if there is none."""
    if entry.run is None or not (entry.run / "report.html").is_file():
        return text
    path = Path(os.path.relpath(entry.run.resolve() / "report.html", folder.resolve()))
    return Markup('<a href="{}">{}</a>').format(path.as_posix(), text)


def _failure(entry: Reproduced) -> Markup:
    return Markup("{} {}").format(tag("fails", "failed"), entry.error)


def _overview(
    entries: Sequence[Reproduced], found: Mapping[str, Sequence[Claim]], folder: Path
) -> Table:
    rows = []
    for entry in entries:
        own = [claim for claim in found[entry.study] if claim.basis != "reference"]
        shares = []
        for basis in ("fitted", "predicted"):
            of = [claim for claim in own if claim.basis == basis]
            total = _count(of, GOOD + BAD)
            shares.append(f"{_count(of, GOOD)} of {total}" if total else "–")
        bad = ", ".join(claim.id for claim in own if claim.verdict in BAD) or "none"
        missed = _failure(entry) if entry.run is None else bad
        not_run = str(_count(own, ("not-run",)))
        rows.append([_link(entry, folder, entry.study), *shares, not_run, missed])
    head = ("Study", "Fitted, met", "Predicted, met or holding", "Not run", "Missed or failing")
    return Table(head, rows, "Studies", "plain")


def _study(entry: Reproduced, found: Mapping[str, Sequence[Claim]], folder: Path) -> list[Block]:
    if entry.run is None:
        return [Text(_failure(entry))]
    lead = Markup(entry.presentation.lead)
    return [
        Text(_link(entry, folder, "The report of this study")),
        Text(lead, "lead"),
        claims_table(found[entry.study]),
    ]
