"""Bus: what the settings of a bus of 10BASE-T1S do."""

import math
from collections.abc import Iterator, Mapping, Sequence

from ethermeter.analysis.buses import FRAMES, LENGTH, Buses, InterfaceBus, SingleBus
from ethermeter.blocks import Code, Heading, Table, Text
from ethermeter.quantities import UNDEFINED
from ethermeter.theory.bus_advice import PS_PER_S, Advice, Bursts, NodeDelays, ranges

Block = Code | Heading | Table | Text

PS_PER_US = 1e6
QUEUE, ATTEMPT = "access, from the head of the queue", "access, from the first attempt"
"""Access delays, by when they begin."""
ACCESS_DELAY = (
    "An access delay ends when the frame begins on the line; it runs from the first attempt of the "
    "MAC, or from the moment in which the frame is the first of its queue and the one before has "
    "left the line."
)

FLOW_BOUND = (
    "The bound of a flow’s delay, of network calculus, is another time: from the message’s arrival "
    "at its source to its last bit at the receiver. It adds the frames ahead in the node’s queue "
    "and the frame itself, and counts of the other nodes only what their flows offer."
)


def buses(found: SingleBus | Buses) -> Iterator[Block]:
    """Lay out the bus of an experiment, or those of a network by segment."""
    if where := at_first_point(found.point):
        yield Text(f"{where}:")
    if isinstance(found, SingleBus):
        yield from _bus(found)
        return
    for name, advice in found.segments.items():
        yield Heading(f"segment {name}")
        yield from _bus(advice)


def interface(found: InterfaceBus) -> Iterator[Block]:
    """Lay out what the PHY of an interface has, and what it does to a bus of such nodes."""
    yield Code(written(found.plca))
    yield Text(f"status: {found.status}")
    for text in found.warnings:
        yield Text(f"warning: {text}")
    if found.bus is not None:
        yield Heading(
            f"If all nodes of a bus of {LENGTH} have these settings and send frames of {FRAMES}"
        )
        yield from _bus(found.bus)


def written(plca: Mapping[str, bool | int]) -> str:
    """Return settings as the table of a file has them, on one line, as TOML must have it."""
    keys = ", ".join(f"{key} = {value}" for key, value in plca.items())
    return f"plca = {{ {keys.replace('True', 'true').replace('False', 'false')} }}"


def at_first_point(point: Mapping[str, str]) -> str:
    """Say at which point of an experiment buses are, the first; empty if it has one only."""
    at = ", ".join(f"{key} = {value}" for key, value in point.items())
    return f"At the first point ({at})" if at else ""


def facts(found: Advice) -> list[tuple[str, str]]:
    """Return the numbers of a bus, by name."""
    longest_s = found.longest_cycle_s
    phys = "with these PHYs" if found.has_latencies else "with PHYs without latencies (segment.phy)"
    return [
        ("Opportunities in a cycle", str(found.node_count)),
        ("Empty cycle", f"{us(found.empty_cycle_s)} µs"),
        ("Longest cycle", "no bound" if longest_s is None else f"{us(longest_s)} µs"),
        ("Smallest safe to-tmr", f"{found.least_to_tmr_bits} bit times {phys}"),
    ]


def nodes(found: Sequence[NodeDelays]) -> Table:
    """Tabulate the longest times of nodes that are alike, in µs."""
    rows = [
        [
            each.group,
            ids(each),
            us(each.longest_opportunity_s),
            us(each.attempt_delay_max_s),
            us(each.access_delay_max_s),
            us(each.attempt_delay_max_with_two_ids_s),
        ]
        for each in found
    ]
    head = (
        "group",
        "node-id",
        "opportunity (µs)",
        "access from first attempt (µs)",
        "from queue (µs)",
        "from first attempt, with a second ID (µs)",
    )
    return Table(head, rows, "Longest times of nodes", "data names2", 2)


def bursts(found: Sequence[Bursts]) -> Table:
    """Tabulate the effect of `burst-cnt` at all nodes, times in µs."""
    rows = [
        [
            str(each.burst_cnt),
            us(each.longest_cycle_s),
            us(each.attempt_delay_max_s),
            us(each.access_delay_max_s),
            f"{each.data_share:.3f}",
        ]
        for each in found
    ]
    head = (
        "burst-cnt",
        "longest cycle (µs)",
        "longest access from first attempt (µs)",
        "from queue (µs)",
        "share of data",
    )
    caption = "The same bus with another burst-cnt at all nodes"
    return Table(head, rows, caption)


def ids(found: NodeDelays) -> str:
    """Write the node IDs of nodes that are alike."""
    return ranges([id for each in found.node_ids for id in each])


def us(time_s: float | None) -> str:
    """Write a time in µs, without its unit; a dash without a bound."""
    if time_s is None or not math.isfinite(time_s):
        return UNDEFINED
    # Times are whole picoseconds; what is half a digit is rounded as these are.
    return f"{round(time_s * PS_PER_S) / PS_PER_US:.1f}"


def _bus(found: Advice) -> Iterator[Block]:
    for name, text in facts(found):
        yield Text(f"{name}: {text}")
    for table in (nodes(found.nodes), bursts(found.bursts)):
        if table.rows:
            yield Heading(table.caption)
            yield table
    if found.nodes:
        yield Text(f"{ACCESS_DELAY} {FLOW_BOUND}")
    if found.warnings:
        yield Text("")
    for text in found.warnings:
        yield Text(f"warning: {text}")
