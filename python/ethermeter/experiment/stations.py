"""Stations: groups of equal ones, with their traffic, their host and their place."""

from typing import Annotated, Literal

from pydantic import Field, PlainValidator, StringConstraints, WithJsonSchema

from ethermeter.experiment.frames import Frames
from ethermeter.experiment.hosts import Arrivals, Backoff, Generator, Times
from ethermeter.experiment.quantity import ClockError, Delay, Length
from ethermeter.experiment.segment import MOST_PLACES
from ethermeter.experiment.table import Table, complaint

MOST_STATIONS = 1024
"""Stations a group may have; the standard may allow fewer."""

MOST_QUEUED = 10_000_000
"""Frames a queue may have room for."""


def room(most: int) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the reader of "unlimited" (None) or a number of frames up to `most`, and its schema."""

    def read(value: object) -> int | None:
        if value == "unlimited":
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        raise complaint(f'expected "unlimited" or a number of frames from 1 to {most}')

    return PlainValidator(read), WithJsonSchema(
        {"oneOf": [{"const": "unlimited"}, {"type": "integer", "minimum": 1, "maximum": most}]}
    )


class StationGroup(Table):
    """Stations that differ only in their place."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")] | None = None
    """Name of the group, for dotted keys and reports."""
    count: Annotated[int, Field(ge=1, le=MOST_STATIONS)]
    """Number of stations."""
    frames: Frames
    """Frame lengths."""
    frames_include_fcs: bool = True
    """Whether the lengths include the frame check sequence; if not, it is added."""
    arrivals: Arrivals
    """How frames arrive."""
    service: Times = Field(default="0 us", validate_default=True)
    """Host time between the end of a frame and the earliest start of the next."""
    generator: Generator | None = None
    """The process that fills a saturated host's buffers; without it there is always a frame."""
    queue: Annotated[int | None, *room(MOST_QUEUED)] = Field(
        default="unlimited", validate_default=True
    )
    """Frames there is room for, the one being sent included."""
    clock_error: ClockError = Field(default="0 ppm", validate_default=True)
    """How much too fast or too slow a host's clock goes at most, evenly spread; its coder and its
    load register follow that clock.
    """
    priority_wait: Delay = Field(default="0 s", validate_default=True)
    """How long a station listens beyond the gap before it starts, so that those with a shorter wait
    go first.
    """
    backoff: Backoff = "exponential"
    """How a station waits after a collision."""
    attempt_limit: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Attempts before the frame is given up, the first included; the standard's if not said."""
    after_attempt_limit: Literal["discard", "resume"] | None = None
    """What then happens: the frame is lost, or the driver hands it over again; a coder's goes on,
    others are lost if not said.
    """
    after_late_collision: Literal["backoff", "discard"] = "backoff"
    """What a late collision does."""
    position: Length | None = None
    """Where on the cable all stations of the group are."""
    positions: Annotated[list[Length], Field(min_length=1, max_length=MOST_STATIONS)] | None = None
    """Where on the cable each station is."""
    cluster: Annotated[int, Field(ge=0, le=MOST_PLACES - 1)] | None = None
    """The cluster, branch or row of `delays` where all stations of the group are, from 0."""
    per_cluster: (
        Annotated[
            list[Annotated[int, Field(ge=0, le=MOST_STATIONS)]],
            Field(min_length=1, max_length=MOST_PLACES),
        ]
        | None
    ) = None
    """How many stations of the group are in each cluster; together its count."""


PLACEMENTS = ("position", "positions", "cluster", "per_cluster")
"""Keys of a group that say where its stations are; at most one of them may be used."""
