"""Untyped mappings: where there are none there shall be none, and elsewhere they become fewer."""

import re
from collections import Counter
from pathlib import Path

import ethermeter

PACKAGE = Path(ethermeter.__file__).parent
UNTYPED = re.compile(r"\b(?:dict|Mapping|MutableMapping)\[str, Any\]")
TYPED = {
    "analysis",
    "api.py",
    "arguments.py",
    "bottleneck",
    "calibration",
    "calls",
    "captures",
    "ceilings",
    "cli",
    "counts.py",
    "engines",
    "faults.py",
    "figure.py",
    "framing.py",
    "hosts_file.py",
    "json_values.py",
    "metrics",
    "nodes.py",
    "plan.py",
    "presentation.py",
    "provenance.py",
    "scenario.py",
    "entities.py",
    "store",
    "strategies",
    "studies",
    "testbed",
    "topology.py",
    "trial.py",
    "units.py",
    "voice",
}
"""Rooms without untyped mappings; a room that becomes typed is added here."""
MOST = 7
"""Untyped mappings in all rooms together; to be lowered with their number."""


def test_untyped_mappings_do_not_spread():
    found = Counter(
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        for _ in UNTYPED.findall(path.read_text(encoding="utf-8"))
    )
    assert not {room: found[room] for room in TYPED if found[room]}
    assert sum(found.values()) <= MOST, found


BOUNDARIES = {
    "benchmark/steps.py": "results of steps by their keys, each of the type that its step returns",
    "experiment/toml.py": "tables of a TOML file",
    "imports/document.py": "JSON of other programs",
    "models/values.py": "arguments and results of models by name",
    "probing/peers.py": "measurements as lines of JSON",
    "report/theme.py": "specifications of charts",
    "theory/predictions.py": "arguments of models by name",
}
"""Modules between the program and data without a schema."""


def test_untyped_mappings_are_at_boundaries_only():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if UNTYPED.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(BOUNDARIES)
