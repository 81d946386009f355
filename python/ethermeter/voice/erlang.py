"""Erlang's B formula: blocking probability, offered traffic and circuits."""

from typing import Any

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Flags, Numbers, plain, together
from ethermeter.voice.arguments import BLOCKING, CIRCUITS, ERLANGS, SOME_CIRCUITS

_STEPS = 200
_CLOSE = 1e-14


def erlang_b(offered_erlangs: Numbers, *, circuits: Numbers) -> Any:
    """Probability that a call finds no free circuit, for 0 to 1e9 erlangs and 0 to 10 000 circuits.

    Offered are calls a second times their mean duration. Calls are Poisson; a blocked call does not
    return. The distribution of durations does not matter.

    Source
    ------
    Erlang 1917, in its recursion B(n) = a B(n-1) / (n + a B(n-1)).

    Examples
    --------
    >>> f"{erlang_b(4.46, circuits=10):.4f}"
    '0.0100'
    """
    a, n = together(
        "erlang-b", offered_erlangs=(offered_erlangs, ERLANGS), circuits=(circuits, CIRCUITS)
    )
    return plain(np.exp(-_negative_log(a, n)))


def erlang_b_offered(blocking: Numbers, *, circuits: Numbers) -> Any:
    """Largest offered load [erlang] at which the blocking probability is at most a given one.

    The probability is from 1e-12 to 0.999, for 1 to 10 000 circuits.

    Source
    ------
    Newton's method on the logarithms: the slope of log B over log a is the number of free circuits,
    n - a (1 - B).

    Examples
    --------
    >>> f"{erlang_b_offered(0.01, circuits=10):.2f}"
    '4.46'
    """
    b, n = together(
        "erlang-b-offered", blocking=(blocking, BLOCKING), circuits=(circuits, SOME_CIRCUITS)
    )
    wanted = np.log(b)
    # B(n) is at most B(1), which is below a: so B(a = b) is too small, and Newton's method on a
    # concave function stays below the root.
    log_a = np.log(b)
    for _ in range(_STEPS):
        found = -_negative_log(np.exp(log_a), n)
        free = n - np.exp(log_a) * -np.expm1(found)
        step = np.maximum(wanted - found, 0.0) / np.maximum(free, 1e-300)
        log_a = log_a + step
        if np.all(step <= _CLOSE * np.maximum(np.abs(log_a), 1.0)):
            break
    return plain(np.exp(log_a))


def erlang_b_circuits(offered_erlangs: Numbers, *, blocking: Numbers) -> Any:
    """Smallest number of circuits with at most a given blocking probability, from 1e-12 to 0.999.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, or 10 000 circuits are too few.

    Examples
    --------
    >>> float(erlang_b_circuits(4.46, blocking=0.01))
    10.0
    """
    function = "erlang-b-circuits"
    a, b = together(
        function, offered_erlangs=(offered_erlangs, ERLANGS), blocking=(blocking, BLOCKING)
    )
    found = np.full(a.shape, np.nan)
    state, wanted = np.zeros(a.shape), -np.log(b)
    for n in range(int(CIRCUITS.high) + 1):
        state = _next(state, a, n) if n else state
        enough: Flags = np.isnan(found) & (state >= wanted)
        found = np.where(enough, float(n), found)
        if not np.isnan(found).any():
            return plain(found)
    first = a[np.isnan(found)].flat[0]
    raise ArgumentError(
        function,
        "offered_erlangs",
        f"{first:.12g}",
        f"what at most {CIRCUITS.high:g} circuits can carry at this blocking",
    )


def _next(state: Array, offered: Array, circuits: int) -> Array:
    """Return -log B of `circuits` from that of one fewer: 1 / B(n) = 1 + n / (a B(n-1)).

    Infinite where nothing is offered.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(0.0, state + np.log(circuits) - np.log(offered)))


def _negative_log(offered: Array, circuits: Array) -> Array:
    """Return -log B, of their shape; logarithms, so that nothing underflows."""
    state = np.zeros(offered.shape)
    found = state
    for n in range(1, int(circuits.max(initial=0)) + 1):
        state = _next(state, offered, n)
        found = np.where(circuits == n, state, found)
    return found
