"""Trials that are to be measured, and where, without a network."""

import json
from collections.abc import Mapping
from typing import Any

from ethermeter.engines.live import Laboratory
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.live_test import AgentEntry
from ethermeter.store.result import Result, read
from ethermeter.trial import Trial
from shared_experiments import trials


def loopback(addresses: str = "127.0.0.") -> Laboratory:
    """Two hosts, a and b, whose addresses begin so and end in 1 and 2."""
    return Laboratory(
        {
            name: AgentEntry(name=name, control=f"127.0.0.{at}:4988", address=f"{addresses}{at}")
            for at, name in enumerate("ab", 1)
        },
        "loopback",
    )


def only_trial(experiment: ExperimentTables, changes: Mapping[str, object] | None = None) -> Trial:
    """The only trial of an experiment with these changes."""
    (trial,) = trials(experiment.changed(changes))
    return trial


def counted(role: str, **counts: Any) -> dict[str, Any]:
    """Report of a role as an agent writes it."""
    return {"role": role, "counted": {"role": role, **counts}}


def result_of(tables: dict[str, Any]) -> Result:
    """Read the result of a test from its tables; those that are missing are empty."""
    return read(json.dumps({"outcome": "complete", "agents": {}, "flows": {}, **tables}))


def histogram(*buckets: tuple[int, int, int]) -> dict[str, Any]:
    """A histogram as an agent writes it: from, to and count of each bucket."""
    return {"total": sum(count for *_, count in buckets), "buckets": [list(of) for of in buckets]}
