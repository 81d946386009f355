"""The page of all keys of an experiment file, from its JSON Schema."""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from ethermeter.experiment import json_schema

Schema = dict[str, Any]
HEAD = """# Keys of an experiment file

This page is generated from the JSON Schema that `ethermeter experiments --schema experiment` prints.
[The experiment file](experiment-file.md), [Networks](networks.md), [Models of nodes](node-models.md) and [Flows](flows.md) explain how to write values.

Tables of a first experiment come first: a network and its flows, or a segment and its stations.
A heading is the dotted path of a table, as `--set`, `[vary]` and error messages write it; a list of tables (`[[stations]]`) has the name or the number of a table after its key.
"""
ROOTS = {"Document": "The file"}
FIRST = (
    "",
    "network",
    "network.hosts",
    "network.links",
    "network.switches",
    "flows",
    "flows.response",
    "flows.transfer",
    "phases",
    "run",
    "segment",
    "stations",
    "stations.arrivals",
)
"""Tables that a first file has, in the order in which they are met; all others follow."""
_UNITS = re.compile(r"\\s\*\(((?:[^()\\]|\\/)+)\)\\s\*\$$")
"""The units at the end of the pattern of a quantity."""
MOST_PATHS = 4
"""Other paths of a table that are listed."""


def page() -> str:
    """Return the page."""
    schema = json_schema()
    tables = _Tables(schema["$defs"])
    parts = [HEAD]
    shown: set[str] = set()
    for root, title in ROOTS.items():
        parts.append(f"\n## {title}\n")
        for name in tables.from_root(root):
            if name not in shown:
                shown.add(name)
                parts.append(tables.section(name, is_root=name == root))
    return "".join(parts)


