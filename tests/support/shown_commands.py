"""Command lines that the documentation shows, against the program's own parser; nothing runs."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ethermeter.cli.app import app
from ethermeter.experiment import shipped

PROGRAM = app


def leaves(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return every command that is no group, with its words."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from leaves(below, *names, name)
    else:
        yield names, command


COMMANDS = dict(leaves(PROGRAM))
OPTIONS = {
    option
    for command in COMMANDS.values()
    for given in command.params
    for option in (*given.opts, *given.secondary_opts)
}
OPTIONS |= {"--help", "-h", "--version", "--debug"}


def leaf_of(words: list[str]) -> tuple[tuple[str, ...], Any, list[str]]:
    """Return the command that words after `ethermeter` name, and its arguments."""
    words = [word for word in words if word not in ("--debug",)]
    if words and words[0].startswith("--") and set(words) <= OPTIONS:
        return (), PROGRAM, ["--help"]
    for length in (1, 2):
        if tuple(words[:length]) in COMMANDS:
            return tuple(words[:length]), COMMANDS[tuple(words[:length])], words[length:]
    raise AssertionError(f"no command: ethermeter {' '.join(words)}")


def parsed(line: str) -> Any:
    """Return what click makes of a command line."""
    words = shlex.split(line, comments=True)
    ends = [words.index(word) for word in ("|", "||", ">") if word in words]
    names, command, arguments = leaf_of(words[1 : min(ends, default=None)])
    return command.make_context(" ".join(names), arguments, resilient_parsing=not names)


def unshipped(line: str) -> list[str]:
    """Return the experiments that a command names and that are neither shipped nor files."""
    names, _, _ = leaf_of(shlex.split(line, comments=True)[1:])
    if not {*names} & {"run", "measure", "validate"}:
        return []
    given = parsed(line).params
    values = [given.get(key) for key in ("experiment", "files", "experiments")]
    several = [[of] if isinstance(of, str | Path) else of or () for of in values]
    every = [str(name) for of in several for name in of]
    return [name for name in every if not name.endswith(".toml") and name not in shipped()]
