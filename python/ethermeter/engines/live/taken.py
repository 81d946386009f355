"""Whether the machine around a host took its processors away while something was measured."""

from collections.abc import Mapping
from typing import Any

MOST_TAKEN = 0.01
"""Share of one processor's time in the measured window.

What is gone for longer holds up more than one message in a hundred.
"""
LEAST_TICKS = 2
"""Of 10 ms each, in which a kernel tells it: one may have been gathered over a long time before the
window.
"""


def is_taken(result: Mapping[str, Any]) -> bool:
    """Tell whether a host of the test lost more than `MOST_TAKEN` of a processor's time in the
    measured window, as its kernel tells.

    Parameters
    ----------
    result
        What came of a test, as docs/live.md has it. Hosts that told no counters, and machines that
        are not told what is taken from them, lost nothing that is known.

    """
    return any(
        _lost((agent.get("result") or {}).get("host") or ())
        for agent in (result.get("agents") or {}).values()
    )


def _lost(edges: Any) -> bool:
    at = {edge["at"]: (edge.get("host") or {}).get("processors") or () for edge in edges}
    pairs = zip(at.get("measure_from", ()), at.get("measure_to", ()), strict=False)
    return any(
        _is_much({kind: after[kind] - before[kind] for kind in before}) for before, after in pairs
    )


def _is_much(grown: Mapping[str, int]) -> bool:
    return grown["stolen"] >= LEAST_TICKS and grown["stolen"] > MOST_TAKEN * sum(grown.values())
