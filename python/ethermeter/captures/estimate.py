"""Rate of a transfer without its present limit: the next limit, its formula and assumptions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_CUBIC_C = 0.4
_CUBIC_BETA = 0.7
HEADROOM = 1.5
"""Buffer over rate times round trip: a writer is woken when a third of its buffer is free, so that
two thirds must fill the round trip.
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit that would be met next.

    `name`: what it is. `bps`: the payload rate that it allows, in bit/s. `formula`: how this
    follows from the capture.
    """

    name: str
    bps: float
    formula: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """The payload rate that a transfer would reach, an estimate.

    `goodput_bps`: with the receiver's window as large as it was seen, in bit/s. `most_bps`: the
    same if the receiver's window grows as far as needed, in bit/s. `bound`: the limit that
    `goodput_bps` is of. `assumptions`: what the estimate holds under.
    """

    goodput_bps: float
    most_bps: float
    bound: Bound
    assumptions: tuple[str, ...]


def loss_limited_bps(segment_octets: int, round_trip_s: float, loss_share: float) -> float:
    """Payload rate that losses allow a Reno or CUBIC sender, in bit/s, the larger of the two.

    `segment_octets`: payload of a full segment. `round_trip_s`: round trip in s, above 0.
    `loss_share`: round trips with losses over segments, above 0 and at most 1.

    Source
    ------
    Reno, and CUBIC where it is no slower than Reno: a window of sqrt(3 / (2 p)) segments (Mathis,
    Semke, Mahdavi and Ott, Computer Communication Review 27(3), 1997, equation 3). CUBIC elsewhere:
    RFC 9438, equation 5, with C = 0.4 and a factor of 0.7.

    Examples
    --------
    >>> round(loss_limited_bps(1448, 0.02, 0.01) / 1e6, 2)
    7.09
    """
    reno = math.sqrt(1.5 / loss_share)
    cubic: float = (_CUBIC_C * (3 + _CUBIC_BETA) / (4 * (1 - _CUBIC_BETA))) ** 0.25 * (
        round_trip_s / loss_share
    ) ** 0.75
    return 8 * segment_octets * max(reno, cubic) / round_trip_s


def lowest(
    bounds: Sequence[Bound], window: Bound | None, assumptions: Sequence[str]
) -> Estimate | None:
    """Return the estimate by the lowest of some bounds; None if there are none.

    `bounds`: limits that hold in any case. `window`: the limit that the receiver's window sets; it
    may grow. `assumptions`: what the estimate holds under.
    """
    all_of = [*bounds, *([] if window is None else [window])]
    if not all_of:
        return None
    bound = min(all_of, key=lambda each: each.bps)
    most_bps = min((each.bps for each in bounds), default=bound.bps)
    return Estimate(bound.bps, most_bps, bound, tuple(assumptions))


def buffer_octets(rate_bps: float, round_trip_s: float) -> int:
    """Return the buffer for a rate in bit/s and a round-trip time in s, rounded up, with headroom.

    Examples
    --------
    >>> buffer_octets(47_000_000, 0.02)
    180000
    """
    octets = max(1.0, HEADROOM * rate_bps * round_trip_s / 8)
    digit: int = 10 ** max(0, math.floor(math.log10(octets)) - 1)
    return math.ceil(octets / digit) * digit
