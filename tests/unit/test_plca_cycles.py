"""Cycles of PLCA by hand: bits of 100 ns, counted."""

import numpy as np
import pytest
from ethermeter.theory import plca_2019

US = 1e-6


@pytest.mark.parametrize(
    ("nodes", "octets", "longest_us"),
    [(9, 64, 614.0), (17, 64, 1158.0), (41, 64, 2790.0), (9, 1518, 11_082.8)],
)
def test_the_longest_cycle_is_a_beacon_and_a_held_line_and_a_frame_of_each_node(
    nodes, octets, longest_us
):
    found = plca_2019(nodes, active=nodes, frame_octets=octets)
    # 20 + N (8 (L + 9) + 96) bits: with 64 octets 680 bits a node.
    assert found.longest_s == pytest.approx(longest_us * US, rel=1e-12)
    assert found.saturated_s == found.longest_s


def test_the_empty_cycle_of_nine_opportunities_has_308_bits():
    assert plca_2019(9, active=9, frame_octets=64).empty_s == pytest.approx(30.8 * US, rel=1e-12)


def test_shares_of_a_saturated_bus():
    found = plca_2019(9, active=9, frame_octets=[64, 1518])
    # 9 x 584 of 6140 bits, and 9 x 12 216 of 110 828.
    assert found.data_share == pytest.approx([5256 / 6140, 109_944 / 110_828])
    assert np.round(found.data_share, 3).tolist() == [0.856, 0.992]
    # 9 frames of 1518 octets in 11 082.8 us.
    assert found.throughput_bps[1] == pytest.approx(9 * 12_144 / 11_082.8e-6)


def test_two_of_eight_with_bursts():
    found = plca_2019(8, frame_octets=64, active=2, burst_count=2)
    # 20 + 2 x 3 x 680 + 6 x 32 bits.
    assert found.saturated_s == pytest.approx((20 + 2 * 3 * 680 + 6 * 32) * 1e-7)
    assert found.longest_s == pytest.approx((20 + 8 * 3 * 680) * 1e-7)


def test_more_active_nodes_than_nodes_are_outside():
    found = plca_2019(8, frame_octets=64, active=9)
    assert bool(found.outside_range)
    assert np.isnan(found.throughput_bps)
