"""Buses of 10BASE-T1S, and what their settings do."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ethermeter.theory.bus_advice import Advice

LENGTH, FRAMES = "25 m", "1518 B"
"""Bus, and frames of its nodes, that are supposed of an interface."""


@dataclass(frozen=True, slots=True)
class SingleBus(Advice):
    """The bus of an experiment; `point`: the varied keys, with the values that it is for."""

    point: Mapping[str, str]

    @classmethod
    def of(cls, advice: Advice, point: Mapping[str, str]) -> "SingleBus":
        """Return what is known of a bus at a point."""
        return cls(
            **{each.name: getattr(advice, each.name) for each in fields(advice)}, point=point
        )


@dataclass(frozen=True, slots=True)
class Buses:
    """The buses of a network by segment; `point`: the varied keys, with the values of these."""

    point: Mapping[str, str]
    segments: Mapping[str, Advice]


@dataclass(frozen=True, slots=True)
class InterfaceBus:
    """An interface of this host, and a bus of nodes that all have its settings.

    Parameters
    ----------
    interface
        Its name.
    plca
        The table `plca` of an experiment file, with what the PHY reports.
    status
        Whether the PHY hears beacons.
    warnings
        What keeps the node from its turns, or what no bus can have.
    bus
        What is known of that bus; None if there is none with these settings.

    """

    interface: str
    plca: Mapping[str, bool | int]
    status: str
    warnings: tuple[str, ...]
    bus: Advice | None
