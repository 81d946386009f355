"""A command: an operation, and how its answer is printed."""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import click

from ethermeter.cli import former
from ethermeter.cli.guard import guarded, say, verdict
from ethermeter.cli.help import epilog
from ethermeter.cli.options import (
    given_fields,
    is_mapping,
    name_of,
    outputs,
    parameters_of,
    setting_of,
    settings_help,
)
from ethermeter.json_values import plain
from ethermeter.operation import Shown, arguments_of, operation_of

if TYPE_CHECKING:
    from ethermeter.analysis.checks import Check
    from ethermeter.analysis.row_checks import RowCondition

A = TypeVar("A")
Row = Mapping[str, object]
Form = Literal["text", "json", "csv"]
"""How an answer is printed."""


@dataclass(frozen=True, slots=True)
class Values(Generic[A]):
    """What `--fail-if` judges of an answer.

    Parameters
    ----------
    rows
        The values as rows of a table, each by column (`analysis.row_checks`).
    labels
        The columns that say of what a row is.
    names
        Names of the values, as far as they are known from the options alone; empty otherwise. It
        may refuse options whose answer has no values.
    elsewhere
        Which other answer has more values, where names are known from the options.
    folder
        The directory of the answer, into which files of the checks are written; None without.

    """

    rows: Callable[[A], Iterable[Row]]
    labels: tuple[str, ...] = ()
    names: Callable[[Any], Collection[str]] = lambda _: ()
    elsewhere: str = ""
    folder: Callable[[A, Any], Path | None] = lambda *_: None


@dataclass(frozen=True, slots=True)
class Command(Generic[A]):
    """A command.

    Parameters
    ----------
    function
        What it does: a function that `ethermeter.operation.operation` made. Its docstring is the
        help of the command.
    examples
        Lines that end its help.
    blocks
        What a terminal shows of an answer to these options: blocks of `ethermeter.blocks`. None of
        a command that has no answer, and therefore neither `--json` nor `--csv`.
    plain
        The answer as JSON values: its fields, of a dataclass.
    rows
        The answer as rows of a table, each by column; None if it is no table.
    values
        What `--fail-if` judges; None of a command without it, or whose operation has it.
    former
        What replaces options that the command had, by their names.
    parts
        What shows a part of the answer as soon as it is known: made from the options, and from the
        form of what is printed. It is called before anything is done, and may refuse the form.
    end
        Says what a person must know after the answer, on stderr, and returns the exit code.

    """

    function: Callable[..., A]
    examples: str
    blocks: Callable[[A, Any], Iterable[object]] | None = None
    plain: Callable[[A], object] = plain
    rows: Callable[[A], Iterable[Row]] | None = None
    parts: Callable[[Any, Form], Callable[[Any], None]] | None = None
    end: Callable[[A, Any], int] | None = None
    values: Values[A] | None = None
    former: Mapping[str, str] = field(default_factory=dict)

    def click(self, name: str, line: str) -> click.Command:
        """Return the command for Click; `line`: what it does, for the help of its group."""
        options = operation_of(self.function).options
        parameters = list(parameters_of(options))
        there = {"as_json": self.blocks, "as_csv": self.rows, "fail_if": self.values}
        parameters += [each for each in outputs() if there[str(each.name)] is not None]
        text = (self.function.__doc__ or "").partition("\n\nParameters\n------")[0]
        return _Command(
            name,
            function=self.function,
            settings=settings_help(options),
            former_options=self.former,
            params=parameters,
            callback=guarded(self._run, option=lambda field: typed(options, field)),
            help=text,
            short_help=line,
            epilog=epilog(self.examples),
        )

    def _run(
        self,
        *,
        as_json: bool = False,
        as_csv: bool = False,
        fail_if: Sequence[str] = (),
        settings: Sequence[str] | None = None,
        **given: object,
    ) -> None:
        from ethermeter.cli import output
        from ethermeter.faults import InputError

        if as_json and as_csv:
            raise InputError.of(
                "command line", "--csv", "given with --json", "expected one of them"
            )
        operation = operation_of(self.function)
        if self.values is None:  # the operation may have it
            given |= {"fail_if": fail_if} if fail_if else {}
        options = operation.options(**given_fields(operation.options, given, settings))
        conditions = self._conditions(fail_if, options)
        form: Form = "json" if as_json else "csv" if as_csv else "text"
        part = None if self.parts is None else self.parts(options, form)
        answer = operation.answer(options, Terminal(part))
        checks = self._checks(answer, conditions, options)
        if as_json:
            value = self.plain(answer)
            if checks:
                assert isinstance(value, dict), "what has values is no list"
                value = {**value, "checks": plain(checks)}
            output.print_values(value)
        elif as_csv and self.rows is not None:
            output.print_rows(self.rows(answer))
        elif self.blocks is not None:
            output.show([*self.blocks(answer, options), *_laid_out(checks)])
        code = 0 if self.end is None else self.end(answer, options)
        if code := code or verdict(checks):
            raise click.exceptions.Exit(code)

    def _conditions(self, texts: Sequence[str], options: object) -> "Sequence[RowCondition]":
        """Read conditions; refuse those on values that are known not to be there."""
        if self.values is None or not texts:
            return ()
        from ethermeter.analysis import row_checks

        found = row_checks.conditions_of(texts)
        if names := self.values.names(options):
            row_checks.require(found, names, elsewhere=self.values.elsewhere)
        return found

    def _checks(
        self, answer: A, conditions: "Sequence[RowCondition]", options: object
    ) -> "tuple[Check, ...]":
        """Judge conditions, and write the files of their checks."""
        if self.values is None or not conditions:
            return ()
        from ethermeter.analysis import row_checks
        from ethermeter.api.checks import write

        found = row_checks.checks(conditions, self.values.rows(answer), self.values.labels)
        folder = self.values.folder(answer, options)
        write(found, self.function.__name__ if folder is None else folder.name, folder)
        return found


