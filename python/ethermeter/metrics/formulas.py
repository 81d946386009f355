"""Formulas of metrics: a value of each entity, and of all together, from what a slice counted.

The same formula gives the values of a window, of all entities together, of a measurement, and,
applied to slices in which a batch is left out, how sure these are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Buckets, Floats
from ethermeter.metrics.slices import Slice
from ethermeter.metrics.statistics import (
    PS_PER_S,
    RANKS,
    jain_index,
    of_entity,
    sample_sd,
    sd_of_sums,
    weighted_mean,
)
from ethermeter.voice import CODECS, e_model, mouth_to_ear

NS_PER_S = 1e9
LARGEST = len(RANKS)
"""Place of the largest time behind the quantiles of a histogram."""
LONGEST_S = 10.0
"""Longest delay that the E-model is asked about, in s; a call is unusable long before."""
LOST = ("queue", "buffer", "attempts", "damaged")
"""Where a copy of a frame may end so that its destination misses it."""

OfEach = Callable[[Slice], Floats]
OfAll = Callable[[Slice, Floats], Floats]


@dataclass(frozen=True, slots=True)
class Formula:
    """The formula of a metric.

    Parameters
    ----------
    each
        Gives the values of the entities of a slice, shape `(…, entities)`; None of a metric that
        only all of them have.
    all
        Gives that of all together, shape `(…)`, from the slice and the values of each; None if it
        is the value of what they counted together.

    """

    each: OfEach | None
    all: OfAll | None = None

    def of_each(self, counted: Slice) -> Floats:
        """Return the values of the entities, shape `(…, entities)`; NotCountedError without."""
        assert self.each is not None, "a metric of each"
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.each(counted), np.float64)

    def of_all(self, counted: Slice, each: Floats | None = None) -> Floats:
        """Return the value of all together, shape `(…)`; `each` are those of each, if known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.all is None:
                assert self.each is not None, "either of each or of all"
                return np.asarray(self.each(counted.together())[..., 0], np.float64)
            if each is None and self.each is not None:
                each = self.of_each(counted)
            nothing = np.empty(0)
            return np.asarray(self.all(counted, nothing if each is None else each), np.float64)


def of_all(value: OfEach) -> Formula:
    """Return the formula of a metric that only all entities together have."""
    return Formula(None, lambda counted, _: value(counted))


def floats(values: Any) -> Floats:
    """Return counts as floats."""
    return np.asarray(values, np.float64)


def ratio(counts_in_window: Any, samples: Any) -> Floats:
    """Return what was counted for each sample; NaN without any."""
    return np.where(floats(samples) > 0, floats(counts_in_window) / samples, np.nan)


def added(counted: Slice, each: Floats) -> Floats:
    """Return the sum over entities."""
    del counted
    return np.asarray(each.sum(axis=-1))


def scaled(counted: Slice, counts: Any) -> Floats:
    """Return counts as they would be in the whole window."""
    return (
        floats(counts)
        if counted.is_whole
        else floats(counts) * (counted.window_ps / counted.time_ps)
    )


def count(name: str, *others: str) -> Formula:
    """Return what is counted in the window under some names."""

    def counts_in_window(counted: Slice) -> Floats:
        return scaled(
            counted, sum((floats(counted[other]) for other in others), floats(counted[name]))
        )

    return Formula(counts_in_window, added)


def parameter(name: str) -> Formula:
    """Return a parameter of each entity, which adds."""
    return Formula(lambda counted: counted[name], added)


def ratio_of(name: str, samples: str) -> Formula:
    """Return what is counted under a name for each of some samples."""
    return Formula(lambda counted: ratio(counted[name], counted[samples]))


def per_frame(name: str) -> Formula:
    """Return what is counted under a name for each frame delivered."""
    return ratio_of(name, "frames")


def mean_s(total_ps: str, samples: str = "frames") -> Formula:
    """Return the mean of a time that is summed in ps under a name, over samples."""
    return Formula(lambda counted: ratio(counted[total_ps], counted[samples]) / PS_PER_S)


