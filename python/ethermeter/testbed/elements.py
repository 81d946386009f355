"""What a testbed is made of: wires and hosts."""

from dataclasses import dataclass
from typing import Literal

from ethermeter.testbed.commands import inside

Layout = Literal["pair", "switch", "segment", "network"]
"""How hosts are joined."""
WireKind = Literal["shaped", "relay"]
"""What limits the rate of a wire.

`shaped`: a token bucket before the wire; `relay`: a process that also delays each frame by its
transmission time.
"""


@dataclass(frozen=True, slots=True)
class Wire:
    """A link of limited rate; the fields after `kind` need the kind `relay`."""

    rate_bps: int
    """Line rate of each direction, 64 kb/s to 10 Gb/s."""
    queue_octets: int = 150_000
    """Size of the queue before the wire at each end."""
    kind: WireKind = "shaped"
    delay_ns: int = 0
    """Propagation delay, up to 10 s."""
    loss: float = 0.0
    """Probability that a frame is lost, independent of other frames. A lost frame still occupies
    the wire.
    """
    lose_every: int | None = None
    """Lose every n-th frame instead; at least 1."""
    seed: int = 1
    """Seed of the losses."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host of a testbed."""

    namespace: str
    interface: str
    mac: str
    ipv4: str
    ipv6: str

    def command(self, *command: str) -> list[str]:
        """Return the command line that runs a command on this host."""
        return inside(self.namespace, *command)


@dataclass(frozen=True, slots=True)
class KeptTestbed:
    """A testbed that outlives the process that made it."""

    layout: Layout
    mtu: int
    hosts: tuple[Host, ...]
    wires: tuple[Wire | None, ...]
    """The wire of each host; None if unshaped."""
    names: tuple[str, ...] = ()
    """Names of the hosts in their experiment; empty without one."""
    segments: tuple[tuple[str, ...], ...] = ()
    """Names of the stations of each shared segment."""
