"""Boggs, Mogul and Kent, "Measured Capacity of an Ethernet: Myths and Reality", WRL Research Report
88/4, 1988.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ethermeter.analysis import estimates
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.tables import Trial
from ethermeter.papers.claims import FILE, Claim, entries, judged, to_json
from ethermeter.papers.evidence import Evidence
from ethermeter.papers.rules import RULES

STUDY = "boggs1988"


def published() -> list[dict[str, Any]]:
    """Read what the text claims, entry by entry, as `boggs1988.toml` has it."""
    return entries("boggs1988.toml")


def claims(points: Sequence[Point], trials: Sequence[Trial]) -> tuple[Claim, ...]:
    """Every claim of the text against the estimates of a run, in the order of the text.

    Parameters
    ----------
    points
        Estimates of series I-1 to I-5; a claim whose points are missing is `not-run`.
    trials
        The plan, for the constants of the segment.
    """
    evidence = Evidence(points, trials)
    return judged(published(), lambda entry: RULES[entry["rule"]](entry, evidence))


def write_claims(run_dir: Path) -> Path:
    """Hold a run against the study and write `claims.json` into its directory; the path of the
    file.
    """
    from ethermeter.store import RunDirectory

    return RunDirectory(run_dir).keep(
        FILE, to_json(STUDY, claims(estimates.read(run_dir), RunDirectory(run_dir).trials()))
    )
