"""Admission: the quality of each number of calls, and the effect of admission rules.

The run varies the number of voice stations; each stands for a call. Between numbers that were
simulated values lie on a straight line, below the least they are those of the least, and beyond the
largest nothing is known: no call is admitted there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethermeter.entities import senders
from ethermeter.faults import ARGUMENTS, Fault, InputError, choices
from ethermeter.metrics import Caution, Metric
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Floats
from ethermeter.results.slices import Source, batch_slices
from ethermeter.results.trials import PS_PER_S, Trial
from ethermeter.scenario import Scenario
from ethermeter.store import RunDirectory
from ethermeter.voice import by_count, by_load, call_time, central, occupancy, unlimited

BOUND_THAT_MATTERS = 1e-3
"""Share of the calls that arrive where the run has no more stations, beyond which an answer is
about the run and not about the rule.
"""
RULES = ("none", "central", "count", "load")

_COUNT = re.compile(r"stations\.([^.]+\.)?count")


@dataclass(frozen=True, slots=True)
class ByCalls:
    """Results of a run by number of calls, 0, 1, …; arrays of the shape (largest + 1,)."""

    series: str  # Which series of the run
    # Numbers of calls that were simulated, ascending; the others are interpolated
    simulated: tuple[int, ...]
    # loss, loss_low, loss_high: Share of the samples that is lost, and its 95% interval, cut to 0
    # and 1; NaN where the run has none
    loss: Floats
    loss_low: Floats
    loss_high: Floats
    # load, deviation: Mean load that a host that listens for `window_s` measures, channel time of
    # delivered frames, and its standard deviation: over the batches of all replications that begin
    # when all stations have begun
    load: Floats
    deviation: Floats
    window_s: float  # Length of a batch [s]
    # Whether the run measures from before all stations have begun. Its losses are then too small,
    # since buffers begin empty.
    is_from_the_start: bool

    @property
    def largest(self) -> int:
        """The largest number of calls that was simulated."""
        return self.simulated[-1]

    @property
    def has_intervals(self) -> bool:
        """Whether the loss has an interval at every number."""
        return bool(np.isfinite(self.loss_high).all())

    def most_within(self, limit: float) -> int:
        """Return the largest number of calls whose loss is within a limit by its interval.

        0 if there is none. All smaller numbers are within it too.
        """
        beyond = ~(self.loss_high <= limit)
        return max(int(np.argmax(beyond)) - 1, 0) if beyond.any() else self.largest


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What the rules decide by."""

    limit: float  # Share of the samples whose loss is still good
    most: int  # Calls that may be active
    heard: float  # Probability that a host that counts hears an active call
    load: float  # Load below which a host that measures it begins a call


@dataclass(frozen=True, slots=True)
class Beyond:
    """Share of call time in which more is lost than the limit."""

    value: float
    # low, high: The same with the loss of every number at the lower and at the upper end of its
    # interval, NaN where there is none
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule makes of the calls offered."""

    offered: float  # Calls offered a second times their mean duration [erlang]
    rule: str  # Which rule, of `RULES`
    blocking: float  # Share of calls refused
    mean_calls: float  # Mean number of active calls
    beyond_limit: Beyond
    mean_loss: float  # Mean loss over call time
    over_most: float  # Share of time with more calls active than the threshold
    # Share of calls that arrive with as many active as the run has stations, if the rule would ever
    # admit one there; 0 if it would not
    bound: float
    cautions: tuple[str, ...]

    @property
    def is_bounded(self) -> bool:
        """Whether the run's largest number decides, not the rule alone."""
        return bool(self.cautions)