def per_second(name: str) -> Formula:
    """Return the rate of what is counted under a name."""
    return Formula(lambda counted: floats(counted[name]) / (counted.time_ps / PS_PER_S))


def share_of_time(name: str) -> Formula:
    """Return the share of the time that a sum of times in ps is."""
    return Formula(lambda counted: floats(counted[name]) / counted.time_ps)


def share_of_medium(name: str) -> Formula:
    """Return the share of the time that the medium spent on something, summed in ps."""
    return of_all(lambda counted: (floats(counted[name]) / counted.time_ps)[..., 0])


def of_medium(total_ps: str, samples: str) -> Formula:
    """Return the mean of a time that the medium counts."""
    return of_all(lambda counted: (floats(counted[total_ps]) / counted[samples] / PS_PER_S)[..., 0])


def count_of_medium(name: str) -> Formula:
    """Return what the medium counted in the window."""
    return of_all(lambda counted: scaled(counted, counted[name])[..., 0])


def rank_of_medium(histogram: str, place: int) -> Formula:
    """Return a quantile of a histogram of the medium, or its largest time."""
    return of_all(lambda counted: counted.ranks_s(histogram)[..., 0, place])


# Stations on a medium


def _bit_rate(counted: Slice) -> Floats:
    return floats(floats(counted["charged_ps"]) / counted.time_ps * (PS_PER_S / counted["bit_ps"]))


BIT_RATE = Formula(_bit_rate)
"""The utilisation times the line rate."""
ATTEMPTS_PER_FRAME = Formula(
    lambda counted: ratio(floats(counted["frames"]) + counted["collisions"], counted["frames"])
)
"""Attempts ended for each frame delivered.

An attempt ends as a frame or as a collision; those begun but not ended are not counted.
"""
DELAY_SD = Formula(
    lambda counted: (
        sd_of_sums(counted["frames"], counted["delay_ps"], counted["delay_ps2"]) / PS_PER_S
    )
)
"""Sample standard deviation of the transmission delay over frames."""
STATION_LOSS = Formula(
    lambda counted: ratio(floats(counted["dropped"]) + counted["discarded"], counted["wanted"])
)
"""Frames dropped or discarded over those wanted."""


@of_all
def EXCESS_DELAY(counted: Slice) -> Floats:  # noqa: N802
    """Return the mean delay beyond the time in which each station sends a frame."""
    frames = floats(counted["frames"]).sum(axis=-1)
    delay_ps = floats(counted["delay_ps"]).sum(axis=-1) / frames
    if counted.is_whole:
        packets_ps = counted["packet_ps"].sum(axis=-1)
    else:  # bits are not counted by batch: stations are charged the mean of all
        packets_ps = counted.entities * floats(counted["charged_ps"]).sum(axis=-1) / frames
    return np.asarray((delay_ps - packets_ps) / PS_PER_S)


def of_buffers(name: str) -> Formula:
    """Return the mean number of the buffers of a generator that are in a state.

    `name` is the sum of their times in it. NaN of a station without a generator; of all the mean of
    those that have one.
    """

    def mean(counted: Slice) -> Floats:
        states = ("output_ps", "transmitted_ps", "filling_ps")
        all_ps = sum(floats(counted[f"generator.{state}"]) for state in states)
        number = floats(counted[f"generator.{name}"]) / counted.time_ps
        return np.where(all_ps > 0, number, np.nan)

    return Formula(mean, lambda _, each: np.nanmean(each, axis=-1))


def spread(rate: Formula) -> Formula:
    """Return the sample standard deviation of rates over stations.

    Of one station it is 0, which batches do not estimate.
    """

    def sd(counted: Slice) -> Floats:
        values = rate.of_each(counted)
        if values.shape[-1] > 1:
            return sample_sd(values)
        return np.full(values.shape[:-1], 0.0 if counted.is_whole else np.nan)

    return of_all(sd)


