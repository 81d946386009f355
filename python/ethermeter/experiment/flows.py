"""[[flows]]: the messages that hosts send over a network; the same as in a plan, host by host."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec.structs import replace
from pydantic import Field, PlainValidator, WithJsonSchema

from ethermeter import scenario
from ethermeter.experiment.frames import Frames, Samples, Sizes, frames_plan, sizes_of
from ethermeter.experiment.network import MOST_NODES, ExpandedNetwork, Name
from ethermeter.experiment.origin import Origin
from ethermeter.experiment.quantity import PositiveTime, Table, complaint, distinct, octets, written
from ethermeter.experiment.stations import room
from ethermeter.experiment.traffic import (
    Arrivals,
    Generator,
    PoissonLoad,
    Times,
    arrivals_plan,
    generator_plan,
    times_plan,
)
from ethermeter.experiment.transfers import Transfer, transfer_plan
from ethermeter.experiment.voice import Coded, coder_plan, flow_faults, samples_plan, talks
from ethermeter.faults import Fault, InputError, KeyPath, dotted, shown
from ethermeter.framing import frame_octets
from ethermeter.scenario import Framing, FramingTable, Udp
from ethermeter.units import LONGEST_PS

MOST_FLOWS = 10_000
"""Flows a network may have."""

PORTS = ("udp", "packet", "xdp", "tcp")
"""By what hosts send when a flow is measured."""


def _names(value: object) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if (
        not isinstance(names, list)
        or not 1 <= len(names) <= MOST_NODES
        or not all(isinstance(name, str) and len(name) <= 64 for name in names)
    ):
        raise complaint("expected the name of a host or of a group, or a list of names")
    return distinct(names)


class Response(Table):
    """What each receiver answers."""

    frames: Frames | None = None
    """Lengths of the answer's frame, destination address to FCS; those of the request if absent."""
    data: Frames | None = None
    """The same of the answer's UDP data; as the flow has it."""
    think: Times = written("0 s")
    """From the coming of the message, or the last answer, to the answer."""
    timeout: PositiveTime | None = None
    """After so long the sender goes on without; never if absent."""
    exchanges: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """Wanted of a trial that is measured, which has a caution with fewer; a simulation takes no
    notice of it.
    """


class Flow(Table):
    """Messages from a host, or from each host of a group."""

    name: Name | None = None
    """Name of the flow; of a group, every flow is called by it and its host."""
    source: Annotated[str, Field(alias="from")]
    """Name of the host that sends, or of a group each of whose hosts does."""
    to: Annotated[
        list[str],
        PlainValidator(_names),
        WithJsonSchema(
            {
                "oneOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                ]
            }
        ),
    ]
    """Name of the host that receives, or of a group, or a list of these."""
    cast: Literal["unicast", "multicast", "broadcast"] = "unicast"
    """How they are addressed: one by one, or all together."""
    pairs: Literal["all", "in order"] | None = None
    """Unicast from several to several: each to each other, or the first to the first and so on."""
    port: Literal["udp", "packet", "xdp", "tcp"] = "udp"
    """By what hosts send when the flow is measured; a simulation takes no notice of it."""
    frames: Frames | None = None
    """Lengths of frames, destination address to FCS."""
    data: Frames | None = None
    """Lengths of the data of UDP datagrams, instead of `frames`; what is longer than fits goes in
    fragments.
    """
    mtu: Annotated[int, *octets(least=68, most=65_535)] | None = None
    """Longest IP packet, with `data`; 1500 B if absent."""
    arrivals: Arrivals | None = None
    """When messages come; saturated with a response: when the one before is answered.

    Required but with a transfer.
    """
    generator: Generator | None = None
    """The process behind a saturated source."""
    queue: Annotated[int | None, *room(1_000_000)] = written("unlimited")
    """Messages there is room for at the source, the one being handed over included."""
    service: Times = written("0 s")
    """Host time between messages."""
    response: Response | None = None
    """What receivers answer; nothing if absent."""
    transfer: Transfer | None = None
    """Data over TCP in place of messages: without frames, data, arrivals and whatever else belongs
    to messages.
    """


MTU_OCTETS = 1500
"""Longest IP packet in a frame (RFC 894)."""
MOST_DATA_OCTETS = 65_507
"""Data of the longest datagram, and the longest frame that is simulated."""
SHORTEST_FRAME_OCTETS = 19
"""A frame has an octet at least besides addresses, type and check sequence."""


