"""Hosts: what the machines of a test did meanwhile, from the counters that their agents read.

Hosts of a testbed are one machine: agents that tell the same boot of one kernel are told of once. A
processor counts its time in ticks of 10 ms, so that a share over 0.4 s is known to 2.5 points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.analysis.interval import Floats

KINDS = ("user", "system", "interrupts", "soft_interrupts", "stolen")
"""What a busy processor does: programs, the kernel for them, interrupts, what these put off, and
what a machine around this one took.
"""
IDLE = "idle"
_SERIES = {"user": "user", "system": "system", "interrupts": "interrupts_time", "soft_interrupts": "soft_interrupts_time",
           "stolen": "stolen", "idle": "idle"}  # fmt: skip
_FROM, _TO = "measure_from", "measure_to"
_NS = 1e-9


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine did in the measured window.

    Parameters
    ----------
    hosts
        Names of the hosts of the experiment that are on it.
    processors
        By processor, the share of its time by `KINDS`; the rest it was idle.
    context_switches, interrupts, soft_interrupts
        Per second; the last are times that put-off work of interrupts ran.
    memory_least_octets
        Least memory that programs could have had at any sample of the test.
    backlog_dropped
        Frames that found a processor's backlog full.
    looking
        Share of one processor that looking at all this took, over the whole test.

    """

    hosts: tuple[str, ...]
    processors: tuple[Mapping[str, float], ...]
    context_switches: float
    interrupts: float
    soft_interrupts: float
    memory_least_octets: float
    backlog_dropped: float
    looking: float

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
    """What a machine did over time.

    Parameters
    ----------
    at_s
        Ends of the steps, in s since the transmission began; shape `(steps,)`.
    shares
        Mean over the processors in each step, by `KINDS`; shape `(steps,)` each.
    context_switches, interrupts
        Per second; shape `(steps,)`.
    memory_octets
        Memory that programs could have at the end of the step; shape `(steps,)`.

    """

    at_s: Floats
    shares: Mapping[str, Floats]
    context_switches: Floats
    interrupts: Floats
    memory_octets: Floats


def machines(result: Mapping[str, Any]) -> tuple[Machine, ...]:
    """Tell what the machines of a test did, in the order of their first hosts; those whose agents
    told no counters are left out.

    Parameters
    ----------
    result
        What came of a test, as docs/live.md has it.

    """
    found = []
    for names in _together(result["agents"]):
        agents = [result["agents"][name] for name in names]
        machine = _machine(tuple(names), [(agent.get("result") or {}) for agent in agents])
        if machine is not None:
            found.append(machine)
    return tuple(found)


def course(result: Mapping[str, Any], host: str) -> Course | None:
    """Tell what the machine of a host did over time; None where there are not two samples."""
    series = ((result["agents"][host].get("result") or {}).get("host_series")) or {}
    at_s = np.array(series.get("at_ns", ()), np.float64) * _NS
    if at_s.size < 2:
        return None
    columns = series["columns"]
    ticks = {kind: np.array(columns[name], np.float64) for kind, name in _SERIES.items()}
    grown = {kind: np.diff(of, axis=-1).sum(axis=0) for kind, of in ticks.items()}
    total = np.maximum(sum(grown.values()), 1.0)
    steps_s = np.diff(at_s)
    return Course(
        at_s[1:],
        {kind: grown[kind] / total for kind in KINDS},
        np.diff(np.array(columns["context_switches"], np.float64)) / steps_s,
        np.diff(np.array(columns["interrupts"], np.float64)) / steps_s,
        np.array(columns["memory_available_octets"], np.float64)[1:],
    )


def mean_machine(found: Sequence[Machine]) -> Machine:
    """Mean of what one machine did in several trials; of the least memory the least."""
    first = found[0]
    count = min(len(of.processors) for of in found)
    return Machine(
        hosts=first.hosts,
        processors=tuple(
            {kind: float(np.mean([of.processors[at][kind] for of in found])) for kind in KINDS}
            for at in range(count)
        ),
        context_switches=float(np.mean([of.context_switches for of in found])),
        interrupts=float(np.mean([of.interrupts for of in found])),
        soft_interrupts=float(np.mean([of.soft_interrupts for of in found])),
        memory_least_octets=min(of.memory_least_octets for of in found),
        backlog_dropped=float(np.mean([of.backlog_dropped for of in found])),
        looking=float(np.mean([of.looking for of in found])),
    )


def _together(agents: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Names of the hosts of every machine: those that tell the same boot; who tells none is by
    itself.
    """
    found: dict[str, list[str]] = {}
    for name, agent in agents.items():
        found.setdefault(str(agent.get("boot") or f"host {name}"), []).append(name)
    return list(found.values())


def _machine(hosts: tuple[str, ...], results: Sequence[Mapping[str, Any]]) -> Machine | None:
    edges = {edge["at"]: edge for edge in results[0].get("host") or ()}
    begin, end = edges.get(_FROM), edges.get(_TO)
    if not begin or not end or not begin.get("host") or not end.get("host"):
        return None
    before, after = begin["host"], end["host"]
    window_s = (end["taken_ns"] - begin["taken_ns"]) * _NS
    if window_s <= 0 or not before["processors"]:
        return None
    processors = tuple(
        _shares(of, then)
        for of, then in zip(before["processors"], after["processors"], strict=True)
    )
    rates = {
        name: (after[name] - before[name]) / window_s
        for name in ("context_switches", "interrupts", "soft_interrupts")
    }
    return Machine(
        hosts,
        processors,
        **rates,
        memory_least_octets=min(_memories(results[0], (before, after))),
        backlog_dropped=float(after["backlog_dropped"] - before["backlog_dropped"]),
        looking=sum(_looking(of) for of in results),
    )


def _shares(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, float]:
    """Share of a processor's time by what it did; nothing of one that counted nothing."""
    grown = {kind: max(0, after[kind] - before[kind]) for kind in (*KINDS, IDLE)}
    total = sum(grown.values())
    return {kind: grown[kind] / total if total else 0.0 for kind in KINDS}


def _memories(result: Mapping[str, Any], edges: Sequence[Mapping[str, Any]]) -> list[float]:
    columns = (result.get("host_series") or {}).get("columns") or {}
    return [
        float(of)
        for of in (
            *(edge["memory_available_octets"] for edge in edges),
            *columns.get("memory_available_octets", ()),
        )
    ]


def _looking(result: Mapping[str, Any]) -> float:
    series = result.get("host_series") or {}
    at_ns: Sequence[int] = series.get("at_ns") or ()
    cost_ns = (series.get("cost") or {}).get("processor_ns", 0)
    return (
        float(cost_ns / (at_ns[-1] - at_ns[0])) if len(at_ns) > 1 and at_ns[-1] > at_ns[0] else 0.0
    )
