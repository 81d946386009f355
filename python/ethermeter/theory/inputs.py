"""Model inputs: the quantities of a scenario that theories use, in seconds and bits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from ethermeter import functions
from ethermeter.entities import (
    Senders,
    constants_of,
    lengths_of,
    mean_ps,
    medium_of,
    packet_ps,
    points_of,
    senders,
    tag_of,
    talking_share,
)
from ethermeter.scenario import (
    CoderArrivals,
    ExponentialTimes,
    Flow,
    OnOffArrivals,
    PoissonArrivals,
    PythonArrivals,
    RegularArrivals,
    SamplesLengths,
    SaturatedArrivals,
    Scenario,
    Stations,
    TokenBucketArrivals,
    TraceArrivals,
)
from ethermeter.theory.assumptions import ROUND_TRIP, SLOT_TIME, Assumptions
from ethermeter.theory.bus import Bus, bus_of, early

PS_PER_S = 1e12
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ModelInputs:
    """The inputs of the theories at one point of an experiment.

    Times are *charged*: a packet counts with its preamble and the gap after it, since every theory
    has packets only.
    """

    stations: int
    alike: bool  # Whether all stations offer the same
    rate_bps: float
    # packet_bits, weights: Charged bits of the different packets and their shares, shape (lengths,)
    packet_bits: Floats
    weights: Floats
    # Largest one-way propagation between two stations; `equally_far` if it is that of all pairs
    propagation_s: float
    equally_far: bool
    overhead_bits: float  # Of `packet_bits`, preamble and gap
    # Time from a station's decision to start to its first bit, in which it hears nothing
    turnaround_s: float
    slot_s: float  # Slot time of the standard
    # How long a collision of two at the ends keeps the medium busy, gap included
    collision_s: float
    abort_s: float  # Time between hearing a collision and falling silent, when the preamble is over
    # "saturated", "regular", "poisson", "on_off", "coder", "trace", or "mixed" where groups differ
    arrivals: str
    arrival_rate: float  # Frames per second of all stations together; 0 when saturated
    buffers: int | None  # Frames a station has room for; None for no limit
    # thinking_s, service_s: Mean time of the host between a frame and the next; the first only of
    # saturated stations where it is exponential, else None
    thinking_s: float | None
    service_s: float
    generator: bool  # Whether a user process fills buffers
    priority_waits: bool
    calls: bool  # Whether stations send in calls only
    cable_fault: bool  # Whether the cable is open or shorted at some time
    functions: bool  # Whether stations follow functions in Python
    bus: Bus | None  # Of 10BASE-T1S; None of other segments
    # Why values of the measured window may be above bounds of the bus; empty if they may not
    early: str
    backoff: str  # "exponential", "linear", "constant" or "none"
    # contention_slot_s, sensing_interval_s, persistence, station_latency_s: Assumptions of the
    # theories
    contention_slot_s: float
    sensing_interval_s: float | None
    persistence: float
    station_latency_s: float

    @property
    def why_unbounded(self) -> str:
        """Why nodes of 10BASE-T1S have no bound; empty where they have one."""
        return "; ".join(self.bus.obstacles) if self.bus is not None else ""

    @property
    def packet_s(self) -> float:
        """Mean charged time of a packet."""
        return float(self.packet_bits @ self.weights) / self.rate_bps

    @property
    def load(self) -> float:
        """Offered load of unsaturated sources: charged time of the frames arriving in a second."""
        return self.arrival_rate * self.packet_s

    @property
    def packet_slots(self) -> int:
        """Slots of one propagation time in a mean packet, rounded: 1/a of slotted theories."""
        return max(1, round(self.packet_s / self.propagation_s)) if self.propagation_s > 0 else 1

    @property
    def propagation_slot_s(self) -> float:
        """Length of these slots: the propagation time, changed by the rounding."""
        return self.packet_s / self.packet_slots

    @property
    def collision_slots(self) -> int:
        """Slots of a collision: one until it is heard, one until the medium is clear, or more."""
        return max(2, round(self.collision_s / self.propagation_slot_s))


def model_inputs(scenario: Scenario, assumptions: Assumptions) -> ModelInputs:
    """Return the model inputs of a scenario, with the assumptions of the theories beyond it."""
    medium, mac, groups = medium_of(scenario), constants_of(scenario), senders(scenario)
    bit_s = medium.bit_ps / PS_PER_S
    points = points_of(scenario)
    nearest, farthest = _distances(medium.delay_ps, points)
    propagation_s = farthest / PS_PER_S
    overhead = mac.preamble_bits + mac.gap_bits
    bits, weights = _lengths(groups)
    first = groups[0]
    detected_s = max(mac.preamble_bits * bit_s, propagation_s)
    jam_s = mac.jam_bits * bit_s
    slot_s = mac.slot_bits * bit_s
    collision_ps, slot = assumptions.collision_ps, assumptions.contention_slot
    # Without any distance a slot still has a length: nothing depends on it then.
    contention_s = {ROUND_TRIP: max(2 * propagation_s, bit_s), SLOT_TIME: slot_s}
    arrivals = {tag_of(group.flow.arrivals) for group in groups}
    bus = bus_of(scenario)
    return ModelInputs(
        stations=len(points),
        alike=len({_without_names(group) for group in groups}) == 1,
        rate_bps=1 / bit_s,
        packet_bits=bits + overhead,
        weights=weights,
        propagation_s=propagation_s,
        equally_far=nearest == farthest,
        overhead_bits=overhead,
        turnaround_s=mac.turnaround_ps / PS_PER_S,
        slot_s=slot_s,
        collision_s=collision_ps / PS_PER_S
        if collision_ps is not None
        else detected_s + jam_s + propagation_s + mac.gap_bits * bit_s,
        abort_s=jam_s + mac.gap_bits * bit_s,
        arrivals=arrivals.pop() if len(arrivals) == 1 else "mixed",
        arrival_rate=sum(group.count * _rate(group.flow) for group in groups),
        buffers=first.flow.queue_frames,
        thinking_s=_thinking_s(groups),
        service_s=mean_ps(first.flow.service) / PS_PER_S,
        generator=any(group.flow.generator is not None for group in groups),
        priority_waits=any(group.stations.priority_wait_ps for group in groups),
        calls=any(group.flow.calls is not None for group in groups),
        cable_fault=medium.cable_fault is not None,
        functions=bool(functions.named_in([scenario])),
        bus=bus,
        early=early(scenario, bus) if bus is not None else "",
        backoff=tag_of(first.stations.backoff),
        contention_slot_s=contention_s[slot] if isinstance(slot, str) else slot / PS_PER_S,
        sensing_interval_s=_seconds(assumptions.sensing_interval_ps),
        persistence=assumptions.persistence,
        station_latency_s=_seconds(assumptions.station_latency_ps) or bit_s,
    )


def _without_names(group: Senders) -> tuple[Stations, Flow]:
    return (
        replace(group.stations, node="", points=()),
        replace(group.flow, name="", from_=""),
    )


def _seconds(time_ps: int | None) -> float | None:
    return None if time_ps is None else time_ps / PS_PER_S


def _distances(delay_ps: Sequence[Sequence[int]], points: Sequence[int]) -> tuple[int, int]:
    """Return the smallest and largest delay between two different stations; 0 for a single one."""
    count = np.bincount(points, minlength=len(delay_ps))
    used = np.flatnonzero(count)
    delays = np.array(delay_ps)[np.ix_(used, used)]
    several = ~np.eye(len(used), dtype=bool) | np.diag(count[used] > 1)
    found = delays[several]
    return (int(found.min()), int(found.max())) if found.size else (0, 0)


def _lengths(groups: Sequence[Senders]) -> tuple[Floats, Floats]:
    """Return the lengths of all stations' frames [bit] and their shares of the frames."""
    shares: dict[int, float] = {}
    for group in groups:
        bits, weights = lengths_of(group.flow.frames)
        rate = _rate(group.flow) or 1.0
        of_all = np.asarray(weights, np.float64) / sum(weights)
        for length, weight in zip(bits, of_all, strict=True):
            shares[length] = shares.get(length, 0.0) + group.count * rate * float(weight)
    lengths = np.array(sorted(shares), np.float64)
    of_each = np.array([shares[int(length)] for length in lengths])
    return lengths, of_each / of_each.sum()