SPREAD_OVER_MEAN = of_all(
    lambda counted: spread(BIT_RATE).of_all(counted) / BIT_RATE.of_each(counted).mean(axis=-1)
)
"""Standard deviation of the stations' bit rates over their mean."""
FAIRNESS = of_all(lambda counted: jain_index(BIT_RATE.of_each(counted)))
"""Jain's index of the stations' bit rates."""


# Voice on a medium


def _of_voice(counted: Slice) -> Floats:
    """Return the bits of samples in frames delivered, padding included."""
    return np.where(
        counted["talks"] > 0, counted["bits"] - counted["frames"] * counted["overhead_bits"], 0.0
    )


STATION_VOICE_DELAY = Formula(
    lambda counted: (
        floats(counted["voice.voice_delay_ps"]) / counted["voice.voice_frames"] / PS_PER_S
    ),
    lambda counted, each: weighted_mean(counted["talk_frames"], each),
)
"""Mean voice delay over frames."""
STATION_SAMPLE_DELAY = Formula(
    lambda counted: (
        floats(counted["voice.sample_delay_ps"]) / counted["voice.samples_sent"] / PS_PER_S
    ),
    # By the samples of the frames, and what a spurt left a frame short of.
    lambda counted, each: weighted_mean(_of_voice(counted) / counted["sample_bits"], each),
)
"""Mean voice delay over samples."""


def _voice_load(counted: Slice) -> Floats:
    load = floats(counted["coder_load"])
    if not (counted["has_calls"] > 0).any():
        return load
    share = floats(counted["calls.call_ps"]) / counted.time_ps
    return np.where(counted["has_calls"] > 0, load * share, load)


STATION_VOICE_LOAD = Formula(_voice_load, added)
"""Share of the line rate that a coder's samples take; with calls, while its station has one."""
VOICE_UTILISATION = Formula(
    lambda counted: _of_voice(counted) * counted["bit_ps"] / counted.time_ps, added
)
"""Bit rate of delivered voice over the line rate."""


def share_lost(lost: str, delivered: str) -> Formula:
    """Return what was lost over what was lost or delivered."""
    return Formula(lambda counted: floats(counted[lost]) / (counted[lost] + counted[delivered]))


def unfairness(extreme: np.ufunc) -> Formula:
    """Return the least or largest mean delay of a station over the mean of these means."""

    def ratio_to_mean(counted: Slice) -> Floats:
        delay_s = STATION_VOICE_DELAY.of_each(counted)
        is_known = np.isfinite(delay_s)
        mean = np.where(is_known, delay_s, 0.0).sum(axis=-1) / is_known.sum(axis=-1)
        return np.where(is_known.any(axis=-1), extreme.reduce(delay_s, axis=-1) / mean, np.nan)

    return of_all(ratio_to_mean)


# PLCA


def longest_of_nodes(name: str, histogram: str) -> Formula:
    """Return the longest time of each node, and of all if the histogram of all has some."""

    def of_medium(counted: Slice, _: Floats) -> Floats:
        longest_s = floats(counted[name]).max(axis=-1) / PS_PER_S
        return np.where(np.isnan(counted.ranks_s(histogram)[..., 0, LARGEST]), np.nan, longest_s)

    return Formula(
        lambda counted: np.where(counted["frames"] > 0, counted[name] / PS_PER_S, np.nan), of_medium
    )


TIME_STATUS_OK = Formula(
    lambda counted: floats(counted["plca.nodes.ok_ps"]) / counted.time_ps,
    lambda _, each: each.mean(axis=-1),
)
"""Share of the time in which the status of a node was OK; of all nodes the mean."""


# Flows


def _time_s(counted: Slice, name: str) -> Floats:
    """Return the time in which flows counted something, which may be longer than the window."""
    return np.asarray((counted[name] if counted.is_whole else counted.time_ps) / PS_PER_S)


def rate(name: str, factor: float = 1.0) -> Formula:
    """Return the rate of what flows received, in the time in which they counted it."""
    return Formula(
        lambda counted: factor * floats(counted[name]) / _time_s(counted, "received_ps"), added
    )


