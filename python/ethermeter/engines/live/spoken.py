"""Spoken: what agents counted of a coder's samples, in the form in which the simulator gives it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ethermeter.store.rows import VOICE_HISTOGRAMS

PS_PER_S = 1e12

Buckets = list[tuple[int, int, int]]
"""Buckets of a histogram: low and high in ps, count."""


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


def spoken(sending: Mapping[str, Any], receiving: Mapping[str, Any]) -> Spoken:
    """Read what the two ends of a flow say of samples.

    Parameters
    ----------
    sending, receiving
        What the roles of the flow counted, as `live/<trial id>.json` has it.

    """
    said, stream = sending["voice"]["measured"], receiving["stream"]
    # A listener to whom nothing came knows of no voice.
    heard = (stream.get("voice") or {}).get("measured") or {"samples": 0, "packets": 0}
    delays = {
        name: [
            (low, high, count) for low, high, count in heard.get(name, {"buckets": ()})["buckets"]
        ]
        for name in VOICE_HISTOGRAMS
    }
    counts = {name: float(said[name]) for name in ("made", "sent", "lost", "left")}
    packets = {"packets_sent": float(said["packets"]), "packets_came": float(heard["packets"])}
    return Spoken(**counts, delivered=float(heard["samples"]), **packets, delays=delays)


def as_core(flows: Sequence[Spoken | None], losses: int) -> dict[str, Any]:
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
