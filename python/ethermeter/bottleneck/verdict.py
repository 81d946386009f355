"""The verdict: which stage's change moves the throughput, or that it is undecided.

Pure: samples in, words out.

The **response** of a throughput T to a change of a stage by the factor f is ln(T'/T) / ln f: 1 if
the throughput follows the stage, 0 if it does not care. Of stages that take their times one after
the other, each has as its response its share of the time, and they sum to 1; of stages that work at
the same time, the slowest has all of it. A throughput does not grow faster than a stage is
relieved, so halving a stage shows at least the response that doubling it would: tightening can
acquit a stage, and seldom convict it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

ERROR = 0.05
"""Probability with which chance alone makes any of the intervals of a verdict miss."""
LEAST = 0.1
"""A stage whose response is not surely above this does not move the throughput: doubling it would
gain 7%.
"""
NEARLY_ALL = 0.8
"""A response to tightening that is surely above this follows the stage."""
LOOKS = 3
"""How often a verdict is asked for at most, each time after so many rounds more: the error is
divided among them.
"""
SLOWEST_BPS = 8.0
"""What counts for a transfer in which nothing came: an octet a second."""

RULE = (
    "A stage moves the throughput if its response, the change of the logarithm of throughput over"
    f" that of the stage, is above {LEAST:g}. The bottleneck is the relieved stage that moves it"
    " and whose response is larger than that of every other relieved stage. If no relieved stage"
    f" moves it, the bottleneck is the one tightened stage whose response is above {NEARLY_ALL:g},"
    " if there is exactly one. Otherwise it is undecided. All comparisons are of interval ends;"
    " the intervals are Student's t over rounds, each against the unchanged transfer of the same"
    f" round. What is undecided is tried on, with as many rounds again, and judged at most {LOOKS}"
    f" times; all intervals of all these together err with a probability of at most {ERROR:g}"
    " (Bonferroni)."
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Response:
    """How the throughput answers to one change.

    `stage`: the stage that was changed. `is_relief`: whether it can do more than before.
    `is_evidence_only`: whether it is no stage, and so cannot be the bottleneck. `interval`: the
    response, dimensionless. `gain`: throughput with the change over that without, minus 1: the
    geometric mean over rounds.
    """

    stage: str
    is_relief: bool
    is_evidence_only: bool
    interval: Interval
    gain: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found.

    `bottleneck`: the stage, or None if it is undecided. `why`: the reason, in a sentence.
    `responses`: of every change, in the order given.
    """

    bottleneck: str | None
    why: str
    responses: tuple[Response, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """The samples of one change.

    Throughput is in bit/s, one value for each round, shape `(rounds,)`; the factor of the stage is
    not 1.
    """

    stage: str
    factor: float
    throughput_bps: Floats
    is_evidence_only: bool = False


def judge(unchanged_bps: Floats, tried: Sequence[Tried], *, looks: int = 1) -> Verdict:
    """Say which stage is the bottleneck.

    `unchanged_bps`: throughput without a change, in bit/s, one for each round; at least 3. `tried`:
    what was changed; samples in the order of the same rounds. `looks`: how often a verdict is asked
    for at most while rounds are added; at least 1.
    Raises ValueError if there are too few rounds, or numbers that do not fit together.

    Source
    ------
    Student 1908; Dunn, Journal of the American Statistical Association 56, 1961 (several intervals
    together).
    """
    rounds = unchanged_bps.size
    if rounds < 3:
        raise ValueError(f"rounds must be at least 3, got {rounds}")
    base = np.log(np.maximum(unchanged_bps, SLOWEST_BPS))
    scaled: dict[str, Floats] = {}
    for each in tried:
        if each.throughput_bps.shape != unchanged_bps.shape:
            raise ValueError(
                f"{each.stage} must have {rounds} samples, got {each.throughput_bps.size}"
            )
        scaled[each.stage] = (
            np.log(np.maximum(each.throughput_bps, SLOWEST_BPS)) - base
        ) / math.log(each.factor)
    stages = [each for each in tried if not each.is_evidence_only]
    # One interval for each change, and one for each pair that may have to be compared.
    wide = _quantile(rounds, intervals=looks * (len(tried) + max(0, len(stages) - 1)))
    responses = tuple(
        Response(
            each.stage,
            each.factor > 1,
            each.is_evidence_only,
            _interval(scaled[each.stage], wide),
            math.expm1(float(scaled[each.stage].mean()) * math.log(each.factor)),
        )
        for each in tried
    )
    relieved = [each for each in responses if each.is_relief and not each.is_evidence_only]
    moving = [each for each in relieved if each.interval.low > LEAST]
    if moving:
        return _among_relieved(moving, relieved, scaled, wide, responses)
    following = [
        each for each in responses if not each.is_relief and each.interval.low > NEARLY_ALL
    ]
    unsure = [each for each in relieved if each.interval.high > LEAST]
    if len(following) == 1 and not unsure:
        return Verdict(
            following[0].stage,
            "no relief moves the throughput, and it follows this stage when it is tightened",
            responses,
        )
    if unsure:
        return Verdict(
            None, f"too uncertain: {_list(unsure)} may move the throughput, or not", responses
        )
    if following:
        return Verdict(
            None,
            f"no relief moves the throughput, and it follows each of {_list(following)} when they"
            " are tightened",
            responses,
        )
    return Verdict(None, "nothing that was changed moves the throughput", responses)


def _among_relieved(
    moving: list[Response],
    relieved: list[Response],
    scaled: dict[str, Floats],
    wide: float,
    responses: tuple[Response, ...],
) -> Verdict:
    best = max(moving, key=lambda each: each.interval.value)
    rivals = [
        each
        for each in relieved
        if each is not best and _interval(scaled[best.stage] - scaled[each.stage], wide).low <= 0
    ]
    if rivals:
        return Verdict(None, f"{_list([best, *rivals])} cannot be distinguished", responses)
    others = [each for each in moving if each is not best]
    too = f"; {_list(others)} {'takes' if len(others) == 1 else 'take'} part" if others else ""
    return Verdict(
        best.stage,
        f"its relief moves the throughput, and more than that of any other stage{too}",
        responses,
    )


def _quantile(rounds: int, *, intervals: int) -> float:
    return float(stdtrit(rounds - 1, 1 - ERROR / (2 * max(1, intervals)))) / math.sqrt(rounds)


def _interval(samples: Floats, wide: float) -> Interval:
    mean = float(samples.mean())
    half = wide * float(samples.std(ddof=1))
    return Interval(mean, mean - half, mean + half)


def _list(responses: Sequence[Response]) -> str:
    names = [each.stage for each in responses]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
