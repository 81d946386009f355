"""Quality: what a simulated trial means for those who talk."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ethermeter.analysis.roofline import links_between
from ethermeter.counts import Buckets
from ethermeter.metrics import Caution, Metric, caution_text
from ethermeter.metrics.statistics import RANKS, quantiles
from ethermeter.nodes import wires_of
from ethermeter.results.query import Results
from ethermeter.scenario import Scenario
from ethermeter.store.columns import PORTS
from ethermeter.voice import CODECS, e_model, mouth_to_ear

Floats = npt.NDArray[np.float64]
PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is good enough: a mean opinion score, or a loss and a delay where there is no rating."""

    mos: float | None = None
    # loss, delay_s: Largest share of packets that may not come in time, and largest delay from
    # mouth to ear [s]; used where there is no `mos`
    loss: float = 0.01
    delay_s: float = 0.15

    def used(self) -> dict[str, float]:
        """Return what is used of it."""
        if self.mos is not None:
            return {"mos": self.mos}
        return {"loss": self.loss, "delay_s": self.delay_s}

    def margin(self, quality: "Quality") -> float:
        """By how much a quality is better than wanted; negative where worse.

        In the unit of the score, or as a share of the loss.
        """
        if self.mos is not None:
            return quality.mos - self.mos
        return self.loss - quality.loss if quality.delay_s <= self.delay_s * (1 + 1e-9) else -1.0


@dataclass(frozen=True, slots=True)
class Quality:
    """What those who talk get in one trial."""

    # Time after which a packet is played that the network has had since it was ready [s]: the delay
    # of network and jitter buffer
    buffer_s: float
    delay_s: float  # From mouth to ear [s]
    loss: float  # Share of packets that do not come by then, or not at all
    # rating, mos: R of the E-model and its score; NaN for a codec without a rating
    rating: float
    mos: float
    # network_p50_s, network_p99_s: Of the packets' time from being ready to their arrival [s]
    network_p50_s: float
    network_p99_s: float
    # Of a segment: channel time of delivered frames over the window. Of a network: share of the
    # time that the busiest medium between the hosts of the call was busy.
    utilisation: float
    cautions: tuple[str, ...] = ()  # Of delays and losses of the trial

    @property
    def is_carried(self) -> bool:
        """Whether no unlimited queue is offered more than its link carries."""
        return Caution.UNBOUNDED_QUEUE not in self.cautions

    @property
    def is_settled(self) -> bool:
        """Whether no queue grew in the trial, so that a longer one has the same quality."""
        return Caution.GROWING_QUEUE not in self.cautions


@dataclass(frozen=True, slots=True)
class Heard:
    """Packets of a trial at one receiver, or at all together: their delays, and losses."""

    times: Buckets  # Packets' times from being ready to their arrival; at least one bucket
    sent: float  # Packets, those that never came too
    # utilisation, cautions: As of `Quality`
    utilisation: float
    cautions: tuple[str, ...]


def heard_by_stations(results: Results) -> Heard:
    """Return what all stations of a medium heard together."""
    times = _some(results.buckets("response_time"))
    lost = results.all(Metric.DISCARDED) + results.all(Metric.DROPPED)
    words = _words(
        int(results.all_cautions(metric))
        for metric in (Metric.RESPONSE_TIME, Metric.LOSS, Metric.UTILISATION)
    )
    return Heard(times, float(times.count.sum()) + lost, results.all(Metric.UTILISATION), words)


def heard_of_flows(results: Results, scenario: Scenario, flows: Sequence[int]) -> Heard:
    """Return what the receiver of some flows, from one host to another, heard of them together."""
    chosen = np.array(flows)
    offered = results.each(Metric.OFFERED_RATE)[chosen]
    arrived = offered * (1 - np.nan_to_num(results.each(Metric.LOSS)[chosen]))
    times = _some(results.buckets("one_way_delay", flows))
    # Of those offered in the window the share that arrived; the packets of the histogram are these
    # but for those at its edges.
    sent = (
        float(times.count.sum() * offered.sum() / arrived.sum())
        if arrived.sum() > 0
        else float(offered.sum())
    )
    masks = (
        int(mask)
        for metric in (Metric.ONE_WAY_DELAY, Metric.LOSS)
        for mask in results.each_cautions(metric)[chosen]
    )
    flow = scenario.flows[flows[0]]
    return Heard(times, sent, _busiest(results, scenario, flow.from_, flow.to[0]), _words(masks))


