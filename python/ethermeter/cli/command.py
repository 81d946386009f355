"""A command: an operation, and how its answer is printed."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import click

from ethermeter.cli import former
from ethermeter.cli.guard import guarded, say
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

A = TypeVar("A")
Row = Mapping[str, object]
Form = Literal["text", "json", "csv"]
"""How an answer is printed."""


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
    former: Mapping[str, str] = field(default_factory=dict)

    def click(self, name: str, line: str) -> click.Command:
        """Return the command for Click; `line`: what it does, for the help of its group."""
        options = operation_of(self.function).options
        parameters = list(parameters_of(options))
        there = {"as_json": self.blocks, "as_csv": self.rows}
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
        options = operation.options(**given_fields(operation.options, given, settings))
        form: Form = "json" if as_json else "csv" if as_csv else "text"
        part = None if self.parts is None else self.parts(options, form)
        answer = operation.answer(options, Terminal(part))
        if as_json:
            output.print_values(self.plain(answer))
        elif as_csv and self.rows is not None:
            output.print_rows(self.rows(answer))
        elif self.blocks is not None:
            output.show(self.blocks(answer, options))
        code = 0 if self.end is None else self.end(answer, options)
        if code:
            raise click.exceptions.Exit(code)


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
