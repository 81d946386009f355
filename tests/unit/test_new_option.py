"""A new option is one file: the change of docs/how-to/add-an-option.md, applied."""

import re
import shutil
import sys
from pathlib import Path

import changes
import pytest
from changes import ROOT

CHANGE = changes.change_of("add-an-option.md")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The way to a copy of the package with the change, for an interpreter."""
    tree = tmp_path_factory.mktemp("changed")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "python", tree / "python", ignore=ignored)
    changes.apply(CHANGE, tree)
    return {"PYTHONPATH": str(tree / "python")}


def test_the_change_is_one_file():
    assert len(re.findall(r"^\+\+\+ b/", CHANGE, re.MULTILINE)) == 1


def test_the_command_has_the_option(path: dict[str, str], tmp_path: Path):
    program = (sys.executable, "-m", "ethermeter", "run")
    helped = changes.call(tmp_path, *program, "--help", **path)
    assert re.search(r"--label TEXT +A line that is shown first\.", helped)
    quiet = ("jabber", "--no-report", "--out", "run")
    changes.call(tmp_path, *program, *quiet, "--label", "Hello", **path)


def test_python_has_the_argument(path: dict[str, str], tmp_path: Path):
    code = "import ethermeter as em; help(em.run)"
    documented = changes.call(tmp_path, sys.executable, "-c", code, **path)
    assert "label: " in documented
    assert "A line that is shown first." in documented
