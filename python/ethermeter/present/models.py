"""Models: those of the catalogue, one of them, and its values."""

from collections.abc import Mapping
from typing import Any

from ethermeter.arguments import OUTSIDE
from ethermeter.blocks import Table, Text
from ethermeter.quantities import number
from ethermeter.theory.entry import Model, Symbol
from ethermeter.theory.evaluation import Evaluation

DIGITS = 6
MOST_ROWS = 200
_SHORT_AXES = ("", "crossings", "equilibria")
"""Last axes of results that are short enough for a cell; without one, a result is a number."""


def catalogue(models: Mapping[str, Model]) -> list[Table]:
    """Lay out the models by name."""
    rows = [[name, entry.title] for name, entry in models.items()]
    return [Table(["model", "what it is"], rows, "Models")]


def model(entry: Model) -> list[Text | Table]:
    """Lay out arguments, results and assumptions of a model, and how reliable it is."""
    takes = [
        [symbol.argument, symbol.symbol, symbol.unit, _range(symbol), symbol.meaning]
        for symbol in entry.symbols
    ]
    gives = [[each.field, each.symbol, each.unit, each.meaning] for each in entry.outputs]
    assumes = [[assumption.key, assumption.text] for assumption in entry.assumptions]
    return [
        Text(f"{entry.name}: {entry.title}\n"),
        Table(["takes", "symbol", "unit", "allowed", "meaning"], takes, "Arguments"),
        Text(""),
        Table(["gives", "symbol", "unit", "meaning"], gives, "Results"),
        Text(""),
        Table(["assumes", ""], assumes, "Assumptions"),
        Text(f"\nvalidity: {entry.validity}"),
        Text(f"confidence: {entry.confidence}"),
        Text(f"source: {entry.source}"),
        *(Text(f"note: {note}") for note in entry.notes),
    ]


def evaluation(entry: Model, found: Evaluation) -> list[Text | Table]:
    """Lay out the values of a model, a row for each point; long rows of results are left out."""
    fields = [field for field in entry.outputs if field.axis in _SHORT_AXES]
    units = {symbol.argument: symbol.unit for symbol in entry.symbols}
    head = [f"{argument} {units[argument]}".strip() for argument in found.varied]
    head += [f"{field.field} {field.unit}".strip() for field in fields]
    shown = min(found.points, MOST_ROWS)
    rows = [
        [
            *(number(values[at], digits=DIGITS) for values in found.varied.values()),
            *(_cell(found.value(field.field, at)) for field in fields),
        ]
        for at in range(shown)
    ]
    is_cautioned = bool(found.outside[:shown].any())
    if is_cautioned:
        head.append("caution")
        rows = [[*row, OUTSIDE if found.outside[at] else ""] for at, row in enumerate(rows)]
    blocks: list[Text | Table] = [Table(head, rows, "Values")]
    if found.points > shown:
        blocks.append(Text(f"… {found.points - shown} more with --json"))
    if is_cautioned:
        blocks.append(Text(f"{OUTSIDE}: {entry.validity}"))
    left_out = [field for field in entry.outputs if field not in fields]
    return [*blocks, *(Text(f"{field.field}: with --json") for field in left_out)]


def _range(symbol: Symbol) -> str:
    has_default = not symbol.required and symbol.default is not None
    return symbol.range + (f"; {_word(symbol.default)} unless given" if has_default else "")


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(number(item, digits=DIGITS) for item in value) or "–"
    return number(value, digits=DIGITS)
