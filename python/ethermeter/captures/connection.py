"""A TCP connection: its two ends, what limited it, and how far that can be believed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ethermeter.captures.limits import PARTS, Limit, shares

NS = 1e-9
_GUESSED = 0.1
ROWS: Mapping[str, str] = {
    "segments": "Segments",
    "data_segments": "Segments with payload",
    "octets": "Octets of payload",
    "resent": "Segments sent again",
    "resent_octets": "Octets sent again",
    "needless": "Of these, already acknowledged",
    "late": "Late segments",
    "holes": "Holes",
    "uncaptured_octets": "Octets never captured",
    "duplicate_acks": "Duplicate acknowledgements",
    "bare_acks": "Acknowledgements without payload",
    "covering_acks": "Acknowledgements of payload",
    "most_covered": "Most segments acknowledged at once",
    "zero_windows": "Zero windows",
    "window_least": "Smallest window, octets",
    "window_most": "Largest window, octets",
    "most_in_flight": "Most octets under way",
    "segment": "Full segment, octets",
    "largest_payload": "Largest payload, octets",
}
"""What is counted of an end, by its key in the core, and what it is called."""


class Caution(StrEnum):
    """Why what is said of a connection may not hold; docs/captures.md explains each."""

    NO_HANDSHAKE = "no-handshake"
    NEAR_RECEIVER = "near-receiver"
    ONE_WAY = "one-way"
    UNCAPTURED = "uncaptured"
    GUESSED = "guessed"
    EVICTED = "evicted"
    CUT_BY_INTERFACE = "cut-by-interface"
    DROPPED_BY_CAPTURE = "dropped-by-capture"


@dataclass(frozen=True, slots=True)
class End:
    """One end of a connection, and what it sent.

    Parameters
    ----------
    of
        What the core says of it, as docs/formats.md describes it.

    """

    of: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Address and port."""
        address = self.of["address"]
        return f"[{address}]:{self.of['port']}" if ":" in address else f"{address}:{self.of['port']}"

    @property
    def octets(self) -> int:
        """Octets of payload, those that were sent again left out."""
        return int(self.of["octets"]) - int(self.of["resent_octets"])

    @property
    def away_s(self) -> float | None:
        """From the capture point to this end and back, at the least, in s."""
        return _seconds(self.of["away_ns"])

    def delay_s(self, name: str) -> float | None:
        """From this end's data to its acknowledgement, in s: `mean`, `least`, `most`, `p10`, `p50`, `p90`, `p99` or `p999`."""
        return _seconds(self.of["ack_delay"][f"{name}_ns"])


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection.

    Parameters
    ----------
    of
        What the core says of it, as docs/formats.md describes it.
    is_lossy
        Whether the capture says that it dropped packets, of this connection perhaps.

    """

    of: Mapping[str, Any]
    is_lossy: bool

    @property
    def number(self) -> int:
        """Its place among all connections, in the order of their first packets, from 1 on."""
        return int(self.of["number"])

    @property
    def ends(self) -> tuple[End, End]:
        """Who began, as far as it can be told, and the other one."""
        first, second = self.of["ends"]
        return End(first), End(second)

    @property
    def sender(self) -> End:
        """The end that sent more."""
        first, second = self.ends
        return first if first.octets >= second.octets else second

    @property
    def receiver(self) -> End:
        """The end that sent less."""
        first, second = self.ends
        return second if first.octets >= second.octets else first

    @property
    def octets(self) -> int:
        """Octets of payload of both ends, those that were sent again left out."""
        return sum(end.octets for end in self.ends)

    @property
    def begin_s(self) -> float:
        """When its first packet was captured, in s after the first of the file."""
        return float(self.of["begin_ns"]) * NS

    @property
    def duration_s(self) -> float:
        """From its first packet to its last, in s."""
        return float(self.of["duration_ns"]) * NS

    @property
    def goodput_bps(self) -> float | None:
        """Payload of the end that sent more over the duration, in bit/s."""
        return 8 * self.sender.octets / self.duration_s if self.duration_s > 0 else None

    @property
    def round_trip_s(self) -> float | None:
        """The least round trip, in s: from the capture point to both ends and back."""
        away = [end.away_s for end in self.ends]
        return sum(part for part in away if part is not None) if None not in away else None

    @property
    def parts(self) -> dict[str, float]:
        """Share of its time by cause of the core; they sum to 1 if it lasted at all."""
        whole = sum(self.of["limits_ns"].values())
        return {name: self.of["limits_ns"][name] / whole if whole else 0.0 for name in PARTS}

    @property
    def shares(self) -> dict[Limit, float]:
        """Share of its time by what limited it."""
        return shares(self.parts)

    @property
    def limit(self) -> Limit | None:
        """What limited it most of the time; nothing if it did not last."""
        found = self.shares
        most = max(found, key=lambda limit: found[limit])
        return most if found[most] > 0 else None

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Why what is said of it may not hold."""
        found = []
        if self.of["is_scaled"] is None:
            found.append(Caution.NO_HANDSHAKE)
        sender, receiver = self.sender.away_s, self.receiver.away_s
        if sender is not None and receiver is not None and sender > max(receiver, 1e-4):
            found.append(Caution.NEAR_RECEIVER)
        if not all(end.of["segments"] for end in self.ends):
            found.append(Caution.ONE_WAY)
        if any(end.of["uncaptured_octets"] for end in self.ends):
            found.append(Caution.UNCAPTURED)
        again = sum(end.of["resent"] + end.of["late"] for end in self.ends)
        if again and sum(end.of["resent_guessed"] + end.of["late"] for end in self.ends) > _GUESSED * again:
            found.append(Caution.GUESSED)
        if self.of["is_evicted"]:
            found.append(Caution.EVICTED)
        if any(end.of["wanted_segment"] is not None and end.of["largest_payload"] > end.of["segment"] for end in self.ends):
            found.append(Caution.CUT_BY_INTERFACE)
        if self.is_lossy:
            found.append(Caution.DROPPED_BY_CAPTURE)
        return tuple(found)

    @property
    def sentence(self) -> str:
        """What limited it, as a sentence."""
        limit = self.limit
        if limit is None:
            return "It has a single moment: nothing to explain."
        return f"{self.shares[limit]:.0%} of the time: {self._reason(limit)}"

    def _reason(self, limit: Limit) -> str:
        sender, receiver = self.sender, self.receiver
        match limit:
            case Limit.OPENING:
                return "opening, closing, or waiting for the last acknowledgement; little was sent in between."
            case Limit.TURN_AROUND:
                return "one end had asked or answered, and the other end's application had not replied yet."
            case Limit.SENDER_APPLICATION:
                return f"{sender.name} had nothing, or little at a time, to send; the network was not asked for more."
            case Limit.SENDER_PACE:
                return (
                    f"{sender.name} had room and data, and waited for no acknowledgement: its host, its interface or its pacing set the "
                    "rate, or a queue before the capture point."
                )
            case Limit.RECEIVER_WINDOW:
                most = receiver.of["window_most"]
                size = f" (at most {size_text(most)})" if most is not None else ""
                return (
                    f"{sender.name} had used up the window of {receiver.name}{size}: the receiving application reads slowly, or its buffer "
                    "is small."
                )
            case Limit.CONGESTION_WINDOW:
                return (
                    f"{sender.name} waited for acknowledgements with room in the receiver's window: its congestion window allowed no more."
                )
            case Limit.NETWORK:
                return self._network()

    def _network(self) -> str:
        parts = {name: self.parts[name] for name in ("loss", "queue", "round_trip")}
        match max(parts, key=lambda name: parts[name]):
            case "loss":
                return f"what was lost had to be sent again, {self.sender.of['resent']} segments of {self.sender.name}."
            case "queue":
                return (
                    "acknowledgements took more than twice the least round trip: a queue on the path, as at a bottleneck, or a receiver "
                    "that is slow to acknowledge."
                )
            case _:
                return "questions and answers were on their way: the round trip is what takes the time."


def size_text(octets: float) -> str:
    """Write a size with a decimal prefix.

    Examples
    --------
    >>> size_text(999), size_text(65535), size_text(3_000_000)
    ('999 B', '65.5 kB', '3 MB')
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if octets >= factor:
            return f"{octets / factor:.3g} {prefix}B"
    return f"{octets:.0f} B"


def time_text(seconds: float | None) -> str:
    """Write a time in its unit; a dash for none.

    Examples
    --------
    >>> time_text(0.0000123), time_text(0.25), time_text(None)
    ('12.3 µs', '250 ms', '–')
    """
    if seconds is None:
        return "–"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns * NS
