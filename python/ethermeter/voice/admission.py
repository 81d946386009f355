"""Admission control: the quality of calls that arrive and end, under a rule that admits or blocks.

Packets live for milliseconds and calls for minutes. So the quality that calls get follows the
number of active calls without delay, and that number is a birth-death chain: with n calls active,
one more is admitted at the rate offered / holding x a_n, and one ends at the rate n / holding. A
rule is its a_n, the probability that a call which comes with n active is admitted. The chain knows
of no transients: not of what buffers still hold when a call has ended, nor of two hosts that listen
at the same time and so do not hear each other's call.

Gonsalves 1982, section 4.4, names both kinds of rule, a server that counts and hosts that listen,
and gives numbers of neither.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, ndtr

from ethermeter.arguments import ArgumentError, Array, Numbers, Range, plain, same_shape, together
from ethermeter.voice.arguments import CIRCUITS, ERLANGS, LISTEN_S, SHARE, SOME_CIRCUITS, TALK_S


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many calls are active.

    Parameters
    ----------
    distribution
        Share of time with 0, 1, … circuits in use, along the last axis.
    blocking
        Share of calls that are refused.
    mean_calls
        Mean number of active calls.

    """

    distribution: Array
    blocking: Array
    mean_calls: Array


@dataclass(frozen=True, slots=True)
class CallTime:
    """What calls get, each second of each call counted alike.

    Parameters
    ----------
    beyond
        Share of call time in which more is lost than the limit; NaN if there never is a call.
    mean_loss
        Mean loss over call time; NaN if there never is a call.
    crowded
        Share of time, not of call time, with more calls active than wanted.

    """

    beyond: Array
    mean_loss: Array
    crowded: Array


def occupancy(offered_erlangs: Numbers, *, admit: Numbers) -> Occupancy:
    """Say how many calls are active under a rule, and how many are refused.

    Parameters
    ----------
    offered_erlangs
        Calls offered a second times their mean duration; from 0 to 1e9.
    admit
        Probability to admit a call that arrives with 0, 1, … circuits - 1 active calls, along the
        last axis; from 0 to 1, for 1 to 10 000 circuits. With that many circuits taken none is
        admitted.

    Returns
    -------
    :
        Of the shape that the offered erlangs and the other axes of `admit` broadcast to; the
        distribution has circuits + 1 along one more.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, `admit` has no or too many circuits, or the shapes do not
        broadcast.

    Assumptions
    -----------
    Calls come as Poisson, so that one that comes sees the time average. One that is refused is gone
    and does not come again. Each decision is drawn anew, from the number of active calls alone. The
    distribution of durations does not matter then.

    Source
    ------
    The birth-death chain in balance, p(n+1) (n+1) = p(n) offered a(n). Erlang's B formula where all
    are admitted.

    Examples
    --------
    >>> found = occupancy(1.0, admit=[1.0, 0.5])
    >>> found.distribution.tolist(), float(found.blocking), float(found.mean_calls)
    ([0.4444444444444444, 0.4444444444444444, 0.1111111111111111], 0.3333333333333333, 0.6666666666666666)

    """  # noqa: E501
    function = "occupancy"
    offered = ERLANGS.read(function, "offered_erlangs", offered_erlangs)
    each = SHARE.read(function, "admit", admit)
    if each.ndim == 0 or not 1 <= each.shape[-1] <= CIRCUITS.high:
        raise ArgumentError(
            function,
            "admit",
            f"an array of shape {each.shape}",
            f"from 1 to {CIRCUITS.high:g} circuits along the last axis",
        )
    offered, each = same_shape(function, ("offered_erlangs", "admit"), (offered[..., None], each))
    none = np.zeros((*each.shape[:-1], 1))
    calls = np.arange(each.shape[-1] + 1.0)
    with np.errstate(divide="ignore"):
        steps = np.log(offered) + np.log(each) - np.log(calls[1:])
    # Where a rule never admits, all beyond is -inf and stays so; nothing is ever +inf.
    logs = np.concatenate((none, np.cumsum(steps, axis=-1)), axis=-1)
    mass = np.exp(logs - logs.max(axis=-1, keepdims=True))
    distribution = mass / mass.sum(axis=-1, keepdims=True)
    refused = np.concatenate((1 - each, none + 1), axis=-1)
    return Occupancy(
        distribution=distribution,
        # A mean of shares; rounding may leave it above 1.
        blocking=plain(np.minimum((distribution * refused).sum(axis=-1), 1.0)),
        mean_calls=plain(distribution @ calls),
    )


