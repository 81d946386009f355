"""Voice: the quality of calls, their packets on an Ethernet, and how many fit.

The E-model of ITU-T G.107 and its inverse, codecs as data, packets and their initial delay, talk
spurts, Erlang's B formula, rules of admission: pure functions over arrays, which broadcast;
results have the broadcast shape. Shares and probabilities are from 0 to 1 unless stated otherwise.
Every function raises `ArgumentError` for an argument that is out of its range, for shapes that do
not broadcast, and for a codec that it does not know. `docs/explanation/voice.md` marks values from
memory.
"""

from ethermeter.arguments import ArgumentError
from ethermeter.voice.admission import (
    by_count,
    by_load,
    call_time,
    central,
    heard,
    occupancy,
    unlimited,
)
from ethermeter.voice.codecs import CODECS, Codec
from ethermeter.voice.connection import Connection
from ethermeter.voice.e_model import e_model, mean_opinion
from ethermeter.voice.erlang import erlang_b, erlang_b_circuits, erlang_b_offered
from ethermeter.voice.limits import cole_rosenbluth_2001, largest_delay, largest_loss, rating_for
from ethermeter.voice.packets import Medium, mouth_to_ear, packets
from ethermeter.voice.talk import (
    PATTERNS,
    TalkPattern,
    activity_of,
    admitted,
    talking,
    talking_quantile,
)

__all__ = [
    "CODECS",
    "PATTERNS",
    "ArgumentError",
    "Codec",
    "Connection",
    "Medium",
    "TalkPattern",
    "activity_of",
    "admitted",
    "by_count",
    "by_load",
    "call_time",
    "central",
    "cole_rosenbluth_2001",
    "e_model",
    "erlang_b",
    "erlang_b_circuits",
    "erlang_b_offered",
    "heard",
    "largest_delay",
    "largest_loss",
    "mean_opinion",
    "mouth_to_ear",
    "occupancy",
    "packets",
    "rating_for",
    "talking",
    "talking_quantile",
    "unlimited",
]


def __dir__() -> list[str]:
    return __all__
