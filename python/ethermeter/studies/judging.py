"""Judging: published entries against what a run found."""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from types import FunctionType
from typing import TypeVar

import msgspec

from ethermeter.analysis.claims import BAD, CONTRADICTED, NEAR, UNDECIDED, Basis, Claim
from ethermeter.analysis.verdicts import Decision, every
from ethermeter.faults import InputError, shown
from ethermeter.results.interval import Estimate
from ethermeter.results.query import MissingError, Results

T = TypeVar("T")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A claim as the study's `published.toml` has it: a number, or a statement (NaN).

    `rounding`: interval that the digits of the number leave open. `near`, `within`: relative and
    absolute deviation within which the number is met. `measure`: note beside the verdict. `cause`:
    likeliest cause of a miss. `contradiction`: how the text contradicts itself, or the arithmetic
    that stands against it; empty if nothing does. `rule`: name of the study's rule that finds its
    own value. `series`, `flow`: series of the run that has the points, and the flow; empty if the
    rule reads several. `keys`: all other keys, which the study reads with `read` and its short
    forms. `file`: the file, as faults name it.
    """

    id: str
    what: str
    where: str
    unit: str
    basis: Basis
    published: float = math.nan
    rounding: tuple[float, float] | None = None
    near: float | None = None
    within: float | None = None
    measure: str = ""
    cause: str = ""
    contradiction: str = ""
    rule: str = ""
    series: str = ""
    flow: str = ""
    keys: dict[str, object] = {}
    file: str = "published.toml"

    @property
    def is_number(self) -> bool:
        """Whether a number was published; otherwise a statement."""
        return not math.isnan(self.published)

    def __contains__(self, key: str) -> bool:
        """Whether the entry has one of the study's own keys."""
        return key in self.keys

    def read(self, key: str, kind: type[T], *, default: T | None = None) -> T:
        """Return the value of one of the study's own keys.

        Raises InputError if the entry lacks the key and there is no default, or its value is of
        another kind.
        """
        if key in self.keys:
            return convert(self.keys[key], kind, file=self.file, key=f"{self.id}.{key}")
        if default is None:
            raise InputError.of(self.file, f"{self.id}.{key}", "(missing)", "required")
        return default

    def text(self, key: str, default: str | None = None) -> str:
        """Return the text of a key."""
        return self.read(key, str, default=default)

    def texts(self, key: str) -> list[str]:
        """Return the texts of a key."""
        return self.read(key, list[str])

    def number(self, key: str, default: float | None = None) -> float:
        """Return the number of a key."""
        return self.read(key, float, default=default)

    def point(self, key: str = "at") -> dict[str, str]:
        """Return a point of the experiment, text by varied key; empty without the key."""
        return self.read(key, dict[str, str], default={})


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim that live tests decide by the rule of the simulated study.

    `of`: its id.
    """

    of: str


class OpenQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a study's text leaves open, and what follows now.

    `where`: place in the text. `what`: the question. `now`: the answer. `by`: a command that prints
    it, or a file that has it.
    """

    where: str
    what: str
    now: str
    by: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a run shows: a number with its interval, whether a statement holds, and a remark.

    `holds`: None of a number that is compared; true or false of a statement without chance in it.
    `prediction` is the interval that a further single measurement would fall into with 95%, where
    that is what was published.
    """

    ours: Estimate
    holds: Decision | bool | None = None
    remark: str = ""
    prediction: tuple[float, float] | None = None


def judge(entry: Entry, finding: Finding | None) -> Claim:
    """Compare a finding with an entry of the study's file.

    No finding means that the run lacks its points.

    A number is `met` if its interval lies within the claim's band: 3% about the published one (or
    the entry's own `near`, relative, or `within`, absolute), the text's own rounding, or, where
    that is what was published, where a further single measurement may be (the finding's
    prediction). It is `missed` if no part of the interval does, and `undecided` in between. A
    statement `holds` or `fails` by the rule in its `measure`, or is `undecided`. Where the text
    or arithmetic stands against a claim, it is `contradicted`, whatever was found. A claim without
    its points is `not-run`.
    """
    ours = finding.ours if finding else Estimate(math.nan, math.nan, math.nan)
    near = NEAR if entry.near is None else entry.near
    if entry.within is not None:
        near = entry.within / abs(entry.published)
    claim = Claim(
        id=entry.id,
        what=entry.what,
        where=entry.where,
        published=entry.published,
        rounding=entry.rounding,
        unit=entry.unit,
        basis=entry.basis,
        measure=entry.measure,
        ours=float(ours.value),
        low=float(ours.low),
        high=float(ours.high),
        verdict="not-run",
        note="",
        prediction=finding.prediction if finding else None,
        near=near,
    )
    if finding is None:
        return replace(claim, note="the run does not hold the points this needs")
    notes = [finding.remark] if finding.remark else []
    if math.isnan(ours.value):
        notes.append("the run holds no value at these points")
        return replace(claim, note="; ".join(notes))
    verdict: str
    if finding.holds is None:
        verdict = _number(claim)
    else:
        verdict, claim = every([finding.holds]), replace(claim, near=math.nan)
    if entry.contradiction:
        verdict, claim = CONTRADICTED, replace(claim, near=math.nan)
        notes.insert(0, entry.contradiction)
    if verdict == UNDECIDED:
        notes.append(_why_undecided(finding))
    if verdict in BAD and entry.cause:
        notes.append(f"likeliest cause: {entry.cause}")
    return replace(claim, verdict=verdict, note="; ".join(notes))


def _number(claim: Claim) -> str:
    """Return the verdict of a number: by its interval, or by its value where it has none."""
    low, high = claim.band
    first, last = claim.low, claim.high
    if math.isnan(first) or math.isnan(last):
        first = last = claim.ours
    if low <= first and last <= high:
        return "met"
    return UNDECIDED if first <= high and last >= low else "missed"


def _why_undecided(finding: Finding) -> str:
    """Return why a claim is undecided."""
    if finding.holds is None:
        return "undecided: the interval reaches both sides of a limit of what counts as met"
    if math.isnan(finding.ours.low):
        return "undecided: a single replication has no interval"
    return "undecided: an interval reaches both sides of its limit"


def published(package: str) -> list[Entry]:
    """Entries of a study's `published.toml`, in the order of the file."""
    return [_entry(table, file_of(package)) for table in tables(package, "claim")]


