"""Quantities about the myths from formulas alone, each with a remark.

A formula has no error of its own. Knees follow the rule of `analysis.curves.rise`, on a curve that
ends where the delay is `FULL` packet times: without an end a curve that grows beyond all bounds
would have its knee wherever one stops drawing.
"""

import functools
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ethermeter import theory
from ethermeter.analysis.curves import rise
from ethermeter.results.interval import Floats
from ethermeter.theory.entry import Throughput

Quantity = tuple[float, str]
FULL = 10.0
"""Packet times at which a curve of delay ends."""
RESPONSE_END = 20.0
"""The same of response times on the experimental Ethernet: each paper has its own axis."""
OTHER_ENDS = (5.0, 10.0, 20.0)
"""Where it might have ended as well; a remark says what becomes of the knee then."""
EXPERIMENTAL = {"rate_bps": 3e6, "slot_s": 16e-6}
"""The experimental Ethernet as Metcalfe and Boggs count: 3 Mb/s and a slot of 16 us."""
OCTET = 8
BUX_PACKET_S, BUX_PROPAGATION_S = 1e-4, 1e-5
"""1000 bit on the average at 10 Mb/s, and 10 us of cable."""
PEAKED = ((0.01, 0.001), (0.001, 0.001))
"""Propagation and abort time, in packet times, at which a second peak is looked for."""


def efficiency(octets: float, *, stations: int = 256) -> float:
    """Efficiency of the experimental Ethernet by the formula of 1976."""
    return float(
        theory.metcalfe_boggs_1976(stations, packet_bits=octets * OCTET, **EXPERIMENTAL).efficiency
    )


def _minimal_packets() -> Quantity:
    return efficiency(6), f"1/e is {math.exp(-1):.4f}; the packet is as long as the slot, 48 bit"


@functools.cache
def response_s(load: float, bits: int, *, slot_s: float = 16e-6) -> float:
    """Response time on the experimental Ethernet by Almes and Lazowska, in s.

    By a reconstruction; NaN beyond its limit.
    """
    found = theory.almes_lazowska_1979(
        load, packet_bits=bits, rate_bps=3e6, slot_s=slot_s, unstable="nan"
    )
    return float(found.response_s)


def _small_packets_response() -> Quantity:
    return response_s(0.75, 512) * 1e3, f"at 85% it is {response_s(0.85, 512) * 1e3:.2f} ms"


def _response_limit() -> Quantity:
    packet_s = 512 / 3e6
    return (
        packet_s / (packet_s + (math.e - 1) * 16e-6),
        "the load beyond which the queue of 512 bit packets grows for ever",
    )


def almes_lazowska_knee(bits: int, *, end: float = RESPONSE_END) -> float:
    """Offered load at the knee of response time, on the experimental Ethernet.

    For packets of a number of bits.
    """
    loads = np.arange(0.01, 0.99, 0.01)
    packet_s = bits / 3e6
    return _knee(
        loads, np.array([response_s(load, bits) for load in loads.tolist()]) / packet_s, end
    )


def _knee(x: Floats, delay: Floats, end: float) -> float:
    shown = np.isfinite(delay) & (delay <= end)
    found = rise(x[shown], delay[shown])
    return found.x if found is not None else math.nan


def _other_ends(knee: Callable[[float], float]) -> str:
    return "; ".join(
        f"if the curve ended at {end:g} packet times: {knee(end):.3g}" for end in OTHER_ENDS
    )


def _small_packets_knee() -> Quantity:
    return almes_lazowska_knee(512), _other_ends(lambda end: almes_lazowska_knee(512, end=end))


def _knee_of_longer_packets() -> Quantity:
    short, long = almes_lazowska_knee(512), almes_lazowska_knee(2048)
    remark = f"{short:.2f} for 64 B, {long:.2f} for 256 B, the long packets of that study"
    return long - short, remark


def _low_load_response() -> Quantity:
    short, long = response_s(0.1, 512), response_s(0.1, 2048)
    remark = (
        f"at 10%: {long * 1e3:.2f} ms for 256 B, whose packet time is {2048 / 3e6 * 1e3:.2f} ms,"
        f" against {short * 1e3:.2f} ms for 64 B"
    )
    return long / short, remark


