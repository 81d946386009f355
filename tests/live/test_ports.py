"""Every port carries what it is given, between hosts, and does to the others what it says."""

import json
import subprocess

import pytest
from ethermeter.testbed import Host, make_testbed
from stations import ENDS, listening, play

pytestmark = pytest.mark.root

FRAMES = 1000
"""Fewer than a socket or a ring has room for: all arrive, whenever their reader gets a processor. A
ring of blocks has room for those of 32 ms.
"""
RAW = ("packet", "blocks", "xdp")


def options(port: str, own: Host, other: Host) -> list[str]:
    """Options of a station on `own` that talks to `other` only."""
    if port == "udp":
        return [f"local={own.ipv4}:5000", f"peer={other.ipv4}:5000", "stamps=1"]
    if port == "udp6":
        return [f"local=[{own.ipv6}]:5000", f"peer=[{other.ipv6}]:5000", "stamps=1"]
    return [f"port={port}", "interface=em0", f"source={own.mac}", f"mac={other.mac}"]


@pytest.mark.parametrize("port", ["udp", "udp6", *RAW])
def test_frames_of_any_length_arrive_all_in_order_and_once(station, port):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        for octets, more in ((84, ()), (1518, ()), *PAST_QUEUE * (port == "packet")):
            words = (f"frame={octets}", f"frames={FRAMES}", "seconds=60", "arrivals=regular:50")
            heard, (spoken,) = play(
                other.command(station, "sink", *options(port, other, one), *ENDS),
                one.command(station, "send", *options(port, one, other), *words, *more),
            )
            dropped = heard["port"]["dropped_at_socket"]
            assert spoken["frames"] == heard["received"] + dropped == FRAMES
            assert dropped == 0 or port == "blocks"
            faults = ("reordered", "duplicate", "late", "unexpected", "unmarked")
            assert {heard[key] for key in faults} == {0}
            octets_of_frame = spoken["payload_octets"] / FRAMES
            assert heard["payload_octets"] == heard["received"] * octets_of_frame
            assert octets_of_frame == octets - 18 or port not in RAW


PAST_QUEUE = tuple(
    (octets, ("past-queue=1", "arrivals=saturated")) for octets in (64, 260, 261, 1518)
)
"""Frames that pass by the queue of an interface, of lengths around the one that is copied."""


@pytest.mark.parametrize(
    ("port", "room"), [*((port, ()) for port in ("udp", "udp6", *RAW)), ("udp", ("room=4096",))]
)
def test_what_is_missing_of_a_flood_was_dropped_at_the_socket_or_before_it(station, port, room):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        listener = other.command(
            *(station, "sink", *options(port, other, one), "collect=1", *ENDS, *room)
        )
        speaker = one.command(
            *(station, "send", *options(port, one, other), "seconds=0.5", "frame=84")
        )
        before = drops(one) + drops(other)
        heard, (spoken,) = play(listener, speaker)
        dropped_by_interfaces = drops(one) + drops(other) - before
    missing = spoken["frames"] - heard["received"]
    # The sink goes on after the last frame, so nothing is left in its ring.
    at_socket = heard["port"]["dropped_at_socket"]
    if port == "xdp":
        # What its ring has no room for is a redirection that failed, which the interface may count
        # as well.
        assert max(at_socket, dropped_by_interfaces) <= missing <= at_socket + dropped_by_interfaces
    else:
        assert missing == at_socket + dropped_by_interfaces
    assert at_socket > 0 or not room


def drops(host: Host) -> int:
    """Frames that a host's interface dropped, in and out."""
    table = subprocess.run(
        host.command("cat", "/proc/net/dev"), check=True, capture_output=True, text=True
    ).stdout
    counts = next(
        line.split(":")[1].split() for line in table.splitlines() if line.strip().startswith("em0:")
    )
    return int(counts[3]) + int(counts[11])


@pytest.mark.parametrize("port", ["udp", "udp6", "packet", "xdp"])
def test_every_request_is_answered_and_the_clocks_of_one_machine_agree(station, port):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        heard, (spoken,) = play(
            other.command(station, "respond", *options(port, other, one), *ENDS),
            one.command(
                *(station, "request", *options(port, one, other), "seconds=60"),
                *("frames=1000", "frame=100", "interval=100", "timeout=30000"),
            ),
        )
    assert spoken["answered"] == heard["answered"] == 1000
    assert spoken["lost"] == 0
    # Both read one clock, so whatever they find it ahead by is an error.
    assert abs(spoken["clock"]["offset_ns"]) <= spoken["clock"]["uncertainty_ns"]
    assert spoken["clock"]["contradictions"] == 0


def test_xdp_takes_our_frames_only_and_nothing_of_it_stays(station):
    few = ("seconds=120", "frames=100")
    with make_testbed(2) as bed:
        one, other = bed.hosts
        redirected = other.command(station, "sink", *options("xdp", other, one), *few)
        with listening(redirected) as xdp:
            assert is_redirected(other)
            heard, _ = play(
                other.command(station, "sink", *options("udp", other, one), *few),
                one.command(station, "send", *options("udp", one, other), *few),
            )
            raw = one.command(station, "send", *options("packet", one, other), *few)
            subprocess.run(raw, check=True, capture_output=True)
            taken = json.loads(xdp.communicate()[0])
        assert (heard["received"], taken["received"], taken["unexpected"]) == (100, 100, 0)
        assert taken["mode"] == {"attachment": "native", "copies": True}
        assert not is_redirected(other)


def is_redirected(host: Host) -> bool:
    shown = subprocess.run(
        host.command("ip", "-json", "link", "show", "em0"),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return "xdp" in json.loads(shown)[0]


@pytest.mark.parametrize(
    "words",
    [
        ["fly"],
        ["send", "port=token-ring"],
        ["send", "frame=63"],
        ["send", "arrivals=never"],
        ["sink", "local=here"],
    ],
)
def test_what_a_station_cannot_do_is_refused_without_a_traceback(station, words):
    refused = subprocess.run([station, *words], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("station: ")
