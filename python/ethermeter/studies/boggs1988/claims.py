"""Boggs, Mogul and Kent 1988: claims.

"Measured Capacity of an Ethernet: Myths and Reality", WRL Research Report 88/4.
"""

from collections.abc import Sequence
from pathlib import Path

from ethermeter.analysis import estimates
from ethermeter.analysis.claims import Claim
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.tables import Trial
from ethermeter.studies.boggs1988.evidence import Evidence
from ethermeter.studies.boggs1988.rules import RULES
from ethermeter.studies.judging import judged, published


def claims(points: Sequence[Point], trials: Sequence[Trial]) -> tuple[Claim, ...]:
    """Every claim of the text against the estimates of a run, in the order of the text.

    `points`: estimates of series I-1 to I-5; a claim whose points are missing is `not-run`.
    `trials`: the plan, for the constants of the segment.
    """
    evidence = Evidence(points, trials)
    return judged(published(__package__), lambda entry: RULES[entry.rule](entry, evidence))


def of_run(run_dir: Path) -> tuple[Claim, ...]:
    """Every claim against a finished run."""
    from ethermeter.store import RunDirectory

    return claims(estimates.read(run_dir), RunDirectory(run_dir).trials())
