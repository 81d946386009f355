"""Tables of a run for analysis in Python: Arrow tables with the varied keys as typed columns."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

from ethermeter.analysis.estimates import Point
from ethermeter.faults import InputError, choices
from ethermeter.metrics import Metric
from ethermeter.report.axes import quantity

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ethermeter.store import RunDirectory

    Frame: TypeAlias = pd.DataFrame | pl.DataFrame | pa.Table

Library = Literal["pandas", "polars", "arrow"]
UNIT = b"unit"
"""Key of the unit of a column in the metadata of its field."""
_PER_TRIAL = ("series", "engine", "replication")


def of_trials(run: "RunDirectory", table: "pa.Table") -> "pa.Table":
    """Return a table of trials with series, engine, varied keys and replication in front.

    Parameters
    ----------
    table
        Has the column `trial`.

    Raises
    ------
    InputError
        If the plan of the run is damaged.

    """
    import pyarrow as pa
    import pyarrow.compute as pc

    trials = run.trials()
    rows = pc.index_in(table["trial"].cast(pa.string()), pa.array([each.id for each in trials]))
    columns: dict[str, tuple[pa.Array, str]] = {
        "series": (pa.array([each.series for each in trials]), ""),
        "engine": (pa.array([each.engine for each in trials]), ""),
        **_varied([each.point for each in trials]),
        "replication": (pa.array([each.replication for each in trials]), ""),
    }
    for position, (name, (values, unit)) in enumerate(columns.items()):
        table = table.add_column(position, _field(name, values.type, unit), values.take(rows))
    return table


def of_estimates(points: Sequence[Point], metrics: Sequence[Metric] | None) -> "pa.Table":
    """Return estimates in rows: point, metric, value, 95% interval, unit, cautions.

    Parameters
    ----------
    points
        Points of a run.
    metrics
        Those wanted; None for all.

    Returns
    -------
    :
        Columns: series · engine · one for each varied key · replications · metric · value · low ·
        high (null where there is no interval) · unit · cautions (words, separated by a space).

    """
    import pyarrow as pa

    rows = [
        (position, point, metric, estimate)
        for position, point in enumerate(points)
        for metric, estimate in point.estimates.items()
        if metrics is None or metric in metrics
    ]
    of_row = pa.array([position for position, *_ in rows], pa.int64())
    columns: dict[str, tuple[pa.Array, str]] = {
        "series": (pa.array([point.series for point in points], pa.string()).take(of_row), ""),
        "engine": (pa.array([point.engine for point in points], pa.string()).take(of_row), ""),
    }
    for key, (values, unit) in _varied([point.point for point in points]).items():
        columns[key] = values.take(of_row), unit
    ends = [(each.low, each.high) if each.has_interval else (None, None) for *_, each in rows]
    columns |= {
        "replications": (pa.array([point.replications for _, point, *_ in rows], pa.int64()), ""),
        "metric": (pa.array([str(metric) for *_, metric, _ in rows], pa.string()), ""),
        "value": (pa.array([each.value for *_, each in rows], pa.float64()), ""),
        "low": (pa.array([low for low, _ in ends], pa.float64()), ""),
        "high": (pa.array([high for _, high in ends], pa.float64()), ""),
        "unit": (pa.array([metric.unit for *_, metric, _ in rows], pa.string()), ""),
        "cautions": (pa.array([" ".join(each.cautions) for *_, each in rows], pa.string()), ""),
    }
    fields = [_field(name, values.type, unit) for name, (values, unit) in columns.items()]
    return pa.table([values for values, _ in columns.values()], schema=pa.schema(fields))


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

    A pandas frame has the units of columns in `attrs["units"]`, an Arrow table in the metadata of
    its fields.

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

            return polars.from_arrow(table)
        if library == "pandas":
            frame = table.to_pandas(strings_to_categorical=False)
            frame.attrs["units"] = units_of(table)
            return frame
    except ImportError as error:
        allowed = f"a library that is installed: pip install {library}"
        raise InputError.of("frames", "library", library, allowed) from error
    raise InputError.of("frames", "library", str(library), choices(library, get_args(Library)))


def units_of(table: "pa.Table") -> dict[str, str]:
    """Return the units of the columns that have one."""
    return {
        field.name: field.metadata[UNIT].decode()
        for field in table.schema
        if field.metadata and UNIT in field.metadata
    }


def _field(name: str, kind: "pa.DataType", unit: str) -> "pa.Field[Any]":
    import pyarrow as pa

    return pa.field(name, kind, metadata={UNIT: unit.encode()} if unit else None)


def _varied(points: Sequence[Mapping[str, str]]) -> "dict[str, tuple[pa.Array, str]]":
    """Return the values of every varied key, and their unit: numbers where all are quantities."""
    keys = dict.fromkeys(key for point in points for key in point)
    return {key: _typed([point.get(key) for point in points]) for key in keys}


def _typed(texts: Sequence[str | None]) -> "tuple[pa.Array, str]":
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
