"""Lateness: whether messages left so late that the measured traffic differs from the wanted one.

A message that leaves late by L changes two things: the time to its neighbours, by up to L, and the
time at which it is counted. The first matters in relation to the time between messages: delays,
queues and losses follow from how closely messages come. The second matters in relation to the
measured window: a rate or a count changes only by messages that leave the window or come into it.
The delay itself is measured from when a message was handed over, so its own lateness is not in it.
"""

from ethermeter.engines.offered import packet_ps
from ethermeter.scenario import (
    CoderArrivals,
    Flow,
    OnOffArrivals,
    PoissonArrivals,
    RegularArrivals,
    SamplesLengths,
    SaturatedArrivals,
)
from ethermeter.store.result import Pacing

LATE_SHARE = 0.01
"""Share of the messages that may be late: what holds for fewer does not reach percentiles up to the
99th.
"""
OF_INTERVAL = 0.1
"""Lateness over the mean time between messages.

Below a tenth, the times between messages are those asked for to 10%.
"""
LEAST_PS = 5_000_000
"""Lateness that is never counted, 5 us: how well pacing holds on an idle host."""
OF_WINDOW = 0.01
"""Largest lateness over the measured window: below it, messages that cross an edge of the window
are less than about 1% of it.
"""


def changes_spacing(pacing: Pacing, flow: Flow) -> bool:
    """Whether lateness changes the times between messages.

    It does if more than 1% of the messages left later than a tenth of the mean time between
    messages, and later than 5 us.

    Parameters
    ----------
    pacing
        What the sender counted of its lateness.
    flow
        The flow.

    """
    interval_ps = _interval_ps(flow)
    if not pacing.frames or interval_ps is None:
        return False
    limit_ps = max(LEAST_PS, OF_INTERVAL * interval_ps)
    late = sum(count for low_ps, _, count in pacing.lateness.buckets if low_ps >= limit_ps)
    return bool(late > LATE_SHARE * pacing.frames)


def changes_counts(pacing: Pacing, *, window_s: float) -> bool:
    """Whether a message left over 1% of the measured window late.

    Parameters
    ----------
    pacing
        As above.
    window_s
        Length of the measured window [s].

    """
    return bool(pacing.frames and pacing.worst_ns > OF_WINDOW * window_s * 1e9)


def _interval_ps(flow: Flow) -> float | None:
    """Mean time between messages while the source sends; None for a saturated one."""
    match flow.arrivals:
        case RegularArrivals(period_ps=period_ps) | OnOffArrivals(period_ps=period_ps):
            return float(period_ps)
        case PoissonArrivals(mean_ps=mean_ps):
            return mean_ps
        case CoderArrivals() as coder:
            assert isinstance(flow.frames, SamplesLengths), "packets of a coder hold samples"
            return float(packet_ps(coder, flow.frames))
        case SaturatedArrivals():
            return None
