"""Groups of commands: their help, and their commands, which are loaded when they are needed."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from ethermeter.cli import former
from ethermeter.cli.guard import refused


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of a group.

    Parameters
    ----------
    line
        What it does, on one line of the help.
    module, constant
        Module of this package that has it, and its name there: a `Command`, or a `Group`.

    """

    line: str
    module: str
    constant: str = "COMMAND"

    def load(self, name: str) -> click.Command:
        """Return the command under this name; its module is imported."""
        found = getattr(import_module(f"ethermeter.cli.{self.module}"), self.constant)
        if isinstance(found, Group):
            found.short_help = self.line  # for the completion of shells
            return found
        return found.click(name, self.line)  # type: ignore[no-any-return]


Groups = Mapping[str, Mapping[str, Entry]]
"""Heading of a group → name of a command → the command."""


def epilog(examples: str) -> str:
    """Return examples as the end of a help, their lines as they are."""
    return "Examples:\n\n\b\n" + examples  # \b tells the help formatter not to wrap


class _Commands(MutableMapping[str, click.Command]):
    """Commands by their names; each is loaded when it is looked up."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            self._loaded[name] = self._entries[name].load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries


class Group(click.Group):
    """A group whose help has its commands under headings, in their order.

    Parameters
    ----------
    name, about, examples
        Its name, what it is for, and lines that end its help.
    groups
        Its commands.

    """

    def __init__(
        self, name: str, about: str, groups: Groups, *, examples: str, **attributes: Any
    ) -> None:
        self._groups = groups
        self._entries = {
            name: entry for entries in groups.values() for name, entry in entries.items()
        }
        super().__init__(
            name,
            _Commands(self._entries),
            help=about,
            epilog=epilog(examples),
            no_args_is_help=True,
            context_settings={"help_option_names": ["-h", "--help"]},
            **attributes,
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(self._entries)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that words name; one of a former name ends the process."""
        above = ctx.command_path.split(" ")[1:]
        found = former.command_of([*above, *args])
        if found is not None and not ctx.resilient_parsing:
            was, now = found
            raise refused("command line", was, "no command any more", f"now ethermeter {now}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, with one line each."""
        width = max(map(len, self._entries))
        for heading, entries in self._groups.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), of.line) for name, of in entries.items()])


def paths_of(group: Group, *above: str) -> Iterator[Sequence[str]]:
    """Yield the words of every command below a group."""
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
        if isinstance(command, Group):
            yield from paths_of(command, *above, name)
        else:
            yield (*above, name)
