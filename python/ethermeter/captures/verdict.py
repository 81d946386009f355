"""What limited a connection, at which end, what to change, and the rate after the change."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from ethermeter.captures.counts import NS
from ethermeter.captures.estimate import Bound, Estimate, buffer_octets, loss_limited_bps, lowest
from ethermeter.captures.limits import CAUSES, NAMES, Limit
from ethermeter.captures.paths import FULL, SharedLink
from ethermeter.captures.text import rate_text, size_text, time_text

if TYPE_CHECKING:
    from ethermeter.captures.connection import Connection

_WINDOWS = ("send_buffer", "congestion_window", "window", "loss")
_RECEIVER = ("receiver_application", "receiver_window")
TRANSFER = (*_WINDOWS, *_RECEIVER, "queue", "sender_pace")
"""Causes while a sender has data to send."""
_UNREAD = 0.25
"""A receiver's application is to blame from this share of its window's time: what fills the window
takes a round trip besides.
"""
PACED = 0.4
"""Share of the transfer's time in which segments follow each other at the pace of the sender's
link, from which a full link is the sender's own. A link of 15 Mb/s at the sender itself gives 0.49
to 0.50, as the sender waits for room in its buffer in the other half; a slower link behind the
sender's gives the ratio of their rates, which is 0.15 in the planted transfers.
"""
_SECOND = 0.15
"""Share of the time from which a limit counts beside a pace: segments that follow each other at the
rate of a link take their time, too.
"""


_OVERFLOWING = 0.75
"""A queue overflows if the last round trips before losses had waited this share of the longest wait
in it, and not if they had waited less than half.
"""
_QUEUE = 0.1
"""A queue is seen if the longest wait in it is at least this part of the round trip."""
_MOSTLY = 2 / 3
"""Share of the time from which one end's application is to blame for the replies of both."""


class Role(StrEnum):
    """What of an end, or between the ends, was slow."""

    SENDER_APPLICATION = "sender application"
    SENDER_HOST = "sender host"
    RECEIVER_APPLICATION = "receiver application"
    RECEIVER_HOST = "receiver host"
    APPLICATION = "application"
    BOTH_APPLICATIONS = "applications of both ends"
    PATH = "path"


