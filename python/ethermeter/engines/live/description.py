"""Description: a line of the plan as a test between agents."""

import ipaddress
import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, cast

import numpy as np
from msgspec.json import encode
from msgspec.structs import replace

from ethermeter.engines.live.laboratory import Laboratory
from ethermeter.engines.live.media import windows_of
from ethermeter.engines.live.segments import Lead, credit_frames, lead_of, of_hosts
from ethermeter.entities import is_voice, senders
from ethermeter.faults import Fault, InputError
from ethermeter.framing import (
    AROUND_DATA_OCTETS,
    IP_HEADER_OCTETS,
    TAG_OCTETS,
    UDP_HEADER_OCTETS,
    frame_octets,
    lengths_of,
    message_octets,
)
from ethermeter.live_reports import Ceilings, HostAnswer
from ethermeter.live_test import (
    ExchangeFlowTraffic,
    ExperimentPhases,
    FileFlowTraffic,
    FlowDescription,
    FlowTraffic,
    MessageSource,
    PortKind,
    Responses,
    Shaping,
    StreamFlowTraffic,
    TestDescription,
    TraceMessages,
    TransferFlowTraffic,
)
from ethermeter.nodes import links_in
from ethermeter.scenario import (
    FixedLengths,
    Flow,
    Framing,
    Lengths,
    MixLengths,
    SamplesLengths,
    SaturatedArrivals,
    Scenario,
    TokenBucketArrivals,
    TraceArrivals,
)
from ethermeter.trial import Trial

PS_PER_NS = 1000
LINGER_NS = 250_000_000
"""Receivers listen so much longer than the drain, so that what waits in queues of the system counts
as come.
"""
TIMEOUT_NS = 1_000_000_000
"""An answer without a time limit in the plan is given up after this."""
MARK_OCTETS = 18
"""Each message of ours begins with a mark of so many octets."""
VOICE_MARK_OCTETS = 29
"""Each packet of voice with one of so many: when its oldest sample was made, and how many it holds,
are in it.
"""
_AROUND = {"packet": (18, 18), "xdp": (18, 18), "udp": (46, 66), "tcp": (58, 78)}
"""Octets of a frame that are not its port's data: over IPv4, over IPv6."""
_LONGEST_NAME = 60
MOST_REPLAYED = 10_000
"""Messages of a trace that an agent takes: its requests have at most 256 KiB."""


class Rates(NamedTuple):
    """Largest rates in one direction."""

    bps: int
    frames_per_s: int


CLOCK = Rates(bps=1_000 * 96 * 8, frames_per_s=1_000)
"""What comparing a sender's clock with a receiver's may take of both hosts' ceilings, either way
(`crates/station/src/experiment/clocks.rs`).
"""


def flow_names(scenario: Scenario) -> list[str]:
    """Names of the flows of a scenario in a test: their own where these are short and different."""
    names = [flow.name for flow in scenario.flows]
    is_fine = len(set(names)) == len(names) and all(
        0 < len(name.encode()) <= _LONGEST_NAME for name in names
    )
    return names if is_fine else [f"flow-{number}" for number in range(len(names))]


def hosts_of(scenario: Scenario) -> list[str]:
    """Names of the hosts that take part, in the order of the network."""
    named = {name for flow in scenario.flows for name in (flow.from_, *flow.to)}
    return [node.name for node in scenario.nodes if node.name in named]


def is_saturated(flow: Flow) -> bool:
    """Whether its sender always has something to send."""
    return flow.transfer is not None or isinstance(flow.arrivals, SaturatedArrivals)


def around_octets(port: str, address: str) -> int:
    """Octets of a frame, destination address to FCS, that are not its port's data."""
    return _AROUND[port][ipaddress.ip_address(address).version == 6]


def tag_octets(flow: Flow, port: str) -> int:
    """Octets of the tag of a flow's frames: raw frames have one if the flow has a priority.

    Packets of IP carry the priority in their traffic class instead.
    """
    return TAG_OCTETS if flow.priority is not None and port in ("packet", "xdp") else 0


