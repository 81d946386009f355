"""Spoken: what agents counted of a coder's samples, in the form in which the simulator gives it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ethermeter.engines.live.result import Buckets, Sender, Sink, SpeechWindow
from ethermeter.store.rows import VOICE_HISTOGRAMS, Floats

PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class Spoken:
    """What became of the samples that a coder made in the measured window; NaN where nobody
    counted.

    Parameters
    ----------
    made, sent, lost, left
        Samples made; of these those handed to the host's queue, those that newer ones replaced
        before, and those left at the end.
    delivered
        Of those sent, those that came; what did not come by the end of the trial was lost on its
        way.
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
    sent, voice = sending.voice.measured, receiving.stream.voice
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


def as_core(flows: Sequence[Spoken | None], losses: int) -> dict[str, Floats]:
    """Return what was counted of all flows, None for those without a coder, as the simulator's core
    says it; without histograms.

    Parameters
    ----------
    flows
        What became of each flow's samples.
    losses
        Causes for which a simulator's network loses; of what is measured only the sum is known,
        which stands for the first.

    """
    of = [Spoken(0.0, 0.0, 0.0, 0.0, 0.0) if flow is None else flow for flow in flows]
    lost = np.zeros((len(of), losses))
    lost[:, 0] = [flow.sent - flow.delivered for flow in of]
    return {
        "flow_samples": np.array([flow.made for flow in of]),
        "flow_samples_delivered": np.array([flow.delivered for flow in of]),
        "flow_samples_lost_host": np.array([flow.lost for flow in of]),
        "flow_samples_left": np.array([flow.left for flow in of]),
        "flow_samples_under_way": np.zeros(len(of)),
        "flow_samples_lost": lost,
    }


def mean_s(buckets: Buckets) -> float:
    """Mean by the middles of buckets, which are narrower than 0.8% of the time."""
    total = sum(count for _, _, count in buckets)
    return (
        sum((low_ps + high_ps) / 2 * count for low_ps, high_ps, count in buckets) / total / PS_PER_S
        if total
        else float("nan")
    )