class Vantage(StrEnum):
    """Where a capture was made."""

    SENDER = "near the sender"
    BETWEEN = "between the ends"
    RECEIVER = "near the receiver"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What limited a connection.

    `limit`: the limit. `share`: share of the connection's time, 0 to 1. `title`: the limit in a few
    words. `role`: what was slow. `end`: address and port of the end that was slow; None for a path.
    `reason`: why, a sentence. `change`: what to change; None if there is nothing. `buffer_octets`:
    the size of a buffer that `change` recommends. `estimate`: what the transfer would reach then;
    None if no next limit was seen.
    """

    limit: Limit
    share: float
    title: str
    role: Role
    end: str | None
    reason: str
    change: str | None = None
    buffer_octets: int | None = None
    estimate: Estimate | None = None

    @property
    def estimate_text(self) -> str | None:
        """The estimate as a sentence; None if there is none."""
        estimate = self.estimate
        if estimate is None:
            return None
        more = (
            f", up to {rate_text(estimate.most_bps)} if the receiver's window grows"
            if estimate.most_bps > estimate.goodput_bps
            else ""
        )
        assumed = "; ".join(estimate.assumptions)
        return (
            f"estimate: {rate_text(estimate.goodput_bps)} of payload{more}. Next limit: "
            f"{estimate.bound.name} ({estimate.bound.formula}). "
            f"Assumed: {assumed}."
        )


def judge(of: "Connection") -> Verdict | None:
    """Return the verdict on a connection; None if it did not last, or only controls others."""
    failed = _failure(of)
    if failed is not None or of.is_control:
        return failed
    if of.shared_link is not None:
        return _shared_link(of, of.shared_link)
    limit, share = _limit(of)
    return _VERDICTS[limit](_facing(of, limit), share) if share > 0 else None


def _facing(of: "Connection", limit: Limit) -> "Connection":
    """Return a connection with the end as its sender that waited longer for a limit."""
    if limit in (Limit.NETWORK, Limit.OPENING, Limit.TURN_AROUND):
        return of
    own, other = of.sender.waited(*CAUSES[limit]), of.receiver.waited(*CAUSES[limit])
    return of if own.ns >= other.ns else of.swapped


def _failure(of: "Connection") -> Verdict | None:
    """Return the verdict on a SYN that was not answered, or refused; None of others."""
    first, second = of.ends
    if not first.of.syns or first.of.octets or of.of.answer_ns is not None:
        return None
    syns = f"{first.of.syns} {'SYN' if first.of.syns == 1 else 'SYNs'}"
    if second.of.segments == 0 and first.of.segments == first.of.syns:
        lasted = f" within {time_text(of.duration_s)}" if of.duration_s > 0 else ""
        reason = f"{second.name} did not answer {syns} of {first.name}{lasted}: no connection."
        change = (
            f"check the address, whether {second.of.address} is up, and whether a firewall drops "
            "what goes there or comes back; or the capture has one direction only"
        )
        return _verdict(Limit.UNANSWERED, 1.0, None, reason, change)
    if of.of.refused_ns is not None and second.of.segments == second.of.resets:
        after = time_text(of.of.refused_ns * NS)
        reason = (
            f"{second.name} refused the connection: a reset {after} after the SYN of {first.name}."
        )
        change = (
            f"start what shall listen on port {second.of.port} of {second.of.address}, or let the "
            "firewall pass that refuses it"
        )
        return _verdict(Limit.REFUSED, 1.0, second.name, reason, change)
    return None


def is_link_full(of: "Connection") -> bool:
    """Whether the transfer used most of the slowest link's rate while it was active."""
    return of.link_bps is not None and fills(of, of.link_bps)


def fills(of: "Connection", rate_bps: float) -> bool:
    """Whether the transfer used most of a rate while it was active."""
    share = sum(of.parts[name] for name in TRANSFER)
    if of.goodput_bps is None or share <= 0:
        return False
    return of.goodput_bps / share >= FULL * rate_bps


def _limit(of: "Connection") -> tuple[Limit, float]:
    """Return the limit and the share of time that speaks for it."""
    parts = of.parts
    receiver, windows = (
        sum(parts[name] for name in _RECEIVER),
        sum(parts[name] for name in _WINDOWS),
    )
    transfer = receiver + windows + parts["queue"] + parts["sender_pace"]
    others = {
        Limit.OPENING: parts["opening"],
        Limit.TURN_AROUND: parts["turn_around"],
        Limit.NETWORK: parts["round_trip"],
        Limit.SENDER_APPLICATION: parts["sender_application"],
        Limit.DELAYED_ACK: parts["delayed_ack"],
    }
    most = max(others, key=lambda limit: others[limit])
    if others[most] >= transfer:
        return most, others[most]
    if is_link_full(of):
        # Near the receiver all links are before the capture point, and the slowest of them looks
        # like the sender's pace.
        is_paced = parts["sender_pace"] >= PACED * transfer and of.vantage is not Vantage.RECEIVER
        return (Limit.SENDER_PACE, parts["sender_pace"]) if is_paced else (Limit.NETWORK, transfer)
    waited = {"receiver": receiver, "windows": windows, "queue": parts["queue"]}
    longest = max(waited, key=lambda name: waited[name])
    # Segments that follow each other are no limit as long as the link is faster, unless there is
    # hardly anything else.
    if parts["sender_pace"] > waited[longest] and (not of.has_trains or waited[longest] < _SECOND):
        return Limit.SENDER_PACE, parts["sender_pace"]
    if longest == "queue":
        return Limit.NETWORK, parts["queue"] + parts["loss"]
    if longest == "receiver":
        is_unread = parts["receiver_application"] >= _UNREAD * receiver
        return (Limit.RECEIVER_APPLICATION if is_unread else Limit.RECEIVER_WINDOW), receiver
    if parts["send_buffer"] >= windows / 2:
        # Without the scale of its windows the receiver may be the limit as well.
        is_known = of.of.is_scaled is not None
        return (Limit.SEND_BUFFER if is_known else Limit.WINDOW), parts["send_buffer"]
    congested = parts["congestion_window"] + parts["loss"]
    return (
        (Limit.CONGESTION_WINDOW, congested)
        if congested > parts["window"]
        else (Limit.WINDOW, windows)
    )


