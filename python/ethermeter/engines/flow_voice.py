"""Voice of flows: what was counted of samples and packets as values of metrics."""

import numpy as np

from ethermeter.counts import Buckets, Counts, Floats
from ethermeter.engines.flows import of_flow_cautions, times_of_all, times_of_each
from ethermeter.engines.table import Table
from ethermeter.metrics import Metric
from ethermeter.metrics.formulas import PS_PER_S, of_entity, pooled
from ethermeter.nodes import over_links, paths_of
from ethermeter.scenario import CoderArrivals, Flow, Scenario
from ethermeter.station_groups import talking_share
from ethermeter.store.rows import FLOW_VOICE_METRICS
from ethermeter.voice import CODECS, e_model, mouth_to_ear

COUNTS = (
    *(Metric.SAMPLES_OFFERED, Metric.SAMPLES_DELIVERED, Metric.SAMPLES_LOST),
    *(Metric.SAMPLES_LOST_HOST, Metric.SAMPLES_BUFFERED),
)
NOT_ESTIMATED = {*COUNTS, Metric.VOICE_LOAD}
"""Counts and parameters are exact, however few packets came."""
LONGEST_S = 10.0
"""Longest delay that the E-model is asked about, in s; a call is unusable long before."""
_RATED = (Metric.MOUTH_TO_EAR, Metric.SPEECH_LOSS, Metric.RATING, Metric.MOS)


def is_voice(flow: Flow) -> bool:
    """Whether a flow has a coder."""
    return isinstance(flow.arrivals, CoderArrivals)


def flow_voice_table(scenario: Scenario, counts: Counts) -> Table:
    """Return the value of every metric of voice, of each flow and of all with a coder together.

    Flows without a coder have counts of 0; means of theirs, and ratings, are NaN, as are those of a
    coder without a codec.
    """
    voice = counts.flows.voice
    assert voice is not None, "engines count the samples of coders"
    lost_network = np.asarray(voice.lost, np.float64).sum(axis=1)
    lost = voice.host.lost + lost_network
    counted = (
        voice.host.made,
        voice.delivered,
        lost,
        voice.host.lost,
        voice.host.left + voice.under_way,
    )
    of_each = {
        metric: np.asarray(values, np.float64)
        for metric, values in zip(COUNTS, counted, strict=True)
    }
    of_all = {metric: float(values.sum()) for metric, values in of_each.items()}
    of_each[Metric.VOICE_LOAD], of_all[Metric.VOICE_LOAD] = _loads(scenario)
    delivered = of_each[Metric.SAMPLES_DELIVERED]
    of_each[Metric.SAMPLE_LOSS] = lost / (lost + delivered)
    of_all[Metric.SAMPLE_LOSS] = float(lost.sum() / (lost.sum() + delivered.sum()))
    for metric, delays in (
        (Metric.VOICE_DELAY, voice.voice_delay),
        (Metric.SAMPLE_DELAY, voice.sample_delay),
    ):
        of_each |= times_of_each(metric, delays)
        of_all |= times_of_all(metric, delays)
    histogram = voice.sample_delay.buckets
    ratings = np.array(
        [
            _rated(flow, delays, float(lost[at]))
            for at, (flow, delays) in enumerate(
                zip(scenario.flows, of_entity(histogram, len(scenario.flows)), strict=True)
            )
        ]
    )
    of_each |= {metric: ratings[:, at] for at, metric in enumerate(_RATED)}
    talking = [flow for flow in scenario.flows if is_voice(flow)]
    alike = len({flow.codec for flow in talking}) == 1
    together = _rated(talking[0] if alike else None, pooled(histogram), float(lost.sum()))
    of_all |= dict(zip(_RATED, together, strict=True))
    masks = of_flow_cautions(scenario)
    packets = np.asarray(voice.voice_delay.count, np.float64)
    return Table(
        FLOW_VOICE_METRICS,
        FLOW_VOICE_METRICS,
        of_all,
        of_each,
        lambda metric: None if metric in NOT_ESTIMATED else packets,
        np.bitwise_or.reduce(masks[[is_voice(flow) for flow in scenario.flows]]),
        masks,
    )


def _rated(flow: Flow | None, delays: Buckets, lost: float) -> tuple[float, float, float, float]:
    """Return mouth-to-ear delay in s, loss, R and MOS with the playout delay that rates best.

    NaN without a rated codec or any sample. A packet is played in whole so long after its oldest
    sample was made, or not at all if it comes later. Every delay that occurred is tried.
    """
    high_ps, count = delays.high_ps, delays.count
    codec = None if flow is None else flow.codec
    if flow is None or codec is None or not CODECS[codec].is_rated or not count.sum():
        return (float("nan"),) * 4
    assert isinstance(flow.arrivals, CoderArrivals), "only coders have a codec"
    playout_s = np.minimum(high_ps / PS_PER_S, LONGEST_S)
    loss = np.clip(1 - np.cumsum(count) / (count.sum() + lost), 0.0, 1.0)
    sample_s = flow.arrivals.sample_ps / PS_PER_S
    delay_s = np.asarray(
        mouth_to_ear(codec, packet_s=sample_s, network_s=playout_s, jitter_buffer_s=0.0).delay_s
    )
    found = e_model(np.minimum(delay_s, LONGEST_S), loss, codec=codec)
    best = int(np.argmax(np.asarray(found.r)))
    return (
        float(delay_s[best]),
        float(loss[best]),
        float(np.asarray(found.r)[best]),
        float(np.asarray(found.mos)[best]),
    )


def _loads(scenario: Scenario) -> tuple[Floats, float]:
    """Return the voice load of each flow, and the largest sum on any link.

    It is the rate of samples over that of the slowest link of the path.
    """
    links = over_links(scenario).links
    together: dict[tuple[int, str], float] = {}
    each = np.zeros(len(scenario.flows))
    for at, (flow, path) in enumerate(zip(scenario.flows, paths_of(scenario), strict=True)):
        if not isinstance(flow.arrivals, CoderArrivals):
            continue
        for link, node in path:
            load = coder_rate(flow.arrivals) * links[link].ps_per_octet / 8
            together[link, node] = together.get((link, node), 0.0) + load
            each[at] = max(each[at], load)
    return each, max(together.values())


def coder_rate(arrivals: CoderArrivals) -> float:
    """Bits of samples that a coder makes in a picosecond, silence included in the mean."""
    return talking_share(arrivals) * arrivals.sample_bits / arrivals.sample_ps
