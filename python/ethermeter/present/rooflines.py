"""Rooflines: the ceilings along paths, and which is nearest to what was achieved."""

from collections.abc import Sequence

from ethermeter.analysis.roofline import Roofline
from ethermeter.blocks import Table, Text
from ethermeter.quantities import quantity
from ethermeter.report.roofline import verdict


def rooflines(found: Sequence[Roofline]) -> list[Text | Table]:
    """Lay out the ceilings along each path."""
    blocks: list[Text | Table] = []
    for each in found:
        rows = [
            [stage.name, quantity(stage.ceiling.value, "bit/s"), str(stage.flows), stage.source]
            for stage in each.stages
        ]
        table = Table(["stage", "ceiling", "flows", "from"], rows, "Ceilings along the path")
        blocks += [Text(each.title), table, Text(f"{verdict(each)}\n")]
    return blocks
