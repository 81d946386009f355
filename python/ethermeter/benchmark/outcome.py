"""Outcome: what a trial did to the frames of its streams, with a location for each lost frame."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ethermeter.analysis.benchmark import LOCATIONS
from ethermeter.analysis.losses import Loss, losses
from ethermeter.benchmark.bench import Stream, hosts_of
from ethermeter.framing import lengths_of
from ethermeter.live_reports import SenderCounts
from ethermeter.metrics import Metric
from ethermeter.metrics.statistics import RANKS, quantiles
from ethermeter.nodes import kind_of
from ethermeter.results.query import Results
from ethermeter.scenario import Flow, Scenario
from ethermeter.store.columns import FLOW_BATCHES, PORTS
from ethermeter.store.result import Connection, Result, read
from ethermeter.theory.load import loads_of
from ethermeter.trial import LIVE, Trial
from ethermeter.units import PS_PER_S

_SEEN = {
    "sender-queue": "generator",
    "sender-interface": "generator",
    "network": "wire",
    "switch": "device",
    "receiver-interface": "receiver",
    "socket": "receiver",
}
"""Location of what a counter of a measurement saw dropped, by the names of `analysis.losses`."""
_ON_MEDIUM = (Metric.LOST_ATTEMPTS, Metric.LOST_DAMAGED)
_LATE, _LATE_WITH_LOSS = 0.05, 0.002
"""Lateness of a frame, as a share of the transmission, from which a trial is not what was asked
for: without and with lost frames.
"""
_LONGEST_BITS = 8 * 1518
OWN = ("generator", "receiver")
"""Locations that belong to the testers."""


@dataclass(frozen=True, slots=True)
class FlowOutcome:
    """Frames of one stream.

    `sent` and `received` count a frame to several receivers once for each. `delay_s` is the mean
    one-way delay; NaN without a frame.
    """

    sent: int
    received: int
    ignored: int  # Copies that came to hosts to which they were not addressed
    delay_s: float


@dataclass(frozen=True, slots=True)
class Delays:
    """One-way delays of all streams together, in s; NaN without a frame."""

    mean_s: float
    least_s: float
    most_s: float
    variation_s: float  # 99.9% quantile minus the least, ITU-T Y.1540


@dataclass(frozen=True, slots=True)
class Outcome:
    """Frames of a trial, counted over all of its transmission when the drain had ended.

    Of a simulated stream that offers more than is carried on its path, frames that came after the
    transmission count as lost: a queue took them, which would lose them in a longer trial.

    Parameters
    ----------
    intended
        Frames that the streams should have sent; those sent where that follows from the device.
    lost
        Lost frames by location, those not sent included; only locations with some.
    messages
        Frames that arrived by batch and stream, shape (batches, streams); -1 where not counted.
    results, scenario
        Of the trial, for what only some tests read.

    """

    intended: int
    sent: int
    received: int
    lost: Mapping[str, int]
    flows: tuple[FlowOutcome, ...]
    delays: Delays
    transmit_s: float
    messages: npt.NDArray[np.int64]
    round_trip_s: float  # Shortest round trip of requests; NaN without
    loaded_round_trip_s: float  # Mean round trip of segments of a connection; NaN without
    late_s: float  # How late a frame was handed over at most, in a measurement
    results: Results
    scenario: Scenario

    @property
    def lost_frames(self) -> int:
        """Frames that should have arrived and did not."""
        return max(self.intended, self.sent) - self.received

    @property
    def loss(self) -> float:
        """Share of the intended frames that did not arrive."""
        whole = max(self.intended, self.sent)
        return self.lost_frames / whole if whole else 0.0

    @property
    def is_late(self) -> bool:
        """Whether a sender was so late that the rate, or its evenness, was another one.

        A sender that has fallen behind catches up with a burst, which a device may lose without
        being too slow. Without lost frames only a rate that was not offered matters.
        """
        share = _LATE_WITH_LOSS if self.lost_frames else _LATE
        return self.late_s > share * self.transmit_s

    @property
    def own_losses(self) -> int:
        """Frames that the testers lost or did not send."""
        return sum(self.lost.get(location, 0) for location in OWN)

    def value(self, metric: Metric, flow: int = 0) -> float:
        """Return the value of a metric of one stream."""
        return float(self.results.each(metric)[flow])

    def largest_delay_s(self, flow: int) -> float:
        """Return the largest one-way delay of a stream; NaN without a frame."""
        return self.value(Metric.ONE_WAY_DELAY_MAX, flow)

    def variation_s(self, flow: int) -> float:
        """Return the 99.9% quantile of a stream's one-way delay minus the least one."""
        return _spread(self.results, flow)[1]


