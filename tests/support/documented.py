"""Commands and programs of tutorials and how-to pages, as a reader would run them.

A comment before a block says what it needs, and so where it is run:

`<!-- needs: root -->`     network namespaces: by the tests in tests/live
`<!-- needs: hosts -->`    other machines, or a network of the reader: not run, only parsed
`<!-- needs: files -->`    files of the reader: not run, only parsed
`<!-- needs: build -->`    the sources and their compilers: not run, CI does the same by make

A block `toml title="NAME"` is a file of the reader that following blocks use.
"""

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
NEEDS = ("root", "hosts", "files", "build")
_BLOCK = re.compile(
    r"(?:^ *<!-- needs: (?P<needs>\w+) -->\n)?"
    r'^(?P<indent> *)```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n'
    r"(?P<body>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"ethermeter testbed down (em-[0-9a-f-]+)")
PLACEHOLDER = "em-1234-abcd"
"""Name of a testbed on a page, in place of that which `testbed up` prints."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    needs: str
    title: str
    body: str


def pages() -> list[str]:
    """Tutorials and how-to pages, by their path below docs."""
    found = [*DOCS.glob("tutorials/*.md"), *DOCS.glob("how-to/*.md")]
    return sorted(path.relative_to(DOCS).as_posix() for path in found)


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in its order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["needs"] or "",
            found["title"] or "",
            textwrap.dedent(found["body"]),
        )
        for found in _BLOCK.finditer(text)
    ]


def run(page: str, folder: Path, *, with_needs: frozenset[str], limit_s: float = 600) -> int:
    """Run the blocks of a page that need nothing or one of these, in its order, in a folder.

    Returns how many ran; asserts that each succeeds.
    """
    environment = _environment(folder)
    testbed, ran = PLACEHOLDER, 0
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.body, encoding="utf-8")
        if block.language not in {"sh", "python"} or (
            block.needs and block.needs not in with_needs
        ):
            continue
        for written in [block.body] if block.language == "python" else _commands(block.body):
            part = written.replace(PLACEHOLDER, testbed)
            words = [sys.executable, "-c"] if block.language == "python" else ["bash", "-ec"]
            printed = _succeeds(page, [*words, part], folder, environment, limit_s)
            named = _NAME.search(printed)
            testbed = named[1] if named else testbed
        ran += 1
    return ran


def succeed(page: str, commands: list[str], folder: Path) -> None:
    """Run commands of a page in a folder; asserts that each succeeds."""
    environment = _environment(folder)
    for command in commands:
        _succeeds(page, ["bash", "-ec", command], folder, environment)


def _succeeds(
    page: str, words: list[str], folder: Path, environment: dict[str, str], limit_s: float = 600
) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, f"{page}:\n{words[-1]}\n{done.stdout}{done.stderr}"
    return done.stdout


def _commands(body: str) -> list[str]:
    """Commands of a shell block: a line each, with its continuations."""
    return [line for line in re.split(r"(?<!\\)\n", body) if line.strip() and line[0] != "#"]


def _environment(folder: Path) -> dict[str, str]:
    """An environment in which `ethermeter` and `python` are those of the tests."""
    programs = folder / ".programs"
    programs.mkdir()
    command = programs / "ethermeter"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ethermeter "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    return {**os.environ, "PATH": path, "MPLBACKEND": "Agg"}
