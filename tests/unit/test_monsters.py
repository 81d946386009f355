"""A monster at every key of a sound file: whatever stands there, only faults may come of it."""

import copy
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from ethermeter.experiment import shipped, toml
from fuzz_input import outcome_of_load

MONSTERS: dict[str, Any] = {
    "integer of ten thousand digits": 1 << 40_000,
    "list of it": [1 << 40_000],
    "range to it": {"from": 1 << 40_000, "to": 1 << 40_001},
    "largest double": 1.7e308,
    "not a number": float("nan"),
    "true": True,
    "minus one": -1,
    "empty text": "",
    "empty list": [],
    "list of an empty list": [[]],
    "empty table": {},
    "table under an empty key": {"": {}},
    "two kinds in one": {"uniform": ["0 s", "1 s"], "poisson": "1 /s", "a": 1},
    "digits without end": "9" * 100_000 + " us",
    "exponent": "1e40 s",
    "NUL": "\x00",
    "superscript": "64 B x ²",
    "other digits": "٣ us",
    "long word": "x" * 5000,
}
SOUND = tomllib.loads(shipped()["schools-hub"].read_text(encoding="utf-8"))


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key and index of a tree."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@pytest.mark.parametrize("monster", MONSTERS.values(), ids=MONSTERS)
def test_a_monster_at_any_key_gives_faults_or_a_sound_experiment(monster):
    for path in places(SOUND):
        tree = copy.deepcopy(SOUND)
        table = tree
        for part in path[:-1]:
            table = table[part]
        table[path[-1]] = monster
        outcome_of_load(toml.document(tree).encode())
