"""Traffic: arrivals, service times, generators and backoff, as in the file and as in a plan."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from ethermeter import functions, scenario, units
from ethermeter.experiment.classes import TokenBucket
from ethermeter.experiment.quantity import (
    TIME_OR_RANDOM,
    Frequency,
    Load,
    PositiveTime,
    Table,
    Time,
    Weight,
    choice,
    complaint,
    number,
    read_as,
    reader,
    tag,
    written,
)
from ethermeter.experiment.trace_files import TraceFiles
from ethermeter.experiment.voice import Coded
from ethermeter.faults import Faults
from ethermeter.traces import LONGEST_TRACE_PS, Trace
from ethermeter.units import UnitError

MOST_VALUES = 10_000
"""Values a measured distribution may have."""

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


def known_word(*words: str, allowed: str) -> BeforeValidator:
    """Refuse other words with all that is allowed, not only the words."""

    def known(value: object) -> object:
        if value not in words:
            raise complaint(allowed)
        return value

    return BeforeValidator(known)


def _registered(kind: functions.Kind) -> AfterValidator:
    """Refuse the name of a function that this process has not registered."""

    def check(name: str) -> str:
        if allowed := functions.unknown(kind, name):
            raise complaint(allowed)
        return name

    return AfterValidator(check)


def _constant(value: object) -> int:
    try:
        return units.time_ps(value)
    except UnitError as error:
        raise complaint(f"{error}; or a distribution of times") from None


class Constant(Table):
    """A constant time."""

    constant: Time
    """The time itself."""


class Uniform(Table):
    """A time drawn uniformly between two bounds."""

    uniform: Annotated[list[Time], Field(min_length=2, max_length=2)]
    """Lower and upper bound."""

    @model_validator(mode="after")
    def _in_order(self) -> "Uniform":
        if self.uniform[0] > self.uniform[1]:
            raise complaint("expected the lower bound first")
        return self


class OffsetExponential(Table):
    """Parameters of a constant time plus an exponential one."""

    offset: Time = written("0 s")
    """Constant part of the time."""
    mean: PositiveTime
    """Mean of the exponential part."""


class Exponential(Table):
    """A constant time plus an exponential one."""

    exponential: OffsetExponential
    """Constant part and mean of the exponential part."""


class Measurements(Table):
    """Measured times with their weights, from which each time is drawn."""

    values: Annotated[list[Time], Field(min_length=1, max_length=MOST_VALUES)]
    """Measured times."""
    weights: Annotated[list[Weight], Field(min_length=1, max_length=MOST_VALUES)]
    """Frequency of each value, relative to the others; as many as `values`."""

    @model_validator(mode="after")
    def _one_weight_a_value(self) -> "Measurements":
        if len(self.values) != len(self.weights):
            raise complaint(
                f"expected as many weights as values, got {len(self.weights)} and"
                f" {len(self.values)}"
            )
        if not any(self.weights):
            raise complaint("expected at least one weight above zero")
        return self


class MeasuredTimes(Table):
    """A measured distribution of times."""

    measured: Measurements
    """Times and their weights."""


Times = Annotated[
    Annotated[
        int,
        PlainValidator(_constant),
        WithJsonSchema({"type": "string", "description": 'a constant time, such as "12 us"'}),
        Tag(tag("text")),
    ]
    | Annotated[Constant, Tag(tag("constant"))]
    | Annotated[Uniform, Tag(tag("uniform"))]
    | Annotated[Exponential, Tag(tag("exponential"))]
    | Annotated[MeasuredTimes, Tag(tag("measured"))],
    choice("constant", "uniform", "exponential", "measured", allowed=_ALLOWED_TIME),
]
"""A distribution of times; a plain text is a constant."""


class Generator(Table):
    """A user process that fills the buffers of a saturated host (Boggs et al. 1988, § 3.3)."""

    buffers: Annotated[int, *read_as(scenario.Generator, "buffers")]
    """Buffers in the ring between the process and the transmitter."""
    time: Times
    """Time to fill one buffer."""


class Poisson(Table):
    """Poisson process of a given rate."""

    poisson: Frequency
    """Mean number of frames of each station, or messages of each flow, a second."""


class PoissonLoad(Table):
    """Poisson process of a given load."""

    poisson_load: Load
    """Offered load: preamble, frame and gap, over the line rate. On a segment it is that of the
    whole group, shared equally by its stations; in a network that of each flow on its sender's
    link.
    """


class Regular(Table):
    """Frames or messages at equal intervals."""

    regular: PositiveTime
    """Time from one frame to the next."""
    phase: Annotated[int | Literal["random"], *TIME_OR_RANDOM] = "random"
    """Time from the start of the source to its first frame, below `regular`; "random" draws it
    uniformly from the period, by seed and source.
    """
    jitter: Time = written("0 s")
    """Largest deviation of each time between two frames, uniform; below `regular`."""

    @field_validator("jitter")
    @classmethod
    def _less_than_the_period(cls, jitter: int, info: ValidationInfo) -> int:
        period_ps = info.data.get("regular")
        if period_ps is not None and jitter >= period_ps:
            below = units.decimal_text(Fraction(period_ps, 10**6))
            raise complaint(f"expected a time from 0 s to below regular, {below} us")
        return jitter

    @field_validator("phase")
    @classmethod
    def _below_the_period(cls, phase: int | str, info: ValidationInfo) -> int | str:
        period_ps = info.data.get("regular")
        if isinstance(phase, int) and period_ps is not None and phase >= period_ps:
            raise complaint(
                'expected "random", or a time from 0 s to below regular,'
                f" {units.decimal_text(Fraction(period_ps, 10**6))} us"
            )
        return phase


class OnOffTimes(Table):
    """Times of a source that is on and off in turn."""

    period: PositiveTime
    """Time from one frame to the next while the source is on."""
    on: PositiveTime
    """Mean on time, exponential."""
    off: PositiveTime
    """Mean off time, exponential."""


class OnOff(Table):
    """Regular frames during random times, with silence between them."""

    on_off: OnOffTimes
    """Period, and mean on and off times."""


class TokenBucketTimes(TokenBucket):
    """Token bucket of a source that always has a next message."""

    phase: Time = written("0 s")
    """Time from the start of the source to its first message."""


class TokenBucketSource(Table):
    """A source that always has a next message, released when a token bucket has its volume."""

    token_bucket: TokenBucketTimes
    """Rate and capacity of the bucket, and the time of the first message."""


class PythonSource(Table):
    """Frames that a generator in Python yields, on a segment; see `ethermeter.register_source`."""

    python: Annotated[str, _registered("source")]
    """Name under which the generator is registered."""


def _repeat(value: object) -> int | bool:
    if isinstance(value, bool):
        return value
    try:
        return units.time_ps(value, positive=True, most_ps=LONGEST_TRACE_PS)
    except UnitError as error:
        raise UnitError(f"{error}; or true, or false") from None


class TraceSource(Table):
    """Recorded messages, replayed."""

    trace: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Name of a file beside the experiment file: a capture, or a CSV file with a column of times
    such as `time_us` and optionally one of lengths such as `length_B`.
    """
    repeat: Annotated[
        int | bool,
        reader(_repeat),
        WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
    ] = False
    """Whether the trace is repeated. true repeats it after the mean time between its messages; a
    time is the period of the repetition. With false the source ends with the last message.
    """
    offset: Annotated[int | Literal["random"], *TIME_OR_RANDOM] = written("0 s")
    """Time in the trace at which the source begins; "random" draws it uniformly, by seed and
    source.
    """
    speed: Annotated[Fraction, *number("a speed", least=0.001, most=1000)] = Fraction(1)
    """Speed of the replay relative to the recording."""
    source: Annotated[
        Annotated[str, StringConstraints(max_length=64)] | None, Field(alias="from")
    ] = None
    """Sender's address of the packets that are taken from a capture."""
    to: Annotated[str, StringConstraints(max_length=64)] | None = None
    """Receiver's address of the packets that are taken from a capture."""


