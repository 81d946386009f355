"""Stations: the groups of hosts on the medium of a scenario, each with its flow."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ethermeter.nodes import is_segment, mac_of
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


@dataclass(frozen=True, slots=True)
class Group:
    """Stations that are alike but for their attachment points, each with the same flow."""

    stations: Stations
    flow: Flow

    @property
    def name(self) -> str:
        """Name of the group."""
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
    """Return the medium of a scenario."""
    (medium,) = scenario.media
    return medium


def constants_of(scenario: Scenario) -> CsmaCd:
    """Return the constants of the medium access of a scenario's medium."""
    return mac_of(medium_of(scenario))


def groups_of(scenario: Scenario) -> tuple[Group, ...]:
    """Return the groups of stations of a segment, in the order of its file; none of a network."""
    if not is_segment(scenario):
        return ()
    stations = [group for medium in scenario.media for group in medium.stations]
    return tuple(map(Group, stations, scenario.flows))


def station_count(scenario: Scenario) -> int:
    """Return the number of stations of a segment; 0 of a network."""
    return sum(group.count for group in groups_of(scenario))


def points_of(scenario: Scenario) -> list[int]:
    """Return the attachment point of every station."""
    return [point for group in medium_of(scenario).stations for point in group.points]


def per_station(scenario: Scenario, value: Callable[[Group], float]) -> Floats:
    """Return a value of each group for each of its stations, shape (stations,)."""
    return np.concatenate(
        [np.full(group.count, float(value(group))) for group in groups_of(scenario)]
    )


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
    """Return how many flows of a scenario have receivers; those on a medium have none."""
    return sum(bool(flow.to) for flow in scenario.flows)


def entities_in(scenario: Scenario) -> int:
    """Return how many stations a segment has, or how many flows a network."""
    return station_count(scenario) + flows_in(scenario)


def names_of(scenario: Scenario) -> list[str]:
    """Return the names of the stations of a segment, or of the flows of a network, in order.

    Stations of a group of several are numbered from 1: "host1", "host2".
    """
    stations = [
        f"{group.name}{number}" if group.count > 1 else group.name
        for group in groups_of(scenario)
        for number in range(1, group.count + 1)
    ]
    return stations + [flow.name for flow in scenario.flows if flow.to]


def has_voice(scenario: Scenario) -> bool:
    """Whether some station of a scenario sends voice, or some flow is voice."""
    return any(isinstance(flow.arrivals, CoderArrivals) for flow in scenario.flows)


def has_plca(scenario: Scenario) -> bool:
    """Whether a scenario is a segment of 10BASE-T1S."""
    return is_segment(scenario) and scenario.media[0].mac.plca is not None
