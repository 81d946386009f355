"""A new MAC is five files: docs/extending.md, applied to a copy of the crates."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGE = re.search(
    r"^## A new MAC\n.*?^```diff\n(.*?)^```",
    (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
COPIED = ("crates", "scripts", "Cargo.toml", "Cargo.lock", "pyproject.toml", "rustfmt.toml")


@pytest.fixture(scope="module")
def tree() -> Path:
    """A directory with a copy of the crates, with the change applied.

    It is the same directory each time, so that crates that are not changed stay compiled.
    """
    path = ROOT / "target" / "new-mac"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, path / name)
        else:
            shutil.copy(ROOT / name, path / name)
    generated = path / "python" / "ethermeter" / "scenario.py"
    generated.parent.mkdir(parents=True)
    shutil.copy(ROOT / generated.relative_to(path), generated)
    assert CHANGE
    (path / "change.diff").write_text(CHANGE[1], encoding="utf-8")
    # By the text around each change, wherever in its file that has moved to.
    call(path, "git", "apply", "-C1", "change.diff")
    return path


def call(tree: Path, *words: str) -> str:
    """Run a command in the copy and return what it printed."""
    done = subprocess.run(
        words,
        cwd=tree,
        env={
            **os.environ,
            # The dependencies are compiled there already.
            "CARGO_TARGET_DIR": str(ROOT / "target"),
            "GIT_CEILING_DIRECTORIES": str(tree.parent),
        },
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_a_change_of_five_files_is_a_mac_that_keeps_its_law(tree: Path) -> None:
    truth = ("--package", "ethermeter-simulator", "--test", "aloha")
    printed = call(tree, "cargo", "test", "--release", "--quiet", *truth)
    assert "1 passed" in printed
    call(tree, sys.executable, "scripts/generate-scenario")
    generated = tree / "python" / "ethermeter" / "scenario.py"
    assert "class Aloha(" in generated.read_text(encoding="utf-8")
    changed = [
        path.relative_to(tree)
        for folder in ("crates", "scripts", "python")
        for path in (tree / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not is_same(path, ROOT / path.relative_to(tree))
    ]
    assert len(changed) == 5, changed


def is_same(path: Path, other: Path) -> bool:
    """Whether both are files of the same bytes."""
    return other.is_file() and path.read_bytes() == other.read_bytes()
