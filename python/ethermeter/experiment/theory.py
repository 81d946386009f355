"""Assumptions: what a theory needs to know and an Ethernet does not say."""

from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from ethermeter import units
from ethermeter.experiment.quantity import PositiveTime, Table, complaint, distinct, number, written
from ethermeter.theory.assumptions import MODELS, ROUND_TRIP, SLOT_TIME, Assumptions, Model
from ethermeter.units import UnitError

Persistence = Annotated[Fraction, *number("probability of starting in a free slot", most=1)]


def _contention_slot(value: object) -> str | int:
    allowed = f'expected "{ROUND_TRIP}", "{SLOT_TIME}", or a time such as "12 us"'
    if value in (ROUND_TRIP, SLOT_TIME):
        return str(value)
    if not isinstance(value, str):
        raise complaint(allowed)
    try:
        return units.time_ps(value, positive=True)
    except UnitError as error:
        raise complaint(f"{allowed}; {error}") from None


class Theory(Table):
    """What the engines `theory` and `idealised` assume, beyond what the experiment says."""

    models: (
        Annotated[
            list[Model], Field(min_length=1, max_length=len(MODELS)), AfterValidator(distinct)
        ]
        | None
    ) = None
    """Models that answer; all that apply if absent."""
    contention_slot: Annotated[
        str | int,
        PlainValidator(_contention_slot),
        WithJsonSchema(
            {
                "type": "string",
                "description": (
                    f'"{ROUND_TRIP}" of this segment, "{SLOT_TIME}" of its standard, or a time'
                ),
            }
        ),
    ] = ROUND_TRIP
    """Time in which a collision is detected, for models whose contention has slots."""
    sensing_interval: PositiveTime | None = None
    """Mean time until a station that found the medium busy, or collided, tries again; for models
    with a fixed rate of retransmission.
    """
    collision: PositiveTime | None = None
    """How long a collision keeps the medium busy; worked out from the segment if absent."""
    persistence: Persistence = written(1)
    """Probability with which a station that waits starts in a free slot; for p-persistent models.
    """
    station_latency: PositiveTime | None = None
    """Delay of a token ring in each of its stations; one bit if absent."""


def assumed(theory: Theory) -> Assumptions:
    """Return the assumptions as theories read them."""
    return Assumptions(
        contention_slot=theory.contention_slot,
        sensing_interval_ps=theory.sensing_interval,
        collision_ps=theory.collision,
        persistence=float(theory.persistence),
        station_latency_ps=theory.station_latency,
    )
