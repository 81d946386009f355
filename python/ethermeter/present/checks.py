"""Checks: which conditions of --fail-if a result meets."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ethermeter.analysis.checks import Check
from ethermeter.blocks import Table, Text
from ethermeter.metrics import Metric
from ethermeter.quantities import Scale, estimate_text, metric_text

Block = Text | Table

TABLE_ROWS = 10


def checks(found: Sequence[Check]) -> Iterator[Block]:
    """Lay out the checks that fail or are undecided, and count them all; nothing of none."""
    if not found:
        return
    counts = Counter(str(each.verdict) for each in found)
    failed = [each for each in found if each.verdict == "fails"]
    named = [*failed, *(each for each in found if each.verdict == "undecided")]
    if named:
        keys = list(dict.fromkeys(key for each in named for key in each.point))
        rows = [
            [
                each.verdict,
                each.condition,
                *(each.point.get(key, "") for key in keys),
                each.name,
                _value(each),
            ]
            for each in named[:TABLE_ROWS]
        ]
        head = ["verdict", "condition", *keys, "of", "value"]
        yield Table(head, rows, "Checks that do not pass", headers=len(head) - 1)
        if len(named) > TABLE_ROWS:
            yield Text(f"… {len(named) - TABLE_ROWS} more")
        for reason in dict.fromkeys(each.reason for each in named if each.reason):
            yield Text(f"fails in the long run: {reason}")
    words = {"fails": "failed", "undecided": "undecided", "passes": "passed"}
    shown = [f"{counts[verdict]} {text}" for verdict, text in words.items() if counts[verdict]]
    yield Text(f"checks: {', '.join(shown)}")


def _value(each: Check) -> str:
    if each.metric:
        return metric_text(Metric(each.metric), each.value)
    return estimate_text(each.value.within(0.0, 1.0), Scale("%", 0.01))
