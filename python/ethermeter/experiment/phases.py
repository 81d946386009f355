"""[phases], [run] and [theory]: when what happens, how often, and what theories assume."""

from fractions import Fraction
from typing import Annotated, Literal, NamedTuple, get_args

from ethermeter import scenario, units
from ethermeter.experiment.quantity import (
    Form,
    PhaseTime,
    PositiveTime,
    complaint,
    distinct,
    integer,
    number,
    text,
)
from ethermeter.experiment.tables import FileTable, ListOf, most_of
from ethermeter.faults import Faults
from ethermeter.theory.assumptions import (
    ANSWERING,
    MODELS,
    ROUND_TRIP,
    SLOT_TIME,
    Assumptions,
)
from ethermeter.units import LONGEST_TRIAL_PS, PS_PER_S, UnitError


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


class Phases(FileTable, frozen=True, kw_only=True):
    """Phases of a trial; by default 12 s of transmission, of which the last 10 s are measured."""

    settle: PhaseTime = 0
    """Silence before the transmit phase."""
    transmit: PhaseTime = 12 * PS_PER_S
    """Duration of the transmit phase, in which stations and hosts send."""
    measure: Annotated[
        Measure | None,
        Form(
            _measure,
            {
                "type": "string",
                "description": 'the part that is measured: "middle 10 s", "last 5 s" or "all"',
            },
        ),
    ] = None
    """Measured window: "middle 10 s" or "last 10 s" of the transmit phase, or "all" of it; at least
    1 ms. If absent the last 10 s or, of less than 12 s, the last five sixths.
    """
    drain: PhaseTime = 0
    """Time after the transmit phase in which no new frames are offered and those in transit may
    still arrive.
    """
    spread: PhaseTime = 0
    """Span at the start of the transmit phase in which each station or flow begins, at a uniformly
    drawn time; at most `transmit`, and "0 s" for networks that are measured.
    """
    warm_up: PhaseTime = 0
    """Time for which the hosts of a measurement do what the first trial does, unmeasured, before it
    begins: until their clocks are as warm as in the trials. Simulations have none.
    """


Engine = Literal["simulation", "theory", "idealised", "ablation", "live"]
"""An engine that can answer."""
ENGINES: tuple[str, ...] = get_args(Engine)
OF_NETWORKS = ("simulation", "theory", "live")
"""Engines that can answer for a network."""


class Run(FileTable, frozen=True, kw_only=True):
    """Engines, replications and batches of an experiment."""

    engines: Annotated[tuple[Engine, ...], ListOf(text(enum=list(ENGINES)), 1, 5, distinct)] = (
        "simulation",
    )
    """Engines that answer: "simulation", "theory" by formulas, worst-case bounds and means, "live"
    by measurement between hosts; on a segment also "idealised" by simulation of the assumptions of
    a theory, and "ablation" by simulations that remove these assumptions one after another.
    ["simulation"] if absent.
    """
    replications: Annotated[int, integer(1, 1000)] = 1
    """Number of trials of each point, with different seeds."""
    batches: Annotated[int, integer(2, most_of(scenario.Scenario, "batches"))] = 20
    """Number of equal batches of the measured window, for the confidence intervals of one or two
    replications.
    """


SHORTEST_WINDOW_PS = PS_PER_S // 1000
"""The shortest window that may be measured: 1 ms."""


def schedule(phases: Phases, *, file: str) -> scenario.Phases:
    """Return the schedule of a trial, in ps from its start.

    Raises
    ------
    InputError
        If the measured window does not fit into the transmit phase, or all of it is too long.

    """
    faults = Faults(file, ("phases",))
    begin_ps = phases.settle
    stop_ps = begin_ps + phases.transmit
    end_ps = stop_ps + phases.drain
    measure = phases.measure or Measure("last", min(10 * PS_PER_S, phases.transmit * 5 // 6))
    is_whole = phases.measure is None or measure.window_ps is None
    window_ps = phases.transmit if measure.window_ps is None else measure.window_ps
    lasts = _seconds(phases.transmit)
    if window_ps > phases.transmit:
        allowed = f"expected a window inside the transmit phase, which lasts {lasts}"
        faults.add(("measure",), _seconds(window_ps), allowed)
    if window_ps < SHORTEST_WINDOW_PS:
        key = "transmit" if is_whole else "measure"
        faults.add((key,), _seconds(window_ps), "expected at least 1 ms to measure")
    if phases.spread > phases.transmit:
        allowed = f"expected at most the transmit phase, {lasts}, in which all stations must begin"
        faults.add(("spread",), _seconds(phases.spread), allowed)
    if end_ps > LONGEST_TRIAL_PS:
        most = _seconds(LONGEST_TRIAL_PS)
        allowed = f"expected settle, transmit and drain of at most {most} together"
        faults.add((), _seconds(end_ps), allowed)
    faults.raise_all()
    from_ps = {
        "all": begin_ps,
        "last": stop_ps - window_ps,
        "middle": begin_ps + (phases.transmit - window_ps) // 2,
    }[measure.where]
    return scenario.Phases(
        begin_ps=begin_ps,
        stop_ps=stop_ps,
        measure_from_ps=from_ps,
        measure_to_ps=from_ps + window_ps,
        end_ps=end_ps,
        spread_ps=phases.spread,
    )


def _seconds(ps: int) -> str:
    return f"{ps / PS_PER_S:.12g} s"


Persistence = Annotated[Fraction, number("probability of starting in a free slot", most=1)]


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


class Theory(FileTable, frozen=True, kw_only=True):
    """Assumptions of the engines `theory` and `idealised` that no other table states."""

    models: (
        Annotated[
            tuple[str, ...],
            ListOf(text(enum=[*MODELS, *ANSWERING]), 1, len(MODELS), distinct),
        ]
        | None
    ) = None
    """Names of the models that answer; all that apply if absent. Of a network "network-calculus" by
    worst-case bounds and "queueing" by means.
    """
    contention_slot: Annotated[
        str | int,
        Form(
            _contention_slot,
            {
                "type": "string",
                "description": (
                    f'"{ROUND_TRIP}" of this segment, "{SLOT_TIME}" of its standard, or a time'
                ),
            },
        ),
    ] = ROUND_TRIP
    """Time to detect a collision, for models with contention slots: "round trip" of the segment,
    "slot time" of its standard, or a time such as "12 us".
    """
    sensing_interval: PositiveTime | None = None
    """Mean time until a station that found the medium busy, or collided, tries again. Models with a
    fixed rate of retransmission need it.
    """
    collision: PositiveTime | None = None
    """Time for which a collision keeps the medium busy; computed from the segment if absent."""
    persistence: Persistence = Fraction(1)
    """Probability that a waiting station starts in a free slot, for p-persistent models."""
    station_latency: PositiveTime | None = None
    """Delay of a token ring in each of its stations; one bit time if absent."""


def assumed(theory: Theory) -> Assumptions:
    """Return the assumptions as theories read them."""
    return Assumptions(
        contention_slot=theory.contention_slot,
        sensing_interval_ps=theory.sensing_interval,
        collision_ps=theory.collision,
        persistence=float(theory.persistence),
        station_latency_ps=theory.station_latency,
    )
