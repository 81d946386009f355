"""What limits a connection: the causes of the core, grouped and named.

The rule of every cause is in docs/explanation/captures.md.
"""

from collections.abc import Mapping
from enum import StrEnum


class Limit(StrEnum):
    """What limits a connection."""

    UNANSWERED = "unanswered"
    REFUSED = "refused"
    OPENING = "opening"
    TURN_AROUND = "turn-around"
    SENDER_APPLICATION = "sender-application"
    DELAYED_ACK = "delayed-acknowledgement"
    SENDER_PACE = "sender-pace"
    RECEIVER_APPLICATION = "receiver-application"
    RECEIVER_WINDOW = "receiver-window"
    SEND_BUFFER = "send-buffer"
    CONGESTION_WINDOW = "congestion-window"
    WINDOW = "congestion-window-or-send-buffer"
    NETWORK = "network"


NO_CONNECTION = frozenset({Limit.UNANSWERED, Limit.REFUSED})
"""Limits of attempts that did not become connections."""

_CAUSES: Mapping[str, tuple[str, Limit]] = {
    "opening": ("opening and closing", Limit.OPENING),
    "turn_around": ("turn-around of an application", Limit.TURN_AROUND),
    "sender_application": ("sending application", Limit.SENDER_APPLICATION),
    "delayed_ack": ("Nagle's algorithm and delayed acknowledgements", Limit.DELAYED_ACK),
    "sender_pace": ("pace of the sender", Limit.SENDER_PACE),
    "receiver_application": ("receiving application", Limit.RECEIVER_APPLICATION),
    "receiver_window": ("receiver's window", Limit.RECEIVER_WINDOW),
    "send_buffer": ("send buffer", Limit.SEND_BUFFER),
    "congestion_window": ("congestion window", Limit.CONGESTION_WINDOW),
    "window": ("congestion window or send buffer", Limit.WINDOW),
    "loss": ("network: losses", Limit.NETWORK),
    "queue": ("network: queues", Limit.NETWORK),
    "round_trip": ("network: round trips", Limit.NETWORK),
}
"""Title and limit of each cause, in the order of the core."""

PARTS: Mapping[str, str] = {name: title for name, (title, _) in _CAUSES.items()}
"""Titles of the causes of the core, in its order."""

NAMES: Mapping[Limit, str] = {limit: title for title, limit in _CAUSES.values()} | {
    Limit.NETWORK: "network",
    Limit.UNANSWERED: "no answer",
    Limit.REFUSED: "refused",
}
"""What limits are called."""

CAUSES: Mapping[Limit, tuple[str, ...]] = {
    limit: tuple(name for name, (_, each) in _CAUSES.items() if each is limit) for limit in Limit
}
"""Causes of each limit."""

SHARED_LINK = "shared_link"
WAITS: Mapping[str, str] = {SHARED_LINK: "network: full link, shared", **PARTS}
"""What a connection may have waited for: a link that it fills together with others, as its path
shows, or a cause of its own.
"""

RULES: Mapping[str, str] = {
    "loss": (
        "the interval ends with a retransmission, or not all data outstanding at that time is "
        "acknowledged"
    ),
    "round_trip": (
        "the end replies to the other end: up to the least round trip to the replying end"
    ),
    "turn_around": "the rest of the time until that reply",
    "receiver_application": (
        "before the last acknowledgement the window had less room than the segment needs; the "
        "window was below three quarters of its largest, or the acknowledgement was more than a "
        "quarter of a round trip and a millisecond late"
    ),
    "receiver_window": "the same, with the window at its size and the acknowledgement in time",
    "delayed_ack": (
        "a short segment was sent as soon as the acknowledgement of the one before it came, which "
        "took 20 ms longer than a round trip, with less than two full segments outstanding"
    ),
    "queue": (
        "the sender waited for an acknowledgement with room in the window and data outstanding; "
        "the round trip was more than twice the least"
    ),
    "send_buffer": (
        "the same, with a shorter round trip, and the peak of the flight changes by less than a "
        "fifth of a segment per round trip, over ten round trips or more"
    ),
    "congestion_window": (
        "the same, and the peak grows by more than a tenth of a segment per round trip, or by "
        "half at once, or is below the peak before the last loss"
    ),
    "window": "the same, and the peak of the flight does not distinguish the two",
    "sender_application": (
        "the last segment was not full, or all data was acknowledged and more than a millisecond "
        "passed, or the sender paused for eight times the usual time between its segments, but not "
        "if full segments follow each other evenly; or the flight is steady and more than one "
        "segment in twenty is not full"
    ),
    "sender_pace": (
        "none of these: the sender had data and waited for no acknowledgement; its host, its "
        "interface or its pacing, or a queue before the capture point"
    ),
    "opening": (
        "the handshake, and the time after the last segment with new data, unless the window is "
        "zero then and the sender probes it or has data outstanding: that is the receiving "
        "application's"
    ),
}
"""Rule of each cause, in the order of their tests, for an interval that ends with new data."""


def shares(parts: Mapping[str, float]) -> dict[Limit, float]:
    """Gather shares of time by cause under their limits.

    Examples
    --------
    >>> shares({"loss": 0.25, "queue": 0.5, "receiver_window": 0.25})[Limit.NETWORK]
    0.75
    """
    found = dict.fromkeys(Limit, 0.0)
    for part, share in parts.items():
        found[_CAUSES[part][1]] += share
    return found
