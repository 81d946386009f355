"""What an interface of this host has of PLCA, as an experiment file has it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.faults import InputError
from ethermeter.live_reports import PlcaFacts

if TYPE_CHECKING:
    from ethermeter.theory.bus_advice import Advice

_KEYS = ("enable", "node_id", "node_cnt", "to_tmr", "burst_cnt", "burst_tmr")
_NO_ID = 255
"""`node-id` of a PHY without one (802.3-2022 30.16.1.1.4)."""


@dataclass(frozen=True)
class InterfacePlca:
    """PLCA of an interface."""

    name: str
    plca: PlcaFacts

    @property
    def table(self) -> dict[str, bool | int]:
        """The table `plca` of a file, with what the PHY reports; without an ID if it has none."""
        found = {key.replace("_", "-"): getattr(self.plca, key) for key in _KEYS}
        if found["node-id"] == _NO_ID:
            del found["node-id"]
        return {key: value for key, value in found.items() if value is not None}

    def warnings(self) -> Iterator[str]:
        """Yield what keeps the node from its turns."""
        plca = self.plca
        if plca.enable is False:
            yield "PLCA is off: the node contends by CSMA/CD"
        elif plca.is_ok is False:
            yield "no beacons: no coordinator, node-id 0, is on the bus, or it is not heard"
        if plca.node_id == _NO_ID:
            yield f"node-id {_NO_ID}: the node has no ID, and no turn"
        elif plca.node_id and plca.node_cnt and plca.node_id >= plca.node_cnt:
            yield (
                f"node-id {plca.node_id} has no turn in a cycle of {plca.node_cnt}, unless the"
                " coordinator has another node-cnt"
            )

    def bus(self) -> "Advice | None":
        """Return what is known of a bus whose nodes all have these settings, and send `FRAMES`.

        It is of `LENGTH`. None of a node without the settings of a bus.

        Raises InputError if no bus can have them.
        """
        from ethermeter.analysis.buses import FRAMES, LENGTH
        from ethermeter.experiment.reading import of_document
        from ethermeter.theory.bus_advice import advice

        settings = {key: value for key, value in self.table.items() if key != "node-id"}
        if not settings.get("enable") or not settings.get("node-cnt"):
            return None
        station = {"name": "node", "count": settings["node-cnt"], "frames": FRAMES}
        document = {
            "title": self.name,
            "segment": {"standard": "10base-t1s", "length": LENGTH, "plca": settings},
            "stations": [{**station, "arrivals": {"regular": "1 ms"}}],
            "phases": {"settle": "1 ms", "transmit": "10 ms", "measure": "last 5 ms"},
        }
        (found,) = advice(of_document(document, Path(self.name)).scenarios.at([])).values()
        return found


def plca_of(name: str) -> InterfacePlca:
    """Read PLCA of an interface of this host.

    Raises InputError if there is no such interface, or it has none.
    """
    import msgspec

    from ethermeter import _core

    try:
        text = _core.interface_plca(name)
    except (OSError, ValueError) as error:
        raise InputError.of("this host", "interface", name, str(error)) from None
    if text is None:
        allowed = "expected an interface of 10BASE-T1S: its driver, or this kernel, has no PLCA"
        raise InputError.of("this host", "interface", name, allowed)
    return InterfacePlca(name, msgspec.json.decode(text, type=PlcaFacts))
