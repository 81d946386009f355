"""Losses: what is missing of the streams of a measured run, and where it was lost."""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from ethermeter.analysis.accounts import Account, by_point
from ethermeter.analysis.losses import PLACES, Drops, Loss, drops_together, total
from ethermeter.document import Block, Figure, Heading, Label, Section, Text
from ethermeter.report.data import ReportData
from ethermeter.report.plots import stacks
from ethermeter.report.sections.agent_results import PointColumns, percent
from ethermeter.results.trials import alike

NAMES = {
    "sender-queue": "sender’s queue",
    "sender-interface": "sender’s interface",
    "network": "wire",
    "switch": "switch",
    "receiver-interface": "receiver’s interface",
    "socket": "receiver’s socket",
}
UNEXPLAINED, EXCESS, UNKNOWN = "unexplained", "excess", "unknown"
SHARE = Label("Share of what was sent", "%", 100.0, most=100.0, least=0.0)
MOST_BARS = 16
"""Flows, or points, that are drawn: those that lost most."""
_DROPS_HEAD = ("At", "Towards", "Frames dropped", "by", "Missing of streams that pass")
_HEAD = ("Flow", "Sent", "Missing", "of sent", *NAMES.values(), UNEXPLAINED, EXCESS)
Row = tuple[Account, Loss]
"""A point, and what became of a flow on the way to a receiver there, all replications together."""


LEAD = Markup(
    "Streams only, over the whole transmission, all replications together. What counters on the "
    "path saw stands by where they are; <em>unexplained</em> is what no counter saw. A host’s "
    "counters are those of all its flows: drops beyond what is missing are <em>excess</em>: "
    "another flow’s, counted twice, or refused by a queue and sent again. Missing is the sum of "
    "all columns and the unexplained, less the excess. Where the excess is larger, figures have "
    "<em>unknown</em> for all that is missing. {}"
)


def build(data: ReportData) -> Section | None:
    """Where messages of every flow were lost; None if there are none."""
    accounts = [each for each in data.accounts if each.losses]
    if not accounts:
        return None
    columns = PointColumns(accounts)
    points = [(group[0], _flows(group)) for group in by_point(accounts)]
    rows = [(account, loss) for account, found in points for loss in found]
    blocks: list[Block] = [Text(LEAD.format(_of_switches(accounts)), "lead")]
    if any(loss.missing for _, loss in rows):
        blocks += _figures(points, columns)
    else:
        sent = sum(loss.sent for _, loss in rows)
        blocks.append(Text(f"Nothing is missing of {sent:,.0f} messages."))
    lost = [(account, loss) for account, loss in rows if loss.missing or loss.excess]
    if 0 < len(lost) < len(rows):
        counts = f"Of {len(rows)} flows and points, {len(lost)} lost something"
        blocks.append(Text(f"{counts}; the others are left out."))
    if lost:
        blocks.append(columns.table(_HEAD, [_row(*row, columns) for row in lost], "Losses"))
    dropped: list[tuple[Account, Drops]] = []
    for group in by_point(accounts):
        drops = alike(
            (of for each in group for of in each.drops), lambda of: (of.place, of.at, of.towards)
        )
        dropped += [(group[0], drops_together(of)) for of in drops]
    if dropped:
        drops_rows = [_drops_row(*row, columns) for row in dropped]
        table = columns.table(_DROPS_HEAD, drops_rows, "Drops between hosts", headers=2)
        blocks += [Heading("Where frames were dropped between hosts"), table]
    return Section("losses", "Losses", "Where messages were lost", blocks)


def _of_switches(accounts: Sequence[Account]) -> str:
    """Say what is known of what lies between the hosts."""
    unread = sorted({each.unread for each in accounts if each.unread})
    if unread:
        return f"In some trials the counters of switches could not be read: {'; '.join(unread)}."
    if any(each.reads_switches for each in accounts):
        return Markup(
            "At <em>switch</em> stands what the queues and interfaces of a testbed’s switches and "
            "routers dropped at the ports on a flow’s path, at <em>wire</em> what relayed wires "
            "did, of frames of any flow: flows that share a port have the same drops. Where ports "
            "dropped exactly as many frames as the streams that pass them miss, these were dropped "
            "there, and figures show nothing else."
        )
    return "Drops of switches between the hosts are not known."