def _offered_rate(counted: Slice) -> Floats:
    queued = counted["queued"] if counted.is_whole else 0
    return (floats(counted["offered"]) + queued) / _time_s(counted, "offered_ps")


OFFERED_RATE = Formula(_offered_rate, added)
"""Messages offered per second, those included that their host did not send for it waited."""
DATA_RATE = Formula(
    lambda counted: (
        8
        * np.where(counted["is_transfer"], counted["transfer.octets"], counted["data_octets"])
        / _time_s(counted, "received_ps")
    ),
    added,
)
"""Bits of data per second; those of a transfer are those of its job."""


def wanted(counted: Slice) -> Floats:
    """Return the messages that the receivers of flows should have had."""
    return floats(counted["offered"] * counted["receivers"])


def lossless(counted: Slice) -> npt.NDArray[np.bool_]:
    """Return which flows lost nothing in the whole trial: what did not come was under way."""
    lost = (floats(counted[f"balance.lost.{place}"]) for place in LOST)
    return np.asarray(sum(lost, floats(counted["dropped"])) == 0)


def _flow_loss(counted: Slice) -> Floats:
    messages = wanted(counted)
    is_lossless = (
        counted.counters["is_lossless"] if "is_lossless" in counted.counters else lossless(counted)
    )
    share = np.where(is_lossless, 0.0, 1 - floats(counted["arrived"]) / messages)
    return np.where(messages > 0, share, np.nan)


def _loss_of_all(counted: Slice, each: Floats) -> Floats:
    # Without the offered messages of one flow, how sure the loss of all is remains unknown.
    is_unknown = np.isnan(counted["offered"]).any(axis=-1) & (not counted.is_whole)
    return np.where(is_unknown, np.nan, weighted_mean(wanted(counted), each))


FLOW_LOSS = Formula(_flow_loss, _loss_of_all)
"""Share of messages that did not arrive, of each flow; of all weighted by the messages wanted."""
TRANSFER_RATE = Formula(
    lambda counted: 8 * counted["job_octets"] / (counted["transfer.whole_ps"] / PS_PER_S),
    # Several transfers do not begin and end together.
    lambda _, each: each[..., 0] if each.shape[-1] == 1 else np.full(each.shape[:-1], np.nan),
)
"""Bits of a transfer over its completion time."""


UNDER_WAY_SHARE = 0.05
"""Messages still under way over those that did not come, beyond which the loss carries a caution:
it may then be too high by so much.
"""


def is_under_way(counted: Slice, loss: Floats) -> npt.NDArray[np.bool_]:
    """Return of which flows so many messages were under way that their loss is doubtful.

    What was lost is known; of what was under way at the end of the trial it is not.
    """
    missing = wanted(counted) - counted["arrived"]
    return np.asarray((counted["balance.in_flight"] > UNDER_WAY_SHARE * missing) & (loss > 0))


def mean_of(times: str) -> Formula:
    """Return the mean of times that flows sum in ps, over those that have some."""
    total, samples = f"{times}.sum_ps", f"{times}.count"

    def together(counted: Slice, each: Floats) -> Floats:
        if counted.is_whole:
            return weighted_mean(floats(counted[samples]), each)
        return np.asarray(counted[total].sum(axis=-1) / counted[samples].sum(axis=-1) / PS_PER_S)

    return Formula(lambda counted: floats(counted[total]) / counted[samples] / PS_PER_S, together)


def rank_of(times: str, place: int) -> Formula:
    """Return a quantile of times of flows, never above the largest, or the largest itself."""

    def ranked_s(counted: Slice) -> Floats:
        some, most_ps = floats(counted[f"{times}.count"]) > 0, counted[f"{times}.max_ps"]
        most_s = np.where(some, most_ps / PS_PER_S, np.nan)
        return (
            most_s if place == LARGEST else np.minimum(counted.ranks_s(times)[..., place], most_s)
        )

    return Formula(ranked_s)


