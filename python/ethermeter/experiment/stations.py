"""[[stations]]: groups of equal stations with their traffic, and each group as in a scenario."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import (
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from ethermeter import scenario
from ethermeter.experiment import plca, voice
from ethermeter.experiment.frames import Frames, Samples, Sizes, frames_plan, sizes_of
from ethermeter.experiment.plca import GroupPlca, Outages
from ethermeter.experiment.quantity import Length, Table, read_as, written
from ethermeter.experiment.segment import MOST_PLACES, Constants
from ethermeter.experiment.trace_files import TraceFiles
from ethermeter.experiment.traffic import (
    Arrivals,
    Backoff,
    Generator,
    LoadRegister,
    PoissonLoad,
    PythonBackoff,
    PythonSource,
    Times,
    TokenBucketSource,
    TraceSource,
    arrivals_plan,
    backoff_plan,
    check_saturation,
    generator_plan,
    times_plan,
    trace_of,
    trace_plan,
    trace_sizes,
)
from ethermeter.experiment.voice import Coded
from ethermeter.faults import Faults, shown
from ethermeter.scenario import Flow, Lengths, Stations
from ethermeter.station_groups import Group
from ethermeter.trial import SIMULATION
from ethermeter.units import LONGEST_PS

MOST_STATIONS = 1024
"""Stations a group may have; the standard may allow fewer."""


class StationGroup(Table):
    """A group of stations that differ only in their attachment points."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")] | None = None
    """Name of the group in dotted paths and reports; "stations" or "group-0", "group-1", … if
    absent.
    """
    count: Annotated[int, Field(ge=1, le=MOST_STATIONS)]
    """Number of stations in the group."""
    frames_include_fcs: bool = True
    """Whether `frames` includes the frame check sequence; if false, it is added to the lengths."""
    arrivals: Arrivals
    """Arrival process of the frames of each station."""
    frames: Frames | None = Field(default=None, validate_default=True)
    """Frame lengths, destination address to FCS; required unless a trace has them."""
    service: Times = written("0 us")
    """Host time between the end of a frame and the earliest start of the next."""
    generator: Generator | None = None
    """Process that fills the buffers of a saturated host; there is always a frame if absent."""
    queue: Annotated[int | None, *read_as(scenario.Flow, "queue_frames")] = written("unlimited")
    """Room of the queue in frames, the one being sent included; not with saturated arrivals or a
    coder.
    """
    clock_error: Annotated[int, *read_as(scenario.Stations, "clock_error_ppb")] = written("0 ppm")
    """Largest frequency error of a host's clock, at most 1%; the error of each host is drawn
    uniformly. Only with a coder or a load register, which follow that clock.
    """
    priority_wait: Annotated[int, *read_as(scenario.Stations, "priority_wait_ps")] = written("0 s")
    """Silence beyond the gap before a station starts, at most 0.1 s; stations with a shorter wait
    send first.
    """
    backoff: Backoff = "exponential"
    """Backoff rule: the wait after a collision."""
    attempt_limit: Annotated[int, *read_as(scenario.Stations, "attempt_limit")] | None = None
    """Attempts before a frame is given up, the first included; that of the standard if absent."""
    after_attempt_limit: Literal["discard", "resume"] | None = None
    """What follows the last attempt: "discard" loses the frame, "resume" hands it to the
    transmitter again. If absent "resume" with a coder, else "discard".
    """
    after_late_collision: Literal["backoff", "discard"] = "backoff"
    """What follows a late collision: "backoff" and another attempt, or "discard" of the frame."""
    position: Length | None = None
    """Position of all stations of the group along `segment.length`."""
    positions: Annotated[list[Length], Field(min_length=1, max_length=MOST_STATIONS)] | None = None
    """Position of each station along `segment.length`."""
    cluster: Annotated[int, Field(ge=0, le=MOST_PLACES - 1)] | None = None
    """Cluster, branch or row of `delays` of all stations of the group, from 0."""
    per_cluster: (
        Annotated[
            list[Annotated[int, Field(ge=0, le=MOST_STATIONS)]],
            Field(min_length=1, max_length=MOST_PLACES),
        ]
        | None
    ) = None
    """Number of the group's stations in each cluster, branch or row of `delays`; the sum is
    `count`.
    """
    plca: GroupPlca | None = None
    """PLCA settings that differ from those of the segment; 10BASE-T1S only."""
    down: Outages | None = None
    """Intervals in which the stations are silent: they neither send nor take part in PLCA.
    10BASE-T1S only; never if absent.
    """

    @field_validator("frames")
    @classmethod
    def _given_unless_replayed(cls, frames: object, info: ValidationInfo) -> object:
        # Whether a trace has lengths is known when it is read.
        if frames is None and not isinstance(info.data.get("arrivals"), TraceSource):
            raise PydanticCustomError("missing", "required")
        return frames


PLACEMENTS = ("position", "positions", "cluster", "per_cluster")
"""Keys of a group that say where its stations are; at most one of them may be used."""


