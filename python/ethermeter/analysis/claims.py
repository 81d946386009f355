"""Claims: published numbers and statements against ours, as `claims.json` has them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import convert

from ethermeter.json_values import damaged, finite

FILE, LIVE_FILE = "claims.json", "live-claims.json"
"""Claims of a study's run, and of a run of a study's live tests."""
GOOD, BAD = ("met", "holds"), ("missed", "fails")
"""Verdicts of numbers and of statements: borne out, and not."""
NOT_COMPARED = "not-compared"
"""Verdict of a number that is shown and not judged."""
NEAR = 0.03
"""Relative deviation within which a number counts as met, if the text's own rounding is narrower
and the entry allows nothing else.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A published number or statement against ours; a missing number is NaN.

    `deviation`, and `near` within which it is met, are relative.
    """

    id: str
    what: str
    where: str
    published: float
    rounding: tuple[float, float] | None
    unit: str
    basis: str
    measure: str
    ours: float
    low: float
    high: float
    verdict: str
    note: str
    prediction: tuple[float, float] | None = None
    near: float = NEAR

    @property
    def deviation(self) -> float:
        """(ours - published) / published; NaN where either is missing or 0 was published."""
        return self.ours / self.published - 1 if self.published else math.nan

    @property
    def rule_and_finding(self) -> str:
        """What decides a statement: what was compared, and what was found."""
        parts = (("compared: ", self.measure), ("found: ", self.note))
        return "; ".join(f"{head}{text}" for head, text in parts if text)


_KEYS = (
    *("id", "what", "where", "published", "rounding", "unit", "ours", "low", "high", "prediction"),
    *("deviation", "near", "basis", "verdict", "measure", "note"),
)
"""Keys of a claim in the file; `deviation` follows from others."""
_NUMBERS = ("published", "ours", "low", "high")


def to_json(study: str, claims: Sequence[Claim]) -> str:
    """Text of `claims.json`; a missing number is null."""
    rows = [
        {key: finite(value) if isinstance(value, float) else value for key, value in row}
        for row in ([(key, getattr(claim, key)) for key in _KEYS] for claim in claims)
    ]
    return json.dumps({"study": study, "claims": rows}, ensure_ascii=False, indent=1) + "\n"


def read(run_dir: Path, file: str = FILE) -> tuple[str, tuple[Claim, ...]] | None:
    """Study and claims of a run, from its `claims.json` or a file like it.

    None if the run is not a study's. Raises `InputError` if the file does not hold claims.
    """
    path = run_dir / file
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        claims = tuple(_claim(row) for row in content["claims"])
        return content["study"], claims
    except (ValueError, KeyError, TypeError) as fault:
        raise damaged(path, fault, "a claims file") from fault


def _claim(row: dict[str, object]) -> Claim:
    return convert(row | {key: math.nan for key in _NUMBERS if row[key] is None}, Claim)
