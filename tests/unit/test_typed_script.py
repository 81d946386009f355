"""A script of a user that calls each operation passes mypy in its strict mode."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import ethermeter as em
from ethermeter.cli.app import app
from ethermeter.cli.command import function_of
from ethermeter.cli.help import paths_of

ROOT = Path(__file__).parents[2]
SCRIPT = """
from pathlib import Path
from typing import Any

import ethermeter as em

run: em.Run = em.run("office", overrides={"run.replications": 2}, jobs=2, out=Path("office"))
delays = run.frame("one_way_delay", library="arrow").to_pylist()
for point in run.points():
    print(point.point, point.estimate("loss").value)

queue = em.find.value(
    "buffer-sizing",
    smallest="network.switches.switch.queue",
    first=1,
    last=40,
    conditions=["loss == 0"],
)
sentence: str = queue.answer.sentence
calls = em.find.calls(codec="g711", mos="4.0")
number: int = calls.answer.calls
suites = em.find.benchmark()
shipped = em.find.bottleneck()
here = em.find.ceilings(quick=True)

measured = em.measure("wire-live", on="loopback", quick=True)
failed: dict[str, str] = measured.run.failed
host = em.probe("192.0.2.7", by="stamp", duration="3 s")
studies = em.study()
captured = em.explain(Path("trace.pcap"))
buses = em.bus("10base-t1s/sensor-bus")
compared = em.compare(Path("first"), Path("second"))
fitted = em.fit([Path("latency.csv")], experiment=Path("two-pcs.toml"))
predicted = em.predict(Path("four.toml"), network=Path("network.toml"), draws=10)
models = em.model()
evaluated = em.model("lam-1980", {"arrival_rate": [100, 200], "packet_s": "1 ms"})
"""
WRONG = {
    'em.run("office", job=2)': 'Unexpected keyword argument "job"',
    'em.run("office", jobs=2.5)': 'Argument "jobs"',
    "em.find.calls(codec=711)": 'Argument "codec"',
}


def checked(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Check a script as its user does."""
    file = folder / "script.py"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache")]
    more = ["--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", str(file)]
    return subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_script_with_every_operation_is_typed_and_wrong_arguments_are_found(tmp_path):
    done = checked(SCRIPT, tmp_path)
    assert done.returncode == 0, done.stdout
    wrong = "import ethermeter as em\n" + "\n".join(WRONG)
    said = checked(wrong, tmp_path).stdout.splitlines()
    for line, fault in enumerate(WRONG.values(), 2):
        assert any(f":{line}: " in each and fault in each for each in said), said


def test_every_command_is_a_function_whose_arguments_are_its_options():
    for path in paths_of(app):
        command: Any = app
        for word in path:
            command = command.commands[word]
        assert callable(function_of(command)), path
    public = {"bus", "compare", "explain", "find", "fit", "measure", "model", "predict", "probe"}
    assert public | {"run", "study", "load", "open"} <= set(dir(em))
