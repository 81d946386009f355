"""Searching the largest or smallest value with which conditions hold."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Annotated

from ethermeter.api.arguments import Force, Jobs, On, Out, Overrides, ReadExperiment
from ethermeter.faults import ARGUMENTS, InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.value_search import SearchAnswer
    from ethermeter.api.runs import Found
    from ethermeter.engines.live import Place
    from ethermeter.search import Question

Key = str | None
End = str | int | float | None


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """Options of `value`."""

    experiment: ReadExperiment
    _: KW_ONLY
    largest: Annotated[
        Key,
        Argument(
            "Key whose largest value is wanted, such as flows.load.arrivals.poisson_load.",
            "KEY",
            "keys",
        ),
    ] = None
    smallest: Annotated[
        Key,
        Argument(
            "Key whose smallest value is wanted, such as network.switches.s.queue.", "KEY", "keys"
        ),
    ] = None
    first: Annotated[End, Argument("First value of the range.", "VALUE", is_setting=True)] = None
    last: Annotated[End, Argument("Last value of the range.", "VALUE", is_setting=True)] = None
    step: Annotated[
        End,
        Argument(
            "Distance between tried values; unless given 1 for integers, else a hundredth of the "
            "range.",
            "VALUE",
            is_setting=True,
        ),
    ] = None
    conditions: Annotated[
        Sequence[str],
        Argument(
            "Condition that must hold: 'loss <= 0.1%' for each flow, 'call: one_way_delay.p99 <= "
            "20 ms' for one, 'together: data_rate >= 90 Mb/s' for all. Can be given several times.",
            "CONDITION",
            "conditions",
        ),
    ] = ()
    engine: Annotated[
        str | None,
        Argument(
            "Engine that answers: simulation, theory/MODEL, idealised/MODEL or live; simulation "
            "unless given.",
            "NAME",
            "engines",
        ),
    ] = None
    confidence: Annotated[
        str | float | None,
        Argument(
            "Probability that the answer lies between the stated values; 95% unless given.",
            "SHARE",
            is_setting=True,
        ),
    ] = None
    on: On = None
    overrides: Overrides = ()
    jobs: Jobs = None
    out: Out = None
    force: Force = False


@operation(ValueOptions)
def value(options: ValueOptions, display: Display) -> "Found[SearchAnswer]":
    """Find the largest or smallest value of a key with which conditions hold.

    The table [search] of the file may have the question and the range; its key replications is the
    largest number of trials of one value. Exit code 0 if the answer is known to one step, 1 if it
    stays undecided or the conditions hold for no value of the range, 2 for invalid input.

    Raises
    ------
    InputError
        With every fault of the question, or if the directory has something else in it.
    RunError, TrialError
        If results cannot be written, or a trial broke off.

    """
    from ethermeter.analysis.value_search import SearchAnswer
    from ethermeter.api.runs import found_by
    from ethermeter.execution import Execution
    from ethermeter.strategies.search import ValueSearch

    place = _place(options)
    question = _question(options, is_measured=place is not None)
    execution = Execution(
        jobs=options.jobs, force=options.force, command=display.command, seed=question.seed
    )
    return found_by(
        ValueSearch(question),
        SearchAnswer,
        execution,
        out=options.out,
        place=place,
        display=display,
    )


def _place(options: ValueOptions) -> "Place | None":
    """Return where is measured; None if nothing is."""
    from ethermeter.api.venues import place_of, venue_of
    from ethermeter.trial import LIVE

    if options.on is None:
        if options.engine == LIVE:
            raise _missing_place()
        return None
    if options.engine not in (None, LIVE):
        allowed = f"{LIVE}, or none, where a place to measure is given"
        raise InputError.of_argument("engine", str(options.engine), allowed)
    return place_of(venue_of(str(options.on)))


def _missing_place() -> InputError:
    allowed = "with engine live, where to measure: a file of hosts, testbed or loopback"
    return InputError.of_argument("on", "(missing)", allowed)


def _question(options: ValueOptions, *, is_measured: bool) -> "Question":
    """Read the question; `is_measured`: if it is said where."""
    from ethermeter.api.experiments import load
    from ethermeter.search import question_of
    from ethermeter.trial import LIVE

    conditions = options.conditions
    asked: Mapping[str, object] = {
        "largest": options.largest,
        "smallest": options.smallest,
        "from": _end(options.first),
        "to": _end(options.last),
        "step": _end(options.step),
        "while": ([conditions] if isinstance(conditions, str) else list(conditions)) or None,
        "engine": LIVE if is_measured else options.engine,
        "confidence": None if options.confidence is None else _share(options.confidence),
    }
    (experiment,) = load(options.experiment, overrides=options.overrides).experiments
    try:
        question = question_of(
            experiment, {key: each for key, each in asked.items() if each is not None}
        )
    except InputError as error:
        raise _by_fields(error) from None
    if question.engine == LIVE and not is_measured:
        raise _missing_place()
    return question


_FIELDS = {"from": "first", "to": "last", "while": "conditions"}
"""Fields by keys of the table `search` that are words of Python."""


def _by_fields(error: InputError) -> InputError:
    """Return faults of arguments by the names of fields."""
    return InputError(
        replace(fault, key=_FIELDS.get(name := fault.key.partition(".")[0], name))
        if fault.file == ARGUMENTS
        else fault
        for fault in error.faults
    )


def _end(given: End) -> object:
    """Return a value of a range as a file has it: a number, or a text with a unit."""
    from ethermeter.experiment.toml import value_of

    return value_of(given) if isinstance(given, str) else given


_PERCENT = re.compile(r"\s*([0-9.]+)\s*%\s*", re.ASCII)


def _share(given: str | float) -> float:
    found = _PERCENT.fullmatch(str(given))
    try:
        return float(found[1]) / 100 if found else float(given)
    except ValueError:
        raise InputError.of_argument(
            "confidence", str(given), 'a share such as "95%" or 0.95'
        ) from None
