"""Admission of calls that come and go, from a run that varies the number of calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethermeter.calls.admission import ByCalls, Outcome, Thresholds, outcomes, read
from ethermeter.faults import InputError
from ethermeter.theory.entry import KEY, Model, Output, Symbol
from ethermeter.voice import PATTERNS, arguments, heard


@dataclass(frozen=True, slots=True)
class Count:
    """What a host does that counts calls."""

    listen_s: float  # How long it listens [s]
    pattern: str  # Pattern of talk spurts by which it hears calls
    heard: float  # Probability that it hears an active call


@dataclass(frozen=True, slots=True)
class Load:
    """What a host does that measures the load."""

    listen_s: float  # How long it listens [s]
    threshold: float  # Load below which it begins its call


@dataclass(frozen=True, slots=True)
class Calls:
    """What the run has for a number of calls, simulated or between two that were."""

    calls: int
    # loss, loss_low, loss_high: Share of the samples that is lost, and its 95% interval
    loss: float
    loss_low: float
    loss_high: float
    # load, deviation: Mean load that a host measures, and its standard deviation
    load: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Admission:
    """What each rule of admission makes of calls offered, with the loss of a run."""

    run: str  # Its directory
    series: str  # Which series of it
    limit: float  # Largest acceptable loss of samples
    most: int  # Calls that may be active
    count: Count
    load: Load
    simulated: tuple[int, ...]  # Numbers of calls that were simulated
    from_the_start: bool  # Whether the run measures from before all stations have begun
    calls: tuple[Calls, ...]  # What each number of calls is worth, from 0
    units: Mapping[str, str]
    outcomes: tuple[Outcome, ...]  # For each load offered, what each rule makes of it

    @property
    def largest(self) -> int:
        """The largest number of calls that was simulated."""
        return self.simulated[-1]


def admission(
    *,
    run: str,
    offered: Sequence[float],
    limit: float = 0.01,
    most: float | None = None,
    listen: float | None = None,
    pattern: str = "brady-1968",
    load: float | None = None,
    series: str | None = None,
    **keys: str,
) -> Admission:
    """Compute loss and blocking of calls with and without admission control.

    Arguments are those of the catalogue; `keys`: values of what the series varies besides.

    Raises
    ------
    InputError
        If the run has no such series, number of calls or load, or no number keeps the limit.

    """
    by_calls = read(Path(run), series=series, at=keys)
    talk = PATTERNS[pattern]
    listen_s = by_calls.window_s if listen is None else listen
    highest = _most(most, limit, by_calls)
    thresholds = Thresholds(
        limit=limit,
        most=highest,
        heard=float(heard(listen_s, talk_s=talk.talk_s, silence_s=talk.silence_s)),
        load=_threshold(load, highest, by_calls),
    )
    return Admission(
        run=run,
        series=by_calls.series,
        limit=limit,
        most=highest,
        count=Count(listen_s, pattern, thresholds.heard),
        load=Load(by_calls.window_s, thresholds.load),
        simulated=by_calls.simulated,
        from_the_start=by_calls.is_from_the_start,
        calls=tuple(
            Calls(number, *(float(getattr(by_calls, name)[number]) for name in _OF_CALLS))
            for number in range(by_calls.largest + 1)
        ),
        units={"offered": "erlang", "listen_s": "s"},
        outcomes=outcomes(offered, by_calls, thresholds),
    )


_OF_CALLS = ("loss", "loss_low", "loss_high", "load", "deviation")


def _most(most: float | None, limit: float, by_calls: ByCalls) -> int:
    """Return the number of calls that may be active, by the limit unless it is given."""
    largest = by_calls.largest
    if most is not None:
        if not 1 <= most <= largest:
            allowed = f"from 1 to {largest}, the largest number of stations of the run"
            raise InputError.of_argument("most", f"{most:g}", allowed)
        return int(most)
    if not by_calls.has_intervals:
        allowed = (
            f"a number from 1 to {largest}: fewer than three replications have no intervals of loss"
        )
        raise InputError.of_argument("most", "not given", allowed)
    if not (found := by_calls.most_within(limit)):
        allowed = (
            f"one that is kept with {by_calls.simulated[0]} calls, the fewest of the run, or most "
            "besides"
        )
        raise InputError.of_argument("limit", f"{limit:g}", allowed)
    return found


def _threshold(load: float | None, most: int, by_calls: ByCalls) -> float:
    """Return the load below which a call begins, that of the most calls unless it is given."""
    if load is None:
        return float(by_calls.load[most])
    least, highest = float(by_calls.load[0]), float(by_calls.load.max())
    if not least <= load <= highest:
        allowed = f"from {least:.4g} to {highest:.4g}, the mean loads of the run"
        raise InputError.of_argument("load", f"{load:g}", allowed)
    return load


ADMISSION = Model(
    "admission",
    "admission of calls that come and go, with the losses of a run",
    None,
    admission,
    (
        Symbol(
            "", "run that varies the number of voice stations", "a run directory", argument="run"
        ),
        Symbol(
            "a",
            "offered traffic, calls a second times their mean duration",
            arguments.ERLANGS,
            "erlang",
            argument="offered",
        ),
        Symbol(
            "",
            "largest acceptable loss of samples",
            arguments.SHARE,
            single=True,
            argument="limit",
            default=0.01,
        ),
        Symbol(
            "",
            "largest number of active calls; unless given, the largest at which the 95% interval "
            "of the loss is within the limit",
            arguments.CIRCUITS,
            single=True,
            argument="most",
            default=None,
        ),
        Symbol(
            "",
            "time for which a host listens that counts calls; that of the run's batches unless "
            "given, for which a host that measures load always listens",
            arguments.LISTEN_S,
            "s",
            single=True,
            argument="listen",
            default=None,
        ),
        Symbol(
            "",
            "pattern of talk spurts by which calls are heard",
            tuple(PATTERNS),
            single=True,
            argument="pattern",
            default="brady-1968",
        ),
        Symbol(
            "",
            "load below which a host that measures load begins a call; the mean load of most calls "
            "unless given",
            arguments.SHARE,
            single=True,
            argument="load",
            default=None,
        ),
        Symbol(
            "",
            "series to use, if several have voice",
            "a series of the run",
            argument="series",
            default=None,
        ),
        Symbol(
            "",
            "any key that the series varies besides the number of stations, by its name",
            "a value of the series",
            argument=KEY,
            default=None,
        ),
    ),
    (
        Output("", "which rule: none, central, count or load", field="rule"),
        Output("", "share of calls refused", field="blocking"),
        Output("", "mean number of active calls", field="mean_calls"),
        Output("", "share of call time with a loss above the limit", field="beyond_limit"),
        Output("", "mean loss over call time", field="mean_loss"),
        Output("", "share of time with more than most calls", field="over_most"),
        Output("", "share of calls that come with all calls of the run active", field="bound"),
    ),
    (),
    "a birth-death process of calls, with rates of admission by rule",
    "certain but for the patterns, each of which has its own",
    "calls that come with fewer active than the run has stations, but for 0.1%",
    data=tuple(PATTERNS.values()),
    most_points=10_000,
    is_whole=True,
)
