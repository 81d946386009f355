"""The theory engine: one trial answered by a formula, as observations."""

import math
import time

import numpy as np

from ethermeter.metrics import caution_mask, without_samples
from ethermeter.scenario import Scenario
from ethermeter.stations import station_count
from ethermeter.store.rows import METRICS, STATION_METRICS, TrialRows
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import judge
from ethermeter.trial import Trial


def run_trial(trial: Trial, model: str) -> TrialRows:
    """Return the rows that a model predicts; ValueError if there is none, or it does not apply.

    What the model says nothing about, and every value of a single station, is NaN with the caution
    `no-samples`.
    """
    begin_s = time.perf_counter()
    scenario: Scenario = trial.scenario
    verdict = judge(model, model_inputs(scenario, trial.assumptions()))
    if not verdict.applies:
        raise ValueError(f"{model} does not apply: {verdict.obstacles[0]}")
    stations = station_count(scenario)
    values = np.full(len(METRICS) + stations * len(STATION_METRICS), math.nan)
    values[: len(METRICS)] = [verdict.values.get(metric, math.nan) for metric in METRICS]
    mask = without_samples(np.full(len(values), caution_mask(verdict.cautions)), values)
    cells = stations * scenario.batches
    none = np.empty(0, np.int64)
    return TrialRows(
        stations=stations,
        values=values,
        cautions=mask,
        batch_frames=np.zeros(cells, np.int64),
        batch_charged_ps=np.zeros(cells, np.int64),
        batch_delay_sum_s=np.zeros(cells),
        batch_delay_square_sum_s2=np.zeros(cells),
        histogram=np.empty(0, np.uint8),
        low_ps=none,
        high_ps=none,
        count=none,
        events=0,
        core_s=time.perf_counter() - begin_s,
    )