def outcome_of(
    trial: Trial,
    results: Results,
    result: bytes,
    streams: Sequence[Stream],
    *,
    is_emptied: bool = False,
) -> Outcome:
    """Return the outcome of a trial.

    Parameters
    ----------
    trial, results, result
        As of `ethermeter.strategies.Observed`.
    streams
        Its streams; none of connections.
    is_emptied
        Whether frames that queues took of an overload count as received.

    """
    scenario = trial.scenario
    phases = scenario.phases
    transmit_s = (phases.stop_ps - phases.begin_ps) / PS_PER_S
    copies = np.array([len(flow.to) for flow in scenario.flows])
    offered = _counts(results.each(Metric.OFFERED_RATE) * transmit_s) * copies
    kept: dict[str, int] = {}
    if trial.engine == LIVE:
        measured = read(result)
        found = losses(measured)
        sent, received = _measured(found, measured, len(copies))
    else:
        measured, found = None, ()
        sent = offered
        received = sent - _counts(results.each(Metric.LOSS) * sent)
        if not is_emptied:
            received, kept = _in_time(results, scenario, sent, received)
    wanted = [int(count) for count in sent]
    for at, stream in enumerate(streams):
        if stream.intended is not None:
            wanted[at] = stream.intended * int(copies[at])
    ignored = _counts(results.each(Metric.IGNORED))
    delay_s = results.each(Metric.ONE_WAY_DELAY)
    intended = sum(wanted)
    lost = (
        _located_live(found, intended - int(sent.sum()), scenario, measured)
        if measured is not None
        else _located(results, scenario, max(intended, int(sent.sum())) - int(received.sum()), kept)
    )
    return Outcome(
        intended=intended,
        sent=int(sent.sum()),
        received=int(received.sum()),
        lost={name: lost[name] for name in LOCATIONS if lost.get(name, 0) > 0},
        flows=tuple(
            FlowOutcome(int(sent[at]), int(received[at]), int(ignored[at]), float(delay_s[at]))
            for at in range(len(copies))
        ),
        delays=_delays(results),
        transmit_s=transmit_s,
        messages=_by_batch(results),
        round_trip_s=_least_s(results, "round_trip"),
        loaded_round_trip_s=(
            results.all(Metric.ACKNOWLEDGEMENT_DELAY)
            if measured is None
            else _tcp_round_trip_s(measured)
        ),
        late_s=0.0 if measured is None else _late_s(measured),
        results=results,
        scenario=scenario,
    )


def _in_time(
    results: Results,
    scenario: Scenario,
    sent: npt.NDArray[np.int64],
    received: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], dict[str, int]]:
    """Return the frames of each flow that count as received, and the others by location.

    On a path that is offered more than it carries these are frames that came while frames were
    sent, and never all of them: an overload loses a frame, if not in a trial as short as this.
    """
    hosts = hosts_of(scenario.nodes)
    in_time, kept = received.copy(), dict.fromkeys(LOCATIONS, 0)
    while_sent = _by_batch(results).sum(axis=0)
    for at, (flow, overloads) in enumerate(
        zip(scenario.flows, loads_of(scenario).overloads, strict=True)
    ):
        if overloads:
            in_time[at] = max(0, min(received[at], while_sent[at], sent[at] - 1))
            node = overloads[0].node
            location = "generator" if node == flow.from_ else "receiver"
            kept[location if node in hosts else "device"] += int(received[at] - in_time[at])
    return in_time, kept


