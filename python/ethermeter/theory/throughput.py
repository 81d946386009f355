"""What a model of throughput against load gives."""

from dataclasses import dataclass

from ethermeter.arguments import Array, Flags


@dataclass(frozen=True, slots=True)
class Throughput:
    """Throughput of a model.

    Parameters
    ----------
    throughput
        S, fraction of time in which packets that succeed are sent; from 0 to 1.
    outside_range
        Where the model's own assumptions do not hold.

    """

    throughput: Array
    outside_range: Flags