def check_group(group: StationGroup, engines: Sequence[str], faults: Faults) -> None:
    """Find keys of a group that contradict each other, or that one of the engines cannot follow."""
    for path, name in _functions_of(group):
        if others := [engine for engine in engines if engine != SIMULATION]:
            allowed = (
                f'a function in Python runs with run.engines = ["{SIMULATION}"] only, not with'
                f" {', '.join(others)}"
            )
            faults.add(path, shown(name), allowed)
    if isinstance(group.arrivals, TokenBucketSource):
        allowed = "expected no token bucket on a segment: only flows of a network have one"
        faults.add(("arrivals",), "token_bucket", allowed)
    check_saturation(group.arrivals, group.queue, group.generator, faults)
    has_clock = isinstance(group.arrivals, Coded) or isinstance(group.backoff, LoadRegister)
    if group.clock_error and not has_clock:
        allowed = (
            "allowed with a coder or a load register only: nothing else follows a host's clock"
        )
        faults.add(("clock_error",), f"{group.clock_error} ppb", allowed)
    voice.check_group(group, faults)
    plca.check_outages(group.down, ("down",), faults)
    if group.plca is not None:
        plca.check_outages(group.plca.off, ("plca", "off"), faults)


def _functions_of(group: StationGroup) -> list[tuple[tuple[str, str], str]]:
    """Return the names of functions in Python that a group has, with their keys."""
    return [
        ((key, "python"), table.python)
        for key, table in (("backoff", group.backoff), ("arrivals", group.arrivals))
        if isinstance(table, PythonBackoff | PythonSource)
    ]


def group_of(
    group: StationGroup, index: int, constants: Constants, files: TraceFiles, file: str
) -> Group:
    """Return a group with neither name nor attachment points; `files` has those that it names.

    Raises
    ------
    InputError
        If frames or arrivals do not fit the segment.

    """
    frames: Lengths
    arrivals: scenario.Arrivals
    faults = Faults(file, ("stations", index))
    for path, name in _functions_of(group) if constants.mac.plca is not None else ():
        allowed = "expected a segment of another standard than 10BASE-T1S"
        raise faults.error(path, shown(name), allowed)
    has_coder = isinstance(group.arrivals, Coded)
    if has_coder:
        frames, arrivals = voice.frames_and_arrivals(group, constants, faults)
    else:
        trace = trace_of(group.arrivals, files)
        recorded = trace_sizes(trace, group.arrivals, {"frames": group.frames}, faults)
        sizes = _sizes(group, recorded, constants, files, faults)
        frames = frames_plan(sizes)
        if trace is not None and isinstance(group.arrivals, TraceSource):
            arrivals = trace_plan(trace, group.arrivals, faults)
        else:
            arrivals = _arrivals(group, sizes, constants, faults)
    stations = Stations(
        node="",
        points=(),
        clock_error_ppb=group.clock_error,
        priority_wait_ps=group.priority_wait,
        backoff=backoff_plan(group.backoff, limit=constants.backoff_limit),
        attempt_limit=group.attempt_limit or constants.attempt_limit,
        # A coder's buffer goes on whatever becomes of attempts.
        after_attempt_limit=group.after_attempt_limit or ("resume" if has_coder else "discard"),
        after_late_collision=group.after_late_collision,
        down=plca.intervals_of(group.down),
    )
    flow = Flow(
        name="",
        from_="",
        frames=frames,
        arrivals=arrivals,
        generator=generator_plan(group.generator),
        queue_frames=group.queue,
        service=times_plan(group.service),
    )
    return Group(stations, flow)


def _sizes(
    group: StationGroup,
    recorded: list[tuple[int, Fraction]] | None,
    constants: Constants,
    files: TraceFiles,
    faults: Faults,
) -> Sizes:
    """Return frame lengths in bits, FCS included, with their weights; `recorded` of a trace."""
    fcs_bits = constants.fcs_bits
    # Samples come of a coder, without which they contradict the arrivals.
    assert not isinstance(group.frames, Samples)
    added = 0 if group.frames_include_fcs else fcs_bits
    given = sizes_of(group.frames, folder=files.folder) if recorded is None else recorded
    sizes = [(bits + added, weight) for bits, weight in given]
    shortest, longest = min(sizes)[0], max(sizes)[0]
    if shortest <= fcs_bits:
        allowed = (
            f"expected frames longer than their frame check sequence, {fcs_bits} bit, "
            "or frames_include_fcs = false"
        )
        raise faults.error(("frames",), f"{shortest} bit", allowed)
    if (bus := constants.mac.plca) is not None:
        least = bus.delay_line_bits - constants.csma_cd.preamble_bits + 1
        if shortest < least:
            allowed = (
                f"expected frames of at least {-(-least // 8)} B on a segment of 10BASE-T1S: longer"
                " than the delay line of PLCA, preamble included"
            )
            raise faults.error(("frames",), f"{shortest} bit", allowed)
    if (constants.csma_cd.preamble_bits + longest) * constants.bit_ps > LONGEST_PS:
        allowed = "expected frames that last at most 1000 s at this rate"
        raise faults.error(("frames",), f"{longest} bit", allowed)
    return sizes


def _arrivals(
    group: StationGroup, sizes: Sizes, constants: Constants, faults: Faults
) -> scenario.Arrivals:
    if not isinstance(group.arrivals, PoissonLoad):
        return arrivals_plan(group.arrivals)
    load = group.arrivals.poisson_load
    # Charged as Boggs et al. (1988, section 3.3) charge: preamble, frame and gap.
    mean_bits = sum(bits * weight for bits, weight in sizes) / sum(weight for _, weight in sizes)
    charged_bits = constants.csma_cd.preamble_bits + mean_bits + constants.csma_cd.gap_bits
    mean_ps = charged_bits * constants.bit_ps * group.count / load
    if mean_ps > LONGEST_PS:
        allowed = "expected a load at which a station sends at least every 1000 s"
        raise faults.error(("arrivals", "poisson_load"), f"{float(load):g}", allowed)
    return scenario.PoissonArrivals(mean_ps=float(mean_ps))
