"""Ceilings: the rate of each stage of a host alone."""

import math
from typing import TYPE_CHECKING

from ethermeter.blocks import Table, Text
from ethermeter.quantities import number, quantity

if TYPE_CHECKING:
    from ethermeter.api.find.ceilings import Ceilings
    from ethermeter.ceilings import Ceiling


def ceilings(found: "Ceilings") -> list[Text | Table]:
    """Lay out the ceilings of a host, and what is left out."""
    rows = [_row(each) for each in found.ceilings]
    blocks: list[Text | Table] = [
        Table(["stage", "ceiling", "pieces/s", "basis"], rows, "Ceilings of this host")
    ]
    for name, facts in found.interfaces.items():
        rings = ", ".join(f"{key} {value}" for key, value in (facts.rings or {}).items())
        on = ", ".join(key for key, value in (facts.offloads or {}).items() if value)
        blocks.append(
            Text(
                f"{name}: driver {facts.driver or 'unknown'}; rings: {rings or 'unknown'}; "
                f"offloads on: {on or 'unknown'}"
            )
        )
    others = found.processors_used_by_others
    if others is not None:
        text = f"other processes used {others:.2f} of {found.processors} processors"
        blocks.append(Text(text))
    return [*blocks, *(Text(f"left out: {each.name}: {each.why}") for each in found.left_out)]


def _row(ceiling: "Ceiling") -> list[str]:
    half = ceiling.estimate.half_width if ceiling.repetitions > 1 else math.nan
    rate = quantity(ceiling.bit_per_s, "bit/s", half)
    pieces = "" if ceiling.pieces_per_s is None else number(ceiling.pieces_per_s, digits=3)
    return [ceiling.title, rate, pieces, ceiling.basis]