def _longer_slot() -> Quantity:
    ratios = {
        load: response_s(load, 512, slot_s=32e-6) / response_s(load, 512)
        for load in (0.25, 0.5, 0.7)
    }
    remark = "; ".join(f"{ratio:.2f} at a load of {load:.0%}" for load, ratio in ratios.items())
    return min(ratios.values()), f"{remark}; in proportion near the limit only"


def _mixed(short_fraction: float) -> tuple[float, float]:
    """Capacity of packets of 64 B and 1536 B, and the share of the short ones.

    By the model of 1980.

    Slots of 6 us, preamble and gap counted with a packet, collisions of four slots.
    """
    slots = {octets: (octets + 24) * OCTET / 1e7 / 6e-6 for octets in (64, 1536)}
    found = theory.tobagi_hunt_1980_bimodal(
        short_fraction, short_slots=slots[64], long_slots=slots[1536], collision_slots=4
    )
    total = float(found.capacity)
    weights = (short_fraction * slots[64], (1 - short_fraction) * slots[1536])
    return total, total * weights[0] / sum(weights)


def _few_long_packets() -> Quantity:
    short, mixed, long = (_mixed(share)[0] for share in (1.0, 7 / 8, 0.0))
    remark = (
        f"capacity {short:.3f} with short packets, {mixed:.3f} with the mix, {long:.3f} with long"
        " ones"
    )
    return (mixed - short) / (long - short), remark


def _short_share() -> Quantity:
    total, share = _mixed(7 / 8)
    alone = f"alone they would have {_mixed(1.0)[0]:.3f}"
    return share / total, f"{share:.3f} of a capacity of {total:.3f}; {alone}"


def bux_delay(
    throughput: Floats, *, propagation_s: float = BUX_PROPAGATION_S, lengths: str = "exponential"
) -> Floats:
    """Mean delay of CSMA/CD in packet times against throughput, as printed by Bux.

    From memory; NaN beyond its limit.
    """
    found = theory.bux_1981_csma_cd(
        throughput / BUX_PACKET_S,
        packet_s=BUX_PACKET_S,
        propagation_s=propagation_s,
        lengths=lengths,
        unstable="nan",
    )
    return np.asarray(found.delay_s) / BUX_PACKET_S


def bux_knee(end: float = FULL) -> float:
    """Throughput at the knee of the mean delay of CSMA/CD."""
    throughput = np.arange(0.01, 0.7, 0.005)
    return _knee(throughput, bux_delay(throughput), end)


def _long_for_the_cable() -> Quantity:
    at = np.array([0.8])
    near = float(bux_delay(at, propagation_s=BUX_PACKET_S / 100)[0])
    far = float(bux_delay(at, propagation_s=BUX_PACKET_S / 10)[0])
    delay = "it has no limit" if math.isnan(far) else f"it is {far:.3g}"
    remark = (
        "at a throughput of 80%, exponential lengths; with packets only ten times as long as the"
        f" propagation {delay}"
    )
    return near, remark


def _extreme_load() -> Quantity:
    found = {total: _coyle_liu(50, total / 50, 0.2) for total in (1, 10, 100)}
    remark = ", ".join(f"{value:.4f} at {total}" for total, value in found.items())
    least = min(later / earlier for earlier, later in pairwise(found.values()))
    return least, f"throughput {remark} times the line rate"


def _coyle_liu(stations: int, generation: float, retransmission: float) -> float:
    found = theory.coyle_liu_1983(
        stations, generation=generation, retransmission=retransmission, window=0.04, collision=0.04
    )
    return float(found.throughput)


def _hasty_retransmission() -> Quantity:
    calm, hasty = _coyle_liu(50, 0.02, 0.2), _coyle_liu(50, 0.02, 4.0)
    remark = (
        f"50 stations: throughput {calm:.3f} if a station tries 0.2 times a packet time,"
        f" {hasty:.4f} if 4 times"
    )
    return hasty / calm, remark


def peaks(model: Callable[..., Throughput], propagation: float, abort: float) -> list[float]:
    """Find the loads at which the throughput of a model is larger than on either side."""
    load = np.geomspace(0.01, 1e4, 4001)
    value = np.asarray(model(load, propagation=propagation, abort=abort).throughput)
    inner = (value[1:-1] > value[:-2]) & (value[1:-1] > value[2:]) & (value[1:-1] > 1e-6)
    return [float(found) for found in load[1:-1][inner]]


