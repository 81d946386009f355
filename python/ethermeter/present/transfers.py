"""Transfers: those that are shipped, each with the bottleneck that it has."""

from collections.abc import Mapping

from ethermeter.blocks import Table
from ethermeter.bottleneck import TransferFile


def transfers(found: Mapping[str, TransferFile]) -> list[Table]:
    """Lay out transfers by name."""
    rows = [[name, each.planted or "", each.title] for name, each in found.items()]
    return [Table(["name", "bottleneck", "what it is"], rows, "Transfers")]