@dataclass(frozen=True, slots=True)
class ExpandedFlow:
    """A flow of a table, with what only a measurement needs of it.

    Parameters
    ----------
    flow
        As in a plan.
    origin
        Where the file sets its values.
    port
        By what hosts send when it is measured.
    exchanges
        How many are wanted of a trial that is measured; None if any number will do.

    """

    flow: scenario.Flow
    origin: Origin
    port: str
    exchanges: int | None


def expanded_flows(
    flow: Flow,
    index: int,
    wired: ExpandedNetwork,
    *,
    engines: Sequence[str],
    folder: Path,
    file: str,
) -> list[ExpandedFlow]:
    """Return the flows of a table, one for each sender or pair of hosts.

    Parameters
    ----------
    flow, index
        The table, and which of the file it is.
    wired
        The network over which they go.
    engines
        Engines that answer.
    folder
        Where files named in it are looked for.
    file
        What faults call the file.

    Raises
    ------
    InputError
        With everything in it that contradicts itself.

    """
    place: KeyPath = ("flows", index)
    ends = _ends(flow, place, wired, file=file)
    port = flow.port if flow.transfer is None else "tcp"
    exchanges = None if flow.response is None else flow.response.exchanges
    made: list[ExpandedFlow] = []
    faults: list[Fault] = []
    known: dict[tuple[int, ...], scenario.Flow] = {}
    for name, sender, receivers in ends:
        link = _link_of(sender, wired)
        key = link.ps_per_octet, link.preamble_octets, link.gap_octets
        try:
            if key not in known:
                known[key] = _sent(flow, place, link, engines, folder, file)
            sent = replace(known[key], name=name, from_=sender, to=tuple(receivers))
            made.append(ExpandedFlow(sent, Origin(place), port, exchanges))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(dict.fromkeys(faults))
    return made


def _ends(
    flow: Flow, place: KeyPath, wired: ExpandedNetwork, *, file: str
) -> list[tuple[str, str, list[str]]]:
    """Return the name, the sender and the receivers of every flow that a table stands for."""
    kinds = wired.kinds
    faults: list[Fault] = []

    def hosts_of(name: str, key: KeyPath) -> list[str]:
        found = wired.members.get(name) or ([name] if kinds.get(name) == "host" else [])
        if not found:
            known = ", ".join(
                dict.fromkeys(
                    [*wired.members, *(name for name, kind in kinds.items() if kind == "host")]
                )
            )
            what = (
                f"a host; {name} is a {kinds[name]}"
                if name in kinds
                else "the name of a host or of a group of hosts"
            )
            faults.append(
                Fault(file, dotted((*place, *key)), shown(name), f"expected {what}: {known}")
            )
        return found

    senders = hosts_of(flow.source, ("from",))
    receivers = [
        host
        for at, name in enumerate(flow.to)
        for host in hosts_of(name, ("to", at) if len(flow.to) > 1 else ("to",))
    ]
    if (
        twice := next((host for at, host in enumerate(receivers) if host in receivers[:at]), None)
    ) is not None:
        faults.append(
            Fault(file, dotted((*place, "to")), shown(twice), "expected each receiver once")
        )
    if faults:
        raise InputError(faults)
    found = _pairs(flow, place, senders, receivers, file=file)
    for sender, to in found:
        for receiver in to:
            if wired.tree[sender] != wired.tree[receiver]:
                faults.append(
                    Fault(
                        file,
                        dotted((*place, "to")),
                        shown(receiver),
                        f"expected a host to which links lead from {sender}",
                    )
                )
    if faults:
        raise InputError(faults)
    name = flow.name or (f"flow-{place[1]}")
    several_senders, several_receivers = (
        flow.source in wired.groups,
        len(flow.to) > 1 or flow.to[0] in wired.groups,
    )
    names = []
    for sender, to in found:
        parts = [name, *([sender] if several_senders else [])]
        if several_receivers and flow.cast == "unicast":
            parts += ["to", *to] if several_senders else to
        names.append(" ".join(parts))
    return [(name, sender, to) for name, (sender, to) in zip(names, found, strict=True)]


