"""Voice over a network: what was counted of samples and packets, turned into observations; by the
simulator's core or by agents alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.engines.offered import talking_share, ways_of
from ethermeter.engines.quantiles import quantiles
from ethermeter.metrics import Metric, percentiles
from ethermeter.metrics.formulas import weighted_mean
from ethermeter.scenario import CoderArrivals, Flow, Scenario
from ethermeter.store.rows import VOICE_HISTOGRAMS, Floats, Integers
from ethermeter.voice import CODECS, e_model, mouth_to_ear

PS_PER_S = 1e12
COUNTS = (
    *(Metric.SAMPLES_OFFERED, Metric.SAMPLES_DELIVERED, Metric.SAMPLES_LOST),
    *(Metric.SAMPLES_LOST_HOST, Metric.SAMPLES_BUFFERED),
)
NOT_ESTIMATED = {*COUNTS, Metric.VOICE_LOAD}
"""Counts and parameters are what they are, however few packets came."""
LONGEST_S = 10.0
"""Longest delay that the E-model is asked about [s]; there is nothing left of a call long before.
"""
_RATED = (Metric.MOUTH_TO_EAR, Metric.SPEECH_LOSS, Metric.RATING, Metric.MOS)

Buckets = tuple[Integers, Integers, Integers]
"""Lower and upper edge [ps] and count of the buckets of a histogram that hold something, in rising
order.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """What was counted of the samples that coders made in the measured window; 0 and empty for
    flows without a coder.

    Parameters
    ----------
    made, delivered, lost_host, lost_network, buffered
        Shape (flows,): samples made; of these those that came, those that newer ones replaced at
        their host, those lost on their way, and those still at their host or on their way when all
        was over. The last four sum to the first.
    mean_s
        By the name of each of `VOICE_HISTOGRAMS`: mean delay of each flow [s], NaN without any;
        shape (flows,).
    histograms
        By the same names: for each flow its buckets.

    """

    made: Floats
    delivered: Floats
    lost_host: Floats
    lost_network: Floats
    buffered: Floats
    mean_s: Mapping[str, Floats]
    histograms: Mapping[str, Sequence[Buckets]]

    @property
    def packets(self) -> Floats:
        """How many packets came whose oldest sample was made in the window, of each flow."""
        return np.array([float(count.sum()) for _, _, count in self.histograms["voice_delay"]])


def of_core(result: Mapping[str, Any], losses: int) -> Heard:
    """Read what the simulator's core counted of voice, in a trial of which some flow has a coder."""
    flows = len(result["flow_samples"])
    count = {
        name: np.asarray(result[f"flow_samples{name}"]).astype(np.float64)
        for name in ("", "_delivered", "_lost_host")
    }
    left, under_way = (
        np.asarray(result[f"flow_samples_{name}"]).astype(np.float64)
        for name in ("left", "under_way")
    )
    histograms = {}
    for name in VOICE_HISTOGRAMS:
        flow, *columns = (
            np.asarray(column).astype(np.int64) for column in result["histograms"][name]
        )
        histograms[name] = [
            (low[flow == at], high[flow == at], n[flow == at])
            for low, high, n in [columns]
            for at in range(flows)
        ]
    return Heard(
        made=count[""],
        delivered=count["_delivered"],
        lost_host=count["_lost_host"],
        lost_network=np.asarray(result["flow_samples_lost"])
        .astype(np.float64)
        .reshape(flows, losses)
        .sum(axis=1),
        buffered=left + under_way,
        mean_s={
            name: np.asarray(result[f"flow_{name}_s"], np.float64) for name in VOICE_HISTOGRAMS
        },
        histograms=histograms,
    )


def is_voice(flow: Flow) -> bool:
    """Whether a flow has a coder."""
    return isinstance(flow.arrivals, CoderArrivals)


