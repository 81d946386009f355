"""Assumptions: what a theory needs to know and a scenario does not say."""

import msgspec

from ethermeter.theory.names import ROUND_TRIP


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
