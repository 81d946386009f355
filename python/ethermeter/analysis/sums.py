"""Metrics that follow from sums of stations or flows by batch, and their uncertainty.

Of stations: the eight graphs of Boggs, Mogul and Kent (1988, section 3.3 and appendix I), which
need nothing but frames, charged channel time, delay and squared delay. Of flows: rates, loss and
means of times.

Written over whole arrays, the same functions give the value of a trial and its values with one
batch left out. Percentiles and extremes follow from no sums, nor do counts over the whole trial,
voice and clocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ethermeter.analysis.interval import Floats
from ethermeter.analysis.tables import Integers, Sums, Trial, cubes, per_station, window_s
from ethermeter.metrics import Group, Metric, definition_of
from ethermeter.metrics.flow_formulas import flow_loss, flow_rates
from ethermeter.metrics.formulas import PS_PER_S, weighted_mean
from ethermeter.metrics.station_formulas import StationSums
from ethermeter.store.rows import BATCH_COUNTS, BATCH_SUMS

if TYPE_CHECKING:
    import pyarrow as pa

GRAPHS = (
    *(Metric.UTILISATION, Metric.BIT_RATE, Metric.BIT_RATE_SD, Metric.PACKET_RATE),
    *(Metric.PACKET_RATE_SD, Metric.UTILISATION_SD_OVER_MEAN, Metric.JAIN_INDEX),
    *(Metric.TRANSMISSION_DELAY, Metric.TRANSMISSION_DELAY_SD, Metric.EXCESS_DELAY),
)
"""Metrics of the whole segment that follow from these sums."""
SPREADS = (Metric.BIT_RATE_SD, Metric.PACKET_RATE_SD, Metric.UTILISATION_SD_OVER_MEAN)
"""Of these, those over stations."""
MEANS = {
    Metric.ONE_WAY_DELAY: ("one_way_s", "messages"),
    Metric.ROUND_TRIP: ("round_trip_s", "completed"),
    Metric.INTER_ARRIVAL: ("between_arrivals_s", "arrivals_between"),
    Metric.ACKNOWLEDGEMENT_DELAY: ("acknowledgement_s", "acknowledged"),
}
"""Sum and count of every mean."""
COUNTS = {
    Metric.MESSAGES: "messages",
    Metric.EXCHANGES: "completed",
    Metric.TIMED_OUT: "timed_out",
    Metric.DROPPED: "dropped",
}
"""Counts within the measured window."""


def graphs(sums: Sums) -> dict[Metric, Floats]:
    """Return the whole-segment value of every metric that follows from the sums; shape `(…)`.

    NaN where it is undefined. Spreads over stations and over frames are sample standard deviations
    (divisor n - 1).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        charged_s, frames = sums.charged_s.sum(axis=-1), sums.frames.sum(axis=-1)
        found = StationSums(
            window_ps=sums.window_s[..., None] * PS_PER_S,
            bit_ps=PS_PER_S / sums.line_rate_bps[..., None],
            # Bits are not counted by batch: stations are charged the mean of all.
            packet_s=np.broadcast_to((charged_s / frames)[..., None], sums.frames.shape),
            frames=sums.frames,
            charged_ps=sums.charged_s * PS_PER_S,
            delay_ps=sums.delay_sum_s * PS_PER_S,
            delay_ps2=sums.delay_square_sum_s2 * PS_PER_S**2,
        )
        with_total = found.with_total()
        values = {
            metric: definition_of(metric, Group.SEGMENT).of_all(found, with_total)
            for metric in GRAPHS
        }
    if sums.frames.shape[-1] == 1:  # 0 by definition: batches do not estimate it
        values |= {metric: np.full_like(values[metric], np.nan) for metric in SPREADS}
    return values


@dataclass(frozen=True, slots=True)
class FlowSums:
    """What flows counted in `counted_s` of a measured window that is `window_s` long."""

    # What `BATCH_COUNTS` and `BATCH_SUMS` name; shape `(trials, …, flows)`
    sums: Mapping[str, Floats]
    # counted_s, window_s: In s; shape `(trials, …)`
    counted_s: Floats
    window_s: Floats
    receivers: Floats  # Receivers of every flow, shape `(trials, flows)`
    is_transfer: NDArray[np.bool_]  # Whether a flow is a transfer; shape `(trials, flows)`
    # Whether a flow lost nothing in the whole trial, so that what did not come of it was under way;
    # shape `(trials, flows)`
    is_lossless: NDArray[np.bool_]

    def left_out(self) -> "FlowSums":
        """Sum all batches but one, for each, from sums by batch; same shapes."""
        rest = {
            name: np.asarray(values.sum(axis=1, keepdims=True) - values, np.float64)
            for name, values in self.sums.items()
        }
        return replace(self, sums=rest, counted_s=self.counted_s * (self.counted_s.shape[1] - 1))


