"""The command that says what the settings of a bus of 10BASE-T1S do."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ethermeter.api.bus import BusOptions, bus
from ethermeter.cli.command import Command, Values

if TYPE_CHECKING:
    from ethermeter.analysis.buses import Buses, InterfaceBus, SingleBus
    from ethermeter.theory.bus_advice import Advice

    Found = SingleBus | Buses | InterfaceBus

EXAMPLES = """\
  ethermeter bus 10base-t1s/sensor-bus
  ethermeter bus my-bus.toml --set segment.plca.burst-cnt=2
  ethermeter bus my-bus.toml --figure my-bus.html
  ethermeter bus 10base-t1s/zone-gateway
  ethermeter bus --interface eth1
  ethermeter bus my-bus.toml --json"""


def blocks(found: "Found", options: BusOptions) -> Iterator[object]:
    """Yield what a terminal shows of buses."""
    from ethermeter.analysis.buses import InterfaceBus
    from ethermeter.blocks import Code
    from ethermeter.present.bus import buses, interface

    if isinstance(found, InterfaceBus):
        yield from interface(found)
        return
    yield from buses(found)
    if options.figure is not None:
        yield Code(str(options.figure))


def _segments(found: "Found") -> "Mapping[str, Advice]":
    from ethermeter.analysis.buses import Buses, InterfaceBus

    if isinstance(found, InterfaceBus):
        return {} if found.bus is None else {found.interface: found.bus}
    return found.segments if isinstance(found, Buses) else {"segment": found}


def rows(found: "Found") -> Iterator[dict[str, object]]:
    """Yield a row for nodes of each bus that are alike: their node IDs, and their bounds."""
    from ethermeter.cli.output import row

    for name, advice in _segments(found).items():
        for nodes in advice.nodes:
            ids = [id for each in nodes.node_ids for id in each]
            yield {"segment": name, **row(nodes), "node_ids": ids}


def _values(found: "Found") -> Iterator[dict[str, object]]:
    """Yield the cycles of each bus, and the bounds of its nodes."""
    from ethermeter.cli.output import row

    for name, advice in _segments(found).items():
        yield {"segment": name, **row(advice)}
    yield from rows(found)


COMMAND = Command(
    bus, EXAMPLES, blocks=blocks, rows=rows, values=Values(_values, ("segment", "group"))
)