def _peaks_of(
    model: Callable[..., Throughput], pick: Callable[[list[list[float]]], float]
) -> Quantity:
    """Return what `pick` finds among the peaks for each of `PEAKED`, and all of them as text."""
    found = [peaks(model, propagation, abort) for propagation, abort in PEAKED]
    remark = "; ".join(
        f"{' and '.join(f'{load:.3g}' for load in loads)} for a propagation of {propagation:g} and"
        f" an abort time of {abort:g} packet times"
        for loads, (propagation, abort) in zip(found, PEAKED, strict=True)
    )
    return pick(found), f"peaks at G = {remark}"


def _fewest(found: list[list[float]]) -> float:
    return float(min(map(len, found)))


def _first(found: list[list[float]]) -> float:
    return found[0][0]


def _last(found: list[list[float]]) -> float:
    return min(loads[-1] for loads in found)


def _buffers() -> Quantity:
    def found(buffers: int, generation: float, retransmission: float) -> theory.tasaka.Buffered:
        return theory.tasaka_1986(
            50,
            buffers=buffers,
            generation=generation,
            retransmission=retransmission,
            packet_slots=100,
            collision_slots=2,
        )

    one, four = (found(buffers, 1e-4, 0.01) for buffers in (1, 4))
    full = float(found(4, 5e-4, 0.02).throughput) / float(found(1, 5e-4, 0.02).throughput)
    remark = (
        f"at half the line rate; loss {float(four.loss):.2g} against {float(one.loss):.3f}; offered"
        f" 250% instead: {full:.3f}"
    )
    return float(four.throughput) / float(one.throughput), remark


def _without_detection() -> Quantity:
    propagation, slots = 6e-6 / 428.8e-6, 428.8e-6 / 6e-6
    model = theory.tobagi_hunt_1980_one_persistent
    without, with_it = (
        theory.capacity(model, propagation=propagation, collision_slots=lost)
        for lost in (slots + 1, 4)
    )
    kleinrock = theory.kleinrock_tobagi_1975(without.load, propagation=propagation)
    capacities = f"{float(with_it.capacity):.3f} against {float(without.capacity):.3f}"
    remark = f"{capacities}, which the formula of 1975 gives as {float(kleinrock.throughput):.3f}"
    return float(with_it.capacity) / float(without.capacity), remark


def _non_persistent() -> Quantity:
    propagation = 6e-6 / 428.8e-6
    models = (theory.tobagi_hunt_1980_non_persistent, theory.tobagi_hunt_1980_one_persistent)
    non, one = (
        float(theory.capacity(model, propagation=propagation, collision_slots=4).capacity)
        for model in models
    )
    return non / one, f"capacity {non:.3f} against {one:.3f}"


FORMULAS: dict[str, Callable[[], Quantity]] = {
    "long_packets": lambda: (efficiency(512), ""),
    "minimal_packets": _minimal_packets,
    "small_packets_response": _small_packets_response,
    "response_limit": _response_limit,
    "small_packets_knee": _small_packets_knee,
    "knee_of_longer_packets": _knee_of_longer_packets,
    "low_load_response": _low_load_response,
    "longer_slot": _longer_slot,
    "few_long_packets": _few_long_packets,
    "short_share": _short_share,
    "bux_knee": lambda: (bux_knee(), _other_ends(bux_knee)),
    "long_for_the_cable": _long_for_the_cable,
    "extreme_load": _extreme_load,
    "hasty_retransmission": _hasty_retransmission,
    "peaks": lambda: _peaks_of(theory.takagi_kleinrock_1985, _fewest),
    "peaks_of_artefact": lambda: _peaks_of(theory.takagi_kleinrock_1985_double_peak, _fewest),
    "first_peak": lambda: _peaks_of(theory.takagi_kleinrock_1985, _first),
    "first_peak_of_artefact": lambda: _peaks_of(theory.takagi_kleinrock_1985_double_peak, _first),
    "second_peak_of_artefact": lambda: _peaks_of(theory.takagi_kleinrock_1985_double_peak, _last),
    "buffers": _buffers,
    "without_detection": _without_detection,
    "non_persistent": _non_persistent,
}
"""Every quantity by its name in `published.toml`."""