Arrivals = Annotated[
    Annotated[
        Literal["saturated"], known_word("saturated", allowed=_ALLOWED_ARRIVALS), Tag(tag("text"))
    ]
    | Annotated[Poisson, Tag(tag("poisson"))]
    | Annotated[PoissonLoad, Tag(tag("poisson_load"))]
    | Annotated[Regular, Tag(tag("regular"))]
    | Annotated[OnOff, Tag(tag("on_off"))]
    | Annotated[Coded, Tag(tag("coder"))]
    | Annotated[TokenBucketSource, Tag(tag("token_bucket"))]
    | Annotated[PythonSource, Tag(tag("python"))]
    | Annotated[TraceSource, Tag(tag("trace"))],
    choice(
        *("poisson", "poisson_load", "regular", "on_off", "coder", "token_bucket", "trace"),
        "python",
        allowed=_ALLOWED_ARRIVALS,
    ),
]
"""How frames arrive at a station."""


class Limit(Table):
    """Parameter of exponential and linear backoff."""

    limit: Annotated[int, *read_as(scenario.ExponentialBackoff, "limit")]
    """Number of collisions after which the range stops growing."""


class Slots(Table):
    """Parameter of constant backoff."""

    slots: Annotated[int, *read_as(scenario.ConstantBackoff, "slots")]
    """Number of slots in the range from which the wait is drawn."""


