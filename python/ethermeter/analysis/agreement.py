"""Agreement: theory against simulation, and which assumption parts them.

A theory is compared with a simulation of what it assumes and with one of the segment. Of a network,
queueing theory is compared with its simulation, for all flows together and flow by flow; bounds are
compared by `ethermeter.analysis.bounds`.

The rule
--------
Two values *differ* if Student's t of their difference is beyond what chance leaves in 5% of all
such comparisons of a run together (Bonferroni): with so many comparisons, some of 95% intervals
would miss by chance alone. A theory has no error of its own; simulations are taken as independent.
On the way from a theory to the segment, every step's change is judged in the same way, together
with all other steps of the run; the *cause* of a difference is the step that changes most among
those that change something.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ethermeter.analysis import bounds
from ethermeter.metrics import Metric
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate, upper_tail
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, point_of
from ethermeter.theory.assumptions import MEANS
from ethermeter.trial import THEORY

ERROR = 0.05
COMPARED = (
    *(Metric.UTILISATION, Metric.TRANSMISSION_DELAY, Metric.RESPONSE_TIME),
    *(Metric.ATTEMPTS_PER_FRAME, Metric.OFFERED_LOAD_Q, Metric.LOSS),
    *(Metric.ONE_WAY_DELAY, Metric.ROUND_TRIP, Metric.ACCESS_DELAY, Metric.CYCLE_TIME),
)
"""Metrics that theories speak of; the others follow from these."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value with the half width of its 95% interval; NaN where there is none."""

    value: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Change:
    """What a step on the way to the segment changes."""

    step: str  # Name of the step: the assumption that it gives up
    after: Value  # The value after it
    change: float  # By how much it changed
    is_seen: bool  # Whether that is beyond chance


