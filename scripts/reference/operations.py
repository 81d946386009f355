"""The page of all operations: functions of Python that are commands, too, with their arguments."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import click
import ethermeter as em
from ethermeter.cli.app import app
from ethermeter.cli.command import function_of, typed
from ethermeter.cli.help import paths_of
from ethermeter.operation import arguments_of, operation_of

HEAD = """# Operations

This page is generated from the program.
Each operation is a function in Python and a command ([Commands](commands.md)); the arguments of the one are the options of the other.
What a person types, such as times with units, is a text in Python too.

```python
import ethermeter as em

run = em.run("poisson-load", overrides={"run.replications": 3}, jobs=2)
```
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for path in paths_of(app):
        command: click.Command = app
        for word in path:
            assert isinstance(command, click.Group)
            command = command.commands[word]
        function = function_of(command)
        yield f"## `{_name(function)}`\n"
        yield f"Command: `ethermeter {' '.join(path)}`.\n"
        yield f"{_about(function)}\n"
        yield "\n".join(_arguments(function)) + "\n"


def _name(function: Callable[..., object]) -> str:
    """Return how a script calls a function: by `em` where that has it."""
    name = function.__module__.rpartition(".")[2]
    short = function.__module__.removeprefix("ethermeter.api.")
    if short.startswith("find."):
        return f"em.{short}"
    is_public = name in dir(em) and getattr(em, name) is function
    return f"em.{name}" if is_public else f"{function.__module__}.{function.__name__}"


def _about(function: Callable[..., object]) -> str:
    text = inspect.cleandoc(function.__doc__ or "")
    return text.partition("\n\nParameters\n------")[0]


def _arguments(function: Callable[..., object]) -> Iterator[str]:
    """Yield the rows of the table of arguments."""
    options: type[Any] = operation_of(function).options
    yield "| argument | command | meaning |"
    yield "|---|---|---|"
    for field, _, argument in arguments_of(options):
        word = typed(options, field.name)
        shown = f"{word}=…" if argument.is_setting else word
        yield f"| `{field.name}` | `{shown}` | {argument.about.replace('|', chr(92) + '|')} |"
