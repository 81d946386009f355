"""Claims of sections 2.4 and 2.5 of Boggs, Mogul and Kent (1988).

Theories, conclusions drawn from them, and simulations.

A quantity is a formula's (`theory`) or a run's (`runs`). It is held against a printed
number, or it must lie above, or below, a limit that stands with the claim: a run's with the whole
of its interval.
"""

from collections.abc import Sequence
from pathlib import Path

from ethermeter.analysis import estimates
from ethermeter.analysis.claims import Claim
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.interval import Estimate, exact
from ethermeter.analysis.tables import Trial
from ethermeter.results.values import of_all
from ethermeter.studies.judging import Entry, Finding, MissingError, judge, published
from ethermeter.studies.myths.runs import SIMULATED, Runs
from ethermeter.studies.myths.theory import FORMULAS


def decide(entry: Entry, ours: Estimate, remark: str) -> Finding:
    """Hold a quantity against the limit of its claim; without a limit it is a number to compare.

    `entry`: with `above` or `below`, what the whole interval must be, or with neither. `ours`: the
    quantity; a formula's has an interval of no width, a value without any interval decides nothing.
    `remark`: remark on it.
    """
    if "above" in entry:
        return Finding(ours, bool(ours.low > entry.number("above")), remark)
    if "below" in entry:
        return Finding(ours, bool(ours.high < entry.number("below")), remark)
    return Finding(ours, None, remark)


def claims(runs: Runs) -> tuple[Claim, ...]:
    """Every claim of the text, in its order; one whose points are missing is `not-run`."""
    return tuple(judge(entry, _found(entry, runs)) for entry in published(__package__))


def _found(entry: Entry, runs: Runs) -> Finding | None:
    name = entry.text("quantity")
    if name in FORMULAS:
        value, remark = FORMULAS[name]()
        return decide(entry, exact(value), remark)
    try:
        ours, remark = SIMULATED[name](runs)
    except MissingError:
        return None
    return decide(entry, ours, remark)


def runs_of(run_dir: Path, points: Sequence[Point], trials: Sequence[Trial]) -> Runs:
    """Gather what the claims need of a run."""
    from ethermeter.store import RunDirectory

    whole = of_all(RunDirectory(run_dir), trials)
    return Runs(points, trials, {metric: whole.column(metric) for metric in whole.metrics})


def of_run(run_dir: Path) -> tuple[Claim, ...]:
    """Every claim against a finished run."""
    from ethermeter.store import RunDirectory

    runs = runs_of(run_dir, estimates.read(run_dir), RunDirectory(run_dir).replications())
    return claims(runs)
