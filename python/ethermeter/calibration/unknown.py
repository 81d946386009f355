"""Unknowns: parameters of a network to determine from data, each between two bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ethermeter import units
from ethermeter.experiment.key_paths import resolved
from ethermeter.experiment.toml import PathError
from ethermeter.faults import Fault, Key, choices, shown
from ethermeter.units import Dimension, UnitError

MOST_UNKNOWNS = 32
"""Unknowns that a model may have."""

_KEYS = ("keys", "from", "to", "start")
_OCTET_PS = 8 * units.PS_PER_S


@dataclass(frozen=True, slots=True)
class Unknown:
    """A parameter to determine from data.

    `name`: what it is called. `keys`: dotted keys that all have its value. `paths`: the same as
    places in the file. `low`, `high`: bounds, in `unit`. `start`: the value from which the search
    begins, and which is kept where data do not determine it. `unit`: unit of the three, as the file
    has it.
    """

    name: str
    keys: tuple[str, ...]
    paths: tuple[tuple[Key, ...], ...]
    low: float
    high: float
    start: float
    unit: str

    @property
    def dimension(self) -> Dimension:
        """What it measures: a time or a bit rate."""
        return units.UNITS[self.unit][0]

    def text(self, value: float) -> str:
        """Return a value as an experiment file has it: whole picoseconds, or these per octet.

        `value`: in `unit`.
        """
        base = Fraction(value) * units.UNITS[self.unit][1]
        if self.dimension is Dimension.TIME:
            return f"{round(base)} ps"
        return f"{max(1, round(_OCTET_PS / base))} ps/B"


def read_unknowns(
    document: Mapping[str, object], table: object, *, file: str
) -> tuple[tuple[Unknown, ...], list[Fault]]:
    """Read the unknowns of a model.

    `document`: the experiment file around them. `table`: what stands under `calibrate.unknown`.
    `file`: the file, as the user named it.
    Returns the unknowns that are sound, and every fault.
    """
    if not isinstance(table, dict) or not 1 <= len(table) <= MOST_UNKNOWNS:
        allowed = (
            f"expected 1 to {MOST_UNKNOWNS} tables such as [calibrate.unknown.software] with keys,"
            " from and to"
        )
        return (), [
            Fault(
                file, "calibrate.unknown", "(missing)" if table is None else shown(table), allowed
            )
        ]
    found, faults = [], []
    for name, given in table.items():
        unknown, wrong = _read(document, name, given, file=file)
        faults += wrong
        if unknown is not None:
            found.append(unknown)
    owners: dict[tuple[Key, ...], str] = {}
    for each in found:
        for key, path in zip(each.keys, each.paths, strict=True):
            if owners.setdefault(path, each.name) != each.name:
                faults.append(
                    Fault(
                        file,
                        f"calibrate.unknown.{each.name}.keys",
                        shown(key),
                        f"expected a key that {owners[path]} has not",
                    )
                )
    return tuple(found), faults


def _read(
    document: Mapping[str, object], name: str, given: object, *, file: str
) -> tuple[Unknown | None, list[Fault]]:
    place = f"calibrate.unknown.{name}"
    if not isinstance(given, dict):
        return None, [Fault(file, place, shown(given), "expected a table with keys, from and to")]
    faults = [
        Fault(
            file,
            f"{place}.{key}",
            shown(given[key]),
            f"unknown key; {choices(key, _KEYS, 'allowed: ')}",
        )
        for key in given
        if key not in _KEYS
    ]
    keys, paths, wrong = _paths(document, given.get("keys"), place, file=file)
    faults += wrong
    bounds: dict[str, units.Quantity] = {}
    for key in ("from", "to", "start"):
        if key == "start" and key not in given:
            continue
        try:
            bounds[key] = _quantity(given.get(key))
        except UnitError as error:
            faults.append(
                Fault(
                    file,
                    f"{place}.{key}",
                    shown(given[key]) if key in given else "(missing)",
                    str(error),
                )
            )
    if faults or len(bounds) < 2:
        return None, faults
    unit = bounds["to"].unit
    dimension, size = units.UNITS[unit]
    if any(each.dimension is not dimension for each in bounds.values()):
        return None, [
            Fault(
                file, place, shown(given), "expected from, to and start all times, or all bit rates"
            )
        ]
    low, high = bounds["from"].base / size, bounds["to"].base / size
    start = bounds["start"].base / size if "start" in bounds else (low + high) / 2
    if not low < high or not low <= start <= high:
        return None, [
            Fault(file, place, shown(given), "expected from below to, and start between them")
        ]
    if dimension is Dimension.RATE and low <= 0:
        return None, [
            Fault(file, f"{place}.from", shown(given["from"]), "expected a bit rate above zero")
        ]
    return Unknown(name, keys, paths, float(low), float(high), float(start), unit), []


def _quantity(value: object) -> units.Quantity:
    expected = 'a time or a bit rate such as "12 us" or "100 Mb/s"'
    if not isinstance(value, str):
        raise UnitError(f"expected {expected}")
    found = units.quantity(value, expected=expected)
    if found.dimension not in (Dimension.TIME, Dimension.RATE) or found.number < 0:
        raise UnitError(f"expected {expected}, not below zero")
    return found


def _paths(
    document: Mapping[str, object], given: object, place: str, *, file: str
) -> tuple[tuple[str, ...], tuple[tuple[Key, ...], ...], list[Fault]]:
    keys: Sequence[object] = (
        [given] if isinstance(given, str) else given if isinstance(given, list) else []
    )
    if not keys or not all(isinstance(key, str) for key in keys):
        value = "(missing)" if given is None else shown(given)
        return (
            (),
            (),
            [
                Fault(
                    file,
                    f"{place}.keys",
                    value,
                    "expected dotted keys of the network or its flows in a list",
                )
            ],
        )
    paths, faults = [], []
    for key in map(str, keys):
        try:
            paths.append(resolved(document, key.split("."), tops=("network", "flows")))
        except PathError as error:
            faults.append(Fault(file, f"{place}.keys", shown(key), str(error)))
    return tuple(map(str, keys)), tuple(paths), faults
