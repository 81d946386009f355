"""A TCP connection: its two ends, what limited it, and cautions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from ethermeter.captures.counts import NS, ConnectionCounts, EndCounts, Wait
from ethermeter.captures.limits import NO_CONNECTION, PARTS, SHARED_LINK, Limit, shares
from ethermeter.captures.paths import SharedLink
from ethermeter.captures.text import size_text
from ethermeter.captures.verdict import PACED, TRANSFER, Vantage, Verdict, fills, judge

_GUESSED = 0.1
_TRAINS = 10
"""Fewest trains of acknowledgements that tell a rate."""
_QUEUED_TRAINS = 5
"""Fewest trains of segments that had waited in a queue: their median is the link's rate."""
_QUEUED_SHARE = 0.1
"""Fewest of these trains, as a share of all; fewer may have waited for a late host instead."""
_AGREEMENT = 1.1
"""Ratio of two rates up to which they agree."""
_BUSY = 0.5
"""Share of its time in which a sender has data to send, from which its pace tells of a link."""
_NEAR = 0.25
"""A capture is near an end if the other end is four times as far away."""
_TELLING_S = 1e-4
"""A SYN is answered up to this much later than data: shorter times do not show the near end."""
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
    "copies": "Captured once more",
    "duplicate_acks": "Duplicate acknowledgements",
    "bare_acks": "Acknowledgements without payload",
    "covering_acks": "Acknowledgements of payload",
    "most_covered": "Most segments acknowledged at once",
    "zero_windows": "Zero windows",
    "loss_episodes": "Round trips with losses",
    "window_first": "First window, octets",
    "window_least": "Smallest window, octets",
    "window_most": "Largest window, octets",
    "most_in_flight": "Most octets under way",
    "segment": "Full segment, octets",
    "largest_payload": "Largest payload, octets",
}
"""Counters of an end by their keys in the core, with their titles."""


class Caution(StrEnum):
    """Why the explanation of a connection may be wrong (docs/explanation/captures.md)."""

    NO_HANDSHAKE = "no-handshake"
    NEAR_RECEIVER = "near-receiver"
    ONE_WAY = "one-way"
    UNCAPTURED = "uncaptured"
    GUESSED = "guessed"
    EVICTED = "evicted"
    CUT_BY_INTERFACE = "cut-by-interface"
    DROPPED_BY_CAPTURE = "dropped-by-capture"
    CAPTURED_TWICE = "captured-twice"


