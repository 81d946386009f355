"""Means of a scenario: of its flows, of its ports, and the load at which a resource is full."""

from dataclasses import dataclass

from ethermeter.metrics import Caution


@dataclass(frozen=True, slots=True)
class FlowMean:
    """Means of a flow over its messages.

    `delay_s`: mean one-way delay over its receivers, None without one for `reason`. `loss`: share
    of messages that are lost. `message_rate`: received by each receiver [1/s]. `cautions`: of the
    delay, the loss and the rates. `round_trip_s`: mean time from a request to its response, of
    flows with responses. `data_rate_bps`: data that a transfer moves.
    """

    name: str
    delay_s: float | None
    loss: float | None
    message_rate: float | None
    cautions: tuple[Caution, ...] = ()
    reason: str | None = None
    round_trip_s: float | None = None
    data_rate_bps: float | None = None


@dataclass(frozen=True, slots=True)
class PortMean:
    """Means of an output port: port 2l and 2l + 1 are the ends of link l.

    `utilisation`: share of time in which frames and their gaps are sent, offered; above 1 without
    limit of the queue it is unstable. `queue_frames`: mean number of frames, the one being sent
    included; None without one, and where messages have several frames.
    """

    port: int
    utilisation: float
    queue_frames: float | None


@dataclass(frozen=True, slots=True)
class Saturation:
    """The most uniform scaling of all flows before a resource is full (roofline).

    `scale`: factor of all rates; infinite without open flows. `resource`: the first that is full.
    """

    scale: float
    resource: str


@dataclass(frozen=True, slots=True)
class Means:
    """Means of a scenario: of its flows in their order, and of its ports by number."""

    flows: tuple[FlowMean, ...]
    ports: tuple[PortMean, ...]
    saturation: Saturation
