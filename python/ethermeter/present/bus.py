"""Bus: what the settings of a bus of 10BASE-T1S do."""

from collections.abc import Iterator, Mapping

from ethermeter.api.bus_interface import ASSUMED
from ethermeter.api.buses import Buses, InterfaceBus, SingleBus
from ethermeter.blocks import Code, Heading, Table, Text
from ethermeter.report.bus_page import at_first_point, bursts_table, nodes_table
from ethermeter.theory.bus_advice import Advice

Block = Code | Heading | Table | Text

US_PER_S = 1e6


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
        yield Heading(ASSUMED)
        yield from _bus(found.bus)


def written(plca: Mapping[str, bool | int]) -> str:
    """Return settings as the table of a file has them, on one line, as TOML must have it."""
    keys = ", ".join(f"{key} = {value}" for key, value in plca.items())
    return f"plca = {{ {keys.replace('True', 'true').replace('False', 'false')} }}"


def _bus(found: Advice) -> Iterator[Block]:
    longest_s = found.longest_cycle_s
    longest = "not bounded" if longest_s is None else f"{longest_s * US_PER_S:g} µs"
    yield Text(
        f"{found.node_count} opportunities in a cycle: empty {found.empty_cycle_s * US_PER_S:g} µs,"
        f" longest {longest}"
    )
    phys = "these PHYs" if found.has_latencies else "PHYs without latencies (see segment.phy)"
    yield Text(f"smallest safe to-tmr: {found.least_to_tmr_bits} bit times with {phys}")
    tables = [nodes_table(found.nodes)] if found.nodes else []
    tables += [bursts_table(found)] if found.bursts else []
    for table in tables:
        yield Heading(table.caption)
        # In a narrow terminal, parts of a table repeat its first column only.
        yield Table(table.head, table.rows, table.caption)
    if found.warnings:
        yield Text("")
    for text in found.warnings:
        yield Text(f"warning: {text}")
