"""What a segment of 10BASE-T1S as a whole does in a trial, by metric."""

from ethermeter.engines.simulation import run_trial
from ethermeter.metrics import Metric
from ethermeter.results.query import Results
from ethermeter.trial import Trial


def of_bus(trial: Trial) -> dict[Metric, float]:
    """Simulate a trial; the values of the bus as a whole."""
    results = Results.of_trial(trial, run_trial(trial.line, trial.scenario))
    return {metric: results.all(metric) for metric in results.metrics}