def _drops_row(account: Account, of: Drops, columns: PointColumns) -> list[str]:
    return [
        *columns.cells(account),
        f"port of {of.at}" if of.place == "switch" else f"{NAMES[of.place]} from {of.at}",
        of.towards,
        f"{of.frames:,.0f}",
        ", ".join(f"{cause.replace('_', ' ')} {count:,.0f}" for cause, count in of.dropped.items()),
        f"{of.missing:,.0f}",
    ]


def _flows(group: Sequence[Account]) -> list[Loss]:
    """Every flow of a point at each receiver, all replications together."""
    losses = alike(
        (loss for each in group for loss in each.losses), lambda loss: (loss.flow, loss.receiver)
    )
    return [total(of, flow=of[0].flow, receiver=of[0].receiver) for of in losses]


def _figures(points: Sequence[tuple[Account, list[Loss]]], columns: PointColumns) -> list[Block]:
    """Draw all flows together at every point, and the flows of the point with most losses."""
    wholes = [(account, total(found, flow="", receiver="")) for account, found in points]
    chosen, flows = max(points, key=lambda point: _share(total(point[1], flow="", receiver="")))
    drawn: list[Block] = []
    if len(wholes) > 1:
        worst = sorted(wholes, key=lambda row: -_share(row[1]))[:MOST_BARS]
        shown = [
            row
            for row in wholes
            if any(row is of for of in worst) and (row[1].missing or row[1].excess)
        ]
        bars = {columns.short(account) or account.trial: _shares(loss) for account, loss in shown}
        less = (
            f" The {MOST_BARS} that lost most."
            if len(wholes) > MOST_BARS
            else " Points that lost nothing are left out."
        )
        drawn.append(
            Figure(
                stacks(bars, SHARE, title=""),
                title="Where messages were lost, by point",
                text=f"All flows.{less}",
            )
        )
    several = len({loss.receiver for loss in flows}) > 1 and len(
        {loss.flow for loss in flows}
    ) < len(flows)
    worst_flows = sorted(flows, key=lambda loss: -_share(loss))[:MOST_BARS]
    if len(flows) > 1 or len(wholes) == 1:
        bars = {
            (f"{loss.flow} at {loss.receiver}" if several else loss.flow): _shares(loss)
            for loss in flows
            if loss in worst_flows
        }
        where = columns.description(chosen)
        drawn.append(
            Figure(
                stacks(bars, SHARE, title="Flow"),
                title="Where messages were lost, by flow",
                text=(f"{where}: the point that lost most." if where else "")
                + " Excess stands below zero.",
            )
        )
    return drawn


def _share(loss: Loss) -> float:
    return loss.missing / loss.sent if loss.sent else 0.0


def _shares(loss: Loss) -> dict[str, float]:
    """Shares of what was sent by where it went; the excess is below zero.

    With more excess than losses, counters do not show it, unless ports dropped exactly what the
    streams that pass them miss.
    """
    sent = max(loss.sent, 1.0)
    if loss.missing and loss.at_switches == loss.missing:
        loss = replace(loss, places={"switch": loss.missing}, unexplained=0.0, excess=0.0)
    is_known = loss.excess <= loss.missing
    found = {
        NAMES[place]: loss.places.get(place, 0.0) / sent if is_known else 0.0 for place in PLACES
    }
    found[UNEXPLAINED] = loss.unexplained / sent if is_known else 0.0
    found[EXCESS] = -loss.excess / sent if is_known else 0.0
    return {**found, UNKNOWN: 0.0 if is_known else loss.missing / sent}


def _row(account: Account, loss: Loss, columns: PointColumns) -> list[str]:
    return [
        *columns.cells(account),
        f"{loss.flow} to {loss.receiver}",
        f"{loss.sent:,.0f}",
        f"{loss.missing:,.0f}",
        percent(_share(loss)),
        *(f"{loss.places.get(place, 0.0):,.0f}" for place in PLACES),
        f"{loss.unexplained:,.0f}",
        f"{loss.excess:,.0f}",
    ]
