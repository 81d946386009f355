"""Bottleneck: how a transfer responded to changes of its stages, and which stage limits it."""

from collections.abc import Sequence

import numpy as np

from ethermeter.blocks import Table, Text
from ethermeter.bottleneck import Outcome
from ethermeter.bottleneck.interventions import STAGES
from ethermeter.quantities import Scale, quantity, with_ends
from ethermeter.report.roofline import verdict
from ethermeter.results.interval import student
from ethermeter.strategies.bottleneck import Answer


def bottleneck(found: Answer) -> list[Text | Table]:
    """Lay out the changes that were tried, those that were not, and the verdict."""
    rows = []
    for change in found.changes:
        response = change.response
        rows.append(
            [
                STAGES.get(change.stage, "Connections (no stage)"),
                change.way,
                change.what,
                _throughput(change.samples),
                f"{100 * change.gain:+.0f}%",
                with_ends(response.value, response.low, response.high, Scale("")),
            ]
        )
    usual = f"{_throughput(found.unchanged)}, {found.rounds} rounds in random order"
    head = ["stage", "", "from … to", "throughput", "change", "response"]
    named = STAGES[found.bottleneck] if found.bottleneck else "undecided"
    return [
        Text(f"{found.title}: {usual}"),
        Table(head, rows, "Changes"),
        *(
            Text(f"not changed: {STAGES.get(left.stage, left.stage).lower()}: {left.why}")
            for left in found.not_tried
        ),
        Text(f"processors are limited by {found.processors_limited_by}"),
        Text(verdict(found.path())),
        Text(f"bottleneck: {named} – {found.why}"),
    ]


def _throughput(outcomes: Sequence[Outcome]) -> str:
    """Write the mean throughput with its interval."""
    mean = student(np.asarray([outcome.throughput_bps for outcome in outcomes]))
    return quantity(mean.value, "bit/s", mean.half_width)
