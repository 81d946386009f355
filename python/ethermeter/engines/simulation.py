"""The simulation engine: one trial through the compiled core, its result turned into observations."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ethermeter.engines import voice
from ethermeter.engines.quantiles import quantiles
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, percentiles, without_samples
from ethermeter.metrics.formulas import station_rates, weighted_mean
from ethermeter.scenario import SaturatedArrivals, Scenario
from ethermeter.stations import constants_of, mean_bits, medium_of, per_station
from ethermeter.store.rows import (
    HISTOGRAMS,
    METRICS,
    STATION_METRICS,
    VOICE_METRICS,
    VOICE_STATION_METRICS,
    Floats,
    Integers,
    TrialRows,
    has_voice,
)
from ethermeter.trial import core_trial_of

if TYPE_CHECKING:
    from ethermeter._core import Watch

PS_PER_S = 1e12
FEW_FRAMES = 30
"""Below this many frames a value carries the caution `few-samples`."""

QUANTILES = percentiles("delay")
"""Of the transmission delay."""
TIME_SHARES = (
    Metric.TIME_FRAME,
    Metric.TIME_PREAMBLE,
    Metric.TIME_GAP,
    Metric.TIME_COLLISION,
    Metric.TIME_IDLE,
)

STATION_COUNTS = (
    "frames",
    "bits",
    "charged_ps",
    "collisions",
    "late_collisions",
    "discarded",
    "resumed",
    "offered",
    "dropped",
    "damaged",
)
STATION_MEANS = ("delay_s", "delay_sd_s", "access_s", "response_s", "waiting", "offered_load")

SPREADS = (Metric.BIT_RATE_SD, Metric.PACKET_RATE_SD, Metric.UTILISATION_SD_OVER_MEAN)
ADDED = (
    Metric.GOODPUT,
    Metric.OFFERED_LOAD_G,
    Metric.OFFERED_LOAD_Q,
    Metric.DISCARDED,
    Metric.DROPPED,
    Metric.RESUMED,
    Metric.LATE_COLLISIONS,
    Metric.DAMAGED,
    Metric.FRAMES,
)
"""Metrics of the whole segment that are sums over its stations."""

# Counts, shares of channel time and parameters are what they are, however few frames came through.
NOT_ESTIMATED_FROM_FRAMES = {
    Metric.OFFERED_LOAD_G,
    Metric.OFFERED_LOAD_Q,
    Metric.DISCARDED,
    Metric.DROPPED,
    Metric.RESUMED,
    Metric.LATE_COLLISIONS,
    Metric.DAMAGED,
    Metric.FRAMES,
    *TIME_SHARES,
}


@dataclass(frozen=True, slots=True)
class _Table:
    """Some metrics with their values, and the frames that these are estimated from."""

    whole: Sequence[Metric]
    per_station: Sequence[Metric]
    exact: Collection[Metric]  # not estimated from frames
    whole_values: Mapping[Metric, float]
    station_values: Mapping[Metric, Floats]
    frames: Floats

    @property
    def values(self) -> Floats:
        """The values of the whole segment, then those of the stations, metric by metric."""
        return np.concatenate(
            [
                [self.whole_values[metric] for metric in self.whole],
                *(self.station_values[m] for m in self.per_station),
            ]
        )

    @property
    def few(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether fewer frames than `FEW_FRAMES` are behind each of these values."""
        of_all = [
            metric not in self.exact and bool(self.frames.sum() < FEW_FRAMES)
            for metric in self.whole
        ]
        of_each = [
            (metric not in self.exact) & (self.frames < FEW_FRAMES) for metric in self.per_station
        ]
        return np.concatenate([of_all, *of_each])


def run_trial(line: str, scenario: Scenario, watch: "Watch | None" = None) -> TrialRows:
    """Simulate one trial and return its rows.

    Parameters
    ----------
    line
        The trial as JSON text, a line of `plan.jsonl`.
    scenario
        The trial's scenario, from the same text.
    watch
        For another thread: progress of the simulation, and how to stop it.

    Returns
    -------
    :
        The rows, which depend on `line` alone, except for `core_s`.

    Raises
    ------
    ValueError
        If the core refuses the trial; the message has the key. Or if it was stopped.
    RuntimeError
        If the core breaks off because of a fault of its own.

    """
    from ethermeter import _core

    result, core_s = timed(_core.simulate_trial, core_trial_of(line), watch)
    return observe(scenario, result, core_s=core_s)


def timed(
    simulate: "Callable[[str, Watch | None], dict[str, Any]]",
    line: str,
    watch: "Watch | None" = None,
) -> tuple[dict[str, Any], float]:
    """Call the compiled core; what it gave back, and the time it took in s.

    Raises
    ------
    RuntimeError
        If it breaks off because of a fault of its own.

    """
    begin_s = time.perf_counter()
    try:
        result = simulate(line, watch)
    except BaseException as error:
        # The class is made inside the extension and cannot be imported; it is no `Exception`, so it
        # would kill a thread unseen.
        if type(error).__name__ == "PanicException":
            raise RuntimeError(f"the simulator broke off: {error}") from None
        raise
    return result, time.perf_counter() - begin_s


