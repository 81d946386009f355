"""One sound set of arguments for every model of the catalogue."""

import tomllib
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".toml")
POINTS: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
