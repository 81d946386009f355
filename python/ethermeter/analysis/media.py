"""Media: estimates of each shared medium, of all its stations together.

The interval is by replications, from three on (`ethermeter.results.estimates`).
"""

from collections.abc import Sequence

import numpy as np

from ethermeter.analysis.groups import PART
from ethermeter.entities import names_of
from ethermeter.metrics import Metric, caution_text
from ethermeter.results.estimates import Point, grouped, point_like, summarised
from ethermeter.results.interval import Estimate
from ethermeter.results.slices import Source
from ethermeter.results.trials import Trial
from ethermeter.results.values import of_media

METRICS = (
    *(Metric.UTILISATION, Metric.TIME_COLLISION, Metric.COLLISIONS_PER_FRAME, Metric.DISCARDED),
    *(Metric.ACCESS_DELAY, Metric.TRANSMISSION_DELAY, Metric.JAIN_INDEX),
)
"""What is estimated of a medium."""


def estimate(
    trials: Sequence[Trial], source: Source, metrics: Sequence[Metric] = METRICS
) -> tuple[Point, ...]:
    """Return the estimates of each medium at each point, in the order of the plan.

    One point for every medium of every point; `point` has its name under `PART`.
    """
    groups, firsts, replications = grouped(trials)
    found = of_media(source, trials, metrics)
    points = []
    for at, first in enumerate(firsts):
        members, trial = np.flatnonzero(groups == at).tolist(), trials[first]
        for number, name in enumerate(names_of("medium", trial.scenario)):
            estimates: dict[Metric, Estimate] = {}
            for metric in metrics:
                values = np.array([found[of][metric].values[number] for of in members])
                masks = [int(found[of][metric].cautions[number]) for of in members]
                same = np.zeros(len(members), np.int64)
                (of_point,) = summarised(values, same, [len(members)], within=None)
                words = caution_text(int(np.bitwise_or.reduce(masks))).split()
                estimates[metric] = Estimate(
                    of_point.value, of_point.error, of_point.degrees, tuple(words)
                )
            points.append(point_like(trial, replications[at], estimates, {PART: name}))
    return tuple(points)