def _link(of: "Connection") -> list[Bound]:
    if of.link_bps is None:
        return []
    paced = (
        "as acknowledgements followed each other at the fastest"
        if of.vantage is Vantage.RECEIVER
        else "as acknowledgements of queued segments followed each other"
    )
    formula = f"{rate_text(of.link_bps)} of payload, {paced}"
    return [Bound("the slowest link on the path", of.link_bps, formula)]


def _losses(of: "Connection") -> list[Bound]:
    """Return the bound of the observed losses; empty without losses."""
    episodes, round_trip_s = int(of.sender.of.loss_episodes), of.round_trip_s
    if not episodes or not round_trip_s or not of.segments:
        return []
    share = min(1.0, episodes / of.segments)
    formula = (
        f"the larger of Reno's and CUBIC's mean window for a loss in {1 / share:.0f} segments, "
        f"over a round trip of {time_text(round_trip_s)}"
    )
    bps = loss_limited_bps(int(of.sender.of.segment), round_trip_s, share)
    return [Bound("the congestion window with the losses seen", bps, formula)]


def _window(of: "Connection") -> Bound | None:
    """Return the bound of the receiver's largest window; None without scale or round trip."""
    most, round_trip_s = of.receiver.of.window_most, of.round_trip_s
    if most is None or not round_trip_s or of.of.is_scaled is None:
        return None
    formula = f"window of {size_text(most)} over a round trip of {time_text(round_trip_s)}"
    return Bound(f"the window of {of.receiver.name}", 8 * most / round_trip_s, formula)


def _estimate(of: "Connection", *assumed: str, window: Bound | None = None) -> Estimate | None:
    """Return the estimate by the slowest link and the losses; they stay as they are.

    None if no link was seen: what the capture does not show may be any rate.
    """
    if of.link_bps is None:
        return None
    bounds = [*_link(of), *_losses(of)]
    return lowest(bounds, window, _assumed("no more losses than here", *assumed))


def _assumed(*more: str) -> list[str]:
    return ["the least round trip seen, no other traffic", *more]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.0005 else f"{100 * share:.2g}%"


_ROLES = {
    Limit.OPENING: Role.BOTH_APPLICATIONS,
    Limit.TURN_AROUND: Role.BOTH_APPLICATIONS,
    Limit.SENDER_APPLICATION: Role.SENDER_APPLICATION,
    Limit.RECEIVER_APPLICATION: Role.RECEIVER_APPLICATION,
    Limit.RECEIVER_WINDOW: Role.RECEIVER_HOST,
    Limit.DELAYED_ACK: Role.SENDER_APPLICATION,
    Limit.NETWORK: Role.PATH,
    Limit.UNANSWERED: Role.PATH,
    Limit.REFUSED: Role.RECEIVER_HOST,
}
"""What is slow with each limit; with all others the host of the sender."""


def _verdict(
    limit: Limit,
    share: float,
    end: str | None,
    reason: str,
    change: str,
    estimate: Estimate | None = None,
    *,
    title: str = "",
    role: Role | None = None,
    octets: int | None = None,
) -> Verdict:
    """Return a verdict; title and role are those of the limit unless given."""
    role = role or _ROLES.get(limit, Role.SENDER_HOST)
    return Verdict(limit, share, title or NAMES[limit], role, end, reason, change, octets, estimate)


def _times(of: "Connection", *causes: str) -> str:
    """Return how often the sender waited for causes, how long in all, and at the longest."""
    wait = of.sender.waited(*causes)
    if wait.count == 0:
        return ""
    how_often = "once" if wait.count == 1 else f"{wait.count} times"
    most = "" if wait.count == 1 else f", at most {time_text(wait.most_ns * NS)} at a time"
    return f" ({how_often}, {time_text(wait.ns * NS)} in all{most})"


