"""When the backlog of a flow is said to grow: on queues in balance, and on overloaded ones.

And when a queue that began empty is said to be in balance.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from ethermeter.counts import Floats, FlowCounts, zeros
from ethermeter.engines.cautions import GROWTH_ERROR, SETTLING_SHARE, growing
from ethermeter.theory.load import settling_time
from scipy.stats import binom

QUEUES, BATCHES, MESSAGES = 1000, 20, 250


def counts(load: float, *, warm: int) -> tuple[Floats, Floats]:
    """Return messages offered and received by batch of M/D/1 queues with a service time of 1.

    Shape (batches, queues); waits are by Lindley's recursion.
    """
    random = np.random.default_rng(1)
    window = BATCHES * MESSAGES / load
    offered, received = (np.zeros((BATCHES + 1, QUEUES)) for _ in range(2))
    every = np.arange(QUEUES)
    now, wait = np.full(QUEUES, -warm / load), np.zeros(QUEUES)

    def count(into: Floats, times: Floats) -> None:
        batch = np.floor(times / window * BATCHES).astype(int)
        into[np.where((batch >= 0) & (batch < BATCHES), batch, BATCHES), every] += 1

    while now.min() < window:
        count(offered, now)
        count(received, now + wait + 1)
        between = random.exponential(1 / load, QUEUES)
        now, wait = now + between, np.maximum(wait + 1 - between, 0)
    return offered[:BATCHES], received[:BATCHES]


def found(load: float, *, warm: int) -> int:
    """Return how many of the queues are said to grow, each as the only flow of its trial."""
    flow = zeros(FlowCounts, 1)
    grown = 0
    for offered, received in zip(*(of.T for of in counts(load, warm=warm)), strict=True):
        batches = replace(flow.batches, offered=offered[:, None], messages=received[:, None])
        of_flow = replace(flow, batches=batches, arrived=offered.sum(keepdims=True))
        grown += int(growing(of_flow, np.ones(1))[0])
    return grown


@pytest.mark.parametrize("load", [0.5, 0.9, 0.99])
def test_a_queue_in_balance_grows_no_more_often_than_stated(load):
    # More than this has a probability below 1e-4.
    assert found(load, warm=20_000) <= binom.ppf(1 - 1e-4, QUEUES, GROWTH_ERROR)


def test_an_overloaded_queue_grows_in_every_trial():
    assert found(1.2, warm=500) == QUEUES


@pytest.mark.parametrize("load", [0.8, 0.9])
def test_a_queue_measured_from_its_beginning_lacks_the_stated_share_of_its_mean(load):
    # Of an M/D/1 queue whose messages take 1, the variance of the work that comes is the load.
    window = settling_time(math.inf, 1 - load, load) / SETTLING_SHARE
    random = np.random.default_rng(1)
    waits = messages = 0.0
    now, wait = random.exponential(1 / load, 20 * QUEUES), np.zeros(20 * QUEUES)
    while now.min() < window:
        waits += wait[now < window].sum()
        messages += np.count_nonzero(now < window)
        between = random.exponential(1 / load, now.size)
        now, wait = now + between, np.maximum(wait + 1 - between, 0)
    # Pollaczek and Khinchine: load / (2 (1 - load)).
    mean = load / (2 * (1 - load))
    assert waits / messages / mean == pytest.approx(1 - SETTLING_SHARE / 4, abs=0.01)
