"""What the catalogue says of a model."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ethermeter.arguments import Range
from ethermeter.theory.arguments import UNSTABLE


class Aspect(StrEnum):
    """What models, and experiments, differ in. Every model says something of each."""

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
    """A field of what a model gives.

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
        What its last axis counts, if it has one more than the arguments; else empty.

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
        What computes it.
    symbols, outputs
        What it takes and gives.
    assumptions
        One for every aspect, in the order of `Aspect`.
    source
        The paper.
    confidence
        How sure the mathematics is, and how sure it is the paper's.
    validity
        Where it holds.
    notes
        What else to know before it is used.

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


WHEN_UNSTABLE = Symbol(
    "unstable", "", "", "what happens where the delay has no limit", UNSTABLE, "error"
)

NOT_MODELLED = {"gap": "none", "preamble": "none; may be counted into the packet"}
"""What no model of the time has."""
TOBAGI_HUNT = "F. A. Tobagi, V. B. Hunt, Performance analysis of carrier sense multiple access with collision detection, Computer Networks 4(5), 1980"
EQUALLY_FAR = "all stations one propagation time apart"
POISSON_INFINITE = {
    "population": "infinite",
    "arrivals": "Poisson, new and repeated together",
    "buffers": "none: each packet is a station of its own",
}
