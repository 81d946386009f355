"""Answers of searches for the largest or smallest value with which conditions hold."""

from typing import Literal

import msgspec

from ethermeter.analysis.estimated import Interval
from ethermeter.analysis.verdicts import Decision

Outcome = Literal["answered", "all", "none", "undecided"]


class Bound(msgspec.Struct, frozen=True):
    """What theory says of the answer.

    `what`: in words. `value`: None without a bound. `unit`: frames or octets. `why`: why there is
    no bound; empty otherwise.
    """

    what: str
    value: int | None
    unit: str
    why: str = ""


class Kept(msgspec.Struct, frozen=True):
    """A condition at a value, of the flow or group that keeps it least.

    `condition`: as text. `metric`: its name. `flow`: name of the flow or group; empty for all
    stations. `estimate`: mean of the metric over the trials with its 95% interval, in the unit of
    the metric; None where it is undefined. `limit`: in the same unit.
    """

    condition: str
    metric: str
    flow: str
    estimate: Interval
    limit: float


class Point(msgspec.Struct, frozen=True):
    """A value that was tried.

    `value`: as text. `number`: without its unit. `verdict`: of all conditions together.
    `replications`: trials with a result. `failed`: trials without one. `conditions`: each with its
    estimate. `cautions`: words of the closed list. `reason`: why it fails whatever the trials saw;
    empty otherwise. `transmit_s`: how long the trials transmit.
    """

    value: str
    number: float
    verdict: Decision
    replications: int
    failed: int
    conditions: tuple[Kept, ...]
    cautions: tuple[str, ...]
    reason: str
    transmit_s: float


class SearchAnswer(msgspec.Struct, frozen=True):
    """What a search found: `answer.json` of a run.

    `sentence`: the answer in words. `outcome`: "answered" if neighbours are decided to hold and to
    fail, "all" if even the hardest value holds, "none" if not even the easiest does, "undecided"
    otherwise. `estimate`: the last value that holds by the means. `at_least`, `at_most`: values
    between which the answer lies with the confidence; None where no value of the range is known to
    hold, or may. `key`, `direction`, `step`, `engine`, `confidence`, `seed`: as of the question.
    `unit`: of the values. `most_replications`: of a value. `cautions`: sentences about what was
    taken for granted. `bound`: what theory says. `points`: every value that was tried, by size.
    """

    sentence: str
    outcome: Outcome
    key: str
    direction: Literal["largest", "smallest"]
    estimate: str | None
    at_least: str | None
    at_most: str | None
    step: str
    unit: str
    conditions: tuple[str, ...]
    engine: str
    confidence: float
    most_replications: int
    seed: int
    cautions: tuple[str, ...]
    bound: Bound | None
    points: tuple[Point, ...]
