"""CPU steal: the hypervisor ran something else on a host's processors during a measurement."""

from collections.abc import Sequence

from ethermeter.store.result import HostEdge, ProcessorTimes, Result

MOST_STEAL = 0.01
"""Share of one processor's time in the measured window.

What is gone for longer holds up more than one message in a hundred.
"""
LEAST_TICKS = 2
"""Ticks of 10 ms, the kernel's unit: a single one may have gathered over a long time before the
window.
"""


def has_steal(result: Result) -> bool:
    """Whether a host of the test had steal of more than `MOST_STEAL` in the measured window.

    Hosts without counters, and machines whose hypervisor reports no steal, have none that is known.
    """
    reports = [agent.result for agent in result.agents.values() if agent.result is not None]
    return any(_has_steal(report.host) for report in reports)


def _has_steal(edges: Sequence[HostEdge]) -> bool:
    at = {edge.at: edge.host.processors for edge in edges}
    pairs = zip(at.get("measure_from", ()), at.get("measure_to", ()), strict=False)
    return any(_is_much(before, after) for before, after in pairs)


def _is_much(before: ProcessorTimes, after: ProcessorTimes) -> bool:
    steal = after.steal - before.steal
    return steal >= LEAST_TICKS and steal > MOST_STEAL * (after.total - before.total)
