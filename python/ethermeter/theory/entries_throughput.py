"""The catalogue's entries of models that give throughput against stations or load."""

from ethermeter.theory.arguments import (
    COLLISION_SLOTS,
    LOAD,
    PACKET_BITS,
    PROPAGATION,
    RATE_BPS,
    SHARE,
    SLOTS,
    STATIONS,
    TIME_S,
)
from ethermeter.theory.entry import (
    EQUALLY_FAR,
    NOT_MODELLED,
    POISSON_INFINITE,
    TOBAGI_HUNT,
    Model,
    Output,
    Symbol,
    assuming,
)
from ethermeter.theory.kleinrock_tobagi import MODEL as KLEINROCK_TOBAGI
from ethermeter.theory.kleinrock_tobagi import kleinrock_tobagi_1975
from ethermeter.theory.metcalfe_boggs import MODEL as METCALFE_BOGGS
from ethermeter.theory.metcalfe_boggs import metcalfe_boggs_1976
from ethermeter.theory.takagi_kleinrock import (
    ABORT,
    DOUBLE_PEAK,
    FINITE,
    FINITE_STATIONS,
    takagi_kleinrock_1985,
    takagi_kleinrock_1985_double_peak,
    takagi_kleinrock_1985_finite,
)
from ethermeter.theory.takagi_kleinrock import MODEL as TAKAGI_KLEINROCK
from ethermeter.theory.tobagi_hunt import (
    BIMODAL,
    IDLE,
    NON_PERSISTENT,
    ONE_PERSISTENT,
    tobagi_hunt_1980_bimodal,
    tobagi_hunt_1980_non_persistent,
    tobagi_hunt_1980_one_persistent,
)
from ethermeter.theory.tobagi_hunt_p_persistent import MODEL as P_PERSISTENT
from ethermeter.theory.tobagi_hunt_p_persistent import PERSISTENCE, tobagi_hunt_1980_p_persistent
from ethermeter.theory.tobagi_hunt_p_persistent import PROPAGATION as SOME_PROPAGATION

_G = Symbol("load", "G", "", "attempts a packet time, new and repeated", LOAD)
_A = Symbol("propagation", "a", "", "one-way propagation over packet time", PROPAGATION)
_GAM = Symbol(
    "collision_slots", "gam", "slots", "length of a collision: 2 and the jam", COLLISION_SLOTS, 2
)
_B = Symbol(
    "abort", "b", "", "time from hearing a collision to falling silent, over packet time", ABORT
)
_S = Output("throughput", "S", "", "fraction of time in which packets that succeed are sent")
_IDLE = Symbol(
    "idle",
    "I",
    "",
    "whether an arrival in the last slot of a period may start in the next, or every idle period has a whole slot",
    IDLE,
    "same-slot",
)

_TK_SOURCE = "H. Takagi, L. Kleinrock, Throughput analysis for persistent CSMA systems, IEEE Trans. Communications 33(7), 1985"
_TH_CONFIDENCE = (
    "mathematics solid: simulations of exactly these assumptions agree within 0.6 %; very probably the paper's, except that its convention "
    "for the idle slot is doubtful (1.4 % at a = 0.01)"
)
_TH_VALIDITY = "collisions from 2 slots to 1/a + 1, where there is no collision detection left"
_TH_ASSUMES = {
    "slotting": "slots of one propagation time",
    "retransmission": "a stable rate, part of the load",
    "collision_length": "fixed: collision_slots",
    "topology": EQUALLY_FAR,
    "packet_lengths": "fixed",
    **POISSON_INFINITE,
    **NOT_MODELLED,
}
_TK_ASSUMES = {
    "slotting": "none",
    "persistence": "1-persistent",
    "retransmission": "a stable rate, part of the load",
    "topology": EQUALLY_FAR,
    "packet_lengths": "fixed",
    **NOT_MODELLED,
}