def observed(scenario: Scenario, heard: Heard) -> tuple[dict[Metric, Floats], dict[Metric, float]]:
    """Value of every metric of voice, of each flow, shape (flows,), and of all flows with a coder
    together.

    Flows without a coder have counts of 0; what is a mean of theirs, or a rating, is NaN, as is
    that of a coder without a codec's name.
    """
    flows = scenario.flows
    each_load, most_load = _loads(scenario)
    lost = heard.lost_host + heard.lost_network
    counts = (heard.made, heard.delivered, lost, heard.lost_host, heard.buffered)
    each = dict(zip(COUNTS, counts, strict=True)) | {Metric.VOICE_LOAD: each_load}
    whole = {metric: float(values.sum()) for metric, values in zip(COUNTS, counts, strict=True)} | {
        Metric.VOICE_LOAD: most_load
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        each[Metric.SAMPLE_LOSS] = lost / (lost + heard.delivered)
        whole[Metric.SAMPLE_LOSS] = float(lost.sum() / (lost.sum() + heard.delivered.sum()))
    for name in VOICE_HISTOGRAMS:
        metrics = percentiles(name)
        each[Metric(name)] = heard.mean_s[name]
        ranked = np.array([quantiles(buckets) for buckets in heard.histograms[name]])
        each |= {metric: ranked[:, at] for at, metric in enumerate(metrics)}
        weights = np.array([float(count.sum()) for _, _, count in heard.histograms[name]])
        whole[Metric(name)] = float(weighted_mean(weights, heard.mean_s[name]))
        whole |= dict(zip(metrics, quantiles(_pooled(heard.histograms[name])), strict=True))
    ratings = np.array(
        [
            _rated(flow, heard.histograms["sample_delay"][at], float(lost[at]))
            for at, flow in enumerate(flows)
        ]
    )
    each |= {metric: ratings[:, at] for at, metric in enumerate(_RATED)}
    talking = [flow for flow in flows if is_voice(flow)]
    alike = len({flow.codec for flow in talking}) == 1
    together = _rated(
        talking[0] if alike else None, _pooled(heard.histograms["sample_delay"]), float(lost.sum())
    )
    return each, whole | dict(zip(_RATED, together, strict=True))


def _pooled(histograms: Sequence[Buckets]) -> Buckets:
    """Buckets of all flows together: they have the same edges, so that equal lows are equal
    buckets.
    """
    lows, place = np.unique(np.concatenate([low for low, _, _ in histograms]), return_inverse=True)
    highs = np.zeros(len(lows), np.int64)
    highs[place] = np.concatenate([high for _, high, _ in histograms])
    counts = np.bincount(
        place, weights=np.concatenate([count for _, _, count in histograms]), minlength=len(lows)
    )
    return lows, highs, counts.astype(np.int64)


def _rated(flow: Flow | None, delays: Buckets, lost: float) -> tuple[float, float, float, float]:
    """Delay from mouth to ear [s], loss, R and MOS with the playout that rates best in hindsight;
    NaN without a rated codec or any sample.

    A packet is played in whole so long after its oldest sample was made, or not at all if it comes
    later. Every delay that occurred is tried.
    """
    _, high_ps, count = delays
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
    """Bits of samples over the rate of the slowest wire on the way, of each flow; and the largest
    sum on any wire.
    """
    links = scenario.links
    together: dict[tuple[int, str], float] = {}
    each = np.zeros(len(scenario.flows))
    for at, (flow, way) in enumerate(zip(scenario.flows, ways_of(scenario), strict=True)):
        if not isinstance(flow.arrivals, CoderArrivals):
            continue
        for link, node in way:
            load = coder_rate(flow.arrivals) * links[link].ps_per_octet / 8
            together[link, node] = together.get((link, node), 0.0) + load
            each[at] = max(each[at], load)
    return each, max(together.values())


def coder_rate(arrivals: CoderArrivals) -> float:
    """Bits of samples that a coder makes in a picosecond, silence included in the mean."""
    return talking_share(arrivals.spurts) * arrivals.sample_bits / arrivals.sample_ps
