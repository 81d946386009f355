"""PLCA of 10BASE-T1S: [segment.plca], [segment.phy] and the table `plca` of a group of stations.

Keys have the names of Linux: `ethtool --set-plca-cfg DEV enable on node-id 0 node-cnt 8`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from ethermeter import scenario
from ethermeter.experiment.quantity import (
    PositiveTime,
    Table,
    Time,
    complaint,
    file_keys,
    most_of,
    number,
    read_as,
    written,
)
from ethermeter.faults import Faults, KeyPath, dotted
from ethermeter.scenario import CsmaCd

STANDARD = "10base-t1s"
"""The standard that has PLCA."""
MOST_IDS = most_of(scenario.PlcaNodes, "node_count")
"""Opportunities that a cycle may have (802.3-2022 clause 148: plca_node_count)."""
HIGHEST_BIT_ERROR_RATE = 0.01

NodeIds = tuple[tuple[int, ...], ...]


@cache
def timing() -> Mapping[str, int]:
    """Return timers of PLCA and lengths of its signals in bits."""
    from ethermeter import _core

    return {key: value for key, value in _core.plca_timing().items() if key != "sources"}


class Outage(Table):
    """An interval of the trial in which stations are silent, or PLCA is off."""

    at: Time
    """Start of the interval, from the start of the trial."""
    lasts: PositiveTime = Field(alias="for")
    """Length of the interval."""


Outages = Annotated[list[Outage], Field(min_length=1, max_length=1000)]


class Phy(Table):
    """Latencies of the PHYs on the segment, each at most 10 us."""

    transmit: Annotated[int, *read_as(scenario.Plca, "transmit_ps")] = written("0 s")
    """Time from TX_EN at the MII to the line."""
    carrier_on: Annotated[int, *read_as(scenario.Plca, "carrier_on_ps")] = written("0 s")
    """Time from the start of a signal on the line to carrier sense (CRS)."""
    carrier_off: Annotated[int, *read_as(scenario.Plca, "carrier_off_ps")] = written("0 s")
    """Time from the end of a signal on the line to the end of carrier sense (CRS)."""


def _setting(field: str) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the reader of a setting that clause 30.16 limits."""
    limits = file_keys(scenario.PlcaNodes)[field]
    least, most = limits.least or 0, most_of(scenario.PlcaNodes, field)

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise complaint(f"expected an integer from {least} to {most} (802.3-2022 clause 30.16)")

    return PlainValidator(read), WithJsonSchema(
        {"type": "integer", "minimum": least, "maximum": most}
    )


class _Settings(Table):
    """Settings of PLCA at a node."""

    enable: bool | None = None
    """Whether PLCA is on; true if neither the stations nor the segment have the key."""
    node_count: Annotated[int, *_setting("node_count")] | None = Field(None, alias="node-cnt")
    """Number of transmit opportunities in a cycle; only the coordinator's counts. One more than the
    highest node ID if absent.
    """
    opportunity: Annotated[int, *_setting("opportunity_bits")] | None = Field(None, alias="to-tmr")
    """Length of an unused transmit opportunity in bit times; 32 if absent."""
    burst_count: Annotated[int, *_setting("burst_count")] | None = Field(None, alias="burst-cnt")
    """Number of frames that may follow the first in a transmit opportunity; 0 if absent."""
    burst_time: Annotated[int, *_setting("burst_bits")] | None = Field(None, alias="burst-tmr")
    """Time for which the line is held for the next frame of a burst, in bit times; 128 if absent.
    """
    fall_back: bool | None = Field(None, alias="fall-back")
    """Whether a node uses CSMA/CD while there are no beacons; true if absent."""


class SegmentPlca(_Settings):
    """PLCA settings of all stations of a segment."""

    beacon_loss: Annotated[float, *number("a probability", least=0, most=1)] = Field(
        0, alias="beacon-loss", validate_default=True
    )
    """Probability that a node does not receive a beacon."""


def _ids(value: object) -> NodeIds:
    """Read an ID, IDs one a station, or several IDs for each station."""

    def one(given: object) -> int:
        if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < MOST_IDS:
            return given
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


