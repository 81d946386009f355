"""Captures: the connections and flows of a capture file, and what limited each."""

from ethermeter.captures.connection import Caution, Connection, End
from ethermeter.captures.explanation import STANDARD_INPUT, Explanation, explain
from ethermeter.captures.limits import Limit
from ethermeter.captures.verdict import Role, Vantage, Verdict

__all__ = [
    "STANDARD_INPUT",
    "Caution",
    "Connection",
    "End",
    "Explanation",
    "Limit",
    "Role",
    "Vantage",
    "Verdict",
    "explain",
]
