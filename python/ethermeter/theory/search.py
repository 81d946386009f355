"""The largest throughput of a model over its load, and the load that carries a given throughput."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Flags, Numbers, plain, same_shape
from ethermeter.theory.arguments import LOAD, SHARE
from ethermeter.theory.entry import Throughput

Model = Callable[..., Throughput]

_POINTS_A_DECADE = 24
_LEAST = 1e-3
_ROUNDS, _FINER = 5, 17
_HALVINGS = 90


@dataclass(frozen=True, slots=True)
class Capacity:
    """The largest throughput of a model, of two maxima the higher, and the load G at which it is.

    `outside_range` is also true where the throughput still rises at the largest load of the search.
    """

    capacity: Array
    load: Array
    outside_range: Flags


def capacity(function: Model, **parameters: Any) -> Capacity:
    """Find the largest throughput of a model of throughput against load, over all loads.

    `parameters` are its other arguments, which broadcast. The load is found to about 1e-6, the
    capacity to the last digits.

    Raises
    ------
    ArgumentError
        If the function has no load to vary, or refuses a parameter.

    Examples
    --------
    >>> from ethermeter.theory import tobagi_hunt_1980_one_persistent
    >>> found = capacity(tobagi_hunt_1980_one_persistent, propagation=0.01, collision_slots=2)
    >>> f"{found.capacity:.4f} at {found.load:.1f}"
    '0.9478 at 50.5'

    """
    shape, evaluate = _prepared(function, parameters)
    grid, curve = _curve(evaluate, shape)
    at = curve.argmax(axis=0)
    low, high = grid[np.maximum(at - 1, 0)], grid[np.minimum(at + 1, grid.size - 1)]
    for _ in range(_ROUNDS):
        finer = low + (high - low) * np.linspace(0.0, 1.0, _FINER).reshape(-1, *(1 for _ in shape))
        best = evaluate(finer).argmax(axis=0)
        low, high = (
            np.take_along_axis(finer, np.clip(best + step, 0, _FINER - 1)[None], axis=0)[0]
            for step in (-1, 1)
        )
    load = np.where(at == grid.size - 1, grid[-1], (low + high) / 2)
    found = function(load, **parameters)
    return Capacity(
        capacity=plain(found.throughput),
        load=plain(load),
        outside_range=plain(np.asarray(found.outside_range) | (at == grid.size - 1)),
    )


def load_of(throughput: Numbers, function: Model, **parameters: Any) -> Array:
    """Find the smallest load G that carries a throughput from 0 to 1; NaN beyond the capacity.

    `function` is a model of throughput against load, `parameters` its other arguments, which
    broadcast.

    Raises
    ------
    ArgumentError
        If the throughput is out of range, the function has no load to vary, or it refuses a
        parameter.

    """
    wanted = SHARE.read("load_of", "throughput", throughput)
    shape, evaluate = _prepared(function, parameters)
    (wanted, _) = same_shape("load_of", ["throughput", "parameters"], [wanted, np.empty(shape)])
    shape = wanted.shape
    most = capacity(function, **parameters)
    peak = np.broadcast_to(most.load, shape)
    grid, curve = _curve(evaluate, np.broadcast_shapes(shape))
    reaches = (curve >= wanted) & (grid.reshape(-1, *(1 for _ in shape)) < peak)
    first = np.where(reaches.any(axis=0), reaches.argmax(axis=0), -1)
    below_peak = np.searchsorted(grid, peak) - 1
    high = np.where(first >= 0, grid[first], peak)
    low = np.where(
        first >= 0,
        np.where(first > 0, grid[np.maximum(first - 1, 0)], 0.0),
        grid[np.maximum(below_peak, 0)],
    )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = evaluate(middle) >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    found = np.where(wanted == 0, 0.0, np.where(wanted <= most.capacity, high, np.nan))
    return np.asarray(plain(found))[()]


def _prepared(
    function: Model, parameters: dict[str, object]
) -> tuple[tuple[int, ...], Callable[[Array], Array]]:
    """Return the shape of the parameters, and the throughput as a function of the load."""
    try:
        # The model itself reports a parameter that is wrong.
        found = function(1.0, **parameters)
    except TypeError as error:
        raise ArgumentError(
            "capacity", "parameters", ", ".join(parameters) or "none", str(error)
        ) from None
    if not isinstance(found, Throughput):
        name = getattr(function, "__name__", str(function))
        raise ArgumentError("capacity", "function", name, "a model of throughput against load")

    def evaluate(load: Array) -> Array:
        return np.asarray(function(load, **parameters).throughput)

    return np.shape(found.throughput), evaluate


def _curve(evaluate: Callable[[Array], Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return loads, shape (k,), and throughputs, shape (k, *shape)."""
    decades = np.log10(LOAD.high / _LEAST)
    grid = np.geomspace(_LEAST, LOAD.high, int(decades * _POINTS_A_DECADE) + 1)
    grid[-1] = LOAD.high
    return grid, evaluate(
        np.broadcast_to(grid.reshape(-1, *(1 for _ in shape)), (grid.size, *shape))
    )
