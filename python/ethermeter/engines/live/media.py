"""Media: the shared media of a network as segments of a testbed.

A medium is a segment, a hub with its half-duplex links, or a half-duplex link on its own. Each
station is the port of a host or a switch, which the relay gives a card with the queue of that port:
of a switch as in the experiment, of a host without limit, for its frames wait there instead of in
the ring and the queues of the simulated host. Streams of single receivers are held back by credit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec import structs

from ethermeter.faults import Fault
from ethermeter.framing import frame_octets, lengths_of
from ethermeter.nodes import kind_of, mac_of
from ethermeter.relay_plan import SegmentTrial
from ethermeter.scenario import (
    CoderArrivals,
    CsmaCd,
    FixedLengths,
    Flow,
    Host,
    Kind,
    Mac,
    Medium,
    Node,
    Phases,
    PoissonArrivals,
    SaturatedArrivals,
    Scenario,
    Stations,
    Switch,
)
from ethermeter.scenario import Trial as CoreTrial
from ethermeter.testbed import Segment, Wire
from ethermeter.testbed.network import OFFSET_NS
from ethermeter.testbed.relay import MOST_SEGMENTS, MOST_STATIONS
from ethermeter.trial import Trial

SLOW_HOST_NS = 25_000_000
"""Time within which a host sends again after it was told that its frames have left."""
USUAL_QUEUE = 64
"""Frames that the card of a host has room for where programs of any kind send."""
LONGEST_PS = 10**16
"""Longest trial; a medium goes on after it."""
USUAL_OCTETS = 1518
"""Longest frame of an interface with the usual MTU."""
MOST_CREDIT_OCTETS = 1_500_000
"""Octets that a sender may have between its call and the end of their transmission, of frames as
long as its interface takes: the ring between kernel and relay has room for more.
"""
_CREDITED = ("udp", "packet")
"""Ports whose senders can be held back by credit."""
_OWN_MAC = "ieee-10"
"""Standard whose slot and jam half-duplex links have, as simulated (802.3-2022 § 4.4.2)."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A shared medium of a network."""

    medium: Medium
    """The medium with a station for each of its nodes."""
    ports: tuple[int, ...]
    """Number of each station's port, as `ethermeter.nodes.links_in` counts them."""
    is_segment: bool
    """Whether it is a segment; else a hub or half-duplex links."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes of the stations, in their order."""
        return tuple(stations.node for stations in self.medium.stations)


