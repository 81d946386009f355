"""Network files: a calibrated network as people read it and `predict` uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethermeter.calibration.calibrate import Calibration
from ethermeter.calibration.estimation import Floats, in_words
from ethermeter.calibration.unknown import Unknown, read_unknowns
from ethermeter.experiment import toml
from ethermeter.faults import InputError, shown


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """A calibrated network.

    `path`: its file. `network`: the table `network`, with the values that were found. `unknowns`:
    what was unknown. `values`: what was found, in the unknowns' units. `covariance`: of these,
    along what the data determine, shape `(unknowns, unknowns)`. `undetermined`: directions that the
    data do not determine, in units of the unknowns' ranges, shape `(directions, unknowns)`.
    `degrees`: degrees of freedom of the intervals.
    """

    path: Path
    network: Mapping[str, object]
    unknowns: tuple[Unknown, ...]
    values: Floats
    covariance: Floats
    undetermined: Floats
    degrees: float


def network_text(found: Calibration) -> str:
    """Return the text of a network file."""
    fit, names = found.fit, found.names
    document = found.model.with_values(fit.values)
    given = document.get("sources")
    sources: dict[str, object] = dict(given) if isinstance(given, dict) else {}
    tables = {}
    for place, unknown in enumerate(found.model.unknowns):
        estimate, is_known = fit.estimates[place], bool(fit.is_determined[place])
        table: dict[str, object] = {
            "keys": list(unknown.keys),
            "from": f"{unknown.low!r} {unknown.unit}",
            "to": f"{unknown.high!r} {unknown.unit}",
            "start": f"{unknown.start!r} {unknown.unit}",
            "value": float(fit.values[place]),
            "unit": unknown.unit,
            "is_determined": is_known,
        }
        if is_known and estimate.has_interval:
            table |= {"low": float(estimate.low), "high": float(estimate.high)}
            source = f"fit: 95% interval {estimate.low:.6g} to {estimate.high:.6g} {unknown.unit}"
        else:
            source = "fit: not determined alone" if not is_known else "fit: without an interval"
            source += "".join(
                f"; {in_words(names, each.factors)} = {each.estimate.value:.6g} {unknown.unit}"
                for each in fit.combinations
                if each.factors[place]
            )
        sources |= {key: source for key in unknown.keys}
        tables[unknown.name] = table
    tree = {
        "title": f"{document['title']}: calibrated",
        "network": document["network"],
        "sources": sources,
        "calibrated": tables,
        "calibration": {
            "covariance": fit.covariance.tolist(),
            "undetermined": fit.undetermined.tolist(),
            "degrees": float(fit.estimates[0].degrees),
            "chi_square": fit.chi_square,
            "free": fit.degrees,
            "scale": fit.scale,
            "data": sorted({datum.source for datum in found.data}),
        },
    }
    return toml.document(tree)


def read_network(path: Path) -> NetworkFile:
    """Read a network file.

    Raises InputError if it is not what `fit` writes.
    """
    file = str(path)
    document = toml.parsed(toml.text_of(path, file=file), file=file)
    network, tables, more = (document.get(key) for key in ("network", "calibrated", "calibration"))
    if not isinstance(network, dict) or not isinstance(tables, dict) or not isinstance(more, dict):
        keys = ("network", "calibrated", "calibration")
        missing = next(key for key in keys if not isinstance(document.get(key), dict))
        raise InputError.of(
            file, missing, "(missing)", "expected a file that `ethermeter fit` wrote"
        )
    asked = {
        name: {key: table.get(key) for key in ("keys", "from", "to", "start")}
        if isinstance(table, dict)
        else table
        for name, table in tables.items()
    }
    unknowns, faults = read_unknowns(document, asked, file=file)
    if faults:
        raise InputError(faults)
    values = _numbers(
        [table.get("value") for table in tables.values()], (len(unknowns),), file, "calibrated"
    )
    covariance = _numbers(
        more.get("covariance"), (len(unknowns), len(unknowns)), file, "calibration.covariance"
    )
    directions = more.get("undetermined")
    count = len(directions) if isinstance(directions, list) else 0
    undetermined = _numbers(
        directions or np.empty((0, len(unknowns))),
        (count, len(unknowns)),
        file,
        "calibration.undetermined",
    )
    degrees = _numbers([more.get("degrees")], (1,), file, "calibration.degrees")
    return NetworkFile(path, network, unknowns, values, covariance, undetermined, float(degrees[0]))


def _numbers(given: object, shape: tuple[int, ...], file: str, key: str) -> Floats:
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != shape or np.isnan(found).any():
        raise InputError.of(file, key, shown(given), f"expected numbers of shape {shape}")
    return found
