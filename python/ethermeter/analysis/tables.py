"""Observations and batches as arrays: one row a trial, whatever order the tables are in."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ethermeter.analysis.interval import Floats
from ethermeter.metrics import ALL, Metric
from ethermeter.scenario import Scenario
from ethermeter.station_groups import medium_of, station_count
from ethermeter.store.rows import flows_of
from ethermeter.theory.assumptions import Assumptions

if TYPE_CHECKING:
    import pyarrow as pa

PS_PER_S = 1e12
Integers = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sums:
    """What stations counted in `window_s`.

    Every array has the shape `(…, stations)`, `window_s` and `line_rate_bps` `(…)`.
    """

    frames: Floats
    charged_s: Floats
    delay_sum_s: Floats
    delay_square_sum_s2: Floats
    window_s: Floats
    line_rate_bps: Floats

    def left_out(self) -> "Sums":
        """Sum all batches but one, for each, from sums by batch; same shapes.

        Here arrays have the shape `(trials, batches, stations)`, and `window_s`, the length of one
        batch, and `line_rate_bps` the shape `(trials,)`; the window becomes as much longer as there
        are batches left.
        """
        batches = self.frames.shape[-2]

        def rest(values: Floats) -> Floats:
            return np.asarray(values.sum(axis=-2, keepdims=True) - values, dtype=np.float64)

        return Sums(
            frames=rest(self.frames),
            charged_s=rest(self.charged_s),
            delay_sum_s=rest(self.delay_sum_s),
            delay_square_sum_s2=rest(self.delay_square_sum_s2),
            window_s=np.repeat(self.window_s[:, None] * (batches - 1), batches, axis=1),
            line_rate_bps=np.repeat(self.line_rate_bps[:, None], batches, axis=1),
        )


class Trial(Protocol):
    """What the analysis reads of a trial."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def series(self) -> str: ...  # noqa: D102
    @property
    def engine(self) -> str: ...  # noqa: D102
    @property
    def point(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def scenario(self) -> Scenario: ...  # noqa: D102
    def assumptions(self) -> Assumptions: ...  # noqa: D102


class _OfPoint(Protocol):
    @property
    def series(self) -> str: ...
    @property
    def point(self) -> Mapping[str, str]: ...


def point_of(each: _OfPoint) -> Hashable:
    """Return what distinguishes the points of a plan, whatever engine answers for them."""
    return (each.series, *sorted(each.point.items()))


def alike(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Group items by a key, in the order of the first of each group."""
    found: dict[Hashable, list[T]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class WholeSegment:
    """Whole-segment observations, shape `(trials, metrics)`: NaN where undefined or missing.

    `is_there` distinguishes them: trials without voice have no row of its metrics.
    """

    metrics: tuple[Metric, ...]
    values: Floats
    is_there: NDArray[np.bool_]
    cautions: tuple[tuple[int, int, str], ...]  # (trial, metric, word), both as positions


def whole_segment(observations: "pa.Table", trials: Sequence[Trial]) -> WholeSegment:
    """Select the rows of all stations together."""
    import pyarrow.compute as pc

    table = observations.filter(pc.equal(observations["station"], ALL))
    trial, _ = codes(table["trial"], [trial.id for trial in trials])
    names = pc.unique(table["metric"]).to_pylist()
    metrics = tuple(metric for metric in Metric if metric.value in names)
    metric, _ = codes(table["metric"], [metric.value for metric in metrics])
    values = np.full((len(trials), len(metrics)), np.nan)
    known = (trial >= 0) & (metric >= 0)
    values[trial[known], metric[known]] = table["value"].to_numpy()[known]
    is_there = np.zeros(values.shape, dtype=np.bool_)
    is_there[trial[known], metric[known]] = True

    words, texts = codes(table["caution"], None)
    cautioned = np.array([bool(_words(text)) for text in texts] + [False], dtype=bool)
    rows = np.nonzero(known & cautioned[words])[0]
    cautions = (
        (int(trial[row]), int(metric[row]), word)
        for row in rows
        for word in _words(texts[words[row]])
    )
    return WholeSegment(metrics, values, is_there, tuple(cautions))


def per_station(
    observations: "pa.Table", trials: Sequence[Trial], metrics: Sequence[Metric]
) -> list[dict[Metric, Floats]]:
    """Select the rows of single stations, or flows: for every trial the values of every metric.

    Of shape `(stations,)`, in the order of the scenario; NaN where there is none.
    """
    import pyarrow.compute as pc

    table = observations.filter(pc.not_equal(observations["station"], ALL))
    trial, _ = codes(table["trial"], [trial.id for trial in trials])
    metric, _ = codes(table["metric"], [metric.value for metric in metrics])
    station = table["station"].to_numpy().astype(np.int64)
    counts = np.array([stations_of(trial.scenario) for trial in trials], dtype=np.int64)
    first = np.cumsum(counts) - counts
    values = np.full((len(metrics), int(counts.sum())), np.nan)
    known = (trial >= 0) & (metric >= 0) & (station < counts[trial])
    values[metric[known], (first[trial] + station)[known]] = table["value"].to_numpy()[known]
    return [
        {metric: values[at, begin : begin + count] for at, metric in enumerate(metrics)}
        for begin, count in zip(first.tolist(), counts.tolist(), strict=True)
    ]


def stations_of(scenario: Scenario) -> int:
    """Return how many rows of one metric a scenario has: of stations, or of flows."""
    return station_count(scenario) + flows_of(scenario)


def batch_sums(batches: "pa.Table", trials: Sequence[Trial]) -> list[tuple[Integers, Sums]]:
    """Gather sums by batch, for trials with equal numbers of batches and stations together.

    With positions of the trials, shape `(trials,)`; trials whose rows are not complete are left
    out.
    """
    found = []
    for positions, cube in cubes(
        batches, trials, "station", ("frames", "charged_ps", "delay_sum_s", "delay_square_sum_s2")
    ):
        count = cube["frames"].shape[1]
        segments = [trials[position].scenario for position in positions.tolist()]
        windows_s = np.array([window_s(scenario) for scenario in segments], dtype=np.float64)
        bit_ps = np.array([medium_of(scenario).bit_ps for scenario in segments], dtype=np.float64)
        sums = Sums(
            frames=cube["frames"],
            charged_s=cube["charged_ps"] / PS_PER_S,
            delay_sum_s=cube["delay_sum_s"],
            delay_square_sum_s2=cube["delay_square_sum_s2"],
            window_s=windows_s / count,
            line_rate_bps=PS_PER_S / bit_ps,
        )
        found.append((positions, sums))
    return found


def window_s(scenario: Scenario) -> float:
    """Length of the measured window, in s."""
    return (scenario.phases.measure_to_ps - scenario.phases.measure_from_ps) / PS_PER_S


def cubes(
    table: "pa.Table", trials: Sequence[Trial], part: str, names: Sequence[str]
) -> list[tuple[Integers, dict[str, Floats]]]:
    """Gather columns of a table by batch and part, for trials with equal numbers of both together.

    The table has trial · batch · part · columns, in any order; `part` is the column with the number
    of the station, or of the flow. Returned are positions of trials, shape `(trials,)`, and their
    columns, shape `(trials, batches, parts)`; trials whose rows are not complete are left out.
    """
    trial, _ = codes(table["trial"], [trial.id for trial in trials])
    batch = table["batch"].to_numpy().astype(np.int64)
    station = table[part].to_numpy().astype(np.int64)
    step = np.int64(1) << 20
    key = (trial * step + batch) * step + station
    order = None
    if not ((key[1:] > key[:-1]).all() and (trial >= 0).all()):
        order = np.argsort(key, kind="stable")
        order = order[trial[order] >= 0]
        trial, batch, station = trial[order], batch[order], station[order]

    def column(name: str) -> Floats:
        values: Floats = table[name].to_numpy().astype(np.float64)
        return values if order is None else values[order]

    columns = {name: column(name) for name in names}
    rows = np.bincount(trial, minlength=len(trials))
    first = np.cumsum(rows) - rows
    shapes: dict[tuple[int, int], list[int]] = {}
    for position in np.nonzero(rows)[0].tolist():
        last = first[position] + rows[position] - 1
        shape = (int(batch[last]) + 1, int(station[last]) + 1)
        if shape[0] * shape[1] == rows[position]:
            shapes.setdefault(shape, []).append(position)

    found = []
    for (count, parts), positions in sorted(shapes.items()):
        index = first[positions][:, None] + np.arange(count * parts)
        cube = {name: values[index].reshape(-1, count, parts) for name, values in columns.items()}
        found.append((np.array(positions, dtype=np.int64), cube))
    return found


def _words(text: str | None) -> list[str]:
    return re.findall(r"[a-z-]+", text or "")


def codes(column: "pa.ChunkedArray", names: list[str] | None) -> tuple[Integers, list[str]]:
    """Return the index of every text among the names, or without names among the texts that occur.

    The index is -1 for a text that is not there.
    """
    import pyarrow as pa

    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # empty columns stay chunked in some versions
        encoded = (
            pa.concat_arrays(encoded.chunks) if encoded.num_chunks else pa.array([], column.type)
        )
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    texts = [text or "" for text in encoded.dictionary.to_pylist()]
    indices = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    if names is None:
        return indices, [*texts, ""]
    position = {name: at for at, name in enumerate(names)}
    return np.array([*(position.get(text, -1) for text in texts), -1], dtype=np.int64)[
        indices
    ], names
