"""Tables of values and their cautions."""

import numpy as np
from ethermeter.engines.table import FEW_SAMPLES, Table
from ethermeter.metrics import Caution, Metric, caution_mask


def test_few_samples_are_those_of_the_metric_even_where_each_call_makes_a_new_array():
    metrics = (Metric.UTILISATION, Metric.LOSS, Metric.GOODPUT, Metric.ACCESS_DELAY)
    few = {Metric.LOSS, Metric.GOODPUT}
    values, masks = Table(
        metrics,
        metrics,
        dict.fromkeys(metrics, 1.0),
        {metric: np.ones(1) for metric in metrics},
        lambda metric: np.array([1.0 if metric in few else 10.0 * FEW_SAMPLES]),
        np.uint64(0),
        np.zeros(1, np.uint64),
    ).rows()
    word = caution_mask([Caution.FEW_SAMPLES])
    assert values.tolist() == [1.0] * 8
    assert masks.tolist() == [word if metric in few else 0 for metric in metrics * 2]
