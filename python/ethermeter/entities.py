"""Entities of a scenario by kind and name: media, stations and flows, and what describes them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ethermeter.nodes import mac_of
from ethermeter.scenario import (
    Arrivals,
    Backoff,
    CoderArrivals,
    ConstantTimes,
    CsmaCd,
    ExponentialTimes,
    FixedLengths,
    Flow,
    Lengths,
    MeasuredTimes,
    Medium,
    MixLengths,
    SamplesLengths,
    Scenario,
    Stations,
    Times,
    UniformTimes,
)

Floats = npt.NDArray[np.float64]


Entity = Literal["medium", "station", "flow", "responder"]
"""Kinds of entities: media, stations on them, flows with receivers, and responders, which are the
receivers of flows that several answer. Responders have histograms only.
"""


@dataclass(frozen=True, slots=True)
class Senders:
    """Stations that are alike but for their attachment points, each with a flow onto its medium."""

    stations: Stations
    flow: Flow

    @property
    def name(self) -> str:
        """Name of the flow."""
        return self.flow.name

    @property
    def count(self) -> int:
        """Number of stations."""
        return len(self.stations.points)

    @property
    def has_coder(self) -> bool:
        """Whether the stations send voice."""
        return isinstance(self.flow.arrivals, CoderArrivals)


def medium_of(scenario: Scenario) -> Medium:
    """Return the only medium of a scenario."""
    (medium,) = scenario.media
    return medium


def constants_of(scenario: Scenario) -> CsmaCd:
    """Return the constants of the medium access of a scenario's only medium."""
    return mac_of(medium_of(scenario))


def senders(scenario: Scenario) -> tuple[Senders, ...]:
    """Return the stations whose flows have their medium as receiver, in order of the scenario."""
    onto = {flow.from_: flow for flow in scenario.flows if not flow.to}
    return tuple(
        Senders(stations, onto[stations.node])
        for medium in scenario.media
        for stations in medium.stations
        if stations.node in onto
    )


def receiver_flows(scenario: Scenario) -> tuple[Flow, ...]:
    """Return the flows that have receivers, in order of the scenario."""
    return tuple(flow for flow in scenario.flows if flow.to)


def responders(scenario: Scenario) -> tuple[tuple[Flow, str], ...]:
    """Return each flow that several hosts answer with each of these, in order of the scenario."""
    several = (flow for flow in receiver_flows(scenario) if flow.response and len(flow.to) > 1)
    return tuple((flow, host) for flow in several for host in flow.to)


def stations_on(medium: Medium) -> int:
    """Return the number of stations on a medium."""
    return sum(len(stations.points) for stations in medium.stations)


def stations_in(scenario: Scenario) -> int:
    """Return the number of stations on all media of a scenario."""
    return sum(map(stations_on, scenario.media))


def is_bus(medium: Medium) -> bool:
    """Whether stations of a medium may take turns: it is one of 10BASE-T1S."""
    return medium.mac.plca is not None


def points_of(scenario: Scenario) -> list[int]:
    """Return the attachment point of every station."""
    return [point for group in medium_of(scenario).stations for point in group.points]


def per_station(scenario: Scenario, value: Callable[[Senders], float]) -> Floats:
    """Return a value of each group of senders for each of its stations, shape (stations,)."""
    values = [np.full(group.count, float(value(group))) for group in senders(scenario)]
    return np.concatenate([np.empty(0), *values])


def charged_ps(scenario: Scenario, frame_bits: float) -> float:
    """Return the time of a frame with preamble and gap, in ps."""
    mac = constants_of(scenario)
    return (mac.preamble_bits + frame_bits + mac.gap_bits) * medium_of(scenario).bit_ps


def lengths_of(frames: Lengths) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the lengths of frames in bits and their weights; of frames that grow, the least."""
    match frames:
        case FixedLengths(bits=bits):
            return (bits,), (1.0,)
        case SamplesLengths(min_bits=bits):
            return (bits,), (1.0,)
        case MixLengths(bits=several, weights=weights):
            return several, weights


def mean_bits(frames: Lengths) -> float:
    """Return the mean length of frames in bits; of frames that grow, the least."""
    bits, weights = lengths_of(frames)
    return float(np.average(bits, weights=weights)) if len(bits) > 1 else float(bits[0])


def talking_share(coder: CoderArrivals) -> float:
    """Return the share of the time in which a coder has samples."""
    spurts = coder.spurts
    if spurts is None:
        return 1.0
    return spurts.talk_mean_ps / (spurts.talk_mean_ps + spurts.silence_mean_ps)


def mean_ps(times: Times) -> float:
    """Return the mean of a distribution of times."""
    match times:
        case ConstantTimes(ps=ps):
            return float(ps)
        case UniformTimes(low_ps=low_ps, high_ps=high_ps):
            return (low_ps + high_ps) / 2
        case ExponentialTimes(offset_ps=offset_ps, mean_ps=beyond_ps):
            return float(offset_ps + beyond_ps)
        case MeasuredTimes(values_ps=values_ps, weights=weights):
            return float(np.average(values_ps, weights=weights))


def is_voice(flow: Flow) -> bool:
    """Whether a flow has a coder."""
    return isinstance(flow.arrivals, CoderArrivals)


def packet_ps(coder: CoderArrivals, frames: SamplesLengths) -> int:
    """Return the time in which a coder makes the samples of its shortest packet."""
    samples = -(-(frames.min_bits - frames.overhead_bits) // coder.sample_bits)
    return max(1, samples) * coder.sample_ps


def tag_of(variant: Arrivals | Backoff) -> str:
    """Return the word by which a scenario names a kind of arrivals or a rule of backoff."""
    tag = variant.__struct_config__.tag
    assert isinstance(tag, str), "each variant has a tag"
    return tag


def flows_in(scenario: Scenario) -> int:
    """Return how many flows of a scenario have receivers."""
    return len(receiver_flows(scenario))


def number_of(entity: Entity, scenario: Scenario) -> int:
    """Return how many entities of a kind a scenario has."""
    match entity:
        case "medium":
            return len(scenario.media)
        case "station":
            return stations_in(scenario)
        case "flow":
            return flows_in(scenario)
        case "responder":
            return len(responders(scenario))


def entities_in(scenario: Scenario) -> int:
    """Return how many stations and flows with receivers a scenario has."""
    return stations_in(scenario) + flows_in(scenario)


def names_of(entity: Entity, scenario: Scenario) -> list[str]:
    """Return the names of the entities of a kind, in order of the scenario.

    Stations that are alike are numbered from 1: "host1", "host2". The station of a node that is on
    several media has the name of the medium, too: "gateway (bus)".
    """
    match entity:
        case "medium":
            return [medium.name for medium in scenario.media]
        case "station":
            on_media = [stations.node for medium in scenario.media for stations in medium.stations]
            several = {node for node, number in Counter(on_media).items() if number > 1}
            titles = {sender.stations.node: sender.name for sender in senders(scenario)}
            return [
                f"{title}{number}" if len(stations.points) > 1 else title
                for medium in scenario.media
                for stations in medium.stations
                for title in [
                    f"{stations.node} ({medium.name})"
                    if stations.node in several
                    else titles.get(stations.node, stations.node)
                ]
                for number in range(1, len(stations.points) + 1)
            ]
        case "flow":
            return [flow.name for flow in receiver_flows(scenario)]
        case "responder":
            return [f"{flow.name} {host}" for flow, host in responders(scenario)]