def flow_sums(
    flow_batches: "pa.Table | None", observations: "pa.Table", trials: Sequence[Trial]
) -> list[tuple[Integers, FlowSums]]:
    """Gather sums by batch, for trials with equal numbers of batches and flows together.

    Returned are positions of the trials, shape `(trials,)`, and their sums of shape `(trials,
    batches, flows)`. Trials without batches are left out; what agents did not count by batch is
    NaN, and so is whatever would follow from it.
    """
    if flow_batches is None or not len(flow_batches):
        return []
    found = []
    for positions, cube in cubes(flow_batches, trials, "flow", (*BATCH_COUNTS, *BATCH_SUMS)):
        of_cube = [trials[position] for position in positions.tolist()]
        flows = [trial.scenario.flows for trial in of_cube]
        losses = per_station(observations, of_cube, (Metric.LOSS,))
        batches = cube["messages"].shape[1]
        windows_s = np.array([window_s(trial.scenario) for trial in of_cube])
        whole_s = np.repeat(windows_s[:, None], batches, axis=1)
        sums = FlowSums(
            sums=cube,
            counted_s=whole_s / batches,
            window_s=whole_s,
            receivers=np.array([[len(flow.to) for flow in each] for each in flows], np.float64),
            is_transfer=np.array([[flow.transfer is not None for flow in each] for each in flows]),
            is_lossless=np.array([of[Metric.LOSS] == 0 for of in losses]),
        )
        found.append((positions, sums))
    return found


def of_each(sums: FlowSums) -> dict[Metric, Floats]:
    """Return the value of every flow of every metric that follows from the sums.

    NaN where undefined; shape `(trials, batches, flows)`.
    """
    of = sums.sums
    counted_s = sums.counted_s[..., None]
    _, loss = _wanted_and_loss(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = sums.window_s[..., None] / counted_s
        return {
            **_rates(sums, counted_s),
            Metric.LOSS: loss,
            **{metric: of[total] / of[count] for metric, (total, count) in MEANS.items()},
            **{metric: of[name] * scale for metric, name in COUNTS.items()},
        }


def of_all(sums: FlowSums) -> dict[Metric, Floats]:
    """Return the same of all flows together, shape `(trials, batches)`.

    Delays of acknowledgements are left out where there is more than one flow: their mean over flows
    is weighted otherwise.
    """
    wanted, loss = _wanted_and_loss(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = {name: values.sum(axis=-1) for name, values in sums.sums.items()}
        rates = _rates(sums, sums.counted_s[..., None])
        # Without the offered messages of one flow, the loss of all flows is unknown.
        is_unknown, scale = np.isnan(wanted).any(axis=-1), sums.window_s / sums.counted_s
        found = {
            **{metric: rate.sum(axis=-1) for metric, rate in rates.items()},
            Metric.LOSS: np.where(is_unknown, np.nan, weighted_mean(wanted, loss)),
            **{metric: total[sum_s] / total[count] for metric, (sum_s, count) in MEANS.items()},
            **{metric: total[name] * scale for metric, name in COUNTS.items()},
        }
    if sums.receivers.shape[-1] > 1:
        del found[Metric.ACKNOWLEDGEMENT_DELAY]
    return found


def _rates(sums: FlowSums, counted_s: Floats) -> dict[Metric, Floats]:
    return flow_rates(sums.sums, counted_s, is_transfer=sums.is_transfer[:, None, :])


def _wanted_and_loss(sums: FlowSums) -> tuple[Floats, Floats]:
    """Messages that receivers should have had, and the share of them that did not arrive.

    Of a transfer nothing is offered, though segments arrive.
    """
    wanted = sums.sums["offered"] * sums.receivers[:, None, :]
    loss = flow_loss(wanted, sums.sums["arrived"], is_lossless=sums.is_lossless[:, None, :])
    return wanted, loss
