"""The core as `make demo` builds it: it simulates and reports, and says how to get the rest."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import ROOT
from program import call, real

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Run a command of a copy of the package whose core has no live measurement."""
    folder = tmp_path_factory.mktemp("alone")
    command = ["cargo", "build", "--release", "--quiet", "--package", "ethermeter-python"]
    command += ["--no-default-features", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    messages = map(json.loads, built.stdout.splitlines())
    core = next(
        file
        for message in messages
        if message.get("target", {}).get("name") == "_core"
        for file in message["filenames"]
    )
    package = folder / "ethermeter"
    shutil.copytree(
        ROOT / "python" / "ethermeter",
        package,
        ignore=shutil.ignore_patterns("__pycache__", "*.so"),
    )
    shutil.copy(core, package / f"_core.abi3{Path(core).suffix}")

    def run(*words):
        return call(real(*words), cwd=folder, env={"PYTHONPATH": str(folder)})

    return run


def test_it_simulates_and_reports(alone):
    done = alone("study", "boggs1988", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["claims"]


@pytest.mark.parametrize("words", [["agent", "--listen", "127.0.0.1:0"], ["reflector"]])
def test_live_measurement_says_how_to_build_it(alone, words):
    done = alone(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "make build" in done.stderr