def _lasted(of: "Connection", share: float) -> str:
    return time_text(share * of.duration_s)


def _waited(of: "Connection", share: float) -> str:
    lasted = _lasted(of, share)
    return (
        f"{of.sender.name} waited {lasted} for acknowledgements with room in the receiver's window"
    )


def _overflow(of: "Connection") -> tuple[bool | None, str]:
    """Return whether losses are of a queue that overflowed, and how full it was before them.

    None if that cannot be said: near the receiver queues are not seen, and some paths have none.
    """
    sender = of.sender.of
    before = sender.loss_round_trip.p50_ns
    least, most = sender.round_trip.least_ns, sender.round_trip.p99_ns
    if before is None or least is None or most is None or of.vantage is Vantage.RECEIVER:
        return None, ""
    if most - least < _QUEUE * most:
        return None, ""
    full = max(0.0, min(1.0, (before - least) / (most - least)))
    how = (
        f"the round trip before them was {time_text(before * NS)} (median), of "
        f"{time_text(least * NS)} at the least and {time_text(most * NS)} with the longest queue"
    )
    if full >= _OVERFLOWING:
        return True, how
    return (False if full <= 0.5 else None), how


def _congestion_window(of: "Connection", share: float) -> Verdict:
    sender, limit = of.sender.name, Limit.CONGESTION_WINDOW
    waited = _waited(of, share)
    if of.losses:
        losses = f"{of.losses} {'loss' if of.losses == 1 else 'losses'}"
        small = f"kept small by {losses} ({_percent(of.loss_share)})"
        repaired = f"making good the losses took {of.parts['loss']:.0%}"
        overflows, how = _overflow(of)
        evidence = f" ({how})" if how else ""
        reason = f"{waited}: its congestion window, {small}, allowed no more; {repaired}{evidence}."
        suspects = {
            True: "a queue that is full",
            False: (
                "not a full queue: a policer, a duplex mismatch, a damaged cable, a receiver that "
                "is overrun"
            ),
            None: (
                "a full queue, a policer, a duplex mismatch, a damaged cable, a receiver that is "
                "overrun"
            ),
        }
        change = (
            f"find what loses {_percent(of.loss_share)} of the segments between {sender} and "
            f"{of.receiver.name}: {suspects[overflows]}"
        )
        assumed = _assumed("no losses", "a send buffer that is large enough")
        estimate = lowest(_link(of), _window(of), assumed) if of.link_bps else None
        title = f"congestion window, {small}"
        return _verdict(limit, share, None, reason, change, estimate, title=title, role=Role.PATH)
    reason = (
        f"{waited}: its congestion window was still growing ({of.sender.of.rounds.steps} "
        "steps of slow start), and nothing was lost."
    )
    change = (
        f"send more over one connection, or begin with a larger window at {sender} (initcwnd of "
        "its route); what is over within a few round trips does not fill the path"
    )
    assumed = _assumed("a transfer that is much longer", "no losses")
    estimate = lowest(_link(of), _window(of), assumed) if of.link_bps else None
    title = "congestion window, still growing"
    return _verdict(limit, share, sender, reason, change, estimate, title=title)


def _send_buffer(of: "Connection", share: float) -> Verdict:
    sender, rounds = of.sender.name, of.sender.of.rounds
    reason = (
        f"{_waited(of, share)}, and its flight stayed at "
        f"{size_text(rounds.steady_octets)} over {rounds.steady} round trips: its send "
        "buffer allowed no more (a congestion window would have grown)."
    )
    estimate = _estimate(of, window=_window(of))
    which = f"the send buffer of {of.sender.of.address} (net.ipv4.tcp_wmem, SO_SNDBUF)"
    change, octets = _buffer(of, estimate, which)
    return _verdict(Limit.SEND_BUFFER, share, sender, reason, change, estimate, octets=octets)


