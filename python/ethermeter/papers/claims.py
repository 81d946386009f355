"""Claims: what a paper published, what a run says, and whether the one bears the other out."""

import json
import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ethermeter.analysis.interval import Estimate
from ethermeter.faults import Fault, InputError
from ethermeter.papers.evidence import MissingError

FILE = "claims.json"
Entry = dict[str, Any]
"""A claim as the paper's file has it."""
NEAR = 0.03
"""Relative deviation within which a number counts as met, if the text's own rounding is narrower
and the entry allows nothing else.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a run says: a number with its interval, for a statement whether it holds, and a remark.

    `prediction` is the interval that a further single measurement would fall into with 95%, where
    that is what was published.
    """

    ours: Estimate
    holds: bool | None = None
    remark: str = ""
    prediction: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A published number or statement against ours; `deviation`, and `near` within which it is met,
    are relative; NaN if missing.
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
        """(ours - published) / published; NaN where either is missing or nothing was published but
        zero.
        """
        return self.ours / self.published - 1 if self.published else math.nan


def judge(entry: Entry, finding: Finding | None) -> Claim:
    """Hold a finding against an entry of the paper's file; no finding means that the run lacks its
    points.

    A number is `met` within 3% of the published one (or the entry's own `near`, relative, or
    `within`, absolute) or within the text's own rounding, or if the published one lies where single
    measurements fall (the finding's prediction); `missed` otherwise. A statement `holds` or `fails`
    by the rule in its `measure`; a claim without its points is `not-run`.
    """
    published = float(entry.get("published", math.nan))
    rounding = (
        (float(entry["rounding"][0]), float(entry["rounding"][1])) if "rounding" in entry else None
    )
    ours = finding.ours if finding else Estimate(math.nan, math.nan, math.nan)
    near = entry["within"] / abs(published) if "within" in entry else entry.get("near", NEAR)
    notes = [finding.remark] if finding and finding.remark else []
    if finding is None:
        verdict, notes = "not-run", ["the run does not hold the points this needs"]
    elif math.isnan(ours.value):
        verdict, notes = "not-run", [*notes, "the run holds no value at these points"]
    elif finding.holds is not None:
        verdict = "holds" if finding.holds else "fails"
    else:
        is_near = abs(ours.value - published) <= near * abs(published)
        rounded = rounding is not None and rounding[0] <= ours.value <= rounding[1]
        drawn = (
            finding.prediction is not None
            and finding.prediction[0] <= published <= finding.prediction[1]
        )
        verdict = "met" if is_near or rounded or drawn else "missed"
        if (
            verdict == "missed"
            and ours.has_interval
            and rounding
            and ours.low <= rounding[1]
            and ours.high >= rounding[0]
        ):
            notes.append("the interval reaches the published number")
    if verdict in ("missed", "fails") and "cause" in entry:
        notes.append(f"likeliest cause: {entry['cause']}")
    return Claim(
        id=entry["id"],
        what=entry["what"],
        where=entry["where"],
        published=published,
        rounding=rounding,
        unit=entry["unit"],
        basis=entry["basis"],
        measure=entry.get("measure", ""),
        ours=ours.value,
        low=ours.low,
        high=ours.high,
        verdict=verdict,
        note="; ".join(notes),
        prediction=finding.prediction if finding else None,
        near=near,
    )


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def entries(file: str) -> list[Entry]:
    """Read what a paper says, entry by entry, as a file of this room has it."""
    text = files("ethermeter.papers").joinpath(file).read_text(encoding="utf-8")
    return list(tomllib.loads(text)["claim"])


def judged(every: Sequence[Entry], find: Callable[[Entry], Finding]) -> tuple[Claim, ...]:
    """Judge entries in their order; where `find` raises `MissingError` the claim is `not-run`."""

    def found(entry: Entry) -> Finding | None:
        try:
            return find(entry)
        except MissingError:
            return None

    return tuple(judge(entry, found(entry)) for entry in every)


def to_json(study: str, claims: Sequence[Claim]) -> str:
    """Text of `claims.json`; a missing number is null."""
    rows = [
        {
            "id": claim.id,
            "what": claim.what,
            "where": claim.where,
            "published": _number(claim.published),
            "rounding": claim.rounding,
            "unit": claim.unit,
            "ours": _number(claim.ours),
            "low": _number(claim.low),
            "high": _number(claim.high),
            "prediction": claim.prediction,
            "deviation": _number(claim.deviation),
            "near": claim.near,
            "basis": claim.basis,
            "verdict": claim.verdict,
            "measure": claim.measure,
            "note": claim.note,
        }
        for claim in claims
    ]
    return json.dumps({"study": study, "claims": rows}, ensure_ascii=False, indent=1) + "\n"


def read(run_dir: Path, file: str = FILE) -> tuple[str, tuple[Claim, ...]] | None:
    """Study and claims of a run, from its `claims.json` or a file like it; None if it is not a
    study's.

    Raises
    ------
    InputError
        If the file is not what a paper's module left.
    """
    path = run_dir / file
    if not path.exists():
        return None

    def number(value: float | None) -> float:
        return math.nan if value is None else value

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        claims = tuple(
            Claim(
                id=row["id"],
                what=row["what"],
                where=row["where"],
                published=number(row["published"]),
                rounding=tuple(row["rounding"]) if row["rounding"] else None,
                unit=row["unit"],
                basis=row["basis"],
                measure=row["measure"],
                ours=number(row["ours"]),
                low=number(row["low"]),
                high=number(row["high"]),
                verdict=row["verdict"],
                note=row["note"],
                prediction=tuple(row["prediction"]) if row["prediction"] else None,
                near=row.get("near", NEAR),
            )
            for row in content["claims"]
        )
        return content["study"], claims
    except (ValueError, KeyError, TypeError) as fault:
        raise InputError(
            [
                Fault(
                    str(path),
                    "content",
                    str(fault),
                    "not a claims file; write it anew with: ethermeter report",
                )
            ]
        ) from fault
