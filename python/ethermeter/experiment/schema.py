"""Schema: the format of an experiment file for editors."""

from typing import Any

from ethermeter.experiment.document import DOCUMENTS
from ethermeter.experiment.standards import standards


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an experiment file: of a segment, or of a network."""
    kinds = {name: model.model_json_schema(mode="validation") for name, model in DOCUMENTS.items()}
    tables: dict[str, Any] = {}
    for schema in kinds.values():
        tables |= schema.pop("$defs")
    tables["Segment"]["properties"]["standard"]["enum"] = list(standards())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "if": {"anyOf": [{"required": ["network"]}, {"required": ["flows"]}]},
        "then": {"$ref": "#/$defs/NetworkDocument"},
        "else": {"$ref": "#/$defs/Document"},
        "$defs": {**tables, **kinds},
    }
