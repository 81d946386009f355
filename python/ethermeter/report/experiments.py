"""Experiments: the experiment files that a run keeps, with where each value comes from."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ethermeter.document import micro
from ethermeter.faults import InputError

KINDS = ("standard", "study", "fit", "assumption")


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment file of the run: its name, title and tables."""

    name: str
    title: str
    content: Mapping[str, object]

    def parameters(self) -> list[tuple[str, str, str, str]]:
        """Key, value, kind and text of the source, of all keys of the file and of its sources."""
        values = flat(
            {
                key: value
                for key, value in self.content.items()
                if key not in ("title", "sources", "run")
            }
        )
        given = self.content.get("sources")
        given = given if isinstance(given, dict) else {}
        sources = {
            key: _source(source) for key, source in flat(given, leaves=("source", "basis")).items()
        }
        rows = []
        used: set[str] = set()
        for key, value in values.items():
            at = _nearest(key, sources, self.content)
            if at is not None:
                used.add(at)
            kind, text = sources[at] if at is not None else ("", "")
            rows.append((key, written(value), kind, text))
        return rows + [(key, "", *source) for key, source in sources.items() if key not in used]


def _nearest(key: str, sources: Mapping[str, object], content: Mapping[str, object]) -> str | None:
    """Return the key of the source of this key, or else of the table around it."""
    bare = key.replace("[1]", "").replace("[2]", "")
    for candidate in (key, bare, *_spellings(key, content)):
        parts = candidate.split(".")
        for length in range(len(parts), 0, -1):
            if ".".join(parts[:length]) in sources:
                return ".".join(parts[:length])
    return None


def _spellings(key: str, content: Mapping[str, object]) -> list[str]:
    """Return the spellings of a key in a file.

    Tables of a list go by their name, by their number from 0, or all together.
    """
    spellings: list[list[str]] = [[]]
    tree: object = content
    for part in key.split("."):
        name, _, number = part.rstrip("]").partition("[")
        tree = tree.get(name) if isinstance(tree, Mapping) else None
        spellings = [[*spelling, name] for spelling in spellings]
        # What has a number is a list of tables.
        if isinstance(tree, list) and tree and (number or isinstance(tree[0], Mapping)):
            at = int(number) - 1 if number else 0
            tree = tree[at]
            assert isinstance(tree, Mapping)
            # Most particular first.
            steps = [[str(tree["name"])] if "name" in tree else [], [str(at)], ["*"], []]
            spellings = [[*spelling, *step] for step in steps for spelling in spellings]
    return [".".join(spelling) for spelling in spellings]


def _source(source: object) -> tuple[str, str]:
    if isinstance(source, Mapping):
        return str(source.get("basis", "")), str(source.get("source", ""))
    kind, colon, text = str(source).partition(": ")
    return (kind, text) if colon and kind in KINDS else ("", str(source))


def flat(
    table: Mapping[str, object], *, prefix: str = "", leaves: tuple[str, ...] = ()
) -> dict[str, object]:
    """Nested tables as dotted keys; a list of tables is numbered if it has more than one.

    Examples
    --------
    >>> flat({"a": {"b": 1}, "c": [{"d": 2}, {"d": 3}]})
    {'a.b': 1, 'c[1].d': 2, 'c[2].d': 3}
    """
    found: dict[str, object] = {}
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, Mapping) and not set(leaves) & set(value):
            found |= flat(value, prefix=f"{name}.", leaves=leaves)
        elif isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
            for number, part in enumerate(value, 1):
                found |= flat(
                    part,
                    prefix=f"{name}." if len(value) == 1 else f"{name}[{number}].",
                    leaves=leaves,
                )
        else:
            found[name] = value
    return found


def written(value: object) -> str:
    """Write a value of a TOML file for people."""
    if isinstance(value, list):
        return ", ".join(map(written, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return micro(str(value))


def experiments(run_dir: Path) -> list[Experiment]:
    """Experiment files kept in a run directory, in the order of their names.

    Raises
    ------
    InputError
        If one is not TOML.
    """
    paths = sorted(run_dir.glob("experiment*.toml")) + sorted(
        (run_dir / "experiments").glob("*.toml")
    )
    found = []
    for path in paths:
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
            raise InputError.of(str(path), "content", str(fault), "expected TOML") from fault
        found.append(Experiment(path.stem, micro(str(content.get("title", path.stem))), content))
    return found
