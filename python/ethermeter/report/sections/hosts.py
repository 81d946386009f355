"""Hosts: processors and memory of the machines of a measured run."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ethermeter.analysis import hosts
from ethermeter.analysis.accounts import Account, by_point
from ethermeter.analysis.hosts import Machine, mean_machine
from ethermeter.analysis.interfaces import NAMES as NAMES_OF_PLCA
from ethermeter.analysis.interfaces import Found
from ethermeter.document import Block, Figure, Grid, Heading, Label, Section, Table, Text
from ethermeter.report.data import ReportData
from ethermeter.report.plots import over_time, shares_over_time, stacks
from ethermeter.report.sections.agent_results import PointColumns, percent, value, window_of
from ethermeter.results.trials import alike
from ethermeter.store.result import Result, plca_status

NAMES = {
    "user": "programs",
    "system": "kernel",
    "interrupts": "interrupts",
    "soft_interrupts": "soft interrupts",
    "steal": "steal",
}
"""What a processor does, in words."""
SHARE = Label("Share of the processors’ time")
EVENTS = Label("Events", "1/s")
MEMORY = Label("Memory available", "MB", 1e-6, from_zero=False)
MOST_MACHINES = 2
"""Machines of a trial that are drawn: the busiest."""
_HEAD = (
    *(
        "Machine of",
        "Programs",
        "Kernel",
        "Interrupts",
        "Soft interrupts",
        "Stolen",
        "Busiest processor",
    ),
    *(
        "Context switches/s",
        "Interrupts/s",
        "Soft interrupts/s",
        "Least memory (MB)",
        "Backlog dropped",
        "Looking",
    ),
)


LEAD = Markup(
    "What the machines did in the measured window: shares of the time of all their processors, by "
    "what took it; mean over the replications. <em>Soft interrupts</em> are what interrupts leave "
    "for later, most of it frames; <em>steal</em> is what the hypervisor of a virtual machine "
    "took. A processor counts ticks of 10 ms. <em>Looking</em> is what all this cost of one "
    "processor. Hosts of a testbed are one machine, with whatever else runs on it."
)


PLCA_LEAD = (
    "What the PHYs of 10BASE-T1S had after the test, as ethtool --get-plca-cfg shows it, and"
    " what the experiment has where that is something else. An interface has several rows if these"
    " differ between trials."
)


def build(data: ReportData) -> Section | None:
    """Means of every point and figures of the trial with the busiest processor."""
    accounts = [each for each in data.accounts if each.machines]
    if not accounts:
        return None
    columns = PointColumns(accounts)
    rows = [
        [*columns.cells(group[0]), *_cells(mean_machine(of))]
        for group in by_point(accounts)
        for of in alike(
            (machine for each in group for machine in each.machines), lambda machine: machine.hosts
        )
    ]
    blocks: list[Block] = [Text(LEAD, "lead"), columns.table(_HEAD, rows, "Hosts")]
    figures = _figures(accounts, data, columns)
    blocks += [*figures, *_interfaces(accounts)]
    return Section("hosts", "Hosts", "Hosts during the test", blocks)


def _interfaces(accounts: Sequence[Account]) -> list[Block]:
    """Tabulate PLCA of the interfaces of all trials, equal rows once; nothing where none has it."""
    rows = dict.fromkeys(
        (
            found.host,
            found.interface,
            *(_setting(found, name) for name in NAMES_OF_PLCA),
            plca_status(found.plca),
        )
        for account in accounts
        for found in account.interfaces
    )
    if not rows:
        return []
    head = ["Host", "Interface", *NAMES_OF_PLCA, "Status"]
    return [
        Heading("PLCA of interfaces"),
        Text(PLCA_LEAD, "lead"),
        Table(head, [list(row) for row in sorted(rows)], "PLCA", "data names2", 2),
    ]


def _setting(found: Found, name: str) -> str:
    text = found.settings.get(name, "–")
    wanted = found.differs.get(name)
    return text if wanted is None else f"{text} (experiment: {wanted})"


def _cells(machine: Machine) -> list[str]:
    at, busy = machine.busiest
    return [
        _named(machine),
        *(percent(of) for of in machine.shares.values()),
        f"{at}: {percent(busy)}",
        value(machine.context_switches),
        value(machine.interrupts),
        value(machine.soft_interrupts),
        f"{machine.memory_least_octets / 1e6:,.0f}",
        value(machine.backlog_dropped),
        percent(machine.looking),
    ]


def _named(machine: Machine) -> str:
    """Names of the hosts on a machine, as many as one can read."""
    most = 3
    return (
        ", ".join(machine.hosts)
        if len(machine.hosts) <= most
        else f"{len(machine.hosts)} hosts, {machine.hosts[0]} among them"
    )


def _figures(accounts: Sequence[Account], data: ReportData, columns: PointColumns) -> list[Block]:
    chosen = max(accounts, key=lambda each: max(machine.busiest[1] for machine in each.machines))
    result = data.result(chosen.trial)
    busiest = sorted(chosen.machines, key=lambda machine: -machine.busiest[1])[:MOST_MACHINES]
    figures = [figure for machine in busiest for figure in _machine_figures(machine, result)]
    where = columns.description(chosen)
    at = f" ({where})" if where else ""
    lead = f"Trial {chosen.trial}{at}: the one with the busiest processor."
    return [Heading("A trial over time"), Text(lead, "lead"), Grid(figures)]


def _machine_figures(machine: Machine, result: Result) -> list[Figure]:
    of, window_s = _named(machine), window_of(result)
    bars = {
        str(at): {NAMES[kind]: share for kind, share in shares.items()}
        for at, shares in enumerate(machine.processors)
    }
    drawn = Figure(
        stacks(bars, Label("Share of its time", "%", 100.0), title="Processor", most=100.0),
        title=f"Processors in the measured window: {of}",
        text="What is missing to 100% they were idle.",
    )
    course = hosts.course(result, machine.hosts[0])
    if course is None:
        return [drawn]
    shares = {NAMES[kind]: course.shares[kind] for kind in hosts.KINDS}
    shown = "The measured window is between the dashed lines."
    over = Figure(
        shares_over_time(course.at_s, shares, SHARE, window_s=window_s),
        title=f"Processors over time: {of}",
        text=f"Mean over the processors, in steps of {_step_ms(course.at_s):.0f} ms. {shown}",
    )
    events = [
        ("context switches", course.at_s, course.context_switches),
        ("interrupts", course.at_s, course.interrupts),
    ]
    switches = Figure(
        over_time(events, EVENTS, window_s=window_s),
        title=f"Context switches and interrupts: {of}",
        text="The measured window is shaded.",
    )
    memory = Figure(
        over_time([("memory", course.at_s, course.memory_octets)], MEMORY, window_s=window_s),
        title=f"Memory that programs could have: {of}",
        text="The measured window is shaded.",
    )
    return [over, drawn, switches, memory]


def _step_ms(at_s: "np.ndarray[Any, np.dtype[np.float64]]") -> float:
    return float(np.median(np.diff(at_s))) * 1e3 if at_s.size > 1 else 0.0
