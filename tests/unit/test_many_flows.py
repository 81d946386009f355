"""Theory of many flows: sums that are found at once are those of their definitions."""

from itertools import pairwise

import numpy as np
import pytest
from ethermeter.theory.bounds.plp import Forest, TreeFlow
from ethermeter.theory.queueing.jobs import Meeting, Spared


def forest(seed: int) -> Forest:
    """Return random flows up a random tree of twelve servers, the root being server 0."""
    random = np.random.default_rng(seed)
    up = [0, *(int(random.integers(at)) for at in range(1, 12))]
    flows = []
    for _ in range(20):
        path = [int(random.integers(1, 12))]
        while path[-1] and random.random() < 0.8:
            path.append(up[path[-1]])
        ones = (1.0,) * len(path)
        buckets = ((1.0, 2.0), (2.0, 1.0))[: int(random.integers(1, 3))]
        flows.append(TreeFlow(buckets, tuple(path), ones, ones))
    return Forest(flows)


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_a_program_are_those_of_the_sections_of_flows_in_its_tree(seed):
    flows = forest(seed)
    for path in {flow.path for flow in flows.flows}:
        behind, depth = flows.tree(path)
        rows = 0
        for flow in flows.flows:
            begin = 0
            for at, server in enumerate(flow.path):
                after = flow.path[at + 1] if at + 1 < len(flow.path) else None
                if after is None or behind.get(server) != after:
                    if server in depth:
                        dates = depth[flow.path[begin]] + 2
                        rows += len(flow.buckets) * dates**2 // 2
                    begin = at + 1
        assert flows.rows(path, most=rows) == rows
        assert flows.rows(path, most=rows - 1) is None
        assert all(depth[server] == depth[after] + 1 for server, after in pairwise(path))


@pytest.mark.parametrize("seed", range(10))
def test_jobs_are_spared_by_the_sum_over_all_others(seed):
    random = np.random.default_rng(seed)
    count = 12
    levels, resources = random.integers(0, 3, count), random.integers(-1, 4, count)
    rates, means, ones = random.random(count), random.random(count), np.ones(count)
    spared = Spared(random.random(count), random.random(count), resources)
    waits = 2 + random.random(count)
    expected = []
    for at in range(count):
        change = 0.0
        for other in range(count):
            is_other = resources[other] != resources[at] or resources[other] < 0
            if is_other and levels[other] <= levels[at]:
                less = spared.messages[at] - spared.work[other]
                change += rates[other] * means[other] * less
        expected.append(max(waits[at] - spared.messages[at] + change, 0.0))
    found = Meeting(levels, rates, means, ones, ones).spared(waits, spared)
    assert found == pytest.approx(expected, rel=1e-12)
