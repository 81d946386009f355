"""Capacity: whether a network carries what it is offered, and how much more."""

from ethermeter.document import Block
from ethermeter.present import capacity
from ethermeter.report.data import ReportData


def capacity_blocks(series: str, data: ReportData) -> list[Block]:
    """Lay out offered load and capacity of a series; empty without an offered load."""
    found = [each for each in data.capacities if each.series == series]
    blocks = [*capacity.capacity(found)]
    # Of the only series the page's findings begin with the sentence.
    return [*blocks[1:]] if len(found) == len(data.capacities) else [*blocks]


def findings(data: ReportData) -> list[str]:
    """Say in a sentence whether it fits; nothing of runs without an offered load in a network."""
    return [capacity.summary(data.capacities)] if data.capacities else []
