"""An agent and a coordinator of an older version refuse, and are refused, in words."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from program import LIMIT_S

OLDER = Path(__file__).parents[2] / "target" / "peers" / "bin" / "older-agent"
"""The last agent of protocol 8 (`scripts/build-older-agent`)."""
pytestmark = pytest.mark.skipif(not OLDER.exists(), reason="scripts/build-older-agent was not run")
FRAMES = {"frames": {"kind": "fixed", "bits": 512}, "arrivals": {"kind": "saturated"}}
"""A source as each version has it in a test."""
OLDER_TRAFFIC = {"kind": "stream", **FRAMES}
TRAFFIC = {"kind": "stream", "source": FRAMES}


@contextmanager
def listening(program: str) -> Iterator[str]:
    """Run an agent; yields where it listens."""
    command = [program, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().removeprefix("listening on ")
        finally:
            process.kill()


def measured(
    coordinator: str, agents: list[str], traffic: dict[str, Any], folder: Path
) -> "subprocess.CompletedProcess[str]":
    """Have a coordinator run a test of a tenth of a second between two agents."""
    entries = [
        {"name": name, "control": place, "address": "127.0.0.1"}
        for name, place in zip("ab", agents, strict=True)
    ]
    flow = {"name": "f", "from": "a", "to": "b", "port": "udp", "traffic": traffic}
    flow |= {"most_bps": 10**6, "most_frames_per_s": 1000}
    window = {"measure_from_ns": 0, "measure_to_ns": 10**8}
    phases = {"settle_ns": 10**7, "transmit_ns": 10**8, "drain_ns": 10**7, **window}
    test = folder / "test.json"
    test.write_text(json.dumps({"seed": 1, "agents": entries, "phases": phases, "flows": [flow]}))
    command = [coordinator, "measure", str(test)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


def test_a_coordinator_says_that_an_agent_is_too_old(agent, tmp_path):
    with listening(str(OLDER)) as old, listening(agent) as new:
        done = measured(agent, [new, old], TRAFFIC, tmp_path)
    assert done.returncode == 2
    assert f"agent b at {old}: protocol older than 9: must be 9" in done.stderr


def test_an_agent_says_that_a_coordinator_is_too_old(agent, tmp_path):
    with listening(agent) as new, listening(str(OLDER)) as old:
        done = measured(str(OLDER), [new, old], OLDER_TRAFFIC, tmp_path)
    assert done.returncode == 2
    assert f"agent a at {new}" in done.stderr
    assert "protocol older than 9: must be 9" in done.stderr


@pytest.mark.parametrize(("program", "traffic"), [("new", TRAFFIC), ("older", OLDER_TRAFFIC)])
def test_agents_of_one_version_measure(agent, tmp_path, program, traffic):
    program = agent if program == "new" else str(OLDER)
    with listening(program) as one, listening(program) as other:
        done = measured(program, [one, other], traffic, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "complete"
