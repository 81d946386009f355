"""The catalogue: every model of theory and of voice, what each takes and gives, and its source."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ethermeter.faults import ARGUMENTS, Fault, InputError, choices
from ethermeter.models import voice
from ethermeter.models.admission import ADMISSION, Admission
from ethermeter.models.evaluation import Evaluation, evaluate, refuse_many
from ethermeter.models.values import read, written
from ethermeter.theory import catalogue as theory
from ethermeter.theory.entry import Datum, Model, Output


@dataclass(frozen=True, slots=True)
class Title:
    """A model in the list of all."""

    name: str
    title: str
    year: int | None  # None of a model that no publication stands for


@dataclass(frozen=True, slots=True)
class Argument:
    """What a model takes."""

    argument: str  # Its name
    symbol: str  # Its letter in formulas
    unit: str
    meaning: str
    range: str  # What is allowed
    required: bool
    default: str | float | bool | None


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of a model."""

    name: str
    title: str
    year: int | None
    symbols: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    assumptions: Mapping[str, str]  # By what they are about
    validity: str
    confidence: str
    source: str
    notes: tuple[str, ...]
    data: tuple[Datum, ...]  # Numbers that it knows by names, such as those of codecs


def models() -> dict[str, Model]:
    """Return the models by name: those of theory, then those of voice."""
    return {**theory.models(), **voice.models(), ADMISSION.name: ADMISSION}


def model(name: str) -> Model:
    """Return the model of that name.

    Raises
    ------
    InputError
        If there is none.

    """
    known = models()
    if name not in known:
        raise InputError.of_argument("name", name, choices(name, known))
    return known[name]


def titles() -> tuple[Title, ...]:
    """Return the models as a list."""
    return tuple(Title(name, entry.title, entry.year) for name, entry in models().items())


def described(entry: Model) -> Description:
    """Return what is known of a model."""
    return Description(
        entry.name,
        entry.title,
        entry.year,
        tuple(
            Argument(
                of.argument,
                of.symbol,
                of.unit,
                of.meaning,
                of.range,
                of.required,
                None if of.required else of.default,
            )
            for of in entry.symbols
        ),
        entry.outputs,
        {str(assumption.key): assumption.text for assumption in entry.assumptions},
        entry.validity,
        entry.confidence,
        entry.source,
        entry.notes,
        entry.data,
    )


def answer(entry: Model, given: Mapping[str, object]) -> Evaluation | Admission:
    """Return what a model gives for values of its arguments.

    Raises
    ------
    InputError
        If an argument is not one of the model's or has no value there; every fault at once.

    """
    if not entry.is_whole:
        return evaluate(entry, given)
    values = read(entry, given)
    refuse_many(entry, values)
    try:
        found: Admission = entry.function(**values)
    except InputError as error:
        raise InputError(_as_given(fault, given) for fault in error.faults) from None
    return found


def _as_given(fault: Fault, given: Mapping[str, object]) -> Fault:
    """Return a fault of an argument with its value as it was written."""
    is_given = fault.file == ARGUMENTS and fault.key in given and fault.value != "not given"
    return replace(fault, value=written(given[fault.key])) if is_given else fault
