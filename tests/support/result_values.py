"""Values and cautions of the result of a trial, by number of the entity (-1 of all) and metric."""

from types import SimpleNamespace

from ethermeter.metrics import Metric, caution_text
from ethermeter.results.frame import observations
from ethermeter.results.query import Results
from ethermeter.scenario import Scenario
from ethermeter.store.trial_result import TrialResult
from ethermeter.trial import LIVE, SIMULATION

Key = tuple[int, Metric]


def results_of(scenario: Scenario, result: TrialResult, *, engine: str = SIMULATION) -> Results:
    """The results of one trial."""
    trial = SimpleNamespace(id="x/0", engine=engine, scenario=scenario)
    return Results.of_trial(trial, result)


def values_in(
    scenario: Scenario, result: TrialResult, *, engine: str = SIMULATION
) -> dict[Key, float]:
    """Every value of a trial, in the order of the frame of its run."""
    return {key: value for key, (value, _) in _rows(scenario, result, engine).items()}


def cautions_in(
    scenario: Scenario, result: TrialResult, *, engine: str = SIMULATION
) -> dict[Key, str]:
    """The cautions of every value."""
    return {key: words for key, (_, words) in _rows(scenario, result, engine).items()}


def measured(
    scenario: Scenario, result: TrialResult, metric: str, flow: int | None = None
) -> tuple[float, str]:
    """Value and cautions of a metric of a measured flow, or of all."""
    results = results_of(scenario, result, engine=LIVE)
    of = Metric(metric)
    if flow is None:
        return results.all(of), caution_text(int(results.all_cautions(of)))
    return float(results.each(of)[flow]), caution_text(int(results.each_cautions(of)[flow]))


def _rows(scenario: Scenario, result: TrialResult, engine: str) -> dict[Key, tuple[float, str]]:
    results = results_of(scenario, result, engine=engine)
    table = observations(results, results.trials())
    names = ("entity", "metric", "value", "caution")
    columns = (table[name].to_pylist() for name in names)
    return {
        (station, Metric(metric)): (value, words)
        for station, metric, value, words in zip(*columns, strict=True)
    }
