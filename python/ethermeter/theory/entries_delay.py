"""The catalogue's entries of models that give delay."""

from ethermeter.theory.almes_lazowska import METHODS, almes_lazowska_1979
from ethermeter.theory.almes_lazowska import MODEL as ALMES_LAZOWSKA
from ethermeter.theory.arguments import (
    ARRIVAL_RATE,
    LOAD,
    PACKET_BITS,
    PACKET_S,
    RATE_BPS,
    STATIONS,
    TIME_S,
    WEIGHT,
)
from ethermeter.theory.bux import (
    CSMA_CD,
    DISCIPLINES,
    HEADER_BITS,
    SLOTTED_RING,
    TOKEN_RING,
    bux_1981_csma_cd,
    bux_1981_slotted_ring,
    bux_1981_token_ring,
)
from ethermeter.theory.entry import NOT_MODELLED, WHEN_UNSTABLE, Model, Output, Symbol, assuming
from ethermeter.theory.lam import CONTENTIONS, lam_1980
from ethermeter.theory.lam import MODEL as LAM
from ethermeter.theory.lengths import LENGTHS

_LAMBDA = Symbol("arrival_rate", "lambda", "1/s", "packets of all stations together", ARRIVAL_RATE)
_PACKET = Symbol(
    "packet_s",
    "E1",
    "s",
    "packet time: the fixed one, the mean, or those of a mix",
    PACKET_S,
    row=True,
)
_TAU = Symbol("propagation_s", "tau", "s", "one-way end-to-end propagation", TIME_S)
_WEIGHTS = Symbol("weights", "", "", "weights of the lengths of a mix", WEIGHT, None, row=True)
_LENGTHS = Symbol("lengths", "", "", "how lengths are distributed", LENGTHS, "fixed")
_DELAY = Output("delay_s", "t_f", "s", "mean time from arrival to the end of reception")
_UTILISATION = Output("utilisation", "S", "", "arrival rate times mean packet time")

_BUX_SOURCE = "W. Bux, Local-area subnetworks: a performance comparison, IEEE Trans. Communications 29(10), 1981"
_QUEUE = {
    "population": "infinite",
    "arrivals": "Poisson",
    "buffers": "none: each packet is a station of its own",
    "packet_lengths": "fixed, exponential, or a mix",
    "persistence": "1-persistent",
    "retransmission": "adaptive: a slot of a contention succeeds with probability 1/e",
    "collision_length": "one round trip",
    "topology": "a bus by its ends: the round trip",
    **NOT_MODELLED,
}
_RING = {
    "persistence": "none: access in turn",
    "arrivals": "Poisson, the same at all stations",
    "retransmission": "none: no collisions",
    "collision_length": "none: no collisions",
    "buffers": "unlimited",
    **NOT_MODELLED,
}

