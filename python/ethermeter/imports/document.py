"""Document: JSON of another program, whose values are checked where they are read."""

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
