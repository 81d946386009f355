"""Bottleneck searches as recorded runs, and a bench whose bottleneck is known."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import numpy as np
from ethermeter.analysis.bottleneck import BottleneckAnswer, Outcome
from ethermeter.bottleneck import TransferFile, Transfers, make_bench
from ethermeter.bottleneck.setup import Setup
from ethermeter.bottleneck.trials import Bench
from ethermeter.execution import Execution, Progress, search
from ethermeter.strategies.bottleneck import BottleneckSearch

ROUND_TRIP_S = 100e-6
"""Of a path without delay."""


class Formula:
    """A place where the slowest stage has all of it, and a turn-around takes its time in addition.

    Parameters
    ----------
    spread
        Relative deviation from one transfer to the next.

    """

    means = "a formula"

    def __init__(self, spread: float) -> None:
        self.random = np.random.default_rng(1)
        self.spread = spread
        self.transfers = 0

    def run(self, setup: Setup) -> Outcome:
        self.transfers += 1
        data = setup.segment_octets - 12
        round_trip_s = ROUND_TRIP_S + 2 * setup.delay_ns * 1e-9
        ceilings = [
            float(setup.wire_bps or 1e10) * data / (setup.segment_octets + 78),
            float(setup.source_bps or 1e10),
            8 * (setup.receive_octets or 1e9) / round_trip_s * setup.connections,
            8e9 * data / setup.frame_ns if setup.frame_ns else 1e10,
            # A loss halves what is under way: three quarters of the room in the mean.
            0.75 * 8 * setup.room_frames * data / round_trip_s,
        ]
        for end in (setup.sender, setup.receiver):
            ceilings.append(
                8e12 * (end.processor or 1) / end.work_ps_per_octet
                if end.work_ps_per_octet
                else 1e10
            )
        throughput = min(ceilings)
        if setup.turn_around_ns:
            throughput = 1 / (
                1 / throughput
                + setup.turn_around_ns * 1e-9 / (8 * setup.block_octets * setup.connections)
            )
        throughput *= float(np.exp(self.spread * self.random.standard_normal()))
        shares = [
            throughput / 8e12 * max(end.work_ps_per_octet, 100)
            for end in (setup.sender, setup.receiver)
        ]
        return Outcome(throughput, 0, round_trip_s, *shares)


def search_bottleneck(
    document: TransferFile,
    directory: Path,
    make: Callable[[], AbstractContextManager[Bench]] = make_bench,
    *,
    seed: int | None = None,
    repetitions: int | None = None,
    follow: Callable[[Progress], None] | None = None,
) -> BottleneckAnswer:
    """Return the answer of a search that is recorded in a directory."""
    strategy = BottleneckSearch(document, seed=seed, repetitions=repetitions)
    with Transfers(make) as place:
        run = search(
            strategy,
            directory=directory,
            options=Execution(jobs=1),
            follow=follow,
            place=place,
        )
    return msgspec.json.decode(run.answer(), type=BottleneckAnswer)
