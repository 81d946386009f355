"""Frames: values and counts of trials as tables, with what the experiment varies as typed columns.

Columns of a table: series · engine · one for each varied key (as numbers in the base unit of its
texts, where all are quantities) · others. `converted` gives a table the form of a library.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

import numpy as np
import numpy.typing as npt

from ethermeter.entities import Entity, names_of
from ethermeter.faults import InputError, choices
from ethermeter.metrics import ALL, Metric, caution_text, metrics_of
from ethermeter.nodes import links_in
from ethermeter.results.estimates import Point
from ethermeter.results.slices import Source
from ethermeter.results.trials import Trial
from ethermeter.results.values import metrics_in, metrics_of_all, of_all, of_each, of_media
from ethermeter.scenario import Scenario
from ethermeter.store.arrow import dictionary, values_of
from ethermeter.store.columns import HISTOGRAMS, PORTS, TIMES, kinds_in, time_of
from ethermeter.swept import quantity

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Frame: TypeAlias = pd.DataFrame | pl.DataFrame | pa.Table

Library = Literal["pandas", "polars", "arrow"]
By = Literal["point", "trial", "medium", "entity"]
"""What a row is of: a point of the experiment, a trial, or a medium, or a station or flow of it."""
UNIT = b"unit"
"""Key of the unit of a column in the metadata of its field."""


def observations(
    source: Source,
    trials: Sequence[Trial],
    metrics: Iterable[Metric] | None = None,
    *,
    whole: bool = False,
) -> "pa.Table":
    """Return the values of trials, of some metrics or of all.

    `whole` leaves out single stations and flows. Columns: trial · entity (the number of the station
    or flow; -1 for all together) · metric · value (in the metric's unit) · caution (words of the
    closed list, separated by a space; empty for none). Of each trial and metric all together first.
    """
    import pyarrow as pa

    together = of_all(source, trials, metrics)
    there = set().union(*(metrics_in(trial) for trial in trials))
    wanted = there if metrics is None else there & set(metrics)
    shown = [metric for metric in Metric if metric in wanted]
    each = [] if whole else of_each(source, trials, shown)
    rows: list[tuple[int, int, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]] = []
    for at, trial in enumerate(trials):
        has_all = metrics_of_all(trial)
        single = set() if whole else _of_each_metrics(trial)
        for place, metric in enumerate(shown):
            parts = []
            if metric in has_all:
                column = together.place(metric)
                of_trial = together.values[at, [column]], together.cautions[at, [column]]
                parts.append((np.array([ALL]), *of_trial))
            if metric in single:
                entry = each[at][metric]
                parts.append((np.arange(len(entry.values)), entry.values, entry.cautions))
            if parts:
                entity, values, masks = map(np.concatenate, zip(*parts, strict=True))
                rows.append((at, place, entity, values, masks))
    lengths = [len(values) for *_, values, _ in rows]
    masks, codes = np.unique(
        np.concatenate([np.empty(0, np.uint64), *(entry for *_, entry in rows)]),
        return_inverse=True,
    )
    entities = [np.empty(0, np.int32), *(entry for _, _, entry, *_ in rows)]
    columns = {
        "trial": _repeated([at for at, *_ in rows], lengths, [trial.id for trial in trials]),
        "entity": np.concatenate(entities).astype(np.int32),
        "metric": _repeated([place for _, place, *_ in rows], lengths, shown),
        "value": np.concatenate([np.empty(0), *(entry for *_, entry, _ in rows)]),
        "caution": _words(codes, [caution_text(int(mask)) for mask in masks]),
    }
    return pa.table(columns)


def of_values(
    source: Source,
    trials: Sequence[Trial],
    metrics: Iterable[Metric] | None,
    *,
    by: Literal["trial", "medium", "entity"],
) -> "pa.Table":
    """Return the values of trials, of all stations or flows together or of each, a row a value.

    Columns besides those of the point: replication · trial · entity (the name of the medium,
    station or flow, unless by trial) · metric · value · unit · cautions (words, separated by a
    space).
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if by == "medium":
        table = _by_medium(source, trials, metrics)
    else:
        table = observations(source, trials, metrics, whole=by == "trial")
    names = table["metric"].combine_chunks().dictionary.to_pylist()
    columns = {"trial": table["trial"]}
    if by != "trial":
        table = table.filter(pc.greater_equal(table["entity"], 0))
        at, kinds = _codes(table["trial"]), np.zeros((len(trials), len(names)), np.int64)
        if by == "entity":
            kinds = _kinds(trials, lambda trial: [metrics_in(trial).get(name) for name in names])
        of_row = kinds[at, _codes(table["metric"])]
        entity = _names(trials, at, of_row, table["entity"].to_numpy())
        columns = {"trial": table["trial"], "entity": entity}
    unit = _words(_codes(table["metric"]), [Metric(name).unit for name in names])
    columns |= {"metric": table["metric"], "value": table["value"], "unit": unit}
    return _with_points(trials, pa.table(columns | {"cautions": table["caution"]}))