def read(run: Path, *, series: str | None = None, at: Mapping[str, str] | None = None) -> ByCalls:
    """Read the results of a finished run for each number of calls.

    `series` may be None if only one has voice stations whose number varies; `at` has the values of
    what the series varies besides, by its key.

    Raises
    ------
    InputError
        If there is no finished run, or no such series in it, or what it varies is not fixed but for
        the number of stations.
    """
    directory = RunDirectory(run)
    directory.refuse_unfinished()
    points = [point for point in estimates.read(directory.path) if point.engine == "simulation"]
    chosen = _series(run, points, series)
    of = [point for point in points if point.series == chosen]
    key = _count_key(of, fixed := dict(at or {}))
    kept = sorted(
        (point for point in of if _is_at(point.point, fixed)),
        key=lambda point: int(point.point[key]),
    )
    simulated = tuple(int(point.point[key]) for point in kept)
    trials = [
        trial
        for trial in directory.replications()
        if trial.series == chosen and trial.engine == "simulation" and _is_at(trial.point, fixed)
    ]
    voices = [
        sum(group.count for group in senders(trial.scenario) if group.has_coder) for trial in trials
    ]
    if voices != [int(trial.point[key]) for trial in trials]:
        allowed = "a series that varies this number, each station a call"
        raise _fault(run, key, "not the number of voice stations", allowed)
    loss = [point.estimates[Metric.SAMPLE_LOSS] for point in kept]
    loads, window_s = _loads(trials, directory, key)
    of_batches = [loads.get(calls, []) for calls in simulated]
    columns = {
        "loss": [each.value for each in loss],
        "load": [float(np.mean(each)) if each else np.nan for each in of_batches],
        "deviation": [
            float(np.std(each, ddof=1)) if len(each) > 1 else np.nan for each in of_batches
        ],
    }
    for name, column in columns.items():
        if not np.isfinite(column).all():
            calls = simulated[int(np.argmin(np.isfinite(column)))]
            allowed = "a run that has it for every number of stations"
            raise _fault(run, f"{name} at {key} = {calls}", "undefined", allowed)
    columns |= {"loss_low": [each.low for each in loss], "loss_high": [each.high for each in loss]}
    numbers = np.arange(simulated[-1] + 1.0)
    # Beyond the ends np.interp goes on with the value there.
    spread = {
        name: np.interp(numbers, simulated, np.clip(column, 0, 1))
        for name, column in columns.items()
    }
    early = any(
        _settled_ps(trial.scenario) > trial.scenario.phases.measure_from_ps for trial in trials
    )
    return ByCalls(
        series=chosen, simulated=simulated, window_s=window_s, is_from_the_start=early, **spread
    )


def outcomes(
    offered_erlangs: Sequence[float], by_calls: ByCalls, thresholds: Thresholds
) -> tuple[Outcome, ...]:
    """Return what each rule makes of each load offered: for each load one for each of `RULES`."""
    # The last is what the rule would do beyond the largest number, if there were more.
    numbers = by_calls.largest + 1
    rules = {
        "none": unlimited(numbers),
        "central": central(thresholds.most, circuits=numbers),
        "count": by_count(thresholds.most, heard=thresholds.heard, circuits=numbers),
        "load": by_load(by_calls.load, deviation=by_calls.deviation, threshold=thresholds.load),
    }
    return tuple(
        _outcome(offered, rule, rules[rule], by_calls, thresholds)
        for offered in offered_erlangs
        for rule in RULES
    )


def _outcome(
    offered: float, rule: str, admit: Floats, by_calls: ByCalls, thresholds: Thresholds
) -> Outcome:
    found = occupancy(offered, admit=admit[:-1])

    middle, *ends = (
        call_time(found.distribution, loss=loss, limit=thresholds.limit, most=thresholds.most)
        for loss in (
            by_calls.loss,
            *((by_calls.loss_low, by_calls.loss_high) if by_calls.has_intervals else ()),
        )
    )
    low, high = (float(end.beyond) for end in ends) if ends else (np.nan, np.nan)
    # Not times a(n): far too many calls would hide that a rule which admits one in a million would
    # go on growing.
    bound = float(found.distribution[-1]) if admit[-1] > 0 else 0.0
    return Outcome(
        offered=float(offered),
        rule=rule,
        blocking=float(found.blocking),
        mean_calls=float(found.mean_calls),
        beyond_limit=Beyond(float(middle.beyond), low, high),
        mean_loss=float(middle.mean_loss),
        over_most=float(middle.crowded),
        bound=bound,
        cautions=(str(Caution.OUTSIDE_MODEL_RANGE),) if bound > BOUND_THAT_MATTERS else (),
    )