def describe(trial: Trial, laboratory: Laboratory, answers: Mapping[str, HostAnswer]) -> str:
    """Describe a trial as a test in a laboratory: JSON, as docs/reference/agent-tests.md has it.

    Consent is requested as far as the ceilings in the answers of agents, by host, have room. Raises
    InputError with everything in the trial that cannot be measured, or not here.
    """
    on_segment = bool(senders(trial.scenario))
    credit = credit_frames(trial.scenario) if on_segment else windows_of(trial)
    lead = lead_of(trial.scenario) if on_segment else Lead(0, 0)
    trial = of_hosts(trial)
    scenario = trial.scenario
    faults = [
        Fault(
            laboratory.source,
            f"hosts.{name}",
            "(missing)",
            f"required: the experiment has a host {name}",
        )
        for name in hosts_of(scenario)
        if name not in laboratory.stations
    ]
    faults += [
        Fault(
            trial.id,
            f"nodes.{node.name}.rebroadcast",
            "(given)",
            "must be absent in a measurement: no agent sends broadcasts again",
        )
        for node in scenario.nodes
        if node.kind.host is not None and node.kind.host.rebroadcast is not None
    ]
    phases = scenario.phases
    if phases.spread_ps and not on_segment:
        faults.append(
            Fault(
                trial.id,
                "phases.spread",
                f"{phases.spread_ps} ps",
                "expected 0 s in a measurement: hosts begin together",
            )
        )
    if not faults:
        flows, found = _flows(trial, laboratory, answers)
        faults += found
    if faults:
        raise InputError(faults)
    flows = [
        _on_segment(flow, of, phases.spread_ps) if on_segment else _credited(flow, of)
        for flow, of in zip(flows, credit, strict=True)
    ]
    begin_ps = phases.begin_ps - lead.lead_ps
    transmit_ps, from_ps, to_ps = (
        at_ps - begin_ps for at_ps in (phases.stop_ps, phases.measure_from_ps, phases.measure_to_ps)
    )
    test = TestDescription(
        seed=trial.seed,
        agents=tuple(laboratory.stations[name] for name in hosts_of(scenario)),
        phases=ExperimentPhases(
            settle_ns=(begin_ps + lead.later_ps) // PS_PER_NS,
            transmit_ns=transmit_ps // PS_PER_NS,
            measure_from_ns=from_ps // PS_PER_NS,
            measure_to_ns=to_ps // PS_PER_NS,
            drain_ns=(phases.end_ps - phases.stop_ps) // PS_PER_NS + LINGER_NS,
            batches=scenario.batches,
        ),
        flows=tuple(flows),
    )
    return encode(test).decode()


def _credited(flow: FlowDescription, frames: int | None) -> FlowDescription:
    """Return a flow whose sender has at most so many frames ahead of the media before it."""
    if frames is None or not isinstance(flow.traffic, StreamFlowTraffic):
        return flow
    return replace(flow, traffic=replace(flow.traffic, credit_frames=frames))


def _on_segment(flow: FlowDescription, frames: int | None, spread_ps: int) -> FlowDescription:
    """Return a flow of a host on an emulated segment, as of `_credited`.

    Without credit it sends at times, for which it wakes with real-time priority; the hosts and the
    medium share the processors of one machine. Its source begins within the spread of the trial, as
    those of cards do.
    """
    if frames is not None or not isinstance(flow.traffic, StreamFlowTraffic):
        return _credited(flow, frames)
    sends = replace(flow.traffic, real_time=True, shares_processors=True, spread_ps=spread_ps)
    return replace(flow, traffic=sends)