def _either(of: "Connection", share: float) -> Verdict:
    sender, limit = of.sender.name, Limit.WINDOW
    if of.of.is_scaled is None and of.parts["send_buffer"] >= of.parts["window"]:
        reason = (
            f"{sender} waited {_lasted(of, share)} for acknowledgements, and its flight stayed at "
            f"{size_text(of.sender.of.rounds.steady_octets)}: its send buffer, or the window of "
            f"{of.receiver.name}, whose scale is in the handshake, which is not in the capture."
        )
        change = (
            "capture the connection from its handshake on; the send buffer or the receive buffer "
            "may be small"
        )
        estimate = _estimate(of, "buffers that are large enough")
        title = "send buffer or receiver's window"
        return _verdict(limit, share, None, reason, change, estimate, title=title)
    reason = (
        f"{_waited(of, share)}: its congestion "
        "window or its send buffer allowed no more. Too few round trips without a loss tell which."
    )
    change = (
        f"look which of the two it is (ss -ti at {of.sender.of.address} shows cwnd and "
        "sndbuf_limited), or capture a longer transfer"
    )
    estimate = _estimate(of, "neither window is smaller then", window=_window(of))
    return _verdict(limit, share, sender, reason, change, estimate)


def _used_up(of: "Connection") -> str:
    most = of.receiver.of.window_most
    size = f" (at most {size_text(most)})" if most is not None else ""
    times = _times(of, *CAUSES[Limit.RECEIVER_APPLICATION], *CAUSES[Limit.RECEIVER_WINDOW])
    return f"{of.sender.name} had used up the window of {of.receiver.name}{size}{times}"


def _receiver_window(of: "Connection", share: float) -> Verdict:
    reason = f"{_used_up(of)}, which was read in time: the receive buffer is small."
    estimate = _estimate(of, "a send buffer that is large enough")
    which = f"the receive buffer of {of.receiver.of.address} (net.ipv4.tcp_rmem, SO_RCVBUF)"
    change, octets = _buffer(of, estimate, which)
    receiver = of.receiver.name
    return _verdict(Limit.RECEIVER_WINDOW, share, receiver, reason, change, estimate, octets=octets)


def _buffer(of: "Connection", estimate: Estimate | None, which: str) -> tuple[str, int | None]:
    """Return the advice to raise a buffer, and the size where the next limit is known."""
    if estimate is None or not of.round_trip_s:
        return f"raise {which}", None
    octets = buffer_octets(estimate.most_bps, of.round_trip_s)
    return f"raise {which} to at least {size_text(octets)}", octets


def _receiver_application(of: "Connection", share: float) -> Verdict:
    receiver = of.receiver.name
    zero = of.receiver.of.zero_windows
    closed = f" (zero in {zero} segments)" if zero else ""
    reason = (
        f"{_used_up(of)}, which unread data kept small{closed}: the application there reads slowly."
    )
    change = (
        f"let the application of {receiver} read faster, and sooner; a larger buffer only puts "
        "off the moment when it is full"
    )
    estimate = _estimate(of, "an application that reads at once", window=_window(of))
    return _verdict(Limit.RECEIVER_APPLICATION, share, receiver, reason, change, estimate)


def _sender_application(of: "Connection", share: float) -> Verdict:
    sender = of.sender.name
    replies = of.receiver.waited("turn_around", "round_trip")
    replied = (
        f" {of.receiver.name} replied within {time_text(of.longest_reply_s(of.receiver))}."
        if replies.count and of.receiver.octets
        else ""
    )
    reason = (
        f"{sender} had nothing, or little at a time, to send"
        f"{_times(of, 'sender_application')}; the network was not asked for more.{replied}"
    )
    change = f"let the application of {sender} write sooner, and more at a time"
    assumed = ("an application that always has data", "buffers that are large enough")
    estimate = _estimate(of, *assumed, window=_window(of))
    return _verdict(Limit.SENDER_APPLICATION, share, sender, reason, change, estimate)