class GroupPlca(_Settings):
    """PLCA settings of a group of stations; an absent key has the value of the segment."""

    ids: (
        Annotated[
            NodeIds,
            PlainValidator(_ids),
            WithJsonSchema(
                {"oneOf": [*_LISTS, {"type": "array", "items": {"oneOf": _LISTS}, "minItems": 1}]}
            ),
        ]
        | None
    ) = Field(None, alias="node-id")
    """Node ID of each station: its turn in the cycle; 0 is the coordinator. A list has the ID of
    each station; a list of lists gives stations several IDs. The lowest free IDs, in the order of
    the file, if absent.
    """
    off: Outages | None = None
    """Intervals in which PLCA is switched off; never if absent."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file says of PLCA at a group, with the number of its stations."""

    group: GroupPlca | None
    count: int
    is_down: bool
    """Whether its stations are silent at times."""
    path: KeyPath
    """Where its table is."""


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
    segment: SegmentPlca | None, groups: Sequence[Wanted], faults: Faults
) -> list[scenario.PlcaNodes | None]:
    """Return PLCA of each group; None of groups that do not use it.

    Groups without IDs get the lowest free ones, in the order of the file.
    """
    uses = [_is_on(segment, wanted.group) for wanted in groups]
    given = [
        _given_ids(wanted, faults) if used else None
        for used, wanted in zip(uses, groups, strict=True)
    ]
    taken = {id for ids in given if ids is not None for of in ids for id in of}
    free = iter([id for id in range(MOST_IDS) if id not in taken])
    ids: list[NodeIds | None] = []
    for used, wanted, known in zip(uses, groups, given, strict=True):
        found = known
        if used and found is None:
            found = tuple([(id,) for _, id in zip(range(wanted.count), free, strict=False)])
            if len(found) < wanted.count:
                allowed = f"expected at most {MOST_IDS} node IDs in all (802.3-2022 clause 148)"
                faults.add((*wanted.path, "count"), wanted.count, allowed)
        ids.append(found)
    highest = max((id for found in ids for of in found or () for id in of), default=0)
    return [
        None if found is None else _nodes(segment, wanted.group, found, highest + 1)
        for wanted, found in zip(groups, ids, strict=True)
    ]


def refuse(groups: Sequence[Wanted], standard: str, path: KeyPath, faults: Faults) -> None:
    """Find what only 10BASE-T1S has at groups of another standard, whose key is at `path`."""
    for wanted in groups:
        for key, is_given in (("plca", wanted.group is not None), ("down", wanted.is_down)):
            if is_given:
                allowed = f'expected "{STANDARD}" with {dotted((*wanted.path, key))}'
                faults.add(path, f'"{standard}"', allowed)


def _is_on(segment: SegmentPlca | None, group: GroupPlca | None) -> bool:
    if group is not None and group.enable is not None:
        return group.enable
    if segment is not None:
        return segment.enable is not False
    return group is not None


def _given_ids(wanted: Wanted, faults: Faults) -> NodeIds | None:
    if wanted.group is None or (ids := wanted.group.ids) is None:
        return None
    if wanted.count == 1:
        return (tuple([id for of in ids for id in of]),)
    if len(ids) != wanted.count:
        allowed = f"expected a node ID, or a list of them, for each of the {wanted.count} stations"
        faults.add((*wanted.path, "plca", "node-id"), f"{len(ids)} entries", allowed)
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


def check_outages(outages: Sequence[Outage] | None, key: tuple[str, ...], faults: Faults) -> None:
    """Find outages that overlap or touch."""
    found = sorted(enumerate(outages or ()), key=lambda each: each[1].at)
    for (_, before), (index, outage) in pairwise(found):
        if outage.at <= before.at + before.lasts:
            end = f"{(before.at + before.lasts) / 1e12:g} s"
            allowed = f"expected a time after the end of the interval before, {end}"
            faults.add((*key, index, "at"), f"{outage.at / 1e12:g} s", allowed)
