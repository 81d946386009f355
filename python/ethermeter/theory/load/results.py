"""Results: overloads of flows, loads of resources."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ethermeter.theory.bounds.stages import PS_PER_S


@dataclass(frozen=True, slots=True)
class Overload:
    """A resource on the path of a flow that is offered more than it carries.

    `resource`, `node`: its name, and that of its node, or of the node that sends on it. `load`:
    what it is offered over what it carries, of the flow's traffic class with those before it.
    `loss`: share of the flow's work there that is not carried in the long run. `fill_ps`: mean time
    in which its room is full, as of `fill_time`; infinite without a limit.
    """

    resource: str
    node: str
    load: float
    loss: float
    fill_ps: float

    def __str__(self) -> str:
        """Return the overload in words."""
        return f"{self.resource} is offered {self.load:.4g} times what it carries; {self.queue}"

    @property
    def queue(self) -> str:
        """What becomes of its queue, in words: bursts fill it sooner than on average."""
        if self.is_endless:
            return "its queue has no limit and grows"
        return f"its queue is full after {self.fill_ps / PS_PER_S:.3g} s on average"

    @property
    def is_endless(self) -> bool:
        """Whether its queue has no limit."""
        return math.isinf(self.fill_ps)


@dataclass(frozen=True, slots=True)
class ResourceLoad:
    """The load of a resource, as if those before it carried everything; full at 1.

    `rate_bps`: line rate, preambles and gaps included; NaN of a stage of a node. `is_shared`:
    whether it is a medium, of which contention takes more than is counted. `limits`: what must not
    be above 1, by flow: the work of all, and, beside it, that of each class with an idle slope.
    """

    resource: str
    load: float
    rate_bps: float
    is_shared: bool
    limits: tuple[Mapping[int, float], ...]


@dataclass(frozen=True, slots=True)
class Loads:
    """Loads of a scenario.

    `overloads`: of each flow, along its path. `settling_ps`: of each flow the longest time in which
    a queue of its path without overload comes into balance, as of `settling_time`. `resources`:
    those that flows pass, the fullest first. `is_open`: whether each flow has a rate of its own,
    whatever the network carries.
    """

    overloads: tuple[tuple[Overload, ...], ...]
    settling_ps: tuple[float, ...]
    resources: tuple[ResourceLoad, ...]
    is_open: bool

    @property
    def worst(self) -> Overload | None:
        """The overload of any flow with the highest load; None without any."""
        every = [overload for of_flow in self.overloads for overload in of_flow]
        return max(every, key=lambda overload: overload.load, default=None)
