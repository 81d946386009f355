"""Index: one page with every claim of every study that was reproduced, and links to the reports."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ethermeter.analysis import claims
from ethermeter.analysis.claims import BAD, CONTRADICTED, GOOD, UNDECIDED, Claim, claims_of_text
from ethermeter.document import NO_STUDY, Block, Section, Table, Text
from ethermeter.presentation import Presentation
from ethermeter.report.render import Page, render
from ethermeter.report.sections.run import claim_sentences
from ethermeter.report.tables import claims_table, tag
from ethermeter.store import write_whole

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


def write(path: Path, entries: Sequence[Reproduced], *, quick: bool = False) -> Path:
    """Write the page; return its path. Arguments and errors are those of `index_page`."""
    write_whole(path, index_page(entries, folder=path.parent, quick=quick))
    return path


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
    published = [claim for of in found.values() for claim in claims_of_text(of)]
    sections = [Section("studies", "Studies", "Every study", [_overview(entries, found, folder)])]
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
    warnings: list[str] = [SHORTENED] if quick else []
    warnings += [
        Markup("{}: {}").format(entry.study, _failure(entry))
        for entry in entries
        if entry.run is None
    ]
    page = Page(
        "Published studies, reproduced",
        "ethermeter",
        sections,
        footer,
        question="What was published about Ethernets, and does it hold here?",
        findings=_findings(entries, found, published),
        warnings=warnings,
    )
    return render(page)


def _findings(
    entries: Sequence[Reproduced], found: Mapping[str, Sequence[Claim]], published: Sequence[Claim]
) -> list[str]:
    """Say how many claims are met, which studies are borne out whole, and which least."""
    texts = claim_sentences(published)[:1]
    shares = {
        entry.study: (_count(own, BAD), _count(own, GOOD + BAD))
        for entry in entries
        if _count(own := claims_of_text(found[entry.study]), GOOD + BAD)
    }
    whole = [
        study
        for study, (bad, _) in shares.items()
        if not bad and not _count(claims_of_text(found[study]), (UNDECIDED, CONTRADICTED))
    ]
    if whole:
        texts.append(f"Every claim of {', '.join(whole)} is met or holds.")
    if any(bad for bad, _ in shares.values()):
        study = max(shares, key=lambda name: shares[name][0] / shares[name][1])
        bad, total = shares[study]
        texts.append(f"The largest share is missed of {study}: {bad} of {total} claims.")
    return texts


def _claims(entry: Reproduced) -> tuple[Claim, ...]:
    found = None if entry.run is None else claims.read(entry.run)
    return found[1] if found else ()


def _count(of: Sequence[Claim], verdicts: Sequence[str]) -> int:
    return sum(claim.verdict in verdicts for claim in of)


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
    rows = [
        [
            _link(entry, folder, entry.presentation.title or entry.study),
            entry.presentation.question,
            _failure(entry) if entry.run is None else _result(found[entry.study]),
        ]
        for entry in entries
    ]
    return Table(("Study", "What it asks", "What came out"), rows, "Studies", "prose")


def _result(claims: Sequence[Claim]) -> Markup:
    """Say what is met, what is missed and what was not run."""
    texts = claim_sentences(claims)
    count = _count(claims_of_text(claims), ("not-run",))
    if count:
        texts.append(f"Not run: {count}.")
    return Markup(" ").join(texts) if texts else Markup("No claim was judged.")


def _study(entry: Reproduced, found: Mapping[str, Sequence[Claim]], folder: Path) -> list[Block]:
    if entry.run is None:
        return [Text(_failure(entry))]
    lead = Markup(entry.presentation.lead)
    return [
        Text(_link(entry, folder, "The report of this study")),
        *([Text(entry.presentation.question)] if entry.presentation.question else []),
        Text(lead, "lead"),
        claims_table(found[entry.study]),
    ]