# Deadlines


def margin_s(deadline_s: Floats, longest_s: Floats) -> Floats:
    """Return what deadlines leave of the longest delays; NaN of flows without a deadline."""
    return deadline_s - longest_s


def least_margin_s(deadline_s: Floats, margins_s: Floats) -> Floats:
    """Return the smallest margin of all flows with a deadline; NaN if one of them is unknown."""
    return np.asarray(np.where(np.isnan(deadline_s), np.inf, margins_s).min(axis=-1))


MARGIN = Formula(
    lambda counted: margin_s(counted["deadline_s"], rank_of("one_way", LARGEST).of_each(counted)),
    lambda counted, each: least_margin_s(counted["deadline_s"], each),
)
"""What the deadline leaves of the longest one-way delay; of all flows the least."""


_ACKNOWLEDGEMENTS = "transfer.ends.acknowledgement_delay"


def _acknowledgement_delay(counted: Slice) -> Floats:
    if not counted.is_whole:
        return floats(counted["acknowledgement_ps"] / counted["acknowledged"] / PS_PER_S)
    sender, receiver = (
        floats(counted[f"{_ACKNOWLEDGEMENTS}.sum_ps.{end}"])
        / counted[f"{_ACKNOWLEDGEMENTS}.count.{end}"]
        for end in ("sender", "receiver")
    )
    return floats(np.where(counted["reads"], receiver, sender) / PS_PER_S)


def _acknowledgement_delay_of_all(counted: Slice, each: Floats) -> Floats:
    if counted.entities == 1:
        return np.asarray(each[..., 0])
    # Weighted by the acknowledgements of both directions, which are not counted by batch.
    both = (floats(counted[f"{_ACKNOWLEDGEMENTS}.count.{end}"]) for end in ("sender", "receiver"))
    return weighted_mean(sum(both, np.zeros(())), each)


ACKNOWLEDGEMENT_DELAY = Formula(_acknowledgement_delay, _acknowledgement_delay_of_all)
"""Mean time from data to acknowledgement, at the end that sends the data of the job."""


# Voice of flows


def _ratings(counted: Slice) -> Floats:
    """Return mouth-to-ear delay in s, loss, R and MOS of each flow, shape `(…, flows, 4)`."""
    lead = counted.window_ps.shape[:-1]
    found = np.full((*lead, counted.entities, 4), np.nan)
    histogram = counted.histograms["voice.sample_delay"]
    buckets = histogram.pooled() if counted.is_pooled else histogram.of_each()
    rows = found.reshape(-1, 4)
    names = ("codec", "sample_s", "voice.samples_lost")
    codecs, samples_s, lost = (
        np.broadcast_to(counted[name], found.shape[:-1]).ravel() for name in names
    )
    for at, (codec, of_flow) in enumerate(zip(codecs, of_entity(buckets, len(rows)), strict=True)):
        if codec is not None and CODECS[codec].is_rated and of_flow.count.sum():
            rows[at] = rated(codec, samples_s[at], of_flow, lost[at])
    return found


def rated(
    codec: str, sample_s: float, delays: Buckets, lost: float
) -> tuple[float, float, float, float]:
    """Return mouth-to-ear delay in s, loss, R and MOS with the playout delay that rates best.

    A packet is played in whole so long after its oldest sample was made, or not at all if it comes
    later. Every delay of samples that occurred is tried; `lost` samples never came.
    """
    count = delays.count
    playout_s = np.minimum(delays.high_ps / PS_PER_S, LONGEST_S)
    loss = np.clip(1 - np.cumsum(count) / (count.sum() + lost), 0.0, 1.0)
    delay_s = np.asarray(
        mouth_to_ear(codec, packet_s=sample_s, network_s=playout_s, jitter_buffer_s=0.0).delay_s
    )
    found = e_model(np.minimum(delay_s, LONGEST_S), loss, codec=codec)
    best = int(np.argmax(np.asarray(found.r)))
    numbers = (delay_s, loss, np.asarray(found.r), np.asarray(found.mos))
    mouth_to_ear_s, lost_share, rating, mos = (float(counted[best]) for counted in numbers)
    return mouth_to_ear_s, lost_share, rating, mos


