"""Claims of sections 2.4 and 2.5 of Boggs, Mogul and Kent (1988).

Theories, conclusions drawn from them, and simulations.

A quantity is a formula's (`theory`) or a run's (`runs`). It is held against a printed
number, or it must lie above, or below, a limit that stands with the claim: a run's with the whole
of its interval.
"""

from collections.abc import Callable, Mapping

from ethermeter.analysis.verdicts import decision
from ethermeter.results.interval import Estimate, exact
from ethermeter.results.query import Results
from ethermeter.studies.judging import Entry, Finding, Rule
from ethermeter.studies.myths.runs import SIMULATED, Found
from ethermeter.studies.myths.theory import FORMULAS


def decide(entry: Entry, ours: Estimate, remark: str) -> Finding:
    """Hold a quantity against the limit of its claim; without a limit it is a number to compare.

    `entry`: with `above` or `below`, what the whole interval must be, or with neither. `ours`: the
    quantity; a formula's has an interval of no width, a value without any interval decides nothing.
    `remark`: remark on it.
    """
    if "above" in entry:
        return Finding(ours, decision(ours, ">", entry.number("above")), remark)
    if "below" in entry:
        return Finding(ours, decision(ours, "<", entry.number("below")), remark)
    return Finding(ours, None, remark)


def _of_formula(value: Callable[[], tuple[float, str]]) -> Rule:
    def rule(entry: Entry, _: Results) -> Finding:
        ours, remark = value()
        return decide(entry, exact(ours), remark)

    return rule


def _of_run(find: Callable[[Results], Found]) -> Rule:
    return lambda entry, results: decide(entry, *find(results))


RULES: Mapping[str, Rule] = {
    **{name: _of_formula(value) for name, value in FORMULAS.items()},
    **{name: _of_run(find) for name, find in SIMULATED.items()},
}
