"""What the emulated media of a test counted, of their stations and of the ports that these are."""

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np

from ethermeter.counts import (
    NO_PORTS,
    NO_STATIONS,
    MediumCounts,
    Numbers,
    PortCounts,
    StationCounts,
    joined,
    zeros,
)
from ethermeter.engines.live.media import Shared, shared_media
from ethermeter.entities import names_of
from ethermeter.live_reports import SegmentCounts
from ethermeter.nodes import links_in, mac_of
from ethermeter.scenario import Scenario
from ethermeter.store.columns import NOT_COUNTED


def port_counts(scenario: Scenario, counted: Mapping[str, SegmentCounts]) -> PortCounts:
    """Return the counts of ports at media, by the names of these; others are `NOT_COUNTED`."""
    from ethermeter import _core

    if not counted:
        return NO_PORTS
    ports = 2 * len(links_in(scenario))
    found = zeros(PortCounts, ports)
    is_counted = np.zeros(ports, bool)
    for shared in shared_media(scenario):
        segment = counted.get(shared.medium.name)
        if segment is None or segment.counts is None:
            continue
        counts = _core.read_counts(segment.counts)
        columns = _columns(shared, counts.stations, segment)
        (medium,) = counts.media
        plca = None if medium.plca is None else medium.plca.nodes
        if plca is not None:
            names = ("used", "yielded", "missed", "beacons_lost", "status_changes", "ok_ps")
            columns |= {name: getattr(plca, name) for name in (*names, "logical_collisions")}
            columns["collisions"] = columns["collisions"] - plca.logical_collisions
        for name, column in columns.items():
            getattr(found, name)[list(shared.ports)] = column
        is_counted[list(shared.ports)] = True
        if shared.is_segment:
            # The segment's ends of what joins nodes to it, which send nothing.
            is_counted[[port + 1 for port in shared.ports]] = True
    for of in fields(PortCounts):
        if of.name != "classes":
            getattr(found, of.name)[~is_counted] = NOT_COUNTED
    return found


def media_counts(
    scenario: Scenario, counted: Mapping[str, SegmentCounts]
) -> tuple[tuple[MediumCounts, ...], StationCounts]:
    """Return the counts of media and of their stations, by the names of the media.

    None unless all of them were emulated to the end. What a station would offer alone is not known.
    """
    from ethermeter import _core

    emulated = [counted.get(name) for name in names_of("medium", scenario)]
    texts = [segment.counts for segment in emulated if segment is not None and segment.counts]
    if not texts or len(texts) < len(emulated):
        return (), NO_STATIONS
    counts = [_core.read_counts(text) for text in texts]
    stations = joined([each.stations for each in counts])
    unknown_load = np.full(len(stations.frames), np.nan)
    media = tuple(medium for each in counts for medium in each.media)
    return media, replace(stations, offered_load=unknown_load)


def _columns(shared: Shared, counts: StationCounts, segment: SegmentCounts) -> dict[str, Numbers]:
    """Return the counts of the stations of a medium by the names of ports'."""
    totals = segment.stations
    preamble_bits = mac_of(shared.medium).preamble_bits
    found = {
        "frames": counts.frames,
        "octets": counts.bits // 8,
        "dropped": counts.dropped,
        "collisions": counts.collisions,
        "late_collisions": counts.late_collisions,
        "busy_ps": (counts.bits + preamble_bits * counts.frames) * shared.medium.bit_ps,
    }
    names = ["queue_most", "queue_octets_most"]
    if shared.is_segment:
        # A simulation does not count it of hubs and half-duplex links.
        found["access_ps"] = counts.access_ps
        names.append("access_most_ps")
    for name in names:
        found[name] = np.array([getattr(station, name) for station in totals], np.int64)
    return found