ENTRIES = (
    Model(
        KLEINROCK_TOBAGI,
        "1-persistent CSMA without collision detection: the limit of the later models",
        1975,
        kleinrock_tobagi_1975,
        (
            _G,
            _A,
            Symbol(
                "slotted",
                "",
                "",
                "whether starts are synchronised to slots of one propagation time",
                ("true", "false"),
                default=True,
            ),
        ),
        (_S,),
        assuming(
            slotting="slots of one propagation time, or none",
            persistence="1-persistent",
            retransmission="a stable rate, part of the load",
            collision_length="a packet: there is no collision detection",
            topology=EQUALLY_FAR,
            packet_lengths="fixed",
            **POISSON_INFINITE,
            **NOT_MODELLED,
        ),
        "L. Kleinrock, F. A. Tobagi, Packet switching in radio channels, IEEE Trans. Communications 23(12), 1975",
        "mathematics solid; the formulas are the paper's as remembered",
        "any load",
    ),
    Model(
        METCALFE_BOGGS,
        "efficiency with continuously queued stations",
        1976,
        metcalfe_boggs_1976,
        (
            Symbol("stations", "Q", "", "stations that always have a packet", STATIONS),
            Symbol("packet_bits", "P", "bit", "length of a packet", PACKET_BITS),
            Symbol("rate_bps", "C", "bit/s", "line rate", RATE_BPS),
            Symbol("slot_s", "T", "s", "time to detect a collision", TIME_S),
        ),
        (
            Output("acquisition", "A", "", "probability that exactly one station starts in a slot"),
            Output("waiting_slots", "W", "slots", "mean slots without success before a packet"),
            Output("efficiency", "E", "", "fraction of time in which packets are sent"),
        ),
        assuming(
            slotting="slots of one collision time, between packets",
            persistence="1-persistent",
            population="finite",
            arrivals="saturated",
            retransmission="each station starts with probability 1/Q in a slot",
            collision_length="one slot",
            topology="all stations hear alike",
            buffers="never empty",
            packet_lengths="fixed",
            **NOT_MODELLED,
        ),
        "R. M. Metcalfe, D. R. Boggs, Ethernet: distributed packet switching for local computer networks, CACM 19(7), 1976, section 6",
        "mathematics solid: simulation within 0.14 %; the paper's formula, its table compared from memory",
        "packets at least a slot long",
        (
            "The slot is the round trip of the cable in use; with the 51.2 us of the standard it is far too pessimistic for a shorter one.",
        ),
    ),
    Model(
        NON_PERSISTENT,
        "slotted non-persistent CSMA/CD",
        1980,
        tobagi_hunt_1980_non_persistent,
        (_G, _A, _GAM, _IDLE),
        (_S,),
        assuming(persistence="non-persistent", **_TH_ASSUMES),
        TOBAGI_HUNT,
        _TH_CONFIDENCE,
        _TH_VALIDITY,
    ),
    Model(
        ONE_PERSISTENT,
        "slotted 1-persistent CSMA/CD",
        1980,
        tobagi_hunt_1980_one_persistent,
        (_G, _A, _GAM),
        (_S,),
        assuming(persistence="1-persistent", **_TH_ASSUMES),
        TOBAGI_HUNT,
        _TH_CONFIDENCE,
        _TH_VALIDITY,
        (
            "Also Takagi and Kleinrock's slotted 1-persistent CSMA/CD, with collision_slots = 2 + b/a.",
        ),
    ),
    Model(
        P_PERSISTENT,
        "slotted p-persistent CSMA/CD",
        1980,
        tobagi_hunt_1980_p_persistent,
        (
            _G,
            Symbol(
                "propagation", "a", "", "one-way propagation over packet time", SOME_PROPAGATION
            ),
            Symbol(
                "persistence",
                "p",
                "",
                "probability that a ready station starts in a slot",
                PERSISTENCE,
            ),
            _GAM,
        ),
        (_S,),
        assuming(persistence="p-persistent", **_TH_ASSUMES),
        TOBAGI_HUNT,
        _TH_CONFIDENCE,
        _TH_VALIDITY,
        ("For small p the throughput has two humps over the load; `capacity` finds the higher.",),
    ),
    Model(
        BIMODAL,
        "capacity of slotted non-persistent CSMA/CD with packets of two lengths",
        1980,
        tobagi_hunt_1980_bimodal,
        (
            Symbol("short_fraction", "alpha", "", "fraction of the packets that are short", SHARE),
            Symbol("short_slots", "T1", "slots", "length of a short packet", SLOTS),
            Symbol("long_slots", "T2", "slots", "length of a long packet", SLOTS),
            _GAM,
            _IDLE,
        ),
        (
            Output("capacity", "C", "", "largest throughput over all loads"),
            Output("short", "C1", "", "what of it short packets carry"),
            Output("long", "C2", "", "what of it long packets carry"),
            Output("load", "G", "", "attempts a mean packet time at which it is reached"),
        ),
        assuming(
            persistence="non-persistent",
            **{**_TH_ASSUMES, "packet_lengths": "short or long, independently"},
        ),
        TOBAGI_HUNT,
        _TH_CONFIDENCE,
        "collisions from 2 slots to that of a short packet",
        ("A collision takes the same time whatever collides, so only the mean length matters.",),
    ),
    Model(
        TAKAGI_KLEINROCK,
        "unslotted 1-persistent CSMA/CD",
        1985,
        takagi_kleinrock_1985,
        (_G, _A, _B),
        (_S,),
        assuming(
            collision_length="by the physics: 2a + b and the first rival's start",
            **POISSON_INFINITE,
            **_TK_ASSUMES,
        ),
        _TK_SOURCE,
        "mathematics solid: simulation within 0.4 %; identity with the paper's formula doubtful, "
        "as the second peak reported of it is absent",
        "a collision no longer than a packet: a + b up to 1",
        (
            "The authors' unslotted CSMA/CD was disputed: Sohraby, Molle, Venetsanopoulos, IEEE Trans. Communications 35(2), 1987.",
        ),
    ),
    Model(
        DOUBLE_PEAK,
        "unslotted 1-persistent CSMA/CD, variant with a second peak: an artefact",
        1985,
        takagi_kleinrock_1985_double_peak,
        (_G, _A, _B),
        (_S,),
        assuming(
            collision_length="of packets that start together: that of a success, unless another comes within the propagation time",
            **POISSON_INFINITE,
            **_TK_ASSUMES,
        ),
        _TK_SOURCE
        + ", as reported by D. R. Boggs, J. C. Mogul, C. A. Kent, WRL 88/4, 1988, section 2.4.6",
        "mathematics solid for its assumption (simulation within 1 %); that this is what the paper computes is a hypothesis",
        "none physically: it shows how the reported second peak can come about",
        ("Artefact: reproduces the reported double peak, and is not to predict with.",),
    ),
    Model(
        FINITE,
        "unslotted 1-persistent CSMA/CD with a finite population",
        1985,
        takagi_kleinrock_1985_finite,
        (_G, Symbol("stations", "M", "", "stations that share the load", FINITE_STATIONS), _A, _B),
        (_S,),
        assuming(
            population="finite",
            arrivals="Poisson while idle, new and repeated together",
            buffers="one packet",
            collision_length="by the physics: 2a + b and the first rival's start",
            **_TK_ASSUMES,
        ),
        _TK_SOURCE,
        "mathematics solid: simulation within 0.12 %; identity with the paper's formula doubtful",
        "a collision no longer than a packet: a + b up to 1",
        ("Whoever took part in a busy period is idle again at its end, also after a collision.",),
    ),
)
