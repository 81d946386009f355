"""The catalogue's entries of chains of finite populations, which give throughput and delay."""

from ethermeter.theory.arguments import CHAIN_STATIONS, PROBABILITY, WEIGHT, WHOLE_SLOTS
from ethermeter.theory.coyle_liu import COLLISION, PACKET_RATE, WINDOW, coyle_liu_1983
from ethermeter.theory.coyle_liu import MODEL as COYLE_LIU
from ethermeter.theory.entry import EQUALLY_FAR, NOT_MODELLED, Model, Output, Symbol, assuming
from ethermeter.theory.entry import TOBAGI_HUNT as TOBAGI_HUNT_SOURCE
from ethermeter.theory.tasaka import BUFFERS, METHODS, RETRANSMISSION, tasaka_1986
from ethermeter.theory.tasaka import MODEL as TASAKA
from ethermeter.theory.tobagi_hunt_finite import MODEL as TOBAGI_HUNT
from ethermeter.theory.tobagi_hunt_finite import tobagi_hunt_1980_finite

_GAM = Symbol(
    "collision_slots", "gam", "slots", "length of a collision: 2 and the jam", WHOLE_SLOTS, 2
)
_S = Output("throughput", "S", "", "fraction of time in which packets that succeed are sent")
_SLOTTED = {
    "slotting": "slots of one propagation time",
    "persistence": "non-persistent",
    "population": "finite, all stations alike",
    "collision_length": "fixed: collision_slots",
    "topology": EQUALLY_FAR,
    **NOT_MODELLED,
}

ENTRIES = (
    Model(
        TOBAGI_HUNT,
        "throughput and delay of slotted non-persistent CSMA/CD with a finite population",
        1980,
        tobagi_hunt_1980_finite,
        (
            Symbol("stations", "M", "", "stations", CHAIN_STATIONS),
            Symbol(
                "generation",
                "sigma",
                "",
                "probability that a station without a packet gets one in a slot",
                PROBABILITY,
            ),
            Symbol(
                "retransmission",
                "nu",
                "",
                "probability that a station with a packet senses in an idle slot",
                PROBABILITY,
            ),
            Symbol(
                "packet_slots",
                "T",
                "slots",
                "length of a packet, or lengths of a mix",
                WHOLE_SLOTS,
                row=True,
            ),
            Symbol("weights", "", "", "weights of the lengths of a mix", WEIGHT, None, row=True),
            _GAM,
            Symbol(
                "delayed_first",
                "",
                "",
                "whether a new packet waits as a repeated one does",
                ("true", "false"),
                default=False,
            ),
        ),
        (
            _S,
            Output(
                "delay_slots", "D", "slots", "mean time from generation to the end of the success"
            ),
            Output(
                "backlog",
                "N_b",
                "",
                "mean number of stations with a packet, the one being sent included",
            ),
        ),
        assuming(
            arrivals="geometric, only at stations without a packet",
            retransmission="the same probability in every idle slot: no backoff",
            buffers="one packet",
            packet_lengths="fixed, or a mix",
            **_SLOTTED,
        ),
        TOBAGI_HUNT_SOURCE,
        "mathematics solid: simulation within 0.13 % for throughput and 0.5 % for delay; very probably the paper's",
        "collisions from 2 slots to that of the shortest packet",
    ),
    Model(
        COYLE_LIU,
        "stability of unslotted non-persistent CSMA/CD with a finite population",
        1983,
        coyle_liu_1983,
        (
            Symbol("stations", "N", "", "stations", CHAIN_STATIONS),
            Symbol(
                "generation",
                "lambda",
                "",
                "packets a packet time of a station that has none",
                PACKET_RATE,
            ),
            Symbol(
                "retransmission",
                "mu",
                "",
                "tries a packet time of a station that has one",
                PACKET_RATE,
            ),
            Symbol(
                "window",
                "a",
                "packet times",
                "time after a start in which others do not hear it",
                WINDOW,
            ),
            Symbol(
                "collision",
                "c",
                "packet times",
                "time a collision takes the channel; at least the window",
                COLLISION,
            ),
        ),
        (
            Output("throughput", "S", "", "packets a packet time"),
            Output(
                "backlog",
                "N_b",
                "",
                "mean number of stations with a packet, the one being sent included",
            ),
            Output("delay", "D", "packet times", "mean time from generation to success"),
            Output(
                "drift",
                "d",
                "",
                "mean change of the backlog from one busy period to the next",
                "backlog, from 0 to stations",
            ),
            Output("stable", "", "", "backlogs where the drift passes zero downwards", "crossings"),
            Output("unstable", "", "", "backlogs where the drift passes zero upwards", "crossings"),
        ),
        assuming(
            slotting="none",
            persistence="non-persistent",
            population="finite, all stations alike",
            arrivals="exponential, only at stations without a packet",
            retransmission="exponential at a fixed rate: no backoff",
            collision_length="fixed: collision",
            topology=EQUALLY_FAR,
            buffers="one packet",
            packet_lengths="fixed",
            **NOT_MODELLED,
        ),
        "E. J. Coyle, B. Liu, Finite population CSMA/CD networks, IEEE Trans. Communications 31(11), 1983; "
        "A matrix representation of CSMA/CD networks, 33(1), 1985",
        "mathematics solid: simulation within 0.5 % where there is one equilibrium; the structure is the paper's, details "
        "such as the length of a collision are doubtful",
        "a collision no longer than a success",
        (
            "With two stable backlogs the means are of both together, over very long times; a measurement sees one or the other.",
        ),
    ),
    Model(
        TASAKA,
        "slotted non-persistent CSMA/CD, stations with buffers",
        1986,
        tasaka_1986,
        (
            Symbol("stations", "N", "", "stations", CHAIN_STATIONS),
            Symbol(
                "buffers",
                "K",
                "",
                "packets a station can hold, the one being sent included",
                BUFFERS,
            ),
            Symbol(
                "generation",
                "sigma",
                "",
                "probability that a station gets a packet in a slot",
                PROBABILITY,
            ),
            Symbol(
                "retransmission",
                "p",
                "",
                "probability that a station with a packet senses in an idle slot",
                RETRANSMISSION,
            ),
            Symbol("packet_slots", "T", "slots", "length of a packet", WHOLE_SLOTS),
            _GAM,
            Symbol(
                "method",
                "",
                "",
                "chain of the stations with a packet, or the point of equilibrium",
                METHODS,
                "chain",
            ),
        ),
        (
            _S,
            Output("delay_slots", "D", "slots", "mean time from arrival to the end of the success"),
            Output("loss", "", "", "fraction of the packets that find all buffers full"),
            Output(
                "equilibria",
                "x",
                "",
                "stations with a packet where arrivals and departures balance",
                "equilibria",
            ),
        ),
        assuming(
            arrivals="geometric at all stations",
            retransmission="the same probability in every idle slot, for new packets too: no backoff",
            buffers="a finite number; what finds them full is lost",
            packet_lengths="fixed",
            **_SLOTTED,
        ),
        "S. Tasaka, Dynamic behaviour of a CSMA-CD system with a finite population of buffered users, "
        "IEEE Trans. Communications 34(6), 1986",
        "throughput solid (simulation within 1.5 %, chain 0.1 %); delay approximate: equilibrium 30 to 75 % low below saturation, "
        "chain within 1 % with one buffer or light load and 20 to 25 % low near saturation with four; doubtful in detail, as a "
        "reconstruction from the abstract",
        "one buffer, light load, or saturation; several equilibria mean that one value does not tell it",
    ),
)