def rating(place: int) -> Formula:
    """Return a number of `_ratings`; of all flows if those with a coder have one codec."""

    def of_all_flows(counted: Slice, _: Floats) -> Floats:
        together = counted.once("voice together", _voice_together)
        return together.once("ratings", _ratings)[..., 0, place]

    return Formula(lambda counted: counted.once("ratings", _ratings)[..., place], of_all_flows)


def _voice_together(counted: Slice) -> Slice:
    """Return the slice of all flows, with the codec of those with a coder if they have one."""
    together, lead = counted.together(), counted.window_ps.shape[:-1]
    codecs, samples_s = np.full((*lead, 1), None, np.object_), np.zeros((*lead, 1))
    for trial in np.ndindex(*lead):
        talking = np.flatnonzero(counted["talks"][trial])[:1]
        if len(set(counted["codec"][trial][counted["talks"][trial]])) == 1:
            codecs[trial] = counted["codec"][trial][talking]
            samples_s[trial] = counted["sample_s"][trial][talking]
    return replace(
        together,
        counters={**together.counters, "codec": codecs, "sample_s": samples_s},
        _known={},
    )


VOICE_LOAD = Formula(
    lambda counted: counted["coder_load"], lambda counted, _: counted["coder_load_together"][..., 0]
)
"""Share of the slowest link of its path that a coder's samples take; of all the largest sum."""


# Clocks


READ_DELAY = "clocks.clock"
SYNCHRONISED_DELAY = "clocks.synchronised.delays"


def rank_read(times: str, place: int) -> Formula:
    """Return a quantile of times by clocks, or the largest."""
    return Formula(lambda counted: counted.ranks_s(times)[..., place])


def is_uncertain(counted: Slice, values: Floats) -> npt.NDArray[np.bool_]:
    """Return of which flows synchronised clocks were not known all the time, or contradict."""
    del values
    name = "clocks.synchronised"
    tried = is_compared(counted) | (counted[f"{name}.unrelated"] > 0)
    is_unknown = np.isnan(counted[f"{name}.delay_uncertainty_ns"])
    return np.asarray(tried & (is_unknown | (counted[f"{name}.contradictions"] > 0)))


def is_compared(counted: Slice) -> npt.NDArray[np.bool_]:
    """Return of which flows delays were measured by comparing clocks."""
    return np.asarray(counted[f"{SYNCHRONISED_DELAY}.count"] > 0)


def largest_of_clocks(each: OfEach) -> Formula:
    """Return an error of each flow's delay; of all that were compared the largest."""

    def largest(counted: Slice, values: Floats) -> Floats:
        known = np.where(is_compared(counted), values, -np.inf)
        # NaN is what is not known of a flow that was compared.
        most = known.max(axis=-1)
        return np.where(np.isneginf(most), np.nan, most)

    return Formula(each, largest)


def of_one_clock(name: str, divisor: float = 1.0) -> Formula:
    """Return an estimate of a clock; of all flows if one clock only was compared."""

    def of_one(counted: Slice, values: Floats) -> Floats:
        compared = is_compared(counted)
        one = np.where(compared, values, 0.0).sum(axis=-1)
        return np.where(compared.sum(axis=-1) == 1, one, np.nan)

    return Formula(lambda counted: counted[f"clocks.synchronised.{name}"] / divisor, of_one)


DELAY_ERROR = largest_of_clocks(
    lambda counted: np.where(
        is_compared(counted), counted["clocks.synchronised.error_most_ps"] / PS_PER_S, math.nan
    )
)
"""Largest error of the delay by synchronised clocks."""
DELAY_UNCERTAINTY = largest_of_clocks(
    lambda counted: counted["clocks.synchronised.delay_uncertainty_ns"] / NS_PER_S
)
"""Stated bound of that error."""
