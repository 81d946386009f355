"""Schema: the format of an experiment file for editors."""

from typing import Any

from ethermeter.experiment.document import Document
from ethermeter.experiment.standards import standards


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an experiment file."""
    schema = Document.model_json_schema(mode="validation")
    schema["$defs"]["Segment"]["properties"]["standard"]["enum"] = list(standards())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