def _pairs(
    flow: Flow, place: KeyPath, senders: list[str], receivers: list[str], *, file: str
) -> list[tuple[str, list[str]]]:
    """Return each sender with its receivers."""

    def wrong(key: str, value: str, allowed: str) -> InputError:
        return InputError([Fault(file, dotted((*place, key)), value, allowed)])

    if flow.cast != "unicast":
        if flow.pairs is not None:
            raise wrong(
                "pairs",
                shown(flow.pairs),
                f"not allowed with {flow.cast}, which goes to all of them",
            )
        found = [(sender, [host for host in receivers if host != sender]) for sender in senders]
    elif flow.pairs == "in order":
        if len(senders) != len(receivers):
            allowed = (
                f"expected as many receivers as senders, got {len(receivers)} and {len(senders)}"
            )
            raise wrong("pairs", shown(flow.pairs), allowed)
        found = [(sender, [receiver]) for sender, receiver in zip(senders, receivers, strict=True)]
    elif flow.pairs is None and len(senders) > 1 and len(receivers) > 1:
        allowed = (
            f'required: "all", each of {len(senders)} senders to each of {len(receivers)}'
            ' receivers, or "in order"'
        )
        raise wrong("pairs", "(missing)", allowed)
    else:
        found = [
            (sender, [receiver])
            for sender in senders
            for receiver in receivers
            if sender != receiver
        ]
    if not found or any(not to or sender in to for sender, to in found):
        raise wrong(
            "to",
            shown(flow.to if len(flow.to) > 1 else flow.to[0]),
            "expected another host than the one that sends",
        )
    if len(found) > MOST_FLOWS:
        raise wrong("to", f"{len(found)} flows", f"expected at most {MOST_FLOWS}")
    return found


def _sent(
    flow: Flow,
    place: KeyPath,
    link: scenario.Link,
    engines: Sequence[str],
    folder: Path,
    file: str,
) -> scenario.Flow:
    """Return a flow as in a plan, with neither name nor ends; `link` is that of its sender."""
    if flow.transfer is not None:
        if faults := _strange_to_transfers(flow, place, file=file):
            raise InputError(faults)
        return scenario.Flow(name="", from_="", transfer=transfer_plan(flow.transfer))
    if faults := _contradictions(flow, place, engines=engines, file=file):
        raise InputError(faults)
    has_data = flow.data is not None
    framing: Framing = "frame"
    if has_data:
        mtu_octets = flow.mtu if flow.mtu is not None else MTU_OCTETS
        framing = FramingTable(udp=Udp(mtu_octets=mtu_octets))
    bare = scenario.Flow(name="", from_="", framing=framing)
    if (service := times_plan(flow.service)) != bare.service:
        bare = replace(bare, service=service)
    lengths = flow.data if has_data else flow.frames
    if isinstance(flow.arrivals, Coded):
        coder = flow.arrivals.coder
        return replace(
            bare, frames=samples_plan(lengths), arrivals=coder_plan(coder), codec=coder.codec
        )
    key = "data" if has_data else "frames"
    sizes = _sizes(lengths, (*place, key), is_data=has_data, folder=folder, file=file)
    return replace(
        bare,
        address=flow.cast,
        frames=frames_plan(sizes),
        arrivals=_arrivals(flow, place, sizes, framing, link, file=file),
        generator=generator_plan(flow.generator),
        queue_frames=flow.queue,
        response=_response(flow, place, sizes, folder=folder, file=file),
    )


def _response(
    flow: Flow, place: KeyPath, request: Sizes, *, folder: Path, file: str
) -> scenario.Response | None:
    """Return a response as in a plan; as long as the request where its length is not given."""
    response = flow.response
    if response is None:
        return None
    key = "frames" if flow.data is None else "data"
    frames = response.frames if flow.data is None else response.data
    path = (*place, "response", key)
    sizes = request
    if frames is not None:
        sizes = _sizes(frames, path, is_data=key == "data", folder=folder, file=file)
    elif len(request) > 1:
        allowed = "required: requests are of several lengths"
        raise InputError([Fault(file, dotted(path), "(missing)", allowed)])
    return scenario.Response(
        frames=frames_plan(sizes), think=times_plan(response.think), timeout_ps=response.timeout
    )


_OF_MESSAGES = ("frames", "data", "mtu", "arrivals", "generator", "queue", "service", "response")


def _strange_to_transfers(flow: Flow, place: KeyPath, *, file: str) -> list[Fault]:
    """Return what a flow that is a transfer may not say."""
    faults = [
        Fault(
            file, dotted((*place, key)), "given", "not allowed with transfer, which has no messages"
        )
        for key in _OF_MESSAGES
        if key in flow.model_fields_set
    ]
    if flow.cast != "unicast":
        faults.append(
            Fault(
                file, dotted((*place, "cast")), shown(flow.cast), 'expected "unicast" with transfer'
            )
        )
    if flow.port != "tcp" and "port" in flow.model_fields_set:
        faults.append(
            Fault(
                file,
                dotted((*place, "port")),
                shown(flow.port),
                'expected "tcp", or nothing, with transfer',
            )
        )
    return faults


