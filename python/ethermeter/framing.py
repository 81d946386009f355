"""Framing: the frames in which a message goes, and what of them is no data."""

from ethermeter.scenario import (
    FixedLengths,
    Flow,
    Framing,
    Lengths,
    MixLengths,
    SamplesLengths,
    Transfer,
)

SHORTEST_FRAME_OCTETS = 64
FCS_OCTETS = 4
AROUND_DATA_OCTETS = 18
"""Addresses, type and check sequence (802.3-2022 § 3.2)."""
IP_HEADER_OCTETS, UDP_HEADER_OCTETS, TCP_HEADER_OCTETS = 20, 8, 20
TAG_OCTETS = 4
"""Tag of a frame of a flow with a priority (802.1Q-2022 § 9.3)."""
IPV6_HEADER_OCTETS, IPV6_FRAGMENT_OCTETS = 40, 8
"""Header, and what each fragment has besides (RFC 8200, sections 3 and 4.5)."""


def lengths_of(frames: Lengths) -> tuple[int, ...]:
    """Lengths that occur, in bits; of those that grow, the least and the most."""
    match frames:
        case MixLengths(bits=bits):
            return bits
        case SamplesLengths(min_bits=least, max_bits=most):
            return least, most
        case FixedLengths(bits=bits):
            return (bits,)


def frame_octets(framing: Framing, octets: int, *, is_ipv6: bool = False) -> list[int]:
    """Lengths of the frames of a message, destination address to FCS.

    Parameters
    ----------
    framing
        Of a flow.
    octets
        Length of the frame, or of the data of UDP.
    is_ipv6
        Whether UDP goes over IPv6, as only what is measured can; plans and simulations have IPv4.

    Examples
    --------
    >>> frame_octets("frame", 64)
    [64]
    >>> from ethermeter.scenario import FramingTable, Udp
    >>> udp = FramingTable(udp=Udp(mtu_octets=1500))
    >>> frame_octets(udp, 5000)
    [1518, 1518, 1518, 606]
    >>> frame_octets(udp, 5000, is_ipv6=True)
    [1514, 1514, 1514, 730]

    """
    if isinstance(framing, str) or framing.udp is None:
        return [octets]
    header = IPV6_HEADER_OCTETS if is_ipv6 else IP_HEADER_OCTETS
    most = framing.udp.mtu_octets - header
    left, lengths = octets + UDP_HEADER_OCTETS, []
    if is_ipv6 and left > most:
        header += IPV6_FRAGMENT_OCTETS
        most -= IPV6_FRAGMENT_OCTETS
    while left > most:
        # Offsets of fragments count in units of 8 octets (RFC 791, RFC 8200).
        lengths.append(most // 8 * 8 + header + AROUND_DATA_OCTETS)
        left -= most // 8 * 8
    return [
        max(length, SHORTEST_FRAME_OCTETS)
        for length in (*lengths, left + header + AROUND_DATA_OCTETS)
    ]


def packet_octets(transfer: Transfer) -> int:
    """Return the longest packet of a transfer, of TCP or IPX, in octets without its frame."""
    protocol = transfer.tcp or transfer.ipx
    assert protocol is not None  # checked
    return protocol.mtu_octets


def message_octets(flow: Flow, bits: int) -> list[int]:
    """Lengths of the frames of a message of a flow, tags included; `bits` is its length."""
    tag = 0 if flow.priority is None else TAG_OCTETS
    return [octets + tag for octets in frame_octets(flow.framing, bits // 8)]
