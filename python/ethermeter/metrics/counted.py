"""Counted: the slices of trials, from what was counted and the parameters of their scenarios."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ethermeter.counts import (
    LOSSES,
    Adds,
    Column,
    Floats,
    FlowCounts,
    MediumCounts,
    StationCounts,
    TransferCounts,
    counters_of,
)
from ethermeter.metrics import parameters
from ethermeter.metrics.slices import Histogram, Slice
from ethermeter.scenario import Scenario


def _adding(kind: type) -> dict[str, Adds]:
    return {name: counter.adds for name, counter in counters_of(kind).items()}


_OF_STATIONS = {
    **_adding(StationCounts),
    **_adding(MediumCounts),
    **dict.fromkeys(("usual_bits", "overhead_bits", "sample_bits"), Adds.NONE),
}
_OF_FLOWS = {
    **_adding(FlowCounts),
    **dict.fromkeys(
        ("is_transfer", "reads", "job_octets", "codec", "sample_s", "is_lossless", "deadline_s"),
        Adds.NONE,
    ),
}


_NO_TRANSFERS = {
    f"transfer.{name}": np.full((1, 1), np.nan if name == "whole_ps" else 0.0)
    for name in counters_of(TransferCounts)
}


def station_slice(
    scenarios: Sequence[Scenario],
    counters: Mapping[str, Column],
    *,
    histograms: Mapping[str, Histogram],
    medium: int = 0,
) -> Slice:
    """Return what the stations of a medium counted in whole windows.

    Counters have the shape (trials, stations); all scenarios have as many of them.
    """
    of_stations = partial(parameters.of_stations, number=medium)
    found = {**counters, **parameters.stacked(scenarios, of_stations)}
    frames, bits = found["frames"], found["bits"]
    # From the bits delivered and not from the charged time in the window, which begins and ends
    # within a packet. A station that delivered nothing is charged the mean of what it would have
    # sent.
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_bits = np.where(frames > 0, bits / frames, found["usual_bits"])
    found["packet_ps"] = mean_bits * found["bit_ps"] + found["around_ps"]
    found["wanted"] = np.where(
        found["is_saturated"] > 0, frames + found["discarded"], found["offered"]
    )
    found["frames_due"] = np.where(found["is_due"] > 0, frames, 0.0)
    found["talk_frames"] = np.where(found["talks"] > 0, frames, 0.0)
    windows = np.array([[parameters.window_ps(entry)] for entry in scenarios])
    return Slice(
        found["frames"].shape[-1], windows, found, adds=_OF_STATIONS, histograms=histograms
    )


def flow_slice(
    scenarios: Sequence[Scenario],
    counters: Mapping[str, Column],
    *,
    histograms: Mapping[str, Histogram],
) -> Slice:
    """Return what flows counted in whole windows, from counters of the shape (trials, flows).

    Where there are no transfers, they counted nothing.
    """
    found = {**_NO_TRANSFERS, **counters, **parameters.stacked(scenarios, parameters.of_receivers)}
    shape = found["offered"].shape
    found |= {name: np.broadcast_to(found[name], shape) for name in _NO_TRANSFERS}
    found["messages_due"] = _due(found)
    if "voice.host.lost" in found:
        lost = (found[f"voice.lost.{cause}"] for cause in LOSSES)
        found["voice.samples_lost"] = sum(lost, np.asarray(found["voice.host.lost"]))
        found["voice.samples_buffered"] = found["voice.host.left"] + found["voice.under_way"]
    windows = np.array([[parameters.window_ps(entry)] for entry in scenarios])
    return Slice(shape[-1], windows, found, adds=_OF_FLOWS, histograms=histograms)


def station_batches(scenarios: Sequence[Scenario], counters: Mapping[str, Floats]) -> Slice:
    """Return what the stations of the first medium counted by batch, from `StationBatches`.

    Their shape is (trials, batches, stations).
    """
    of_media = parameters.stacked(scenarios, parameters.of_medium)
    found = {**counters, **{name: values[:, None] for name, values in of_media.items()}}
    return _by_batch(scenarios, found, _OF_STATIONS)


_OF_BATCHES = {
    "one_way.sum_ps": "one_way_ps",
    "one_way.count": "messages",
    "round_trip.sum_ps": "round_trip_ps",
    "round_trip.count": "completed",
    "between_arrivals.sum_ps": "between_arrivals_ps",
    "between_arrivals.count": "arrivals_between",
    "transfer.octets": "moved_octets",
}
"""Counters of flows by the counts of `FlowBatch` that they are in a batch."""


def flow_batches(
    scenarios: Sequence[Scenario],
    counters: Mapping[str, Floats],
    is_lossless: npt.NDArray[np.bool_],
) -> Slice:
    """Return what flows counted by batch, from the counters of `FlowBatch`.

    Their shape is (trials, batches, flows). `is_lossless` is of which flows nothing was lost in the
    whole trial, shape (trials, flows).
    """
    whole = parameters.stacked(scenarios, parameters.of_receivers) | {"is_lossless": is_lossless}
    found = {**counters, **{name: values[:, None] for name, values in whole.items()}}
    found |= {name: counters[entry] for name, entry in _OF_BATCHES.items()}
    found["messages_due"] = _due(found)
    return _by_batch(scenarios, found, _OF_FLOWS)


def _due(counters: Mapping[str, Column]) -> Column:
    """Return the messages that came of flows with a deadline."""
    return np.where(counters["is_due"], counters["messages"], 0.0)


def _by_batch(
    scenarios: Sequence[Scenario], counters: Mapping[str, Column], adds: Mapping[str, Adds]
) -> Slice:
    batches, entities = counters["frames"].shape[-2:]
    windows = np.array([[[parameters.window_ps(entry)]] for entry in scenarios])
    return Slice(entities, windows, counters, counted_ps=windows / batches, adds=adds)
