"""An entry of the catalogue: a model, its arguments, results and assumptions.

The annotations of a model's function, and of the fields of its result, say what each means; the
decorator `catalogued` makes the entry of them, and completes the function's docstring.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Annotated, Any, Final, Protocol, TypeVar, get_type_hints

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, together
from ethermeter.theory.arguments import LOAD, PROPAGATION, UNSTABLE

Function = TypeVar("Function", bound=Callable[..., Any])


class Aspect(StrEnum):
    """An aspect in which models and experiments differ."""

    SLOTTING = "slotting"
    PERSISTENCE = "persistence"
    POPULATION = "population"
    ARRIVALS = "arrivals"
    RETRANSMISSION = "retransmission"
    COLLISION_LENGTH = "collision-length"
    TOPOLOGY = "topology"
    BUFFERS = "buffers"
    PACKET_LENGTHS = "packet-lengths"
    GAP = "gap"
    PREAMBLE = "preamble"
    SERVICE = "service"
    DISCIPLINE = "discipline"
    LOSSES = "losses"
    ACKNOWLEDGEMENTS = "acknowledgements"
    WINDOW = "window"


OF_MEDIA: Final = tuple(Aspect)[: tuple(Aspect).index(Aspect.SERVICE)]
"""Aspects of models of a shared medium; every such model has a text for each."""
OF_QUEUES: Final = (Aspect.ARRIVALS, Aspect.SERVICE, Aspect.DISCIPLINE, Aspect.BUFFERS)
"""The same of models of one queue …"""
OF_TRANSFERS: Final = (Aspect.WINDOW, Aspect.LOSSES, Aspect.ACKNOWLEDGEMENTS, Aspect.BUFFERS)
"""… and of transfers by TCP."""


REQUIRED: Final = "required"
KEY: Final = "KEY"
"""Argument that stands for every name with a dot: a key of an experiment file."""
MOST_POINTS: Final = 100_000
"""Points that a model is evaluated at in one call …"""
MOST_ROWS: Final = 2000
"""… and one that gives a row for each."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """An argument of a model."""

    symbol: str  # Its letter in formulas; empty if it has none
    meaning: str  # What it is
    # Its range, or the words it may be, where a flag is true or false; or what text it is
    allowed: Range | tuple[str, ...] | str
    # s, bit, bit/s, 1/s, slots, packet times; empty for numbers without one, and for words
    unit: str = ""
    row: bool = False  # Whether a mix gives a row of them
    always: bool = False  # Whether values are shown with it even where it is the same for all
    single: bool = False  # Whether it takes one value only
    also: str = ""  # Another name by which it can be given: that of a function behind the model's
    # argument, default: Its name in the function, and its value unless given, `REQUIRED` if there
    # is none; both of the function's signature
    argument: str = ""
    default: str | float | bool | None = REQUIRED

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return isinstance(self.default, str) and self.default == REQUIRED

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false."""
        return isinstance(self.default, bool)

    @property
    def range(self) -> str:
        """What is allowed, in words."""
        return " or ".join(self.allowed) if isinstance(self.allowed, tuple) else str(self.allowed)


@dataclass(frozen=True, slots=True)
class Output:
    """A field of the result of a model."""

    # symbol, meaning, unit: As for `Symbol`
    symbol: str
    meaning: str
    unit: str = ""
    # Meaning of its last axis, if it has one more axis than the arguments; else empty
    axis: str = ""
    field: str = ""  # Its name, of the class of the result


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a model assumes in one aspect."""

    key: Aspect
    text: str


class Datum(Protocol):
    """Numbers that a model takes by their name, such as those of a codec."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def source(self) -> str:
        """Where the numbers come from."""

    @property
    def confidence(self) -> str:
        """How sure they are."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the catalogue.

    `name` is its function's name with hyphens. `year` is None of a model that no publication
    stands for. `assumptions` has one for every aspect of what it is a model of, in their order.
    `confidence` is that in the mathematics, and in its identity with the paper's; `validity` says
    where the model holds. `function` takes arrays with one value a point, and what has one value
    for all, by the names of the symbols. `is_whole`: it takes everything that is given as it is
    instead, and returns the answer.
    """

    name: str
    title: str
    year: int | None
    function: Callable[..., Any]
    symbols: tuple[Symbol, ...]
    outputs: tuple[Output, ...]
    assumptions: tuple[Assumption, ...]
    source: str
    confidence: str
    validity: str
    notes: tuple[str, ...] = ()
    data: tuple[Datum, ...] = ()  # Numbers that it knows by names
    most_points: int = MOST_POINTS
    is_whole: bool = False

    def symbol(self, argument: str) -> Symbol | None:
        """Return the argument of that name, if there is one."""
        names = (argument, KEY) if "." in argument else (argument,)
        return next((each for each in self.symbols if {each.argument, each.also} & {*names}), None)


