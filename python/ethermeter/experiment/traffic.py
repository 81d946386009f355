"""Traffic: arrivals, times, generators and backoff, as a file writes them."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

from ethermeter import functions, scenario, units
from ethermeter.experiment import voice
from ethermeter.experiment.quantity import (
    TIME,
    Form,
    as_written,
    number,
    or_word,
    text,
    words,
)
from ethermeter.experiment.tables import (
    CHECKS,
    FORMS,
    FileTable,
    InnerFault,
    ListOf,
    TableError,
    Wrapped,
    table_reader,
    tagged,
)
from ethermeter.experiment.trace_files import TraceFiles
from ethermeter.faults import Faults
from ethermeter.scenario import FileKey
from ethermeter.traces import LONGEST_TRACE_PS, Trace
from ethermeter.units import UnitError

_ALLOWED_TIME = (
    'expected a time such as "12 us", { constant = … }, { uniform = [low, high] }, { exponential ='
    " { offset = …, mean = … } } or { measured = { values = […], weights = […] } }"
)
_ALLOWED_ARRIVALS = (
    'expected "saturated", { poisson = "100 /s" }, { poisson_load = 0.5 }, { regular = "1 ms" }, {'
    ' regular = "1 ms", phase = "0 s" }, { token_bucket = { rate = "10 Mb/s", burst = "3036 B" } },'
    ' { on_off = { period = "1 ms", on = "10 ms", off = "90 ms"'
    ' } }, { trace = "times.csv" }, { coder = { sample = "16 bit", every = "152.32 us" } } or {'
    ' python = "name" }'
)
_ALLOWED_BACKOFF = (
    'expected "exponential", "none", { exponential = { limit = 10 } }, { linear = { limit = 10 } },'
    ' { constant = { slots = 4 } }, { load_register = { bits = 8, clock = "38.08 us", ticks ='
    ' true } } or { python = "name" }'
)

# Distributions of times.


def _constant(value: object) -> scenario.ConstantTimes:
    try:
        return scenario.ConstantTimes(ps=units.time_ps(value))
    except UnitError as error:
        raise UnitError(f"{error}; or a distribution of times") from None


def _uniform(bounds: tuple[int, int]) -> scenario.UniformTimes:
    if bounds[0] > bounds[1]:
        raise UnitError("expected the lower bound first")
    return scenario.UniformTimes(low_ps=bounds[0], high_ps=bounds[1])


def _check_measured(times: scenario.MeasuredTimes) -> None:
    if len(times.values_ps) != len(times.weights):
        raise UnitError(
            f"expected as many weights as values, got {len(times.weights)} and"
            f" {len(times.values_ps)}"
        )
    if sum(times.weights) == 0:
        raise UnitError("expected at least one weight above zero")


CHECKS[scenario.MeasuredTimes] = _check_measured
FORMS[scenario.Times] = tagged(
    scenario.Times,
    _ALLOWED_TIME,
    plain=Form(_constant, {"type": "string", "description": 'a time, such as "12 us"'}),
    uniform=Wrapped("uniform", ListOf(TIME, 2, 2), _uniform, "Lower and upper bound."),
)


# Arrivals.


class PoissonLoad(FileTable, frozen=True, kw_only=True):
    """Poisson process of a given load."""

    poisson_load: Annotated[Fraction, number("offered load, a share of the line rate", most=100)]
    """Offered load: preamble, frame and gap, over the line rate. On a segment it is that of the
    whole group, shared equally by its stations; in a network that of each flow on its sender's
    link.
    """


def _repeat(value: object) -> int | bool:
    if isinstance(value, bool):
        return value
    try:
        return units.time_ps(value, positive=True, most_ps=LONGEST_TRACE_PS)
    except UnitError as error:
        raise UnitError(f"{error}; or true, or false") from None


class TraceSource(FileTable, frozen=True, kw_only=True):
    """Recorded messages, replayed."""

    trace: Annotated[str, text(1, 200)]
    """Name of a file beside the experiment file: a capture, or a CSV file with a column of times
    such as `time_us` and optionally one of lengths such as `length_B`.
    """
    repeat: Annotated[
        int | bool, Form(_repeat, {"anyOf": [{"type": "boolean"}, {"type": "string"}]})
    ] = False
    """Whether the trace is repeated. true repeats it after the mean time between its messages; a
    time is the period of the repetition. With false the source ends with the last message.
    """
    offset: Annotated[int | None, or_word(TIME, "random")] = 0
    """Time in the trace at which the source begins; "random" draws it uniformly, by seed and
    source. "0 s" if absent.
    """
    speed: Annotated[Fraction, number("a speed", least=0.001, most=1000)] = Fraction(1)
    """Speed of the replay relative to the recording."""
    source: Annotated[str | None, FileKey(name="from"), text(0, 64)] = None
    """Sender's address of the packets that are taken from a capture."""
    to: Annotated[str | None, text(0, 64)] = None
    """Receiver's address of the packets that are taken from a capture."""


def _below_the_period(arrivals: scenario.RegularArrivals) -> None:
    below = units.decimal_text(Fraction(arrivals.period_ps, 10**6))
    limited = (
        ("phase", arrivals.phase_ps, 'expected "random", or a time from 0 s'),
        ("jitter", arrivals.jitter_ps, "expected a time from 0 s"),
    )
    faults = [
        InnerFault((key,), str(as_written(ps, "time")), f"{allowed} to below regular, {below} us")
        for key, ps, allowed in limited
        if ps is not None and ps >= arrivals.period_ps
    ]
    if faults:
        raise TableError(faults)


def _function(kind: functions.Kind, make: Any) -> Wrapped:
    """Return the reader of a function in Python that this process has registered."""
    name = text(known=lambda name: functions.unknown(kind, name))
    what = "function" if kind == "backoff" else "generator"
    return Wrapped(
        "python",
        name,
        lambda name: make(function=functions.planned(kind, name)),
        f"Name under which the {what} is registered.",
    )


