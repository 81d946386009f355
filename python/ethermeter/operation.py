"""Operations: functions with their options as a frozen dataclass.

From the dataclass come the signature of the function in Python and the options of the command.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    get_args,
    get_type_hints,
)

if TYPE_CHECKING:
    from ethermeter.execution import Progress

P = ParamSpec("P")
O = TypeVar("O")  # noqa: E741  # options
A = TypeVar("A")  # answer


@dataclass(frozen=True, slots=True)
class Argument:
    """What a field of options is; metadata of its type, as in `Annotated[str, Argument(…)]`.

    Parameters
    ----------
    about
        A sentence: what it is, with its unit, and what holds unless it is given.
    metavar
        What a person writes for it, such as "TIME".
    offers
        Kind of names that a shell completes it with: a function of `ethermeter.cli.completion`.
    least, most
        Ends of the range of an integer, both allowed.
    is_setting
        Whether it is written NAME=VALUE in a command, as keys are in files: for questions of which
        each kind has settings of its own.
    is_hidden
        Whether helps leave it out: for programs of this package.

    """

    about: str
    metavar: str = ""
    offers: str = ""
    least: int | None = None
    most: int | None = None
    is_setting: bool = False
    is_hidden: bool = False


class Shown(Protocol):
    """Progress that is shown."""

    def __call__(self, progress: "Progress") -> None:
        """Show how far a run is."""

    def count(self, done: int, of: int, *, text: str = "") -> None:
        """Show that `done` of `of` steps of equal duration are done; `text` replaces the counts."""

    def show(self, share: float, done: str, remaining_s: float | None) -> None:
        """Show the share that is done, 0 to 1, in words too, and the time that is left [s]."""


class Display(Protocol):
    """Where an operation shows how far it is, and what a person should know besides the answer."""

    @property
    def command(self) -> Sequence[str]:
        """The words by which the operation was called, for the provenance of a run."""

    def progress(self, title: str, *, pieces: str = "trials") -> AbstractContextManager[Shown]:
        """Show progress while the block lasts; `pieces`: what is counted."""

    def activity(self, title: str) -> AbstractContextManager[Callable[[str], None]]:
        """Show an activity of unknown duration; the function names the next one."""

    def say(self, line: str) -> None:
        """Show a line."""

    def part(self, part: object) -> None:
        """Show a part of the answer, as soon as it is known."""


class Silence:
    """A display that shows nothing, of operations called in Python."""

    @property
    def command(self) -> Sequence[str]:
        """The words by which Python was called."""
        return ("python", *sys.argv)

    @contextmanager
    def progress(self, title: str, *, pieces: str = "trials") -> Iterator[Shown]:
        """Show nothing."""
        yield self

    @contextmanager
    def activity(self, title: str) -> Iterator[Callable[[str], None]]:
        """Show nothing."""
        yield self.say

    def say(self, line: str) -> None:
        """Show nothing."""

    def part(self, part: object) -> None:
        """Show nothing."""

    def __call__(self, progress: "Progress") -> None:
        """Show nothing."""

    def count(self, done: int, of: int, *, text: str = "") -> None:
        """Show nothing."""

    def show(self, share: float, done: str, remaining_s: float | None) -> None:
        """Show nothing."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[O, A]):
    """The parts of a function that `operation` made: its options, and what it does with them."""

    options: type[O]
    answer: Callable[[O, Display], A]


_OPERATIONS: dict[Callable[..., Any], Operation[Any, Any]] = {}


def operation(
    options: Callable[P, O],
) -> Callable[[Callable[[O, Display], A]], Callable[P, A]]:
    """Make a function of options a function that takes their fields as arguments.

    Parameters
    ----------
    options
        A frozen dataclass; the type of each field has an `Argument` as metadata. Fields before
        `KW_ONLY` can be given by position.

    Examples
    --------
    >>> from typing import Annotated
    >>> @dataclass(frozen=True, slots=True)
    ... class Doubling:
    ...     number: Annotated[int, Argument("A number.", "N")]
    >>> @operation(Doubling)
    ... def double(options: Doubling, display: Display) -> int:
    ...     return 2 * options.number
    >>> double(21)
    42

    """

    def made(answer: Callable[[O, Display], A]) -> Callable[P, A]:
        def function(*args: P.args, **kwargs: P.kwargs) -> A:
            given = inspect.signature(options).bind(*args, **kwargs).arguments
            return answer(kind(**_with_paths(kind, given)), Silence())

        assert isinstance(options, type), "a dataclass"
        kind: Any = options
        for name in ("__name__", "__qualname__", "__module__"):
            setattr(function, name, getattr(answer, name))
        setattr(function, "__signature__", inspect.signature(options))  # noqa: B010
        function.__doc__ = _documented(answer, options)
        _OPERATIONS[function] = Operation(options, answer)
        return function

    return made


def _with_paths(options: type, given: Mapping[str, object]) -> dict[str, object]:
    """Return arguments in which texts that name files are paths."""
    found = dict(given)
    for field, kind, _ in arguments_of(options):
        value, kinds = found.get(field.name), get_args(kind) or (kind,)
        if isinstance(value, str) and Path in kinds and str not in kinds:
            found[field.name] = Path(value)
        elif isinstance(value, list | tuple) and kinds == (Path,):
            found[field.name] = tuple(map(Path, value))
    return found


def operation_of(function: Callable[..., A]) -> Operation[Any, A]:
    """Return the options and the answer of a function that `operation` made."""
    return _OPERATIONS[function]


def arguments_of(options: type) -> Iterator[tuple[Field[Any], Any, Argument]]:
    """Yield the fields of a dataclass of options: each with its type, and what it is."""
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        kind = hints[field.name]
        (argument,) = (each for each in kind.__metadata__ if isinstance(each, Argument))
        yield field, kind.__origin__, argument


def is_required(field: Field[Any]) -> bool:
    """Whether a field has no value unless one is given."""
    return field.default is MISSING and field.default_factory is MISSING


def _documented(answer: Callable[..., object], options: type) -> str:
    """Return the docstring of an operation, with its parameters before other sections."""
    text = inspect.cleandoc(answer.__doc__ or "")
    parameters = "\n".join(
        f"{field.name}\n    {argument.about}" for field, _, argument in arguments_of(options)
    )
    head, mark, rest = text.partition("\n\nRaises\n------")
    listed = f"\n\nParameters\n----------\n{parameters}\n" if parameters else ""
    return f"{head}{listed}{mark.removeprefix(chr(10)) if mark and listed else mark}{rest}"