def of_points(points: Sequence[Point], metrics: Iterable[Metric] | None) -> "pa.Table":
    """Return the estimates of points, of some metrics or of all, a row an estimate.

    Columns besides those of the point: replications · metric · value · low · high (null where there
    is no interval) · unit · cautions (words, separated by a space).
    """
    import pyarrow as pa

    wanted = None if metrics is None else set(metrics)
    rows = [
        (position, point, metric, estimate)
        for position, point in enumerate(points)
        for metric, estimate in point.estimates.items()
        if wanted is None or metric in wanted
    ]
    of_row = pa.array([position for position, *_ in rows], pa.int64())
    ends = [(each.low, each.high) if each.has_interval else (None, None) for *_, each in rows]
    columns = {
        "replications": pa.array([point.replications for _, point, *_ in rows], pa.int64()),
        "metric": pa.array([str(metric) for *_, metric, _ in rows], pa.string()),
        "value": pa.array([each.value for *_, each in rows], pa.float64()),
        "low": pa.array([low for low, _ in ends], pa.float64()),
        "high": pa.array([high for _, high in ends], pa.float64()),
        "unit": pa.array([metric.unit for *_, metric, _ in rows], pa.string()),
        "cautions": pa.array([" ".join(each.cautions) for *_, each in rows], pa.string()),
    }
    lead = {
        "series": (pa.array([point.series for point in points], pa.string()), ""),
        "engine": (pa.array([point.engine for point in points], pa.string()), ""),
        **_varied([point.point for point in points]),
    }
    return _joined(lead, of_row, pa.table(columns))


def of_counts(source: Source, trials: Sequence[Trial], name: str) -> "pa.Table":
    """Return a table of counts of trials: of histograms a row a bucket, of ports a row a port.

    Columns besides those of the point: replication · trial · those of the table. Of a histogram
    `time` and `entity` are names, of a flow or a medium; a port has its `node` and the
    `peer` at the other end.
    """
    import pyarrow as pa

    rows, columns = source.gathered(name, [trial.id for trial in trials]).each(
        np.arange(len(trials))
    )
    table: dict[str, pa.Array[Any] | npt.NDArray[Any] | list[str]] = {
        "trial": _words(rows, [trial.id for trial in trials])
    }
    if name == HISTOGRAMS and columns:
        times, words = columns["time"].astype(np.int64), list(TIMES)
        kinds = _kinds(trials, lambda trial: [time_of(time, trial.scenario) for time in words])
        entity = _names(trials, rows, kinds[rows, times], columns["entity"].astype(np.int64))
        columns = {key: columns[key] for key in ("low_ps", "high_ps", "count")}
        table |= {"time": _words(times, words), "entity": entity}
    if name == PORTS and columns:
        ports = [_ports(trial.scenario) for trial in trials]
        found = [ends for at in dict.fromkeys(rows.tolist()) for ends in ports[at]]
        counts = [len(ports[at]) for at in dict.fromkeys(rows.tolist())]
        table["port"] = np.concatenate([np.empty(0, np.int64), *map(np.arange, counts)])
        table |= {key: [ends[at] for ends in found] for at, key in enumerate(("node", "peer"))}
    return _with_points(trials, pa.table(table | columns))


