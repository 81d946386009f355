"""Frame: the values of trials as one table, a row a value."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ethermeter.metrics import ALL, Metric, caution_text, metrics_of
from ethermeter.results.slices import Source, Trial
from ethermeter.results.values import metrics_in, of_all, of_each
from ethermeter.store.columns import groups_of

if TYPE_CHECKING:
    import pyarrow as pa


def observations(
    source: Source,
    trials: Sequence[Trial],
    metrics: Iterable[Metric] | None = None,
    *,
    whole: bool = False,
) -> "pa.Table":
    """Return the values of trials, of some metrics or of all.

    `whole` leaves out single stations and flows. Columns: trial · station (its number, or that of a
    flow; -1 for all together) · metric · value (in the metric's unit) · caution (words of the
    closed list, separated by a space; empty for none). Of each trial and metric all together first.
    """
    import pyarrow as pa

    together = of_all(source, trials, metrics)
    each = [] if whole else of_each(source, trials, together.metrics)
    rows: list[tuple[int, int, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]] = []
    for at, trial in enumerate(trials):
        there = set(metrics_in(trial))
        single = set() if whole else _of_each_metrics(trial)
        for place, metric in enumerate(together.metrics):
            if metric not in there:
                continue
            entity = np.array([ALL])
            values, masks = together.values[at, [place]], together.cautions[at, [place]]
            if metric in single:
                entry = each[at][metric]
                entity = np.concatenate([entity, np.arange(len(entry.values))])
                values = np.concatenate([values, entry.values])
                masks = np.concatenate([masks, entry.cautions])
            rows.append((at, place, entity, values, masks))
    lengths = [len(values) for *_, values, _ in rows]
    masks, codes = np.unique(
        np.concatenate([np.empty(0, np.uint64), *(entry for *_, entry in rows)]),
        return_inverse=True,
    )
    columns = {
        "trial": _words([at for at, *_ in rows], lengths, [trial.id for trial in trials]),
        "station": np.concatenate(
            [np.empty(0, np.int32), *(entry for _, _, entry, *_ in rows)]
        ).astype(np.int32),
        "metric": _words([place for _, place, *_ in rows], lengths, list(together.metrics)),
        "value": np.concatenate([np.empty(0), *(entry for *_, entry, _ in rows)]),
        "caution": pa.DictionaryArray.from_arrays(
            codes.astype(np.int32),
            pa.array([caution_text(int(mask)) for mask in masks], pa.string()),
        ),
    }
    return pa.table(columns)


def _of_each_metrics(trial: Trial) -> set[Metric]:
    groups = groups_of(trial.scenario, trial.engine)
    return {metric for group in groups for metric in metrics_of(group, of_each=True)}


def _words(codes: Sequence[int], lengths: Sequence[int], words: Sequence[str]) -> Any:
    import pyarrow as pa

    each = np.repeat(np.array(codes, np.int32), lengths)
    return pa.DictionaryArray.from_arrays(
        each, pa.array([str(word) for word in words], pa.string())
    )