def _delayed_ack(of: "Connection", share: float) -> Verdict:
    sender, receiver, held = of.sender.name, of.receiver.name, of.sender.of.held
    count = of.sender.waited("delayed_ack").count
    pieces = f" ({held.sizes[0]} + {held.sizes[1]} octets)" if held else ""
    mean = f" by {time_text(held.delayed_ns / count * NS)} on average" if held and count else ""
    reason = (
        f"{sender} wrote in two pieces{pieces}: Nagle's algorithm held the second back until the "
        f"first was acknowledged, which {receiver} delayed{mean}{_times(of, 'delayed_ack')}."
    )
    change = f"let the application of {sender} write both pieces at once, or set TCP_NODELAY there"
    return _verdict(Limit.DELAYED_ACK, share, sender, reason, change)


def _sender_pace(of: "Connection", share: float) -> Verdict:
    sender = of.sender.name
    if is_link_full(of):
        reason = (
            f"{sender} sent segments one after the other at {rate_text(of.goodput_bps or 0.0)} of "
            f"payload for {_lasted(of, share)}, and waited for nothing else: its host, its "
            "interface or its pacing set the rate, or a link before the capture point; that rate "
            "was full."
        )
        change = f"use a faster interface at {sender}, if its rate is the one here"
        estimate = _doubled(of, "interface")
    else:
        reason = (
            f"{sender} had room, waited for no acknowledgement, and sent segments one after the "
            f"other for {_lasted(of, share)}: its application, its host, its interface or its "
            "pacing set the rate, or a queue before the capture point."
        )
        change = f"look what the processor and the application of {sender} do meanwhile"
        estimate = _estimate(of, "a host that is as fast as its link", window=_window(of))
    return _verdict(Limit.SENDER_PACE, share, sender, reason, change, estimate)


def _doubled(of: "Connection", what: str) -> Estimate | None:
    """Return the estimate for a link twice as fast, with a receiver's window that suffices."""
    if of.link_bps is None:
        return None
    formula = f"twice the {rate_text(of.link_bps)} of payload seen"
    assumed = _assumed(
        f"a {what} that is twice as fast",
        "windows and buffers that grow with it",
        "losses by its full queue only",
    )
    return lowest([Bound(f"the {what}, again", 2 * of.link_bps, formula)], None, assumed)


def _lost(of: "Connection") -> str:
    """Return a sentence on losses at a full link, whether its queue overflowed; empty without."""
    if not of.losses:
        return ""
    overflows, how = _overflow(of)
    were = "1 segment was lost" if of.losses == 1 else f"{of.losses} segments were lost"
    lost = f"{were} ({_percent(of.loss_share)})"
    evidence = f": {how}" if how else ""
    if overflows:
        return f" Its queue overflowed; {lost}{evidence}."
    if overflows is False:
        return f" {lost}, not by a queue that overflowed{evidence}."
    return f" {lost}{evidence}."


def _shared_link(of: "Connection", link: SharedLink) -> Verdict:
    title = f"network: full link, shared by {link.connections} connections"
    ends = f"from {of.sender.of.address} to {of.receiver.of.address}"
    together = (
        f"{link.connections} connections {ends} filled a link together: "
        f"{rate_text(link.goodput_bps)} of payload"
    )
    if link.packet_bps is not None:
        reason = (
            f"{together}, and their packets followed each other evenly at "
            f"{rate_text(link.packet_bps)}: the link is before the capture point.{_lost(of)}"
        )
    else:
        reason = f"{together}, where it carries {rate_text(link.link_bps or 0.0)}.{_lost(of)}"
    change = "use a faster link there, or fewer connections at a time; larger buffers do not help"
    estimate = None
    if of.goodput_bps is not None:
        formula = f"twice the {rate_text(of.goodput_bps)} of payload that it had of the link"
        assumed = _assumed("a link that is twice as fast", "the same share of it")
        bound = Bound("the link, again", 2 * of.goodput_bps, formula)
        estimate = lowest([bound], None, assumed)
    return _verdict(Limit.NETWORK, link.share, None, reason, change, estimate, title=title)