def unlimited(circuits: int) -> Array:
    """Return the rule that admits every call.

    Parameters
    ----------
    circuits
        Number of circuits; whole, from 1 to 10 000. The same for every
        rule.

    Returns
    -------
    :
        Probability to admit a call that arrives with 0, 1, … circuits - 1 active calls, shape
        (circuits,). The same for every rule.

    Raises
    ------
    ArgumentError
        If an argument is out of its range.

    """
    return np.ones(_numbers_of_calls("unlimited", circuits).shape)


def central(most: int, *, circuits: int) -> Array:
    """Return the rule of a server: it admits a call while fewer than `most` are active.

    Parameters
    ----------
    most
        Calls that may be active; whole, from 0 to 10 000.
    circuits
        As for `unlimited`.

    Returns
    -------
    :
        As for `unlimited`.

    Raises
    ------
    ArgumentError
        If an argument is out of its range.

    Source
    ------
    Gonsalves 1982, section 4.4.

    Examples
    --------
    >>> central(2, circuits=4).tolist()
    [1.0, 1.0, 0.0, 0.0]

    """
    calls = _numbers_of_calls("central", circuits)
    return np.where(calls < _one("central", "most", most, CIRCUITS), 1.0, 0.0)


def by_count(most: int, *, heard: float, circuits: int) -> Array:
    """Return the rule of a host that begins a call if it hears fewer than `most` calls.

    Parameters
    ----------
    most
        Calls that may be active; whole, from 0 to 10 000.
    heard
        Probability that an active call is heard while the host listens (`heard`); from 0 to 1.
    circuits
        As for `unlimited`.

    Returns
    -------
    :
        As for `unlimited`.

    Raises
    ------
    ArgumentError
        If an argument is out of its range.

    Assumptions
    -----------
    Calls are heard independently of each other, and each is distinguished from the others.

    Source
    ------
    Gonsalves 1982, section 4.4; the binomial distribution.

    Examples
    --------
    >>> by_count(2, heard=0.5, circuits=4).tolist()
    [1.0, 1.0, 0.75, 0.5]

    """
    calls = _numbers_of_calls("by-count", circuits)
    limit = _one("by-count", "most", most, CIRCUITS)
    share = _one("by-count", "heard", heard, SHARE)
    if limit == 0:
        return np.zeros(calls.shape)
    return np.where(
        calls < limit, 1.0, bdtr(limit - 1.0, np.maximum(calls, limit).astype(np.int64), share)
    )


def by_load(mean: Numbers, *, deviation: Numbers, threshold: Numbers) -> Any:
    """Return the rule of a host that begins a call if the measured load is below a threshold.

    Parameters
    ----------
    mean
        Mean of the measured load with 0, 1, … circuits - 1 calls active, along the last axis;
        from 0 to 1.
    deviation
        Its standard deviation over windows as long as the host listens; from 0 to 1.
    threshold
        From 0 to 1.

    Returns
    -------
    :
        Probability that a call is admitted, of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, or the shapes do not broadcast.

    Assumptions
    -----------
    The measured load is normal.

    Source
    ------
    Gonsalves 1982, section 4.4, has hosts count; section 4.1 speaks of changes in load.

    Examples
    --------
    >>> by_load([0.5, 0.6, 0.7], deviation=[0.0, 0.1, 0.0], threshold=0.6).tolist()
    [1.0, 0.5, 0.0]

    """
    given = {
        "mean": (mean, SHARE),
        "deviation": (deviation, SHARE),
        "threshold": (threshold, SHARE),
    }
    load, spread, most = together("by-load", **given)
    below = most - load
    # Without spread, what is measured is the mean, and a load at the threshold is not below it.
    surely = np.where(below > 0, 1.0, 0.0)
    return plain(np.where(spread > 0, ndtr(below / np.where(spread > 0, spread, 1.0)), surely))


