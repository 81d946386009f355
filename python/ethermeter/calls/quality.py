"""Quality: what a simulated trial means for those who talk."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ethermeter.observation import Metric
from ethermeter.store.rows import HISTOGRAMS, METRICS, TrialRows
from ethermeter.voice import CODECS, e_model, mouth_to_ear

Floats = npt.NDArray[np.float64]
PS_PER_S = 1e12
_RESPONSE = HISTOGRAMS.index("response_time")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is good enough: a mean opinion score, or for codecs that the E-model does not rate, a loss and a delay.

    Parameters
    ----------
    mos
        Mean opinion score, or None.
    loss, delay_s
        Largest share of packets that may not come in time, and largest delay from mouth to ear [s]; used where there is no `mos`.

    """

    mos: float | None = None
    loss: float = 0.01
    delay_s: float = 0.15

    def margin(self, quality: "Quality") -> float:
        """By how much a quality is better than wanted, in the unit of the score or as a share of the loss; negative where worse."""
        if self.mos is not None:
            return quality.mos - self.mos
        return self.loss - quality.loss if quality.delay_s <= self.delay_s * (1 + 1e-9) else -1.0


@dataclass(frozen=True, slots=True)
class Quality:
    """What those who talk get in one trial.

    Parameters
    ----------
    buffer_s
        Time after which a packet is played that the network has had since it was ready [s]: the delay of network and jitter buffer.
    delay_s
        From mouth to ear [s].
    loss
        Share of packets that do not come by then, or not at all.
    rating, mos
        R of the E-model and its score; NaN for a codec without a rating.
    network_p50_s, network_p99_s
        Of the packets' time from being ready to their arrival [s].
    utilisation
        Channel time of delivered frames over the window.

    """

    buffer_s: float
    delay_s: float
    loss: float
    rating: float
    mos: float
    network_p50_s: float
    network_p99_s: float
    utilisation: float


def quality(rows: TrialRows, *, codec: str, packet_s: float, buffer_s: float | None, beyond_s: float, wanted: Wanted) -> Quality:
    """Rate a trial whose stations all talk.

    Parameters
    ----------
    rows
        What the simulation found.
    codec, packet_s
        As of the question.
    buffer_s
        Delay of network and jitter buffer that the receivers have set [s]; None for the one with the best score (where there is no score:
        the shortest with which no more than the wanted loss is late, or the longest that the wanted delay leaves).
    beyond_s
        Delay beyond the segment, such as of a network behind it [s].
    wanted
        What the best is for codecs without a rating.

    """
    edges_s, counts = _response(rows)
    whole = dict(zip(METRICS, rows.values[: len(METRICS)].tolist(), strict=True))
    sent = float(counts.sum()) + whole[Metric.DISCARDED] + whole[Metric.DROPPED]
    late = 1 - np.cumsum(counts) / sent if sent else np.ones(counts.shape)
    if buffer_s is None:
        index = _best(edges_s, late, codec=codec, packet_s=packet_s, beyond_s=beyond_s, wanted=wanted)
        chosen, loss = float(edges_s[index]), float(late[index])
    else:
        in_time = edges_s <= buffer_s * (1 + 1e-9)
        chosen, loss = buffer_s, float(late[in_time][-1]) if in_time.any() else 1.0
    loss = min(max(loss, 0.0), 1.0)
    delay_s = float(mouth_to_ear(codec, packet_s=packet_s, network_s=chosen + beyond_s, jitter_buffer_s=0.0).delay_s)
    rating, mos = _rated(codec, delay_s, loss)
    return Quality(
        buffer_s=chosen,
        delay_s=delay_s,
        loss=loss,
        rating=rating,
        mos=mos,
        network_p50_s=_quantile(edges_s, counts, 0.5),
        network_p99_s=_quantile(edges_s, counts, 0.99),
        utilisation=whole[Metric.UTILISATION],
    )


def _response(rows: TrialRows) -> tuple[Floats, Floats]:
    """Return upper edges of the buckets of the response time [s], and packets in them; at least one bucket."""
    of = rows.histogram == _RESPONSE
    if not of.any():
        return np.zeros(1), np.zeros(1)
    return rows.high_ps[of] / PS_PER_S, rows.count[of].astype(np.float64)


def _best(edges_s: Floats, late: Floats, *, codec: str, packet_s: float, beyond_s: float, wanted: Wanted) -> int:
    base_s = float(mouth_to_ear(codec, packet_s=packet_s, network_s=beyond_s, jitter_buffer_s=0.0).delay_s)
    delays = np.minimum(base_s + edges_s, 10.0)
    if CODECS[codec].is_rated:
        return int(np.argmax(np.asarray(e_model(delays, np.clip(late, 0, 1), codec=codec).r)))
    enough = np.nonzero(late <= wanted.loss)[0]
    within = np.nonzero(delays <= wanted.delay_s)[0]
    longest = int(within[-1]) if within.size else 0
    return min(int(enough[0]), longest) if enough.size else longest


def _rated(codec: str, delay_s: float, loss: float) -> tuple[float, float]:
    if not CODECS[codec].is_rated:
        return float("nan"), float("nan")
    found = e_model(min(delay_s, 10.0), loss, codec=codec)
    return float(found.r), float(found.mos)


def _quantile(edges_s: Floats, counts: Floats, share: float) -> float:
    total = counts.sum()
    return float(edges_s[np.searchsorted(np.cumsum(counts), share * total)]) if total else float("nan")