def _laid_out(checks: "Sequence[Check]") -> Iterable[object]:
    """Return the blocks of checks; nothing of none, so that no layout is loaded for them."""
    if not checks:
        return ()
    from ethermeter.present.checks import checks as layout

    return layout(checks)


def typed(options: type, field: str) -> str:
    """Return how a field of options is written in a command: an option, or an argument's name."""
    takes_names = False
    for each, kind, argument in arguments_of(options):
        if each.name == field:
            if argument.is_setting:
                return setting_of(field)
            return name_of(field) if each.kw_only else argument.metavar or field
        takes_names = takes_names or is_mapping(kind)
    return field if takes_names else name_of(field)


class Terminal:
    """The display of commands: stderr, as a bar on a terminal and in lines elsewhere.

    `part`: what shows a part of the answer; None of commands whose answers have none.
    """

    def __init__(self, part: Callable[[Any], None] | None = None) -> None:
        self._part = part

    @property
    def command(self) -> Sequence[str]:
        """The words of the command."""
        return tuple(sys.argv)

    def progress(self, title: str, *, pieces: str = "trials") -> AbstractContextManager[Shown]:
        """Show progress while the block lasts."""
        from ethermeter.cli.progress import ProgressDisplay

        return ProgressDisplay(title, pieces=pieces)

    def activity(self, title: str) -> AbstractContextManager[Callable[[str], None]]:
        """Show an activity of unknown duration while the block lasts."""
        from ethermeter.cli.progress import ActivityDisplay

        return ActivityDisplay(title)

    def say(self, line: str) -> None:
        """Print a line on stderr."""
        say(line)

    def part(self, part: object) -> None:
        """Show a part of the answer."""
        if self._part is not None:
            self._part(part)


class _Command(click.Command):
    """A command whose help has its settings, and that refuses options of former names."""

    def __init__(
        self,
        name: str,
        *,
        function: Callable[..., object],
        settings: Sequence[tuple[str, str]],
        former_options: Mapping[str, str],
        **attributes: Any,
    ) -> None:
        super().__init__(
            name, context_settings={"help_option_names": ["-h", "--help"]}, **attributes
        )
        self.function = function
        self.settings = settings
        self._former = former_options

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command; refuse options of former names."""
        if not ctx.resilient_parsing:  # as for completion
            known = {name for each in self.params for name in (*each.opts, *each.secondary_opts)}
            former.refuse(args, known, self._former)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write settings and options."""
        if self.settings:
            with formatter.section("Settings"):
                formatter.write_dl(list(self.settings))
        super().format_options(ctx, formatter)


def settings_of(command: click.Command) -> Sequence[tuple[str, str]]:
    """Return the settings of a command: each as it is written, and what it is."""
    return command.settings if isinstance(command, _Command) else ()


def function_of(command: click.Command) -> Callable[..., object]:
    """Return the function in Python that a command calls."""
    assert isinstance(command, _Command), "made from an operation"
    return command.function