class ExponentialBackoff(Table):
    """Exponential backoff: a range of 2^min(n, limit) slots after the n-th collision."""

    exponential: Limit
    """Limit of the range."""


class LinearBackoff(Table):
    """Linear backoff: a range of min(n, limit) + 1 slots after the n-th collision."""

    linear: Limit
    """Limit of the range."""


class ConstantBackoff(Table):
    """Constant backoff: the same range after every collision."""

    constant: Slots
    """Size of the range."""


class Register(Table):
    """Parameters of the load register (Gonsalves 1982, section 2.2)."""

    bits: Annotated[int, *read_as(scenario.LoadRegisterBackoff, "bits")]
    """Number of low bits of the host's clock that the register masks."""
    clock: Annotated[int, *read_as(scenario.LoadRegisterBackoff, "clock_ps")]
    """Time in which the host's clock advances by one, at most 0.1 s."""
    ticks: bool
    """Whether the wait ends with a tick of the clock, one in each slot; if false, it ends whole
    slots after the jam.
    """


class LoadRegister(Table):
    """The host's clock, masked by a register that takes in a one at each collision.

    After Gonsalves (1982), section 2.2.
    """

    load_register: Register
    """Bits, clock and end of the wait."""


class PythonBackoff(Table):
    """Backoff in slots by a Python function; see `ethermeter.register_backoff`."""

    python: Annotated[str, _registered("backoff")]
    """Name under which the function is registered."""


Backoff = Annotated[
    Annotated[
        Literal["exponential", "none"],
        known_word("exponential", "none", allowed=_ALLOWED_BACKOFF),
        Tag(tag("text")),
    ]
    | Annotated[ExponentialBackoff, Tag(tag("exponential"))]
    | Annotated[LinearBackoff, Tag(tag("linear"))]
    | Annotated[ConstantBackoff, Tag(tag("constant"))]
    | Annotated[LoadRegister, Tag(tag("load_register"))]
    | Annotated[PythonBackoff, Tag(tag("python"))],
    choice(
        *("exponential", "linear", "constant", "load_register", "python"), allowed=_ALLOWED_BACKOFF
    ),
]
"""How a station waits after a collision."""


def check_saturation(
    arrivals: Arrivals | None, queue: int | None, generator: Generator | None, faults: Faults
) -> None:
    """Find keys that do not fit saturated arrivals, or only these."""
    if queue is not None and (arrivals == "saturated" or isinstance(arrivals, TokenBucketSource)):
        allowed = "not allowed with saturated arrivals or a token bucket, which have no queue"
        faults.add(("queue",), queue, allowed)
    if arrivals != "saturated" and generator is not None:
        faults.add(("generator",), "a generator", 'allowed with arrivals = "saturated" only')