def heard(listen_s: Numbers, *, talk_s: Numbers, silence_s: Numbers) -> Any:
    """Probability that a listening host hears at least one of a call's two talkers.

    Parameters
    ----------
    listen_s
        Time for which the host listens [s]; from 0 to 1e6.
    talk_s, silence_s
        Mean duration of a spurt and of a silence [s]; from 1e-6 to 1e6.

    Returns
    -------
    :
        From 0 to 1, of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, or the shapes do not broadcast.

    Assumptions
    -----------
    Both talkers are on the segment, independent, their silences exponential. Who is in a spurt at
    any time is heard, so packets come at intervals that are short beside the time of listening. The
    talkers of a call are not independent: mostly one talks while the other listens, so that fewer
    calls are missed than by this formula.

    Source
    ------
    1 - ((1 - activity) exp(-listen / silence))^2: a talker is missed if silent at the beginning
    and stays so.

    Examples
    --------
    >>> f"{heard(0.0, talk_s=1.2, silence_s=1.8):.2f} {heard(0.5, talk_s=1.2, silence_s=1.8):.4f}"
    '0.64 0.7934'

    """
    given = {
        "listen_s": (listen_s, LISTEN_S),
        "talk_s": (talk_s, TALK_S),
        "silence_s": (silence_s, TALK_S),
    }
    listen, talk, silence = together("heard", **given)
    missed = silence / (talk + silence) * np.exp(-listen / silence)
    return plain(1 - missed**2)


def call_time(distribution: Numbers, *, loss: Numbers, limit: Numbers, most: Numbers) -> CallTime:
    """Say what calls get, from how many are active and what is lost then.

    Parameters
    ----------
    distribution
        Share of time with 0, 1, … circuits in use, along the last axis; each from 0 to 1.
    loss
        Share of lost samples with that number of calls; from 0 to 1, along the same axis.
    limit
        Loss that is still good; from 0 to 1.
    most
        Calls that may be active; whole, from 0 to 10 000.

    Returns
    -------
    :
        Of the broadcast shape without its last axis; `limit` and `most` broadcast without it.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, or the shapes do not broadcast.

    Assumptions
    -----------
    All calls that are active at once lose alike, which the fairness of an Ethernet brings about.

    Examples
    --------
    >>> found = call_time([0.5, 0.25, 0.25], loss=[0.0, 0.0, 0.3], limit=0.01, most=1)
    >>> f"{found.beyond:.4f} {found.mean_loss:.2f} {found.crowded}"
    '0.6667 0.20 0.25'

    """
    function = "call-time"
    mass = SHARE.read(function, "distribution", distribution)
    lost = SHARE.read(function, "loss", loss)
    if mass.ndim == 0:
        raise ArgumentError(function, "distribution", "one number", "shares of time along an axis")
    wanted, room = (
        SHARE.read(function, "limit", limit)[..., None],
        CIRCUITS.read(function, "most", most)[..., None],
    )
    mass, lost, wanted, room = same_shape(
        function, ("distribution", "loss", "limit", "most"), (mass, lost, wanted, room)
    )
    calls = np.arange(float(mass.shape[-1]))
    weight = mass * calls
    with np.errstate(invalid="ignore"):
        weight = weight / weight.sum(axis=-1, keepdims=True)
    return CallTime(
        beyond=plain(np.where(lost > wanted, weight, 0.0 * weight).sum(axis=-1)),
        mean_loss=plain((weight * lost).sum(axis=-1)),
        crowded=plain(np.where(calls > room, mass, 0.0).sum(axis=-1)),
    )


def _numbers_of_calls(function: str, circuits: int) -> Array:
    return np.arange(float(_one(function, "circuits", circuits, SOME_CIRCUITS)))


def _one(function: str, name: str, value: Numbers, allowed: Range) -> float:
    array = allowed.read(function, name, value)
    if array.ndim:
        raise ArgumentError(function, name, f"an array of shape {array.shape}", str(allowed))
    return float(array)