def catalogued(
    title: str,
    assumed: dict[str, str],
    *,
    source: str,
    confidence: str,
    validity: str,
    notes: tuple[str, ...] = (),
    aspects: tuple[Aspect, ...] = OF_MEDIA,
) -> Callable[[Function], Function]:
    """Return a decorator that gives a model's function its entry of the catalogue.

    `assumed` has a text for each of `aspects`, by its name with underscores. The arguments, the
    results and the source are appended to the docstring.
    """

    def decorated(function: Function) -> Function:
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function).parameters
        result = get_type_hints(hints["return"], include_extras=True)
        year = re.search(r"_(\d{4})", function.__name__)
        assert year, "a model's function is named for its authors and year"
        outputs = tuple(
            replace(result[field.name].__metadata__[0], field=field.name)
            for field in fields(hints["return"])
            if field.name != "outside_range"
        )
        entry = Model(
            function.__name__.replace("_", "-"),
            title,
            int(year[1]),
            function,
            tuple(
                replace(
                    hints[name].__metadata__[0],
                    argument=name,
                    default=REQUIRED if given.default is given.empty else given.default,
                )
                for name, given in signature.items()
            ),
            outputs,
            tuple(Assumption(aspect, assumed[aspect.replace("-", "_")]) for aspect in aspects),
            source,
            confidence,
            validity,
            notes,
            most_points=MOST_ROWS if any(each.axis for each in outputs) else MOST_POINTS,
        )
        function.__doc__ = _documented(entry)
        vars(function)["entry"] = entry
        # What an argument is says the docstring; types of arrays would be a page of their own.
        bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.values()]
        vars(function)["__signature__"] = inspect.Signature(bare)
        return function

    return decorated


def _documented(entry: Model) -> str:
    """Return the docstring of a model with its arguments, results and source."""

    def item(name: str, given: Symbol | Output, allowed: str = "") -> str:
        lettered = f"{given.symbol}, {given.meaning}" if given.symbol else given.meaning
        return f"{name}\n    {lettered}{f' [{given.unit}]' if given.unit else ''}{allowed}."

    sections = {
        "Parameters": [item(each.argument, each, f"; {each.range}") for each in entry.symbols],
        "Returns": [
            ":\n    Of the broadcast shape of the arguments, with the fields:",
            *(item(each.field, each) for each in entry.outputs),
            f"outside_range\n    Where the assumptions do not hold. Validity: {entry.validity}.",
        ],
        "Raises": [
            "ArgumentError\n    If an argument is out of its range, the shapes do not broadcast, or"
            ' a queue is not\n    stable and `unstable` is "error".'
        ],
        "Source": [f"{entry.source}."],
    }
    return "\n".join(
        [inspect.getdoc(entry.function) or ""]
        + ["\n".join(["", name, "-" * len(name), *lines]) for name, lines in sections.items()]
    )


def entry_of(function: Callable[..., Any]) -> Model:
    """Return the entry that `catalogued` gave a function."""
    entry = vars(function)["entry"]
    assert isinstance(entry, Model)
    return entry


def read(function: Callable[..., Any], **given: Numbers) -> tuple[Array, ...]:
    """Check arguments of a model against their ranges and bring them to one shape.

    Raises
    ------
    ArgumentError
        If one is out of its range, or their shapes do not broadcast.

    """
    entry = entry_of(function)
    ranges = {symbol.argument: symbol.allowed for symbol in entry.symbols}
    ranged = {}
    for name, value in given.items():
        allowed = ranges[name]
        assert isinstance(allowed, Range)
        ranged[name] = value, allowed
    return together(entry.name, **ranged)


def padded(rows: Sequence[Sequence[float] | Array], shape: tuple[int, ...]) -> Array:
    """Return rows of a result as one array with an axis more, filled up with NaN."""
    filled = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
    for at, row in enumerate(rows):
        filled[at, : len(row)] = row
    return filled.reshape(*shape, filled.shape[1])


Unstable = Annotated[
    str, Symbol("", "result where the queue is not stable: an error, or NaN", UNSTABLE)
]
Load = Annotated[
    Numbers, Symbol("G", "attempts per packet time, new and repeated packets together", LOAD)
]
Propagation = Annotated[
    Numbers, Symbol("a", "one-way propagation delay over packet time", PROPAGATION)
]
ThroughputS = Annotated[Array, Output("S", "fraction of time in which successful packets are sent")]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Throughput against load."""

    throughput: ThroughputS
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay against arrival rate; NaN and outside the range where the queue is not stable."""

    delay_s: Annotated[Array, Output("t_f", "mean time from arrival to the end of reception", "s")]
    utilisation: Annotated[Array, Output("S", "arrival rate times mean packet time")]
    outside_range: Flags


NOT_MODELLED = {"gap": "none", "preamble": "none; may be counted as part of the packet"}
"""Aspects that no model of that time includes."""
EQUALLY_FAR = "all stations one propagation time apart"
POISSON_INFINITE = {
    "population": "infinite",
    "arrivals": "Poisson, new and repeated together",
    "buffers": "none: each packet is a station of its own",
}
STABLE_RETRANSMISSION = "at a stable rate, which is part of the load"