def _flows(
    trial: Trial, laboratory: Laboratory, answers: Mapping[str, HostAnswer]
) -> tuple[list[FlowDescription], list[Fault]]:
    scenario = trial.scenario
    faults: list[Fault] = []
    made = []
    replayed: Counter[str] = Counter()
    ports, shares = trial.settings().ports, _shares(scenario, answers)
    for name, flow, port, (there, back) in zip(
        flow_names(scenario), scenario.flows, ports, shares, strict=True
    ):
        try:
            where = f"{trial.id}, flow {name}"
            around = _around_frames(scenario, flow.from_)
            sent, messages = _replayed(flow, trial, where)
            replayed[flow.from_] += 0 if messages is None else len(messages.gaps_ps)
            _check_replayed(replayed[flow.from_], where)
            traffic = _traffic(sent, messages, port, laboratory, where, around_octets=around)
        except InputError as error:
            faults += error.faults
            continue
        is_spinning = flow.response is not None and not laboratory.is_one_machine
        tcp = None if flow.transfer is None else flow.transfer.tcp
        made.append(
            FlowDescription(
                name=name,
                from_=flow.from_,
                to=flow.to[0] if flow.address == "unicast" else flow.to,
                port=cast(PortKind, port),
                most_bps=there.bps,
                most_frames_per_s=there.frames_per_s,
                most_response_bps=None if back is None else back.bps,
                most_response_frames_per_s=None if back is None else back.frames_per_s,
                response_cast="unicast" if flow.response is None else flow.response.address,
                attention="spinning" if is_spinning else "sleeping",
                traffic=traffic,
                cast=flow.address,
                congestion=None if tcp is None else tcp.congestion,
                priority=flow.priority,
            )
        )
    return made, faults


def _around_frames(scenario: Scenario, host: str) -> int:
    """Return the octets of preamble and gap at the link of a host; 0 of stations of a segment."""
    links = (link for link in links_in(scenario) if host in [end.node for end in link.ends])
    link = next(links, None)
    return 0 if link is None else link.preamble_octets + link.gap_octets


def selective_acknowledgements(scenario: Scenario) -> bool | None:
    """Whether hosts of a testbed acknowledge selectively; None where no flow is a transfer.

    Raises InputError if transfers differ: the setting is one of a host.
    """
    transfers = [flow.transfer for flow in scenario.flows if flow.transfer is not None]
    found = {transfer.tcp.sack for transfer in transfers if transfer.tcp is not None}
    if len(found) > 1:
        allowed = (
            "expected the same value in all measured flows: a host acknowledges selectively or not"
        )
        raise InputError.of("testbed", "flows.*.transfer.tcp.sack", "true and false", allowed)
    return next(iter(found), None)


def _shares(
    scenario: Scenario, answers: Mapping[str, HostAnswer]
) -> list[tuple[Rates, Rates | None]]:
    """Return the rates for which each flow requests consent, there and back.

    They are the least equal share of the ceilings of all hosts that take part in the flow.
    """
    ends_of = [_ends(flow) for flow in scenario.flows]
    flows_at = Counter(end for directions in ends_of for ends in directions for end in ends)
    streams = {
        (flow.from_, to)
        for flow in scenario.flows
        if flow.response is None and flow.transfer is None
        for to in flow.to
    }
    clocks_at = Counter(host for pair in streams for host in pair)

    def share(ends: list[tuple[str, str]]) -> Rates:
        rates = []
        for host, direction in ends:
            answer = answers.get(host)
            ceilings = (answer and answer.ceilings) or Ceilings()
            rates.append(
                [
                    (most - clocks_at[host] * clock) // flows_at[host, direction]
                    for most, clock in zip(
                        (ceilings.rate_bps, ceilings.rate_frames_per_s), CLOCK, strict=True
                    )
                ]
            )
        return Rates(*(max(1, min(rate)) for rate in zip(*rates, strict=True)))

    return [(share(there), share(back) if back else None) for there, back in ends_of]


