"""The rate of a long transfer by TCP: its window, and its losses."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, plain
from ethermeter.theory.entry import OF_TRANSFERS, Output, Symbol, catalogued, read

_ROUND_TRIP_S = Range(1e-9, 1e6)
_BITS = Range(1, 1e15)
_LOSS = Range(1e-9, 0.5)
_COUNT = Range(1, 1e9)

RoundTrip = Annotated[
    Numbers, Symbol("RTT", "mean round-trip time, queues included", _ROUND_TRIP_S, "s")
]
Loss = Annotated[
    Numbers,
    Symbol("p", "loss events over segments sent; losses in the same window are one event", _LOSS),
]
SegmentBits = Annotated[Numbers, Symbol("MSS", "size of the data in a segment", _BITS, "bit")]
Acknowledged = Annotated[Numbers, Symbol("b", "segments for each acknowledgement", Range(1, 1000))]


@dataclass(frozen=True, slots=True)
class TransferRate:
    """Rate of a transfer."""

    rate_bps: Annotated[Array, Output("B", "data rate of the transfer", "bit/s")]
    window_bits: Annotated[Array, Output("W", "mean window: rate times round trip", "bit")]
    outside_range: Flags


def _found(rate: Array, round_trip: Array, outside: Flags) -> TransferRate:
    return TransferRate(plain(rate), plain(rate * round_trip), plain(outside))


@catalogued(
    "rate of a transfer by its window, without loss",
    {
        "window": "constant: the smaller one of the receiver's and the sender's",
        "losses": "none",
        "acknowledgements": "at once",
        "buffers": "room for a window beyond what the path carries",
    },
    aspects=OF_TRANSFERS,
    source="V. Jacobson, R. Braden, D. Borman, TCP extensions for high performance, RFC 1323, 1992,"
    " section 1.1",
    confidence="exact: a window is sent every round trip",
    validity="windows that the path carries in less than a round trip; more waits in its queues and"
    " lengthens the round trip",
)
def jacobson_1992_window(
    window_bits: Annotated[
        Numbers, Symbol("W", "largest amount of outstanding data", _BITS, "bit")
    ],
    *,
    round_trip_s: RoundTrip,
    rate_bps: Annotated[
        Numbers, Symbol("C", "data rate of the slowest stage", Range(1, 1e15), "bit/s")
    ] = 1e15,
) -> TransferRate:
    """Rate of a transfer without loss: the window over the round trip, at most the slowest stage's.

    Examples
    --------
    >>> float(jacobson_1992_window(65535 * 8, round_trip_s=0.1).rate_bps)
    5242800.0

    """
    window, trip, capacity = read(
        jacobson_1992_window, window_bits=window_bits, round_trip_s=round_trip_s, rate_bps=rate_bps
    )
    rate = np.minimum(window / trip, capacity)
    return _found(rate, trip, window / trip > capacity)


@catalogued(
    "rate of a transfer in congestion avoidance, without timeouts",
    {
        "window": "grows by a segment a round trip, halved by a loss; never full",
        "losses": "one every 1/p segments, repaired without a timeout",
        "acknowledgements": "one for every b segments",
        "buffers": "in the round trip, which is constant",
    },
    aspects=OF_TRANSFERS,
    source="M. Mathis, J. Semke, J. Mahdavi, T. Ott, The macroscopic behavior of the TCP congestion"
    " avoidance algorithm, ACM Computer Communication Review 27(3), 1997, eq. 3",
    confidence="mathematics solid: exact for its assumptions",
    validity="windows of several segments: losses below 2% without delayed "
    "acknowledgements, below 1% with them; above, timeouts dominate",
)
def mathis_1997(
    loss: Loss,
    *,
    round_trip_s: RoundTrip,
    segment_bits: SegmentBits,
    acknowledged: Acknowledged = 1.0,
) -> TransferRate:
    """Rate of a transfer with rare losses: MSS/RTT sqrt(3 / (2 b p)).

    Examples
    --------
    >>> float(mathis_1997(0.015, round_trip_s=0.1, segment_bits=1460 * 8).rate_bps)
    1168000.0

    """
    lost, trip, segment, every = read(
        mathis_1997,
        loss=loss,
        round_trip_s=round_trip_s,
        segment_bits=segment_bits,
        acknowledged=acknowledged,
    )
    return _found(
        segment / trip * np.sqrt(3 / (2 * every * lost)), trip, np.asarray(lost * every > 0.02)
    )


@catalogued(
    "rate of a transfer with losses and timeouts: Reno",
    {
        "window": "Reno: grows by 1/b segments a round trip, halved by three duplicate"
        " acknowledgements, one segment after a timeout; at most the receiver's",
        "losses": "independent between rounds; after a loss the rest of the round is lost too",
        "acknowledgements": "one for every b segments, none lost",
        "buffers": "in the round trip, which does not depend on the window",
    },
    aspects=OF_TRANSFERS,
    source="J. Padhye, V. Firoiu, D. Towsley, J. Kurose, Modeling TCP throughput: a simple model"
    " and its empirical validation, ACM SIGCOMM 1998, eq. 32",
    confidence="the paper's formula, which approximates its assumptions by mean windows",
    validity="transfers of many round trips; the time of slow start is not counted",
)
def padhye_1998(
    loss: Loss,
    *,
    round_trip_s: RoundTrip,
    segment_bits: SegmentBits,
    timeout_s: Annotated[
        Numbers, Symbol("T_0", "first retransmission timeout", _ROUND_TRIP_S, "s")
    ],
    window_segments: Annotated[
        Numbers, Symbol("W_max", "largest window in segments", _COUNT)
    ] = 1e9,
    acknowledged: Acknowledged = 2.0,
) -> TransferRate:
    """Rate of a transfer by TCP Reno with timeouts and a limited window."""
    p, trip, segment, timeout, most, b = read(
        padhye_1998,
        loss=loss,
        round_trip_s=round_trip_s,
        segment_bits=segment_bits,
        timeout_s=timeout_s,
        window_segments=window_segments,
        acknowledged=acknowledged,
    )
    part = (2 + b) / (3 * b)
    unlimited = part + np.sqrt(8 * (1 - p) / (3 * b * p) + part**2)
    is_limited = unlimited >= most
    window = np.minimum(unlimited, most)
    times_out = _timeout_share(p, window)
    waits = times_out * timeout * _backoff(p) / (1 - p)
    sent = (1 - p) / p + window + times_out / (1 - p)
    rounds = np.where(is_limited, b / 8 * window + (1 - p) / (p * window) + 2, b / 2 * window + 1)
    rate = segment * sent / (trip * rounds + waits)
    return _found(rate, trip, np.zeros(rate.shape, dtype=np.bool_))


def _timeout_share(p: Array, window: Array) -> Array:
    """Return the probability that a loss in a window ends in a timeout (eq. 24)."""
    kept = 1 - p
    # 1 - (1 - p)^n without cancellation.
    lost = -np.expm1(window * np.log1p(-p))
    three = -np.expm1(3 * np.log1p(-p))
    beyond = -np.expm1((window - 3) * np.log1p(-p))
    return np.asarray(np.minimum(1.0, three * (1 + kept**3 * beyond) / lost))


def _backoff(p: Array) -> Array:
    """Return the mean length of timeouts in a row over the first, doubled six times (eq. 29)."""
    return np.asarray(1 + p * (1 + p * (2 + p * (4 + p * (8 + p * (16 + p * 32))))))
