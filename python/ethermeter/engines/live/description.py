"""Description: a line of the plan as a test between agents."""

import ipaddress
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from ethermeter.engines.flow_voice import is_voice
from ethermeter.engines.live.laboratory import Laboratory
from ethermeter.faults import Fault, InputError
from ethermeter.framing import AROUND_DATA_OCTETS, IP_HEADER_OCTETS, UDP_HEADER_OCTETS, frame_octets
from ethermeter.scenario import (
    ConstantTimes,
    FixedLengths,
    Flow,
    Framing,
    Lengths,
    MixLengths,
    SamplesLengths,
    SaturatedArrivals,
    Scenario,
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
AT_ONCE = ConstantTimes(ps=0)
CLOCK = {"rate_bps": 1_000 * 96 * 8, "rate_frames_per_s": 1_000}
"""What comparing a sender's clock with a receiver's may take of both hosts' ceilings, either way
(`crates/agent/src/station/clocks.rs`).
"""
_USUAL_CEILINGS = {"rate_bps": 10_000_000_000, "rate_frames_per_s": 2_000_000}


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


def is_exchange(flow: Flow) -> bool:
    """Whether receivers answer."""
    return flow.response is not None


def is_transfer(flow: Flow) -> bool:
    """Whether it is octets over a connection of TCP instead of messages."""
    return flow.transfer is not None


def is_file(flow: Flow) -> bool:
    """Whether it is a file, block by block, over a connection of TCP."""
    return flow.transfer is not None and flow.transfer.job.file is not None


def is_saturated(flow: Flow) -> bool:
    """Whether its sender always has something to send."""
    return is_transfer(flow) or isinstance(flow.arrivals, SaturatedArrivals)


def around_octets(port: str, address: str) -> int:
    """Octets of a frame, destination address to FCS, that are not its port's data."""
    return _AROUND[port][ipaddress.ip_address(address).version == 6]


def describe(trial: Trial, laboratory: Laboratory, said: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a trial as a test.

    Parameters
    ----------
    trial
        The trial.
    laboratory
        Where it is measured.
    said
        What agents say of themselves, by host; consent is asked for as much as their ceilings have
        room for.

    Returns
    -------
    :
        JSON, as docs/live.md has it.

    Raises
    ------
    InputError
        With everything in the trial that cannot be measured, or not here.

    """
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
    phases = scenario.phases
    if phases.spread_ps:
        faults.append(
            Fault(
                trial.id,
                "phases.spread",
                f"{phases.spread_ps} ps",
                "expected 0 s of what is measured: hosts begin together",
            )
        )
    if not faults:
        flows, found = _flows(trial, laboratory, said)
        faults += found
    if faults:
        raise InputError(faults)
    transmit_ps = phases.stop_ps - phases.begin_ps
    from_ps, to_ps = (
        at_ps - phases.begin_ps for at_ps in (phases.measure_from_ps, phases.measure_to_ps)
    )
    return json.dumps(
        {
            "seed": trial.seed,
            "agents": [_agent(laboratory, name) for name in hosts_of(scenario)],
            "phases": {
                "settle_ns": phases.begin_ps // PS_PER_NS,
                "transmit_ns": transmit_ps // PS_PER_NS,
                "measure_from_ns": from_ps // PS_PER_NS,
                "measure_to_ns": to_ps // PS_PER_NS,
                "drain_ns": (phases.end_ps - phases.stop_ps) // PS_PER_NS + LINGER_NS,
                "batches": scenario.batches,
            },
            "flows": flows,
        }
    )


def _agent(laboratory: Laboratory, name: str) -> dict[str, Any]:
    station = laboratory.stations[name]
    said = {"name": name, "control": station.control, "address": station.address}
    return said if station.interface is None else {**said, "interface": station.interface}


def _flows(
    trial: Trial, laboratory: Laboratory, said: Mapping[str, Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[Fault]]:
    scenario = trial.scenario
    faults: list[Fault] = []
    shares = _shares(scenario, said)
    made = []
    for number, (name, flow, port) in enumerate(
        zip(flow_names(scenario), scenario.flows, trial.settings().ports, strict=True)
    ):
        try:
            traffic = _traffic(flow, port, laboratory, f"{trial.id}, flow {name}")
        except InputError as error:
            faults += error.faults
            continue
        is_group = flow.address != "unicast"
        made.append(
            {
                "name": name,
                "from": flow.from_,
                "to": flow.to if is_group else flow.to[0],
                **({"cast": flow.address} if is_group else {}),
                "port": port,
                **shares[number],
                **({} if flow.transfer is None else {"congestion": flow.transfer.tcp.congestion}),
                "attention": "spinning"
                if is_exchange(flow) and not laboratory.is_one_machine
                else "sleeping",
                "traffic": traffic,
            }
        )
    return made, faults


def selective_acknowledgements(scenario: Scenario) -> bool | None:
    """Whether hosts of a testbed acknowledge selectively; None where no flow is a transfer.

    Raises
    ------
    InputError
        If transfers differ: the setting is one of a host.

    """
    found = {flow.transfer.tcp.sack for flow in scenario.flows if flow.transfer is not None}
    if len(found) > 1:
        allowed = "expected the same of all flows of what is measured: a host acknowledges selectively or not"
        raise InputError([Fault("testbed", "flows.*.transfer.tcp.sack", "true and false", allowed)])
    return next(iter(found), None)


def _shares(scenario: Scenario, said: Mapping[str, Mapping[str, Any]]) -> list[dict[str, int]]:
    """Return what consent each flow asks for, there and back: of the ceilings of all hosts that
    take part in it, the least equal share.
    """
    flows_at = Counter(way for flow in scenario.flows for way in (*_there(flow), *_back(flow)))
    streams = {
        (flow.from_, to)
        for flow in scenario.flows
        if not is_exchange(flow) and not is_transfer(flow)
        for to in flow.to
    }
    clocks_at = Counter(host for pair in streams for host in pair)

    def share(of: list[tuple[str, str]], key: str) -> int:
        ceilings = {host: said.get(host, {}).get("ceilings") or _USUAL_CEILINGS for host, _ in of}
        return max(
            1,
            min(
                (int(ceilings[host][key]) - clocks_at[host] * CLOCK[key]) // flows_at[host, way]
                for host, way in of
            ),
        )

    asked = []
    for flow in scenario.flows:
        there, back = _there(flow), _back(flow)
        rates = {
            "most_bps": share(there, "rate_bps"),
            "most_frames_per_s": share(there, "rate_frames_per_s"),
        }
        if back:
            rates |= {
                "most_response_bps": share(back, "rate_bps"),
                "most_response_frames_per_s": share(back, "rate_frames_per_s"),
            }
        asked.append(rates)
    return asked


def _there(flow: Flow) -> list[tuple[str, str]]:
    """Hosts and directions in which a flow takes of their ceilings, once for each permission."""
    return [(flow.from_, "out"), *((host, "in") for host in flow.to)]


def _back(flow: Flow) -> list[tuple[str, str]]:
    """Return the same of its answers."""
    if not is_exchange(flow) and not is_file(flow):
        return []
    return [way for host in flow.to for way in ((host, "out"), (flow.from_, "in"))]


def _traffic(flow: Flow, port: str, laboratory: Laboratory, where: str) -> dict[str, Any]:
    if flow.transfer is not None:
        job = flow.transfer.job
        if job.file is not None:
            return {"kind": "file", "file": msgspec.to_builtins(job.file)}
        octets = None if job.stream is None else job.stream.octets
        return {"kind": "transfer", **({} if octets is None else {"octets": octets})}
    if is_voice(flow):
        return _voice(flow, port, laboratory, where)
    framing, address = flow.framing, laboratory.stations[flow.from_].address
    frames = _frames(flow.frames, framing, port, address, where)
    arrivals = msgspec.to_builtins(flow.arrivals)
    response = flow.response
    if response is None:
        real_time = not is_saturated(flow) and not laboratory.is_one_machine
        return {"kind": "stream", "frames": frames, "arrivals": arrivals, "real_time": real_time}
    answers: dict[str, Any] = {}
    if not isinstance(flow.frames, FixedLengths) or response.frames != flow.frames:
        answers["frames"] = _frames(
            response.frames, framing, port, address, where, within="response."
        )
    if response.think != AT_ONCE:
        answers["think"] = msgspec.to_builtins(response.think)
    timeout_ps = response.timeout_ps or TIMEOUT_NS * PS_PER_NS
    return {
        "kind": "exchange",
        "frames": frames,
        "arrivals": arrivals,
        "timeout_ns": timeout_ps // PS_PER_NS,
        **({"response": answers} if answers else {}),
    }


def _voice(flow: Flow, port: str, laboratory: Laboratory, where: str) -> dict[str, Any]:
    """Return a coder's packets as an agent is told them: lengths of frames as its port makes them."""
    framing, address = flow.framing, laboratory.stations[flow.from_].address
    frames, is_data = flow.frames, framing != "frame"
    assert isinstance(frames, SamplesLengths), "packets of a coder hold samples"
    if port not in ("udp", "packet"):
        allowed = 'expected "udp" or "packet" with a coder: of others nobody can tell when a packet has left'
        raise InputError([Fault(where, "port", json.dumps(port), allowed)])
    # Raw frames of data are as long as those that UDP over IPv4 would make.
    own = around_octets(port, address)
    around = (
        (own if port == "udp" else AROUND_DATA_OCTETS + IP_HEADER_OCTETS + UDP_HEADER_OCTETS)
        if is_data
        else 0
    )
    lengths = {
        "overhead_bits": frames.overhead_bits + 8 * around,
        "min_bits": frames.min_bits + 8 * around,
        "max_bits": frames.max_bits + 8 * around,
    }
    least = max(64, own + VOICE_MARK_OCTETS)
    if lengths["min_bits"] < 8 * least:
        said, least = frames.min_bits // 8, least - around
        allowed = f"expected at least {least} B of what is measured: each packet of voice carries a mark of {VOICE_MARK_OCTETS} octets"
        raise InputError(
            [
                Fault(
                    where,
                    ("data" if is_data else "frames") + ".samples.least",
                    f"{said} B",
                    allowed,
                )
            ]
        )
    return {
        "kind": "stream",
        "frames": {"kind": "samples", **lengths},
        "arrivals": msgspec.to_builtins(flow.arrivals),
        "real_time": not laboratory.is_one_machine,
    }


def _frames(
    frames: Lengths,
    framing: Framing,
    port: str,
    address: str,
    where: str,
    *,
    within: str = "",
) -> dict[str, Any]:
    """Lengths as an agent is told them: of a frame with all of the message's data, however many
    frames IP makes of it.
    """
    around = around_octets(port, address)
    is_data = framing != "frame"

    def length(bits: int) -> int:
        octets = bits // 8
        if not is_data:
            least, said = max(64, around + MARK_OCTETS), octets
        elif port in ("packet", "xdp"):
            # Raw frames as long as those that UDP would make.
            pieces = frame_octets(framing, octets)
            if len(pieces) > 1:
                raise InputError(
                    [
                        Fault(
                            where,
                            f"{within}data",
                            f"{octets} B",
                            f'expected data that fits into a frame with port = "{port}"',
                        )
                    ]
                )
            least, said = 64, pieces[0]
        else:
            least, said = around + MARK_OCTETS, octets + around
        if said < least:
            value, least = (octets, MARK_OCTETS) if is_data else (said, least)
            allowed = f"expected at least {least} B of what is measured: each message carries a mark of {MARK_OCTETS} octets"
            raise InputError(
                [Fault(where, within + ("data" if is_data else "frames"), f"{value} B", allowed)]
            )
        return said * 8

    match frames:
        case FixedLengths(bits=bits):
            return {"kind": "fixed", "bits": length(bits)}
        case MixLengths(bits=sizes, weights=weights):
            mixed = [length(bits) for bits in sizes]
            return {"kind": "mix", "bits": mixed, "weights": list(weights)}
        case SamplesLengths():
            raise AssertionError("only packets of a coder hold samples")