def _counts(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.rint(np.nan_to_num(values)).astype(np.int64)


def _measured(
    found: Sequence[Loss], result: Result, flows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the frames that each flow of a measurement sent and received."""
    at = {name: number for number, name in enumerate(result.flows)}
    sent, received = np.zeros(flows, np.int64), np.zeros(flows, np.int64)
    for loss in found:
        sent[at[loss.flow]] += round(loss.sent)
        received[at[loss.flow]] += round(loss.received)
    return sent, received


def _located_live(
    found: Sequence[Loss], unsent: int, scenario: Scenario, result: Result
) -> dict[str, int]:
    """Return the lost frames of a measurement by location.

    Counters of hosts and ports count the frames of all streams that pass them, so that each is
    taken once for all streams of its sender or receiver.
    """
    switches = {node.name for node in scenario.nodes if kind_of(node)[0] in ("switch", "router")}
    flows = {flow.name: flow for flow in scenario.flows}
    most: dict[tuple[str, ...], float] = {}
    for loss in found:
        at_hops: dict[str, float] = {}
        for (place, node, towards), count in loss.between.items():
            most[place, node, towards] = max(most.get((place, node, towards), 0.0), count)
            at_hops[place] = at_hops.get(place, 0.0) + count
        for place, count in loss.places.items():
            host = flows[loss.flow].from_ if place.startswith("sender") else loss.receiver
            rest = count - at_hops.get(place, 0.0)
            if rest > 0:
                most[place, host] = max(most.get((place, host), 0.0), rest)
    lost = dict.fromkeys(LOCATIONS, 0)
    for (place, node, *_), count in most.items():
        # The queue of a relayed wire out of a switch is that of the port of the switch.
        location = "device" if place == "network" and node in switches else _SEEN[place]
        lost[location] += round(count)
    missing = round(sum(loss.missing for loss in found))
    # Counters see frames of others, too, or one frame twice.
    lost = _within(lost, missing)
    unexplained = missing - sum(lost.values())
    never_sent = min(unexplained, _never_sent(found, result, flows))
    lost["unexplained"] = unexplained - never_sent
    lost["generator"] += never_sent + max(0, unsent)
    return lost


def _never_sent(found: Sequence[Loss], result: Result, flows: Mapping[str, Flow]) -> int:
    """Return the datagrams that senders counted as sent and their systems did not send.

    Known of hosts all of whose flows are unicast datagrams that need no fragments.
    """
    claimed: dict[str, float] = {}
    known = {flow.name for flow in flows.values() if _is_one_datagram(flow, result)}
    for loss in found:
        host = flows[loss.flow].from_
        claimed[host] = claimed.get(host, 0.0) + (loss.sent if loss.flow in known else math.inf)
    hidden = 0
    for host, count in claimed.items():
        agent = result.agents.get(host)
        edges = () if agent is None or agent.result is None else agent.result.host
        sent = [edge.udp.sent for edge in edges if edge.udp is not None]
        if math.isfinite(count) and len(sent) > 1:
            hidden += max(0, round(count) - (sent[-1] - sent[0]))
    return hidden


def _is_one_datagram(flow: Flow, result: Result) -> bool:
    of = result.flows.get(flow.name)
    is_udp = of is not None and of.port == "udp"
    return is_udp and flow.address == "unicast" and max(lengths_of(flow.frames)) <= _LONGEST_BITS


def _located(
    results: Results, scenario: Scenario, missing: int, kept: Mapping[str, int]
) -> dict[str, int]:
    """Return the lost frames of a simulation by location; `kept` are those that queues took."""
    hosts = hosts_of(scenario.nodes)
    ports = results.columns(PORTS)
    dropped, buffered = (np.nan_to_num(ports[name]) for name in ("dropped", "buffer_dropped"))
    lost = dict.fromkeys(LOCATIONS, 0)
    lost["generator"] = int(_counts(results.each(Metric.DROPPED)).sum())
    owners = [end.node for link in scenario.links for end in link.ends]
    for owner, of_queue, of_buffer in zip(owners, dropped, buffered, strict=False):
        if owner in hosts:
            lost["generator"] += int(of_queue)
            lost["receiver"] += int(of_buffer)
    queued, stored = (
        int(_counts(results.each(metric)).sum())
        for metric in (Metric.LOST_QUEUE, Metric.LOST_BUFFER)
    )
    of_hosts = lost["receiver"] + int(
        sum(count for owner, count in zip(owners, dropped, strict=False) if owner in hosts)
    )
    # A stage of a host may have a queue as one of a device has: its losses cannot be told apart.
    has_stages = any(stage.queue_frames for host in hosts.values() for stage in host.receive)
    lost["unexplained" if has_stages else "device"] += max(0, queued + stored - of_hosts)
    lost["wire"] = sum(int(_counts(results.each(metric)).sum()) for metric in _ON_MEDIUM)
    for location, count in kept.items():
        lost[location] += count
    # Copies that a device floods are lost, too, and are missing nowhere.
    lost = _within(lost, missing)
    lost["late"] = max(0, missing - sum(lost.values()))
    return lost


def _within(lost: Mapping[str, int], missing: int) -> dict[str, int]:
    """Return what counters saw as parts of the missing frames, if they saw more than these."""
    seen = sum(lost.values())
    if seen <= missing:
        return dict(lost)
    return {name: math.floor(count * missing / seen) for name, count in lost.items()}


def _late_s(result: Result) -> float:
    """Return how late a frame with a time was handed over at most, in s."""
    counted = [flow.sending.counted for flow in result.flows.values() if flow.sending is not None]
    late_ns = [one.pacing.worst_ns for one in counted if isinstance(one, SenderCounts)]
    return max(late_ns, default=0) / 1e9


def _tcp_round_trip_s(result: Result) -> float:
    """Return the mean of the round trips that the senders of connections saw; NaN without."""
    found: list[int] = []
    for flow in result.flows.values():
        counted = None if flow.sending is None else flow.sending.counted
        if isinstance(counted, Connection):
            found += counted.tcp.columns.round_trip_us
    return float(np.mean(found)) / 1e6 if found else math.nan


def _least_s(results: Results, time: str) -> float:
    """Return the least time of a histogram, in s; NaN without samples."""
    times = results.buckets(time)
    return float(times.low_ps.min()) / PS_PER_S if len(times.count) else math.nan


def _delays(results: Results) -> Delays:
    mean_s, most_s = (
        results.all(metric) for metric in (Metric.ONE_WAY_DELAY, Metric.ONE_WAY_DELAY_MAX)
    )
    least_s, variation_s = _spread(results)
    return Delays(mean_s, least_s, most_s, variation_s)


def _spread(results: Results, flow: int | None = None) -> tuple[float, float]:
    """Return the least one-way delay, and the 99.9% quantile minus it; of all flows if None."""
    times = results.buckets("one_way_delay", None if flow is None else [flow])
    if not len(times.count):
        return math.nan, math.nan
    least_s = float(times.low_ps.min()) / PS_PER_S
    return least_s, quantiles(times)[RANKS.index(0.999)] - least_s


def _by_batch(results: Results) -> npt.NDArray[np.int64]:
    flows = len(results.scenario.flows)
    columns = results.columns(FLOW_BATCHES)
    messages = columns.get("messages", np.empty(0))
    return np.nan_to_num(messages, nan=-1).astype(np.int64).reshape(-1, flows)