CHECKS[scenario.RegularArrivals] = _below_the_period
ARRIVALS = tagged(
    scenario.Arrivals,
    _ALLOWED_ARRIVALS,
    plain=Form(
        lambda value: (
            words("saturated", allowed=_ALLOWED_ARRIVALS).read(value)
            and scenario.SaturatedArrivals()
        ),
        {"const": "saturated", "type": "string"},
    ),
    poisson_load=table_reader(PoissonLoad),
    coder=Wrapped(
        "coder",
        table_reader(voice.Coder),
        None,
        "Codec, or size and rate of the samples, and talk spurts.",
    ),
    python=_function("source", scenario.PythonArrivals),
    trace=table_reader(TraceSource),
)
"""How frames arrive at a station."""
Arrivals = Annotated[scenario.Arrivals | PoissonLoad | TraceSource | voice.Coder, ARRIVALS]


# Calls.

SHORTEST_BETWEEN_PS = 10**9
"""Shortest mean time between two calls, of which a trial has at most ten million."""


def _check_calls(calls: scenario.Calls) -> None:
    faults = []
    if calls.every_ps < SHORTEST_BETWEEN_PS:
        every = str(as_written(calls.every_ps, "time"))
        faults.append(InnerFault(("every",), every, "expected at least 1 ms"))
    if calls.listen_ps is not None and calls.most is None:
        listen = str(as_written(calls.listen_ps, "time"))
        allowed = "allowed with most, the number of calls with which those heard are compared"
        faults.append(InnerFault(("listen",), listen, allowed))
    if faults:
        raise TableError(faults)


CHECKS[scenario.Calls] = _check_calls


def suits_calls(arrivals: object) -> bool:
    """Whether a source can be active in calls only."""
    kinds = scenario.RegularArrivals | scenario.PoissonArrivals | scenario.OnOffArrivals
    return isinstance(arrivals, kinds | voice.Coder | PoissonLoad)


# Backoff.


def _rule(word: object) -> scenario.Backoff | None:
    """Return a rule by its name; None for the one of the standard."""
    name = words("exponential", "none", allowed=_ALLOWED_BACKOFF).read(word)
    return scenario.NoneBackoff() if name == "none" else None


FORMS[scenario.Backoff] = tagged(
    scenario.Backoff,
    _ALLOWED_BACKOFF,
    plain=Form(_rule, {"enum": ["exponential", "none"], "type": "string"}),
    python=_function("backoff", scenario.PythonBackoff),
)


def has_next(arrivals: object) -> bool:
    """Whether there is always a next message."""
    return isinstance(arrivals, scenario.SaturatedArrivals | scenario.TokenBucketArrivals)


def check_saturation(arrivals: object, flow: scenario.Flow, faults: Faults) -> None:
    """Find keys that do not fit saturated arrivals, or only these."""
    if flow.queue_frames is not None and has_next(arrivals):
        allowed = "not allowed with saturated arrivals or a token bucket, which have no queue"
        faults.add(("queue",), flow.queue_frames, allowed)
    if not isinstance(arrivals, scenario.SaturatedArrivals) and flow.generator is not None:
        faults.add(("generator",), "a generator", 'allowed with arrivals = "saturated" only')


# Traces.


def trace_of(arrivals: object, files: TraceFiles) -> Trace | None:
    """Return the trace that a source replays, None of others; InputError as of its file."""
    if not isinstance(arrivals, TraceSource):
        return None
    return files.trace(arrivals.trace, (arrivals.source, arrivals.to))


def trace_sizes(
    trace: Trace | None, source: object, given: Mapping[str, object], faults: Faults
) -> list[tuple[int, Fraction]] | None:
    """Return the lengths of a trace in bits with their weights; None if another key has them.

    `given` are values of the keys that may have them, of which exactly one is given if the trace
    has no lengths.

    Raises
    ------
    InputError
        If both have lengths, or neither.

    """
    if trace is None or not isinstance(source, TraceSource):
        return None
    keys = [key for key, value in given.items() if value is not None]
    if trace.octets is None:
        if not keys:
            allowed = f"required: arrivals.trace, {source.trace}, has no lengths"
            raise faults.error((next(iter(given)),), "(missing)", allowed)
        return None
    if keys:
        allowed = (
            f"expected lengths once: arrivals.trace, {source.trace}, has those of its messages"
        )
        raise faults.error((keys[0],), "given", allowed)
    return [(8 * octets, Fraction(count)) for octets, count in trace.lengths()]


def trace_plan(trace: Trace, source: TraceSource, faults: Faults) -> scenario.TraceArrivals:
    """Return a trace as in a plan.

    Raises
    ------
    InputError
        If it comes again before it has ended, or the source begins after its end.

    """
    repeat_ps = source.repeat
    if repeat_ps is True:
        repeat_ps = trace.period_ps
    elif repeat_ps is not False and repeat_ps < trace.span_ps:
        least = units.decimal_text(Fraction(trace.span_ps, 10**6))
        allowed = f"expected true, or at least the time of its messages, {least} us"
        raise faults.error(("arrivals", "repeat"), f"{repeat_ps} ps", allowed)
    last_ps = int(trace.times_ps[-1])
    if source.offset is not None and source.offset > last_ps:
        last = units.decimal_text(Fraction(last_ps, 10**6))
        allowed = f"expected at most the time of its last message, {last} us"
        raise faults.error(("arrivals", "offset"), f"{source.offset} ps", allowed)
    return trace.arrivals(
        repeat_ps=repeat_ps or None, offset_ps=source.offset, speed=float(source.speed)
    )
