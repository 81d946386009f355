"""Answers of searches for the largest number of calls of a quality."""

import msgspec
from msgspec import UNSET, UnsetType

from ethermeter.analysis.estimated import Interval


class Rated(msgspec.Struct, frozen=True):
    """A number of calls and its quality, as the mean over the replications.

    `calls`: how many. `margin`: by how much the quality is better than wanted; negative where
    worse. `mos`, `rating`, `loss`, `delay_s`, `buffer_s`, `network_p50_s`, `network_p99_s`,
    `utilisation`: as of `Quality`. `cautions`: words of the closed list that one of the trials has.
    """

    calls: int
    margin: Interval
    mos: Interval
    rating: Interval
    loss: Interval
    delay_s: Interval
    buffer_s: Interval
    network_p50_s: Interval
    network_p99_s: Interval
    utilisation: Interval
    cautions: tuple[str, ...]


class CallsAnswer(
    msgspec.Struct, frozen=True, rename={"is_limited_by_stations": "limited_by_stations"}
):
    """The largest number of calls that is good enough: `answer.json` of a run.

    `subject`: the segment, or the hosts and the links between them, and the other traffic. `calls`:
    the largest number that is good enough on the mean and all of whose fewer that were tried are
    too; 0 if not even one is. `sure`, `possible`: the largest number whose interval is on the good
    side, and the one before the smallest whose interval is on the other. Numbers beside which a
    queue grows in most trials are not on the good side, and perhaps not on the other one, as longer
    trials may be worse. `is_limited_by_stations`:
    whether the answer is the most that was tried: the room of the bits, or of the number of
    stations or flows. `codec`, `packet_s`, `talkers`, `activity`, `replications`, `seed`: as of
    `Question`. `load_of_a_call`, `segment`: of a segment: share of its line rate that a call needs
    on the mean, and its table. `network`, `pairs`: of a network: its file, and caller and called
    host of each pair. `wanted`: what is good enough: `mos`, or `loss` and `delay_s`. `tried`: every
    number that was tried, by size.
    """

    subject: str
    calls: int
    sure: int
    possible: int
    is_limited_by_stations: bool
    codec: str
    packet_s: float
    talkers: int
    activity: float
    wanted: dict[str, float]
    replications: int
    seed: int
    tried: tuple[Rated, ...]
    load_of_a_call: float | UnsetType = UNSET
    segment: dict[str, object] | UnsetType = UNSET
    network: str | UnsetType = UNSET
    pairs: tuple[tuple[str, str], ...] | UnsetType = UNSET
