"""Responders: the round trips of each host that answers the requests of a flow."""

from collections.abc import Iterator

from ethermeter.blocks import Row, Table, Text
from ethermeter.entities import names_of
from ethermeter.metrics.statistics import quantiles
from ethermeter.results.query import MissingError, Results

HEAD = ("Responder", "Answers", "Least", "Median", "99%", "Largest")
ROWS = 30
"""Rows of the table at most."""


def responders(results: Results) -> Iterator[Text | Table]:
    """Lay out the round trips of each responder at the first points; nothing without any."""
    keys = list(dict.fromkeys(key for point in results.points() for key in point.point))
    rows: list[Row] = []
    for point in results.points():
        values = point.point
        for name in names_of("responder", point.scenario):
            try:
                found = point.histogram("responder_round_trip", name)
            except MissingError:
                continue
            ranks = quantiles(found)
            times = (found.low_ps[0] / 1e12, ranks[0], ranks[2], ranks[-1])
            cells = [f"{time * 1e6:.4g} µs" for time in times]
            at = [str(values.get(key, "")) for key in keys]
            rows.append((*at, name, f"{found.count.sum():,}", *cells))
    if rows:
        yield Text("round trips by responder:")
        yield Table((*keys, *HEAD), rows[:ROWS], "Round trips by responder", headers=len(keys) + 1)
