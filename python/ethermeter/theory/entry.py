"""An entry of the catalogue: a model, its arguments, results and assumptions."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ethermeter.arguments import Array, Flags, Range
from ethermeter.theory.arguments import LOAD, PROPAGATION, UNSTABLE


class Aspect(StrEnum):
    """An aspect in which models and experiments differ; every model has a text for each."""

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


REQUIRED: Final = "required"


@dataclass(frozen=True, slots=True)
class Symbol:
    """An argument of a model.

    Parameters
    ----------
    argument
        Its name in the function.
    symbol
        Its letter in formulas; empty if it has none.
    unit
        s, bit, bit/s, 1/s, slots, packet times; empty for numbers without one, and for words.
    meaning
        What it is.
    allowed
        Its range, or the words it may be; a flag is true or false.
    default
        Its value unless given; `REQUIRED` if there is none.
    row
        Whether a mix gives a row of them.

    """

    argument: str
    symbol: str
    unit: str
    meaning: str
    allowed: Range | tuple[str, ...]
    default: str | float | bool | None = REQUIRED
    row: bool = False

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
        return str(self.allowed) if isinstance(self.allowed, Range) else " or ".join(self.allowed)


@dataclass(frozen=True, slots=True)
class Output:
    """A field of the result of a model.

    Parameters
    ----------
    field
        Its name.
    symbol
        Its letter in formulas; empty if it has none.
    unit
        As for `Symbol`.
    meaning
        What it is.
    axis
        Meaning of its last axis, if it has one more axis than the arguments; else empty.

    """

    field: str
    symbol: str
    unit: str
    meaning: str
    axis: str = ""


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a model assumes in one aspect."""

    key: Aspect
    text: str


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the catalogue.

    Parameters
    ----------
    name
        Its function's name with hyphens.
    title
        What it is.
    year
        Of the paper.
    function
        Its function.
    symbols, outputs
        Its arguments and the fields of its result.
    assumptions
        One for every aspect, in the order of `Aspect`.
    source
        The paper.
    confidence
        Confidence in the mathematics, and in its identity with the paper's.
    validity
        Where it holds.
    notes
        Further warnings.

    """

    name: str
    title: str
    year: int
    function: Callable[..., Any]
    symbols: tuple[Symbol, ...]
    outputs: tuple[Output, ...]
    assumptions: tuple[Assumption, ...]
    source: str
    confidence: str
    validity: str
    notes: tuple[str, ...] = ()

    def symbol(self, argument: str) -> Symbol | None:
        """Return the argument of that name, if there is one."""
        return next((symbol for symbol in self.symbols if symbol.argument == argument), None)


def assuming(**texts: str) -> tuple[Assumption, ...]:
    """Return assumptions in the order of the aspects; keywords are aspects with underscores.

    None may be missing.
    """
    return tuple(Assumption(aspect, texts[aspect.replace("-", "_")]) for aspect in Aspect)


@dataclass(frozen=True, slots=True)
class Throughput:
    """Result of a model of throughput against load.

    Parameters
    ----------
    throughput
        S, fraction of time in which packets that succeed are sent; from 0 to 1.
    outside_range
        Where the model's own assumptions do not hold.

    """

    throughput: Array
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class Delay:
    """Result of a model of delay against arrival rate.

    Parameters
    ----------
    delay_s
        Mean time from the arrival of a packet to the end of its reception [s].
    utilisation
        Arrival rate times mean packet time: the fraction of time in which packets are sent.
    outside_range
        Where the model's own assumptions do not hold, or the queue is not stable (NaN).

    """

    delay_s: Array
    utilisation: Array
    outside_range: Flags


WHEN_UNSTABLE = Symbol(
    "unstable", "", "", "behaviour where the queue is not stable", UNSTABLE, "error"
)

LOAD_G = Symbol("load", "G", "", "attempts a packet time, new and repeated", LOAD)
PROPAGATION_A = Symbol("propagation", "a", "", "one-way propagation over packet time", PROPAGATION)
THROUGHPUT_S = Output(
    "throughput", "S", "", "fraction of time in which packets that succeed are sent"
)

NOT_MODELLED = {"gap": "none", "preamble": "none; may be counted into the packet"}
"""Aspects that no model of that time includes."""
EQUALLY_FAR = "all stations one propagation time apart"
POISSON_INFINITE = {
    "population": "infinite",
    "arrivals": "Poisson, new and repeated together",
    "buffers": "none: each packet is a station of its own",
}
