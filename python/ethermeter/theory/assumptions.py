"""Assumptions: what a theory needs to know and a scenario does not say, and the models' names."""

from typing import Literal, get_args

import msgspec

ROUND_TRIP, SLOT_TIME = "round trip", "slot time"
"""What a contention slot may be, besides a time."""

Model = Literal[
    "metcalfe-boggs-1976",
    "almes-lazowska-1979",
    "tobagi-hunt-1980-non-persistent",
    "tobagi-hunt-1980-one-persistent",
    "tobagi-hunt-1980-p-persistent",
    "tobagi-hunt-1980-finite",
    "lam-1980",
    "bux-1981-csma-cd",
    "bux-1981-token-ring",
    "coyle-liu-1983",
    "takagi-kleinrock-1985",
    "takagi-kleinrock-1985-finite",
    "tasaka-1986",
    "boxma-meister-1987",
    "boxma-groenendijk-1988",
    "plca-2019",
]
"""A model that can answer an experiment."""

MODELS: tuple[str, ...] = get_args(Model)
"""Their names, in the order of publication."""

BOUNDS, MEANS = "network-calculus", "queueing"

NetworkModel = Literal["network-calculus", "queueing"]
"""A theory of networks that a file may name."""

ANSWERING: tuple[str, ...] = get_args(NetworkModel)
"""Theories that answer unless a file names some."""

NETWORK_MODELS = (BOUNDS, MEANS)
"""Theories of networks: worst-case bounds by network calculus, means by queueing theory."""


class Assumptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What theories assume beyond the scenario of a trial."""

    contention_slot: str | int = ROUND_TRIP
    """Time in which a collision is detected, in ps; or "round trip" or "slot time", those of
    the scenario.
    """
    sensing_interval_ps: int | None = None
    """Mean time until a station that found the medium busy, or collided, tries again."""
    collision_ps: int | None = None
    """How long a collision keeps the medium busy; from the scenario if None."""
    persistence: float = 1.0
    """Probability with which a waiting station starts in a free slot."""
    station_latency_ps: int | None = None
    """Delay of a token ring in each of its stations; one bit if None."""
