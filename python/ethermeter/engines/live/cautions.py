"""Cautions of live values: late messages, uncertain clocks, few exchanges, slow hosts, CPU steal.

A message that leaves late by L changes two things: the time to its neighbours, by up to L, and the
time at which it is counted. The first matters in relation to the time between messages: delays,
queues and losses follow from how closely messages come. The second matters in relation to the
measured window: a rate or a count changes only by messages that leave the window or come into it.
The delay itself is measured from when a message was handed over, so its own lateness is not in it.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import astuple

from ethermeter.counts import FlowCounts
from ethermeter.engines.live.counts import receivers_of, roles_of
from ethermeter.engines.live.description import flow_names, is_saturated
from ethermeter.engines.live.segments import of_hosts
from ethermeter.entities import packet_ps
from ethermeter.live_reports import (
    HostEdge,
    PacingCounts,
    ProcessorTimes,
    RequesterCounts,
    SenderCounts,
)
from ethermeter.metrics import Caution, Masks, caution_mask
from ethermeter.scenario import (
    CoderArrivals,
    Flow,
    OnOffArrivals,
    PoissonArrivals,
    PythonArrivals,
    RegularArrivals,
    SamplesLengths,
    SaturatedArrivals,
    TokenBucketArrivals,
    TraceArrivals,
)
from ethermeter.store.columns import CAUTION, OF_LIVE
from ethermeter.store.result import FlowResult, Losses, Result
from ethermeter.trial import Trial

LATE_SHARE = 0.01
"""Share of the messages that may be late: what holds for fewer does not reach percentiles up to the
99th.
"""
OF_INTERVAL = 0.1
"""Lateness over the mean time between messages.

Below a tenth, the times between messages are those requested to 10%.
"""
LEAST_PS = 5_000_000
"""Lateness that is never counted, 5 us: how well pacing holds on an idle host."""
OF_WINDOW = 0.01
"""Largest lateness over the measured window: below it, messages that cross an edge of the window
are less than about 1% of it.
"""
MOST_STEAL = 0.01
"""Share of one processor's time in the measured window: longer steal delays more than one message
in a hundred.
"""
LEAST_TICKS = 2
"""Ticks of 10 ms, the kernel's unit: a single one may have gathered over a long time before the
window.
"""
MOST_VIOLATIONS = 1e-4
"""Share of the frames of which an emulated medium may learn too late."""
MOST_MEDIUM_LATE_NS = 100_000
"""Lateness that one frame in a hundred may have when it reaches its host from there, and one
decision in a hundred after the time at which its frames are due.
"""
MOST_STARVED = 1e-3
"""Share of the frames for which a saturated host may let its card wait, besides the first of each.
"""
AT_HOSTS = ("sender-interface", "receiver-interface", "socket")
"""Locations of losses at which a host, not the network, was too slow.