def _ends(flow: Flow) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Hosts and directions in which a flow, and its responses, take of their ceilings.

    Each stands once for each permission.
    """
    there = [(flow.from_, "out"), *((host, "in") for host in flow.to)]
    is_file = flow.transfer is not None and flow.transfer.job.file is not None
    has_back = flow.response is not None or is_file
    is_to_group = flow.response is not None and flow.response.address != "unicast"
    heard = [host for host in flow.to if is_to_group]
    back = [
        end
        for host in flow.to
        for end in (
            (host, "out"),
            *((hears, "in") for hears in (flow.from_, *heard) if hears != host),
        )
    ]
    return there, back if has_back else []


def _shaping(flow: Flow, frames: Lengths, *, around_octets: int) -> Shaping | None:
    """Return the token bucket of a flow; `frames` are its lengths as agents have them."""
    bucket = flow.arrivals if isinstance(flow.arrivals, TokenBucketArrivals) else flow.shaper
    if bucket is None:
        return None
    phase_ps = bucket.phase_ps if isinstance(bucket, TokenBucketArrivals) else None
    volumes = {
        sent: sum(octets + around_octets for octets in message_octets(flow, bits))
        for bits, sent in zip(lengths_of(flow.frames), lengths_of(frames), strict=True)
    }
    volumes_of = tuple(sorted(volumes.items()))
    return Shaping(
        rate_bps=bucket.rate_bps,
        burst_octets=bucket.burst_octets,
        phase_ps=phase_ps or 0,
        volumes=volumes_of,
    )


def _replayed(flow: Flow, trial: Trial, where: str) -> tuple[Flow, TraceMessages | None]:
    """Return a flow with the messages of its trace that it may send in a trial.

    A trace that is not begun at random, and not repeated in the trial, is cut at its end.
    """
    arrivals = flow.arrivals
    if not isinstance(arrivals, TraceArrivals):
        return flow, None
    trace, phases = trial.traces[arrivals.sha256], trial.scenario.phases
    count = trace.messages
    if arrivals.offset_ps is not None:
        last_ps = arrivals.offset_ps + (phases.stop_ps - phases.begin_ps) * arrivals.speed
        needed = max(2, int(np.searchsorted(trace.times_ps, last_ps, side="right")))
        needed = max(needed, int(np.searchsorted(trace.times_ps, trace.times_ps[0], "right")) + 1)
        if needed < count:
            count, arrivals = needed, replace(arrivals, messages=needed, repeat_ps=None)
    _check_replayed(count, where)
    times_ps = trace.times_ps[:count]
    kinds: tuple[int, ...] = ()
    if trace.octets is not None:
        kinds = tuple(np.unique(trace.octets, return_inverse=True)[1][:count].tolist())
    gaps_ps = tuple(np.diff(times_ps, prepend=0).tolist())
    return replace(flow, arrivals=arrivals), TraceMessages(gaps_ps=gaps_ps, kinds=kinds)


def _check_replayed(messages: int, where: str) -> None:
    """Refuse more messages of traces than a host takes."""
    if messages > MOST_REPLAYED:
        allowed = (
            f"expected at most {MOST_REPLAYED} from a host in a measurement: a shorter trial, or"
            " a shorter trace where its offset is random or it is repeated"
        )
        raise InputError.of(where, "arrivals.trace", f"{messages} messages", allowed)


def _traffic(
    flow: Flow,
    messages: TraceMessages | None,
    port: str,
    laboratory: Laboratory,
    where: str,
    *,
    around_octets: int,
) -> FlowTraffic:
    if flow.transfer is not None:
        job = flow.transfer.job
        if flow.transfer.ipx is not None:
            raise InputError.of(
                where, "transfer.ipx", "given", "expected tcp: IPX is only simulated"
            )
        if job.file is not None:
            return FileFlowTraffic(file=job.file)
        return TransferFlowTraffic(octets=None if job.stream is None else job.stream.octets)
    if flow.calls is not None:
        allowed = "must be absent in a measurement: hosts send from its begin to its end"
        raise InputError.of(where, "calls", "(given)", allowed)
    if is_voice(flow):
        return _voice(flow, port, laboratory, where)
    framing, address = flow.framing, laboratory.stations[flow.from_].address
    tag = tag_octets(flow, port)
    frames = _frames(flow.frames, framing, port, address, where, tag=tag)
    shaping = _shaping(flow, frames, around_octets=around_octets)
    source = MessageSource(frames=frames, arrivals=flow.arrivals, shaping=shaping, trace=messages)
    response = flow.response
    if response is None:
        real_time = not is_saturated(flow) and not laboratory.is_one_machine
        return StreamFlowTraffic(source=source, real_time=real_time)
    if response.address not in {"unicast", flow.address}:
        allowed = (
            f'expected "unicast", or "{flow.address}" as in flows.cast: an agent answers who'
            " asked, or the group that was asked, all of which has granted"
        )
        raise InputError.of(where, "response.cast", response.address, allowed)
    if response.retransmit is not None:
        allowed = "must be absent in a measurement: agents send each request once"
        raise InputError.of(where, "response.retransmit", "(given)", allowed)
    lengths = None
    if not isinstance(flow.frames, FixedLengths) or response.frames != flow.frames:
        lengths = _frames(
            response.frames, framing, port, address, where, tag=tag, within="response."
        )
    return ExchangeFlowTraffic(
        source=source,
        timeout_ns=(response.timeout_ps or TIMEOUT_NS * PS_PER_NS) // PS_PER_NS,
        response=Responses(frames=lengths, think=response.think),
    )


def _voice(flow: Flow, port: str, laboratory: Laboratory, where: str) -> StreamFlowTraffic:
    """Return a coder's packets with lengths of frames as the port makes them."""
    framing, address = flow.framing, laboratory.stations[flow.from_].address
    frames, is_data = flow.frames, framing != "frame"
    assert isinstance(frames, SamplesLengths), "packets of a coder hold samples"
    if port not in ("udp", "packet"):
        allowed = 'expected "udp" or "packet" with a coder, which needs to know when a packet left'
        raise InputError.of(where, "port", json.dumps(port), allowed)
    # Raw frames of data are as long as those that UDP over IPv4 would make.
    own = around_octets(port, address)
    around = (
        (own if port == "udp" else AROUND_DATA_OCTETS + IP_HEADER_OCTETS + UDP_HEADER_OCTETS)
        if is_data
        else 0
    )
    tag = tag_octets(flow, port)
    lengths = SamplesLengths(
        overhead_bits=frames.overhead_bits + 8 * (around + tag),
        min_bits=frames.min_bits + 8 * (around + tag),
        max_bits=frames.max_bits + 8 * (around + tag),
    )
    least = max(64, own + VOICE_MARK_OCTETS) + tag
    if lengths.min_bits < 8 * least:
        given, least = frames.min_bits // 8, least - around - tag
        key = ("data" if is_data else "frames") + ".samples.least"
        allowed = (
            f"expected at least {least} B in a measurement: each packet of voice carries a mark "
            f"of {VOICE_MARK_OCTETS} octets"
        )
        raise InputError.of(where, key, f"{given} B", allowed)
    source = MessageSource(frames=lengths, arrivals=flow.arrivals)
    return StreamFlowTraffic(source=source, real_time=not laboratory.is_one_machine)


