"""Verdicts on captures made here: the limit, the slow end, the change, and the estimate."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import captures
import msgspec
import pytest
from captures import Segment
from ethermeter.captures import Caution, Connection, Limit, Vantage, explain
from ethermeter.captures.counts import ConnectionCounts
from ethermeter.captures.document import Limited
from ethermeter.captures.estimate import Bound, buffer_octets, loss_limited_bps, lowest
from ethermeter.captures.limits import PARTS

ROUND_TRIP_US = 20_000
SEGMENT = 1460
# Two segments of 1460 octets each 240 µs: 97.3 Mb/s of payload.
LINK_BPS = 8 * 2 * SEGMENT / 240e-6


def transfer(flights: Sequence[int], *, begun: bool = True) -> bytes:
    """Return a transfer in rounds of so many segments, acknowledged in pairs 240 µs apart; 0 is a
    segment sent again after 30 ms.
    """
    window = 50_000
    found = captures.opened(window=window, round_trip_us=ROUND_TRIP_US) if begun else []
    now, number = ROUND_TRIP_US + 30, 1
    for segments in flights:
        begin = number
        for at in range(max(segments, 1)):
            found.append(Segment(now + at, 0, number, 1, SEGMENT, window=window))
            number += SEGMENT
        if segments == 0:
            now += 30_000
            found.append(Segment(now, 0, number - SEGMENT, 1, SEGMENT, window=window))
        now += ROUND_TRIP_US
        for pair in range(0, max(segments, 1), 2):
            acknowledged = min(begin + (pair + 2) * SEGMENT, number)
            found.append(Segment(now + pair * 120, 1, 1, acknowledged, window=window))
        now += max(segments - 1, 0) // 2 * 240 + 50
    return captures.segments(found)


@pytest.fixture
def explained(tmp_path: Path) -> Callable[[bytes], Connection]:
    """Explain the only connection of a capture."""

    def explained(content: bytes) -> Connection:
        (tmp_path / "x.pcap").write_bytes(content)
        (connection,) = explain(tmp_path / "x.pcap").connections
        return connection

    return explained


def test_a_flight_that_stays_is_a_send_buffer_with_the_size_that_it_needs(explained):
    of = explained(transfer([40] * 40))
    verdict = of.verdict
    assert verdict.limit is Limit.SEND_BUFFER
    assert (verdict.role, verdict.end, verdict.title) == (
        "sender host",
        "10.0.0.1:5000",
        "send buffer",
    )
    assert of.link_bps == pytest.approx(LINK_BPS, rel=0.035)
    # 1.5 times 97.3 Mb/s over 20 ms are 365 kB; the rate seen is up to 3.2% lower.
    assert 350_000 <= verdict.buffer_octets <= 370_000
    assert verdict.change == (
        "raise the send buffer of 10.0.0.1 (net.ipv4.tcp_wmem, SO_SNDBUF) to at "
        f"least {verdict.buffer_octets // 1000} kB"
    )
    assert verdict.estimate.bound.name == "the slowest link on the path"
    assert verdict.estimate.goodput_bps == verdict.estimate.most_bps == of.link_bps
    # The last round has no next that would end it.
    assert "its flight stayed at 58.4 kB over 39 round trips" in of.sentence
    assert of.vantage is Vantage.SENDER


def test_losses_keep_a_congestion_window_small(explained):
    epoch = [*range(16, 32), 0]
    of = explained(transfer(epoch * 5))
    verdict = of.verdict
    assert verdict.limit is Limit.CONGESTION_WINDOW
    # In each of the five epochs 376 segments are sent, one of them twice.
    segments = 5 * (sum(epoch) + 2)
    assert (of.losses, of.segments) == (5, segments)
    assert verdict.title == f"congestion window, kept small by 5 losses ({100 * 5 / segments:.1f}%)"
    assert (verdict.role, verdict.end) == ("path", None)
    assert (
        "find what loses 0.3% of the segments between 10.0.0.1:5000 and 10.0.0.2:80"
        in verdict.change
    )
    assert "no losses" in verdict.estimate.assumptions
    assert verdict.estimate.goodput_bps == of.link_bps


def test_a_single_loss_is_one_loss(explained):
    of = explained(transfer([*range(16, 32), 0, *range(16, 24)]))
    assert of.verdict.title.startswith("congestion window, kept small by 1 loss (")


def test_slow_start_that_ends_early_is_a_congestion_window_that_grows(explained):
    of = explained(transfer([2, 4, 8, 16, 32, 64]))
    assert of.verdict.limit is Limit.CONGESTION_WINDOW
    assert of.verdict.title == "congestion window, still growing"
    assert "(4 steps of slow start)" in of.sentence
    assert "initcwnd" in of.verdict.change


def test_few_round_trips_do_not_tell_the_two_apart(explained):
    of = explained(transfer([20] * 8))
    assert of.verdict.limit is Limit.WINDOW
    assert of.verdict.title == "congestion window or send buffer"
    assert "ss -ti at 10.0.0.1" in of.verdict.change


def test_without_the_handshake_a_steady_flight_may_be_the_receivers_window(explained):
    of = explained(transfer([40] * 40, begun=False))
    assert of.cautions[0] is Caution.NO_HANDSHAKE
    assert of.verdict.limit is Limit.WINDOW
    assert of.verdict.title == "send buffer or receiver's window"
    assert "not in the capture" in of.sentence


def test_a_small_receive_buffer_is_named_with_the_size_that_it_needs(explained):
    of = explained(captures.rounds(40, window=115, round_trip_us=ROUND_TRIP_US))
    verdict = of.verdict
    assert verdict.limit is Limit.RECEIVER_WINDOW
    assert (verdict.role, verdict.end) == ("receiver host", "10.0.0.2:80")
    # Acknowledgements of whole rounds tell no link, and so no size.
    assert verdict.change == "raise the receive buffer of 10.0.0.2 (net.ipv4.tcp_rmem, SO_RCVBUF)"
    assert (verdict.buffer_octets, verdict.estimate) == (None, None)


@pytest.fixture
def made(explained) -> Callable[..., Connection]:
    """Make a connection with shares of time, and other values, in place of those of a real one."""
    base = explained(transfer([40] * 40)).of

    def made(
        shares: dict[str, float],
        *,
        sender: dict[str, Any] | None = None,
        receiver: dict[str, Any] | None = None,
    ) -> Connection:
        of = json.loads(msgspec.json.encode(base))
        of["limits_ns"] = {name: round(shares.get(name, 0.0) * of["duration_ns"]) for name in PARTS}
        of["ends"][0] |= sender or {}
        of["ends"][1] |= receiver or {}
        return Connection(msgspec.convert(of, ConnectionCounts), is_lossy=False)

    return made


FULL = {
    "spacing_ps": {"count": 100, "p10": 500_000, "p50": 500_000, "p90": 500_000},
    "trains_ps": {"count": 100, "p10": 500_000, "p50": 500_000, "p90": 500_000},
}
NO_LINK = {
    "spacing_ps": {"count": 4, "p10": 80_000, "p50": 80_000, "p90": 80_000},
    "trains_ps": {"count": 9, "p10": 80_000, "p50": 80_000, "p90": 80_000},
}


@pytest.mark.parametrize(
    ("shares", "sender", "limit", "role"),
    [
        ({"opening": 0.6, "sender_pace": 0.4}, {}, Limit.OPENING, "applications of both ends"),
        (
            {"turn_around": 0.6, "round_trip": 0.4},
            {},
            Limit.TURN_AROUND,
            "applications of both ends",
        ),
        ({"turn_around": 0.4, "round_trip": 0.6}, {}, Limit.NETWORK, "path"),
        (
            {"sender_application": 0.6, "send_buffer": 0.4},
            {},
            Limit.SENDER_APPLICATION,
            "sender application",
        ),
        (
            {"receiver_application": 0.3, "receiver_window": 0.6, "sender_pace": 0.1},
            {},
            Limit.RECEIVER_APPLICATION,
            "receiver application",
        ),
        (
            {"receiver_application": 0.1, "receiver_window": 0.8, "sender_pace": 0.1},
            {},
            Limit.RECEIVER_WINDOW,
            "receiver host",
        ),
        ({"queue": 0.7, "congestion_window": 0.3}, {}, Limit.NETWORK, "path"),
        # A faster link was seen: what segments take one after the other is no limit as long as
        # there is another.
        ({"sender_pace": 0.7, "send_buffer": 0.3}, {}, Limit.SEND_BUFFER, "sender host"),
        ({"sender_pace": 0.9, "send_buffer": 0.1}, {}, Limit.SENDER_PACE, "sender host"),
        ({"sender_pace": 0.7, "send_buffer": 0.3}, NO_LINK, Limit.SENDER_PACE, "sender host"),
        # The link is full: no window is to blame.
        ({"sender_pace": 0.7, "send_buffer": 0.3}, FULL, Limit.SENDER_PACE, "sender host"),
        ({"sender_pace": 0.3, "send_buffer": 0.7}, FULL, Limit.NETWORK, "path"),
        # Near the receiver the slowest link is before the capture point, wherever it is.
        (
            {"sender_pace": 0.7, "send_buffer": 0.3},
            FULL | {"away_ns": 10**9},
            Limit.NETWORK,
            "path",
        ),
        ({"receiver_window": 0.9, "sender_pace": 0.1}, FULL, Limit.NETWORK, "path"),
        (
            {"congestion_window": 0.5, "loss": 0.3, "window": 0.2},
            {"resent": 9},
            Limit.CONGESTION_WINDOW,
            "path",
        ),
        ({"congestion_window": 0.2, "window": 0.8}, {}, Limit.WINDOW, "sender host"),
    ],
)
def test_every_limit_has_an_end_a_reason_and_a_change(made, shares, sender, limit, role):
    of = made(shares, sender=sender)
    verdict = of.verdict
    assert (verdict.limit, verdict.role) == (limit, role)
    assert verdict.reason.endswith(".")
    assert verdict.change
    assert (verdict.end is None) == (role in {"path", "applications of both ends"})
    assert of.sentence.startswith(f"{verdict.share:.0%} of the time: ")
    told = json.loads(json.dumps(msgspec.to_builtins(Limited.of(of))))
    assert (told["by"], told["role"], told["end"]) == (limit, role, verdict.end)
    assert told["change"] == verdict.change


def test_the_window_of_the_receiver_is_a_next_limit_that_may_grow(made):
    of = made({"sender_application": 1.0}, receiver={"window_most": 100_000})
    estimate = of.verdict.estimate
    assert estimate.bound.name == "the window of 10.0.0.2:80"
    assert estimate.goodput_bps == pytest.approx(8 * 100_000 / 0.02, rel=0.01)
    assert estimate.most_bps == of.link_bps
    assert "up to 9" in of.verdict.estimate_text
    assert "if the receiver's window grows" in of.verdict.estimate_text


def test_losses_are_a_next_limit(made):
    of = made(
        {"send_buffer": 1.0},
        sender={"loss_episodes": 16, "data_segments": 1600, "octets": 1600 * SEGMENT},
    )
    # 1% of losses over 20 ms: sqrt(1.5 / 0.01) segments of 1460 octets a round trip.
    assert of.verdict.estimate.goodput_bps == pytest.approx(12.247 * 1460 * 8 / 0.02, rel=0.01)
    assert "a loss in 100 segments" in of.verdict.estimate.bound.formula


def test_what_arrived_all_the_same_is_no_loss(made):
    assert (
        made({"loss": 1.0}, sender={"resent": 9, "needless": 2, "reported_duplicate": 3}).losses
        == 6
    )
    # Segments that the interface cuts are counted by their octets.
    assert made({"loss": 1.0}, sender={"resent": 2, "resent_octets": 5 * SEGMENT}).losses == 5


@pytest.mark.parametrize(
    ("away_us", "vantage"),
    [
        ((10, 20_000), Vantage.SENDER),
        ((20_000, 10), Vantage.RECEIVER),
        ((9000, 11_000), Vantage.BETWEEN),
        ((5, 60), None),
        ((None, 9), None),
    ],
)
def test_where_the_capture_was_made_is_told_by_the_times_to_both_ends(made, away_us, vantage):
    ends = [{"away_ns": None if away is None else 1000 * away} for away in away_us]
    assert made({"opening": 1.0}, sender=ends[0], receiver=ends[1]).vantage is vantage


def test_reno_and_cubic_give_the_rate_that_losses_allow():
    assert loss_limited_bps(1448, 0.02, 0.01) == pytest.approx(12.247 * 1448 * 8 / 0.02, rel=1e-3)
    # 1.054 times (0.1 / 1e-4) to the power of 3/4 are 187.4 segments, where Reno has 122.5.
    assert loss_limited_bps(1448, 0.1, 1e-4) == pytest.approx(187.4 * 1448 * 8 / 0.1, rel=1e-3)


def test_a_buffer_holds_one_and_a_half_times_rate_times_round_trip():
    assert buffer_octets(8_000_000, 0.1) == 150_000
    assert buffer_octets(8_080_000, 0.1) == 160_000
    assert buffer_octets(8, 0.1) == 1


def test_the_lowest_limit_is_the_estimate():
    low, high = Bound("low", 1e6, ""), Bound("high", 2e6, "")
    assert lowest([], None, []) is None
    found = lowest([high], low, ["a"])
    assert (found.goodput_bps, found.most_bps, found.bound, found.assumptions) == (
        1e6,
        2e6,
        low,
        ("a",),
    )
    assert lowest([low], high, []).most_bps == 1e6


def _round_trip(least_ns: int, p99_ns: int) -> dict[str, Any]:
    return {
        "count": 100,
        "mean_ns": float(least_ns),
        "least_ns": least_ns,
        "most_ns": p99_ns,
        "p10_ns": least_ns,
        "p50_ns": least_ns,
        "p90_ns": p99_ns,
        "p99_ns": p99_ns,
        "p999_ns": p99_ns,
        "filled": [],
    }


def _lossy(before_ms: int, most_ms: int = 60) -> dict[str, Any]:
    """Return 16 losses in 1600 segments, over 20 ms and a queue that takes up to 40 ms more."""
    return {
        "resent": 16,
        "round_trip": _round_trip(20_000_000, most_ms * 1_000_000),
        "loss_round_trip": _round_trip(before_ms * 1_000_000, before_ms * 1_000_000),
    }


@pytest.mark.parametrize(
    ("before_ms", "said", "suspect"),
    [
        # The queue takes 40 ms when it is full: an eighth of it, three quarters, and between.
        (25, "16 segments were lost (1.0%), not by a queue that overflowed: ", "not a full queue"),
        (50, "Its queue overflowed; 16 segments were lost (1.0%): ", ": a queue that is full"),
        (44, "16 segments were lost (1.0%): ", ": a full queue, a policer"),
    ],
)
def test_a_queue_overflowed_if_it_was_full_before_the_losses(made, before_ms, said, suspect):
    how = (
        f"the round trip before them was {before_ms} ms (median), of 20 ms at the least and 60 ms "
        "with the longest queue"
    )
    full = made({"queue": 1.0}, sender=_lossy(before_ms) | FULL)
    assert full.verdict.title == "network: full link"
    assert said + how in full.sentence
    kept = made({"congestion_window": 0.9, "loss": 0.1}, sender=_lossy(before_ms))
    assert f"({how})" in kept.sentence
    assert suspect in kept.verdict.change


def test_losses_on_a_path_without_a_queue_are_of_any_cause(made):
    of = made({"congestion_window": 0.9, "loss": 0.1}, sender=_lossy(20, most_ms=21))
    assert "a full queue, a policer, a duplex mismatch" in of.verdict.change
    assert "the round trip before" not in of.sentence


def _waits(**seconds: float) -> dict[str, Any]:
    return {
        name: {"ns": round(each * 1e9), "count": 10, "most_ns": round(each * 2e8)}
        for name, each in seconds.items()
    }


@pytest.mark.parametrize(
    ("waits", "end", "role"),
    [
        ((3.0, 1.0), "10.0.0.1:5000", "application"),
        ((1.0, 3.0), "10.0.0.2:80", "application"),
        ((1.0, 1.2), None, "applications of both ends"),
    ],
)
def test_the_application_that_takes_its_time_to_reply_is_named(made, waits, end, role):
    sender, receiver = ({"waits": _waits(turn_around=each)} for each in waits)
    verdict = made({"turn_around": 1.0}, sender=sender, receiver=receiver).verdict
    assert (verdict.end, verdict.role) == (end, role)
    for each, name in zip(waits, ("10.0.0.1:5000", "10.0.0.2:80"), strict=True):
        longest = f"{200 * each:.0f} ms"
        assert (
            f"{name} took {each:.3g} s for 10 replies, {longest} at the longest" in verdict.reason
        )


@pytest.mark.parametrize(
    ("cause", "limit"),
    [
        ("sender_application", Limit.SENDER_APPLICATION),
        ("receiver_window", Limit.RECEIVER_WINDOW),
        ("delayed_ack", Limit.DELAYED_ACK),
        ("sender_pace", Limit.SENDER_PACE),
    ],
)
def test_the_end_that_waited_is_named_whichever_sent_more(made, cause, limit):
    """The first end sent all of the payload, and did not wait."""
    of = made({cause: 1.0}, sender={"waits": {}}, receiver={"waits": _waits(**{cause: 1.0})})
    assert of.sender.name == "10.0.0.1:5000"
    verdict = of.verdict
    assert verdict.limit is limit
    at_fault = "10.0.0.1:5000" if limit is Limit.RECEIVER_WINDOW else "10.0.0.2:80"
    assert verdict.end == at_fault
    assert verdict.reason.startswith("10.0.0.2:80 ")


def test_without_a_link_that_was_seen_there_is_no_estimate(made):
    for cause in ("sender_application", "receiver_window", "turn_around", "congestion_window"):
        of = made({cause: 0.9, "opening": 0.1}, sender=NO_LINK, receiver={"window_most": 10**6})
        assert of.link_bps is None
        assert of.verdict.estimate is None, cause


def test_near_the_receiver_what_follows_the_windows_tells_of_no_link(made):
    """Its goodput is the rate at which acknowledgements followed each other, and windows set it."""
    far = FULL | {"away_ns": 10**9}
    assert made({"receiver_window": 0.9, "sender_pace": 0.1}, sender=far).link_bps is None
    assert made({"receiver_window": 0.5, "sender_pace": 0.5}, sender=far).link_bps is not None
    fast = {"trains_ps": {"count": 100, "p10": 80_000, "p50": 90_000, "p90": 100_000}}
    far = fast | {"away_ns": 10**9}
    assert made({"receiver_window": 0.9, "sender_pace": 0.1}, sender=far).link_bps == 1e8


def test_a_link_before_the_capture_point_has_its_queue_there(made):
    """No train has waited behind the capture: the link is seen if the transfer is as fast as it."""
    before = FULL | {"spacing_ps": NO_LINK["spacing_ps"]}
    of = made({"sender_pace": 0.5, "send_buffer": 0.5}, sender=before)
    assert of.link_bps == 8e12 / 500_000
    assert of.verdict.limit is Limit.SENDER_PACE
    # What follows a window at its pace looks the same, but waited for it.
    assert made({"sender_pace": 0.1, "send_buffer": 0.9}, sender=before).link_bps is None
    # So does an application that writes little now and then.
    idle = {"sender_pace": 0.2, "sender_application": 0.8}
    writes = {"trains_ps": {"count": 100, "p10": 150_000, "p50": 150_000, "p90": 150_000}}
    assert made(idle, sender=before | writes).link_bps is None


def test_a_few_trains_that_waited_for_a_late_host_tell_of_no_link(made):
    """Of 1671 trains of a link of 37.6 Mb/s twelve had waited, at 13 to 3474 Mb/s, by a stall."""
    cause = {"receiver_window": 1.0}
    trains = {"count": 1671, "p10": 212_991, "p50": 213_500, "p90": 214_000}
    late = {"count": 12, "p10": 2303, "p50": 6783, "p90": 606_000}
    assert made(cause, sender={"spacing_ps": late, "trains_ps": trains}).link_bps is None
    # Their median is the rate of the link if it is the pace of all trains, or if they are a tenth.
    few = late | {"p50": 212_991}
    of = made(cause, sender={"spacing_ps": few, "trains_ps": trains})
    assert of.link_bps == 8e12 / 212_991
    of = made(cause, sender={"spacing_ps": late | {"count": 168}, "trains_ps": trains})
    assert of.link_bps == 8e12 / 6783
    # It is, too, if the queued trains have one rate, and the others are slower.
    alike = {"count": 9, "p10": 135_000, "p50": 143_000, "p90": 386_000}
    slow = trains | {"p10": 360_000}
    assert made(cause, sender={"spacing_ps": alike, "trains_ps": slow}).link_bps == 8e12 / 143_000
