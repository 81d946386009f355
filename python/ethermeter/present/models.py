"""Models: those of the catalogue, one of them, and its values."""

from collections.abc import Iterator, Sequence
from typing import Any

from ethermeter.arguments import OUTSIDE
from ethermeter.blocks import Table, Text
from ethermeter.models.catalogue import Argument, Description, Title
from ethermeter.models.evaluation import Evaluation
from ethermeter.quantities import number
from ethermeter.theory.entry import Datum, Model
from ethermeter.voice import Codec, TalkPattern

DIGITS = 6
MOST_ROWS = 200
_SHORT_AXES = ("", "crossings", "equilibria")
"""Last axes of results that are short enough for a cell; without one, a result is a number."""
_SAID = ("_octets", "_bits", "_per_s", "_bps")
"""Ends of names that say their unit."""


def catalogue(models: Sequence[Title]) -> list[Table]:
    """Lay out the models by name."""
    rows = [[each.name, each.title] for each in models]
    return [Table(["model", "what it is"], rows, "Models")]


def model(entry: Description) -> Iterator[Text | Table]:
    """Lay out arguments, results and assumptions of a model, and how reliable it is."""
    takes = [
        [each.argument, each.symbol, each.unit, _range(each), each.meaning]
        for each in entry.symbols
    ]
    gives = [[each.field, each.symbol, each.unit, each.meaning] for each in entry.outputs]
    yield Text(f"{entry.name}: {entry.title}\n")
    yield Table(["takes", "symbol", "unit", "allowed", "meaning"], takes, "Arguments")
    yield Text("")
    yield Table(["gives", "symbol", "unit", "meaning"], gives, "Results")
    if entry.assumptions:
        yield Text("")
        yield Table(["assumes", ""], [[*each] for each in entry.assumptions.items()], "Assumptions")
    yield Text(f"\nvalidity: {entry.validity}")
    yield Text(f"confidence: {entry.confidence}")
    yield Text(f"source: {entry.source}")
    yield from (Text(f"note: {note}") for note in entry.notes)
    yield from _data(entry.data)


def evaluation(entry: Model, found: Evaluation) -> list[Text | Table]:
    """Lay out the values of a model, a row for each point; long rows of results are left out."""
    shown = found.points[:MOST_ROWS]
    first = shown[0]
    fields = [each for each in entry.outputs if each.field in first.found]
    short = [each.field for each in fields if each.axis in _SHORT_AXES]
    head = [_head(name, found.units[name]) for name in (*first.given, *short)]
    rows = [
        [*map(_cell, point.given.values()), *(_cell(point.found[name]) for name in short)]
        for point in shown
    ]
    is_cautioned = any(OUTSIDE in point.cautions for point in shown)
    if is_cautioned:
        head.append("caution")
        rows = [[*row, *(point.cautions or [""])] for row, point in zip(rows, shown, strict=True)]
    blocks: list[Text | Table] = [Table(head, rows, "Values")]
    if len(found.points) > len(shown):
        blocks.append(Text(f"… {len(found.points) - len(shown)} more with --json"))
    blocks += [Text(line) for line in _same(entry, found)]
    if is_cautioned:
        blocks.append(Text(f"{OUTSIDE}: {entry.validity}"))
    return [
        *blocks,
        *(Text(f"{each.field}: with --json") for each in fields if each.field not in short),
    ]


def _head(name: str, unit: str) -> str:
    return name if name.endswith(_SAID) else f"{name} {unit}".strip()


def _same(entry: Model, found: Evaluation) -> Iterator[str]:
    """Yield words that hold at all points, and how sure the numbers are that they stand for."""
    for name, word in found.fixed.items():
        symbol = entry.symbol(name)
        if symbol is not None and symbol.always:
            yield f"{name}: {word}"
    for name, text in found.confidence.items():
        yield f"confidence{f' of {name}' if len(found.confidence) > 1 else ''}: {text}"


def _data(data: Sequence[Datum]) -> Iterator[Text | Table]:
    """Lay out the numbers that a model knows by names, with their sources."""
    codecs = [each for each in data if isinstance(each, Codec)]
    patterns = [each for each in data if isinstance(each, TalkPattern)]
    if codecs:
        yield Text("")
        yield _codecs(codecs)
    if patterns:
        yield Text("")
        yield _patterns(patterns)
    for each in data:
        rated = f"rated for {each.rated}\n" if isinstance(each, Codec) else ""
        yield Text(f"\n{each.name}: {rated}source: {each.source}\nconfidence: {each.confidence}")


def _codecs(codecs: Sequence[Codec]) -> Table:
    rows = [
        [
            codec.name,
            "–".join(f"{rate / 1000:g}" for rate in dict.fromkeys(codec.bit_rates_bps)),
            " ".join(f"{1000 * frame:g}" for frame in codec.frames_s),
            f"{1000 * codec.look_ahead_s:g}",
            number(codec.ie),
            number(codec.bpl),
            codec.title,
        ]
        for codec in codecs
    ]
    head = ["codec", "kb/s", "frame ms", "look-ahead ms", "Ie", "Bpl", "what it is"]
    return Table(head, rows, "Codecs")


def _patterns(patterns: Sequence[TalkPattern]) -> Table:
    rows = [
        [each.name, f"{each.talk_s:g}", f"{each.silence_s:g}", number(each.activity)]
        for each in patterns
    ]
    return Table(["pattern", "talk s", "silence s", "activity"], rows, "Patterns of talk spurts")


def _range(argument: Argument) -> str:
    has_default = not argument.required and argument.default is not None
    return argument.range + (f"; {_word(argument.default)} unless given" if has_default else "")


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _cell(value: Any) -> str:
    if isinstance(value, str | bool):
        return _word(value)
    if isinstance(value, list):
        return " ".join(number(item, digits=DIGITS) for item in value) or "–"
    return number(value, digits=DIGITS)
