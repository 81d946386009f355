"""Hosts: what the machines of a test did meanwhile, from the counters that their agents read.

Hosts of a testbed are one machine: agents with the same boot of one kernel have one entry. A
processor counts its time in ticks of 10 ms, so that a share over 0.4 s is known to 2.5 points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.live_reports import AgentReport, AgentResult, HostSample, ProcessorTimes
from ethermeter.results.interval import Floats
from ethermeter.results.trials import alike
from ethermeter.store.result import Result

KINDS = ("user", "system", "interrupts", "soft_interrupts", "steal")
"""What takes the time of a processor: programs, the kernel for them, interrupts, work that
interrupts put off, and the hypervisor, which ran something else (CPU steal).
"""
_FROM, _TO = "measure_from", "measure_to"
_NS = 1e-9


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine did in the measured window."""

    hosts: tuple[str, ...]  # Names of the hosts of the experiment that are on it
    # By processor, the share of its time by `KINDS`; the rest it was idle
    processors: tuple[Mapping[str, float], ...]
    # context_switches, interrupts, soft_interrupts: Per second; the last are times that put-off
    # work of interrupts ran
    context_switches: float
    interrupts: float
    soft_interrupts: float
    # Least memory that programs could have had at any sample of the test
    memory_least_octets: float
    backlog_dropped: float  # Frames that found a processor's backlog full
    looking: float  # Share of one processor that looking at all this took, over the whole test

    @property
    def shares(self) -> dict[str, float]:
        """Mean over the processors, by `KINDS`."""
        return {kind: float(np.mean([of[kind] for of in self.processors])) for kind in KINDS}

    @property
    def busiest(self) -> tuple[int, float]:
        """Number of the busiest processor and the share of its time in which it was not idle."""
        busy = [sum(of.values()) for of in self.processors]
        at = int(np.argmax(busy))
        return at, busy[at]


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What a machine did over time."""

    at_s: Floats  # Ends of the steps, in s since the transmission began; shape `(steps,)`
    # Mean over the processors in each step, by `KINDS`; shape `(steps,)` each
    shares: Mapping[str, Floats]
    # context_switches, interrupts: Per second; shape `(steps,)`
    context_switches: Floats
    interrupts: Floats
    # Memory that programs could have at the end of the step; shape `(steps,)`
    memory_octets: Floats


def machines(result: Result) -> tuple[Machine, ...]:
    """Return what the machines of a test did, in the order of their first hosts.

    Machines whose agents have no counters are left out.
    """
    found = (
        _machine(tuple(names), [result.agents[name].result or AgentReport() for name in names])
        for names in _by_machine(result.agents)
    )
    return tuple(machine for machine in found if machine is not None)


def course(result: Result, host: str) -> Course | None:
    """Return what the machine of a host did over time; None where there are not two samples."""
    report = result.agents[host].result
    series = None if report is None else report.host_series
    if series is None or len(series.at_ns) < 2:
        return None
    at_s = np.array(series.at_ns, np.float64) * _NS
    columns = series.columns
    ticks = {
        "user": columns.user,
        "system": columns.system,
        "interrupts": columns.interrupts_time,
        "soft_interrupts": columns.soft_interrupts_time,
        "steal": columns.steal,
        "idle": columns.idle,
    }
    grown = {
        kind: np.diff(np.array(of, np.float64), axis=-1).sum(axis=0) for kind, of in ticks.items()
    }
    total = np.maximum(sum(grown.values()), 1.0)
    steps_s = np.diff(at_s)
    return Course(
        at_s[1:],
        {kind: grown[kind] / total for kind in KINDS},
        np.diff(np.array(columns.context_switches, np.float64)) / steps_s,
        np.diff(np.array(columns.interrupts, np.float64)) / steps_s,
        np.array(columns.memory_available_octets, np.float64)[1:],
    )


def mean_machine(found: Sequence[Machine]) -> Machine:
    """Mean of what one machine did in several trials; of the least memory the least."""
    count = min(len(of.processors) for of in found)
    names = ("context_switches", "interrupts", "soft_interrupts", "backlog_dropped", "looking")
    return Machine(
        hosts=found[0].hosts,
        processors=tuple(
            {kind: float(np.mean([of.processors[at][kind] for of in found])) for kind in KINDS}
            for at in range(count)
        ),
        memory_least_octets=min(of.memory_least_octets for of in found),
        **{name: float(np.mean([getattr(of, name) for of in found])) for name in names},
    )


def _by_machine(agents: Mapping[str, AgentResult]) -> list[list[str]]:
    """Return the names of the hosts of every machine: those with the same boot.

    An agent without a boot is a machine of its own.
    """
    return alike(agents, lambda name: agents[name].boot or f"host {name}")


def _machine(hosts: tuple[str, ...], reports: Sequence[AgentReport]) -> Machine | None:
    edges = {edge.at: edge for edge in reports[0].host}
    begin, end = edges.get(_FROM), edges.get(_TO)
    if begin is None or end is None:
        return None
    before, after = begin.host, end.host
    window_s = (end.taken_ns - begin.taken_ns) * _NS
    if before is None or after is None or window_s <= 0 or not before.processors:
        return None
    return Machine(
        hosts,
        tuple(_shares(*each) for each in zip(before.processors, after.processors, strict=True)),
        context_switches=(after.context_switches - before.context_switches) / window_s,
        interrupts=(after.interrupts - before.interrupts) / window_s,
        soft_interrupts=(after.soft_interrupts - before.soft_interrupts) / window_s,
        memory_least_octets=min(_memories(reports[0], (before, after))),
        backlog_dropped=float(after.backlog_dropped - before.backlog_dropped),
        looking=sum(_looking(of) for of in reports),
    )


def _shares(before: ProcessorTimes, after: ProcessorTimes) -> dict[str, float]:
    """Share of a processor's time by `KINDS`; zeros of one that counted no time."""
    grown = {
        kind: max(0, getattr(after, kind) - getattr(before, kind)) for kind in (*KINDS, "idle")
    }
    total = sum(grown.values())
    return {kind: grown[kind] / total if total else 0.0 for kind in KINDS}


def _memories(report: AgentReport, edges: Sequence[HostSample]) -> list[float]:
    series = report.host_series
    sampled = () if series is None else series.columns.memory_available_octets
    return [float(of) for of in (*(edge.memory_available_octets for edge in edges), *sampled)]


def _looking(report: AgentReport) -> float:
    series = report.host_series
    if series is None or len(series.at_ns) < 2 or series.at_ns[-1] <= series.at_ns[0]:
        return 0.0
    return series.cost.processor_ns / (series.at_ns[-1] - series.at_ns[0])