@dataclass(frozen=True, slots=True)
class _Case:
    """A metric that a theory has a value of at a point, with what the simulations found of it.

    `steps` are the ablations from the world of the model to the segment, by name.
    """

    point: Point
    model: str
    metric: Metric
    theory: Estimate
    idealised: Estimate | None
    simulation: Estimate | None
    steps: tuple[tuple[str, Estimate | None], ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """One metric at one point, by one theory and by simulations.

    Parameters
    ----------
    idealised, simulation
        In the world of the model, and of the segment; None if the run has no such trials.
    idealised_verdict, verdict
        "agrees" or "differs"; "not-run" without simulation, "no-value" where it has no value or no
        interval.

    """

    # series, point, model, metric: What is compared
    series: str
    point: Mapping[str, str]
    model: str
    metric: Metric
    theory: float  # What the model predicts
    cautions: tuple[str, ...]  # Words that the prediction carries
    idealised: Value | None
    idealised_verdict: str
    simulation: Value | None
    verdict: str
    changes: tuple[Change, ...]  # The steps from the world of the model to the segment
    cause: str  # The step that parts theory and segment most; empty if none is seen, or they agree


def agreements(points: Sequence[Point], *, error: float = ERROR) -> tuple[Agreement, ...]:
    """Compare every theory of a run with its simulations, in the order of the plan.

    `error` is the probability with which chance alone makes any of the comparisons of a kind
    differ.
    """
    by_engine: dict[object, dict[str, Point]] = {}
    for each in points:
        by_engine.setdefault(point_of(each), {})[each.engine] = each
    cases = [case for engines in by_engine.values() for case in _cases(engines)]
    idealised = _verdicts([(case.idealised, case.theory) for case in cases], error)
    simulated = _verdicts([(case.simulation, case.theory) for case in cases], error)
    moves = [_moves(case) for case in cases]
    limit = _limit([chance for found in moves for _, _, _, chance in found], error)
    judged = []
    for case, found, of_idealised, verdict in zip(cases, moves, idealised, simulated, strict=True):
        changes = tuple(
            Change(step, _value(then), change, chance < limit)
            for step, then, change, chance in found
        )
        seen = [change for change in changes if change.is_seen and verdict == "differs"]
        most = max(seen, key=lambda change: abs(change.change), default=None)
        judged.append(
            Agreement(
                series=case.point.series,
                point=case.point.point,
                model=case.model,
                metric=case.metric,
                theory=case.theory.value,
                cautions=case.theory.cautions,
                idealised=_value(case.idealised) if case.idealised else None,
                idealised_verdict=of_idealised,
                simulation=_value(case.simulation) if case.simulation else None,
                verdict=verdict,
                changes=changes,
                cause=most.step if most else "",
            )
        )
    return tuple(judged)


def _cases(engines: Mapping[str, Point]) -> list[_Case]:
    """Every metric that a theory has a value of at a point."""
    found = []
    for engine, point in engines.items():
        kind, _, model = engine.partition("/")
        if kind != "theory":
            continue
        steps = [name for name in engines if name.startswith(f"ablation/{model}/")]
        for metric in COMPARED:
            predicted = point.estimates.get(metric)
            if predicted is None or not math.isfinite(predicted.value):
                continue

            def of(name: str, metric: Metric = metric) -> Estimate | None:
                return engines[name].estimates.get(metric) if name in engines else None

            found.append(
                _Case(
                    point=point,
                    model=model,
                    metric=metric,
                    theory=predicted,
                    idealised=of(f"idealised/{model}"),
                    simulation=of("simulation"),
                    steps=tuple((name.split("/")[2], of(name)) for name in steps),
                )
            )
    return found


def _moves(case: _Case) -> list[tuple[str, Estimate, float, float]]:
    """List the steps with a value: name, value after, change, and its probability by chance."""
    # Models import much that most runs need not.
    from ethermeter.theory.ablation import after

    steps = case.steps and (*case.steps, (after(case.steps[-1][0]), case.simulation))
    before = case.idealised or case.theory
    found = []
    for step, then in steps:
        if then is None or not math.isfinite(then.value):
            continue
        found.append((step, then, then.value - before.value, _chance(then, before)))
        before = then
    return found


def _chance(one: Estimate | None, other: Estimate) -> float:
    """Probability by chance of a difference as large as this; NaN without values or intervals.

    Of what was not seen, how probable that is where the other is right: 5% at the end of its
    interval, less beyond.
    """
    for limit, value in ((one, other.value), (other, one.value)) if one is not None else ():
        if limit.ends is not None and math.isnan(limit.error) and math.isfinite(value):
            return float(0.05 ** (abs(value - limit.value) / limit.half_width))
    if one is None or not all(
        math.isfinite(each.value) and math.isfinite(each.error) for each in (one, other)
    ):
        return math.nan
    error = math.hypot(one.error, other.error)
    if error == 0:
        return 1.0 if math.isclose(one.value, other.value, rel_tol=1e-9, abs_tol=1e-12) else 0.0
    # Welch and Satterthwaite; of a theory, whose degrees of freedom are as good as infinite,
    # nothing remains.
    parts = [
        (each.error**2 / error**2) ** 2 / each.degrees for each in (one, other) if each.error > 0
    ]
    return 2 * upper_tail(abs(one.value - other.value) / error, 1 / sum(parts))


def _limit(chances: Sequence[float], error: float) -> float:
    return error / max(1, sum(math.isfinite(chance) for chance in chances))


def _verdicts(pairs: Sequence[tuple[Estimate | None, Estimate]], error: float) -> list[str]:
    chances = [_chance(found, predicted) for found, predicted in pairs]
    limit = _limit(chances, error)
    return [
        "not-run"
        if found is None
        else "no-value"
        if math.isnan(chance)
        else "differs"
        if chance < limit
        else "agrees"
        for (found, _), chance in zip(pairs, chances, strict=True)
    ]


def _value(found: Estimate) -> Value:
    return Value(found.value, found.half_width)


def read(results: Results) -> tuple[Agreement, ...]:
    """Compare every theory of a run with its simulations, of networks also flow by flow."""
    return agreements([*results.estimated, *bounds.flow_points(results)])


@dataclass(frozen=True, slots=True)
class Unmet:
    """An assumption of a theory that the simulation does not meet where the two differ.

    `model`, `assumption`: their names. `why`: in words, at the first such point. `differing`: at
    how many of the points where they differ, without simulations that part the assumptions.
    """

    model: str
    assumption: str
    why: str
    differing: int


def unmet(results: Results, found: Sequence[Agreement]) -> tuple[Unmet, ...]:
    """Return the assumptions that may cause what differs where no ablation tells, by model.

    Of a single one it is the cause. Of several the run does not say how much each changes.
    """
    differing = {
        (
            each.series,
            each.model,
            *sorted((k, v) for k, v in each.point.items() if k != bounds.FLOW),
        )
        for each in found
        if each.verdict == "differs" and not each.changes
    }
    named: dict[tuple[str, str], list[str]] = {}
    for trial in results.trials():
        model = trial.engine.partition("/")[2]
        key = trial.series, model, *sorted(trial.point.items())
        if trial.engine.startswith(f"{THEORY}/") and key in differing:
            differing.remove(key)  # of each point once
            for assumption, why in _unmet(model, trial).items():
                named.setdefault((model, assumption), []).append(why)
    return tuple(Unmet(*of, whys[0], len(whys)) for of, whys in named.items())


def _unmet(model: str, trial: Trial) -> Mapping[str, str]:
    """Return the assumptions of a theory that a trial does not meet."""
    # Models import much that most runs need not.
    from ethermeter.theory import queueing
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import ENTRIES
    from ethermeter.theory.simplifications import violated

    if model == MEANS:
        return queueing.unmet(trial.scenario)
    if model not in ENTRIES:
        return {}
    inputs = model_inputs(trial.scenario, trial.assumptions())
    return {str(name): why for name, why in violated(ENTRIES[model].assumes, inputs).items()}


@dataclass(frozen=True, slots=True)
class AgreementFile:
    """Comparisons for programs: the error probability of all, and what their metrics mean."""

    error: float
    metrics: Mapping[str, Mapping[str, str]]
    comparisons: tuple[Agreement, ...]

    @classmethod
    def of(cls, found: Sequence[Agreement]) -> "AgreementFile":
        """Return comparisons with what their metrics mean."""
        used = dict.fromkeys(each.metric for each in found)
        entity = "flow" if Metric.ONE_WAY_DELAY in used else "station"
        return cls(ERROR, estimates.meanings(used, entity), tuple(found))