def _ports(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the node of each port, and the node at the other end of its link."""
    ends = [[end.node for end in link.ends] for link in links_in(scenario)]
    return [pair for one, other in ends for pair in ((one, other), (other, one))]


_KINDS: tuple[Entity, ...] = get_args(Entity)
"""Kinds of entities by their codes."""


def _names(
    trials: Sequence[Trial],
    rows: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int64],
) -> Any:
    """Return names of entities in trials, by the positions of these, codes of kinds, numbers."""
    known: dict[int, list[int]] = {}
    words: dict[str, int] = {}
    codes: list[int] = []
    for trial in trials:
        if (key := id(trial.scenario)) not in known:
            known[key] = []
            for kind in _KINDS:
                known[key].append(len(codes))
                names = names_of(kind, trial.scenario)
                codes += [words.setdefault(name, len(words)) for name in names]
    begins = np.array([known[id(trial.scenario)] for trial in trials], np.int64)
    begins = begins.reshape(-1, len(_KINDS))
    return _words(np.array(codes, np.int64)[begins[rows, kinds] + numbers], list(words))


def _kinds(
    trials: Sequence[Trial], of_trial: Callable[[Trial], Sequence[Entity | None]]
) -> npt.NDArray[np.int64]:
    """Return codes of kinds of entities that each trial has, a row a trial; 0 for none."""
    code = {kind: at for at, kind in enumerate(_KINDS)}
    known: dict[tuple[int, str], list[int]] = {}
    for trial in trials:
        if (key := (id(trial.scenario), trial.engine)) not in known:
            known[key] = [code[kind] if kind else 0 for kind in of_trial(trial)]
    rows = [known[id(trial.scenario), trial.engine] for trial in trials]
    return np.array(rows, np.int64).reshape(len(trials), -1)


def _by_medium(
    source: Source, trials: Sequence[Trial], metrics: Iterable[Metric] | None
) -> "pa.Table":
    """Return the values of single media, in the columns of `observations`."""
    import pyarrow as pa

    rows = [
        (at, metric, number, value, mask)
        for at, of_trial in enumerate(of_media(source, trials, metrics))
        for metric, found in of_trial.items()
        for number, (value, mask) in enumerate(zip(found.values, found.cautions, strict=True))
    ]
    names = [*dict.fromkeys(metric for _, metric, *_ in rows)]
    code = {metric: at for at, metric in enumerate(names)}
    texts = [caution_text(int(mask)) for *_, mask in rows]
    return pa.table(
        {
            "trial": _words(
                np.array([at for at, *_ in rows], np.int64), [trial.id for trial in trials]
            ),
            "entity": np.array([number for _, _, number, *_ in rows], np.int32),
            "metric": _words(np.array([code[metric] for _, metric, *_ in rows], np.int64), names),
            "value": np.array([value for *_, value, _ in rows], np.float64),
            "caution": pa.array(texts, pa.string()).dictionary_encode(),
        }
    )


def _with_points(trials: Sequence[Trial], table: "pa.Table") -> "pa.Table":
    """Return a table of trials with series, engine, varied keys and replication in front."""
    import pyarrow as pa

    lead = {
        "series": (pa.array([trial.series for trial in trials], pa.string()), ""),
        "engine": (pa.array([trial.engine for trial in trials], pa.string()), ""),
        **_varied([trial.point for trial in trials]),
        "replication": (pa.array([trial.replication for trial in trials], pa.int64()), ""),
    }
    return _joined(lead, pa.array(_codes(table["trial"])), table)


def _joined(
    lead: Mapping[str, "tuple[pa.Array[Any], str]"], rows: "pa.Array[Any]", table: "pa.Table"
) -> "pa.Table":
    """Return a table with columns in front, of which its rows have the values at `rows`."""
    import pyarrow as pa

    fields = [
        pa.field(name, values.type, metadata={UNIT: unit.encode()} if unit else None)
        for name, (values, unit) in lead.items()
    ]
    columns = [*(values.take(rows) for values, _ in lead.values()), *table.columns]
    return pa.table(columns, schema=pa.schema([*fields, *table.schema]))


@overload
def converted(table: "pa.Table", library: Literal["pandas"]) -> "pd.DataFrame": ...
@overload
def converted(table: "pa.Table", library: Literal["polars"]) -> "pl.DataFrame": ...
@overload
def converted(table: "pa.Table", library: Literal["arrow"]) -> "pa.Table": ...
@overload
def converted(table: "pa.Table", library: Library) -> "Frame": ...
def converted(table: "pa.Table", library: Library) -> "Frame":
    """Return a table in the form of a library.

    Frames of pandas and polars have the units of columns in `attrs["units"]`, an Arrow table in the
    metadata of its fields.

    Raises
    ------
    InputError
        If there is no such library, or it is not installed.

    """
    if library == "arrow":
        return table
    try:
        if library == "polars":
            import polars

            found = polars.from_arrow(table)
            assert isinstance(found, polars.DataFrame), "a table of columns"
            # Polars has no place for metadata: an attribute, as of pandas.
            found.attrs = {"units": units_of(table)}  # type: ignore[attr-defined]
            return found
        if library == "pandas":
            frame = table.to_pandas(strings_to_categorical=False)
            frame.attrs["units"] = units_of(table)
            return frame
    except ImportError as error:
        allowed = f"a library that is installed: pip install {library}"
        raise InputError.of("frame", "library", library, allowed) from error
    raise InputError.of("frame", "library", str(library), choices(library, get_args(Library)))


def units_of(table: "pa.Table") -> dict[str, str]:
    """Return the units of the columns that have one."""
    return {
        field.name: field.metadata[UNIT].decode()
        for field in table.schema
        if field.metadata and UNIT in field.metadata
    }


def _varied(points: Sequence[Mapping[str, str]]) -> "dict[str, tuple[pa.Array[Any], str]]":
    """Return the values of every varied key, and their unit: numbers where all are quantities."""
    keys = dict.fromkeys(key for point in points for key in point)
    return {key: _typed([point.get(key) for point in points]) for key in keys}


def _typed(texts: Sequence[str | None]) -> "tuple[pa.Array[Any], str]":
    import pyarrow as pa

    given = [text for text in texts if text is not None]
    if given and set(given) <= {"true", "false"}:
        return pa.array([None if text is None else text == "true" for text in texts]), ""
    read = {text: quantity(text) for text in given}
    units = {found[1] for found in read.values() if found is not None}
    if not given or None in read.values() or len(units) > 1:
        return pa.array(texts, pa.string()), ""
    values = [None if text is None else (read[text] or (0.0, ""))[0] for text in texts]
    if all(value is None or value.is_integer() for value in values):
        whole = [None if value is None else int(value) for value in values]
        return pa.array(whole, pa.int64()), units.pop()
    return pa.array(values, pa.float64()), units.pop()


def _of_each_metrics(trial: Trial) -> set[Metric]:
    kinds = kinds_in(trial.scenario, trial.engine)
    return {metric for kind in kinds for metric in metrics_of(kind, of_each=True)}


def _repeated(codes: Sequence[int], lengths: Sequence[int], words: Sequence[str]) -> Any:
    return _words(np.repeat(np.array(codes, np.int32), lengths), words)


def _words(codes: npt.NDArray[Any], words: Sequence[str]) -> Any:
    """Return words by their codes, as a dictionary without a word twice."""
    number: dict[str, int] = {}
    place = np.array([number.setdefault(str(word), len(number)) for word in words], np.int32)
    return dictionary(place[codes] if len(place) else codes, list(number))


def _codes(column: "pa.ChunkedArray[Any]") -> npt.NDArray[np.int64]:
    return np.asarray(values_of(column.combine_chunks().indices), np.int64)
