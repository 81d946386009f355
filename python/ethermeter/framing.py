"""Framing: the frames in which a message goes, and what of them is no data."""

from typing import Any

SHORTEST_FRAME_OCTETS = 64
AROUND_DATA_OCTETS = 18
"""Addresses, type and check sequence (802.3-2022 § 3.2)."""
IP_HEADER_OCTETS, UDP_HEADER_OCTETS = 20, 8


def frame_octets(framing: Any, octets: int) -> list[int]:
    """Lengths of the frames of a message, destination address to FCS.

    Parameters
    ----------
    framing
        As in a plan: "frame", or a table with `udp`.
    octets
        Length of the frame, or of the data of UDP.

    Examples
    --------
    >>> frame_octets("frame", 64)
    [64]
    >>> frame_octets({"udp": {"mtu_octets": 1500}}, 5000)
    [1518, 1518, 1518, 606]

    """
    if framing == "frame":
        return [octets]
    most = framing["udp"]["mtu_octets"] - IP_HEADER_OCTETS
    left, lengths = octets + UDP_HEADER_OCTETS, []
    while left > most:
        # Offsets of fragments count in units of 8 octets (RFC 791).
        lengths.append(most // 8 * 8 + IP_HEADER_OCTETS + AROUND_DATA_OCTETS)
        left -= most // 8 * 8
    return [max(length, SHORTEST_FRAME_OCTETS) for length in (*lengths, left + IP_HEADER_OCTETS + AROUND_DATA_OCTETS)]
