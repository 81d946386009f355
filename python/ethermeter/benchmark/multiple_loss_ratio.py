"""MLRsearch: rates of several goals by the same trials; its library is an extra, `benchmark`."""

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

from ethermeter.benchmark.searches import Found, Goal, Measure

_NO_LIMIT_S = 1e12
"""Time of a search by the wall clock: a search that is replayed must not depend on it."""


class _Measurer(AbstractMeasurer):  # type: ignore[misc]  # The library has no types.
    """Hands the trials of MLRsearch to a function."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.trials = 0

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Return the result of a trial."""
        counted = self._measure(intended_duration, intended_load)
        self.trials += 1
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=counted.intended,
            offered_count=counted.sent,
            forwarding_count=counted.received,
        )


def mlr_search(
    measure: Measure, goals: tuple[Goal, ...], *, least: float, most: float
) -> tuple[Found, ...]:
    """Search the rates of some goals by MLRsearch, all with the same trials.

    Parameters
    ----------
    measure
        Runs a trial.
    goals
        What is searched.
    least, most
        Lowest and highest rate of a trial, in frames/s.

    """
    measurer = _Measurer(measure)
    of = [
        SearchGoal(
            loss_ratio=goal.loss,
            exceed_ratio=goal.exceeding,
            relative_width=goal.width,
            initial_trial_duration=goal.first_trial_s,
            final_trial_duration=goal.trial_s,
            duration_sum=goal.sum_s,
            preceding_targets=goal.preceding,
            fail_fast=False,
        )
        for goal in goals
    ]
    config = Config()
    config.min_load = least  # Below the default of the highest load, which is 1e9.
    config.max_load = most
    config.goals = of
    config.search_duration_max = _NO_LIMIT_S
    config.warmup_duration = 0.0
    results = MultipleLossRatioSearch(config=config).search(measurer, debug=lambda _: None)
    found = []
    for goal in of:
        result = results[goal]
        low, high = result.relevant_lower_bound, result.relevant_upper_bound
        conditional = result.conditional_throughput
        found.append(
            Found(
                None if low is None else float(low),
                None if high is None else float(high),
                None if conditional is None else float(conditional),
                measurer.trials,
            )
        )
    return tuple(found)
