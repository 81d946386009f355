"""One server with room for K frames: M/M/1/K, M/D/1/K and M/G/1/K, exactly."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, plain
from ethermeter.theory.entry import OF_QUEUES, Output, Symbol, catalogued, read

_LOAD = Range(1e-9, 100)
_ROOM = Range(1, 1000, whole=True)
_LARGE = 1e100

OfferedLoad = Annotated[
    Numbers, Symbol("rho", "arrival rate times service time, of all arrivals", _LOAD)
]
Room = Annotated[Numbers, Symbol("K", "room in frames, the one in service included", _ROOM)]


@dataclass(frozen=True, slots=True)
class Losses:
    """Loss and wait against load."""

    loss: Annotated[Array, Output("P_K", "share of arrivals that find no room")]
    wait: Annotated[
        Array,
        Output(
            "W", "mean wait of the arrivals that find room, in mean service times", "packet times"
        ),
    ]
    outside_range: Flags


_ASSUMED = {
    "arrivals": "Poisson",
    "discipline": "first come, first served",
    "buffers": "K frames, the one in service included; an arrival that finds no room is lost",
}


@catalogued(
    "loss of one server with limited room and exponential service: M/M/1/K",
    {**_ASSUMED, "service": "exponential"},
    aspects=OF_QUEUES,
    source="L. Kleinrock, Queueing Systems I, 1975, eq. 3.43",
    confidence="mathematics solid: exact",
    validity="any load",
)
def kleinrock_1975_m_m_1_k(load: OfferedLoad, *, room: Room) -> Losses:
    """Loss of M/M/1/K: (1 - rho) rho^K / (1 - rho^(K + 1)), and 1 / (K + 1) for rho = 1.

    Examples
    --------
    >>> round(float(kleinrock_1975_m_m_1_k(0.5, room=2).loss), 6)
    0.142857

    """
    offered, most = read(kleinrock_1975_m_m_1_k, load=load, room=room)
    loss, wait = _each(offered, most, _exponential)
    return Losses(plain(loss), plain(wait), plain(np.zeros(loss.shape, dtype=np.bool_)))


@catalogued(
    "loss of one server with limited room and fixed service: M/D/1/K",
    {**_ASSUMED, "service": "one fixed time"},
    aspects=OF_QUEUES,
    source="D. Gross, J. F. Shortle, J. M. Thompson, C. M. Harris, Fundamentals of Queueing Theory,"
    " 4th edition, 2008, section 5.1.8: the chain of what departures leave behind",
    confidence="mathematics solid: exact, to some 1e-15 of the arrivals",
    validity="any load",
)
def gross_2008_m_d_1_k(load: OfferedLoad, *, room: Room) -> Losses:
    """Loss and wait of M/D/1/K: P = 1 - 1 / (pi_0 + rho), where pi is what departures leave.

    Examples
    --------
    For K = 2, pi_0 is the probability of no arrival in a service: 1 - 1 / (e^-0.5 + 0.5).

    >>> round(float(gross_2008_m_d_1_k(0.5, room=2).loss), 6)
    0.096268

    """
    offered, most = read(gross_2008_m_d_1_k, load=load, room=room)
    loss, wait = _each(offered, most, m_d_1_k)
    return Losses(plain(loss), plain(wait), plain(np.zeros(loss.shape, dtype=np.bool_)))


def _each(load: Array, room: Array, solve: object) -> tuple[Array, Array]:
    """Return loss and wait of each pair, every different one once."""
    assert callable(solve)
    pairs, index = np.unique(np.stack([load.ravel(), room.ravel()]), axis=1, return_inverse=True)
    found = np.array([solve(float(rho), int(most)) for rho, most in pairs.T]).reshape(-1, 2)
    of_each = found[index.reshape(-1)].reshape(*load.shape, 2)
    return of_each[..., 0], of_each[..., 1]


def _exponential(load: float, room: int) -> tuple[float, float]:
    """Return loss and wait of M/M/1/K; probabilities relative to the largest."""
    numbers = np.arange(room + 1)
    logs = numbers * np.log(load)
    held = np.exp(logs - logs.max())
    return _of_states(held / held.sum(), load)


def m_d_1_k(load: float, room: int) -> tuple[float, float]:
    """Return the loss of M/D/1/K, and its mean wait in services, as `m_g_1_k`."""
    return m_g_1_k(np.array([load]), np.ones(1), room)


def m_g_1_k(loads: Array, shares: Array, room: int) -> tuple[float, float]:
    """Return the loss of M/G/1/K of several services, and its mean wait in mean services.

    As many departures leave k as arrivals lead beyond it: pi_(k+1) a_0 = pi_0 P(A > k)
    + sum over j of pi_j P(A > k + 1 - j), a sum without any difference. Whether a frame finds room
    does not depend on its own length, so that loss and wait are those of every length.

    Parameters
    ----------
    loads, shares
        Arrivals in a service of each length, above 0, and the share of frames with it.
    room
        Room in frames, the one in service included, from 1.

    Source
    ------
    As of `gross_2008_m_d_1_k`.

    """
    counts = np.arange(1, room + 1)
    each = [
        np.exp(np.concatenate([[0.0], np.cumsum(np.log(load / counts))]) - load) for load in loads
    ]
    arrivals = shares @ np.array(each)
    beyond = shares @ np.array([_beyond(one, load) for one, load in zip(each, loads, strict=True)])
    load = float(loads @ shares)
    left = np.zeros(room)
    left[0] = 1.0
    for state in range(room - 1):
        up = left[0] * beyond[state] + left[1 : state + 1] @ beyond[state:0:-1]
        left[state + 1] = up / arrivals[0]
        if left[state + 1] > _LARGE:
            left /= left[state + 1]
        if left[state + 1] < 1 / _LARGE:
            break  # What is beyond is nothing.
    left /= left.sum()
    served = 1 / (left[0] + load)
    # What a departure leaves is what an arrival with room finds.
    return _of_states(np.append(left * served, max(1 - served, 0.0)), load)


def _beyond(arrivals: Array, load: float) -> Array:
    """Return the probability of more than k Poisson arrivals for each k, summed from the end."""
    most = len(arrivals) - 1
    further = most + np.arange(1, int(load + 40 * np.sqrt(load) + 40) + 1)
    rest = float(arrivals[-1] * np.cumprod(load / further).sum())
    return np.append(np.cumsum(arrivals[:0:-1])[::-1] + rest, rest)


def _of_states(held: Array, load: float) -> tuple[float, float]:
    """Return loss and wait, of how many frames an arrival finds with which probability."""
    loss = float(held[-1])
    number = float(np.arange(len(held)) @ held)
    return loss, max(number / (load * (1 - loss)) - 1, 0.0)
