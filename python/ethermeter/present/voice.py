"""Voice: what formulas on calls give, codecs, and their speech in packets."""

from collections.abc import Mapping, Sequence

from ethermeter.arguments import OUTSIDE
from ethermeter.blocks import Table, Text
from ethermeter.quantities import number
from ethermeter.voice import Codec
from ethermeter.voice.grid import Grid

DIGITS = 6
MOST_SOURCES = 3
"""Codecs whose sources are written, each below the table."""
_SAID = ("_octets", "_bits", "_per_s", "_bps")
"""Ends of names that say their unit."""


def grid(found: Grid, about: Mapping[str, str]) -> list[Text | Table]:
    """Lay out what a formula gives, and below it, by name, what else it was asked with."""
    blocks: list[Text | Table] = [_table(found, "Results")]
    blocks += [Text(f"{key}: {text}") for key, text in about.items()]
    if found.any_outside:
        text = "beyond the delay (0.5 s), loss (20%) or burst ratio (8) that G.107 permits"
        blocks.append(Text(f"{OUTSIDE}: {text}"))
    return blocks


def codecs(chosen: Sequence[Codec]) -> list[Text | Table]:
    """Lay out codecs, a few with the sources of their numbers."""
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
        for codec in chosen
    ]
    head = ["codec", "kb/s", "frame ms", "look-ahead ms", "Ie", "Bpl", "what it is"]
    sources = [
        Text(
            f"\n{codec.name}: rated for {codec.rated}\nsource: {codec.source}\nconfidence: "
            f"{codec.confidence}"
        )
        for codec in chosen
    ]
    return [Table(head, rows, "Codecs"), *(sources if len(sources) <= MOST_SOURCES else ())]


def packets(grids: Mapping[str, Grid], standard: str, ip: str) -> list[Text | Table]:
    """Lay out the packets of codecs, by name, on a segment of a standard."""
    blocks: list[Text | Table] = []
    for name, found in grids.items():
        text = f"{name} on {standard}, {ip}, one direction"
        blocks += [Text(f"{text}:"), _table(found, text)]
    return blocks


def _table(found: Grid, caption: str) -> Table:
    columns = {**found.given, **found.found}
    head = [
        name if name.endswith(_SAID) else f"{name} {found.units[name]}".rstrip() for name in columns
    ]
    rows = [
        [number(values[at], digits=DIGITS) for values in columns.values()]
        for at in range(found.points)
    ]
    if found.any_outside:
        head.append("caution")
        rows = [
            [*row, OUTSIDE if outside else ""]
            for row, outside in zip(rows, found.outside, strict=True)
        ]
    return Table(head, rows, caption)
