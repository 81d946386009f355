"""Pacing: how late messages of a measured run left, and how clocks are related."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from ethermeter.analysis.accounts import Account, by_point
from ethermeter.analysis.pacing import Clock, Pacing, together
from ethermeter.document import Block, Figure, Heading, Label, Section, Text
from ethermeter.report.data import ReportData
from ethermeter.report.plots import stacks
from ethermeter.report.sections.agent_results import PointColumns, percent, value
from ethermeter.results.trials import alike

LATE = (
    ("within 5 µs", 5e-6),
    ("within 50 µs", 50e-6),
    ("within 500 µs", 500e-6),
    ("later", float("inf")),
)
"""Classes of lateness, and how late they are at most."""
SHARE = Label("Share of the messages", "%", 100.0)
MOST_BARS = 16
_PACING = (
    "Flow",
    "Messages",
    "Within 5 µs",
    "Median late (µs)",
    "99%",
    "99.9%",
    "Latest",
    "Rests",
    "Real-time priority",
)
_CLOCKS = (
    "Flow",
    "Sender’s clock ahead (µs)",
    "± at most",
    "Drift (ppm)",
    "± at most",
    "Any delay wrong by (µs) at most",
    "Contradictions",
)


PACING = Markup(
    "How late messages left that had a time, by the sender’s own clock, all replications together; "
    "quantiles are ends of buckets narrower than 0.8%. <em>Rests</em> are those of a sender at "
    "real-time priority that was always late. Hosts of one machine neither spin nor ask for that "
    "priority, except on an emulated segment."
)
CLOCKS = (
    "How far a sender’s clock was ahead of its receiver’s in the middle of the measured window, "
    "and what it gained, each with the most that it is wrong by. Of several replications the last, "
    "with the largest bounds of all. A dash: nothing is known."
)


def build(data: ReportData) -> Section | None:
    """Show the pacing of every flow and the relations of clocks; None if there are none."""
    accounts = [each for each in data.accounts if each.pacings or each.clocks]
    if not accounts:
        return None
    columns = PointColumns(accounts)
    blocks = [*_pacing(accounts, columns), *_clocks(accounts, columns)]
    return Section("pacing", "Pacing and clocks", "Pacing and clocks", blocks)


def _pacing(accounts: Sequence[Account], columns: PointColumns) -> list[Block]:
    found = [
        (group[0], together(of))
        for group in by_point(accounts)
        for of in alike(
            (pacing for each in group for pacing in each.pacings), lambda pacing: pacing.flow
        )
    ]
    if not found:
        return [Text("No sender had times to keep: saturated sources send when they can.")]
    worst = sorted(found, key=lambda row: row[1].on_time)[:MOST_BARS]
    bars = {
        _named(account, pacing, columns): _classes(pacing)
        for account, pacing in found
        if any(pacing is of for _, of in worst)
    }
    less = (
        f"The {MOST_BARS} flows and points that were least on time."
        if len(found) > MOST_BARS
        else "Every flow at every point."
    )
    chart = stacks(bars, SHARE, title="", most=100.0)
    rows = [[*columns.cells(account), *_pacing_cells(pacing)] for account, pacing in found]
    return [
        Text(PACING, "lead"),
        Figure(chart, "How late messages left", less),
        columns.table(_PACING, rows, "Pacing"),
    ]


def _named(account: Account, pacing: Pacing, columns: PointColumns) -> str:
    where = columns.short(account)
    return f"{pacing.flow}, {where}" if where else pacing.flow


def _classes(pacing: Pacing) -> dict[str, float]:
    """Shares of the messages by how late they were.

    The share on time is exact; buckets lie where their ends do.
    """
    shares: dict[str, float] = {}
    below = 0.0
    total = max(sum(count for _, _, count in pacing.buckets), 1)
    for name, most_s in LATE:
        until = (
            sum(count for _, high_ps, count in pacing.buckets if high_ps * 1e-12 <= most_s) / total
        )
        until = pacing.on_time if name == LATE[0][0] else max(until, below)
        shares[name] = until - below
        below = until
    return shares


def _pacing_cells(pacing: Pacing) -> list[str]:
    real_time = {True: "yes", False: "refused", None: "not requested"}
    return [
        pacing.flow,
        f"{pacing.messages:,}",
        percent(pacing.on_time),
        *(value(pacing.quantile_s(rank), 1e6) for rank in (0.5, 0.99, 0.999)),
        value(pacing.worst_s, 1e6),
        f"{pacing.forced_sleeps:,}",
        real_time[pacing.is_real_time],
    ]


def _clocks(accounts: Sequence[Account], columns: PointColumns) -> list[Block]:
    groups = [
        (group[0], of)
        for group in by_point(accounts)
        for of in alike(
            (clock for each in group for clock in each.clocks),
            lambda clock: (clock.flow, clock.receiver),
        )
    ]
    if not groups:
        return []
    compared = [(account, of) for account, of in groups if not all(clock.is_shared for clock in of)]
    if not compared:
        return [Heading("Clocks"), Text("Sender and receiver of every stream have one clock.")]
    rows = [[*columns.cells(account), *_clock_cells(of)] for account, of in compared]
    table = columns.table(_CLOCKS, rows, "Clocks")
    return [Heading("Clocks"), Text(CLOCKS, "lead"), table]


def _clock_cells(of: Sequence[Clock]) -> list[str]:
    last: Any = of[-1]

    def most(name: str) -> float:
        values = [getattr(clock, name) for clock in of]
        # What is not known of one replication is known of none.
        return float("nan") if any(bound != bound for bound in values) else max(values)

    return [
        f"{last.flow} to {last.receiver}",
        value(last.ahead_s, 1e6),
        value(most("ahead_bound_s"), 1e6),
        value(last.drift, 1e6),
        value(most("drift_bound"), 1e6),
        value(most("delay_bound_s"), 1e6),
        value(sum(clock.contradictions for clock in of)),
    ]