class _Tables:
    """Definitions of the schema, and where in a file each stands."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self.quantities = dict(_quantities(definitions))
        self.paths: dict[str, list[str]] = {}
        for root in ROOTS:
            self._walk(root)

    def from_root(self, root: str) -> list[str]:
        """Return the tables below a root that have a section, those of `FIRST` first."""
        found, waiting = [], deque([root])
        while waiting:
            name = waiting.popleft()
            if name in found:
                continue
            found.append(name)
            waiting.extendleft(reversed([below for _, below in self._below(name)]))
        shown = [name for name in found if name in ROOTS or not self._is_wrapper(name)]
        return sorted(shown, key=self._rank)

    def _rank(self, name: str) -> int:
        ranks = [FIRST.index(path) for path in self.paths[name] if path in FIRST]
        return min(ranks, default=len(FIRST))

    def section(self, name: str, *, is_root: bool) -> str:
        """Return heading, description and keys of a table."""
        table = self.definitions[name]
        required = set(table.get("required", ()))
        rows = [
            f"| `{key}` | {_cell(self._allowed(value))} | "
            f"{'required' if key in required else _default(value)} | {_cell(self._meaning(value))} |\n"
            for key, value in table["properties"].items()
        ]
        keys = f"| key | value | default | meaning |\n|---|---|---|---|\n{''.join(rows)}"
        if is_root:
            return f"\n{_cell(_text(table))}\n\n{keys}"
        first, *others = self.paths[name]
        also = ", ".join(f"`{path}`" for path in others[:MOST_PATHS])
        more = " and others" if len(others) > MOST_PATHS else ""
        note = f" Also at {also}{more}." if others else ""
        return f"\n### `{first}`\n\n{_cell(_text(table))}{note}\n\n{keys}"

    def _walk(self, root: str) -> None:
        waiting = deque([("", root)])
        while waiting:
            path, name = waiting.popleft()
            if path in self.paths.setdefault(name, []) or path.count(".") > 5:
                continue
            self.paths[name].append(path)
            for key, below in self._below(name):
                waiting.append((f"{path}.{key}" if path else key, below))

    def _below(self, name: str) -> Iterator[tuple[str, str]]:
        for key, value in self.definitions[name].get("properties", {}).items():
            for path, reference in _references(value, key):
                yield path, reference

    def _is_wrapper(self, name: str) -> bool:
        """Whether a table has one key, so that it is shown where it is used."""
        return len(self.definitions[name].get("properties", {})) == 1

    def _allowed(self, value: Schema) -> str:
        """Return what a value may be."""
        if "$ref" in value:
            name = value["$ref"].rpartition("/")[2]
            if self._is_wrapper(name):
                ((key, inner),) = self.definitions[name]["properties"].items()
                return f"`{{ {key} = ` {self._allowed(inner)} `}}`"
            path = self.paths[name][0]
            return f"[table](#{re.sub(r'[^a-z0-9_-]', '', path)})"
        for word in ("anyOf", "oneOf", "allOf"):
            if word in value:
                return " or ".join(
                    self._allowed(one) for one in value[word] if one.get("type") != "null"
                )
        if "enum" in value:
            return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
        if "const" in value:
            return f"`{json.dumps(value['const'])}`"
        return self._plain(value)

    def _meaning(self, value: Schema) -> str:
        """Return the description of a key, or of the table that it has."""
        if "description" not in value and "$ref" in value:
            return _text(self.definitions[value["$ref"].rpartition("/")[2]])
        return _text(value)

    def _plain(self, value: Schema) -> str:
        if value.get("pattern") in self.quantities:
            return self.quantities[value["pattern"]]
        match value.get("type"):
            case "integer" | "number" as kind:
                return kind + _range(value)
            case "boolean":
                return "`true`, `false`"
            case "array":
                items = self._allowed(value.get("items", {})) or "values"
                return f"list of ({items})" if " or " in items else f"list of {items}"
            case "object" if len(value.get("properties", {})) == 1:
                ((key, inner),) = value["properties"].items()
                return f"`{{ {key} = ` {self._allowed(inner)} `}}`"
            case "object":
                named = next(iter(value.get("patternProperties", {}).values()), None)
                inner = value.get("additionalProperties") or named
                of = self._allowed(inner) if isinstance(inner, dict) else ""
                return f"table of {of}" if of else "table"
            case "string":
                text = str(value.get("description", ""))
                units = _UNITS.search(value.get("pattern", ""))
                if units:
                    return "number with a unit: " + units[1].replace("\\", "").replace("|", ", ")
                return text if text.startswith(("a ", "an ")) else "text"
        return "any value"


def _quantities(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the patterns of quantities with their descriptions."""
    if isinstance(node, dict):
        if "pattern" in node and str(node.get("description", "")).startswith(("a ", "an ")):
            yield node["pattern"], node["description"]
        for below in node.values():
            yield from _quantities(below)
    elif isinstance(node, list):
        for below in node:
            yield from _quantities(below)


def _references(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the tables that a value may be, or have in it, with their paths."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield path, value["$ref"].rpartition("/")[2]
        for word, below in value.items():
            if word == "properties":
                for key, inner in below.items():
                    yield from _references(inner, f"{path}.{key}")
            else:
                yield from _references(below, path)
    elif isinstance(value, list):
        for below in value:
            yield from _references(below, path)


def _range(value: Schema) -> str:
    low = value.get("minimum", value.get("exclusiveMinimum", value.get("ge")))
    high = value.get("maximum", value.get("exclusiveMaximum", value.get("lt")))
    above = "above" if "exclusiveMinimum" in value else "from"
    below = "below" if "lt" in value or "exclusiveMaximum" in value else "to"
    return (f" {above} {low}" if low is not None else "") + (
        f" {below} {high}" if high is not None else ""
    )


def _default(value: Schema) -> str:
    return f"`{json.dumps(value['default'])}`" if value.get("default") is not None else "–"


def _text(value: Schema) -> str:
    text = str(value.get("description", ""))
    return "" if text.startswith(("a ", "an ")) else text


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
