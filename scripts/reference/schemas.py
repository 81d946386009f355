"""The page of JSON Schemas, and the schemas as files."""

import json
from collections.abc import Callable

from ethermeter.analysis.schemas import FILES, schema_of
from ethermeter.experiment import json_schema

HEAD = """# JSON Schemas of files

This page is generated from the types that read and write the files.

Editors check and complete an experiment file by its schema; programs know by the others what a run has for them.
`ethermeter experiments --schema NAME` prints the same schemas.

| file | what it holds | schema |
|---|---|---|
"""
EXPERIMENT = "experiment"
EDITOR = """
## In an editor

Editors that check TOML by Taplo (VS Code: *Even Better TOML*) read the schema from the first line of a file.
Save the schema beside it, and name it there:

```sh
ethermeter experiments --schema experiment > experiment.json
```

```text
#:schema ./experiment.json
title = "My network"
```
"""


def page() -> str:
    """Return the page."""
    rows = [("an experiment", EXPERIMENT), *((f"`{name}.json` of a run", name) for name in FILES)]
    lines = [
        f"| {file} | {_meaning(name)} | [{name}.json](schemas/{name}.json) |\n"
        for file, name in rows
    ]
    return HEAD + "".join(lines) + EDITOR


def files() -> dict[str, Callable[[], str]]:
    """Return functions that give the schemas, by their paths beside the page."""
    return {f"schemas/{name}.json": lambda name=name: _text(name) for name in (EXPERIMENT, *FILES)}


def _schema(name: str) -> dict[str, object]:
    found: dict[str, object] = json_schema() if name == EXPERIMENT else schema_of(name)
    return found


def _text(name: str) -> str:
    return json.dumps(_schema(name), indent=2) + "\n"


def _meaning(name: str) -> str:
    schema = _schema(name)
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)
    text = str(definitions.get(reference, schema).get("description", ""))
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")
