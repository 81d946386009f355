"""The documentation's own blocks of code, so that what is tested is what is shown."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """Return the text of a page by its path in the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """Return a page without its fenced blocks."""
    return FENCE.sub("", text)


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language, also those of list items."""
    return [textwrap.dedent(body) for _, found, body in FENCE.findall(text) if found == language]


def commands(text: str) -> list[str]:
    """Return the commands of all `sh` blocks, one a line, without comments."""
    lines = re.sub(r"\\\n\s*", " ", "".join(blocks(text, "sh"))).splitlines()
    stripped = [re.sub(r"\s+#.*", "", line).strip() for line in lines]
    return [line for line in stripped if line and not line.startswith("#")]


def environment() -> dict[str, str]:
    """Return the variables of a shell in which `ethermeter` and `python` are those of the tests."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path}


def shell(command: str, *, cwd: Path) -> str:
    """Run a command of a page in a shell, with this Python's `ethermeter`; return what it prints.

    Raises AssertionError with its errors if it fails.
    """
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout
