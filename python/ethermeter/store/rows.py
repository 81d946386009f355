"""What one trial adds to the tables of a run, as flat arrays."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ethermeter.observation import WHOLE_SEGMENT, Caution, Metric

METRICS: tuple[Metric, ...] = tuple(Metric)
STATION_METRICS: tuple[Metric, ...] = tuple(metric for metric in Metric if metric.definition.per_station)
HISTOGRAMS: tuple[str, ...] = ("transmission_delay", "access_delay", "response_time")
CAUTIONS: tuple[Caution, ...] = tuple(Caution)
CAUTION_BIT: dict[str, int] = {str(caution): 1 << place for place, caution in enumerate(CAUTIONS)}

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class TrialRows:
    """The rows of one trial, in the order `layout` gives.

    Which station and which metric a value belongs to follows from its place, so that only values and cautions are carried.

    Parameters
    ----------
    stations
        Stations of the trial, n.
    values, cautions
        Shape (rows,): value in the metric's unit, NaN where there is no sample; cautions as a mask of `CAUTION_BIT`.
    batch_frames, batch_charged_ps, batch_delay_sum_s, batch_delay_square_sum_s2
        Shape (batches x n,), batch by batch: frames; channel time in ps; sums over frames of the delay in s and of its square in s².
    histogram, low_ps, high_ps, count
        Shape (buckets,): index into `HISTOGRAMS`, bucket [low, high) in ps, frames in it.
    events
        Transmissions simulated.
    core_s
        Time the simulator took, in s. It is summed for the provenance and is in no table.

    """

    stations: int
    values: Floats
    cautions: Masks
    batch_frames: Integers
    batch_charged_ps: Integers
    batch_delay_sum_s: Floats
    batch_delay_square_sum_s2: Floats
    histogram: npt.NDArray[np.uint8]
    low_ps: Integers
    high_ps: Integers
    count: Integers
    events: int
    core_s: float

    @property
    def octets(self) -> int:
        """Memory the rows take."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)


ARRAYS = (
    "values",
    "cautions",
    "batch_frames",
    "batch_charged_ps",
    "batch_delay_sum_s",
    "batch_delay_square_sum_s2",
    "histogram",
    "low_ps",
    "high_ps",
    "count",
)
"""Fields of `TrialRows` that are arrays."""


@lru_cache(maxsize=1024)
def layout(stations: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """Station and metric of every observation of a trial, in order.

    First the whole segment, in the order of `METRICS`; then `STATION_METRICS`, each for all stations.

    Parameters
    ----------
    stations
        Stations of the trial, at least 1.

    Returns
    -------
    :
        Station numbers and indices into `METRICS`, both of shape (rows,) and read-only.

    """
    whole = np.full(len(METRICS), WHOLE_SEGMENT, np.int32)
    station = np.concatenate([whole, np.tile(np.arange(stations, dtype=np.int32), len(STATION_METRICS))])
    per_station = np.array([METRICS.index(metric) for metric in STATION_METRICS], np.int8)
    metric = np.concatenate([np.arange(len(METRICS), dtype=np.int8), np.repeat(per_station, stations)])
    station.flags.writeable = False
    metric.flags.writeable = False
    return station, metric


def caution_text(mask: int) -> str:
    """Words of a caution mask, separated by a space, in the order of the closed list; empty for none."""
    return " ".join(caution for place, caution in enumerate(CAUTIONS) if mask >> place & 1)
