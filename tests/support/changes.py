"""Changes that how-to pages show, applied to a copy of the tree."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def change_of(page: str) -> str:
    """The diff of a page of docs/how-to."""
    found = re.search(
        r"^```diff\n(.*?)^```",
        (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert found, page
    return found[1]


def apply(change: str, tree: Path) -> None:
    """Apply a change by the text around each part of it, wherever in its file that has moved to."""
    (tree / "change.diff").write_text(change, encoding="utf-8")
    call(tree, "git", "apply", "-C1", "change.diff")


def call(tree: Path, *words: str, limit_s: int = 1200, **environment: str) -> str:
    """Run a command in the copy and return what it printed.

    What it compiles is not kept beside what this tree compiles: for cargo, crates at the same place
    below a root are the same.
    """
    done = subprocess.run(
        words,
        cwd=tree,
        env={
            **os.environ,
            "CARGO_TARGET_DIR": str(tree / "target"),
            "GIT_CEILING_DIRECTORIES": str(tree.parent),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