def _frames(
    frames: Lengths,
    framing: Framing,
    port: str,
    address: str,
    where: str,
    *,
    tag: int,
    within: str = "",
) -> Lengths:
    """Return the lengths of frames with all data of a message, before IP fragments them.

    `tag`: octets of the tag of each frame, included.
    """
    around = around_octets(port, address)
    is_data = framing != "frame"

    def length(bits: int) -> int:
        octets = bits // 8
        if not is_data:
            least, made = max(64, around + MARK_OCTETS), octets
        elif port in ("packet", "xdp"):
            # Raw frames as long as those that UDP would make.
            least, (made, *more) = 64, frame_octets(framing, octets)
            if more:
                allowed = f'expected data that fits into a frame with port = "{port}"'
                raise InputError.of(where, f"{within}data", f"{octets} B", allowed)
        else:
            least, made = around + MARK_OCTETS, octets + around
        if made < least:
            key, least = ("data", MARK_OCTETS) if is_data else ("frames", least)
            allowed = (
                f"expected at least {least} B in a measurement: each message carries a mark of "
                f"{MARK_OCTETS} octets"
            )
            raise InputError.of(where, within + key, f"{octets} B", allowed)
        return (made + tag) * 8

    match frames:
        case FixedLengths(bits=bits):
            return FixedLengths(bits=length(bits))
        case MixLengths(bits=sizes, weights=weights):
            return MixLengths(bits=tuple(map(length, sizes)), weights=weights)
        case SamplesLengths():
            raise AssertionError("only packets of a coder hold samples")