def _some(times: Buckets) -> Buckets:
    """Return buckets, of which there is at least one."""
    return times if len(times.count) else Buckets(*np.zeros((4, 1), np.int64))


def _busiest(results: Results, scenario: Scenario, source: str, sink: str) -> float:
    """Share of the window that the busiest medium between two hosts was busy, with gaps."""
    links, phases = scenario.links, scenario.phases
    ports = results.columns(PORTS)
    gap_ps = np.repeat([link.gap_octets * link.ps_per_octet for link in links], 2)
    busy_ps = ports["busy_ps"] + ports["frames"] * gap_ps
    media = wires_of(scenario)
    together = np.bincount(media, weights=busy_ps)[media]
    passed = [
        2 * links.index(link) + [end.node for end in link.ends].index(node)
        for node, link, _ in links_between(links, source, sink)
    ]
    window_ps = phases.measure_to_ps - phases.measure_from_ps
    return min(float(together[passed].max()) / window_ps, 1.0)


def _words(masks: Iterable[int]) -> tuple[str, ...]:
    found = {word for mask in masks for word in caution_text(mask).split()}
    return tuple(str(word) for word in Caution if word in found and word != Caution.NO_SAMPLES)


def rated(
    heard: Heard,
    *,
    codec: str,
    packet_s: float,
    buffer_s: float | None,
    beyond_s: float,
    wanted: Wanted,
) -> Quality:
    """Rate what was heard.

    `buffer_s` is the delay of network and jitter buffer that the receivers have set [s]; None
    stands for the one with the best score. Where there is no score it is the shortest with which no
    more than the wanted loss is late, or the longest that the wanted delay leaves. `beyond_s` is
    the delay beyond the segment, such as of a network behind it [s].
    """
    edges_s, counts = heard.times.high_ps / PS_PER_S, heard.times.count
    late = 1 - np.cumsum(counts) / heard.sent if heard.sent else np.ones(counts.shape)
    if buffer_s is None:
        index = _best(
            edges_s, late, codec=codec, packet_s=packet_s, beyond_s=beyond_s, wanted=wanted
        )
        chosen, loss = float(edges_s[index]), float(late[index])
    else:
        in_time = edges_s <= buffer_s * (1 + 1e-9)
        chosen, loss = buffer_s, float(late[in_time][-1]) if in_time.any() else 1.0
    loss = min(max(loss, 0.0), 1.0)
    delay_s = _delay_s(codec, packet_s, chosen + beyond_s)
    rating, mos = _rated(codec, delay_s, loss)
    ranks = dict(zip(RANKS, quantiles(heard.times), strict=False))
    return Quality(
        buffer_s=chosen,
        delay_s=delay_s,
        loss=loss,
        rating=rating,
        mos=mos,
        network_p50_s=ranks[0.5],
        network_p99_s=ranks[0.99],
        utilisation=heard.utilisation,
        cautions=heard.cautions,
    )


def _best(
    edges_s: Floats, late: Floats, *, codec: str, packet_s: float, beyond_s: float, wanted: Wanted
) -> int:
    delays = np.minimum(_delay_s(codec, packet_s, beyond_s) + edges_s, 10.0)
    if CODECS[codec].is_rated:
        return int(np.argmax(np.asarray(e_model(delays, np.clip(late, 0, 1), codec=codec).r)))
    enough = np.nonzero(late <= wanted.loss)[0]
    within = np.nonzero(delays <= wanted.delay_s)[0]
    longest = int(within[-1]) if within.size else 0
    return min(int(enough[0]), longest) if enough.size else longest


def _delay_s(codec: str, packet_s: float, network_s: float) -> float:
    found = mouth_to_ear(codec, packet_s=packet_s, network_s=network_s, jitter_buffer_s=0.0)
    return float(found.delay_s)


def _rated(codec: str, delay_s: float, loss: float) -> tuple[float, float]:
    if not CODECS[codec].is_rated:
        return float("nan"), float("nan")
    found = e_model(min(delay_s, 10.0), loss, codec=codec)
    return float(found.r), float(found.mos)
