"""[[flows]]: the messages that hosts send over a network; the same as in a plan, host by host."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from msgspec.structs import replace
from pydantic import Field, PlainValidator, WithJsonSchema

from ethermeter import scenario
from ethermeter.experiment.classes import Priority, TokenBucket
from ethermeter.experiment.frames import Frames, Samples, Sizes, frames_plan, sizes_of
from ethermeter.experiment.network import MOST_NODES, ExpandedNetwork, Name
from ethermeter.experiment.origin import Origin, lowered
from ethermeter.experiment.quantity import Table, complaint, distinct, read_as, written
from ethermeter.experiment.trace_files import TraceFiles
from ethermeter.experiment.traffic import (
    Arrivals,
    Generator,
    PoissonLoad,
    PythonSource,
    Times,
    TokenBucketSource,
    TraceSource,
    arrivals_plan,
    check_saturation,
    generator_plan,
    times_plan,
    trace_of,
    trace_plan,
    trace_sizes,
)
from ethermeter.experiment.transfers import Transfer, transfer_plan
from ethermeter.experiment.voice import Coded, check_flow, coder_plan, samples_plan, talks
from ethermeter.faults import Faults, KeyPath, choices, shown
from ethermeter.framing import message_octets
from ethermeter.scenario import Framing, FramingTable, Udp
from ethermeter.traces import Trace
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
    """Response of each receiver to a message."""

    frames: Frames | None = None
    """Lengths of the response, destination address to FCS, if the flow has `frames`; the length of
    the request if absent.
    """
    data: Frames | None = None
    """Lengths of the UDP data of the response, if the flow has `data`; the length of the request if
    absent.
    """
    think: Times = written("0 s")
    """Time between a request and its response; a receiver handles one request at a time."""
    timeout: Annotated[int, *read_as(scenario.Response, "timeout_ps")] | None = None
    """Time after which the sender continues without the missing responses. If absent, a simulation
    has no timeout and a measurement one of 1 s.
    """
    exchanges: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """Wanted number of exchanges of a measured trial; with fewer, its values have the caution
    `few-samples`. Simulations ignore it.
    """


class Flow(Table):
    """Messages or a transfer from a host, or from each host of a group."""

    name: Name | None = None
    """Name of the flow; "flow-0", "flow-1", … if absent. If hosts of groups send or receive, the
    name of each flow has the names of its hosts as well.
    """
    source: Annotated[str, Field(alias="from")]
    """Name of the host that sends, or of a group each of whose hosts sends."""
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
    """Addressing: "unicast" is a flow to each of the receivers, "multicast" and "broadcast" send
    each message to all of them.
    """
    pairs: Literal["all", "in order"] | None = None
    """Pairs of hosts of a unicast flow from several hosts to several, which needs it: "all" is each
    to each, "in order" the first to the first and so on.
    """
    port: Literal["udp", "packet", "xdp", "tcp"] = "udp"
    """Socket type of the hosts in a measurement; simulations ignore it. "tcp" is refused for
    messages that are simulated; transfers have no other.
    """
    frames: Frames | None = None
    """Lengths of frames, destination address to FCS, 19 B to 65507 B; instead of `data`."""
    data: Frames | None = None
    """Lengths of the data of UDP datagrams, 1 B to 65507 B; instead of `frames`. Data longer than
    `mtu` allows are fragmented.
    """
    mtu: Annotated[int, *read_as(scenario.Udp, "mtu_octets")] | None = None
    """Longest IP packet, 68 B to 65535 B; with `data` only. 1500 B if absent."""
    arrivals: Arrivals | None = None
    """Arrival process of the messages; required without `transfer`. With `response`, "saturated"
    sends a message when the one before is answered.
    """
    generator: Generator | None = None
    """Process that fills the buffers of a saturated host; there is always a message if absent."""
    queue: Annotated[int | None, *read_as(scenario.Flow, "queue_frames")] = written("unlimited")
    """Room of the queue at the source in messages, the one being handed over included; not with
    saturated arrivals, a token bucket or a coder.
    """
    service: Times = written("0 s")
    """Host time between two messages."""
    response: Response | None = None
    """Responses of the receivers; none if absent."""
    priority: Priority | None = None
    """Priority code point of all frames of the flow, whose tag is 4 octets. If absent the frames
    have no tag, which counts as priority 0.
    """
    shaper: TokenBucket | None = None
    """Token bucket in which messages wait at the host; none if absent."""
    transfer: Transfer | None = None
    """Data over TCP instead of messages; excludes `frames`, `data`, `mtu`, `arrivals`, `generator`,
    `queue`, `service`, `response` and `shaper`.
    """


MTU_OCTETS = 1500
"""Longest IP packet in a frame (RFC 894)."""
MOST_DATA_OCTETS = 65_507
"""Data of the longest datagram, and the longest frame that is simulated."""
SHORTEST_FRAME_OCTETS = 19
"""A frame has an octet at least besides addresses, type and check sequence."""


@dataclass(frozen=True, slots=True)
class ExpandedFlow:
    """A flow of a table, with what only a measurement needs of it."""

    flow: scenario.Flow
    origin: Origin
    port: str
    exchanges: int | None
    """Wanted of a trial that is measured; None if any number will do."""


def expanded_flows(
    flow: Flow,
    index: int,
    network: ExpandedNetwork,
    *,
    engines: Sequence[str],
    files: TraceFiles,
    file: str,
) -> list[ExpandedFlow]:
    """Return the flows of a table, one for each sender or pair of hosts.

    `files` has those that are named in the table, `index` the number of the table in its file.

    Raises
    ------
    InputError
        With everything in it that contradicts itself.

    """
    return _Maker(flow, network, engines, files, Faults(file, ("flows", index))).made()


@dataclass(frozen=True, slots=True)
class _Maker:
    """The flows of a table in the making, with the faults found so far."""

    flow: Flow
    network: ExpandedNetwork
    engines: Sequence[str]
    files: TraceFiles
    faults: Faults

    def made(self) -> list[ExpandedFlow]:
        flow = self.flow
        port = flow.port if flow.transfer is None else "tcp"
        exchanges = None if flow.response is None else flow.response.exchanges
        ends = self._ends()
        if flow.transfer is not None:
            self._check_transfer()
        else:
            self._check_messages()
        self.faults.raise_all()
        made: list[ExpandedFlow] = []
        links = {end.node: link for link in reversed(self.network.every_link) for end in link.ends}
        known: dict[tuple[int, ...], scenario.Flow | None] = {}
        for name, sender, receivers in ends:
            link = links[sender]
            key = link.ps_per_octet, link.preamble_octets, link.gap_octets
            if key not in known:
                known[key] = self.faults.of(partial(self._sent, link))
            if (sent := known[key]) is not None:
                sent = replace(sent, name=name, from_=sender, to=tuple(receivers))
                made.append(ExpandedFlow(sent, Origin(self.faults.within), port, exchanges))
        self.faults.raise_all()
        return made

    def _hosts_of(self, name: str, key: KeyPath) -> list[str]:
        kinds, members = self.network.kinds, self.network.members
        found = members.get(name) or ([name] if kinds.get(name) == "host" else [])
        if not found:
            hosts = [name for name, kind in kinds.items() if kind == "host"]
            what = (
                f"a host; {name} is a {kinds[name]}"
                if name in kinds
                else "the name of a host or of a group of hosts"
            )
            allowed = choices(name, [*members, *hosts], f"expected {what}: ")
            self.faults.add(key, shown(name), allowed)
        return found

    def _ends(self) -> list[tuple[str, str, list[str]]]:
        """Return the name, the sender and the receivers of every flow of the table."""
        flow, groups, tree = self.flow, self.network.groups, self.network.tree
        senders = self._hosts_of(flow.source, ("from",))
        receivers = [
            host
            for at, name in enumerate(flow.to)
            for host in self._hosts_of(name, ("to", at) if len(flow.to) > 1 else ("to",))
        ]
        repeated = next((host for at, host in enumerate(receivers) if host in receivers[:at]), None)
        if repeated is not None:
            self.faults.add(("to",), shown(repeated), "expected each receiver once")
        self.faults.raise_all()
        pairs = self._pairs(senders, receivers)
        for sender, to in pairs:
            for receiver in to:
                if tree[sender] != tree[receiver]:
                    allowed = f"expected a host to which links lead from {sender}"
                    self.faults.add(("to",), shown(receiver), allowed)
        self.faults.raise_all()
        if flow.priority is not None:
            self._check_priority(pairs)
        has_senders = flow.source in groups
        has_receivers = (len(flow.to) > 1 or flow.to[0] in groups) and flow.cast == "unicast"
        ends = []
        for sender, to in pairs:
            parts = [flow.name or f"flow-{self.faults.within[1]}", *[sender] * has_senders]
            if has_receivers:
                parts += ["to", *to] if has_senders else to
            ends.append((" ".join(parts), sender, to))
        return ends

    def _check_priority(self, pairs: list[tuple[str, list[str]]]) -> None:
        """Find a priority that no port on the paths heeds."""
        paths = ((sender, receiver) for sender, to in pairs for receiver in to)
        if not any(self.network.has_classes_between(*ends) for ends in paths):
            allowed = (
                "expected classes at a port on its path, such as network.classes = 8, or no "
                "priority: ports with one queue ignore it"
            )
            self.faults.add(("priority",), self.flow.priority, allowed)

    def _pairs(self, senders: list[str], receivers: list[str]) -> list[tuple[str, list[str]]]:
        """Return each sender with its receivers."""
        flow = self.flow
        if flow.cast != "unicast":
            if flow.pairs is not None:
                allowed = f"not allowed with {flow.cast}, which goes to all of them"
                raise self.faults.error(("pairs",), shown(flow.pairs), allowed)
            found = [(sender, [host for host in receivers if host != sender]) for sender in senders]
        elif flow.pairs == "in order":
            counts = len(receivers), len(senders)
            if counts[0] != counts[1]:
                allowed = "expected as many receivers as senders, got {} and {}".format(*counts)
                raise self.faults.error(("pairs",), shown(flow.pairs), allowed)
            found = [(one, [other]) for one, other in zip(senders, receivers, strict=True)]
        elif flow.pairs is None and len(senders) > 1 and len(receivers) > 1:
            allowed = (
                f'required: "all", each of {len(senders)} senders to each of {len(receivers)}'
                ' receivers, or "in order"'
            )
            raise self.faults.error(("pairs",), "(missing)", allowed)
        else:
            found = [(one, [other]) for one in senders for other in receivers if one != other]
        if not found or any(not to or sender in to for sender, to in found):
            value = shown(flow.to if len(flow.to) > 1 else flow.to[0])
            raise self.faults.error(("to",), value, "expected another host than the one that sends")
        if len(found) > MOST_FLOWS:
            raise self.faults.error(
                ("to",), f"{len(found)} flows", f"expected at most {MOST_FLOWS}"
            )
        return found

    def _sent(self, link: scenario.Link) -> scenario.Flow:
        """Return a flow as in a plan, with neither name nor ends; `link` is that of its sender."""
        flow = self.flow
        if flow.transfer is not None:
            return scenario.Flow(
                name="", from_="", transfer=transfer_plan(flow.transfer), priority=flow.priority
            )
        key, lengths = ("frames", flow.frames) if flow.data is None else ("data", flow.data)
        framing: Framing = "frame"
        if flow.data is not None:
            framing = FramingTable(udp=Udp(mtu_octets=flow.mtu or MTU_OCTETS))
        bare = scenario.Flow(name="", from_="", framing=framing, priority=flow.priority)
        if (service := times_plan(flow.service)) != bare.service:
            bare = replace(bare, service=service)
        if isinstance(flow.arrivals, Coded):
            coder = flow.arrivals.coder
            return replace(
                bare, frames=samples_plan(lengths), arrivals=coder_plan(coder), codec=coder.codec
            )
        trace = trace_of(flow.arrivals, self.files)
        given = {"frames": flow.frames, "data": flow.data}
        sizes: Sizes | None = trace_sizes(trace, flow.arrivals, given, self.faults)
        if sizes is None:
            sizes = self._sizes(lengths, (key,))
        self._check_bucket(sizes, bare, link)
        return replace(
            bare,
            shaper=None if flow.shaper is None else lowered(scenario.Shaper, flow.shaper),
            address=flow.cast,
            frames=frames_plan(sizes),
            arrivals=self._arrivals(sizes, bare, link, trace),
            generator=generator_plan(flow.generator),
            queue_frames=flow.queue,
            response=self._response(key, sizes),
        )

    def _response(self, key: str, request: Sizes) -> scenario.Response | None:
        """Return a response as in a plan; as long as the request if its length is not given."""
        response = self.flow.response
        if response is None:
            return None
        frames = getattr(response, key)
        if frames is None and len(request) > 1:
            allowed = "required: requests are of several lengths"
            raise self.faults.error(("response", key), "(missing)", allowed)
        sizes = request if frames is None else self._sizes(frames, ("response", key))
        return scenario.Response(
            frames=frames_plan(sizes), think=times_plan(response.think), timeout_ps=response.timeout
        )

    def _sizes(self, frames: Frames | None, key: KeyPath) -> Sizes:
        """Return lengths in bits with their weights."""
        sizes = sizes_of(frames, folder=self.files.folder)
        least = 1 if key[-1] == "data" else SHORTEST_FRAME_OCTETS
        for bits, _ in sizes:
            if bits % 8 or not least <= bits // 8 <= MOST_DATA_OCTETS:
                allowed = f"expected whole octets, from {least} B to {MOST_DATA_OCTETS} B"
                raise self.faults.error(key, f"{bits} bit", allowed)
        return sizes

    def _check_bucket(self, sizes: Sizes, flow: scenario.Flow, link: scenario.Link) -> None:
        """Find a token bucket that does not hold the longest message."""
        given: TokenBucket | None = self.flow.shaper
        key: KeyPath = ("shaper", "burst")
        if isinstance(self.flow.arrivals, TokenBucketSource):
            given, key = self.flow.arrivals.token_bucket, ("arrivals", "token_bucket", "burst")
        if given is None:
            return
        longest = max(_volume_octets(flow, bits, link) for bits, _ in sizes)
        if given.burst < longest:
            allowed = (
                f"expected at least the longest message: {longest} B on the wire, with preambles "
                "and gaps"
            )
            raise self.faults.error(key, f"{given.burst} B", allowed)

    def _arrivals(
        self, sizes: Sizes, flow: scenario.Flow, link: scenario.Link, trace: Trace | None
    ) -> scenario.Arrivals:
        arrivals = self.flow.arrivals
        assert arrivals is not None, "checked"
        if trace is not None and isinstance(arrivals, TraceSource):
            return trace_plan(trace, arrivals, self.faults)
        if not isinstance(arrivals, PoissonLoad):
            return arrivals_plan(arrivals)
        load = arrivals.poisson_load
        octets = sum(weight * _volume_octets(flow, bits, link) for bits, weight in sizes)
        mean_ps = octets / sum(weight for _, weight in sizes) * link.ps_per_octet / load
        if not 1000 <= mean_ps <= LONGEST_PS:
            allowed = "expected a load at which a message comes from every 1 ns to every 1000 s"
            raise self.faults.error(("arrivals", "poisson_load"), f"{float(load):g}", allowed)
        return scenario.PoissonArrivals(mean_ps=float(mean_ps))

    def _check_transfer(self) -> None:
        """Find keys that do not fit a transfer."""
        flow = self.flow
        for key in _OF_MESSAGES:
            if key in flow.model_fields_set:
                self.faults.add((key,), "given", "not allowed with transfer, which has no messages")
        if flow.cast != "unicast":
            self.faults.add(("cast",), shown(flow.cast), 'expected "unicast" with transfer')
        if flow.port != "tcp" and "port" in flow.model_fields_set:
            self.faults.add(
                ("port",), shown(flow.port), 'expected "tcp", or nothing, with transfer'
            )

    def _check_messages(self) -> None:
        """Find keys that contradict each other."""
        flow, wrong = self.flow, self.faults.add
        if flow.arrivals is None:
            wrong(("arrivals",), "(missing)", "required")
        has_one_length = (flow.frames is None) != (flow.data is None)
        # Whether a trace has lengths is known when it is read.
        may_have_none = isinstance(flow.arrivals, TraceSource)
        if not has_one_length and (flow.frames is not None or not may_have_none):
            value = "(missing)" if flow.data is None else "frames, data"
            wrong((), value, "expected exactly one of frames and data")
        elif flow.response is not None and has_one_length:
            wanted, other = ("data", "frames") if flow.data is not None else ("frames", "data")
            if getattr(flow.response, other) is not None:
                allowed = f"not allowed: the flow has {wanted}, and so has its response"
                wrong(("response", other), "given", allowed)
        if flow.mtu is not None and flow.data is None:
            wrong(("mtu",), f"{flow.mtu} B", "allowed with data only")
        for key in ("frames", "data") if flow.response is not None else ():
            if isinstance(getattr(flow.response, key), Samples):
                allowed = "not allowed here: only a coder's packets have samples"
                wrong(("response", key), "samples", allowed)
        if has_one_length:
            mtu_octets = flow.mtu or MTU_OCTETS
            check_flow(flow, self.faults, mtu_octets=mtu_octets, most_octets=MOST_DATA_OCTETS)
        if flow.shaper is not None and isinstance(flow.arrivals, Coded | TokenBucketSource):
            allowed = "not allowed with a coder, which waits for the wire, or a token bucket"
            wrong(("shaper",), "given", allowed)
        if isinstance(flow.arrivals, PythonSource):
            allowed = (
                "expected no generator in Python in a network: only stations of a segment have one"
            )
            wrong(("arrivals", "python"), shown(flow.arrivals.python), allowed)
        generator = None if talks(flow) else flow.generator
        check_saturation(flow.arrivals, flow.queue, generator, self.faults)
        if flow.port == "tcp" and "simulation" in self.engines and not talks(flow):
            allowed = (
                'expected "udp", "packet" or "xdp" where run.engines has "simulation": a flow of'
                " messages over TCP is only measured; a transfer over TCP is simulated"
            )
            wrong(("port",), '"tcp"', allowed)


def _volume_octets(flow: scenario.Flow, bits: int, link: scenario.Link) -> int:
    """Return the octets of a message on the wire of its sender: preambles, frames and gaps."""
    around = link.preamble_octets + link.gap_octets
    return sum(octets + around for octets in message_octets(flow, bits))


_OF_MESSAGES = (
    *("frames", "data", "mtu", "arrivals", "generator", "queue", "service", "response"),
    "shaper",
)