def _contradictions(
    flow: Flow, place: KeyPath, *, engines: Sequence[str], file: str
) -> list[Fault]:
    faults: list[Fault] = []

    def wrong(key: Sequence[str], value: str, allowed: str) -> None:
        faults.append(Fault(file, dotted((*place, *key)), value, allowed))

    if flow.arrivals is None:
        wrong(("arrivals",), "(missing)", "required")
    both = flow.frames is not None and flow.data is not None
    if both or (flow.frames is None and flow.data is None):
        wrong(
            (), "frames, data" if both else "(missing)", "expected exactly one of frames and data"
        )
    elif flow.response is not None:
        wanted, other = ("data", "frames") if flow.data is not None else ("frames", "data")
        if getattr(flow.response, other) is not None:
            wrong(
                ("response", other),
                "given",
                f"not allowed: the flow has {wanted}, so the answer has",
            )
    if flow.mtu is not None and flow.data is None:
        wrong(("mtu",), f"{flow.mtu} B", "allowed with data only")
    if flow.response is not None:
        for key, frames in (("frames", flow.response.frames), ("data", flow.response.data)):
            if isinstance(frames, Samples):
                wrong(
                    ("response", key),
                    "samples",
                    "not allowed here: only a coder's packets have samples",
                )
    if (flow.frames is None) != (flow.data is None):
        mtu_octets = flow.mtu if flow.mtu is not None else MTU_OCTETS
        faults += flow_faults(
            flow, place, mtu_octets=mtu_octets, most_octets=MOST_DATA_OCTETS, file=file
        )
    saturated = flow.arrivals == "saturated"
    if saturated and flow.queue is not None:
        wrong(
            ("queue",),
            str(flow.queue),
            "not allowed with saturated arrivals, which never wait in a queue",
        )
    if not saturated and flow.generator is not None and not talks(flow):
        wrong(("generator",), "a generator", 'allowed with arrivals = "saturated" only')
    if flow.port == "tcp" and "simulation" in engines and not talks(flow):
        wrong(
            ("port",),
            '"tcp"',
            'expected "udp", "packet" or "xdp" where run.engines has "simulation", which knows'
            " no TCP",
        )
    return faults


def _sizes(
    frames: Frames | None, place: KeyPath, *, is_data: bool, folder: Path, file: str
) -> Sizes:
    """Return lengths in bits with their weights."""
    sizes = sizes_of(frames, folder=folder)
    least = 1 if is_data else SHORTEST_FRAME_OCTETS
    for bits, _ in sizes:
        if bits % 8 or not least <= bits // 8 <= MOST_DATA_OCTETS:
            allowed = f"expected whole octets, from {least} B to {MOST_DATA_OCTETS} B"
            raise InputError([Fault(file, dotted(place), f"{bits} bit", allowed)])
    return sizes


def _link_of(host: str, wired: ExpandedNetwork) -> scenario.Link:
    return next(link for link in wired.links if any(end.node == host for end in link.ends))


def _arrivals(
    flow: Flow,
    place: KeyPath,
    sizes: Sizes,
    framing: Framing,
    link: scenario.Link,
    *,
    file: str,
) -> scenario.Arrivals:
    assert flow.arrivals is not None, "checked"
    if not isinstance(flow.arrivals, PoissonLoad):
        return arrivals_plan(flow.arrivals)
    load = flow.arrivals.poisson_load
    # Of the sender's link: preambles, frames and gaps of a message.
    around = link.preamble_octets + link.gap_octets
    octets = sum(
        weight * sum(length + around for length in frame_octets(framing, bits // 8))
        for bits, weight in sizes
    )
    mean_ps = octets / sum(weight for _, weight in sizes) * link.ps_per_octet / load
    if not 1000 <= mean_ps <= LONGEST_PS:
        key = dotted((*place, "arrivals", "poisson_load"))
        allowed = "expected a load at which a message comes from every 1 ns to every 1000 s"
        raise InputError([Fault(file, key, f"{float(load):g}", allowed)])
    return scenario.PoissonArrivals(mean_ps=float(mean_ps))
