"""Concerns: which cautions of a station or flow make which metrics doubtful."""

from collections.abc import Iterator

from ethermeter.metrics.definition import EntityKind
from ethermeter.metrics.registry import Metric, percentiles


def _with_percentiles(*times: Metric) -> set[Metric]:
    return {metric for time in times for metric in (time, *percentiles(time))}


EXCHANGED = {Metric.EXCHANGES, *_with_percentiles(Metric.ROUND_TRIP)}
"""Metrics that few exchanges make doubtful."""
BY_CLOCKS = {
    *_with_percentiles(Metric.ONE_WAY_DELAY, Metric.VOICE_DELAY, Metric.SAMPLE_DELAY),
    *(Metric.MOUTH_TO_EAR, Metric.SPEECH_LOSS, Metric.RATING, Metric.MOS),
}
"""Metrics that uncertain clocks make doubtful."""
BY_SPACING = {
    *BY_CLOCKS,
    *_with_percentiles(Metric.ROUND_TRIP, Metric.INTER_ARRIVAL),
    *(Metric.LOSS, Metric.SAMPLE_LOSS),
}
"""Metrics that messages out of their spacing make doubtful; others change by the counted window."""


def concerns_of(metric: Metric, kind: EntityKind) -> Iterator[str]:
    """Yield the columns of cautions that hold for a metric, of those that a table may have.

    Neither coders nor PLCA have queues that grow.
    """
    yield "caution"
    if kind is EntityKind.STATION:
        yield "caution.queues"
    yield "caution.spacing" if metric in BY_SPACING else "caution.window"
    if metric in BY_CLOCKS:
        yield "caution.clocks"
    if metric in EXCHANGED:
        yield "caution.exchanges"
