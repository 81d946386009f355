"""Options that show and install the completion of a shell."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

VARIABLE = "_ETHERMETER_COMPLETE"
"""The environment variable by which a shell asks for completion."""
CURRENT = "current"
"""The shell that the environment names."""
FILES = {
    "bash": ".bash_completions/ethermeter.sh",
    "zsh": ".zfunc/_ethermeter",
    "fish": ".config/fish/completions/ethermeter.fish",
}
"""Shells, and the file of the home directory that each reads, or is made to read."""
READ_BY = {
    "bash": (".bashrc", "source ~/.bash_completions/ethermeter.sh"),
    "zsh": (".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}
"""The file of each shell that reads completions, and the line that it needs for that."""


def options() -> Iterator[click.Option]:
    """Yield the options."""
    for name, callback, text in (
        (
            "--install-completion",
            _install,
            "Install completion for a shell; for the current unless given.",
        ),
        ("--show-completion", _show, "Show completion for a shell; for the current unless given."),
    ):
        yield click.Option(
            [name],
            is_flag=False,
            flag_value=CURRENT,
            metavar="[SHELL]",
            is_eager=True,
            expose_value=False,
            callback=callback,
            help=text,
        )


def _show(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        click.echo(_script(context, _shell(value)))
        context.exit()


def _install(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    shell = _shell(value)
    file = Path.home() / FILES[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_script(context, shell), encoding="utf-8")
    if shell in READ_BY:
        name, line = READ_BY[shell]
        reader = Path.home() / name
        text = reader.read_text(encoding="utf-8") if reader.exists() else ""
        if line not in text:
            reader.write_text(f"{text.rstrip()}\n{line}\n".lstrip(), encoding="utf-8")
    click.echo(f"{shell} completion installed in {file}; it takes effect in a new terminal")
    context.exit()


def _shell(name: str) -> str:
    """Return the shell that is named, or CURRENT; one without completion ends the process."""
    from ethermeter.cli.guard import refused

    key = "shell"
    if name == CURRENT:
        key, name = "SHELL", Path(os.environ.get("SHELL", "")).name or "(not set)"
    if name not in FILES:
        raise refused("command line", key, name, f"expected one of {', '.join(FILES)}")
    return name


def _script(context: click.Context, shell: str) -> str:
    """Return what a shell runs."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "Click knows these shells"
    return kind(context.command, {}, "ethermeter", VARIABLE).source()
