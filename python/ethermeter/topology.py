"""Topology: how long a signal takes from place to place on a segment.

A place is where stations may be: a point of a cable, a cluster, a branch of a star. The matrices
hold one-way delays in picoseconds; their diagonal is the delay between two different stations of
one place.
"""

from collections.abc import Sequence
from fractions import Fraction

from ethermeter.units import LIGHT_M_PER_S, PS_PER_S

Matrix = list[list[int]]

_SMALL = 24
"""Places up to which plain loops beat the import of numpy."""


class TopologyError(ValueError):
    """Delays that contradict themselves: what was allowed, and the `index` of the wrong entry."""

    def __init__(self, allowed: str, *, index: tuple[int, ...]) -> None:
        self.index = index
        super().__init__(allowed)


def propagation_ps(length_m: Fraction, *, velocity: Fraction) -> int:
    """Return the time a signal takes along a cable, rounded to a picosecond.

    The velocity is that of propagation over the speed of light.
    """
    return round(length_m * PS_PER_S / (velocity * LIGHT_M_PER_S))


def spaced(end_ps: int, *, points: int) -> list[int]:
    """Return coordinates in ps, equally spaced from 0 to `end_ps`; a single one is at 0."""
    return [round(Fraction(end_ps * index, max(points - 1, 1))) for index in range(points)]


def dealt(count: int, *, places: int, first: int = 0) -> list[int]:
    """Return a place for each of `count` stations, dealt in rotation from place `first` on."""
    return [(first + index) % places for index in range(count)]


def cable(coordinates_ps: Sequence[int], *, tap_ps: int) -> Matrix:
    """Return the delays between points of one cable; `tap_ps` counts at both ends.

    Coordinates are rounded to picoseconds before they are subtracted, never after: so the delays
    add up exactly, and the triangle inequality holds with equality along the cable.
    """
    return [[abs(there - here) + 2 * tap_ps for there in coordinates_ps] for here in coordinates_ps]


def star(branches_ps: Sequence[int], *, repeater_ps: int, tap_ps: int) -> Matrix:
    """Return the delays between the branches of a repeater, every station on a branch of its own.

    Branches and repeater have a time each; `tap_ps` is that between a station and its branch.
    """
    return [
        [here + there + repeater_ps + 2 * tap_ps for there in branches_ps] for here in branches_ps
    ]


def tapped(delays_ps: Sequence[Sequence[int]], *, tap_ps: int) -> Matrix:
    """Return given delays with the taps at both ends added."""
    return [[delay + 2 * tap_ps for delay in row] for row in delays_ps]


def settled(delays_ps: Matrix, *, stations: Sequence[int]) -> Matrix:
    """Return the delays with a diagonal of 0 wherever there are fewer than two stations."""
    return [
        [0 if p == q and stations[p] < 2 else delay for q, delay in enumerate(row)]
        for p, row in enumerate(delays_ps)
    ]


def check(delays_ps: Matrix) -> None:
    """Check that delays are square, symmetric and obey the triangle inequality.

    A signal takes the shortest way, so a detour that is faster than the direct way contradicts it.
    The diagonal is held to it too: two stations of one place are at most as far apart as by way of
    any other.

    Raises
    ------
    TopologyError
        At the first entry that does not fit.

    """
    size = len(delays_ps)
    for row, line in enumerate(delays_ps):
        if len(line) != size:
            raise TopologyError(
                f"expected a square matrix of {size} rows; this one has {len(line)} entries",
                index=(row,),
            )
    for row in range(size):
        for column in range(row):
            if delays_ps[row][column] != delays_ps[column][row]:
                raise TopologyError(
                    f"expected the same delay as in row {column}, column {row}: a cable is equally"
                    " long both ways",
                    index=(row, column),
                )
    if (detour := _detour(delays_ps)) is not None:
        row, column, way = detour
        shorter_ps = delays_ps[row][way] + delays_ps[way][column]
        raise TopologyError(
            f"expected at most {shorter_ps} ps, the way by place {way} (triangle inequality)",
            index=(row, column),
        )


def _detour(delays_ps: Matrix) -> tuple[int, int, int] | None:
    """Return row, column and the third place by which the way is shorter."""
    size = len(delays_ps)
    if size <= _SMALL:
        for way in range(size):
            for row in range(size):
                for column in range(size):
                    if (
                        way not in (row, column)
                        and delays_ps[row][column] > delays_ps[row][way] + delays_ps[way][column]
                    ):
                        return row, column, way
        return None
    import numpy as np

    delays = np.array(delays_ps, dtype=np.int64)
    for way in range(size):
        shorter = delays > delays[:, way, None] + delays[None, way, :]
        # A way that begins or ends in the third place is no detour; the diagonal there is another
        # pair of stations.
        shorter[way, :] = shorter[:, way] = False
        if shorter.any():
            row, column = (int(index) for index in np.argwhere(shorter)[0])
            return row, column, way
    return None
