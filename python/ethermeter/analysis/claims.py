"""Claims: published numbers and statements against ours, as `claims.json` has them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ethermeter.json_values import damaged, described, finite, number

FILE, LIVE_FILE = "claims.json", "live-claims.json"
"""Claims of a study's run, and of a run of a study's live tests."""
GOOD, BAD = ("met", "holds"), ("missed", "fails")
"""Verdicts of numbers and of statements: borne out, and not."""
UNDECIDED = "undecided"
"""Verdict of a number or a statement whose interval is on both sides of the limit."""
CONTRADICTED = "contradicted"
"""Verdict of a number or a statement against which the text itself, or arithmetic, stands."""
NOT_COMPARED = "not-compared"
"""Verdict of a number that is shown and not judged."""
Basis = Literal["fitted", "re-examined", "predicted", "reference", "extension", "measured"]
"""What a claim is judged by.

`fitted`: parameters were fitted on the published number. `re-examined`: a set-up, a reading or a
rule was chosen with the published numbers in view, by the text and not by a fit. `predicted`:
neither. `reference`: the number is another program's or our own, or the set-up implies what is
claimed. `extension`: the claim goes beyond what was published. `measured`: a live test measures
what the study published.
"""
UNCOUNTED: tuple[Basis, ...] = ("reference", "extension")
"""Bases of claims that the text does not make, or no result decides, which shares leave out."""
NEAR = 0.03
"""Relative deviation within which a number counts as met, if the text's own rounding is narrower
and the entry allows nothing else.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A published number or statement against ours; a missing number is NaN.

    `deviation`, and `near` within which it is met, are relative; `near` is NaN of a statement.
    """

    id: str
    what: str
    where: str
    published: float
    rounding: tuple[float, float] | None
    unit: str
    basis: Basis
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
    def is_statement(self) -> bool:
        """Whether a rule decides, and not the distance from the published number."""
        return math.isnan(self.near)

    @property
    def band(self) -> tuple[float, float]:
        """Least and largest value of ours that meets the published number; NaN of a statement.

        A published single measurement is met as far from ours as its prediction reaches.
        """
        ends = [self.published * (1 + side * self.near) for side in (-1, 1)]
        ends += self.rounding or ()
        if self.prediction:
            ends += [self.published + self.ours - end for end in self.prediction]
        return min(ends), max(ends)

    @property
    def rule_and_finding(self) -> str:
        """What decides a statement: what was compared, and what was found."""
        parts = (("compared: ", self.measure), ("found: ", self.note))
        return "; ".join(f"{head}{text}" for head, text in parts if text)


def claims_of_text(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims that the text makes."""
    return [claim for claim in claims if claim.basis not in UNCOUNTED]


Interval = tuple[float, float]


class ClaimEntry(msgspec.Struct):
    """A published number or statement beside what a run found; a missing number is null."""

    id: Annotated[str, described("name of the claim in its study")]
    what: Annotated[str, described("what is claimed")]
    where: Annotated[str, described("place in the study's text")]
    published: Annotated[float | None, described("the published number; null of a statement")]
    rounding: Annotated[Interval | None, described("what the printed digits leave open")]
    unit: Annotated[str, described("unit of the numbers")]
    ours: Annotated[float | None, described("what the run found")]
    low: Annotated[float | None, described("lower end of its 95% interval")]
    high: Annotated[float | None, described("upper end of its 95% interval")]
    prediction: Annotated[Interval | None, described("where a single measurement falls with 95%")]
    deviation: Annotated[float | None, described("ours / published - 1")]
    near: Annotated[
        float | None,
        described("relative deviation within which a number is met; null of a statement"),
    ]
    basis: Annotated[Basis, described("what the claim is judged by")]
    verdict: Annotated[
        str,
        described(
            "met or missed, holds or fails, undecided, contradicted, not-run, or not-compared"
        ),
    ]
    measure: Annotated[str, described("the rule that decides")]
    note: Annotated[str, described("remarks on the verdict")]

    @classmethod
    def of(cls, claim: Claim) -> "ClaimEntry":
        """Return the entry of a claim."""
        fields = {key: getattr(claim, key) for key in cls.__struct_fields__}
        return msgspec.convert(
            {key: finite(of) if isinstance(of, float) else of for key, of in fields.items()}, cls
        )

    def read(self) -> Claim:
        """Return the claim."""
        fields = {key: getattr(self, key) for key in self.__struct_fields__ if key != "deviation"}
        return Claim(**fields | {key: number(fields[key]) for key in _NUMBERS})


class ClaimsFile(msgspec.Struct):
    """Published against simulated, or measured, numbers of a study."""

    study: Annotated[str, described("name of the study")]
    claims: Annotated[list[ClaimEntry], described("claims, in the order of the study")]


_NUMBERS = ("published", "ours", "low", "high", "near")


def text_of(study: str, claims: Sequence[Claim]) -> str:
    """Text of `claims.json`; a missing number is null."""
    content = msgspec.json.encode(ClaimsFile(study, list(map(ClaimEntry.of, claims))))
    return msgspec.json.format(content, indent=1).decode() + "\n"


def read(run_dir: Path, file: str = FILE) -> tuple[str, tuple[Claim, ...]] | None:
    """Study and claims of a run, from its `claims.json` or a file like it.

    None if the run is not a study's. Raises `InputError` if the file does not hold claims.
    """
    path = run_dir / file
    if not path.exists():
        return None
    try:
        content = msgspec.json.decode(path.read_bytes(), type=ClaimsFile)
        return content.study, tuple(claim.read() for claim in content.claims)
    except (ValueError, msgspec.DecodeError) as fault:
        raise damaged(path, fault, "a claims file") from fault
