"""Trials of the one schema are simulated, and their faults have paths."""

import json
from dataclasses import fields, is_dataclass, replace
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter import _core, experiment
from ethermeter.engines.answer import answer
from scenarios import phases
from segments import segment, table_of

LONGEST_PS = 20_000_000_000
"""Simulated time of a trial; that of a shipped experiment is scaled down to it."""


def is_same(one: Any, other: Any) -> bool:
    """Whether two results are the same to the bit."""
    if is_dataclass(one):
        return type(one) is type(other) and all(
            is_same(getattr(one, of.name), getattr(other, of.name)) for of in fields(one)
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape) == (other.dtype, other.shape) and (
            one.tolist() == other.tolist()
            if one.dtype == object
            else one.tobytes() == other.tobytes()
        )
    return bool(one == other)


def short(line: str) -> str:
    """Return a line of a plan with a short window."""
    trial = json.loads(line)
    phases = trial["scenario"]["phases"]
    scale = max(1, -(-phases["end_ps"] // LONGEST_PS))
    trial["scenario"]["phases"] = {key: ps // scale for key, ps in phases.items()}
    return json.dumps(trial)


def trials(name: str) -> list[str]:
    """Lines of an experiment's plan: one of each engine that simulates, and the last."""
    chosen = {}
    for trial in em.load(name).plan(replications=1).trials:
        if trial.engine.split("/")[0] not in ("live", "theory"):
            chosen.setdefault(trial.engine, trial.line)
            chosen["last"] = trial.line
    return list(dict.fromkeys(chosen.values()))


@pytest.mark.parametrize("name", experiment.shipped())
def test_every_shipped_experiment_is_simulated_as_a_trial_of_the_schema(name, monkeypatch):
    found = []
    simulate = _core.simulate_trial

    def checked(trial: str, *others: Any) -> Any:
        found.append(_core.check_trial(trial))
        return simulate(trial, *others)

    monkeypatch.setattr(_core, "simulate_trial", checked)
    lines = trials(name)
    for line in lines:
        answer(short(line))
    assert found == [[]] * len(lines)


def two_stations() -> dict[str, Any]:
    group = {"name": "sun", "points": [0, 0], "frames": {"kind": "fixed", "bits": 512}}
    scenario = segment(group, gap_part1_bits=64, phases=phases(10**10))
    return {"id": "x", "seed": 1, "scenario": table_of(scenario)}


def test_both_implementations_count_the_same():
    trial = two_stations()
    fast = _core.simulate_trial(json.dumps(trial))
    trial["settings"] = {"implementation": "reference"}
    reference = _core.simulate_trial(json.dumps(trial))
    assert (fast.implementation, reference.implementation) == ("fast", "reference")
    assert is_same(replace(fast, implementation="reference"), reference)
    assert fast.stations.frames.sum() > 100


@pytest.mark.parametrize(
    ("keys", "value", "path"),
    [
        (("media", 0, "mac", "csma_cd", "slot_bits"), 0, "media[0].mac.csma_cd.slot_bits"),
        (("media", 0, "mac", "csma_cd", "turnaround_ps"), 10**13, None),
        (("media", 0, "bit_ps"), 0, "media[0].bit_ps"),
        (("media", 0, "delay_ps"), [[1, 2]], "media[0].delay_ps[0]"),
        (("media", 0, "stations", 0, "points"), [0, 1], "media[0].stations[0].points"),
        (("media", 0, "stations", 0, "points"), [0], "media[0].stations[0].points"),
        (("media", 0, "stations", 0, "node"), "moon", "media[0].stations[0].node"),
        (("media", 0, "stations", 0, "attempt_limit"), 0, "media[0].stations[0].attempt_limit"),
        (("media", 0, "stations", 0, "attempts"), 0, "media[0].stations[0].attempts"),
        (("media", 0, "stations"), [], "nodes[0].name"),
        (("media",), [], "nodes[0].count"),
        (("nodes", 0, "kind", "host"), {"ring": 3}, "nodes[0].kind"),
        (("flows", 0, "arrivals"), {"kind": "poisson", "mean_ps": 0}, "flows[0].arrivals"),
        (("flows", 0, "queue_frames"), 5, "flows[0].queue_frames"),
        (("flows", 0, "response"), {"frames": {"kind": "fixed", "bits": 512}}, "flows[0].response"),
        (("flows", 0, "from"), "moon", "media[0].stations[0].node"),
        (("flows",), [], "media[0].stations[0].node"),
        (("clocks",), "compared", "clocks"),
        (("batches",), 0, "batches"),
        (("phases", "end_ps"), 0, "phases.end_ps"),
    ],
)
def test_a_fault_has_the_path_of_its_key(keys, value, path):
    trial = two_stations()
    table: Any = trial["scenario"]
    for key in keys[:-1]:
        table = table[key]
    table[keys[-1]] = value
    steps, *_ = _core.check_trial(json.dumps(trial))[0]
    found = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)[1:]
    assert found == (path or ".".join(map(str, keys)).replace(".0", "[0]"))
    with pytest.raises(ValueError, match="^" + found.replace("[", r"\[")):
        _core.simulate_trial(json.dumps(trial))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null"])
def test_what_is_no_trial_is_a_fault(text):
    assert len(_core.check_trial(text)) == 1
    with pytest.raises(ValueError, match=":"):
        _core.simulate_trial(text)
