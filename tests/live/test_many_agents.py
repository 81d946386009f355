"""Many agents whose roles want more than all processors: none is lost."""

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from program import LIMIT_S
from stalls import Witnesses, inconclusive

AGENTS = 40
RUNS = int(os.environ.get("ETHERMETER_RUNS", "3"))
"""Runs of the test; `ETHERMETER_RUNS=100` takes some minutes."""
LONGEST_STALL_S = 0.5
"""A lease lasts 0.7 s and is renewed five times meanwhile: a shorter stall ends none."""
MS = 10**6
PHASES = {
    "settle_ns": 50 * MS,
    "transmit_ns": 1000 * MS,
    "measure_from_ns": 0,
    "measure_to_ns": 1000 * MS,
    "drain_ns": 100 * MS,
}


def described(places: list[str]) -> dict[str, Any]:
    """Saturated streams between the agents of each pair."""
    names = [f"agent-{number}" for number in range(len(places))]
    source = {"frames": {"kind": "fixed", "bits": 8 * 512}, "arrivals": {"kind": "saturated"}}
    common = {"port": "udp", "traffic": {"kind": "stream", "source": source}}
    common |= {"most_bps": 10**9, "most_frames_per_s": 10**6}
    flows = [
        {"name": f"from {one}", "from": one, "to": other, **common}
        for one, other in zip(names[::2], names[1::2], strict=True)
    ]
    agents = [
        {"name": name, "control": place, "address": "127.0.0.1"}
        for name, place in zip(names, places, strict=True)
    ]
    return {"seed": 1, "agents": agents, "phases": PHASES, "flows": flows}


def outcome_of(agent: str, file: Path) -> str:
    """Run the test once; how it ended, or why it did not begin."""
    command = [agent, "measure", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if not done.stdout:
        return done.stderr.strip()
    result = json.loads(done.stdout)
    lost = result["lost"]
    return result["outcome"] if lost is None else f"{lost['agent']}: {lost['what']}"


@pytest.mark.alone
@pytest.mark.root
def test_no_agent_of_forty_is_lost_unless_the_machine_stalls(agent, tmp_path):
    file = tmp_path / "test.json"
    with contextlib.ExitStack() as stack:
        places = []
        for _ in range(AGENTS):
            command = [agent, "--listen", "127.0.0.1:0"]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            places.append(process.stdout.readline().strip().removeprefix("listening on "))
        file.write_text(json.dumps(described(places)))
        stalled: list[str] = []
        lost: list[str] = []
        for number in range(RUNS):
            with Witnesses() as witnesses:
                outcome = outcome_of(agent, file)
                longest_s = witnesses.longest_s()
            found = f"run {number}: {outcome}, longest stall {longest_s:.3f} s"
            print(found)
            if outcome != "complete":
                (stalled if longest_s >= LONGEST_STALL_S else lost).append(found)
    assert not lost, f"{len(lost)} of {RUNS}, and {len(stalled)} in longer stalls"
    if stalled:
        inconclusive(f"{len(stalled)} of {RUNS} runs lost an agent in a stall: {stalled[0]}")
