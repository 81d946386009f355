"""What a model of delay against arrival rate gives."""

from dataclasses import dataclass

from ethermeter.arguments import Array, Flags


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay of a model.

    Parameters
    ----------
    delay_s
        Mean time from the arrival of a packet to the end of its reception [s].
    utilisation
        Arrival rate times mean packet time: the fraction of time in which packets are sent.
    outside_range
        Where the model's own assumptions do not hold, or the queue is not stable (NaN).

    """

    delay_s: Array
    utilisation: Array
    outside_range: Flags
