"""Bottleneck: how a transfer responded to changes of its stages, and which stage limits it."""

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from ethermeter.analysis.bottleneck import STAGES, BottleneckAnswer, Changed, Outcome
from ethermeter.blocks import Table, Text
from ethermeter.present import rooflines
from ethermeter.quantities import Scale, quantity, with_ends
from ethermeter.results.interval import student


def bottleneck(found: BottleneckAnswer) -> Iterator[Text | Table]:
    """Lay out the changes that were tried, those that were not, and the verdict."""
    yield from evidence(found)
    yield Text(rooflines.nearest(found.path()))
    yield Text(verdict(found))


def evidence(found: BottleneckAnswer) -> Iterator[Text | Table]:
    """Lay out the changes that were tried, and those that were not."""
    unchanged = _throughput(found.unchanged)
    yield Text(f"{found.title}: {unchanged}, {found.rounds} rounds in random order")
    head = ["stage", "", "from … to", "throughput", "change", "response"]
    yield Table(head, [_row(change) for change in found.changes], "Changes")
    for left in found.not_tried:
        yield Text(f"not changed: {STAGES.get(left.stage, left.stage).lower()}: {left.why}")
    yield Text(f"processors are limited by {found.processors_limited_by}")


def verdict(found: BottleneckAnswer) -> Markup:
    """Say which stage limits the transfer, and why."""
    stage = found.bottleneck
    named = "undecided" if stage is None else STAGES.get(stage, stage)
    return Markup("bottleneck: <strong>{}</strong> – {}").format(named, found.why)


def _row(change: Changed) -> list[str]:
    response = change.response
    return [
        STAGES.get(change.stage, "Connections (no stage)"),
        change.way,
        change.what,
        _throughput(change.samples),
        f"{100 * change.gain:+.0f}%",
        with_ends(response.value, response.low, response.high, Scale("")),
    ]


def _throughput(outcomes: Sequence[Outcome]) -> str:
    """Write the mean throughput with its interval."""
    mean = student(np.asarray([outcome.throughput_bps for outcome in outcomes]))
    return quantity(mean.value, "bit/s", mean.half_width)
