"""A new MAC is five files: docs/how-to/add-a-mac.md, applied to a copy of the crates."""

import shutil
import sys
from pathlib import Path

import pytest
from changes import ROOT, apply, call, change_of

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
    apply(change_of("add-a-mac.md"), path)
    return path


@pytest.mark.long
def test_a_change_of_five_files_is_a_mac_that_keeps_its_law(tree):
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
