"""IEEE 802.3cg 2019: cycles of PLCA on a bus of 10BASE-T1S, by counting bits."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, plain
from ethermeter.theory.entry import Output, Symbol, catalogued, read

BEACON_BITS = 20
COMMIT_BITS = 96
"""How long the line is held until the MAC sends: its inter-frame gap (802.3-2022 § 4.4.2)."""
AROUND_OCTETS = 8 + 1
"""Preamble with delimiter before a frame, and the end delimiter of the PHY behind it."""
BIT_S = 1e-7
_NODES = Range(1, 255, whole=True)
_BITS = Range(1, 255, whole=True)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Cycles of a bus: the shortest, the longest, and what a saturated bus carries."""

    empty_s: Annotated[Array, Output("C_0", "length of a cycle in which no node sends", "s")]
    longest_s: Annotated[
        Array,
        Output("C_N", "length of a cycle in which every node sends all frames that it may", "s"),
    ]
    saturated_s: Annotated[
        Array,
        Output(
            "C",
            "length of a cycle in which only the active nodes send, all frames that they may",
            "s",
        ),
    ]
    data_share: Annotated[
        Array,
        Output(
            "",
            "share of the cycle of active nodes in which frames are sent, preamble and "
            "end delimiter included",
        ),
    ]
    throughput_bps: Annotated[
        Array,
        Output(
            "S",
            "rate of frame bits, destination address to FCS, in the cycle of active nodes",
            "bit/s",
        ),
    ]
    outside_range: Flags


@catalogued(
    "cycles of PLCA: empty, longest, and with some saturated nodes",
    {
        "slotting": "opportunities in turn, behind a beacon",
        "persistence": "none: access in turn",
        "population": "up to 255 nodes, of which some are active",
        "arrivals": "active nodes always have a frame, the others never",
        "retransmission": "none: no bits collide",
        "collision_length": "none: no bits collide",
        "topology": "all nodes at one place, PHYs without delays",
        "buffers": "not modelled",
        "packet_lengths": "one length",
        "gap": "the line is held for it, 96 bits before each frame",
        "preamble": "counted, with the end delimiter",
    },
    source="IEEE Std 802.3cg-2019 (now 802.3-2022), clause 148: beacon_timer of 20 bits, to_timer",
    confidence="mathematics solid: exact for the state machines of the clause",
    validity="frames that the MAC offers before their opportunity, as all are on a saturated bus; a"
    " frame in the delay line is sent without the 96 bits",
)
def plca_2019(
    nodes: Annotated[
        Numbers,
        Symbol("N", "transmit opportunities in a cycle, the coordinator's included", _NODES),
    ],
    *,
    frame_octets: Annotated[
        Numbers,
        Symbol("L", "length of a frame in octets, destination address to FCS", Range(1, 65_536)),
    ],
    active: Annotated[
        Numbers, Symbol("A", "number of active nodes, which always have a frame", _NODES)
    ],
    burst_count: Annotated[
        Numbers,
        Symbol(
            "B",
            "frames that may follow the first in a transmit opportunity",
            Range(0, 255, whole=True),
        ),
    ] = 0,
    opportunity_bits: Annotated[
        Numbers, Symbol("T", "length of an unused transmit opportunity in bits (to_timer)", _BITS)
    ] = 32,
) -> Cycle:
    """Cycles: C_0 = 20 + N T bits, C_N = 20 + N (1 + B) (8 (L + 9) + 96) bits of 100 ns each.

    Examples
    --------
    A coordinator and eight nodes: 30.8 µs without frames, 614 µs with all of 64 octets.

    >>> found = plca_2019(9, active=9, frame_octets=64)
    >>> [round(float(time) * 1e6, 1) for time in (found.empty_s, found.longest_s)]
    [30.8, 614.0]
    >>> round(float(found.data_share), 3)
    0.856

    """
    count, octets, some, bursts, unused = read(
        plca_2019,
        nodes=nodes,
        frame_octets=frame_octets,
        active=active,
        burst_count=burst_count,
        opportunity_bits=opportunity_bits,
    )
    data = 8 * (octets + AROUND_OCTETS) * (1 + bursts)
    used = data + COMMIT_BITS * (1 + bursts)
    empty = BEACON_BITS + count * unused
    longest = BEACON_BITS + count * used
    cycle = BEACON_BITS + some * used + (count - some) * unused
    outside = some > count
    return Cycle(
        plain(empty * BIT_S),
        plain(longest * BIT_S),
        plain(np.where(outside, np.nan, cycle * BIT_S)),
        plain(np.where(outside, np.nan, some * data / cycle)),
        plain(np.where(outside, np.nan, 8 * octets * some * (1 + bursts) / (cycle * BIT_S))),
        plain(outside),
    )
