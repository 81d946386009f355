"""Phases of a trial: settle, transmit, measure the middle, drain; and how often it is run."""

from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from ethermeter import units
from ethermeter.experiment.quantity import PhaseTime
from ethermeter.experiment.table import Table, complaint, distinct
from ethermeter.units import UnitError


class Measure(NamedTuple):
    """Which part of the transmit phase is measured; `window_ps` is None for all of it."""

    where: Literal["middle", "last", "all"]
    window_ps: int | None


def _measure(value: object) -> Measure:
    allowed = 'expected "all", or "middle" or "last" with a time, such as "middle 10 s"'
    if not isinstance(value, str) or len(value) > 60:
        raise complaint(allowed)
    where, _, window = value.strip().partition(" ")
    if where == "all" and not window.strip():
        return Measure("all", None)
    if where not in ("middle", "last") or not window.strip():
        raise complaint(allowed)
    try:
        return Measure(
            "middle" if where == "middle" else "last",
            units.time_ps(window, positive=True, most_ps=units.LONGEST_TRIAL_PS),
        )
    except UnitError as error:
        raise complaint(f"{allowed}; {error}") from None


class Phases(Table):
    """What happens when; defaults: 12 s of transmission of which the last 10 s are measured."""

    settle: PhaseTime = Field(default="0 s", validate_default=True)
    """Silence before the stations begin."""
    transmit: PhaseTime = Field(default="12 s", validate_default=True)
    """How long stations offer frames."""
    measure: Annotated[
        Measure,
        PlainValidator(_measure),
        WithJsonSchema(
            {
                "type": "string",
                "description": 'the part that is measured: "middle 10 s", "last 5 s" or "all"',
            }
        ),
    ] = Field(default="last 10 s", validate_default=True)
    """The part of the transmit phase that is measured."""
    drain: PhaseTime = Field(default="0 s", validate_default=True)
    """How long frames under way may still be sent."""
    spread: PhaseTime = Field(default="0 s", validate_default=True)
    """Each station begins at a time drawn uniformly from this span."""


Replications = Annotated[int, Field(ge=1, le=1000)]
Batches = Annotated[int, Field(ge=2, le=1000)]
Engine = Literal["simulation", "theory", "idealised", "switched"]
"""An engine that can answer."""


def _usual() -> list[Engine]:
    return ["simulation"]


class Run(Table):
    """How the trials are run."""

    engines: Annotated[
        list[Engine], Field(min_length=1, max_length=4), AfterValidator(distinct)
    ] = Field(default_factory=_usual)
    """Engines that answer: "simulation" of the segment as it is, "theory" by formulas, "idealised"
    by simulation of what a theory assumes,
    "switched" by simulations on the way from there to the segment.
    """
    replications: Replications = 1
    """Trials of each point, with different seeds."""
    batches: Batches = 20
    """Equal parts of the measured window, for intervals within one replication."""


NetworkEngine = Literal["simulation", "live"]
"""An engine that can answer for a network."""


def _usual_of_networks() -> list[NetworkEngine]:
    return ["simulation"]


class NetworkRun(Table):
    """How the trials of a network are run."""

    engines: Annotated[
        list[NetworkEngine], Field(min_length=1, max_length=2), AfterValidator(distinct)
    ] = Field(default_factory=_usual_of_networks)
    """Engines that answer: "simulation" of the network, "live" by measurement between hosts."""
    replications: Replications = 1
    """Trials of each point, with different seeds."""
    batches: Batches = 20
    """Equal parts of the measured window, for intervals within one replication."""
