"""Largest delays at one port, and along equal ones, of flows that keep to token buckets.

Volumes are bits on the wire, preambles and gaps included. What a network takes of these for every
port and flow is in `ethermeter.theory.bounds`.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, plain
from ethermeter.theory.arguments import RATE_BPS
from ethermeter.theory.entry import OF_QUEUES, Output, Symbol, catalogued, read

_BITS = Range(0, 1e15)
_LONGEST = Range(1, 1e12)
_TIME_S = Range(0, 1e6)
_FRAMES = "first come, first served, within the class"
_BUCKETS = "at most burst + rate * t in any time t, of all flows together"
_UNLIMITED = "unlimited"


@dataclass(frozen=True, slots=True)
class WorstCase:
    """Bounds at a port; NaN and outside the range where it has no room for the load."""

    delay_s: Annotated[
        Array,
        Output("D", "largest delay, from the arrival of a frame until its last bit is sent", "s"),
    ]
    backlog_bits: Annotated[Array, Output("B", "largest backlog", "bit")]
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class PathCase:
    """Bounds along a path; NaN and outside the range where a port has no room for the load."""

    delay_s: Annotated[Array, Output("D", "largest delay by the linear program", "s")]
    total_flow_s: Annotated[
        Array, Output("D_1", "largest delay by total-flow analysis, port by port", "s")
    ]
    outside_range: Flags


Burst = Annotated[
    Numbers, Symbol("sigma", "burst of the token bucket of all flows of the class", _BITS, "bit")
]
Rate = Annotated[
    Numbers,
    Symbol("rho", "rate of the token bucket of all flows of the class", Range(0, 1e15), "bit/s"),
]
Wire = Annotated[Numbers, Symbol("R", "rate of the port", RATE_BPS, "bit/s")]


def _blocked(meaning: str) -> Symbol:
    return Symbol("l", meaning, _BITS, "bit")


def _found(delay: Array, backlog: Array, good: Flags) -> WorstCase:
    """Return bounds where they are finite."""
    delay, backlog, good = np.broadcast_arrays(delay, backlog, good)
    return WorstCase(
        plain(np.where(good, delay, np.nan)), plain(np.where(good, backlog, np.nan)), plain(~good)
    )


@catalogued(
    "largest delay and backlog of a port with one queue: total-flow analysis, with line shaping",
    {
        "arrivals": f"{_BUCKETS}; no faster than the links on which they arrive",
        "service": "a rate, after a latency at most",
        "discipline": "first come, first served",
        "buffers": _UNLIMITED,
    },
    aspects=OF_QUEUES,
    source="R. L. Cruz, A calculus for network delay, part I, IEEE Transactions on Information"
    " Theory 37(1), 1991; line shaping: J. Grieu, thesis, INP Toulouse, 2004",
    confidence="mathematics solid: exact at one port",
    validity="a rate of the token bucket up to that of the port",
    notes=(
        "In a network, the delay of each port counts as jitter of the bursts at the next port.",
    ),
)
def cruz_1991(
    burst_bits: Burst,
    *,
    rate_bps: Rate,
    wire_bps: Wire,
    latency_s: Annotated[
        Numbers, Symbol("T", "longest time before the port serves", _TIME_S, "s")
    ] = 0.0,
    lines_bps: Annotated[
        Numbers,
        Symbol("C", "sum of the rates of the links on which the flows arrive", RATE_BPS, "bit/s"),
    ] = 1e15,
    frame_bits: Annotated[
        Numbers, Symbol("L", "sum of the longest frames of these links", _BITS, "bit")
    ] = 0.0,
) -> WorstCase:
    """Bounds of one queue: D = T + sup over t of min(sigma + rho t, L + C t) / R - t.

    The largest is at the time at which both are equal, t = (sigma - L) / (C - rho). The backlog is
    sup over t of the arrivals less R (t - T).

    Examples
    --------
    A burst of 100 kbit at 100 Mb/s takes 1 ms; over one wire of 200 Mb/s half of it.

    >>> given = {"rate_bps": 1e7, "wire_bps": 1e8}
    >>> round(float(cruz_1991(1e5, **given).delay_s), 9)
    0.001
    >>> round(float(cruz_1991(1e5, **given, lines_bps=2e8).delay_s), 9)
    0.000526316

    """
    burst, rate, wire, latency, lines, frame = read(
        cruz_1991,
        burst_bits=burst_bits,
        rate_bps=rate_bps,
        wire_bps=wire_bps,
        latency_s=latency_s,
        lines_bps=lines_bps,
        frame_bits=frame_bits,
    )
    first = np.minimum(frame, burst)
    equal_s = np.where(lines > rate, (burst - first) / np.where(lines > rate, lines - rate, 1), 0)
    # Where lines are no faster than the port, what waits is largest at the begin.
    at_s = np.where(lines > wire, equal_s, 0.0)
    arrived = np.minimum(burst + rate * at_s, first + lines * at_s)
    full_s = np.maximum(at_s, latency)
    held = np.minimum(burst + rate * full_s, first + lines * full_s) - wire * (full_s - latency)
    return _found(latency + arrived / wire - at_s, held, rate <= wire)


@catalogued(
    "largest delay of a traffic class with strict priorities, without preemption",
    {
        "arrivals": f"{_BUCKETS}, and those of the classes above likewise",
        "service": "a rate",
        "discipline": f"strict priority without preemption; {_FRAMES}",
        "buffers": _UNLIMITED,
    },
    aspects=OF_QUEUES,
    source="J.-Y. Le Boudec, P. Thiran, Network Calculus, 2001, section 1.3.2 and"
    " proposition 1.3.4",
    confidence="mathematics solid: an upper bound",
    validity="rates of the class and of those above up to that of the port",
)
def le_boudec_thiran_2001(
    burst_bits: Burst,
    *,
    rate_bps: Rate,
    wire_bps: Wire,
    above_burst_bits: Annotated[
        Numbers, Symbol("sigma_h", "burst of the classes above", _BITS, "bit")
    ] = 0.0,
    above_rate_bps: Annotated[
        Numbers, Symbol("rho_h", "rate of the classes above", Range(0, 1e15), "bit/s")
    ] = 0.0,
    below_frame_bits: Annotated[Numbers, _blocked("longest frame of the classes below")] = 0.0,
) -> WorstCase:
    """Bounds of a class: it has the rate R - rho_h after the latency (sigma_h + l) / (R - rho_h).

    D = (sigma + sigma_h + l) / (R - rho_h), B = sigma + rho (sigma_h + l) / (R - rho_h).

    Examples
    --------
    Two bursts and a frame of 12 kbit at 100 Mb/s of which a fifth is of higher classes:

    >>> of = {"rate_bps": 1e6, "wire_bps": 1e8, "above_rate_bps": 2e7, "below_frame_bits": 12e3}
    >>> round(float(le_boudec_thiran_2001(8e3, above_burst_bits=4e3, **of).delay_s), 9)
    0.0003

    """
    burst, rate, wire, above, above_rate, frame = read(
        le_boudec_thiran_2001,
        burst_bits=burst_bits,
        rate_bps=rate_bps,
        wire_bps=wire_bps,
        above_burst_bits=above_burst_bits,
        above_rate_bps=above_rate_bps,
        below_frame_bits=below_frame_bits,
    )
    left = wire - above_rate
    rest = np.where(left > 0, left, 1.0)
    latency = (above + frame) / rest
    return _found(latency + burst / rest, burst + rate * latency, (rate <= left) & (left > 0))


@catalogued(
    "largest delay of a traffic class by deficit round robin",
    {
        "arrivals": _BUCKETS,
        "service": "a rate",
        "discipline": f"deficit round robin among classes that always have frames; {_FRAMES}",
        "buffers": _UNLIMITED,
    },
    aspects=OF_QUEUES,
    source="M. Boyer, G. Stea, W. Mangoua Sofack, Deficit Round Robin with network calculus,"
    " VALUETOOLS 2012, theorem 1",
    confidence="mathematics solid: an upper bound",
    validity="a rate up to the share that the quanta give",
)
def boyer_2012(
    burst_bits: Burst,
    *,
    rate_bps: Rate,
    wire_bps: Wire,
    quantum_bits: Annotated[Numbers, Symbol("Q", "quantum of the class", _LONGEST, "bit")],
    frame_bits: Annotated[Numbers, Symbol("L", "longest frame of the class", _BITS, "bit")],
    others_quanta_bits: Annotated[
        Numbers, Symbol("F", "sum of the quanta of the other classes", _BITS, "bit")
    ],
    others_frames_bits: Annotated[
        Numbers, Symbol("l", "sum of the longest frames of the other classes", _BITS, "bit")
    ],
) -> WorstCase:
    """Bounds of a class: while it is served x it has at most (x + L) / Q full turns.

    So the others are served l + F (1 + (x + L) / Q) at most, and x takes ((1 + F / Q) x + l + F
    (1 + L / Q)) / R.

    Examples
    --------
    Two classes of one quantum and frame, 12 kbit at 100 Mb/s: a frame waits for three of the other.

    >>> of = {"quantum_bits": 12e3, "frame_bits": 12e3}
    >>> others = {"others_quanta_bits": 12e3, "others_frames_bits": 12e3}
    >>> round(float(boyer_2012(12e3, rate_bps=1e6, wire_bps=1e8, **of, **others).delay_s), 9)
    0.0006

    """
    burst, rate, wire, quantum, frame, quanta, frames = read(
        boyer_2012,
        burst_bits=burst_bits,
        rate_bps=rate_bps,
        wire_bps=wire_bps,
        quantum_bits=quantum_bits,
        frame_bits=frame_bits,
        others_quanta_bits=others_quanta_bits,
        others_frames_bits=others_frames_bits,
    )
    growth = 1 + quanta / quantum
    share = wire / growth
    latency = (frames + quanta * (1 + frame / quantum)) / wire
    return _found(latency + burst / share, burst + rate * latency, rate <= share)


@catalogued(
    "largest delay of the highest traffic class with a credit-based shaper",
    {
        "arrivals": _BUCKETS,
        "service": "a rate",
        "discipline": f"credit-based shaper of 802.1Qav; {_FRAMES}",
        "buffers": _UNLIMITED,
    },
    aspects=OF_QUEUES,
    source="J. A. R. De Azua, M. Boyer, Complete modelling of AVB in network calculus framework,"
    " RTNS 2014",
    confidence="mathematics solid: an upper bound",
    validity="a rate up to the idle slope",
)
def de_azua_boyer_2014(
    burst_bits: Burst,
    *,
    rate_bps: Rate,
    wire_bps: Wire,
    idle_slope_bps: Annotated[Numbers, Symbol("I", "idle slope of the class", RATE_BPS, "bit/s")],
    below_frame_bits: Annotated[Numbers, _blocked("longest frame of the classes below")] = 0.0,
) -> WorstCase:
    """Bounds of a class: it has its idle slope, after the time of one frame of the classes below.

    D = l / R + sigma / I, B = sigma + rho l / R.

    Examples
    --------
    >>> of = {"wire_bps": 1e8, "idle_slope_bps": 2e7, "below_frame_bits": 12e3}
    >>> float(de_azua_boyer_2014(4e3, rate_bps=1e6, **of).delay_s)
    0.00032

    """
    burst, rate, wire, slope, frame = read(
        de_azua_boyer_2014,
        burst_bits=burst_bits,
        rate_bps=rate_bps,
        wire_bps=wire_bps,
        idle_slope_bps=idle_slope_bps,
        below_frame_bits=below_frame_bits,
    )
    latency = frame / wire
    good = (rate <= slope) & (slope < wire)
    return _found(latency + burst / slope, burst + rate * latency, good)


@catalogued(
    "largest delay along equal ports with other flows at each: a linear program for the path (PLP)",
    {
        "arrivals": "each flow at most burst + rate * t in any time t",
        "service": "a rate, after a latency at most; bits, no frames",
        "discipline": "first come, first served",
        "buffers": _UNLIMITED,
    },
    aspects=OF_QUEUES,
    source="A. Bouillard, Trade-off between accuracy and tractability of network calculus in FIFO"
    " networks, Performance Evaluation 153, 2022, sections 4 and 5",
    confidence="mathematics solid: an upper bound",
    validity="rates of both flows together below that of a port",
    notes=("In networks, the program is solved for the paths that a time budget allows.",),
)
def bouillard_2022(
    burst_bits: Annotated[
        Numbers, Symbol("sigma", "burst of the flow that takes the whole path", _BITS, "bit")
    ],
    *,
    rate_bps: Annotated[
        Numbers,
        Symbol("rho", "rate of the flow that takes the whole path", Range(0, 1e15), "bit/s"),
    ],
    wire_bps: Annotated[Numbers, Symbol("R", "rate of each port", RATE_BPS, "bit/s")],
    ports: Annotated[Numbers, Symbol("n", "number of ports on the path", Range(1, 12, whole=True))],
    cross_burst_bits: Annotated[
        Numbers,
        Symbol("sigma_x", "burst of the other flow at each port", _BITS, "bit"),
    ] = 0.0,
    cross_rate_bps: Annotated[
        Numbers, Symbol("rho_x", "rate of the other flow at each port", Range(0, 1e15), "bit/s")
    ] = 0.0,
    latency_s: Annotated[
        Numbers, Symbol("T", "longest time before a port serves", _TIME_S, "s")
    ] = 0.0,
) -> PathCase:
    """Bounds of a path: port by port the burst grows, and the program sees that it comes once.

    Port by port D_1 is the sum of D_k = T + (sigma_k + sigma_x) / R, and the burst behind it is
    sigma_k + rho D_k.

    Examples
    --------
    Two ports at 100 Mb/s, with a flow of 24 kbit at each; without it the burst is paid once:

    >>> of = {"rate_bps": 1e7, "wire_bps": 1e8, "ports": 2}
    >>> found = bouillard_2022(12e3, **of, cross_burst_bits=24e3, cross_rate_bps=4e7)
    >>> round(float(found.total_flow_s), 9), round(float(found.delay_s), 6)
    (0.000756, 0.000648)
    >>> round(float(bouillard_2022(12e3, **of).delay_s), 6)
    0.00012

    """
    values = read(
        bouillard_2022,
        burst_bits=burst_bits,
        rate_bps=rate_bps,
        wire_bps=wire_bps,
        ports=ports,
        cross_burst_bits=cross_burst_bits,
        cross_rate_bps=cross_rate_bps,
        latency_s=latency_s,
    )
    every = np.broadcast_arrays(*values)
    found = [_along(*map(float, one)) for one in zip(*map(np.ravel, every), strict=True)]
    delay, total = (
        np.array(found).reshape((*every[0].shape, 2)).transpose(-1, *range(every[0].ndim))
    )
    return PathCase(plain(delay), plain(total), plain(np.isnan(delay)))


def _along(
    burst: float,
    rate: float,
    wire: float,
    ports: float,
    cross: float,
    cross_rate: float,
    latency: float,
) -> tuple[float, float]:
    """Return the largest delay along a path by PLP and by total-flow analysis."""
    # Bounds of networks know scenarios, of which the formulas here need nothing.
    from ethermeter.theory.bounds import fluid

    if rate + cross_rate >= wire:
        return np.nan, np.nan
    numbers = tuple(range(int(ports)))
    servers = [fluid.FluidServer(f"port {at}", ((wire, latency),)) for at in numbers]
    flows = [fluid.FluidFlow("through", ((rate, burst),), numbers)]
    flows += [fluid.FluidFlow(f"at port {at}", ((cross_rate, cross),), (at,)) for at in numbers]
    return fluid.tree_delays(servers, flows)[0], fluid.total_flow_delays(servers, flows)[0]
