"""Transfers: those that are shipped, each with the bottleneck that it has."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ethermeter.blocks import Table

if TYPE_CHECKING:
    from ethermeter.api.find.bottleneck import ListedTransfer


def transfers(found: Sequence["ListedTransfer"]) -> list[Table]:
    """Lay out transfers by name."""
    rows = [[each.name, each.planted or "", each.title] for each in found]
    return [Table(["name", "bottleneck", "what it is"], rows, "Transfers")]
