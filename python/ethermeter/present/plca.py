"""PLCA: what the settings of a bus of 10BASE-T1S do."""

from collections.abc import Iterator, Mapping, Sequence

from ethermeter.blocks import Code, Heading, Table, Text
from ethermeter.live_reports import PlcaFacts
from ethermeter.report.bus_page import bursts_table, nodes_table
from ethermeter.theory.bus_advice import Advice

Block = Code | Heading | Table | Text

PS_PER_US = 1e6


def buses(where: str, found: Mapping[str, Advice], *, has_names: bool) -> Iterator[Block]:
    """Lay out buses by segment.

    Parameters
    ----------
    where
        At which point of an experiment; empty if it has one only.
    found
        What is known of each bus.
    has_names
        Whether segments have names.

    """
    if where:
        yield Text(f"{where}:")
    for name, advice in found.items():
        if has_names:
            yield Heading(f"segment {name}")
        yield from _bus(advice)


def interface(
    written: str,
    plca: PlcaFacts,
    warnings: Sequence[str],
    *,
    assumed: str,
    bus: Advice | None,
) -> Iterator[Block]:
    """Lay out what the PHY of an interface has, and what it does to a bus of such nodes.

    Parameters
    ----------
    written
        The settings as the table of a file, on one line, as TOML must have it.
    plca
        What the PHY reports.
    warnings
        What keeps the node from its turns, or what no bus can have.
    assumed
        What is supposed of the rest of the bus.
    bus
        What is known of that bus; None if it cannot be.

    """
    from ethermeter.store.result import plca_status

    yield Code(written)
    yield Text(f"status: {plca_status(plca)}")
    for text in warnings:
        yield Text(f"warning: {text}")
    if bus is not None:
        yield Heading(assumed)
        yield from _bus(bus)


def _bus(found: Advice) -> Iterator[Block]:
    bus = found.bus
    longest = f"{bus.longest_ps / PS_PER_US:g} µs" if bus.is_bounded else "not bounded"
    yield Text(
        f"{bus.node_count} opportunities in a cycle: empty {bus.empty_ps / PS_PER_US:g} µs,"
        f" longest {longest}"
    )
    phys = "these PHYs" if bus.plca.transmit_ps else "PHYs without latencies (see segment.phy)"
    yield Text(f"smallest safe to-tmr: {bus.least_opportunity_bits} bit times with {phys}")
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