ENTRIES = (
    Model(
        ALMES_LAZOWSKA,
        "response time against load",
        1979,
        almes_lazowska_1979,
        (
            Symbol("load", "G", "", "packets offered a packet time", LOAD),
            Symbol("packet_bits", "P", "bit", "length of a packet", PACKET_BITS),
            Symbol("rate_bps", "C", "bit/s", "line rate", RATE_BPS),
            Symbol("slot_s", "T", "s", "contention slot", TIME_S),
            Symbol(
                "method",
                "",
                "",
                "chain: fixed lengths, slot by slot; birth-death: exponential times of the same means",
                METHODS,
                "chain",
            ),
            WHEN_UNSTABLE,
        ),
        (
            Output("response_s", "R", "s", "mean time from arrival to the end of transmission"),
            Output(
                "waiting", "N", "", "mean number of packets present, the one being sent included"
            ),
        ),
        assuming(
            slotting="slots of one collision time, between packets",
            persistence="1-persistent",
            population="infinite",
            arrivals="Poisson",
            retransmission="with n packets present each is tried with probability 1/n in a slot",
            collision_length="one slot",
            topology="all stations hear alike",
            buffers="unlimited, one queue for all",
            packet_lengths="fixed (chain) or exponential (birth-death)",
            **NOT_MODELLED,
        ),
        "G. T. Almes, E. D. Lazowska, The behaviour of Ethernet-like computer communications networks, 7th SOSP, 1979",
        "mathematics solid: simulation of the chain within 0.4 %, birth-death 8 to 11 % high for 512 bit and 0.6 to 2 % from 2048 bit; "
        "a reconstruction, whose identity with the paper's formula is doubtful, but it agrees with what Boggs et al. report of it",
        "loads below (P/C)/(P/C + (e-1)T); packets at least a slot long",
    ),
    Model(
        LAM,
        "delay of slotted CSMA/CD with adaptive backoff",
        1980,
        lam_1980,
        (
            _LAMBDA,
            _PACKET,
            _TAU,
            _WEIGHTS,
            _LENGTHS,
            Symbol(
                "contention",
                "",
                "",
                "distribution of the time to resolve a collision",
                CONTENTIONS,
                "geometric",
            ),
            WHEN_UNSTABLE,
        ),
        (_DELAY, _UTILISATION),
        assuming(slotting="slots of one round trip from the end of each success", **_QUEUE),
        "S. S. Lam, A carrier sense multiple access protocol for local networks, Computer Networks 4(1), 1980",
        "mathematics solid: exact for its assumptions, simulation within 0.5 %; the form with exponential contention is the remembered "
        "printed formula without the correction for slots",
        "rates below 1/(E1 + tau + 2e tau); packets at least a round trip long; no value where even an empty slot is improbable",
    ),
    Model(
        CSMA_CD,
        "delay of CSMA/CD, corrected for the effects of slots",
        1981,
        bux_1981_csma_cd,
        (_LAMBDA, _PACKET, _TAU, _WEIGHTS, _LENGTHS, WHEN_UNSTABLE),
        (_DELAY, _UTILISATION),
        assuming(slotting="slots of one round trip, their effect taken out afterwards", **_QUEUE),
        _BUX_SOURCE,
        "mathematics solid; the printed formula as remembered, which proved to be an exact form of a precise model; its knee at 0.4 "
        "for 10 Mb/s agrees with what Boggs et al. report",
        "rates below 1/(E1 + tau + 2e tau); packets at least a round trip long; no value where even an empty slot is improbable",
    ),
    Model(
        TOKEN_RING,
        "delay of a token ring",
        1981,
        bux_1981_token_ring,
        (
            _LAMBDA,
            Symbol("stations", "N", "", "stations on the ring, all alike", STATIONS),
            _PACKET,
            Symbol(
                "latency_s",
                "R",
                "s",
                "time of the token around the quiet ring, station delays included",
                TIME_S,
            ),
            Symbol(
                "discipline",
                "",
                "",
                "what a station sends when the token comes: all, what it had then, or one packet",
                DISCIPLINES,
                "exhaustive",
            ),
            _WEIGHTS,
            _LENGTHS,
            WHEN_UNSTABLE,
        ),
        (
            _DELAY,
            Output("wait_s", "W", "s", "mean time from arrival to the start of transmission"),
            _UTILISATION,
        ),
        assuming(
            slotting="none",
            population="finite, all stations alike",
            topology="a ring, receivers half of it away on the average",
            packet_lengths="fixed, exponential, or a mix",
            **_RING,
        ),
        _BUX_SOURCE,
        "waits exact (simulation within 0.2 %); the paper's formula as remembered for exhaustive service",
        "packets longer than the ring: a shorter one would hold the token until it came back",
    ),
    Model(
        SLOTTED_RING,
        "delay of a slotted ring: doubtful",
        1981,
        bux_1981_slotted_ring,
        (
            _LAMBDA,
            Symbol(
                "packet_s", "E1", "s", "mean packet time at line rate, without headers", PACKET_S
            ),
            Symbol("latency_s", "R", "s", "time around the ring", TIME_S),
            Symbol("header_bits", "L_h", "bit", "header of a slot", HEADER_BITS),
            Symbol("data_bits", "L_d", "bit", "data of a slot", PACKET_BITS),
            WHEN_UNSTABLE,
        ),
        (_DELAY, _UTILISATION),
        assuming(
            slotting="slots that circulate",
            population="infinite",
            topology="a ring, receivers half of it away on the average",
            packet_lengths="any; cut into slots",
            **_RING,
        ),
        _BUX_SOURCE,
        "doubtful: from memory, and checked against nothing",
        "unknown",
        ("Doubtful: not validated by any simulation or printed value.",),
    ),
)
