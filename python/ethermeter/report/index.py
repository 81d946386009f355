"""Index: one page with every claim of every study that was reproduced, and the way to each report."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ethermeter.analysis import claims
from ethermeter.analysis.claims import Claim
from ethermeter.report.html import safe, section, table
from ethermeter.report.results import claims_table
from ethermeter.report.sheet import Sheet
from ethermeter.report.shell import shell
from ethermeter.report.studies import presentation

SHORTENED = (
    "<p>These runs were shortened (<code>--quick</code>): intervals are wider, and what must be seen in long runs, or in many, may be "
    "missed here and met there.</p>"
)
GOOD, BAD = ("met", "holds"), ("missed", "fails")


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A study that was run: its run directory, or what went wrong."""

    study: str
    run: Path | None
    error: str = ""


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
    facts = [
        (
            "Studies",
            f"{sum(entry.run is not None for entry in entries)} <small>of {len(entries)}</small>",
        ),
        (
            "Claims met or holding",
            f"{_count(counted, GOOD)} <small>of {_count(counted, GOOD + BAD)}</small>",
        ),
        (
            "Predicted ones",
            f"{_count(_predicted(counted), GOOD)} <small>of {_count(_predicted(counted), GOOD + BAD)}</small>",
        ),
    ]
    sections = [
        (
            "studies",
            "Studies",
            section(
                "studies",
                "Every study",
                (SHORTENED if quick else "") + _overview(entries, found, folder),
            ),
        )
    ]
    sections += [
        (
            entry.study,
            entry.study,
            section(entry.study, _title(entry.study), _study(entry, found, folder)),
        )
        for entry in entries
    ]
    return shell(
        "Published studies, reproduced",
        sections,
        Sheet(),
        kind="ethermeter",
        facts=facts,
        footer="Every claim by the rule of its study; the reports have figures, parameters with their sources, and provenance. "
        "This page holds all it needs and works offline.",
    )


def _claims(entry: Reproduced) -> tuple[Claim, ...]:
    found = None if entry.run is None else claims.read(entry.run)
    return found[1] if found else ()


def _title(study: str) -> str:
    return presentation(study).title or study


def _count(of: Sequence[Claim], verdicts: Sequence[str]) -> int:
    return sum(claim.verdict in verdicts for claim in of)


def _predicted(of: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in of if claim.basis == "predicted"]


def _link(entry: Reproduced, folder: Path, text: str) -> str:
    """Return a link to a study's report, relative to the page; the text alone if there is none."""
    if entry.run is None or not (entry.run / "report.html").is_file():
        return safe(text)
    path = Path(os.path.relpath(entry.run.resolve() / "report.html", folder.resolve()))
    return f'<a href="{safe(path.as_posix())}">{safe(text)}</a>'


def _overview(
    entries: Sequence[Reproduced], found: dict[str, tuple[Claim, ...]], folder: Path
) -> str:
    rows = []
    for entry in entries:
        own = [claim for claim in found[entry.study] if claim.basis != "reference"]
        fitted = [claim for claim in own if claim.basis == "fitted"]
        bad = [claim.id for claim in own if claim.verdict in BAD]
        said = [
            f"{_count(of, GOOD)} of {_count(of, GOOD + BAD)}" if _count(of, GOOD + BAD) else "–"
            for of in (fitted, _predicted(own))
        ]
        missed = (
            f'<span class="tag fails">failed</span> {safe(entry.error)}'
            if entry.run is None
            else safe(", ".join(bad)) or "none"
        )
        rows.append(
            [_link(entry, folder, entry.study), *said, str(_count(own, ("not-run",))), missed]
        )
    head = ("Study", "Fitted, met", "Predicted, met or holding", "Not run", "Missed or failing")
    return f'<div class="panel">{table(head, rows, caption="Studies", kind="plain")}</div>'


def _study(entry: Reproduced, found: dict[str, tuple[Claim, ...]], folder: Path) -> str:
    if entry.run is None:
        return f'<p><span class="tag fails">failed</span> {safe(entry.error)}</p>'
    lead = presentation(entry.study).lead
    return (
        f"<p>{_link(entry, folder, 'The report of this study')}</p>"
        f'<p class="lead">{lead}</p><div class="panel">{claims_table(found[entry.study])}</div>'
    )
