"""A shaped link carries what an Ethernet of its rate would: measured by our own sender and sink."""

import json
import subprocess
from typing import Any

import pytest
from ethermeter.testbed import Host, Wire, make_testbed

pytestmark = pytest.mark.root

RATE_BPS = 10_000_000
SECONDS = 1.0
TOLERANCE = 0.005
"""The promise: within half a percent of what the framing allows."""
TOLERATED_STALL_S = 0.05
"""While the machine stalls, the wire may be idle; the least that is expected of it is less by as
much.
"""


def framing_bps(payload_octets: int) -> float:
    """UDP over IPv4 back to back: preamble 8, header 14, IP 20, UDP 8, FCS 4, gap 12; frames of 64
    at least (802.3-2022, 4.4.2).
    """
    return RATE_BPS * payload_octets / (max(64, 14 + 20 + 8 + payload_octets + 4) + 8 + 12)


def measure(
    station: str,
    sender: Host,
    sink: Host,
    frame_octets: int,
    *sending: str,
    sinking: tuple[str, ...] = (),
) -> Any:
    """Saturate the way from one host to another; returns what the sink and the sender say."""
    listen = sink.command(
        station,
        "sink",
        "local=0.0.0.0:5000",
        f"seconds={SECONDS + 1}",
        "collect=1",
        "stamps=1",
        *sinking,
    )
    send = sender.command(
        station,
        "send",
        f"frame={frame_octets}",
        f"seconds={SECONDS}",
        *(sending or (f"peer={sink.ipv4}:5000",)),
    )
    with subprocess.Popen(
        listen, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as listening:
        assert listening.stderr is not None
        assert listening.stderr.readline() == "ready\n"
        sent = subprocess.run(send, check=True, capture_output=True, text=True)
        out, _ = listening.communicate()
    return json.loads(out), json.loads(sent.stdout)


def judge(goodput_bps: float, expected_bps: float, stalled_s: float) -> None:
    """A wire is never faster than its rate, and idle no longer than the machine stalled."""
    assert (
        expected_bps * (1 - TOLERANCE - stalled_s / SECONDS)
        <= goodput_bps
        <= expected_bps * (1 + TOLERANCE)
    )


@pytest.mark.parametrize("payload_octets", [18, 50, 200, 700, 1472])
def test_udp_goodput_is_that_of_the_framing(station, in_quiet_window, payload_octets):
    with make_testbed(2, wires=Wire(RATE_BPS)) as bed:

        def goodput_bps() -> float:
            sunk, sent = measure(station, *bed.hosts, payload_octets + 46)
            assert sunk["missing"] == 0
            assert sunk["received"] == sent["frames"]
            return float(sunk["goodput_bps"])

        found_bps = in_quiet_window(goodput_bps, tolerated_stall_s=TOLERATED_STALL_S)
    judge(found_bps, framing_bps(payload_octets), in_quiet_window.stalled_s)


def test_multicast_through_a_switch_is_as_fast_as_the_wire(station, in_quiet_window):
    with make_testbed(3, layout="switch", wires=Wire(RATE_BPS)) as bed:
        sender, sink, _ = bed.hosts
        group = ("group=239.7.7.7", "interface=em0")

        def goodput_bps() -> float:
            sunk, sent = measure(
                station,
                sender,
                sink,
                1518,
                "interface=em0",
                f"local={sender.ipv4}:0",
                "to=239.7.7.7:5000",
                sinking=group,
            )
            assert sunk["missing"] == 0
            assert sunk["received"] == sent["frames"]
            return float(sunk["goodput_bps"])

        found_bps = in_quiet_window(goodput_bps, tolerated_stall_s=TOLERATED_STALL_S)
    judge(found_bps, framing_bps(1472), in_quiet_window.stalled_s)


@pytest.mark.parametrize("to", ["10.77.0.2", "239.7.7.7"])
def test_segments_of_5000_octets_reach_the_9_5_megabits_of_the_erg_tests_unicast_and_multicast(
    station, in_quiet_window, to
):
    # Three IP packets of 1500 and one of 20 + 568, each in a frame: ERG LAN tests, table 2, 9.4 to
    # 9.5 Mb/s.
    expected_bps = RATE_BPS * 5000 / (3 * (1500 + 18 + 20) + (20 + 568 + 18 + 20))
    assert 9.45e6 < expected_bps < 9.55e6
    with make_testbed(2, wires=Wire(RATE_BPS)) as bed:
        sender, sink = bed.hosts
        # A sender of datagrams in pieces has less room than the wire's queue, and waits for it.
        # With more, the queue would drop one piece of a datagram and the wire carry the rest in
        # vain.
        sending = ("longest=5000", "interface=em0", f"local={sender.ipv4}:0", f"to={to}:5000")
        sinking = (
            "longest=5000",
            *(("group=239.7.7.7", "interface=em0") if to.startswith("239") else ()),
        )

        def goodput_bps() -> float:
            sunk, sent = measure(station, sender, sink, 5046, *sending, sinking=sinking)
            assert sunk["received"] == sent["frames"]
            return float(sunk["goodput_bps"])

        found_bps = in_quiet_window(goodput_bps, tolerated_stall_s=TOLERATED_STALL_S)
    judge(found_bps, expected_bps, in_quiet_window.stalled_s)


def test_what_two_senders_lose_on_the_way_to_one_sink_was_dropped_by_the_switch(station):
    wires = (None, None, Wire(RATE_BPS))
    with make_testbed(3, layout="switch", wires=wires) as bed:
        *senders, sink = bed.hosts
        assert bed.switch is not None
        listen = sink.command(
            station, "sink", "local=0.0.0.0:5000", "seconds=3", "streams=2", "collect=1"
        )
        with subprocess.Popen(
            listen, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as listening:
            assert listening.stderr is not None
            assert listening.stderr.readline() == "ready\n"
            # Each alone would fill nine tenths of the wire.
            words = [
                station,
                "send",
                "frame=1518",
                f"peer={sink.ipv4}:5000",
                "seconds=1",
                "arrivals=poisson:1367",
            ]
            sending = [
                subprocess.Popen(
                    sender.command(*words, f"stream={stream}", f"seed={stream}"),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                for stream, sender in enumerate(senders)
            ]
            sent = sum(json.loads(process.communicate()[0])["frames"] for process in sending)
            received = json.loads(listening.communicate()[0])
        shown = subprocess.run(
            ["tc", "-n", bed.switch, "-s", "-json", "qdisc", "show", "dev", "em3"],
            check=True,
            capture_output=True,
            text=True,
        )
        dropped = json.loads(shown.stdout)[0]["drops"]
    assert dropped > 0
    assert sent - received["received"] == dropped + received["port"]["dropped_at_socket"]


def test_broadcast_reaches_who_listens(station):
    with make_testbed(2, wires=Wire(RATE_BPS)) as bed:
        sunk, sent = measure(
            station, *bed.hosts, 512, "broadcast=1", "to=10.77.0.255:5000", "frames=100"
        )
        assert (sunk["received"], sent["frames"]) == (100, 100)
