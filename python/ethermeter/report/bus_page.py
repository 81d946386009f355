"""Bus page: what the settings of a bus of 10BASE-T1S do, before anything is simulated."""

from collections.abc import Mapping

from markupsafe import Markup

from ethermeter.chart import Trace
from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Label,
    Section,
    Text,
    number,
)
from ethermeter.present.bus import (
    ACCESS_DELAY,
    ATTEMPT,
    FLOW_BOUND,
    QUEUE,
    at_first_point,
    bursts,
    facts,
    ids,
    nodes,
    us,
)
from ethermeter.report.plots import annotated, turns
from ethermeter.report.render import Page
from ethermeter.theory.bus_advice import Advice

MOST_NODES = 40
"""Rows of the figure of nodes."""
TIME = Label("Longest time", "µs", 1e6)
TIME_OF_BURSTS = Label("Longest time", "ms", 1e3)
BURSTS = Label("burst-cnt of all nodes")
SHARE = Label("Share of data in the longest cycle", "%", 100.0, most=100.0)
TWO_IDS = "the same with a second ID"
CYCLE = "longest cycle"
EMPTY = "empty cycle"
DEFINITIONS = (
    f"No access delay and no cycle is longer, whatever the nodes send. {ACCESS_DELAY} The longest "
    "cycle is no bound of access delays: a node may let an opportunity pass while its MAC backs "
    f"off. {FLOW_BOUND}"
)


def bus_page(title: str, point: Mapping[str, str], found: Mapping[str, Advice]) -> Page:
    """Return the page of buses, by segment, at a point of an experiment."""
    where = at_first_point(point)
    sections: list[Section] = []
    numbers: list[tuple[str, str]] = []
    findings: list[str] = []
    warnings: list[str] = []
    for at, (name, advice) in enumerate(found.items()):
        of, by = (f" of {name}", f"{name}: ") if len(found) > 1 else ("", "")
        sections += _sections(advice, where, of, f"-{at}" if at else "")
        numbers += [(f"{title}{of}", text) for title, text in facts(advice)]
        findings += [Markup("{}{}").format(by, text) for text in _findings(advice)]
        warnings += [f"{by}{text}" for text in advice.warnings]
    footer = "Bounds by the model plca-2019; nothing was simulated. This file works offline."
    return Page(
        title,
        "ethermeter bus",
        sections,
        footer,
        numbers,
        findings=findings,
        warnings=warnings,
    )


def _sections(found: Advice, where: str, of: str, suffix: str) -> list[Section]:
    """Return the sections of a bus; `of` and `suffix` end their titles and anchors."""
    blocks: list[Block] = [Text(f"{where}: {DEFINITIONS}" if where else DEFINITIONS, "lead")]
    if found.longest_cycle_s is not None and found.nodes:
        blocks.append(_nodes_figure(found, found.longest_cycle_s))
    if found.nodes:
        blocks.append(nodes(found.nodes))
    section = Section(f"nodes{suffix}", f"Nodes{of}", f"Longest times of nodes{of}", blocks)
    if not found.bursts:
        return [section]
    figures: list[Block] = [Grid(_burst_figures(found)), bursts(found.bursts)]
    title = f"The effect of burst-cnt{of}"
    return [section, Section(f"bursts{suffix}", f"Bursts{of}", title, figures)]


def _findings(found: Advice) -> list[str]:
    """Say how long cycles and access delays are at most, and how much bursts carry."""
    if found.longest_cycle_s is None:
        return ["Cycles have no bound: see the warnings."]
    texts: list[str] = [
        Markup("A cycle takes <strong>{} µs</strong> when nobody sends, and at most {} µs.").format(
            us(found.empty_cycle_s), us(found.longest_cycle_s)
        )
    ]
    known = [each for each in found.nodes if each.access_delay_max_s is not None]
    if known:
        worst = max(known, key=lambda each: each.access_delay_max_s or 0)
        texts.append(
            Markup(
                "The longest access delay is that of {} (node-id {}): <strong>{} µs</strong> from"
                " the head of the queue, {} µs from the first attempt."
            ).format(
                worst.group,
                ids(worst),
                us(worst.access_delay_max_s),
                us(worst.attempt_delay_max_s),
            )
        )
    if len(found.bursts) > 1:
        none, most = found.bursts[0], found.bursts[-1]
        texts.append(
            f"With burst-cnt {most.burst_cnt} instead of {none.burst_cnt} at all nodes, data take"
            f" {most.data_share:.1%} instead of {none.data_share:.1%} of the longest cycle, which"
            f" grows from {us(none.longest_cycle_s)} µs to {us(most.longest_cycle_s)} µs."
        )
    return texts


def _nodes_figure(found: Advice, longest_s: float) -> Figure:
    times = {
        f"{each.group} ({ids(each)})": {
            name: time_s
            for name, time_s in (
                (QUEUE, each.access_delay_max_s),
                (ATTEMPT, each.attempt_delay_max_s),
                (TWO_IDS, each.attempt_delay_max_with_two_ids_s),
            )
            if time_s is not None
        }
        for each in found.nodes[:MOST_NODES]
    }
    left_out = len(found.nodes) - len(times)
    text = f" The first {len(times)} of {len(found.nodes)} kinds of nodes." if left_out else ""
    cycles = {EMPTY: found.empty_cycle_s, CYCLE: longest_s}
    return Figure(
        turns(times, cycles, TIME),
        "Longest access delays of nodes, by their node-id",
        f"Dashed: cycles in which no node sends, and all send all that they may.{text}",
        kind="roofline",
    )


def _burst_figures(found: Advice) -> list[Figure]:
    times = [
        Trace(
            name,
            [(each.burst_cnt, s) for each, s in zip(found.bursts, values, strict=True)],
        )
        for name, values in (
            (QUEUE, [each.access_delay_max_s for each in found.bursts]),
            (ATTEMPT, [each.attempt_delay_max_s for each in found.bursts]),
            (CYCLE, [each.longest_cycle_s for each in found.bursts]),
        )
    ]
    shares = [(each.burst_cnt, each.data_share) for each in found.bursts]
    none = number(found.bursts[0].data_share * 100)
    most = number(found.bursts[-1].data_share * 100)
    return [
        Figure(
            annotated(times, (), BURSTS, TIME_OF_BURSTS, "longest"),
            "Longest times",
            "Of all nodes the longest: each waits for the bursts of all others.",
        ),
        Figure(
            annotated([Trace("of all nodes", shares)], (), BURSTS, SHARE, "frames"),
            "Share of data",
            f"Frames with preambles, where every node sends all that it may: {none}% without "
            f"bursts, {most}% with {found.bursts[-1].burst_cnt}. The gap of 96 bits before each "
            "stays.",
        ),
    ]