def _network(of: "Connection", share: float) -> Verdict:
    parts, link_bps, estimate = of.parts, of.link_bps, None
    lost = _lost(of)
    if parts["round_trip"] >= share:
        title = "round trips"
        reason = (
            f"questions and answers were on their way for {_lasted(of, share)}: the round trip "
            f"({time_text(of.round_trip_s)}) is what takes the time."
        )
        change = "ask for more at a time, or ask without waiting for the answer"
    elif link_bps is not None and is_link_full(of):
        title, estimate = "full link", _doubled(of, "link")
        reason = (
            f"the slowest link between {of.sender.name} and {of.receiver.name} was full: "
            f"{rate_text(of.goodput_bps or 0.0)} of payload, "
            f"where it carries {rate_text(link_bps)}.{lost}"
        )
        change = (
            "use a faster link there, or take other traffic away from it; larger buffers do not "
            "help"
        )
    else:
        title = "queues"
        reason = (
            "acknowledgements took more than twice the least round trip "
            f"({time_text(of.round_trip_s)}) for {_lasted(of, parts['queue'])}: a queue on the "
            "path, as at a bottleneck that other traffic shares, or a receiver that is slow to "
            f"acknowledge.{lost}"
        )
        change = "look for the queue: a shared link that is full, or a receiving host that is busy"
        estimate = lowest(_link(of), None, _assumed("no other traffic on the slowest link"))
    title = f"network: {title}"
    return _verdict(Limit.NETWORK, share, None, reason, change, estimate, title=title)


def _turn_around(of: "Connection", share: float) -> Verdict:
    first, second = of.ends
    waits = {end.name: end.waited("turn_around") for end in (first, second)}
    end = max(waits, key=lambda name: waits[name].ns)
    both_ns = sum(wait.ns for wait in waits.values())
    is_one = both_ns > 0 and waits[end].ns >= _MOSTLY * both_ns
    taken = "; ".join(
        f"{name} took {time_text(wait.ns * NS)} for {wait.count} replies, "
        f"{time_text(wait.most_ns * NS)} at the longest"
        for name, wait in waits.items()
        if wait.count
    )
    reason = (
        "one end had asked or answered, and the other end's application had not replied yet"
        f"{f': {taken}' if taken else ''}."
    )
    whose = (
        f"application of {end} takes"
        if is_one
        else (f"applications of {first.name} and {second.name} take")
    )
    change = f"look why the {whose} so long to reply, or ask for more at a time"
    estimate = None
    if of.goodput_bps is not None and share < 1 and of.link_bps is not None:
        formula = f"{rate_text(of.goodput_bps)} / (1 - {share:.2f})"
        bound = Bound("what the rest of the time takes", of.goodput_bps / (1 - share), formula)
        estimate = lowest([bound, *_link(of)], None, _assumed("replies at once"))
    role = Role.APPLICATION if is_one else Role.BOTH_APPLICATIONS
    at = end if is_one else None
    return _verdict(Limit.TURN_AROUND, share, at, reason, change, estimate, role=role)


def _opening(of: "Connection", share: float) -> Verdict:
    reason = (
        f"opening, closing, or waiting for the last acknowledgement took {_lasted(of, share)}; "
        f"little was sent in between ({size_text(of.octets)} in all)."
    )
    return _verdict(Limit.OPENING, share, None, reason, "send more over one connection")


_VERDICTS: dict[Limit, Callable[["Connection", float], Verdict]] = {
    Limit.OPENING: _opening,
    Limit.TURN_AROUND: _turn_around,
    Limit.SENDER_APPLICATION: _sender_application,
    Limit.DELAYED_ACK: _delayed_ack,
    Limit.SENDER_PACE: _sender_pace,
    Limit.RECEIVER_APPLICATION: _receiver_application,
    Limit.RECEIVER_WINDOW: _receiver_window,
    Limit.SEND_BUFFER: _send_buffer,
    Limit.CONGESTION_WINDOW: _congestion_window,
    Limit.WINDOW: _either,
    Limit.NETWORK: _network,
}
