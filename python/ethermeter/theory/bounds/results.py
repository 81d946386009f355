"""Bounds of a scenario: of its flows and of its ports."""

from dataclasses import dataclass

from ethermeter.theory.bounds.backlog import Backlog


@dataclass(frozen=True, slots=True)
class DelayBound:
    """Largest delay of messages, or of responses, to each receiver [s].

    `by_receiver_s`: in the order of the flow's receivers; None without a bound. `largest_s`: of
    all; None if one has none, for `reason`.
    """

    by_receiver_s: tuple[float | None, ...]
    largest_s: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FlowBound:
    """Bounds of a flow.

    `method`: the analysis that gave the delay, "TFA" or "PLP". `response`, `round_trip`: None for
    flows without responses; the round trip ends with the last response.
    """

    name: str
    delay: DelayBound
    method: str
    response: DelayBound | None = None
    round_trip: DelayBound | None = None


@dataclass(frozen=True, slots=True)
class PortBound:
    """Bounds of the queue of an output port: port 2l and 2l + 1 are the ends of link l.

    `classes`: largest backlog by traffic class, highest first, one if the port has none; None
    without a bound, for the reason of the same index in `reasons`. `total`: of all classes
    together.
    """

    port: int
    classes: tuple[Backlog | None, ...]
    reasons: tuple[str | None, ...]
    total: Backlog | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a scenario: of its flows in their order, and of its ports by number.

    `cycle`: names of servers that depend on each other in a cycle, if there is one.
    """

    flows: tuple[FlowBound, ...]
    ports: tuple[PortBound, ...]
    cycle: tuple[str, ...] = ()
