"""Rooflines: the ceilings along paths, and which is nearest to what was achieved."""

from collections.abc import Iterator, Sequence

from ethermeter.analysis.roofline import Roofline
from ethermeter.blocks import Table, Text
from ethermeter.quantities import estimate_text, quantity, scale_of


def rooflines(found: Sequence[Roofline]) -> Iterator[Text | Table]:
    """Lay out the ceilings along each path."""
    for each in found:
        yield Text(each.title)
        yield ceilings(each)
        yield Text(f"{nearest(each)}\n")


def ceilings(found: Roofline) -> Table:
    """Tabulate the ceilings along a path, with their intervals."""
    rows = [
        [
            stage.name,
            estimate_text(stage.ceiling, scale_of(stage.ceiling.value, "bit/s")),
            str(stage.flows),
            stage.source,
        ]
        for stage in found.stages
    ]
    return Table(["stage", "ceiling", "flows", "from"], rows, "Ceilings along the path", "plain")


def nearest(found: Roofline) -> str:
    """Say which ceiling is nearest, and by how much."""
    stage = found.nearest
    text = f"Nearest ceiling: {stage.name}, {quantity(stage.ceiling.value, 'bit/s')}"
    if found.achieved is None or found.margin is None:
        return f"{text}; nothing was measured on the path."
    achieved = quantity(found.achieved.value, "bit/s")
    text += f"; achieved: {achieved}, a margin of {found.margin:.3g}"
    # A frame at an edge of the window counts whole: that much more is no contradiction.
    if found.margin < 0.99:
        # A stage alone can be slower than in its place, where others do part of its work, and both
        # have an uncertainty.
        text += (
            " (achieved more than the ceiling says: they are not of the same conditions, or within"
            " their uncertainty)"
        )
    return f"{text}."