def arrivals_plan(arrivals: Arrivals) -> scenario.Arrivals:
    """Return arrivals that depend on no load as in a plan."""
    match arrivals:
        case Poisson(poisson=mean_ps):
            return scenario.PoissonArrivals(mean_ps=float(mean_ps))
        case Regular(regular=period_ps, phase=phase, jitter=jitter_ps):
            phase_ps = phase if isinstance(phase, int) else None
            return scenario.RegularArrivals(
                period_ps=period_ps, phase_ps=phase_ps, jitter_ps=jitter_ps or None
            )
        case OnOff(on_off=times):
            return scenario.OnOffArrivals(
                period_ps=times.period, on_mean_ps=float(times.on), off_mean_ps=float(times.off)
            )
        case TokenBucketSource(token_bucket=bucket):
            return scenario.TokenBucketArrivals(
                rate_bps=bucket.rate, burst_octets=bucket.burst, phase_ps=bucket.phase or None
            )
        case PythonSource(python=name):
            return scenario.PythonArrivals(function=functions.planned("source", name))
        case _:
            return scenario.SaturatedArrivals()


def trace_of(arrivals: Arrivals | None, files: TraceFiles) -> Trace | None:
    """Return the trace that a source replays, None of others; InputError as of its file."""
    if not isinstance(arrivals, TraceSource):
        return None
    return files.trace(arrivals.trace, (arrivals.source, arrivals.to))


def trace_sizes(
    trace: Trace | None, source: Arrivals | None, given: Mapping[str, object], faults: Faults
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
    if isinstance(source.offset, int) and source.offset > last_ps:
        last = units.decimal_text(Fraction(last_ps, 10**6))
        allowed = f"expected at most the time of its last message, {last} us"
        raise faults.error(("arrivals", "offset"), f"{source.offset} ps", allowed)
    return trace.arrivals(
        repeat_ps=repeat_ps or None,
        offset_ps=source.offset if isinstance(source.offset, int) else None,
        speed=float(source.speed),
    )


def generator_plan(generator: Generator | None) -> scenario.Generator | None:
    """Return a generator as in a plan."""
    if generator is None:
        return None
    return scenario.Generator(buffers=generator.buffers, time=times_plan(generator.time))


def times_plan(times: Times) -> scenario.Times:
    """Return a distribution of times as in a plan."""
    match times:
        case Uniform(uniform=bounds):
            return scenario.UniformTimes(low_ps=bounds[0], high_ps=bounds[1])
        case Exponential(exponential=parameters):
            return scenario.ExponentialTimes(
                offset_ps=parameters.offset, mean_ps=float(parameters.mean)
            )
        case MeasuredTimes(measured=measured):
            return scenario.MeasuredTimes(
                values_ps=tuple(measured.values),
                weights=tuple(float(weight) for weight in measured.weights),
            )
        case Constant(constant=time_ps):
            return scenario.ConstantTimes(ps=time_ps)
        case _:
            return scenario.ConstantTimes(ps=times)


def backoff_plan(backoff: Backoff, *, limit: int) -> scenario.Backoff:
    """Return a backoff rule as in a plan; `limit` is that of the standard."""
    match backoff:
        case ExponentialBackoff(exponential=parameters):
            return scenario.ExponentialBackoff(limit=parameters.limit)
        case LinearBackoff(linear=parameters):
            return scenario.LinearBackoff(limit=parameters.limit)
        case ConstantBackoff(constant=range_):
            return scenario.ConstantBackoff(slots=range_.slots)
        case LoadRegister(load_register=register):
            return scenario.LoadRegisterBackoff(
                bits=register.bits, clock_ps=register.clock, ticks=register.ticks
            )
        case PythonBackoff(python=name):
            return scenario.PythonBackoff(function=functions.planned("backoff", name))
        case "none":
            return scenario.NoneBackoff()
        case _:
            return scenario.ExponentialBackoff(limit=limit)
