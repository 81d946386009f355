"""Lists of commands in the help: by group, one line of at most 80 columns each."""

from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

Groups = Mapping[str, Mapping[str, str]]
"""Heading of a group → name of a command → what the command does."""


def epilog(examples: str) -> str:
    """Return examples as the end of a help, their lines as they are."""
    return "Examples:\n\n\b\n" + examples  # \b tells the help formatter not to wrap


def group(name: str, about: str, groups: Groups, *, examples: str) -> typer.Typer:
    """Return an application whose help has its commands in these groups, in this order.

    Raises
    ------
    KeyError
        When the help is shown, if a command is registered without a line.

    """

    class Grouped(TyperGroup):
        # `Any`: from which package Typer takes these types differs between its versions.
        def list_commands(self, ctx: Any) -> list[str]:
            return [name for group in groups.values() for name in group]

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            if missing := set(self.commands) - set(self.list_commands(ctx)):
                raise KeyError(f"no help line for {', '.join(sorted(missing))}")
            width = max(map(len, self.commands))
            for heading, group in groups.items():
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text) for name, text in group.items()])

    # Plain help: without Rich it comes in half the time, and it can be copied from.
    return typer.Typer(
        name=name,
        cls=Grouped,
        help=about,
        epilog=epilog(examples),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