def _rate(flow: Flow) -> float:
    """Return the frames per second of one station; 0 when saturated.

    Voice counts as frames of the shortest length.
    """
    match flow.arrivals:
        case SaturatedArrivals() | TokenBucketArrivals() | PythonArrivals():
            return 0.0
        case PoissonArrivals(mean_ps=mean_ps) | TraceArrivals(mean_ps=mean_ps):
            return float(PS_PER_S / mean_ps)
        case RegularArrivals(period_ps=period_ps):
            return float(PS_PER_S / period_ps)
        case CoderArrivals() as coder:
            assert isinstance(flow.frames, SamplesLengths), "a coder's frames are of samples"
            return float(talking_share(coder) * PS_PER_S / packet_ps(coder, flow.frames))
        case OnOffArrivals(period_ps=period_ps, on_mean_ps=on, off_mean_ps=off):
            return float(PS_PER_S / period_ps * on / (on + off))


def _thinking_s(groups: Sequence[Senders]) -> float | None:
    """Return the mean thinking time of saturated stations if exponential and equal everywhere."""
    service = groups[0].flow.service
    alike = all(
        group.flow.service == service and isinstance(group.flow.arrivals, SaturatedArrivals)
        for group in groups
    )
    if alike and isinstance(service, ExponentialTimes) and service.offset_ps == 0:
        return float(service.mean_ps / PS_PER_S)
    return None
