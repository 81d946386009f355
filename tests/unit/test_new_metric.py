"""A new metric is a row of the registry: docs/extending.md, applied to a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
CHANGE = re.search(
    r"^## A new metric\n.*?^```diff\n(.*?)^```",
    (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
EXPERIMENT = """
title = "Two lengths of frames"

[segment]
standard = "ieee-10"
length = "10 m"

[[stations]]
name = "sender"
count = 1
frames = "64 B"
arrivals = "saturated"

[vary]
"stations.frames" = ["64 B", "1518 B"]

[phases]
settle = "0 s"
transmit = "30 ms"
measure = "last 25 ms"
drain = "0 s"

[run]
replications = 1
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a copy of the package and of its pages, with the change applied."""
    path = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("python", "scripts", "docs"):
        shutil.copytree(ROOT / folder, path / folder, ignore=ignored)
    assert CHANGE
    (path / "change.diff").write_text(CHANGE[1], encoding="utf-8")
    # By the text around each change, wherever in its file that has moved to.
    call(path, "git", "apply", "-C1", "change.diff")
    (path / "frames.toml").write_text(EXPERIMENT, encoding="utf-8")
    return path


def call(tree: Path, *words: str) -> str:
    """Run a command in the copy and return what it printed."""
    done = subprocess.run(
        words,
        cwd=tree,
        env={
            **os.environ,
            "PYTHONPATH": str(tree / "python"),
            "GIT_CEILING_DIRECTORIES": str(tree.parent),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_row_of_the_registry_is_a_metric_that_is_run_shown_and_documented(tree: Path) -> None:
    ethermeter = (sys.executable, "-m", "ethermeter")
    call(tree, *ethermeter, "run", "frames.toml", "--jobs", "1", "--no-report", "--out", "run")
    rows = pq.read_table(tree / "run" / "observations.parquet").to_pylist()
    values = {
        (row["trial"], row["station"]): row["value"]
        for row in rows
        if row["metric"] == "mean_frame"
    }
    # A row of the segment and one of its station, of both trials.
    assert sorted(values.values()) == [512.0, 512.0, 8 * 1518.0, 8 * 1518.0]
    call(tree, *ethermeter, "figures", "run", "--metric", "mean_frame", "--format", "svg")
    assert "Mean frame (octet)" in next(tree.rglob("*mean_frame.svg")).read_text(encoding="utf-8")
    call(tree, sys.executable, "scripts/document-metrics")
    assert "| `mean_frame` | bit |" in (tree / "docs" / "metrics.md").read_text(encoding="utf-8")
    changed = [
        path.relative_to(tree)
        for folder in ("python", "scripts", "docs")
        for path in (tree / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.read_bytes() != (ROOT / path.relative_to(tree)).read_bytes()
    ]
    # The registry, and the page that is written from it.
    assert len(changed) == 2, changed
