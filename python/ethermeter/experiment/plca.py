"""PLCA of 10BASE-T1S: [segment.plca], [segment.phy] and the table `plca` of a group of stations.

Keys have the names of Linux: `ethtool --set-plca-cfg DEV enable on node-id 0 node-cnt 8`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

from ethermeter import scenario
from ethermeter.experiment.quantity import (
    Form,
    PositiveTime,
    Time,
    complaint,
    integer_of,
    is_integer,
    number,
)
from ethermeter.experiment.tables import FileTable, ListOf, file_keys, most_of, table_reader
from ethermeter.faults import Faults, KeyPath, dotted
from ethermeter.scenario import CsmaCd, FileKey

if TYPE_CHECKING:
    from ethermeter.experiment.media import Attached
    from ethermeter.experiment.segment import Segment

STANDARD = "10base-t1s"
"""The standard that has PLCA."""
MOST_IDS = most_of(scenario.PlcaNodes, "node_count")
"""Opportunities that a cycle may have (802.3-2022 clause 148: plca_node_count)."""
HIGHEST_BIT_ERROR_RATE = 0.01
_PLCA = file_keys(scenario.Plca)

NodeIds = tuple[tuple[int, ...], ...]


@cache
def timing() -> Mapping[str, int]:
    """Return timers of PLCA and lengths of its signals in bits."""
    from ethermeter import _core

    return {key: value for key, value in _core.plca_timing().items() if key != "sources"}


class Outage(FileTable, frozen=True, kw_only=True):
    """An interval of the trial in which stations are silent, or PLCA is off."""

    at: Time
    """Start of the interval, from the start of the trial."""
    lasts: Annotated[PositiveTime, FileKey(name="for")]
    """Length of the interval."""


Outages = Annotated[tuple[Outage, ...], ListOf(table_reader(Outage), 1, 1000)]


class Phy(FileTable, frozen=True, kw_only=True):
    """Latencies of the PHYs on the segment, each at most 10 us."""

    transmit: Annotated[int, replace(_PLCA["transmit_ps"], name=None)] = 0
    """Time from TX_EN at the MII to the line."""
    carrier_on: Annotated[int, replace(_PLCA["carrier_on_ps"], name=None)] = 0
    """Time from the start of a signal on the line to carrier sense (CRS)."""
    carrier_off: Annotated[int, replace(_PLCA["carrier_off_ps"], name=None)] = 0
    """Time from the end of a signal on the line to the end of carrier sense (CRS)."""


def _setting(field: str) -> Form:
    """Return the form of a setting that clause 30.16 limits."""
    least = file_keys(scenario.PlcaNodes)[field].least or 0
    most = most_of(scenario.PlcaNodes, field)
    allowed = f"expected an integer from {least} to {most} (802.3-2022 clause 30.16)"
    return integer_of(allowed, least=least, most=most)


class _Settings(FileTable, frozen=True, kw_only=True):
    """Settings of PLCA at a node."""

    enable: bool | None = None
    """Whether PLCA is on; true if neither the stations nor the segment have the key."""
    node_count: Annotated[int | None, FileKey("node-cnt"), _setting("node_count")] = None
    """Number of transmit opportunities in a cycle; only the coordinator's counts. One more than the
    highest node ID if absent.
    """
    opportunity: Annotated[int | None, FileKey("to-tmr"), _setting("opportunity_bits")] = None
    """Length of an unused transmit opportunity in bit times; 32 if absent."""
    burst_count: Annotated[int | None, FileKey("burst-cnt"), _setting("burst_count")] = None
    """Number of frames that may follow the first in a transmit opportunity; 0 if absent."""
    burst_time: Annotated[int | None, FileKey("burst-tmr"), _setting("burst_bits")] = None
    """Time for which the line is held for the next frame of a burst, in bit times; 128 if absent.
    """
    fall_back: Annotated[bool | None, FileKey("fall-back")] = None
    """Whether a node uses CSMA/CD while there are no beacons; true if absent."""


class SegmentPlca(_Settings, frozen=True, kw_only=True):
    """PLCA settings of all stations of a segment."""

    beacon_loss: Annotated[
        float, FileKey("beacon-loss"), number("a probability", least=0, most=1)
    ] = 0
    """Probability that a node does not receive a beacon."""


def _ids(value: object) -> NodeIds:
    """Read an ID, IDs one a station, or several IDs for each station."""

    def one(given: Any) -> int:
        if is_integer(given) and 0 <= given < MOST_IDS:
            return int(given)
        raise complaint(
            f"expected a number from 0 to {MOST_IDS - 1} (802.3-2022 clause 148), a list with one"
            " for each station, or a list with a list for each station"
        )

    if not isinstance(value, list):
        return ((one(value),),)
    if not value:
        one(None)
    several = [given if isinstance(given, list) and given else [given] for given in value]
    return tuple([tuple([one(given) for given in of]) for of in several])


_ID_SCHEMA = {"type": "integer", "minimum": 0, "maximum": MOST_IDS - 1}
_LISTS = [_ID_SCHEMA, {"type": "array", "items": _ID_SCHEMA, "minItems": 1}]


class GroupPlca(_Settings, frozen=True, kw_only=True):
    """PLCA settings of a group of stations; an absent key has the value of the segment."""

    ids: Annotated[
        NodeIds | None,
        FileKey("node-id"),
        Form(
            _ids,
            {"oneOf": [*_LISTS, {"type": "array", "items": {"oneOf": _LISTS}, "minItems": 1}]},
        ),
    ] = None
    """Node ID of each station: its turn in the cycle; 0 is the coordinator. A list has the ID of
    each station; a list of lists gives stations several IDs. The lowest free IDs, in the order of
    the file, if absent.
    """
    off: Outages | None = None
    """Intervals in which PLCA is switched off; never if absent."""


def medium_of(
    csma_cd: CsmaCd,
    plca: SegmentPlca | None,
    phy: Phy | None,
    *,
    end_delimiter_bits: int,
    is_inet: bool,
    bit_error_rate: float,
) -> scenario.Plca:
    """Return the constants of a bus; `is_inet` says that MACs have the rules of INET."""
    bits = {key: timing()[key] for key in _BUS_BITS}
    latencies = phy or Phy()
    return scenario.Plca(
        csma_cd=csma_cd,
        end_delimiter_bits=end_delimiter_bits,
        **bits,
        transmit_ps=latencies.transmit,
        carrier_on_ps=latencies.carrier_on,
        carrier_off_ps=latencies.carrier_off,
        beacon_loss=float(plca.beacon_loss) if plca is not None else 0.0,
        bit_error_rate=float(bit_error_rate),
        jams_at_once=is_inet,
        gap_after_backoff=is_inet,
    )


_BUS_BITS = (
    *("beacon_bits", "beacon_detection_bits", "invalid_beacon_bits", "delay_line_bits"),
    *("pending_bits", "commit_bits", "status_bits"),
)


def nodes_of(
    segment: SegmentPlca | None, attached: Sequence["Attached"], faults: Faults
) -> list[scenario.PlcaNodes | None]:
    """Return PLCA of the stations of each table; None where they do not use it.

    Stations without IDs get the lowest free ones, in the order of the file.
    """
    uses = [_is_on(segment, each.table.plca) for each in attached]
    given = [
        _given_ids(each, faults) if used else None
        for used, each in zip(uses, attached, strict=True)
    ]
    taken = {id for ids in given if ids is not None for of in ids for id in of}
    free = iter([id for id in range(MOST_IDS) if id not in taken])
    ids: list[NodeIds | None] = []
    for used, each, known in zip(uses, attached, given, strict=True):
        found = known
        if used and found is None:
            found = tuple([(id,) for _, id in zip(range(each.count), free, strict=False)])
            if len(found) < each.count:
                allowed = f"expected at most {MOST_IDS} node IDs in all (802.3-2022 clause 148)"
                faults.add((*each.path, "count"), each.count, allowed)
        ids.append(found)
    highest = max((id for found in ids for of in found or () for id in of), default=0)
    return [
        None if found is None else _nodes(segment, each.table.plca, found, highest + 1)
        for each, found in zip(attached, ids, strict=True)
    ]


def turns_of(
    segment: "Segment", attached: Sequence["Attached"], path: KeyPath, faults: Faults
) -> Sequence[scenario.PlcaNodes | None]:
    """Return PLCA of the stations of each table on a segment, whose standard is at `path`.

    What only 10BASE-T1S has is a fault on a segment of another standard.
    """
    for each in attached:
        check_outages(each.table.down, (*each.path, "down"), faults)
        if each.table.plca is not None:
            check_outages(each.table.plca.off, (*each.path, "plca", "off"), faults)
    standard = segment.standard
    if standard == STANDARD:
        return nodes_of(segment.plca, attached, faults)
    for each in attached:
        for key, value in (("plca", each.table.plca), ("down", each.table.down)):
            if value is not None:
                allowed = f'expected "{STANDARD}" with {dotted((*each.path, key))}'
                faults.add(path, f'"{standard}"', allowed)
    return [None] * len(attached)


def _is_on(segment: SegmentPlca | None, group: GroupPlca | None) -> bool:
    if group is not None and group.enable is not None:
        return group.enable
    if segment is not None:
        return segment.enable is not False
    return group is not None


def _given_ids(each: "Attached", faults: Faults) -> NodeIds | None:
    if each.table.plca is None or (ids := each.table.plca.ids) is None:
        return None
    if each.count == 1:
        return (tuple([id for of in ids for id in of]),)
    if len(ids) != each.count:
        allowed = f"expected a node ID, or a list of them, for each of the {each.count} stations"
        faults.add((*each.path, "plca", "node-id"), f"{len(ids)} entries", allowed)
    return ids


def _nodes(
    segment: SegmentPlca | None, group: GroupPlca | None, ids: NodeIds, count: int
) -> scenario.PlcaNodes:
    def setting(name: str, default: int) -> int:
        for table in (group, segment):
            found: int | None = getattr(table, name, None)
            if found is not None:
                return found
        return default

    return scenario.PlcaNodes(
        ids=ids,
        node_count=setting("node_count", count),
        opportunity_bits=setting("opportunity", timing()["opportunity_bits"]),
        burst_count=setting("burst_count", 0),
        burst_bits=setting("burst_time", timing()["burst_bits"]),
        falls_back=bool(setting("fall_back", 1)),
        off=intervals_of(group.off) if group is not None else (),
    )


def intervals_of(outages: Sequence[Outage] | None) -> tuple[scenario.Interval, ...]:
    """Return times in which something is off, in rising order."""
    found = [(outage.at, outage.at + outage.lasts) for outage in outages or ()]
    return tuple([scenario.Interval(from_ps=begin, to_ps=end) for begin, end in sorted(found)])


def check_outages(outages: Sequence[Outage] | None, key: KeyPath, faults: Faults) -> None:
    """Find outages that overlap or touch."""
    found = sorted(enumerate(outages or ()), key=lambda each: each[1].at)
    for (_, before), (index, outage) in pairwise(found):
        if outage.at <= before.at + before.lasts:
            end = f"{(before.at + before.lasts) / 1e12:g} s"
            allowed = f"expected a time after the end of the interval before, {end}"
            faults.add((*key, index, "at"), f"{outage.at / 1e12:g} s", allowed)
