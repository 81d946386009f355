"""Judging: published entries against what a run found."""

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ethermeter.analysis.claims import NEAR, Claim
from ethermeter.analysis.interval import Estimate

Entry = dict[str, Any]
"""A claim as the study's `published.toml` has it."""


class MissingError(Exception):
    """The run does not hold what a claim needs."""


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


def judge(entry: Entry, finding: Finding | None) -> Claim:
    """Compare a finding with an entry of the study's file.

    No finding means that the run lacks its points.

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


def published(package: str, table: str = "claim") -> list[Entry]:
    """Entries of a table of a study's `published.toml`, in the order of the file."""
    text = files(package).joinpath("published.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)[table])


def judged(every: Sequence[Entry], find: Callable[[Entry], Finding]) -> tuple[Claim, ...]:
    """Judge entries in their order; where `find` raises `MissingError` the claim is `not-run`."""

    def found(entry: Entry) -> Finding | None:
        try:
            return find(entry)
        except MissingError:
            return None

    return tuple(judge(entry, found(entry)) for entry in every)
