"""The page of all commands: the help of each, as the program prints it."""

import click
from ethermeter.cli.app import app

HEAD = """# Commands

This page is generated from the program.
It has the help of every command, as `ethermeter COMMAND --help` prints it.
[The command line](command-line.md) has what all commands have in common: `--set`, `--json`, run directories, exit codes.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_sections(app, ("ethermeter",))])


def _sections(command: click.Command, words: tuple[str, ...]) -> list[str]:
    context = command.make_context(words[-1], [], resilient_parsing=True)
    context.info_name = " ".join(words)
    below = command.commands if isinstance(command, click.Group) else {}
    own = [f"{'#' * min(len(words), 4)} `{' '.join(words)}`\n"]
    own.append(f"```text\n{command.get_help(context).strip()}\n```\n")
    found = own if len(words) > 1 else []
    for name in below:
        found += _sections(below[name], (*words, name))
    return found
