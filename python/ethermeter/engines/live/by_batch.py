"""By batch: what agents counted in each part of what they measured, as the rows of a simulation
have it.

Parts are of the measured window; of an exchange, which counts all of the transmission, they are of
that, and a request belongs to the part in which it was sent. What is not counted by part is NaN, so
that nothing is made to follow from it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ethermeter.engines.live.result import (
    BlockWindow,
    OctetWindow,
    Requester,
    StreamBatches,
    StreamWindow,
)
from ethermeter.store.rows import BATCH_COUNTS, BATCH_SUMS, NOT_COUNTED, Floats, Integers

NS_PER_S = 1e9

Parts = Mapping[str, Floats]
"""By the names of `BATCH_COUNTS` and `BATCH_SUMS` what is known of every part, shape `(batches,)`;
names that are missing are not known.
"""


def of_stream(
    measured: Sequence[StreamWindow], *, is_voice: bool, has_dropped: bool
) -> Parts | None:
    """Read what receivers counted of a stream; None if one of them did not by part.

    What frames and octets these are is for the caller.

    Parameters
    ----------
    measured
        `measured` of every receiver.
    is_voice
        Whether a coder made it: its one-way delays are told by when samples were made, not by when
        they came.
    has_dropped
        Whether the port never took some messages; nobody counts by part when.

    """
    counted = [one.batches for one in measured if one.batches is not None]
    if not counted or len(counted) < len(measured):
        return None
    read = {
        name: np.array([getattr(one, name) for one in counted], np.float64).sum(axis=0)
        for name in StreamBatches.__struct_fields__
    }
    none = np.zeros_like(read["frames"])
    found = {
        "messages": read["frames"],
        "data_octets": read["payload_octets"],
        "arrivals_between": read["spacings"],
        "between_arrivals_s": read["spacing_sum_ns"] / NS_PER_S,
        **dict.fromkeys(("completed", "timed_out", "moved_octets", "round_trip_s"), none),
    }
    if not has_dropped:
        found["dropped"] = none
    # The mean is over delays that are known; it follows from the sums if these are all.
    if not is_voice and (read["delays"] == read["frames"]).all():
        found["one_way_s"] = read["delay_sum_ns"] / NS_PER_S
    return found


def of_exchange(asked: Requester) -> Parts | None:
    """Read what a requester counted of its requests."""
    said = asked.batches
    if said is None:
        return None
    complete = np.array(said.complete, np.float64)
    return {
        "completed": complete,
        "timed_out": np.array(said.requests, np.float64) - complete,
        "round_trip_s": np.array(said.since_arrival_sum_ns, np.float64) / NS_PER_S,
        **dict.fromkeys(
            ("dropped", "moved_octets", "arrivals_between", "between_arrivals_s"),
            np.zeros_like(complete),
        ),
    }


def of_file(measured: BlockWindow) -> Parts | None:
    """Read what a client counted of the blocks of a file."""
    said = measured.batches
    if said is None:
        return None
    blocks = np.array(said.blocks, np.float64)
    return {
        "completed": blocks,
        "moved_octets": np.array(said.octets, np.float64),
        "round_trip_s": np.array(said.round_trip_sum_ns, np.float64) / NS_PER_S,
        **dict.fromkeys(("arrivals_between", "between_arrivals_s"), np.zeros_like(blocks)),
    }


def of_octets(measured: OctetWindow) -> Parts | None:
    """Read what a receiver counted of octets in bulk: that it has neither exchanges nor messages.

    Their rate is that from the first read to the last, which does not follow from the octets of
    parts.
    """
    said = measured.batches
    if said is None:
        return None
    return dict.fromkeys(
        ("completed", "round_trip_s", "arrivals_between", "between_arrivals_s"),
        np.zeros(len(said.octets)),
    )


def mean_s(sums_ns: Sequence[int], counts: Sequence[int]) -> float:
    """Mean from the sums and counts of all parts, in s; NaN without any."""
    total = sum(counts)
    return sum(sums_ns) / total / NS_PER_S if total else float("nan")


def rows(flows: Sequence[Parts | None], batches: int) -> tuple[Integers, Floats]:
    """Stack what flows counted as `TrialRows` has it, batch by batch and flow by flow; both empty
    where no flow counted in so many parts.

    Parameters
    ----------
    flows
        What is known of each.
    batches
        Batches that the trial asked for.

    """
    known = [
        flow if flow is not None and len(flow["completed"]) == batches else None for flow in flows
    ]
    if not any(known):
        return np.empty(0, np.int64), np.empty(0)
    unknown = np.full(batches, np.nan)

    def stacked(names: Sequence[str]) -> Floats:
        of_each = [[(flow or {}).get(name, unknown) for name in names] for flow in known]
        return np.array(of_each, np.float64).transpose(2, 0, 1).ravel()

    counts = stacked(BATCH_COUNTS)
    return np.where(np.isnan(counts), NOT_COUNTED, counts).astype(np.int64), stacked(BATCH_SUMS)
