"""Worst-case bounds of random trees and buses are never passed by simulations of them."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from ethermeter.counts import Counts
from ethermeter.engines.simulation import simulated
from ethermeter.scenario import Scenario
from ethermeter.theory.bounds import Bounds, bounds_of
from ethermeter.trial import core_trial

from tests.support.random_gateways import random_gateway
from tests.support.random_networks import random_scenario

Make = Callable[[np.random.Generator], Scenario]
SHORT_RUN, LONG_RUN = 400, 2_000
BUS_FRAMES, BUS_MS = int(os.environ.get("ETHERMETER_BUS_FRAMES", "1000000")), 10_000
"""Frames of the long run of buses, and its transmission time. 10⁷ frames take 14 minutes."""
PARTS = 3
"""Parts of the long run, which processes share."""
REFUSED = (
    "has no room for its load",
    "leave less than its idle slope",
    "in a cycle",
    "grow with each other without a fixed point",
    "room in the ring",
    "wait at their source for those before them",
)
"""Reasons for which a flow of a tree may have no bound: idle slopes leave a class too little, or
have too little left, backplanes make paths wait for each other, ports of a bus wait for each
other, and messages wait for others of their flow.
"""
LEAST_BOUNDED = 0.8
"""Share of the flows that must have a bound."""


class Passed(NamedTuple):
    """What a simulation of a random network has seen: `above` its bounds; frames on its media.

    `flows`: their number, and how many of them have a bound.
    """

    above: list[str]
    flows: int
    bounded: int
    frames: int


def passed(make: Make, seed: int) -> Passed:
    """Return what a simulation of a random network has seen beyond its bounds."""
    scenario = make(np.random.default_rng(seed))
    counts, _ = simulated(core_trial(scenario, seed=seed))
    bounds = bounds_of(scenario, budget_s=0.0)
    found = [*_delays(scenario, counts, bounds), *_queues(counts, bounds)]
    bounded = sum(bound.delay.largest_s is not None for bound in bounds.flows)
    frames = int(counts.ports.frames[2 * len(scenario.links) :].sum())
    above = [f"seed {seed}: {each}" for each in found]
    return Passed(above, len(bounds.flows), bounded, frames)


def check(make: Make, seeds: range) -> None:
    """Assert that no simulation passes its bounds, and that most flows have one."""
    judge([passed(make, seed) for seed in seeds])


def judge(each: list[Passed]) -> None:
    """Assert that none of some simulations passed its bounds, and that most flows have one."""
    assert not [text for found in each for text in found.above]
    bounded, flows = sum(found.bounded for found in each), sum(found.flows for found in each)
    assert bounded > LEAST_BOUNDED * flows


def _delays(scenario: Scenario, counts: Counts, bounds: Bounds) -> Iterator[str]:
    largest_ps = counts.flows.one_way.max_ps
    for flow, bound, seen_ps in zip(scenario.flows, bounds.flows, largest_ps, strict=True):
        if bound.delay.largest_s is None:
            reason = bound.delay.reason or ""
            if not any(text in reason for text in REFUSED):
                yield f"{flow.name} has no bound: {reason}"
        elif seen_ps > round(bound.delay.largest_s * 1e12):
            yield f"{flow.name} took {seen_ps} ps, bound {bound.delay.largest_s} s"


def _queues(counts: Counts, bounds: Bounds) -> Iterator[str]:
    of_classes = counts.ports.classes
    for bound in bounds.ports:
        mine = of_classes.port == bound.port
        frames = of_classes.queue_most[mine]
        octets = of_classes.queue_octets_most[mine]
        if not mine.any():
            frames = counts.ports.queue_most[bound.port : bound.port + 1]
            octets = counts.ports.queue_octets_most[bound.port : bound.port + 1]
        for number, of_class in enumerate(bound.classes):
            seen = int(frames[number]), int(octets[number])
            if of_class is not None and (
                seen[0] > of_class.held_frames or seen[1] > of_class.held_octets
            ):
                yield f"port {bound.port} class {number} held {seen}, bound {of_class}"


def test_simulated_delays_and_queues_stay_within_bounds() -> None:
    check(random_scenario, range(SHORT_RUN))


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_simulated_delays_and_queues_stay_within_bounds_in_two_thousand_trees(part: int) -> None:
    check(random_scenario, range(SHORT_RUN + part, LONG_RUN, PARTS))


def test_simulations_of_buses_behind_gateways_stay_within_bounds() -> None:
    check(random_gateway, range(SHORT_RUN // 10))


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_million_frames_on_buses_stay_within_bounds(part: int) -> None:
    make = partial(random_gateway, transmit_ms=BUS_MS)
    frames, seed, each = 0, SHORT_RUN + part, []
    while frames < BUS_FRAMES // PARTS:
        each.append(passed(make, seed))
        frames, seed = frames + each[-1].frames, seed + PARTS
    print(f"{frames} frames on {len(each)} buses")
    judge(each)
