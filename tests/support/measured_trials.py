"""Trials that are to be measured, and where, without a network."""

import json
from pathlib import Path
from typing import Any

from ethermeter import plan
from ethermeter.engines.live import Laboratory, Station
from ethermeter.experiment import load
from ethermeter.store.result import Result, read
from ethermeter.trial import Trial


def loopback(addresses: str = "127.0.0.") -> Laboratory:
    """Two hosts, a and b, whose addresses begin so and end in 1 and 2."""
    return Laboratory(
        {
            name: Station(name, f"127.0.0.{at}:4988", f"{addresses}{at}")
            for at, name in enumerate("ab", 1)
        },
        "loopback",
    )


def only_trial(folder: Path, text: str, *more: tuple[str, str]) -> Trial:
    """The only trial of an experiment file, in which each first text, which must be there, is
    replaced by the second.
    """
    for old, new in more:
        assert old in text
        text = text.replace(old, new)
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    (trial,) = plan.expand([load(path)]).trials
    return trial


def counted(role: str, **counts: Any) -> dict[str, Any]:
    """Report of a role as an agent writes it."""
    return {"role": role, "counted": {"role": role, **counts}}


def result_of(tables: dict[str, Any]) -> Result:
    """Read the result of a test from its tables; those that are missing are empty."""
    return read(json.dumps({"outcome": "complete", "agents": {}, "flows": {}, **tables}))
