"""A new key of a flow is two files: the change of docs/how-to/add-a-key.md, applied."""

import re
import shutil
import sys
from pathlib import Path

import changes
import ethermeter as em
import pytest
from changes import ROOT

CHANGE = changes.change_of("add-a-key.md")
COPIED = ("crates", "scripts", "python", "Cargo.toml", "Cargo.lock", "pyproject.toml")
# Not its speed is tested, so what is changed is compiled in the shortest time.
QUICK = [
    word
    for crate in ("ethernet", "traffic", "trial", "capture", "simulator", "python")
    for setting in ("opt-level=0", "codegen-units=16")
    for word in ("--config", f"profile.release.package.ethermeter-{crate}.{setting}")
]
EXPERIMENT = em.network(
    title="A flow that begins late",
    rate="100 Mb/s",
    hosts=["a", "b"],
    links=[("a", "b")],
    flows=[
        em.flow(
            "late",
            "a",
            "b",
            frames="64 B",
            arrivals={"regular": "1 ms", "phase": "0 s"},
            start="15500 us",
        )
    ],
    phases={"settle": "0 s", "transmit": "20 ms", "measure": "all", "drain": "1 ms"},
)
CHECK = """
import ethermeter as em
from ethermeter.experiment import json_schema, load
from ethermeter.experiment.tables import keys_of, table_reader
from ethermeter.experiment.stations import StationGroup
from ethermeter.faults import InputError
from pathlib import Path
from scripts.reference import keys
print(round(em.simulate("late.toml").value("message_rate") * 20e-3))
for text in ("strat = '1 ms'", "start = '2000 s'", "start = 1"):
    Path("wrong.toml").write_text(Path("late.toml").read_text().replace('start = "15500 us"', text))
    try:
        load(Path("wrong.toml"))
    except InputError as error:
        print(error)
print("start" in json_schema()["$defs"]["Flow"]["properties"])
print("start" in keys_of(table_reader(StationGroup)))
print("| `start` | a time" in keys.page())
"""


@pytest.fixture(scope="module")
def tree() -> Path:
    """A directory with a copy of the package and the crates, with the change applied.

    What others wrote is taken from what this tree has compiled, where that is there.
    """
    path = ROOT / "target" / "changed-key"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, path / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, path / name)
    for folder in ("deps", "build", ".fingerprint"):
        if (compiled := ROOT / "target" / "release" / folder).is_dir():
            ours = shutil.ignore_patterns("*ethermeter*", "lib_core*", "all-*")
            shutil.copytree(compiled, path / "target" / "release" / folder, ignore=ours)
    changes.apply(CHANGE, path)
    return path


def test_a_change_of_two_files_applies(tree):
    assert len(re.findall(r"^\+\+\+ b/", CHANGE, re.MULTILINE)) == 2
    assert "start_ps" in (tree / "crates/trial/src/flows.rs").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_key_is_read_checked_documented_and_simulated(tree):
    command = ("cargo", "build", *QUICK, "--release", "--package", "ethermeter-python")
    changes.call(tree, *command, "--no-default-features")
    built = tree / "target" / "release" / "lib_core.so"
    shutil.copy(built, tree / "python" / "ethermeter" / "_core.abi3.so")
    changes.call(tree, sys.executable, "scripts/generate-structs", "scenario")
    path = {"PYTHONPATH": f"{tree}/python:{tree}"}
    changes.call(tree, sys.executable, "scripts/generate-keys", **path)
    types = (tree / "python/ethermeter/experiment/keys.py").read_text(encoding="utf-8")
    assert "    start: str | None\n" in types
    EXPERIMENT.save(tree / "late.toml")
    printed = changes.call(tree, sys.executable, "-c", CHECK, **path)
    count, misspelt, late, bare, *rest = printed.splitlines()
    # Of the 20 of every millisecond, those from 15.5 ms on.
    assert int(count) == 5
    assert "flows.0.strat" in misspelt
    assert "did you mean start?" in misspelt
    assert "flows.0.start" in late
    assert "at most 1000 s" in late
    assert 'expected a time such as "12 us"' in bare
    assert rest == ["True", "False", "True"]