@lru_cache(maxsize=64)
def shared_media(scenario: Scenario) -> tuple[Shared, ...]:
    """Return the media of a network: segments, then hubs and half-duplex links."""
    found = []
    first = 2 * len(scenario.links)
    for medium in scenario.media:
        ports = tuple(range(first, first + 2 * len(medium.stations), 2))
        found.append(Shared(medium, ports, is_segment=True))
        first += 2 * len(medium.stations)
    kinds = {node.name: kind_of(node)[0] for node in scenario.nodes}
    seen: set[int] = set()
    for port in range(2 * len(scenario.links)):
        is_hub = kinds[scenario.links[port // 2].ends[port % 2].node] == "hub"
        if scenario.links[port // 2].half_duplex and not is_hub and port not in seen:
            shared = _domain(scenario, port)
            seen |= set(shared.ports)
            found.append(shared)
    return tuple(found)


def hops_of(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the nodes of each link of a network, and each node of a medium with its name."""
    links = [
        (link.ends[0].node, link.ends[1].node) for link in scenario.links if not link.half_duplex
    ]
    media = shared_media(scenario)
    return links + [(node, shared.medium.name) for shared in media for node in shared.nodes]


def _domain(scenario: Scenario, first: int) -> Shared:
    """Return the collision domain of a half-duplex port, as a medium."""
    from ethermeter import _core

    hubs: dict[str, None] = {}
    members = sorted({first, *_heard(scenario, first, hubs)})
    nodes = [scenario.links[port // 2].ends[port % 2].node for port in members]
    heard = [_heard(scenario, port, {}) for port in members]
    link = scenario.links[first // 2]
    gap_bits = 8 * link.gap_octets
    constants = _core.standards()[_OWN_MAC]
    mac = CsmaCd(
        slot_bits=constants["slot_bits"],
        gap_bits=gap_bits,
        gap_part1_bits=gap_bits // 3 * 2,
        preamble_bits=8 * link.preamble_octets,
        jam_bits=constants["jam_bits"],
    )
    medium = Medium(
        name=", ".join(hubs) or " - ".join(nodes),
        bit_ps=link.ps_per_octet // 8,
        mac=Mac(csma_cd=mac),
        delay_ps=tuple([tuple([of.get(port, 0) for port in members]) for of in heard]),
        stations=tuple(
            [Stations(node=node, points=(number,)) for number, node in enumerate(nodes)]
        ),
    )
    return Shared(medium, tuple(members), is_segment=False)


def _heard(scenario: Scenario, port: int, hubs: dict[str, None]) -> dict[int, int]:
    """Return which ports hear a port, and how much later in ps; adds the hubs between them."""
    settings = {node.name: node.kind.hub for node in scenario.nodes}
    at: dict[str, list[int]] = {}
    for number, link in enumerate(scenario.links):
        for side, end in enumerate(link.ends):
            at.setdefault(end.node, []).append(2 * number + side)
    found: dict[int, int] = {}
    waiting = [(port, 0)]
    while waiting:
        port, before_ps = waiting.pop()
        link, peer = scenario.links[port // 2], port ^ 1
        node, after_ps = link.ends[peer % 2].node, before_ps + link.delay_ps
        hub = settings[node]
        if hub is None:
            found[peer] = after_ps
            continue
        hubs[node] = None
        waiting += [(other, after_ps + hub.delay_ps) for other in at[node] if other != peer]
    return found


def media_faults(scenario: Scenario) -> list[Fault]:
    """Return what of a network's media cannot be emulated."""
    media = shared_media(scenario)
    faults = []
    if len(media) > MOST_SEGMENTS:
        allowed = f"expected at most {MOST_SEGMENTS}: segments, hubs and half-duplex links"
        faults.append(Fault("testbed", "shared media", str(len(media)), allowed))
    for shared in media:
        if len(shared.nodes) > MOST_STATIONS:
            allowed = f"expected at most {MOST_STATIONS} at one medium in a measurement"
            count = f"{len(shared.nodes)} nodes"
            faults.append(Fault("testbed", shared.medium.name, count, allowed))
    return faults


def flow_faults(scenario: Scenario, ports: Sequence[str]) -> list[Fault]:
    """Return which flows cannot be measured at media; `ports`: by which each is sent."""
    faults = []
    at_media = {node for shared in shared_media(scenario) for node in shared.nodes}
    for flow, port in zip(scenario.flows, ports, strict=True):
        if flow.from_ not in at_media:
            continue
        key = f"flows.{flow.name}.arrivals"
        if isinstance(flow.arrivals, CoderArrivals):
            allowed = "expected no coder at a shared medium in a measurement"
            faults.append(Fault("testbed", key, "a coder", allowed))
        is_saturated = isinstance(flow.arrivals, SaturatedArrivals) and flow.transfer is None
        if is_saturated and not (_is_credited(flow, port) or flow.response is not None):
            allowed = (
                "expected one receiver by udp or packet of a saturated flow at a shared medium: "
                "others are not held back there"
            )
            faults.append(Fault("testbed", key, f"saturated, {flow.address} by {port}", allowed))
    return faults


def _is_credited(flow: Flow, port: str) -> bool:
    return (
        flow.address == "unicast"
        and flow.response is None
        and flow.transfer is None
        and port in _CREDITED
    )


def frame_ps(medium: Medium, bits: int) -> int:
    """Return the time of a frame with its preamble on a medium."""
    return (mac_of(medium).preamble_bits + bits) * medium.bit_ps


def window_frames(
    least_ps: float, slow_ns: int = SLOW_HOST_NS, *, longest_octets: int = USUAL_OCTETS
) -> int:
    """Return how many frames a sender has ahead of a medium, one leaving each `least_ps` at most.

    Half of them last until the host has been told of the others, and sent more within `slow_ns`.
    `longest_octets`: of a frame that its interface takes.
    """
    half = math.ceil((OFFSET_NS + slow_ns) * 1000 / least_ps) + 1
    return min(2 * half, MOST_CREDIT_OCTETS // longest_octets)


def windows_of(trial: Trial) -> list[int | None]:
    """Return how many frames the sender of each flow has ahead of its medium; None without."""
    scenario = trial.scenario
    at = {node: shared.medium for shared in shared_media(scenario) for node in shared.nodes}
    found: list[int | None] = []
    for flow, port in zip(scenario.flows, trial.settings().ports, strict=True):
        medium = at.get(flow.from_)
        if medium is None or not _is_credited(flow, port):
            found.append(None)
            continue
        frames = [
            octets
            for bits in lengths_of(flow.frames)
            for octets in frame_octets(flow.framing, bits // 8)
        ]
        found.append(window_frames(frame_ps(medium, 8 * min(frames))))
    return found


def trials_of(trial: Trial) -> tuple[SegmentTrial, ...]:
    """Return the media of a network's trial, for the relay of a testbed."""
    windows = {
        flow.from_: of
        for flow, of in zip(trial.scenario.flows, windows_of(trial), strict=True)
        if of is not None
    }
    return tuple(
        _segment_trial(
            trial.scenario,
            shared,
            trial.scenario.phases,
            seed=trial.seed ^ number << 32,  # the media of a trial draw independently
            credit=tuple(windows[node] // 2 if node in windows else None for node in shared.nodes),
        )
        for number, shared in enumerate(shared_media(trial.scenario))
    )


def segments_of(scenario: Scenario, *, has_shapers: bool) -> list[Segment]:
    """Return the media of a network as segments of a testbed, with nothing to do of their own.

    With shapers each host is limited to the rate of its medium, and its card to `USUAL_QUEUE`
    frames, for programs that nothing else holds back.
    """
    segments = []
    for shared in shared_media(scenario):
        trial = _segment_trial(
            scenario, shared, silent_phases(scenario.phases), host_frames=USUAL_QUEUE
        )
        wire = Wire(10**12 // shared.medium.bit_ps) if has_shapers else None
        segments.append(Segment(shared.nodes, trial, shaper=wire))
    return segments


def silent_phases(phases: Phases) -> Phases:
    """Return the phases of a medium without a trial."""
    return structs.replace(
        phases,
        begin_ps=0,
        stop_ps=LONGEST_PS,
        measure_from_ps=0,
        measure_to_ps=LONGEST_PS,
        end_ps=LONGEST_PS,
        spread_ps=0,
    )


def _segment_trial(
    scenario: Scenario,
    shared: Shared,
    phases: Phases,
    *,
    seed: int = 0,
    credit: tuple[int | None, ...] = (),
    host_frames: int | None = None,
) -> SegmentTrial:
    """Return a medium whose stations have nothing to send of their own.

    The card of a host has room for `host_frames`, without limit if None.
    """
    kinds = {node.name: kind_of(node)[1] for node in scenario.nodes}
    switches = {node: of for node, of in kinds.items() if isinstance(of, Switch)}
    flows = tuple(
        Flow(
            name=node,
            from_=node,
            to=(),
            arrivals=PoissonArrivals(mean_ps=1e15),
            frames=FixedLengths(bits=512),
            queue_frames=switches[node].queue_frames if node in switches else host_frames,
        )
        for node in shared.nodes
    )
    made = Scenario(
        nodes=tuple([Node(name=node, kind=Kind(host=Host())) for node in shared.nodes]),
        media=(shared.medium,),
        flows=flows,
        phases=structs.replace(phases, spread_ps=0),
        batches=scenario.batches,
    )
    return SegmentTrial(
        trial=CoreTrial(id=shared.medium.name, seed=seed, scenario=made),
        credit=credit,
        queue_octets=tuple(
            switches[node].queue_octets if node in switches else None for node in shared.nodes
        ),
        # A bridge takes every frame, to learn addresses.
        hear_all=tuple(number for number, node in enumerate(shared.nodes) if node in switches),
    )
