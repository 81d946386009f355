"""Segments: a trial on a shared medium as a test between the hosts of its stations.

Each station is a host that sends to the next one, the last to the first. The emulated medium counts
what a simulated one counts; hosts count what arrives. The host times of the experiment are those of
the emulated cards, for hosts of today are faster: so a sender sends when its source offers a frame,
and a saturated one keeps some frames ahead of the medium. So does a host with a coder, whose card
makes the samples and fills frames of the longest length with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import Raw, structs
from msgspec.json import decode, encode

from ethermeter.engines.live.media import (
    SLOW_HOST_NS,
    USUAL_OCTETS,
    USUAL_QUEUE,
    frame_ps,
    shared_media,
    silent_phases,
    trials_of,
    window_frames,
)
from ethermeter.entities import (
    lengths_of,
    medium_of,
    packet_ps,
    senders,
    stations_in,
)
from ethermeter.faults import Fault, InputError
from ethermeter.live_reports import SegmentCounts
from ethermeter.relay_plan import SegmentTrial
from ethermeter.scenario import (
    CoderArrivals,
    ConstantTimes,
    FixedLengths,
    Flow,
    Host,
    Kind,
    Medium,
    Node,
    PoissonArrivals,
    SamplesLengths,
    SaturatedArrivals,
    Scenario,
    TraceArrivals,
)
from ethermeter.scenario import Trial as CoreTrial
from ethermeter.testbed import Control, NetworkBed, Segment, Wire
from ethermeter.testbed.counters import Hop
from ethermeter.testbed.relay import Relay
from ethermeter.trial import RAW_FRAMES, Live, Trial

LISTENER = "listener"
"""Host that receives the frames of a station that is alone."""
SLOW_TALKER_NS = 100_000_000
"""Time within which a host with a coder, whose packets are few, sends again after a note."""
SHORTEST_BITS = 512
OCTET_BITS = 8
_BOUNDARIES = ("begin_ps", "stop_ps", "measure_from_ps", "measure_to_ps", "end_ps")
LEAD_PS = 50 * 10**9
"""Time that hosts with credit have to fill their cards before their sources begin."""


def host_names(stations: int) -> list[str]:
    """Return the hosts of the stations of a segment; one that is alone has a listener."""
    names = [f"station-{number}" for number in range(1, stations + 1)]
    return names if stations > 1 else [*names, LISTENER]


def of_hosts(trial: Trial) -> Trial:
    """Return a trial whose flows onto a medium are flows between hosts; others as they are."""
    scenario = trial.scenario
    groups = [group for group in senders(scenario) for _ in range(group.count)]
    if not groups:
        return trial
    names = host_names(len(groups))
    receivers = (*names[1:], names[0])
    flows = tuple(
        structs.replace(
            _offered(group.flow),
            name=name,
            from_=name,
            to=(to,),
            queue_frames=None,
            service=ConstantTimes(ps=0),
            generator=None,
        )
        for group, name, to in zip(groups, names, receivers, strict=False)
    )
    nodes = tuple([Node(name=name, kind=Kind(host=Host())) for name in names])
    made = structs.replace(scenario, nodes=nodes, media=(), flows=flows)
    return replace(trial, scenario=made, live=Live((RAW_FRAMES,) * len(flows)))


def _offered(flow: Flow) -> Flow:
    """Return what a host sends of a flow: of a coder, frames for the longest packet, always."""
    if not isinstance(flow.frames, SamplesLengths):
        return flow
    frames = FixedLengths(bits=flow.frames.max_bits)
    return structs.replace(flow, frames=frames, arrivals=SaturatedArrivals(), codec=None)


def credit_frames(scenario: Scenario) -> list[int | None]:
    """Return how many frames the sender of each station has ahead.

    None if it is neither saturated nor has a coder.
    """
    medium = medium_of(scenario)
    found: list[int | None] = []
    lengths = [lengths_of(group.flow.frames)[0] for group in senders(scenario)]
    longest_octets = max(USUAL_OCTETS, *(max(of) // OCTET_BITS for of in lengths))
    for group in senders(scenario):
        least_ps: float = frame_ps(medium, min(lengths_of(group.flow.frames)[0]))
        slow_ns = SLOW_HOST_NS
        if isinstance(group.flow.arrivals, CoderArrivals):
            assert isinstance(group.flow.frames, SamplesLengths), "packets of a coder hold samples"
            least_ps = packet_ps(group.flow.arrivals, group.flow.frames)
            slow_ns = SLOW_TALKER_NS
        frames = window_frames(least_ps, slow_ns, longest_octets=longest_octets)
        found += [frames if _has_credit(group.flow) else None] * group.count
    return found


def _has_credit(flow: Flow) -> bool:
    return isinstance(flow.arrivals, SaturatedArrivals | CoderArrivals)


@dataclass(frozen=True, slots=True)
class Lead:
    """How much earlier than the sources of the trial hosts begin, and how much later all happens.

    Hosts with credit fill their cards in advance, so that each source finds its first frame and the
    medium does what a simulated one does with the same draws. Where the trial settles for less than
    that, its phases are later by the rest.
    """

    lead_ps: int
    later_ps: int


def lead_of(scenario: Scenario) -> Lead:
    """Return the lead of the hosts of a segment; none unless all of them have credit."""
    if not all(_has_credit(group.flow) for group in senders(scenario)):
        return Lead(0, 0)
    return Lead(LEAD_PS, max(0, LEAD_PS - scenario.phases.begin_ps))


def segment_hosts(trials: Sequence[Trial]) -> list[str]:
    """Return hosts for each of some trials: the stations of the largest first."""
    of_each = [host_names(stations_in(trial.scenario)) for trial in trials]
    return list(dict.fromkeys([*max(of_each, key=len), *(of for each in of_each for of in each)]))


def segment_trial(trial: Trial, hosts: Sequence[str]) -> SegmentTrial:
    """Return the medium of a trial, for the relay of a testbed with these hosts."""
    credit = [each and each // 2 for each in credit_frames(trial.scenario)]
    scenario, later_ps = without_traces(trial.scenario), lead_of(trial.scenario).later_ps
    phases = scenario.phases
    moved = {name: getattr(phases, name) + later_ps for name in _BOUNDARIES}
    media = tuple([_later(medium, later_ps, moved["end_ps"]) for medium in scenario.media])
    scenario = structs.replace(scenario, media=media, phases=structs.replace(phases, **moved))
    listener = hosts.index(LISTENER) if len(credit) == 1 else None
    told = CoreTrial(id=trial.id, seed=trial.seed, scenario=scenario)
    return SegmentTrial(trial=told, credit=tuple(credit), listener=listener)


def _later(medium: Medium, by_ps: int, end_ps: int) -> Medium:
    """Return a medium whose open or shorted cable, if any, is so later.

    A fault that lasts beyond the later end of the trial, `end_ps`, lasts as long.
    """
    if (fault := medium.cable_fault) is None:
        return medium
    to_ps = fault.to_ps + by_ps if fault.to_ps < end_ps else fault.to_ps
    moved = structs.replace(fault, from_ps=fault.from_ps + by_ps, to_ps=to_ps)
    return structs.replace(medium, cable_fault=moved)


def without_traces(scenario: Scenario) -> Scenario:
    """Return a scenario with sources of the same rate in place of traces, which hosts replay.

    Cards take what comes from their hosts, and heed the rate alone.
    """
    flows = [
        structs.replace(flow, arrivals=PoissonArrivals(mean_ps=flow.arrivals.mean_ps))
        if isinstance(flow.arrivals, TraceArrivals)
        else flow
        for flow in scenario.flows
    ]
    return structs.replace(scenario, flows=tuple(flows))


def standing(scenario: Scenario) -> Segment:
    """Return the segment of a scenario for programs of any kind, with nothing to do of its own.

    Each host has a shaper of the medium's rate before its card, and the card room for the queue of
    the file, or for `USUAL_QUEUE` frames.
    """
    medium = medium_of(scenario)
    flows = tuple(
        structs.replace(
            flow,
            arrivals=PoissonArrivals(mean_ps=1e15),
            frames=FixedLengths(bits=SHORTEST_BITS),
            queue_frames=flow.queue_frames or USUAL_QUEUE,
            service=ConstantTimes(ps=0),
            generator=None,
            codec=None,
        )
        for flow in scenario.flows
    )
    made = structs.replace(scenario, flows=flows, phases=silent_phases(scenario.phases))
    names = [f"station-{number}" for number in range(1, stations_in(scenario) + 1)]
    wire = Wire(10**12 // medium.bit_ps)
    silent = SegmentTrial(trial=CoreTrial(id="standing", seed=0, scenario=made))
    return Segment(tuple(names), silent, shaper=wire)


def check(trial: Trial) -> None:
    """Refuse stations that real hosts on an emulated medium cannot be, with every fault.

    What else the medium cannot be is refused by the relay.
    """
    faults = []
    for number, group in enumerate(senders(trial.scenario)):
        coder, frames = group.flow.arrivals, group.flow.frames
        if not isinstance(coder, CoderArrivals) or not isinstance(frames, SamplesLengths):
            continue
        sizes = (coder.sample_bits, frames.overhead_bits, frames.min_bits)
        if any(bits % OCTET_BITS for bits in sizes):
            given = ", ".join(f"{bits} bit" for bits in sizes)
            allowed = "expected whole octets in a measurement, for sample, overhead and least too"
            faults.append(Fault(trial.id, f"stations[{number}].frames", given, allowed))
    if faults:
        raise InputError(faults)


class Emulated:
    """The emulated media of a testbed during one test; nothing without any."""

    def __init__(self, bed: NetworkBed | None, trial: Trial) -> None:
        # Where stations send onto their medium, its counts are those of the trial.
        self._shared = () if senders(trial.scenario) else shared_media(trial.scenario)
        self._relay: Relay | None = None
        self._media: tuple[SegmentTrial, ...] = ()
        if bed is not None and bed.segments:
            self._relay = bed.relay
            self._media = (
                trials_of(trial) if self._shared else (segment_trial(trial, tuple(bed.hosts)),)
            )

    def begin(self, at_ns: int) -> None:
        """Begin the media of the trial at a monotonic time, in place of an earlier beginning."""
        if self._relay is not None:
            with Control(self._relay.control) as control:
                control.begin(at_ns, self._media)

    def end(self) -> tuple[SegmentCounts, ...]:
        """End the media of the trial, and return what they counted."""
        if self._relay is None:
            return ()
        with Control(self._relay.control) as control:
            return control.end()

    def dropped(self, counted: Sequence[SegmentCounts]) -> Mapping[Hop, int]:
        """Return the frames that each node of a network dropped or gave up before each medium."""
        return {
            (node, shared.medium.name): station.dropped + station.discarded
            for shared, segment in zip(self._shared, counted, strict=False)
            for node, station in zip(shared.nodes, segment.stations, strict=True)
        }

    def extended(self, result: bytes, counted: Sequence[SegmentCounts]) -> bytes:
        """Return the result of the test, as JSON, with what the media counted.

        This is `segment` of a segment, and `media` of a network, by their names.
        """
        if not counted:
            return result
        whole: Mapping[str, Raw] = decode(result, type=dict[str, Raw])
        if not self._shared:
            return encode({**whole, "segment": counted[0]})
        names = [shared.medium.name for shared in self._shared]
        return encode({**whole, "media": dict(zip(names, counted, strict=True))})
