"""[[network.segments]]: segments that several nodes of a network share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace
from pydantic import StringConstraints

from ethermeter import scenario
from ethermeter.experiment import layout, plca
from ethermeter.experiment.components import NAME
from ethermeter.experiment.segment import Constants, Segment, constants_of
from ethermeter.faults import Faults, KeyPath

if TYPE_CHECKING:
    from ethermeter.experiment.network import Link

PLACES = ("position", "positions", "cluster", "plca", "down")
"""Keys of a link to a segment: where its stations are, and their PLCA."""
WIRE = ("rate", "delay", "length", "velocity", "preamble", "gap", "half_duplex", "modules")
"""Keys of any other link: those of a segment are its own."""


class NetworkSegment(Segment):
    """A segment that nodes of the network share, with the keys of `[segment]` and a name."""

    name: Annotated[str, StringConstraints(pattern=NAME)]
    """Name of the segment, which links have in `ends`."""


@dataclass(frozen=True, slots=True)
class Attached:
    """Nodes that one link of the file joins to a segment, and where its table is."""

    nodes: Sequence[str]
    link: "Link"
    path: KeyPath

    @property
    def place(self) -> layout.Group:
        """Where the nodes are."""
        link = self.link
        return layout.Group(self.path, len(self.nodes), link.position, link.positions, link.cluster)


def check_link(link: "Link", *, is_of_segment: bool, faults: Faults) -> None:
    """Find keys of a link that go with the other kind of links only."""
    if is_of_segment:
        for key in WIRE:
            if key in link.model_fields_set:
                allowed = "not allowed at a segment, which has its own; see network.segments"
                faults.add((key,), _given(link, key), allowed)
        plca.check_outages(link.down, ("down",), faults)
        if link.plca is not None:
            plca.check_outages(link.plca.off, ("plca", "off"), faults)
    else:
        for key in PLACES:
            if key in link.model_fields_set:
                allowed = "expected with a link to a segment only"
                faults.add((key,), _given(link, key), allowed)


def _given(link: "Link", key: str) -> str:
    value = getattr(link, key)
    return str(value) if isinstance(value, str | int | float) else f"{key} is given"


def medium_of(
    segment: NetworkSegment, attached: Sequence[Attached], path: KeyPath, *, file: str
) -> scenario.Medium:
    """Return a segment with its stations, in the order of the file.

    Raises
    ------
    InputError
        With everything in it that contradicts itself.

    """
    faults = Faults(file)
    constants = faults.of(lambda: constants_of(segment, file=file, path=path))
    places = [each.place for each in attached]
    laid = faults.of(lambda: layout.layout(segment, places, file=file, path=path))
    turns = _turns(segment, constants, attached, (*path, "standard"), faults)
    count = sum(place.count for place in places)
    if count < 2:
        faults.add(
            (*path, "name"), segment.name, "expected links from at least two nodes to the segment"
        )
    elif constants is not None and count > constants.max_stations:
        allowed = f"expected at most {constants.max_stations} nodes on a segment of this standard"
        faults.add(path, f"{count} nodes", allowed)
    faults.raise_all()
    assert constants is not None
    assert laid is not None, "else it has faults"
    stations = [
        scenario.Stations(
            node=node,
            points=(point,),
            backoff=scenario.ExponentialBackoff(limit=constants.backoff_limit),
            attempt_limit=constants.attempt_limit,
            plca=None if of is None else replace(of, ids=(of.ids[number],)),
            down=plca.intervals_of(each.link.down),
        )
        for each, points, of in zip(attached, laid.points, turns, strict=True)
        for number, (node, point) in enumerate(zip(each.nodes, points, strict=True))
    ]
    return scenario.Medium(
        name=segment.name,
        bit_ps=constants.bit_ps,
        mac=constants.mac,
        delay_ps=tuple([tuple(row) for row in laid.delays_ps()]),
        stations=tuple(stations),
    )


def _turns(
    segment: NetworkSegment,
    constants: Constants | None,
    attached: Sequence[Attached],
    path: KeyPath,
    faults: Faults,
) -> Sequence[scenario.PlcaNodes | None]:
    """Return PLCA of the nodes of each link."""
    wanted = [
        plca.Wanted(each.link.plca, len(each.nodes), bool(each.link.down), each.path)
        for each in attached
    ]
    if constants is not None and constants.mac.plca is not None:
        return plca.nodes_of(segment.plca, wanted, faults)
    plca.refuse(wanted, segment.standard, path, faults)
    return [None] * len(attached)
