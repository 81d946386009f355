"""Studies: what was published, and what came out of a run of each."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethermeter.analysis.claims import BAD, CONTRADICTED, GOOD, UNDECIDED, Claim, claims_of_text
from ethermeter.blocks import Table, Text

_VERDICTS = {
    "met or holding": GOOD,
    "missed or failing": BAD,
    "undecided": (UNDECIDED,),
    "contradicted": (CONTRADICTED,),
    "not run": ("not-run",),
}
"""Verdicts that are counted together, by the head of their column."""


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A study that was run, with its claims, wall time, and report or else run directory."""

    study: str
    claims: Sequence[Claim]
    wall_s: float | None  # None where it is unknown
    page: Path


@dataclass(frozen=True, slots=True)
class Failed:
    """A study whose run failed, and why."""

    study: str
    error: str


def published(titles: Mapping[str, str]) -> Iterator[Table | Text]:
    """Tabulate studies, by name, with a line of what each is."""
    yield Table(["study", "what was published"], list(titles.items()), "Studies")


def reproduced(outcomes: Sequence[Reproduced | Failed], index: Path) -> Iterator[Table | Text]:
    """Lay out the outcome of every study; `index` is the page with all claims."""
    head = ["study", *_VERDICTS, "s", "report"]
    yield Table(head, [_row(each) for each in outcomes], "Studies, reproduced")
    yield Text(f"all claims: {index}")


def _row(of: Reproduced | Failed) -> list[str]:
    if isinstance(of, Failed):
        return [of.study, *["–"] * (len(_VERDICTS) + 1), f"failed: {of.error}"]
    verdicts = [each.verdict for each in claims_of_text(of.claims)]
    counts = [sum(verdict in words for verdict in verdicts) for words in _VERDICTS.values()]
    wall = "–" if of.wall_s is None else f"{of.wall_s:.0f}"
    return [of.study, *map(str, counts), wall, os.path.relpath(of.page)]