def observe(scenario: Scenario, result: Mapping[str, Any], *, core_s: float) -> TrialRows:
    """Turn what the core counted into every metric, per station and for the whole segment.

    Parameters
    ----------
    scenario
        The trial's scenario as in `plan.jsonl`.
    result
        What `ethermeter._core.simulate_trial` gave back for it.
    core_s
        Time the simulator took, in s.

    Returns
    -------
    :
        The rows in the order of `ethermeter.store.rows.layout`. A value without a sample is NaN and
        has the caution `no-samples`; one that is estimated from fewer than 30 frames has
        `few-samples`.

    """
    with np.errstate(divide="ignore", invalid="ignore"):
        count = {
            name: np.asarray(result[f"station_{name}"]).astype(np.float64)
            for name in STATION_COUNTS
        }
        station = _station_values(scenario, result, count)
        whole = _whole_values(scenario, result, count, station)
        tables = [
            _Table(
                METRICS, STATION_METRICS, NOT_ESTIMATED_FROM_FRAMES, whole, station, count["frames"]
            )
        ]
        if has_voice(scenario):
            station = voice.station_values(scenario, result)
            whole = voice.whole_values(scenario, result, station)
            frames = np.where(voice.talks(scenario), count["frames"], 0.0)
            tables.append(
                _Table(
                    VOICE_METRICS,
                    VOICE_STATION_METRICS,
                    voice.NOT_ESTIMATED_FROM_FRAMES,
                    whole,
                    station,
                    frames,
                )
            )
    values = np.concatenate([table.values for table in tables])
    histogram, low_ps, high_ps, bucket_count = _histogram_rows(result["histograms"])
    return TrialRows(
        stations=len(count["frames"]),
        values=values,
        cautions=_cautions(
            result["cautions"], np.concatenate([table.few for table in tables]), values
        ),
        batch_frames=np.asarray(result["batch_frames"]).astype(np.int64).ravel(),
        batch_charged_ps=np.asarray(result["batch_charged_ps"]).astype(np.int64).ravel(),
        batch_delay_sum_s=np.asarray(result["batch_delay_sum_s"], np.float64).ravel(),
        batch_delay_square_sum_s2=np.asarray(
            result["batch_delay_square_sum_s2"], np.float64
        ).ravel(),
        histogram=histogram,
        low_ps=low_ps,
        high_ps=high_ps,
        count=bucket_count,
        events=int(result["events"]),
        core_s=core_s,
    )


def _station_values(
    scenario: Scenario, result: Mapping[str, Any], count: Mapping[str, Floats]
) -> dict[Metric, Floats]:
    """Value of every per-station metric, shape (stations,)."""
    seen = {name: np.asarray(result[f"station_{name}"], np.float64) for name in STATION_MEANS}
    frames = count["frames"]
    window_s = result["window_ps"] / PS_PER_S
    utilisation = count["charged_ps"] / result["window_ps"]
    return {
        Metric.UTILISATION: utilisation,
        Metric.BIT_RATE: utilisation * (PS_PER_S / medium_of(scenario).bit_ps),
        Metric.PACKET_RATE: frames / window_s,
        Metric.TRANSMISSION_DELAY: seen["delay_s"],
        Metric.TRANSMISSION_DELAY_SD: seen["delay_sd_s"],
        Metric.GOODPUT: count["bits"] / window_s,
        Metric.ACCESS_DELAY: seen["access_s"],
        Metric.RESPONSE_TIME: seen["response_s"],
        # An attempt ends as a frame or as a collision; those begun but not ended in the window are
        # not counted.
        Metric.ATTEMPTS_PER_FRAME: (frames + count["collisions"]) / frames,
        Metric.COLLISIONS_PER_FRAME: count["collisions"] / frames,
        Metric.OFFERED_LOAD_G: seen["offered_load"],
        Metric.OFFERED_LOAD_Q: seen["waiting"],
        Metric.LOSS: (count["dropped"] + count["discarded"]) / _asked(scenario, count),
        Metric.DISCARDED: count["discarded"],
        Metric.DROPPED: count["dropped"],
        Metric.RESUMED: count["resumed"],
        Metric.LATE_COLLISIONS: count["late_collisions"],
        Metric.DAMAGED: count["damaged"],
        Metric.FRAMES: frames,
    }


