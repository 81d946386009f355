"""Stages of a network as the simulator has them: what serves a frame, and for how long.

The same formulas as `crates/simulator/src/network/compiled.rs`, in whole picoseconds. A resource
serves one frame at a time, first come, first served; its work is time, so that its rate is 1.
"""

from dataclasses import dataclass, replace

from ethermeter.entities import mean_ps
from ethermeter.scenario import Link, Stage
from ethermeter.theory.bounds.turns import Turn

PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class Access:
    """Access of a port to its shared segment.

    `access_ps`: longest time from the head of its queue to the first bit. `delays_ps`: longest and
    shortest time from there to another port, latencies of the PHYs included. `turn`: how it takes
    turns with others; None if it sends nothing. `fault`: why there is no bound, if so.
    """

    access_ps: int = 0
    delays_ps: tuple[int, int] = (0, 0)
    turn: Turn | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a stage on a resource.

    `gap_ps`: time after a frame in which the resource is not free. `overlap_octets`: octets after
    which the next stage may begin; None for all. `delay_ps`: time to the next stage. `batch_ps`:
    longest time that a frame waits there for others. `spare_ps`: by how much less than these a
    frame may take. `access_ps`: by how much longer the resource may be kept than the line is.
    `random_ps`: mean of the random service time, which is in none of the times.
    """

    resource: int
    fixed_ps: int
    ps_per_octet: int
    extra_octets: int
    burst_octets: int
    burst_ps: int
    overlap_octets: int | None
    delay_ps: int
    gap_ps: int
    batch_ps: int
    spare_ps: int = 0
    access_ps: int = 0
    random_ps: float = 0.0

    @classmethod
    def of_stage(cls, stage: Stage, resource: int) -> "Timing":
        """Return the times of a stage of a node."""
        burst = stage.burst
        return cls(
            resource,
            stage.fixed_ps,
            stage.ps_per_octet,
            stage.extra_octets,
            burst.octets if burst else 1,
            burst.ps if burst else 0,
            stage.overlap_octets,
            stage.delay_ps,
            stage.recovery_ps,
            stage.coalesce.ps if stage.coalesce and stage.coalesce.frames > 1 else 0,
            random_ps=mean_ps(stage.random.time) / stage.random.one_in if stage.random else 0.0,
        )

    @classmethod
    def of_wire(cls, link: Link, resource: int, overlap_octets: int | None) -> "Timing":
        """Return the times of one direction of a link; `overlap_octets` is the receiver's."""
        overlap = None
        if overlap_octets is not None and not link.half_duplex:
            overlap = overlap_octets + link.preamble_octets
        gap_ps = link.gap_octets * link.ps_per_octet
        return cls(
            resource,
            0,
            link.ps_per_octet,
            link.preamble_octets,
            1,
            0,
            overlap,
            link.delay_ps,
            gap_ps,
            0,
        )

    @classmethod
    def of_turns(cls, link: Link, resource: int, access: "Access") -> "Timing":
        """Return the times of a port on a bus, where every frame may wait for its turn."""
        wire = cls.of_wire(link, resource, None)
        farthest_ps, nearest_ps = access.delays_ps
        return replace(
            wire,
            fixed_ps=access.access_ps,
            delay_ps=farthest_ps,
            gap_ps=0,
            spare_ps=access.access_ps + farthest_ps - nearest_ps,
            access_ps=access.access_ps - wire.gap_ps,  # the gap is a part of the next access
        )

    def service_ps(self, octets: int) -> int:
        """Return the time in which a frame is served, without the gap."""
        carried = max(octets + self.extra_octets, 0)
        bursts = -(-carried // self.burst_octets) if self.burst_ps else 0
        return self.fixed_ps + carried * self.ps_per_octet + bursts * self.burst_ps

    def work_ps(self, octets: int) -> int:
        """Return the time in which the resource is not free for others, with the gap."""
        return self.service_ps(octets) + self.gap_ps

    def line_ps(self, octets: int) -> int:
        """Return the time after which another frame may follow, be it of another port."""
        return self.work_ps(octets) - self.access_ps

    def head_ps(self, octets: int) -> int:
        """Return the time from its start after which the next stage may begin, less `delay_ps`."""
        service_ps = self.service_ps(octets)
        if self.overlap_octets is None or not self.cuts_through:
            return service_ps
        return min(self.fixed_ps + self.overlap_octets * self.ps_per_octet, service_ps)

    @property
    def cuts_through(self) -> bool:
        """Whether the next stage may begin before this one has the whole frame."""
        return self.overlap_octets is not None and not self.batch_ps

    def rest_ps(self, octets: int) -> int:
        """Return the time by which the frame is complete after the next stage may begin."""
        return self.service_ps(octets) - self.head_ps(octets)