The sender's queue is not one of them: it waits for the wire.
"""


def live_cautions(
    trial: Trial, result: Result, counts: FlowCounts, *, has_wires: bool
) -> dict[str, Masks]:
    """Return the cautions of measured flows, by the columns of `ethermeter.store.trial_result`.

    `has_wires` is whether something between hosts carries no more than a wire.
    """
    scenario = trial.scenario
    phases = scenario.phases
    window_ns = (phases.measure_to_ps - phases.measure_from_ps) / 1e3
    always, uncertain, few, spacing, counted = (
        np.zeros(len(scenario.flows), np.uint64) for _ in range(5)
    )
    late, limited, clock = (
        caution_mask([of])
        for of in (Caution.LATE_SEND, Caution.HOST_LIMITED, Caution.CLOCK_UNCERTAIN)
    )
    wanted = trial.settings().exchanges
    for at, (name, flow) in enumerate(zip(flow_names(scenario), scenario.flows, strict=True)):
        found = result.flows.get(name, FlowResult())
        sending, _ = roles_of(flow, found)
        if sending is None:
            continue
        mask = caution_mask({Caution(name) for name in found.cautions})
        always[at], uncertain[at] = mask & ~clock, mask & clock
        is_lost = any(_is_lost_at_a_host(one.losses) for one in receivers_of(flow, found))
        octets = 0.0 if counts.transfer is None else counts.transfer.octets[at]
        has_sent = counts.offered[at] > 0 or octets > 0
        is_held_back = isinstance(sending, SenderCounts) and _is_held_back(sending)
        is_unsent = counts.dropped[at] > 0 and not is_held_back
        if is_unsent or is_lost or (is_saturated(flow) and has_sent and not has_wires):
            always[at] |= limited
        if isinstance(sending, RequesterCounts) and wanted is not None:
            is_few = counts.completed[at] < (wanted[at] or 0)
            few[at] = caution_mask([Caution.FEW_SAMPLES] if is_few else [])
        if (
            isinstance(sending, SenderCounts | RequesterCounts)
            and (pacing := sending.pacing).frames
        ):
            spacing[at] = late if changes_spacing(pacing, flow) else 0
            counted[at] = late if pacing.worst_ns > OF_WINDOW * window_ns else 0
    always |= always_cautions(result)
    columns = (always, spacing, counted, uncertain, few)
    return dict(zip((CAUTION, *OF_LIVE), columns, strict=True))


def _is_held_back(sending: SenderCounts) -> bool:
    """Whether an emulated medium held a sender back, so that messages were left at its end."""
    return sending.credit is not None and sending.credit.waits > 0


def segment_cautions(trial: Trial, result: Result) -> np.uint64:
    """Return the cautions of all values of a measured segment."""
    found: set[Caution] = set()
    hosts = of_hosts(trial).scenario
    for name, flow in zip(flow_names(hosts), hosts.flows, strict=True):
        sending, _ = roles_of(flow, result.flows.get(name, FlowResult()))
        if isinstance(sending, SenderCounts) and changes_spacing(sending.pacing, flow):
            found.add(Caution.LATE_SEND)
    return caution_mask(found) | always_cautions(result)


def always_cautions(result: Result) -> np.uint64:
    """Return the cautions of all values of a test: of its machine, and of emulated media."""
    found = _medium_cautions(result)
    if has_steal(result):
        found.add(Caution.CPU_STEAL)
    return caution_mask(found)


def _medium_cautions(result: Result) -> set[Caution]:
    """Return the cautions of all values that emulated media give."""
    found: set[Caution] = set()
    for segment in result.emulated:
        arrived = sum(station.arrived for station in segment.stations)
        starved = sum(station.starved for station in segment.stations)
        lost = sum(segment.dropped[cause] for cause in ("ring", "refused"))
        late_ns = max(segment.late_ns.p99 or 0.0, segment.behind_ns.p99 or 0.0)
        if segment.violations > MOST_VIOLATIONS * arrived or late_ns > MOST_MEDIUM_LATE_NS:
            found.add(Caution.MEDIUM_LATE)
        if lost > 0 or starved > MOST_STARVED * arrived + len(segment.stations):
            found.add(Caution.HOST_LIMITED)
    return found


def changes_spacing(pacing: PacingCounts, flow: Flow) -> bool:
    """Whether lateness changes the times between messages.

    It does if more than 1% of the messages left later than a tenth of the mean time between
    messages, and later than 5 us.
    """
    interval_ps = _interval_ps(flow)
    if interval_ps is None:
        return False
    limit_ps = max(LEAST_PS, OF_INTERVAL * interval_ps)
    late = sum(count for low_ps, _, count in pacing.lateness.buckets if low_ps >= limit_ps)
    return late > LATE_SHARE * pacing.frames


def _interval_ps(flow: Flow) -> float | None:
    """Mean time between messages while the source sends; None for a saturated one."""
    match flow.arrivals:
        case RegularArrivals(period_ps=period_ps) | OnOffArrivals(period_ps=period_ps):
            return float(period_ps)
        case PoissonArrivals(mean_ps=mean_ps) | TraceArrivals(mean_ps=mean_ps):
            return mean_ps
        case CoderArrivals() as coder:
            assert isinstance(flow.frames, SamplesLengths), "packets of a coder hold samples"
            return float(packet_ps(coder, flow.frames))
        case SaturatedArrivals() | TokenBucketArrivals() | PythonArrivals():
            return None


def _is_lost_at_a_host(losses: Losses | None) -> bool:
    # Drops without missing messages were of other frames, or were tried again.
    return (
        losses is not None
        and losses.missing > 0
        and any(location in AT_HOSTS for location, _ in losses.seen)
    )


def has_steal(result: Result) -> bool:
    """Whether a host of the test had steal of more than `MOST_STEAL` in the measured window.

    Hosts without counters, and machines whose hypervisor reports no steal, have none that is known.
    """
    reports = [agent.result for agent in result.agents.values() if agent.result is not None]
    return any(_has_steal(report.host) for report in reports)


def _has_steal(edges: Sequence[HostEdge]) -> bool:
    at = {edge.at: edge.host.processors for edge in edges if edge.host is not None}
    pairs = zip(at.get("measure_from", ()), at.get("measure_to", ()), strict=False)
    return any(_is_much(before, after) for before, after in pairs)


def _is_much(before: ProcessorTimes, after: ProcessorTimes) -> bool:
    steal = after.steal - before.steal
    total = sum(astuple(after)) - sum(astuple(before))
    return steal >= LEAST_TICKS and steal > MOST_STEAL * total
