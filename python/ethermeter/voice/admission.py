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

from ethermeter.arguments import ArgumentError, Array, Numbers, Range, plain, same_shape, together
from ethermeter.voice.arguments import CIRCUITS, ERLANGS, LISTEN_S, SHARE, SOME_CIRCUITS, TALK_S


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many calls are active."""

    distribution: Array  # Share of time with 0, 1, … circuits in use, along the last axis
    blocking: Array  # Share of calls that are refused
    mean_calls: Array  # Mean number of active calls


@dataclass(frozen=True, slots=True)
class CallTime:
    """What calls get, each second of each call counted alike."""

    # Share of call time in which more is lost than the limit; NaN if there never is a call
    beyond: Array
    mean_loss: Array  # Mean loss over call time; NaN if there never is a call
    crowded: Array  # Share of time, not of call time, with more calls active than wanted


def occupancy(offered_erlangs: Numbers, *, admit: Numbers) -> Occupancy:
    """Return how many calls are active under a rule, and the share that is refused.

    `offered_erlangs`, calls offered a second times their mean duration, are from 0 to 1e9. `admit`
    has the probability to admit a call that arrives with 0, 1, … circuits - 1 active calls, along
    the last axis, for 1 to 10 000 circuits; with that many circuits taken none is admitted. The
    distribution has circuits + 1 along one more axis than the rest.

    Calls are Poisson, so that an arriving call sees the time average. A refused call does not
    return. Each decision is drawn anew, from the number of active calls alone; then the
    distribution of durations does not matter.

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

    As for every rule: `circuits` are from 1 to 10 000, and the rule is the probability to admit a
    call that arrives with 0, 1, … circuits - 1 active calls, shape (circuits,).
    """
    return np.ones(_numbers_of_calls("unlimited", circuits).shape)


def central(most: int, *, circuits: int) -> Array:
    """Return the rule of a server: it admits a call while fewer than `most` are active.

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

    `heard` is the probability that an active call is heard while the host listens. Calls are heard
    independently of each other, and each is distinguished from the others.

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
    # SciPy takes as long to import as all else that a command needs before it begins.
    from scipy.special import bdtr

    return np.where(
        calls < limit, 1.0, bdtr(limit - 1.0, np.maximum(calls, limit).astype(np.int64), share)
    )


def by_load(mean: Numbers, *, deviation: Numbers, threshold: Numbers) -> Any:
    """Return the rule of a host that begins a call if the measured load is below a threshold.

    `mean` is the mean measured load with 0, 1, … circuits - 1 calls active, along the last axis;
    `deviation` its standard deviation over windows as long as the host listens. All are from 0 to
    1. The measured load is normal.

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
    from scipy.special import ndtr

    load, spread, most = together("by-load", **given)
    below = most - load
    # Without spread, what is measured is the mean, and a load at the threshold is not below it.
    surely = np.where(below > 0, 1.0, 0.0)
    return plain(np.where(spread > 0, ndtr(below / np.where(spread > 0, spread, 1.0)), surely))


def heard(listen_s: Numbers, *, talk_s: Numbers, silence_s: Numbers) -> Any:
    """Probability that a listening host hears at least one of a call's two talkers.

    The host listens for 0 to 1e6 s; spurts and silences have means of 1e-6 to 1e6 s.

    Both talkers are on the segment, independent, their silences exponential. A talker in a spurt is
    heard at any time, so packets arrive at intervals that are short beside the time of listening.
    The talkers of a call are not independent: mostly one talks while the other listens, so that
    fewer calls are missed than by this formula.

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
    """Return what calls get, from how many are active and what is lost then.

    `distribution` is the share of time with 0, 1, … circuits in use, along the last axis, and
    `loss` the share of lost samples with that number of calls, along the same axis. `limit` is the
    loss that is still good, and `most` (0 to 10 000) the number of calls that may be active; both
    broadcast without the last axis. All calls that are active at once lose alike, which the
    fairness of an Ethernet brings about.

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
