"""The documentation's own blocks of code, run as a reader would, so that what is tested is shown.

A comment before a block says what it needs, and so where it is run:

`<!-- needs: root -->`     network namespaces: by the tests in tests/live
`<!-- needs: hosts -->`    other machines, or a network of the reader: not run, only parsed
`<!-- needs: files -->`    files of the reader: not run, only parsed
`<!-- needs: build -->`    the sources and their compilers: not run, CI does the same by make

A block `toml title="NAME"` is a file of the reader that following blocks use.

A block `output` has lines that the commands of the block before it print; `…` stands for others.
"""

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTES = sorted((ROOT / "evidence").glob("*.md"))
"""Lab notes: measured results and the commands that repeat them."""
NEEDS = ("root", "hosts", "files", "build")
ANSWERED = frozenset(
    {
        "docs/how-to/publish-a-figure.md",
        "docs/how-to/size-an-uplink.md",
    }
)
"""Pages whose blocks are run, and their answers read, by tests in tests/journeys."""
FENCE = re.compile(
    r"(?:^ *<!-- needs: (?P<needs>\w+) -->\n)?"
    r'^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n'
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
    """Return tutorials and how-to pages, by their paths in the repository."""
    found = [*DOCS.glob("tutorials/*.md"), *DOCS.glob("how-to/*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def page(name: str) -> str:
    """Return the text of a page by its path in the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """Return a page without its fenced blocks."""
    return FENCE.sub("", text)


def parsed(text: str) -> list[Block]:
    """Return the fenced blocks of a page, also those of list items, in its order."""
    return [
        Block(
            found["language"],
            found["needs"] or "",
            found["title"] or "",
            textwrap.dedent(found["body"]),
        )
        for found in FENCE.finditer(text)
    ]


def blocks(text: str, language: str) -> list[str]:
    """Return the contents of the fenced blocks of a language."""
    return [block.body for block in parsed(text) if block.language == language]


def commands(text: str, *, needs: str | None = None) -> list[str]:
    """Return the commands of `sh` blocks, one a line, without comments.

    With `needs` only those of blocks that need just that; "" is nothing.
    """
    return [
        command
        for block in parsed(text)
        if block.language == "sh" and needs in (None, block.needs)
        for command in _commands(block.body)
    ]


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of a shell in which `ethermeter` and `python` are those of the tests."""
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    command = programs / "ethermeter"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ethermeter "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    return {**os.environ, "PATH": path, "MPLBACKEND": "Agg"}


def shell(command: str, *, cwd: Path, limit_s: float = 600) -> str:
    """Run a command of a page in a shell, with this Python's `ethermeter`; return what it prints.

    Raises AssertionError with its errors if it fails.
    """
    return _succeeds(["bash", "-euc", command], cwd, limit_s)


def run(name: str, folder: Path, *, with_needs: frozenset[str], limit_s: float = 600) -> int:
    """Run the blocks of a page that need nothing or one of these, in its order, in a folder.

    Returns how many ran; asserts that each succeeds, and prints what the page says.
    """
    testbed, ran, printed = PLACEHOLDER, 0, ""
    for block in parsed(page(name)):
        if block.title:
            (folder / block.title).write_text(block.body, encoding="utf-8")
        if block.needs and block.needs not in with_needs:
            continue
        if block.language == "output":
            expect_printed(block.body, printed)
        if block.language not in {"sh", "python"}:
            continue
        if block.language == "python":
            # A file: functions that are registered must have a source.
            (folder / "program.py").write_text(block.body, encoding="utf-8")
            printed = _succeeds([sys.executable, "program.py"], folder, limit_s)
        else:
            printed = ""
            for command in _commands(block.body):
                text = shell(command.replace(PLACEHOLDER, testbed), cwd=folder, limit_s=limit_s)
                named = _NAME.search(text)
                testbed = named[1] if named else testbed
                printed += text
        ran += 1
    return ran


def expect_printed(body: str, printed: str) -> None:
    """Assert that the lines of a block `output` were printed, whatever the spaces in them."""
    text = " ".join(printed.split())
    for line in body.splitlines():
        for part in line.split("…"):
            words = " ".join(part.split())
            assert words in text, f"a page has {words!r}, which is not printed:\n{printed}"


def _succeeds(words: list[str], folder: Path, limit_s: float) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout}{done.stderr}"
    return done.stdout


def _commands(body: str) -> list[str]:
    """Commands of a shell block: a line each, with its continuations."""
    lines = re.sub(r"\\\n\s*", " ", body).splitlines()
    stripped = [re.sub(r"\s+#.*", "", line).strip() for line in lines]
    return [line for line in stripped if line and not line.startswith("#")]
