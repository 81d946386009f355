"""What a segment of 10BASE-T1S as a whole does in a trial, by metric."""

from ethermeter.engines.simulation import run_trial
from ethermeter.metrics import ALL, Metric
from ethermeter.store.rows import layout
from ethermeter.trial import Trial


def of_bus(trial: Trial) -> dict[Metric, float]:
    """Simulate a trial; the values of the bus as a whole."""
    rows = run_trial(trial.line, trial.scenario)
    entity, metric = layout(rows.stations, plca=True)
    every = tuple(Metric)
    return {
        every[number]: value
        for number, of, value in zip(metric, entity, rows.values, strict=True)
        if of == ALL
    }
