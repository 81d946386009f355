"""Unseen: limits of what was not seen once, such as the loss of a run in which no frame was lost.

No variance follows from counts that are zero in every replication, and an interval without width
would claim what is not known. The limit of 95% confidence comes from how often it could have been
seen: the rule of three (`ethermeter.results.interval.no_failure`).

What counts as independent: frames and messages for losses, collisions and deadlines, packets for
voice, of which a sample is but a part. Losses often come in bursts, as a queue that is full stays
full for a while, and so do late messages. Where nothing was lost nothing is known about bursts: if
they lose b frames on average, the limit is about b times as high.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats, no_event, no_failure, no_success
from ethermeter.results.trials import window_s
from ethermeter.scenario import CoderArrivals, SamplesLengths, Scenario

SAMPLES = (Metric.SAMPLE_LOSS, Metric.SPEECH_LOSS)
"""Shares of samples of voice."""
SHARES = (Metric.LOSS, *SAMPLES, Metric.OVERDUE_SHARE)
"""Shares of failures among trials."""
BY_FRAME = {Metric.COLLISIONS_PER_FRAME: 0.0, Metric.ATTEMPTS_PER_FRAME: 1.0}
"""Events over frames delivered, with the value of no event."""
COUNTS = frozenset(
    {
        *(Metric.DISCARDED, Metric.DROPPED, Metric.RESUMED, Metric.LATE_COLLISIONS, Metric.DAMAGED),
        *(Metric.SAMPLES_LOST, Metric.SAMPLES_LOST_HOST, Metric.REORDERED, Metric.DUPLICATES),
        *(
            Metric.TIMED_OUT,
            Metric.LOST_QUEUE,
            Metric.LOST_BUFFER,
            Metric.LOST_ATTEMPTS,
            Metric.LOST_DAMAGED,
        ),
        *(Metric.FILTERED, Metric.IGNORED, Metric.RETRANSMITTED, Metric.TIMEOUTS),
    }
)
"""Counts of events in a trial."""
BEHIND = (
    *(Metric.FRAMES, Metric.DROPPED, Metric.DISCARDED, Metric.OFFERED_RATE, Metric.MESSAGES),
    *(Metric.SAMPLES_DELIVERED, Metric.SAMPLES_LOST),
)
"""What `exposure` reads."""
_NEVER = {Metric.REORDERED, Metric.DUPLICATES}
"""Counts that are 0 in every simulation: between two hosts there is one path, and it keeps the
order.
"""


def exposure(metric: Metric, counted: Mapping[Metric, Floats], scenario: Scenario) -> Floats:
    """Return how often an event could have been seen in a trial: what `limited` needs.

    `counted` has values of `BEHIND` that the trial has, of one shape: of all stations or flows
    together, or of each. Returned are independent trials behind a share, frames behind events by
    frame, 1 behind a count; NaN if unknown.
    """
    nothing = np.full_like(next(iter(counted.values())), np.nan)

    def of(name: Metric) -> Floats:
        return counted.get(name, nothing)

    if metric in SAMPLES:
        samples = of(Metric.SAMPLES_DELIVERED) + of(Metric.SAMPLES_LOST)
        packets = of(Metric.FRAMES if Metric.FRAMES in counted else Metric.MESSAGES)
        return _packets(samples, packets, scenario)
    if metric in BY_FRAME:
        return of(Metric.FRAMES)
    if metric == Metric.OVERDUE_SHARE:
        return of(Metric.MESSAGES if Metric.MESSAGES in counted else Metric.FRAMES)
    if metric != Metric.LOSS:
        return np.ones_like(nothing)
    if Metric.FRAMES not in counted:
        return of(Metric.OFFERED_RATE) * window_s(scenario)
    return of(Metric.FRAMES) + of(Metric.DROPPED) + of(Metric.DISCARDED)


def _packets(samples: Floats, packets: Floats, scenario: Scenario) -> Floats:
    """Return how many packets carried samples of voice.

    All that arrived where all is voice, else at least as many as the largest packets make.
    """
    flows = scenario.flows
    most = [
        (flow.frames.max_bits - flow.frames.overhead_bits) / flow.arrivals.sample_bits
        for flow in flows
        if isinstance(flow.arrivals, CoderArrivals) and isinstance(flow.frames, SamplesLengths)
    ]
    if len(most) == len(flows):
        return packets
    return samples / max(most, default=1.0)


def is_known_of_all(metric: Metric, scenario: Scenario) -> bool:
    """Whether what is counted of all stations or flows together is behind a metric of them.

    Messages without a deadline cannot be late.
    """
    if metric != Metric.OVERDUE_SHARE:
        return True
    return all(flow.deadline_ps is not None for flow in scenario.flows)


def is_unseen(metric: Metric, value: float, engine: str) -> bool:
    """Whether the metric's events occurred in no replication, though they could have."""
    if engine.startswith("theory/") or (metric in _NEVER and engine == "simulation"):
        return False
    if metric in SHARES:
        return value in (0.0, 1.0)
    return value == BY_FRAME.get(metric, 0.0) and (
        metric in COUNTS or metric in BY_FRAME or metric == Metric.TIME_COLLISION
    )


def limited(metric: Metric, found: Estimate, exposure: float) -> Estimate:
    """Return an estimate of unseen events with a limit in place of an interval without width.

    The limit is the upper one; of a share of 1 the lower. `exposure` is the sum over the trials
    behind it; NaN if unknown, which leaves no interval.
    """
    if metric == Metric.TIME_COLLISION:  # no limit without the length of a collision that never was
        return replace(found, error=np.nan, degrees=np.nan, ends=None)
    if metric in SHARES:
        limit = no_failure(exposure) if found.value == 0 else no_success(exposure)
    else:
        limit = no_event(exposure)
        if limit.ends is not None:
            limit = replace(limit, ends=(found.value, found.value + limit.high))
    return replace(limit, value=found.value, cautions=found.cautions)
