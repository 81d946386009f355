"""[[flows]]: the messages that hosts send to hosts or onto their medium, and each as in a plan."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Literal

from msgspec.structs import replace

from ethermeter import scenario
from ethermeter.experiment.frames import Frames, Sizes, frames_plan, sizes_of
from ethermeter.experiment.network import MOST_NODES, ExpandedNetwork, Wire
from ethermeter.experiment.origin import Origin
from ethermeter.experiment.quantity import Form, Name, complaint, distinct, integer
from ethermeter.experiment.segment import Constants
from ethermeter.experiment.tables import FileTable, file_keys, lowered
from ethermeter.experiment.trace_files import TraceFiles
from ethermeter.experiment.traffic import (
    Arrivals,
    PoissonLoad,
    TraceSource,
    check_saturation,
    trace_of,
    trace_plan,
    trace_sizes,
)
from ethermeter.experiment.voice import Coder, check_voice, packets, talks
from ethermeter.faults import Faults, KeyPath, choices, shown
from ethermeter.scenario import FileKey, Framing, FramingTable, Udp
from ethermeter.traces import Trace
from ethermeter.trial import SIMULATION, Live
from ethermeter.units import LONGEST_PS

MOST_FLOWS = 20_000
"""Flows a network may have."""

PORTS = ("udp", "packet", "xdp", "tcp")
"""By what hosts send when a flow is measured."""


def _names(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if (
        not isinstance(names, list)
        or not 1 <= len(names) <= MOST_NODES
        or not all(isinstance(name, str) and len(name) <= 64 for name in names)
    ):
        raise complaint("expected the name of a host or of a group, or a list of names")
    distinct(names)
    return tuple(names)


RECEIVERS = Form(
    _names,
    {
        "oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]
    },
)
"""Form of the names of receivers: a name, or a list of names."""


class Response(FileTable, frozen=True, kw_only=True):
    """Response of each receiver to a message."""

    OF = (scenario.Response,)

    frames: Frames | None = None
    """Lengths of the response, destination address to FCS, if the flow has `frames`; the length of
    the request if absent.
    """
    data: Frames | None = None
    """Lengths of the UDP data of the response, if the flow has `data`; the length of the request if
    absent.
    """
    exchanges: Annotated[int, integer(1, 1_000_000_000)] | None = None
    """Wanted number of exchanges of a measured trial; with fewer, its values have the caution
    `few-samples`. Simulations ignore it.
    """


class Flow(FileTable, frozen=True, kw_only=True):
    """Messages or a transfer from a host, or from each host of a group."""

    OF = (scenario.Flow,)
    LEFT_OUT = frozenset({"calls"})
    ELSEWHERE = "it is of stations on a segment, not of flows in a network"

    name: Name | None = None
    """Name of the flow; "flow-0", "flow-1", … if absent. If hosts of groups send or receive, the
    name of each flow has the names of its hosts as well.
    """
    source: Annotated[str, FileKey("from")]
    """Name of the host that sends, or of a group each of whose hosts sends."""
    to: Annotated[tuple[str, ...], RECEIVERS]
    """Name of the host that receives, or of a group, or a list of these."""
    pairs: Literal["all", "in order", "in rotation"] | None = None
    """Pairs of hosts of a unicast flow from several hosts to several, which needs it: "all" is each
    to each, "in order" the first to the first and so on; "in rotation" is each to one, the first to
    the first and so on, but a host among the receivers to the next of them.
    """
    port: Literal["udp", "packet", "xdp", "tcp"] = "udp"
    """Socket type of the hosts in a measurement; simulations ignore it. "tcp" is refused for
    messages that are simulated; transfers have no other.
    """
    frames: Frames | None = None
    """Lengths of frames, destination address to FCS, 19 B to 65507 B; instead of `data`."""
    frames_include_fcs: bool = True
    """Whether `frames` includes the frame check sequence; if false, it is added to the lengths."""
    data: Frames | None = None
    """Lengths of the data of UDP datagrams, 1 B to 65507 B; instead of `frames`. Data longer than
    `mtu` allows are fragmented.
    """
    mtu: Annotated[int | None, file_keys(scenario.Udp)["mtu_octets"]] = None
    """Longest IP packet, 68 B to 65535 B; with `data` only. 1500 B if absent."""
    arrivals: Arrivals | None = None
    """Arrival process of the messages; required without `transfer`. With `response`, "saturated"
    sends a message when the one before is answered.
    """
    response: Response | None = None
    """Responses of the receivers; none if absent."""

    def sent(self) -> scenario.Flow:
        """Return what its own keys say of each flow."""
        return lowered(scenario.Flow, self, name="", from_="")


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


def live_settings(flows: Sequence[ExpandedFlow], warm_up_ps: int) -> Live:
    """Return what only a measurement needs of flows, which warms hosts up for so long."""
    exchanges = tuple([each.exchanges for each in flows])
    is_wanted = any(wanted is not None for wanted in exchanges)
    ports = tuple([each.port for each in flows])
    return Live(ports, exchanges if is_wanted else None, warm_up_ps=warm_up_ps)


def check_flow(flow: Flow, path: KeyPath, engines: Sequence[str], *, file: str) -> None:
    """Refuse a flow, whose table is at `path`, with keys that contradict each other.

    Raises
    ------
    InputError
        With everything in it that contradicts itself.

    """
    faults, bare = Faults(file, path), flow.sent()
    check = _check_messages if bare.transfer is None else _check_transfer
    check(flow, bare, engines, faults)
    faults.raise_all()


def expanded_flows(
    flow: Flow,
    path: KeyPath,
    over: ExpandedNetwork | Constants,
    sent_on: Callable[[Wire], scenario.Flow],
    file: str,
) -> list[ExpandedFlow]:
    """Return the flows of a table that passed `check_flow`, one for each sender or pair of hosts.

    Parameters
    ----------
    flow
        The table, which is at `path` of the file.
    over
        The network between the hosts, or the medium that is the receiver.
    sent_on
        The flow of hosts that send on a wire, as of `sent_flow`.

    Raises
    ------
    InputError
        With everything in it that does not fit the network or the medium.

    """
    faults = Faults(file, path)
    if isinstance(over, Constants):
        ends: list[tuple[str, str, list[str]]] = [(flow.name or "", flow.source, [])]
    else:
        ends = _Pairing(flow, flow.sent(), over, faults).ends()
    flows: list[ExpandedFlow] = []
    exchanges = None if flow.response is None else flow.response.exchanges
    port = "tcp" if "transfer" in flow.core else flow.port
    for name, sender, receivers in ends:
        wire = Wire.of(over if isinstance(over, Constants) else over.wire_of(sender))
        if (sent := faults.of(partial(sent_on, wire))) is not None:
            sent = replace(sent, name=name, from_=sender, to=tuple(receivers))
            flows.append(ExpandedFlow(sent, Origin(path), port, exchanges))
    faults.raise_all()
    return flows


def sent_flow(
    flow: Flow,
    path: KeyPath,
    wire: Wire,
    senders: int,
    medium: Constants | None,
    files: TraceFiles,
    file: str,
) -> scenario.Flow:
    """Return the flow of hosts that send on a wire, as in a plan but with neither name nor ends.

    Parameters
    ----------
    flow
        The table, which is at `path` of the file and passed `check_flow`.
    senders
        How many hosts share a load in it.
    medium
        The medium that receives it; None if hosts do.
    files
        The traces that it names.

    Raises
    ------
    InputError
        If lengths or arrivals do not fit the wire, or a file has faults.

    """
    return _Maker(flow, flow.sent(), medium, senders, files, Faults(file, path)).sent(wire)


@dataclass(frozen=True, slots=True)
class _Pairing:
    """Senders and receivers of the flows of a table."""

    flow: Flow
    bare: scenario.Flow
    """What its own keys say of each flow."""
    network: ExpandedNetwork
    faults: Faults

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

    def ends(self) -> list[tuple[str, str, list[str]]]:
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
        if self.bare.priority is not None:
            self._check_priority(pairs)
        name = f"flow-{self.faults.within[1]}" if flow.name is None else flow.name
        has_senders = flow.source in groups or not name
        has_receivers = (
            len(flow.to) > 1 or flow.to[0] in groups or not name
        ) and self.bare.address == "unicast"
        ends = []
        for sender, to in pairs:
            parts = [*filter(None, [name]), *[sender] * has_senders]
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
            self.faults.add(("priority",), self.bare.priority, allowed)

    def _pairs(self, senders: list[str], receivers: list[str]) -> list[tuple[str, list[str]]]:
        """Return each sender with its receivers."""
        flow = self.flow
        if self.bare.address != "unicast":
            if flow.pairs is not None:
                allowed = f"not allowed with {self.bare.address}, which goes to all of them"
                raise self.faults.error(("pairs",), shown(flow.pairs), allowed)
            found = [(sender, [host for host in receivers if host != sender]) for sender in senders]
        elif flow.pairs == "in order":
            counts = len(receivers), len(senders)
            if counts[0] != counts[1]:
                allowed = "expected as many receivers as senders, got {} and {}".format(*counts)
                raise self.faults.error(("pairs",), shown(flow.pairs), allowed)
            found = [(one, [other]) for one, other in zip(senders, receivers, strict=True)]
        elif flow.pairs == "in rotation":
            number_of = {host: number for number, host in enumerate(receivers, start=1)}
            turns = [number_of.get(host, at) for at, host in enumerate(senders)]
            found = [
                (host, [receivers[turn % len(receivers)]])
                for host, turn in zip(senders, turns, strict=True)
            ]
        elif flow.pairs is None and len(senders) > 1 and len(receivers) > 1:
            allowed = (
                f'required: "all", each of {len(senders)} senders to each of {len(receivers)}'
                ' receivers, "in order" or "in rotation"'
            )
            raise self.faults.error(("pairs",), "(missing)", allowed)
        else:
            found = [(one, [other]) for one in senders for other in receivers if one != other]
        if not found or any(not to or sender in to for sender, to in found):
            value = shown(list(flow.to) if len(flow.to) > 1 else flow.to[0])
            raise self.faults.error(("to",), value, "expected another host than the one that sends")
        if len(found) > MOST_FLOWS:
            raise self.faults.error(
                ("to",), f"{len(found)} flows", f"expected at most {MOST_FLOWS}"
            )
        return found


@dataclass(frozen=True, slots=True)
class _Maker:
    """The flow of a table in the making, with neither name nor ends."""

    flow: Flow
    bare: scenario.Flow
    """What its own keys say of it."""
    medium: Constants | None
    """The medium that receives it; None if hosts do."""
    senders: int
    files: TraceFiles
    faults: Faults

    def sent(self, wire: Wire) -> scenario.Flow:
        """Return the flow as in a plan, of a host that sends on a wire."""
        flow = self.flow
        if self.bare.transfer is not None:
            return self.bare
        key, lengths = ("frames", flow.frames) if flow.data is None else ("data", flow.data)
        framing: Framing = "frame"
        if flow.data is not None:
            framing = FramingTable(udp=Udp(mtu_octets=flow.mtu or MTU_OCTETS))
        bare = replace(self.bare, framing=framing)
        if isinstance(flow.arrivals, Coder):
            assert isinstance(lengths, scenario.SamplesLengths), "checked"
            coder, clock_error_ppb = flow.arrivals, flow.core.get("clock_error_ppb", 0)
            assert isinstance(clock_error_ppb, int), "read by its unit"
            added = self._added(key, wire)
            frames = packets(coder, lengths, added, self.medium, clock_error_ppb, self.faults)
            codec = None if self.medium is not None else coder.codec
            return replace(bare, frames=frames, arrivals=coder.source(), codec=codec)
        trace = trace_of(flow.arrivals, self.files)
        given = {"frames": flow.frames, "data": flow.data}
        recorded = trace_sizes(trace, flow.arrivals, given, self.faults)
        sizes = self._sizes(lengths if recorded is None else recorded, (key,), wire)
        self._check_bucket(sizes, bare, wire)
        return replace(
            bare,
            frames=frames_plan(sizes),
            arrivals=self._arrivals(sizes, bare, wire, trace),
            response=self._response(key, sizes, wire),
        )

    def _response(self, key: str, request: Sizes, wire: Wire) -> scenario.Response | None:
        """Return a response as in a plan; as long as the request if its length is not given."""
        response = self.flow.response
        if response is None:
            return None
        frames = getattr(response, key)
        if frames is None and len(request) > 1:
            allowed = "required: requests are of several lengths"
            raise self.faults.error(("response", key), "(missing)", allowed)
        sizes = request if frames is None else self._sizes(frames, ("response", key), wire)
        return lowered(scenario.Response, response, frames=frames_plan(sizes))

    def _added(self, key: str, wire: Wire) -> int:
        """Return the bits of the check sequence, if lengths are without it."""
        return wire.fcs_bits if key == "frames" and not self.flow.frames_include_fcs else 0

    def _sizes(self, frames: Frames | None, key: KeyPath, wire: Wire) -> Sizes:
        """Return lengths in bits, check sequence included, with their weights."""
        added = self._added(str(key[-1]), wire)
        given = sizes_of(frames, folder=self.files.folder)
        sizes = [(bits + added, weight) for bits, weight in given]
        if self.medium is not None:
            check_frames(sizes, self.medium, self.faults)
            return sizes
        least = 1 if key[-1] == "data" else SHORTEST_FRAME_OCTETS
        for bits, _ in sizes:
            if bits % 8 or not least <= bits // 8 <= MOST_DATA_OCTETS:
                allowed = f"expected whole octets, from {least} B to {MOST_DATA_OCTETS} B"
                raise self.faults.error(key, f"{bits} bit", allowed)
        return sizes

    def _check_bucket(self, sizes: Sizes, flow: scenario.Flow, wire: Wire) -> None:
        """Find a token bucket that does not hold the longest message."""
        given: scenario.Shaper | scenario.TokenBucketArrivals | None = self.bare.shaper
        key: KeyPath = ("shaper", "burst")
        if isinstance(self.flow.arrivals, scenario.TokenBucketArrivals):
            given, key = self.flow.arrivals, ("arrivals", "token_bucket", "burst")
        if given is None:
            return
        longest = max(wire.charged_bits(flow, bits) for bits, _ in sizes) // 8
        if given.burst_octets < longest:
            allowed = (
                f"expected at least the longest message: {longest} B on the wire, with preambles "
                "and gaps"
            )
            raise self.faults.error(key, f"{given.burst_octets} B", allowed)

    def _arrivals(
        self, sizes: Sizes, flow: scenario.Flow, wire: Wire, trace: Trace | None
    ) -> scenario.Arrivals:
        arrivals = self.flow.arrivals
        assert arrivals is not None, "checked"
        if trace is not None and isinstance(arrivals, TraceSource):
            return trace_plan(trace, arrivals, self.faults)
        if not isinstance(arrivals, PoissonLoad):
            assert not isinstance(arrivals, Coder | TraceSource), "read before"
            return arrivals
        load = arrivals.poisson_load
        charged = [wire.charged_bits(flow, bits) for bits, _ in sizes]
        weights = [weight for _, weight in sizes]
        mean_bits: Fraction | int = charged[0]
        if len(sizes) > 1:
            mean_bits = sum(map(operator.mul, charged, weights)) / sum(weights)
        mean_ps = mean_bits * wire.octet_ps * self.senders / (8 * load)
        if not 1000 <= mean_ps <= LONGEST_PS:
            allowed = (
                "expected a load at which each sender has a message from every 1 ns to every 1000 s"
            )
            raise self.faults.error(("arrivals", "poisson_load"), f"{float(load):g}", allowed)
        return scenario.PoissonArrivals(mean_ps=float(mean_ps))


def check_frames(sizes: Sizes, medium: Constants, faults: Faults) -> None:
    """Refuse lengths of frames, in bits, that a medium does not carry."""
    shortest, longest = min(sizes)[0], max(sizes)[0]
    bus, allowed = medium.mac.plca, ""
    least = 0 if bus is None else bus.delay_line_bits - medium.csma_cd.preamble_bits + 1
    if shortest <= medium.fcs_bits:
        allowed = (
            f"expected frames longer than their frame check sequence, {medium.fcs_bits} bit, or"
            " frames_include_fcs = false"
        )
    elif shortest < least:
        allowed = (
            f"expected frames of at least {-(-least // 8)} B on a segment of 10BASE-T1S: longer"
            " than the delay line of PLCA, preamble included"
        )
    if allowed:
        raise faults.error(("frames",), f"{shortest} bit", allowed)
    if (medium.csma_cd.preamble_bits + longest) * medium.bit_ps > LONGEST_PS:
        allowed = "expected frames that last at most 1000 s at this rate"
        raise faults.error(("frames",), f"{longest} bit", allowed)


def _check_transfer(
    flow: Flow, bare: scenario.Flow, engines: Sequence[str], faults: Faults
) -> None:
    """Find keys that do not fit a transfer."""
    del engines
    for key in _OF_MESSAGES:
        if key in flow.given:
            faults.add((key,), "given", "not allowed with transfer, which has no messages")
    if bare.address != "unicast":
        faults.add(("cast",), shown(bare.address), 'expected "unicast" with transfer')
    if flow.port != "tcp" and "port" in flow.given:
        faults.add(("port",), shown(flow.port), 'expected "tcp", or nothing, with transfer')


def _check_messages(
    flow: Flow, bare: scenario.Flow, engines: Sequence[str], faults: Faults
) -> None:
    """Find keys that contradict each other."""
    wrong, arrivals, response = faults.add, flow.arrivals, flow.response
    if arrivals is None:
        wrong(("arrivals",), "(missing)", "required")
    has_one_length = (flow.frames is None) != (flow.data is None)
    # Whether a trace has lengths is known when it is read.
    may_have_none = isinstance(arrivals, TraceSource)
    if not has_one_length and (flow.frames is not None or not may_have_none):
        value = "(missing)" if flow.data is None else "frames, data"
        wrong((), value, "expected exactly one of frames and data")
    elif response is not None and has_one_length:
        wanted, other = ("data", "frames") if flow.data is not None else ("frames", "data")
        if getattr(response, other) is not None:
            allowed = f"not allowed: the flow has {wanted}, and so has its response"
            wrong(("response", other), "given", allowed)
    if flow.mtu is not None and flow.data is None:
        wrong(("mtu",), f"{flow.mtu} B", "allowed with data only")
    if flow.data is not None and "frames_include_fcs" in flow.given:
        wrong(("frames_include_fcs",), "given", "allowed with frames only")
    for key in ("frames", "data") if response is not None else ():
        if isinstance(getattr(response, key), scenario.SamplesLengths):
            allowed = "not allowed here: only a coder's packets have samples"
            wrong(("response", key), "samples", allowed)
    if has_one_length:
        check_voice(
            flow,
            bare,
            faults,
            mtu_octets=flow.mtu or MTU_OCTETS,
            most_octets=MOST_DATA_OCTETS,
        )
    if bare.shaper is not None and isinstance(arrivals, Coder | scenario.TokenBucketArrivals):
        allowed = "not allowed with a coder, which waits for the wire, or a token bucket"
        wrong(("shaper",), "given", allowed)
    if flow.to and isinstance(arrivals, scenario.PythonArrivals):
        allowed = (
            "expected no generator in Python in a network: only stations whose frames are for their"
            " medium have one"
        )
        wrong(("arrivals", "python"), shown(arrivals.function.name), allowed)
    if not flow.to and isinstance(arrivals, scenario.TokenBucketArrivals):
        allowed = "expected no token bucket where the medium receives: only flows to hosts have one"
        wrong(("arrivals",), "token_bucket", allowed)
    without = replace(bare, generator=None) if talks(flow) else bare
    check_saturation(arrivals, without, faults)
    if flow.port == "tcp" and SIMULATION in engines and not talks(flow):
        allowed = (
            'expected "udp", "packet" or "xdp" where run.engines has "simulation": a flow of'
            " messages over TCP is only measured; a transfer over TCP is simulated"
        )
        wrong(("port",), '"tcp"', allowed)


_OF_MESSAGES = (
    *("frames", "frames_include_fcs", "data", "mtu", "arrivals", "generator", "queue", "service"),
    *("response", "shaper"),
)
