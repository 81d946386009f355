"""Ceilings: the rate of each stage of a host alone."""

import math

from ethermeter.blocks import Table, Text
from ethermeter.ceilings import Ceiling, Survey
from ethermeter.quantities import number, quantity


def ceilings(found: Survey, *, processors: int | None) -> list[Text | Table]:
    """Lay out the ceilings of a host with so many processors, and what is left out."""
    rows = [_row(each) for each in found.ceilings]
    blocks: list[Text | Table] = [
        Table(["stage", "ceiling", "pieces/s", "basis"], rows, "Ceilings of this host")
    ]
    for name, facts in found.facts.items():
        rings = ", ".join(f"{key} {value}" for key, value in (facts.rings or {}).items())
        on = ", ".join(key for key, value in (facts.offloads or {}).items() if value)
        blocks.append(
            Text(
                f"{name}: driver {facts.driver or 'unknown'}; rings: {rings or 'unknown'}; "
                f"offloads on: {on or 'unknown'}"
            )
        )
    if found.others is not None:
        text = f"other processes used {found.others:.2f} of {processors} processors"
        blocks.append(Text(text))
    return [*blocks, *(Text(f"left out: {each.name}: {each.why}") for each in found.left_out)]


def _row(ceiling: Ceiling) -> list[str]:
    half = ceiling.estimate.half_width if ceiling.repetitions > 1 else math.nan
    rate = quantity(ceiling.estimate.value, "bit/s", half)
    pieces = "" if ceiling.pieces_per_s is None else number(ceiling.pieces_per_s, digits=3)
    return [ceiling.title, rate, pieces, ceiling.basis]
