"""A new metric is a row of the registry: the change of docs/how-to/add-a-metric.md, applied."""

import shutil
import sys
from pathlib import Path

import changes
import ethermeter as em
import pytest
from changes import ROOT

EXPERIMENT = em.segment(
    "ieee-10",
    length="10 m",
    stations=em.stations("sender", count=1, frames="64 B", arrivals="saturated"),
    vary={"stations.frames": ["64 B", "1518 B"]},
    phases={"settle": "0 s", "transmit": "30 ms", "measure": "last 25 ms", "drain": "0 s"},
)


NETWORK = em.network(
    title="A copy",
    rate="100 Mb/s",
    hosts=["sender", "sink"],
    links=[("sender", "sink")],
    flows=[
        em.flow(name, "sender", "sink", data=data, arrivals={"regular": "1 ms"})
        for name, data in (("short", "100 B"), ("long", "1000 B"))
    ],
    phases={"settle": "0 s", "transmit": "30 ms", "measure": "last 25 ms", "drain": "5 ms"},
)
VALUES = """
import ethermeter as em
run = em.open("run")
print(*run.frame("mean_frame", by="trial")["value"], *run.frame("mean_frame", by="entity")["value"])
alone = em.simulate("network.toml")
print(*(alone.value("data_per_frame", name) for name in ("", *alone.entities)))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a copy of the package, with the change applied."""
    path = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("python", "scripts"):
        shutil.copytree(ROOT / folder, path / folder, ignore=ignored)
    changes.apply(changes.change_of("add-a-metric.md"), path)
    EXPERIMENT.save(path / "frames.toml")
    NETWORK.save(path / "network.toml")
    return path


def call(tree: Path, *words: str) -> str:
    """Run a command with the copy of the package and return what it printed."""
    return changes.call(tree, *words, limit_s=120, PYTHONPATH=str(tree / "python"))


def test_a_row_of_the_registry_is_a_metric_that_is_run_shown_and_documented(tree):
    ethermeter = (sys.executable, "-m", "ethermeter")
    call(tree, *ethermeter, "run", "frames.toml", "--jobs", "1", "--no-report", "--out", "run")
    values, of_flows = call(tree, sys.executable, "-c", VALUES).splitlines()
    # A value of the segment and one of its station, of both trials.
    assert sorted(map(float, values.split())) == [512.0, 512.0, 8 * 1518.0, 8 * 1518.0]
    # One frame a message: of both flows together as many of each.
    assert [*map(float, of_flows.split())] == [550.0, 100.0, 1000.0]
    call(tree, *ethermeter, "report", "run", "--metric", "mean_frame", "--format", "svg")
    assert "Mean frame (octet)" in next(tree.rglob("*mean_frame.svg")).read_text(encoding="utf-8")
    page = call(tree, sys.executable, "-m", "scripts.reference", "metrics")
    assert "| `mean_frame` | bit |" in page
    changed = [
        path.relative_to(tree)
        for folder in ("python", "scripts")
        for path in (tree / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.read_bytes() != (ROOT / path.relative_to(tree)).read_bytes()
    ]
    assert len(changed) == 1, changed