def _whole_values(
    scenario: Scenario,
    result: Mapping[str, Any],
    count: Mapping[str, Floats],
    station: Mapping[Metric, Floats],
) -> dict[Metric, float]:
    """Value of every metric for all stations together."""
    frames = station[Metric.FRAMES]
    total = float(frames.sum())
    rates = station_rates(
        *(station[of] for of in (Metric.UTILISATION, Metric.BIT_RATE, Metric.PACKET_RATE))
    )
    if len(frames) == 1:  # one station has no spread
        rates |= dict.fromkeys(SPREADS, np.zeros(()))
    delay_s, delay_sd_s = _pooled(
        frames, station[Metric.TRANSMISSION_DELAY], station[Metric.TRANSMISSION_DELAY_SD]
    )
    # Not from the ratios: a station that delivered nothing has collisions all the same.
    collisions = float(count["collisions"].sum())
    values = {metric: float(station[metric].sum()) for metric in ADDED}
    values |= {
        **{metric: float(value) for metric, value in rates.items()},
        Metric.TRANSMISSION_DELAY: delay_s,
        Metric.TRANSMISSION_DELAY_SD: delay_sd_s,
        Metric.EXCESS_DELAY: delay_s - float(_charged_s(scenario, count).sum()),
        Metric.ACCESS_DELAY: float(weighted_mean(frames, station[Metric.ACCESS_DELAY])),
        Metric.RESPONSE_TIME: float(weighted_mean(frames, station[Metric.RESPONSE_TIME])),
        Metric.ATTEMPTS_PER_FRAME: _ratio(total + collisions, total),
        Metric.COLLISIONS_PER_FRAME: _ratio(collisions, total),
        Metric.LOSS: _ratio(
            values[Metric.DROPPED] + values[Metric.DISCARDED], float(_asked(scenario, count).sum())
        ),
    }
    values |= dict(
        zip(QUANTILES, quantiles(result["histograms"].get("transmission_delay")), strict=True)
    )
    time_ps = np.asarray(result["time_ps"]).astype(np.float64)
    values |= {
        metric: float(share)
        for metric, share in zip(TIME_SHARES, time_ps / result["window_ps"], strict=True)
    }
    return values


def _asked(scenario: Scenario, count: Mapping[str, Floats]) -> Floats:
    """Frames that losses are counted against: what a source offered, or what a saturated
    transmitter finished with.
    """
    saturated = per_station(
        scenario, lambda group: isinstance(group.flow.arrivals, SaturatedArrivals)
    )
    return np.where(saturated > 0, count["frames"] + count["discarded"], count["offered"])


def _charged_s(scenario: Scenario, count: Mapping[str, Floats]) -> Floats:
    """Mean charged time of a frame of each station, in s: preamble, frame and gap.

    From the bits delivered and not from the charged time in the window, which begins and ends
    within a packet. A station that delivered nothing is charged the mean of what it would have
    sent.
    """
    meant = per_station(scenario, lambda group: mean_bits(group.flow.frames))
    bits = np.where(count["frames"] > 0, count["bits"] / count["frames"], meant)
    mac = constants_of(scenario)
    seconds: Floats = (bits + mac.preamble_bits + mac.gap_bits) * (
        medium_of(scenario).bit_ps / PS_PER_S
    )
    return seconds


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _pooled(frames: Floats, mean: Floats, sd: Floats) -> tuple[float, float]:
    """Mean and sample standard deviation over all frames from the stations' ones.

    Not from sums of squares: where delays hardly differ these lose every digit of the difference.
    """
    total = float(frames.sum())
    overall = float(weighted_mean(frames, mean))
    if total < 2:
        return overall, float("nan")
    sent = frames > 0
    within = (frames[sent] - 1) * np.where(frames[sent] > 1, sd[sent], 0.0) ** 2
    between = frames[sent] * (mean[sent] - overall) ** 2
    return overall, float(np.sqrt((within + between).sum() / (total - 1)))


def _histogram_rows(
    histograms: Mapping[str, Sequence[Any]],
) -> tuple[np.ndarray[Any, Any], Integers, Integers, Integers]:
    """Buckets of all histograms one below the other: index into `HISTOGRAMS`, low and high in ps,
    count.
    """
    present = [
        (place, histograms[name]) for place, name in enumerate(HISTOGRAMS) if name in histograms
    ]
    index = np.repeat(
        np.array([place for place, _ in present], np.uint8),
        [len(columns[2]) for _, columns in present],
    )
    low_ps, high_ps, count = (
        np.concatenate(
            [np.asarray(columns[part]).astype(np.int64) for _, columns in present]
            or [np.empty(0, np.int64)]
        )
        for part in range(3)
    )
    return index, low_ps, high_ps, count


def _cautions(
    of_trial: Sequence[str], few: np.ndarray[Any, np.dtype[np.bool_]], values: Floats
) -> Masks:
    """Caution mask of every row: the trial's words, and few or no samples by the frames behind the
    value.
    """
    mask = np.where(few, caution_mask([Caution.FEW_SAMPLES]), caution_mask([]))
    return without_samples(mask | caution_mask(of_trial), values)
