"""Groups of commands: their help, and their functions, which are loaded when they are needed."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from ethermeter.cli.guard import guarded

# Plain help: without Rich it comes in half the time, and it can be copied from.
_application = partial(typer.Typer, rich_markup_mode=None, pretty_exceptions_enable=False)
Command = Any
"""A command of Click; from which package Typer takes its type differs between its versions."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of a group.

    Parameters
    ----------
    line
        What it does, on one line of the help.
    module
        Module of this package that has it.
    function
        Its function; empty if the module has a group of commands, `app`.
    examples
        Constant of the module with the lines that end its help.

    """

    line: str
    module: str
    function: str = ""
    examples: str = "EXAMPLES"

    def load(self, name: str) -> Command:
        """Return the command under this name; its module is imported."""
        module = import_module(f"ethermeter.cli.{self.module}")
        if not self.function:
            return self._described(typer.main.get_command(module.app))
        alone = _application(add_completion=False)
        register = alone.command(name, epilog=epilog(getattr(module, self.examples)))
        register(guarded(getattr(module, self.function)))
        return self._described(typer.main.get_command(alone))

    def _described(self, command: Command) -> Command:
        command.short_help = self.line  # for the completion of shells
        return command


Groups = Mapping[str, Mapping[str, Entry]]
"""Heading of a group → name of a command → the command."""


def epilog(examples: str) -> str:
    """Return examples as the end of a help, their lines as they are."""
    return "Examples:\n\n\b\n" + examples  # \b tells the help formatter not to wrap


class _Commands(MutableMapping[str, Command]):
    """Commands by their names; each is loaded when it is looked up."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._loaded: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._loaded:
            self._loaded[name] = self._entries[name].load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries


def group(
    name: str, about: str, groups: Groups, *, examples: str, has_completion: bool = False
) -> typer.Typer:
    """Return an application whose help has its commands in these groups, in this order.

    `has_completion` gives it the options that install the completion of a shell.
    """
    entries = {name: entry for group in groups.values() for name, entry in group.items()}

    class Grouped(TyperGroup):
        # `Any`: its types are those of the same package.
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _Commands(entries)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(entries)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            width = max(map(len, entries))
            for heading, group in groups.items():
                with formatter.section(heading):
                    formatter.write_dl(
                        [(name.ljust(width), entry.line) for name, entry in group.items()]
                    )

    app = _application(
        name=name,
        cls=Grouped,
        help=about,
        epilog=epilog(examples),
        no_args_is_help=True,
        add_completion=has_completion,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_nothing)
    return app


def _nothing() -> None:
    pass
