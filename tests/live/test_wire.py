"""A shaped link carries what an Ethernet of its rate would: measured by our own sender and sink."""

import json
import subprocess

import pytest
from ethermeter.testbed import Wire, make_testbed
from stations import ENDS, TOLERATED_STALL_S, framing_bps, judge, play

pytestmark = pytest.mark.root

RATE_BPS = 10_000_000
GROUP = "239.7.7.7"


def test_udp_goodput_is_that_of_the_framing(station, in_quiet_window):
    # Datagrams of 5000 octets are the segments of the ERG LAN tests, table 2: 9.4 to 9.5 Mb/s.
    assert 9.45e6 < framing_bps(RATE_BPS, 5000) < 9.55e6
    with make_testbed(2, wires=Wire(RATE_BPS)) as bed:
        one, other = bed.hosts
        for payload_octets, to in (
            *((octets, other.ipv4) for octets in (18, 50, 200, 700, 1472, 5000)),
            (5000, GROUP),
        ):
            # A sender of datagrams in pieces has less room than the wire's queue, and waits for it.
            # With more, the queue would drop one piece of a datagram and the wire carry the rest in
            # vain.
            sending = ["interface=em0", f"local={one.ipv4}:0", f"to={to}:5000", "seconds=1"]
            sinking = ["local=0.0.0.0:5000", "collect=1", "stamps=1", *ENDS]
            sinking += [f"group={GROUP}", "interface=em0"] if to == GROUP else []
            for words in (sending, sinking):
                words += ["longest=5000"] if payload_octets > 1472 else []
            commands = (
                other.command(station, "sink", *sinking),
                one.command(station, "send", f"frame={payload_octets + 46}", *sending),
            )

            # Hosts that stall may lose frames, so no window that they disturb says anything.
            sunk, (sent,) = in_quiet_window(
                lambda commands=commands: play(*commands), tolerated_stall_s=TOLERATED_STALL_S
            )
            assert (sunk["missing"], sunk["received"]) == (0, sent["frames"])
            found_bps = float(sunk["goodput_bps"])
            judge(found_bps, framing_bps(RATE_BPS, payload_octets), in_quiet_window.stalled_s)


@pytest.mark.parametrize("way", [("broadcast=1", "to=10.77.0.255:5000"), (f"to={GROUP}:5000",)])
def test_broadcast_and_multicast_through_a_switch_reach_who_listens(station, way):
    with make_testbed(3, layout="switch", wires=Wire(RATE_BPS)) as bed:
        sender, sink, _ = bed.hosts
        group = (f"group={GROUP}", "interface=em0")
        listen = sink.command(
            station, "sink", "local=0.0.0.0:5000", *group, "frames=500", "seconds=120"
        )
        words = ("interface=em0", f"local={sender.ipv4}:0", *way, "frame=1518", "frames=500")
        heard, (spoken,) = play(listen, sender.command(station, "send", *words, "seconds=60"))
    assert (heard["received"], heard["missing"], spoken["frames"]) == (500, 0, 500)


def test_what_two_senders_lose_on_the_way_to_one_sink_was_dropped_by_the_switch(station):
    wires = (None, None, Wire(RATE_BPS))
    with make_testbed(3, layout="switch", wires=wires) as bed:
        *senders, sink = bed.hosts
        assert bed.switch is not None
        listen = sink.command(
            station, "sink", "local=0.0.0.0:5000", "streams=2", "collect=1", *ENDS
        )
        # Each alone would fill nine tenths of the wire.
        words = (
            *("send", "frame=1518", f"peer={sink.ipv4}:5000"),
            *("seconds=1", "arrivals=poisson:1367"),
        )
        heard, spoken = play(
            listen,
            *(
                sender.command(station, *words, f"stream={stream}", f"seed={stream}")
                for stream, sender in enumerate(senders)
            ),
        )
        shown = subprocess.run(
            ["tc", "-n", bed.switch, "-s", "-json", "qdisc", "show", "dev", "em3"],
            check=True,
            capture_output=True,
            text=True,
        )
        dropped = json.loads(shown.stdout)[0]["drops"]
    sent = sum(each["frames"] for each in spoken)
    assert dropped > 0
    assert sent - heard["received"] == dropped + heard["port"]["dropped_at_socket"]
