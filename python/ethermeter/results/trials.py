"""Trials and points: what the analysis reads of a trial, and which trials belong together."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ethermeter.metrics.parameters import window_ps
from ethermeter.scenario import Scenario
from ethermeter.theory.assumptions import Assumptions

PS_PER_S = 1e12
Integers = NDArray[np.int64]
T = TypeVar("T")


class Trial(Protocol):
    """What the analysis reads of a trial."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def series(self) -> str: ...  # noqa: D102
    @property
    def engine(self) -> str: ...  # noqa: D102
    @property
    def replication(self) -> int: ...  # noqa: D102
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


def window_s(scenario: Scenario) -> float:
    """Length of the measured window, in s."""
    return window_ps(scenario) / PS_PER_S