def _series(run: Path, points: Sequence[Point], wanted: str | None) -> str:
    """Return the series that is meant: it has voice, and varies a number of stations."""
    there = list(dict.fromkeys(point.series for point in points))
    fit = [
        name for name in there if _is_of_calls([point for point in points if point.series == name])
    ]
    of_calls = "one with voice that varies the number of stations"
    if wanted is not None and wanted not in there:
        raise _fault(ARGUMENTS, "series", wanted, choices(wanted, there))
    if wanted is not None and wanted not in fit:
        known = ", ".join(fit) or "this run has none"
        raise _fault(ARGUMENTS, "series", wanted, f"{of_calls}: {known}")
    if wanted is None and not fit:
        raise _fault(run, "series", ", ".join(there), of_calls)
    if wanted is None and len(fit) > 1:
        raise _fault(ARGUMENTS, "series", "not given", f"one of {', '.join(fit)}")
    return wanted or fit[0]


def _is_of_calls(points: Sequence[Point]) -> bool:
    return all(Metric.SAMPLE_LOSS in point.estimates for point in points) and any(
        _COUNT.fullmatch(key) and len(values) > 1 for key, values in _values(points).items()
    )


def _values(points: Sequence[Point]) -> dict[str, list[str]]:
    """Return what a series varies, with its values."""
    keys = dict.fromkeys(key for point in points for key in point.point)
    return {
        key: list(dict.fromkeys(point.point[key] for point in points if key in point.point))
        for key in keys
    }


def _count_key(points: Sequence[Point], fixed: Mapping[str, str]) -> str:
    """Return the one key that is not fixed, a number of stations."""
    values = _values(points)
    wrong = []
    for key, value in fixed.items():
        if key not in values:
            wrong.append((key, value, f"one of the keys {', '.join(values)}"))
        elif value not in values[key]:
            wrong.append((key, value, choices(value, values[key])))
    free = [key for key in values if key not in fixed]
    counts = [key for key in free if _COUNT.fullmatch(key) and len(values[key]) > 1]
    if not counts:
        wrong += [(*of, "a number of stations that is left to vary") for of in fixed.items()]
    wrong += [
        (key, "not given", f"one of {', '.join(values[key])}")
        for key in free
        if key not in counts[:1] and len(values[key]) > 1
    ]
    if wrong:
        raise InputError([Fault(ARGUMENTS, *each) for each in wrong])
    return counts[0]


def _is_at(point: Mapping[str, str], fixed: Mapping[str, str]) -> bool:
    return all(point.get(key) == value for key, value in fixed.items())


def _loads(
    trials: Sequence[Trial], source: Source, key: str
) -> tuple[dict[int, list[float]], float]:
    """Return the loads of batches by number of calls, and the length of a batch [s].

    Only batches that begin after all stations have begun.
    """
    found: dict[int, list[float]] = {}
    window_s = float("nan")
    for _, positions, of in batch_slices(source, trials):
        window_s = float(of.time_ps.flat[0] / PS_PER_S)
        loads = of["charged_ps"].sum(axis=-1) / of.time_ps[..., 0]
        for position, load in zip(positions.tolist(), loads, strict=True):
            trial = trials[position]
            from_s = trial.scenario.phases.measure_from_ps / PS_PER_S + window_s * np.arange(
                load.size
            )
            settled = from_s >= _settled_ps(trial.scenario) / PS_PER_S
            found.setdefault(int(trial.point[key]), []).extend(load[settled].tolist())
    return {calls: loads for calls, loads in found.items() if loads}, window_s


def _settled_ps(scenario: Scenario) -> int:
    """Return when all stations have begun [ps]."""
    return scenario.phases.begin_ps + scenario.phases.spread_ps


def _fault(file: Path | str, key: str, value: str, allowed: str) -> InputError:
    return InputError.of(str(file), key, value, allowed)
