"""Every port carries what it is given, between hosts, and does to the others what it says."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
from ethermeter.testbed import Host, make_testbed

pytestmark = pytest.mark.root

FRAMES = 5000
RAW = ("packet", "blocks", "xdp")


def options(port: str, own: Host, other: Host) -> list[str]:
    """Options of a station on `own` that talks to `other` only."""
    if port == "udp":
        return [f"local={own.ipv4}:5000", f"peer={other.ipv4}:5000", "stamps=1"]
    if port == "udp6":
        return [f"local=[{own.ipv6}]:5000", f"peer=[{other.ipv6}]:5000", "stamps=1"]
    return [f"port={port}", "interface=em0", f"source={own.mac}", f"mac={other.mac}"]


def play(listener: Sequence[str], speaker: Sequence[str]) -> tuple[Any, Any]:
    """Run two stations, the one that listens first; returns what both say."""
    with subprocess.Popen(
        listener, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as listening:
        assert listening.stderr is not None
        assert listening.stderr.readline() == "ready\n"
        spoken = subprocess.run(speaker, check=True, capture_output=True, text=True)
        heard, _ = listening.communicate()
    return json.loads(heard), json.loads(spoken.stdout)


@pytest.mark.parametrize("frame_octets", [84, 1518])
@pytest.mark.parametrize("port", ["udp", "udp6", *RAW])
def test_frames_at_a_moderate_pace_arrive_all_in_order_and_once(
    station, in_quiet_window, port, frame_octets
):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        listener = other.command(
            station, "sink", *options(port, other, one), "seconds=2", f"frames={FRAMES}"
        )
        # 50 us apart is far below what any of them can do: 20 000 frames a second
        speaker = one.command(
            station,
            "send",
            *options(port, one, other),
            "seconds=10",
            f"frames={FRAMES}",
            f"frame={frame_octets}",
            "arrivals=regular:50",
        )

        def counts() -> tuple[Any, Any]:
            heard, spoken = play(listener, speaker)
            assert spoken["frames"] == FRAMES
            assert {
                heard[key] for key in ("reordered", "duplicate", "late", "unexpected", "unmarked")
            } == {0}
            return heard, spoken

        # Sockets and rings have room for more than the frames of 50 ms.
        heard, spoken = in_quiet_window(counts, tolerated_stall_s=0.05)
    assert (heard["received"], heard["missing"]) == (FRAMES, 0)
    assert heard["payload_octets"] == spoken["payload_octets"]


@pytest.mark.parametrize("port", ["udp", "udp6", *RAW])
def test_what_is_missing_of_a_flood_was_dropped_at_the_socket_or_before_it(station, port):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        listener = other.command(
            station, "sink", *options(port, other, one), "seconds=1.5", "collect=1"
        )
        speaker = one.command(
            station, "send", *options(port, one, other), "seconds=0.5", "frame=84"
        )
        before = drops(one) + drops(other)
        heard, spoken = play(listener, speaker)
        dropped_by_interfaces = drops(one) + drops(other) - before
    missing = spoken["frames"] - heard["received"]
    # The sink goes on for a second after the last frame, so nothing is left in its ring.
    at_socket = heard["port"]["dropped_at_socket"]
    if port == "xdp":
        # What its ring has no room for is a redirection that failed, which the interface may count
        # as well.
        assert max(at_socket, dropped_by_interfaces) <= missing <= at_socket + dropped_by_interfaces
    else:
        assert missing == at_socket + dropped_by_interfaces


def test_what_a_small_socket_loses_of_a_flood_is_counted_there(station):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        listener = other.command(
            station, "sink", *options("udp", other, one), "seconds=1.5", "collect=1", "room=4096"
        )
        heard, spoken = play(
            listener,
            one.command(station, "send", *options("udp", one, other), "seconds=0.2", "frame=84"),
        )
    assert heard["port"]["dropped_at_socket"] > 0
    assert spoken["frames"] - heard["received"] == heard["port"]["dropped_at_socket"]


@pytest.mark.parametrize("frame_octets", [64, 260, 261, 1518])
def test_frames_past_the_queue_arrive_whole_whatever_their_length(station, frame_octets):
    frames = 1000  # fewer than the receiver's ring holds
    with make_testbed(2) as bed:
        one, other = bed.hosts
        listener = other.command(
            station, "sink", *options("packet", other, one), "seconds=10", f"frames={frames}"
        )
        words = ("seconds=10", f"frames={frames}", f"frame={frame_octets}", "past-queue=1")
        heard, spoken = play(
            listener, one.command(station, "send", *options("packet", one, other), *words)
        )
    assert (
        spoken["frames"],
        heard["received"],
        heard["missing"],
        heard["unexpected"],
        heard["unmarked"],
    ) == (frames, frames, 0, 0, 0)
    assert heard["payload_octets"] == spoken["payload_octets"] == frames * (frame_octets - 18)


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
def test_every_request_is_answered_and_the_clocks_of_one_machine_agree(
    station, in_quiet_window, port
):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        listener = other.command(
            station, "respond", *options(port, other, one), "seconds=3", "frames=1000"
        )
        speaker = one.command(
            station,
            "request",
            *options(port, one, other),
            "seconds=20",
            "frames=1000",
            "frame=100",
            "interval=100",
        )

        def answered() -> tuple[int, int]:
            heard, spoken = play(listener, speaker)
            assert spoken["answered"] + spoken["lost"] == 1000
            assert spoken["answered"] <= heard["answered"] <= 1000
            # Both read one clock, so whatever they find it ahead by is an error.
            assert abs(spoken["clock"]["offset_ns"]) <= spoken["clock"]["uncertainty_ns"]
            assert spoken["clock"]["contradictions"] == 0
            return spoken["answered"], heard["answered"]

        # An asker waits for 100 ms.
        assert in_quiet_window(answered, tolerated_stall_s=0.05) == (1000, 1000)


def test_xdp_takes_our_frames_only_and_nothing_of_it_stays(station):
    with make_testbed(2) as bed:
        one, other = bed.hosts
        redirected = other.command(
            station, "sink", *options("xdp", other, one), "seconds=10", "frames=100"
        )
        with subprocess.Popen(
            redirected, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as listening:
            assert listening.stderr is not None
            assert listening.stderr.readline() == "ready\n"
            assert is_redirected(other)
            udp = other.command(
                station, "sink", *options("udp", other, one), "seconds=10", "frames=100"
            )
            heard, _ = play(
                udp, one.command(station, "send", *options("udp", one, other), "frames=100")
            )
            raw = one.command(station, "send", *options("packet", one, other), "frames=100")
            subprocess.run(raw, check=True, capture_output=True)
            taken = json.loads(listening.communicate()[0])
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
