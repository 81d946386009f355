"""Benchmark suites: those that there are, with their tests in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ethermeter.blocks import Table

if TYPE_CHECKING:
    from ethermeter.api.find.benchmark import ListedSuite


def suites(found: Sequence["ListedSuite"]) -> list[Table]:
    """Lay out suites by name."""
    rows = [[each.name, each.tests] for each in found]
    return [Table(["suite", "tests"], rows, "Benchmark suites")]
