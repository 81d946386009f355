"""Comparison: two runs, by point and metric, with the interval of every difference."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from ethermeter.analysis import failures
from ethermeter.json_values import finite
from ethermeter.metrics import Caution, Metric
from ethermeter.metrics.main import COMPARED
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate, difference
from ethermeter.store.integrity import read_provenance
from ethermeter.trial import LIVE, SIMULATION

DIFFERS = ("higher", "lower")
ALIKE = ("no difference", "same")
ONLY = ("only in first", "only in second")

Points = dict[tuple[object, ...], Point]
"""Points of a run by series, engine and varied keys."""


class Row(TypedDict):
    """One metric at one point of both runs, in the metric's SI unit.

    Of a network also of a flow or a port, which `point` names.

    None where there is no value or no interval.

    `verdict`: "same" (equal to the last bit), "higher" or "lower" (the second run, beyond the
    interval of the difference), "no difference" (the interval holds zero), "undecided" (no
    interval), "only in first", "only in second". `cautions`: those of either value.
    """

    series: str
    engine: str
    point: dict[str, str]
    metric: str
    unit: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    verdict: str
    cautions: list[str]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a metric: its rows by verdict, and the row that differs most."""

    metric: Metric
    verdicts: Counter[str]
    most: Row | None

    @property
    def differs(self) -> int:
        """Number of points at which it differs beyond its interval."""
        return sum(self.verdicts[verdict] for verdict in DIFFERS)


def counterparts(first: Collection[str], second: Collection[str]) -> Mapping[str, str]:
    """Return the engine of the first run with which one of the second is compared: the same.

    What one run only simulated is compared with what the other only measured.
    """
    same = {engine: engine for engine in second}
    seen = [[engine for engine in (LIVE, SIMULATION) if engine in run] for run in (first, second)]
    if set(seen[0]) & set(seen[1]) or not all(seen):
        return same
    return same | {seen[1][0]: seen[0][0]}


def compared(first: Points, second: Points, *, metrics: Sequence[Metric] = COMPARED) -> list[Row]:
    """Compare the estimates of two runs at the points that either has, in the order of the first.

    Returns
    -------
    :
        Rows with the second less the first, its 95% interval by Welch and Satterthwaite (the runs
        taken as independent), and a verdict.
    """
    rows = []
    for key in dict.fromkeys([*first, *second]):
        a, b = first.get(key), second.get(key)
        known = a or b
        if known is None:
            continue
        for metric in metrics:
            ends = (a.estimates.get(metric) if a else None, b.estimates.get(metric) if b else None)
            if ends != (None, None):
                at = known.series, known.point, known.engine
                rows.append(row_of(*at, metric.value, metric.unit, *ends))
    return rows


def changes(rows: Sequence[Row]) -> list[Change]:
    """Return what became of each metric, those that differ at most points first."""
    by_metric: dict[str, list[Row]] = {}
    for row in rows:
        by_metric.setdefault(row["metric"], []).append(row)
    found = []
    for name, members in by_metric.items():
        verdicts = Counter(row["verdict"] for row in members)
        differing = [row for row in members if row["verdict"] in DIFFERS]
        most = max(differing, key=lambda row: abs(row["difference"] or 0), default=None)
        found.append(Change(Metric(name), verdicts, most))
    return sorted(found, key=lambda change: -change.differs)


def row_of(
    series: str,
    point: Mapping[str, str],
    engine: str,
    metric: str,
    unit: str,
    a: Estimate | None,
    b: Estimate | None,
) -> Row:
    """Compare a value of the first run with that of the second; None where one has none."""
    found = difference(b, a) if a and b else Estimate(math.nan, math.nan, math.nan)
    if a is None or b is None:
        verdict = "only in second" if a is None else "only in first"
    elif a.value == b.value or (math.isnan(a.value) and math.isnan(b.value)):
        verdict = "same"
    elif not found.has_interval:
        verdict = "undecided"
    elif found.low > 0:
        verdict = "higher"
    elif found.high < 0:
        verdict = "lower"
    else:
        verdict = "no difference"
    return Row(
        series=series,
        engine=engine,
        point=dict(point),
        metric=metric,
        unit=unit,
        a=finite(a.value if a else math.nan),
        b=finite(b.value if b else math.nan),
        difference=finite(found.value),
        low=finite(found.low),
        high=finite(found.high),
        verdict=verdict,
        cautions=[
            str(word) for word in Caution if any(word in end.cautions for end in (a, b) if end)
        ],
    )


def failed_in(runs: Sequence[Path]) -> list[str]:
    """Say of both runs how many trials failed, and why; nothing of one in which none did.

    Files of other programs have no trials.
    """
    found = [failures.of_run(read_provenance(run)) if run.is_dir() else None for run in runs]
    names = ("The first run", "The second run")
    return [f"{name}: {of}." for name, of in zip(names, found, strict=True) if of is not None]
