"""Schemas: the JSON Schema of the files that a run has for programs."""

from typing import Any

import msgspec

from ethermeter.analysis.claims import ClaimsFile
from ethermeter.analysis.positions import PositionsFile
from ethermeter.results.estimates import EstimatesFile

FILES = {"estimates": EstimatesFile, "claims": ClaimsFile, "positions": PositionsFile}
"""What the files hold, by name without `.json`; `live-claims.json` holds what `claims.json` does.
"""


def schema_of(name: str) -> Any:
    """Return the JSON Schema of one of `FILES`."""
    found = msgspec.json.schema(FILES[name])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}
