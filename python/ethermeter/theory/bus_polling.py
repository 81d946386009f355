"""A bus of 10BASE-T1S as queues that are served in turn, one frame a cycle.

An opportunity that is used is one that is not used, which is the switch-over, and a message that
takes the rest. The line is held for a gap before a frame that met a logical collision; the share of
such frames is taken as the load, so that means of a bus are approximations, however exact the model
of the queues.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ethermeter.theory.bus import Bus, Node
from ethermeter.theory.polling import Queues
from ethermeter.theory.two_queues import Queue

PS_PER_S = 1e12


@dataclass(frozen=True)
class PolledBus:
    """A bus as queues."""

    bus: Bus

    @property
    def _bit_s(self) -> float:
        return self.bus.bit_ps / PS_PER_S

    @property
    def rates(self) -> np.ndarray:
        """Frames a second of each node."""
        return np.array([node.frames_per_s for node in self.bus.nodes])

    @property
    def walk_s(self) -> float:
        """All switch-overs of a cycle: an empty cycle."""
        return self.bus.empty_ps / PS_PER_S

    @cached_property
    def _busy(self) -> float:
        """Share of the time in which the line is not silent; at most 1."""
        gap_bits = self.bus.plca.csma_cd.gap_bits
        means = np.array([node.mean_bits for node in self.bus.nodes])
        busy = float((self.rates * (self._around_bits + means + gap_bits)).sum()) * self._bit_s
        return min(1.0, busy)

    @property
    def held_s(self) -> float:
        """Mean time for which the line is held before a frame."""
        return self.bus.plca.csma_cd.gap_bits * self._busy * self._bit_s

    @property
    def passed_s(self) -> float:
        """Mean time by which a frame is late whose opportunity comes after the delay line is full.

        On a silent line its opportunity comes at any time of a cycle. Where that is longer than the
        delay line the MAC is answered with a collision, the frame is pending after `pending_timer`,
        and goes out in the next opportunity from then on, for which the line is held for a gap.
        """
        plca, cycle = self.bus.plca, self.bus.empty_ps / self.bus.bit_ps
        hold, pending = plca.delay_line_bits, plca.csma_cd.jam_bits + plca.pending_bits
        if cycle <= hold:
            return 0.0

        def cycles_until(bits: float) -> float:
            """Integrate the number of cycles, rounded up, from 0 to a time."""
            whole = bits // cycle
            return cycle * whole * (whole + 1) / 2 + (whole + 1) * (bits - whole * cycle)

        late = cycles_until(pending) - cycles_until(max(0.0, hold + pending - cycle))
        held = plca.csma_cd.gap_bits * (cycle - hold) / cycle
        return (1 - self._busy) * (late + held) * self._bit_s

    @property
    def _around_bits(self) -> int:
        return self.bus.plca.csma_cd.preamble_bits + self.bus.plca.end_delimiter_bits

    def _times_s(self, node: Node) -> np.ndarray:
        """Return the times of the messages of a node."""
        rest_s = self._around_bits * self._bit_s + self.held_s - self.bus.opportunity_ps / PS_PER_S
        return np.array(node.bits) * self._bit_s + rest_s

    @property
    def queues(self) -> Queues:
        """The nodes, each a kind of its own."""
        nodes = self.bus.nodes
        means, squares = (
            np.array([self._times_s(node) ** power @ node.weights for node in nodes])
            for power in (1, 2)
        )
        return Queues(np.ones(len(nodes)), self.rates, means, squares)

    @property
    def pair(self) -> tuple[Queue, Queue]:
        """The nodes of a bus that has two, in the order of their IDs.

        The switch-over behind a node ends with the begin of the other's opportunity.
        """
        one, two = sorted(self.bus.nodes, key=lambda node: node.ids)
        between_s = (two.ids[0] - one.ids[0]) * self.bus.opportunity_ps / PS_PER_S
        walks_s = (between_s, self.walk_s - between_s)
        first, second = (
            Queue(node.frames_per_s, self._times_s(node), np.array(node.weights), walk_s)
            for node, walk_s in zip((one, two), walks_s, strict=True)
        )
        return first, second
