"""By batch: counts of agents by batch, in the form of the rows of a simulation.

Batches are of the measured window; of an exchange, which counts all of the transmission, they are
of that, and a request belongs to the batch in which it was sent. Counts that do not exist by batch
are NaN, so that no interval follows from them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from ethermeter.store.result import (
    BlockWindow,
    OctetWindow,
    Requester,
    StreamBatch,
    StreamWindow,
)
from ethermeter.store.rows import BATCH_COUNTS, BATCH_SUMS, NOT_COUNTED, Floats, Integers

NS_PER_S, PS_PER_S = 1e9, 1e12

Parts = Mapping[str, Floats]
"""Counts by the names of `BATCH_COUNTS` and `BATCH_SUMS`, shape `(batches,)`."""


def of_stream(
    measured: Sequence[StreamWindow], *, is_voice: bool, has_dropped: bool
) -> Parts | None:
    """Read the batches of a stream at its receivers; None if one of them has none.

    The caller adds frames and octets.

    Parameters
    ----------
    measured
        `measured` of every receiver.
    is_voice
        Whether a coder made it: its one-way delays are counted by the making of samples, not by
        arrival.
    has_dropped
        Whether the port never took some messages, which are not counted by batch.

    """
    if not all(one.batches for one in measured):
        return None
    read = {
        name: np.array([_column(one.batches, name) for one in measured]).sum(axis=0)
        for name in StreamBatch.__struct_fields__
    }
    none = np.zeros_like(read["frames"])
    found = {
        "messages": read["frames"],
        "data_octets": read["payload_octets"],
        "arrivals_between": read["spacings"],
        "between_arrivals_s": read["spacing_ns"] / NS_PER_S,
        **dict.fromkeys(("completed", "timed_out", "moved_octets", "round_trip_s"), none),
    }
    if not has_dropped:
        found["dropped"] = none
    # The mean is over delays that are known; it follows from the sums if these are all.
    if not is_voice and (read["delays"] == read["frames"]).all():
        found["one_way_s"] = read["delay_ns"] / NS_PER_S
    return found


def _column(batches: Sequence[Struct], name: str) -> Floats:
    """Return one count of every batch, shape `(batches,)`."""
    return np.array([getattr(batch, name) for batch in batches], np.float64)


def of_exchange(counted: Requester) -> Parts | None:
    """Read the batches of a requester."""
    batches = counted.batches
    if not batches:
        return None
    complete = _column(batches, "complete")
    return {
        "completed": complete,
        "timed_out": _column(batches, "requests") - complete,
        "round_trip_s": _column(batches, "since_arrival_ps") / PS_PER_S,
        **dict.fromkeys(
            ("dropped", "moved_octets", "arrivals_between", "between_arrivals_s"),
            np.zeros_like(complete),
        ),
    }


def of_file(measured: BlockWindow) -> Parts | None:
    """Read the batches of the blocks of a file."""
    batches = measured.batches
    if not batches:
        return None
    blocks = _column(batches, "blocks")
    return {
        "completed": blocks,
        "moved_octets": _column(batches, "octets"),
        "round_trip_s": _column(batches, "round_trip_ns") / NS_PER_S,
        **dict.fromkeys(("arrivals_between", "between_arrivals_s"), np.zeros_like(blocks)),
    }


def of_octets(measured: OctetWindow) -> Parts | None:
    """Read the batches of octets in bulk, which have neither exchanges nor messages.

    Their rate is that from the first read to the last, which does not follow from the octets of
    batches.
    """
    if not measured.batches:
        return None
    return dict.fromkeys(
        ("completed", "round_trip_s", "arrivals_between", "between_arrivals_s"),
        np.zeros(len(measured.batches)),
    )


def mean_s(sum_s: float, count: float) -> float:
    """Mean of times with a known sum, in s; NaN without any."""
    return sum_s / count if count else float("nan")


def rows(flows: Sequence[Parts | None], batches: int) -> tuple[Integers, Floats]:
    """Stack the counts of flows as `TrialRows` has them, batch by batch and flow by flow.

    Both are empty where no flow has so many batches.

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