def measured_entries(package: str) -> list[Entry]:
    """Entries that live tests measure by the study's rules, in the order of `measured`.

    Each has the basis `measured`. Series of the live tests have the names of those of the study.
    """
    by_id, file = {entry.id: entry for entry in published(package)}, file_of(package)
    found = []
    for table in tables(package, "measured"):
        each = convert(table, Measured, file=file, key=f"measured.{table.get('of')}")
        found.append(msgspec.structs.replace(by_id[each.of], basis="measured"))
    return found


def left_open(package: str) -> list[OpenQuestion]:
    """Return what the text leaves open, in the order of `open` in `published.toml`."""
    file = file_of(package)
    return [
        convert(table, OpenQuestion, file=file, key="open") for table in tables(package, "open")
    ]


def tables(package: str, name: str) -> list[dict[str, object]]:
    """Tables of one name of a study's `published.toml`, in the order of the file; none without."""
    text = files(package).joinpath("published.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text).get(name, []))


def file_of(package: str) -> str:
    """Return how faults name a study's `published.toml`."""
    return f"{package.rpartition('.')[2]}/published.toml"


def _entry(table: Mapping[str, object], file: str) -> Entry:
    fields = {key: value for key, value in table.items() if key in Entry.__struct_fields__}
    keys = {key: value for key, value in table.items() if key not in fields}
    every = {**fields, "keys": keys, "file": file}
    return convert(every, Entry, file=file, key=str(table.get("id", "claim")))


def convert(value: object, kind: type[T], *, file: str, key: str) -> T:
    """Return a value as the type it should have."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as fault:
        raise InputError.of(file, key, shown(value), str(fault).lower()) from fault


Rule = Callable[[Entry, Results], Finding]
"""Finds what a run shows of an entry; raises MissingError if the run does not hold its points."""


def rules_of(module: Mapping[str, object]) -> dict[str, Rule]:
    """Return the rules of a module by name: its public functions that return a finding.

    `module`: its `globals()`, at its end.
    """
    return {
        name: rule
        for name, rule in module.items()
        if isinstance(rule, FunctionType)
        and not name.startswith("_")
        and rule.__annotations__.get("return") is Finding
    }


def judged(
    entries: Sequence[Entry], rules: Mapping[str, Rule], results: Results
) -> tuple[Claim, ...]:
    """Judge entries in their order by their rules; `not-run` where a run lacks their points."""

    def found(entry: Entry) -> Finding | None:
        try:
            return rules[entry.rule](entry, results)
        except MissingError:
            return None

    return tuple(judge(entry, found(entry)) for entry in entries)
