"""Spoken: what agents counted of a coder's samples, in the form in which the simulator gives it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ethermeter import counts
from ethermeter.counts import LOSSES, FlowVoice, zeros
from ethermeter.store.result import Buckets, Sender, Sink, SpeechWindow
from ethermeter.store.rows import VOICE_HISTOGRAMS, Floats

PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class Spoken:
    """Counts of the samples that a coder made in the measured window; NaN where unknown.

    Parameters
    ----------
    made, sent, lost, left
        Samples made; of these those handed to the host's queue, those that newer ones replaced
        before, and those left at the end.
    delivered
        Of those sent, those that came; the others were lost in the network.
    packets_sent, packets_came
        Packets whose oldest sample was made in the window.
    delays
        By the names of `VOICE_HISTOGRAMS`: buckets over packets, and over samples.

    """

    made: float = np.nan
    sent: float = np.nan
    lost: float = np.nan
    left: float = np.nan
    delivered: float = np.nan
    packets_sent: float = np.nan
    packets_came: float = np.nan
    delays: Mapping[str, Buckets] = field(
        default_factory=lambda: {name: [] for name in VOICE_HISTOGRAMS}
    )


def spoken(sending: Sender, receiving: Sink) -> Spoken:
    """Return what became of the samples of a flow with a coder."""
    assert sending.voice is not None, "a coder's sender counts samples"
    sent = sending.voice.measured
    voice = receiving.streams[0].voice if receiving.streams else None
    # A receiver to which nothing came counts no samples.
    came = SpeechWindow() if voice is None else voice.measured
    return Spoken(
        made=float(sent.made),
        sent=float(sent.sent),
        lost=float(sent.lost),
        left=float(sent.left),
        delivered=float(came.samples),
        packets_sent=float(sent.packets),
        packets_came=float(came.packets),
        delays={"voice_delay": came.voice_delay.buckets, "sample_delay": came.sample_delay.buckets},
    )


def flow_voice(flows: Sequence[Spoken | None]) -> FlowVoice:
    """Return what was counted of all flows, None for those without a coder, as engines have it.

    Of losses in the network only the sum is known, which stands for the first cause.
    """
    of = [Spoken(0.0, 0.0, 0.0, 0.0, 0.0) if flow is None else flow for flow in flows]
    none = zeros(FlowVoice, len(of))
    lost = np.zeros((len(of), len(LOSSES)))
    lost[:, 0] = [flow.sent - flow.delivered for flow in of]
    unknown = np.full(len(of), np.nan)
    return replace(
        none,
        host=replace(
            none.host,
            made=np.array([flow.made for flow in of]),
            lost=np.array([flow.lost for flow in of]),
            left=np.array([flow.left for flow in of]),
        ),
        delivered=np.array([flow.delivered for flow in of]),
        lost=lost,
        voice_delay=delays([flow.delays["voice_delay"] for flow in of], unknown),
        sample_delay=delays([flow.delays["sample_delay"] for flow in of], unknown),
    )


def delays(
    flows: Sequence[Buckets], mean_s: Floats, *, count: Floats | None = None
) -> counts.Delays:
    """Return the times of flows as engines have them.

    Parameters
    ----------
    flows
        Buckets of each.
    mean_s
        Their mean, where it is known exactly; elsewhere NaN, and that of the middles of buckets is
        taken, which are narrower than 0.8% of the time.
    count
        How many, if not all in buckets.

    """
    rows = np.array(
        [(number, *bucket) for number, buckets in enumerate(flows) for bucket in buckets], np.int64
    ).reshape(-1, 4)
    entity, low_ps, high_ps, number = rows.T
    total = np.bincount(entity, weights=number, minlength=len(flows)).astype(np.float64)
    sum_ps = np.bincount(entity, weights=(low_ps + high_ps) / 2 * number, minlength=len(flows))
    with np.errstate(invalid="ignore"):
        found_ps = np.where(np.isnan(mean_s), sum_ps / total, mean_s * PS_PER_S)
    many = total if count is None else count
    return counts.Delays(many, found_ps * many, counts.Buckets(entity, low_ps, high_ps, number))
