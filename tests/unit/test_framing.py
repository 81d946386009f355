"""Frames of a message over IPv4 and IPv6."""

import pytest
from ethermeter.framing import frame_octets
from ethermeter.scenario import FramingTable, Udp
from hypothesis import given
from hypothesis import strategies as st

UDP = 8


def udp(mtu_octets: int) -> FramingTable:
    return FramingTable(udp=Udp(mtu_octets=mtu_octets))


@pytest.mark.parametrize(
    ("is_ipv6", "octets", "frames"),
    [
        (False, 1472, [1518]),
        (False, 1473, [1518, 64]),
        (True, 1452, [1518]),
        # 1453 + 8 octets do not fit into 1460; fragments have 1448 at most: 1500 - 40 - 8 is 1452,
        # and offsets are in units of 8.
        (True, 1453, [1514, 79]),
        (True, 18, [84]),
    ],
)
def test_fragments_are_those_of_the_standards(
    octets: int, frames: list[int], *, is_ipv6: bool
) -> None:
    assert frame_octets(udp(1500), octets, is_ipv6=is_ipv6) == frames


@given(st.integers(18, 65_000), st.sampled_from([1280, 1500, 9000]), st.booleans())
def test_fragments_carry_the_datagram_and_are_no_longer_than_the_mtu_allows(octets, mtu, is_ipv6):
    found = frame_octets(udp(mtu), octets, is_ipv6=is_ipv6)
    around = 18 + (20 if not is_ipv6 else 40 if len(found) == 1 else 48)
    assert max(found) <= mtu + 18
    assert all((frame - around) % 8 == 0 for frame in found[:-1])
    if found[-1] > 64:
        assert sum(frame - around for frame in found) == octets + UDP