@dataclass(frozen=True, slots=True)
class End:
    """One end of a connection, and what it sent.

    `of`: counts of the core.
    """

    of: EndCounts

    @property
    def name(self) -> str:
        """Address and port."""
        address = self.of.address
        return f"[{address}]:{self.of.port}" if ":" in address else f"{address}:{self.of.port}"

    @property
    def octets(self) -> int:
        """Octets of payload without retransmissions."""
        return self.of.octets - self.of.resent_octets

    @property
    def away_s(self) -> float | None:
        """From the capture point to this end and back, at the least, in s."""
        away_ns = self.of.away_ns
        return None if away_ns is None else away_ns * NS

    def waited(self, *causes: str) -> Wait:
        """Time that this end spent on causes of the core."""
        found = [self.of.waits[cause] for cause in causes if cause in self.of.waits]
        return Wait(
            ns=sum(wait.ns for wait in found),
            count=sum(wait.count for wait in found),
            most_ns=max((wait.most_ns for wait in found), default=0),
        )

    def delay_s(self, name: str) -> float | None:
        """Delay from this end's data to its acknowledgement in s.

        `name` is `mean`, `least`, `most`, `p10`, `p50`, `p90`, `p99` or `p999`.
        """
        return self.of.ack_delay.seconds(name)


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection.

    `of`: counts of the core. `is_lossy`: whether the capture dropped packets, of this connection
    perhaps. `shared_link`: a link that it fills together with others. `is_control`: whether it only
    controls others. `sending`: 0 or 1, the end that is taken as the sender; None for the one that
    sent more.
    """

    of: ConnectionCounts
    is_lossy: bool
    shared_link: SharedLink | None = None
    is_control: bool = False
    sending: int | None = None

    @property
    def number(self) -> int:
        """Its place among all connections, in the order of their first packets, from 1 on."""
        return self.of.number

    @property
    def ends(self) -> tuple[End, End]:
        """The end that opened the connection, as far as is known, and the other one."""
        first, second = self.of.ends
        return End(first), End(second)

    @property
    def sender(self) -> End:
        """The end that sent more, unless another one is wanted."""
        first, second = self.ends
        if self.sending is not None:
            return self.ends[self.sending]
        return first if first.octets >= second.octets else second

    @property
    def receiver(self) -> End:
        """The other end."""
        first, second = self.ends
        return second if self.sender.of is first.of else first

    @property
    def swapped(self) -> "Connection":
        """The connection with the receiver as the sender."""
        at = 1 if self.sender.of is self.of.ends[0] else 0
        return replace(self, sending=at, shared_link=None)

    @property
    def octets(self) -> int:
        """Octets of payload of both ends without retransmissions."""
        return sum(end.octets for end in self.ends)

    @property
    def begin_s(self) -> float:
        """When its first packet was captured, in s after the first of the file."""
        return self.of.begin_ns * NS

    @property
    def duration_s(self) -> float:
        """From its first packet to its last, in s."""
        return self.of.duration_ns * NS

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
        whole = sum(self.of.limits_ns.values())
        return {name: self.of.limits_ns[name] / whole if whole else 0.0 for name in PARTS}

    @property
    def waits(self) -> dict[str, float]:
        """Share of its time by what it waited for; while it shares a full link, for that alone."""
        if self.shared_link is None:
            return self.parts
        rest = 1 - self.shared_link.share
        own = {name: rest * share for name, share in self.parts.items()}
        return {SHARED_LINK: self.shared_link.share, **own}

    @property
    def shares(self) -> dict[Limit, float]:
        """Share of its time by what limited it."""
        return shares(self.parts)

    @property
    def has_trains(self) -> bool:
        """Whether acknowledgements followed each other closely: the path can be faster."""
        return self.sender.of.trains_ps.count >= _TRAINS

    @property
    def link_bps(self) -> float | None:
        """Payload rate of the slowest link on the path in bit/s; None if nothing shows it.

        The median of the trains of acknowledgements whose segments had waited in a queue. A few
        trains among many may have waited for a late host, which shows as rates of all sizes: of
        them, the fastest tenth or that of all trains must have the same rate. Without them the
        fastest tenth of all trains, if the transfer was as fast and its sender had data and waited
        for no window: a link before the capture point has its queue there. Near the receiver no
        queue is seen, and trains that are faster than the transfer count as well.
        """
        queued, trains = self.sender.of.spacing_ps, self.sender.of.trains_ps
        is_near_receiver = self.vantage is Vantage.RECEIVER
        if not is_near_receiver and queued.count >= _QUEUED_TRAINS and queued.p50:
            fastest = [ps for ps in (queued.p10, trains.p10) if ps]
            if queued.count >= _QUEUED_SHARE * trains.count or any(
                max(ps, queued.p50) <= _AGREEMENT * min(ps, queued.p50) for ps in fastest
            ):
                return 8e12 / queued.p50
        if trains.count < _TRAINS or not trains.p10:
            return None
        fastest_bps = 8e12 / trains.p10
        if not fills(self, fastest_bps):
            return fastest_bps if is_near_receiver else None
        transfer = sum(self.parts[name] for name in TRANSFER)
        is_paced = transfer >= _BUSY and self.parts["sender_pace"] >= PACED * transfer
        return fastest_bps if is_paced else None

    def longest_reply_s(self, end: End) -> float:
        """Longest time that an end took to reply, its round trip included, in s."""
        wait, travel = end.waited("turn_around"), end.waited("round_trip")
        return (wait.most_ns + travel.most_ns) * NS

    @property
    def segments(self) -> int:
        """Segments with payload that the sender put on the wire, those sent again included."""
        sender = self.sender.of
        return max(
            sender.data_segments,
            -(-sender.octets // max(1, sender.segment)),
        )

    @property
    def losses(self) -> int:
        """Lost segments of the sender: retransmissions without those of received segments."""
        sender = self.sender.of
        again = max(
            sender.resent,
            -(-sender.resent_octets // max(1, sender.segment)),
        )
        return max(0, again - max(sender.needless, sender.reported_duplicate))

    @property
    def loss_share(self) -> float:
        """Losses over segments."""
        return self.losses / self.segments if self.segments else 0.0

    @property
    def vantage(self) -> Vantage | None:
        """Where the capture was made, from the least round-trip times to both ends; else None."""
        sender, receiver = self.sender.away_s, self.receiver.away_s
        if sender is None or receiver is None or max(sender, receiver) < _TELLING_S:
            return None
        if sender < _NEAR * receiver:
            return Vantage.SENDER
        return Vantage.RECEIVER if receiver < _NEAR * sender else Vantage.BETWEEN

    @property
    def verdict(self) -> Verdict | None:
        """What limited it, which end, and what to change; None without duration."""
        return judge(self)

    @property
    def limit(self) -> Limit | None:
        """What limited it; None without duration."""
        verdict = self.verdict
        return None if verdict is None else verdict.limit

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Why the explanation may be wrong."""
        found = []
        if self.of.is_scaled is None:
            found.append(Caution.NO_HANDSHAKE)
        sender, receiver = self.sender.away_s, self.receiver.away_s
        if sender is not None and receiver is not None and sender > max(receiver, 1e-4):
            found.append(Caution.NEAR_RECEIVER)
        if not all(end.of.segments for end in self.ends):
            found.append(Caution.ONE_WAY)
        if any(end.of.uncaptured_octets for end in self.ends):
            found.append(Caution.UNCAPTURED)
        again = sum(end.of.resent + end.of.late for end in self.ends)
        if (
            again
            and sum(end.of.resent_guessed + end.of.late for end in self.ends) > _GUESSED * again
        ):
            found.append(Caution.GUESSED)
        if self.of.is_evicted:
            found.append(Caution.EVICTED)
        if any(
            end.of.wanted_segment is not None and end.of.largest_payload > end.of.segment
            for end in self.ends
        ):
            found.append(Caution.CUT_BY_INTERFACE)
        if any(end.of.copies for end in self.ends):
            found.append(Caution.CAPTURED_TWICE)
        if self.is_lossy:
            found.append(Caution.DROPPED_BY_CAPTURE)
        return tuple(found)

    @property
    def limited_by(self) -> str:
        """What limited it, in a few words; a dash if that is not known."""
        verdict = self.verdict
        if verdict is None:
            return "control connection" if self.is_control else "–"
        return verdict.title

    @property
    def share_text(self) -> str:
        """Share of the time that speaks for it; a dash if there is none."""
        verdict = self.verdict
        if verdict is None or verdict.limit in NO_CONNECTION:
            return "–"
        return f"{verdict.share:.0%}"

    @property
    def sentence(self) -> str:
        """What limited it, as a sentence."""
        verdict = self.verdict
        if verdict is None and self.is_control:
            return (
                f"It carried {size_text(self.octets)} and only controls the connections to the "
                "same port that began after it, as iperf3 does: nothing to explain."
            )
        if verdict is None:
            return "It has a single moment: nothing to explain."
        if verdict.limit in NO_CONNECTION:
            return verdict.reason
        return f"{verdict.share:.0%} of the time: {verdict.reason}"
