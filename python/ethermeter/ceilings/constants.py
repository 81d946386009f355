"""Ceilings that follow from constants: buses, framing, windows."""

from ethermeter.ceilings.value import Ceiling, computed

PREAMBLE_OCTETS, GAP_OCTETS = 8, 12
"""Octet times of a frame on the wire beyond its own: preamble with SFD, and inter-frame gap
(802.3-2022, 3.1.1 and 4.4.2).
"""
FRAME_OCTETS = 14 + 4
"""Addresses, type and FCS of a frame."""
HEADERS_OCTETS = {"raw": 0, "udp": 20 + 8, "tcp": 20 + 20 + 12}
"""Headers between a frame's payload and the data, IPv4 without options; TCP with its time stamps,
as Linux sends them.
"""
SHORTEST_FRAME_OCTETS = 64
FRAMES_OCTETS = (64, 128, 256, 512, 1024, 1280, 1518)
"""Lengths of frames, as RFC 2544 (section 9.1) has them for Ethernet."""
PCI_33_BPS = 33.333333e6 * 32
"""PCI of 32 bits at 33.33 MHz, every clock a transfer; Hughes-Jones and Saka 2000 (section 3.1.1)
reckon with 33 MHz, 7.58 ns/octet.
"""


def data_share(frame_octets: int, protocol: str) -> float:
    """Share of the line rate that is data.

    `frame_octets`: length of the frame, destination address to FCS; at least 64. `protocol`: `raw`,
    `udp` or `tcp`.
    Returns between 0 and 1; 0 if the frame has no room for data. Padding is no data, but the frame
    is taken as full.
    Raises ValueError if the frame is too short.
    """
    if frame_octets < SHORTEST_FRAME_OCTETS:
        raise ValueError(
            f"frame_octets must be at least {SHORTEST_FRAME_OCTETS}, got {frame_octets}"
        )
    data = max(0, frame_octets - FRAME_OCTETS - HEADERS_OCTETS[protocol])
    return data / (frame_octets + PREAMBLE_OCTETS + GAP_OCTETS)


def framing(rate_bps: float, *, protocol: str = "udp") -> list[Ceiling]:
    """Return what framing leaves of a line rate, for each length of frames.

    `rate_bps`: line rate in bit/s. `protocol`: as of `data_share`.
    """
    how = (
        f"(octets - {FRAME_OCTETS} - {HEADERS_OCTETS[protocol]}) / "
        f"(octets + {PREAMBLE_OCTETS + GAP_OCTETS}) of {rate_bps / 1e6:g} Mb/s"
    )
    return [
        computed(
            f"framing-{protocol}-{octets}",
            f"Framing, {protocol.upper()} in frames of {octets} octets",
            data_bps,
            how=how,
        )
        for octets in FRAMES_OCTETS
        if (data_bps := rate_bps * data_share(octets, protocol)) > 0
    ]


def window(octets: int, round_trip_s: float) -> Ceiling:
    """Return what a window allows on a path: a window for each round trip.

    `octets`: data under way at most. `round_trip_s`: round trip time in s, above 0.
    """
    how = f"{octets} octets for each round trip of {round_trip_s * 1e3:g} ms"
    return computed("window", "Window over round trip", 8 * octets / round_trip_s, how=how)


def pci_33() -> Ceiling:
    """Return the bus of the hosts of 1999 and 2000, for models of them."""
    return computed(
        "pci-32-33",
        "PCI, 32 bits at 33 MHz (a model)",
        PCI_33_BPS,
        how="32 bits in each of 33.33 million clocks a second",
    )
