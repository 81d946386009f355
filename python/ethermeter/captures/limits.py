"""What limits a connection: the causes of the core, grouped and named.

The rule of every cause is in docs/captures.md.
"""

from collections.abc import Mapping
from enum import StrEnum

PARTS: Mapping[str, str] = {
    "opening": "opening and closing",
    "turn_around": "turn-around of an application",
    "sender_application": "sending application",
    "sender_pace": "pace of the sender",
    "receiver_application": "receiving application",
    "receiver_window": "receiver's window",
    "send_buffer": "send buffer",
    "congestion_window": "congestion window",
    "window": "congestion window or send buffer",
    "loss": "network: losses",
    "queue": "network: queues",
    "round_trip": "network: round trips",
}
"""Causes of the core in its order, with their titles."""

RULES: Mapping[str, str] = {
    "loss": (
        "the piece ends with a segment that is sent again, or what was under way then is not all "
        "acknowledged"
    ),
    "round_trip": (
        "an answer to the other end: up to the least time to the end that answers and back"
    ),
    "turn_around": "the rest of the time until that answer",
    "receiver_application": (
        "before the last news there was less room in the window than the segment needs; the "
        "window was below three quarters of its largest, or the acknowledgement came more than a "
        "quarter of a round trip and a millisecond late"
    ),
    "receiver_window": "the same, with the window at its size and the acknowledgement in time",
    "queue": (
        "it waited for an acknowledgement with room in the window and data under way; the round "
        "trip was more than twice the least"
    ),
    "send_buffer": (
        "the same, with a shorter round trip, and the peak of the flight changes by less than a "
        "fifth of a segment a round trip over ten and more"
    ),
    "congestion_window": (
        "the same, and the peak grows by more than a tenth of a segment a round trip, or by half "
        "at once, or is below that before the last loss"
    ),
    "window": "the same, and the peak of the flight tells neither",
    "sender_application": (
        "the last segment was not full, or all was acknowledged and more than a millisecond went "
        "by, or it paused for eight times as long as it usually takes to the next segment"
    ),
    "sender_pace": (
        "none of these: it had more and waited for no news; its host, interface or pacing, or a "
        "queue before the capture point"
    ),
    "opening": "the handshake, and what follows the last segment with something new",
}
"""Rule of each cause, in the order of their tests, for an interval that ends with new data."""


class Limit(StrEnum):
    """What limits a connection."""

    OPENING = "opening"
    TURN_AROUND = "turn-around"
    SENDER_APPLICATION = "sender-application"
    SENDER_PACE = "sender-pace"
    RECEIVER_APPLICATION = "receiver-application"
    RECEIVER_WINDOW = "receiver-window"
    SEND_BUFFER = "send-buffer"
    CONGESTION_WINDOW = "congestion-window"
    WINDOW = "congestion-window-or-send-buffer"
    NETWORK = "network"


NAMES: Mapping[Limit, str] = {
    Limit.OPENING: "opening and closing",
    Limit.TURN_AROUND: "turn-around of an application",
    Limit.SENDER_APPLICATION: "sending application",
    Limit.SENDER_PACE: "pace of the sender",
    Limit.RECEIVER_APPLICATION: "receiving application",
    Limit.RECEIVER_WINDOW: "receiver's window",
    Limit.SEND_BUFFER: "send buffer",
    Limit.CONGESTION_WINDOW: "congestion window",
    Limit.WINDOW: "congestion window or send buffer",
    Limit.NETWORK: "network",
}
"""What limits are called."""

_OF_PART: Mapping[str, Limit] = {
    "opening": Limit.OPENING,
    "turn_around": Limit.TURN_AROUND,
    "sender_application": Limit.SENDER_APPLICATION,
    "sender_pace": Limit.SENDER_PACE,
    "receiver_application": Limit.RECEIVER_APPLICATION,
    "receiver_window": Limit.RECEIVER_WINDOW,
    "send_buffer": Limit.SEND_BUFFER,
    "congestion_window": Limit.CONGESTION_WINDOW,
    "window": Limit.WINDOW,
    "loss": Limit.NETWORK,
    "queue": Limit.NETWORK,
    "round_trip": Limit.NETWORK,
}


def shares(parts: Mapping[str, float]) -> dict[Limit, float]:
    """Gather shares of time by cause under their limits.

    Examples
    --------
    >>> shares({"loss": 0.25, "queue": 0.5, "receiver_window": 0.25})[Limit.NETWORK]
    0.75
    """
    found = dict.fromkeys(Limit, 0.0)
    for part, share in parts.items():
        found[_OF_PART[part]] += share
    return found
