"""A relayed wire is a wire for lone frames too: their delay, the rate, the losses; and nothing of
it stays.
"""

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from ethermeter.faults import InputError
from ethermeter.testbed import Host, Testbed, Wire, make_testbed, remove_leftovers
from ethermeter.testbed.record import RECORDS
from program import eventually, invoke
from scipy import stats
from stalls import QuietWindow, inconclusive
from stations import ENDS, TOLERATED_STALL_S, framing_bps, judge, play

RATE_BPS = 10_000_000
SIZES = [64, 200, 400, 800, 1200, 1518]
HOPS = 2
EXCHANGES = 25
ROUNDS = 3
PREFERRED = ("nice", "-n", "-20")
REAL_TIME = ("chrt", "--fifo", "1")
INTERVAL_US = 8000
"""Longer than a round trip of the longest frame, 5 ms: each frame is alone on its way."""


def relayed(rate_bps: int = RATE_BPS, **more: Any) -> Wire:
    return Wire(rate_bps, kind="relay", **more)


def measure(station: str, sender: Host, sink: Host, *sending: str) -> tuple[Any, Any]:
    """Send from one host to another; returns what the sink and the sender say.

    The relay takes half of a processor for short frames: a sender must get its share of the rest to
    saturate, whatever else runs here.
    """
    listen = ("sink", "local=0.0.0.0:5000", "collect=1", "stamps=1", *ENDS)
    send = ("send", f"peer={sink.ipv4}:5000", *sending)
    heard, (spoken,) = play(
        sink.command(*PREFERRED, station, *listen), sender.command(*PREFERRED, station, *send)
    )
    return heard, spoken


def exchange(station: str, bed: Testbed, frame_octets: int) -> Any:
    """Ask and answer with lone frames; returns what the asker says.

    Both sleep while they wait, at real-time priority: what else runs here would hold up the longer
    ways more, for who waits longer is more likely to have lost his processor.
    """
    one, other = bed.hosts
    ends = ("longest=8972", f"frames={EXCHANGES}")
    _, (asked,) = play(
        other.command(
            *(*REAL_TIME, station, "respond", *ends, *ENDS),
            *("local=0.0.0.0:5000", f"peer={one.ipv4}:5000"),
        ),
        one.command(
            *(*REAL_TIME, station, "request", *ends, f"interval={INTERVAL_US}", "seconds=60"),
            *(f"frame={frame_octets}", f"local={one.ipv4}:5000", f"peer={other.ipv4}:5000"),
        ),
    )
    return asked


def ways(bed: Testbed) -> list[dict[str, Any]]:
    """Return what happened in each direction of the relayed wires of a testbed that has ended,
    without the histograms.
    """
    assert bed.relay is not None
    assert bed.relay.result is not None
    return [
        {key: value for key, value in way.items() if not key.endswith("_ns")}
        for way in msgspec.to_builtins(bed.relay.result.directions)
    ]


def latencies_us(
    station: str, wire: Wire | None, sizes: list[int], in_quiet_window: QuietWindow
) -> list[float]:
    """Half of the smallest round-trip time of a fixed number of exchanges, by size: the latency
    without waits for processors.
    """
    with make_testbed(2, layout="switch", wires=wire, mtu=max(sizes) - 18) as bed:
        rounds = in_quiet_window(
            lambda: [[exchange(station, bed, octets) for octets in sizes] for _ in range(ROUNDS)],
            tolerated_stall_s=ROUNDS * len(sizes) * EXCHANGES * INTERVAL_US / 1e6 / 4,
        )
    lost = sum(asked["lost"] for each in rounds for asked in each)
    assert lost == 0, wire and ways(bed)
    return [
        min(each[number]["fastest_ns"] for each in rounds) / 2000 for number in range(len(sizes))
    ]


def judge_latency(
    station: str,
    wire: Wire,
    sizes: list[int],
    record: Callable[[str, object], None],
    in_quiet_window: QuietWindow,
    *,
    of_hosts_us: list[float] | None = None,
) -> None:
    """Fit latency against size; what hosts and switch take for an octet, by their latencies without
    wires, stands beside what wires take.
    """
    measured_us = latencies_us(station, wire, sizes, in_quiet_window)
    octet_us = 8e6 / wire.rate_bps
    # No frame is earlier than a wire would have it: preamble and frame on each of the two, and
    # twice the delay.
    least_us = [HOPS * ((8 + octets) * octet_us + wire.delay_ns / 1000) for octets in sizes]
    assert all(measured >= least for measured, least in zip(measured_us, least_us, strict=True)), (
        measured_us,
        least_us,
    )
    fit = stats.linregress(sizes, measured_us)
    host_octet_us = host_error_us = 0.0
    if of_hosts_us:
        of_hosts = stats.linregress(sizes, of_hosts_us)
        # Noise may make the fitted slope of hosts negative, which their work for an octet is not.
        host_octet_us, host_error_us = max(0.0, of_hosts.slope), of_hosts.stderr
    of_wires_us = HOPS * (8 * octet_us + wire.delay_ns / 1000)
    record("slope_us_per_octet", fit.slope)
    record("intercept_us", fit.intercept)
    # As latencies scatter around both lines.
    uncertain_us = stats.t.ppf(0.9995, len(sizes) - 2) * np.hypot(fit.stderr, host_error_us)
    said = (
        f"slope {fit.slope:.4f} ± {uncertain_us:.4f} us/octet, of hosts {host_octet_us:.4f}; "
        f"intercept {fit.intercept:.1f} us, of wires {of_wires_us:.1f}; {measured_us}"
    )
    print(said)
    differs_us = abs(fit.slope - HOPS * octet_us - host_octet_us)
    if 0.03 * HOPS * octet_us < differs_us < uncertain_us:
        inconclusive(f"hosts took too unlike times for 3% of the slope: {said}")
    assert differs_us <= 0.03 * HOPS * octet_us, said
    # What is beyond the wires is the work of hosts, switch and relay; as an order of magnitude, far
    # from what the longest frame takes.
    assert of_wires_us < fit.intercept < of_wires_us + 200, said


@pytest.mark.root
def test_latency_against_size_through_two_wires_of_10_megabits_is_the_sum_of_their_octets_times(
    station, in_quiet_window, record_property
):
    judge_latency(station, relayed(), SIZES, record_property, in_quiet_window)


@pytest.mark.root
def test_latency_against_size_at_100_megabits_is_that_of_wires_long_enough_to_wake_up_in(
    station, in_quiet_window, record_property
):
    # The shortest frame takes 5.8 us, less than it takes to wake up; another 100 us are more than
    # that. Of what 1500 octets take, 3% are 7 us, which hosts vary by: hence longer frames. And
    # copies and checksums of an octet take a noticeable part of what wires take here.
    sizes = [64, 1518, 3018, 4518, 6018, 9018]
    of_hosts_us = latencies_us(station, None, sizes, in_quiet_window)
    wire = relayed(100_000_000, delay_ns=100_000)
    judge_latency(station, wire, sizes, record_property, in_quiet_window, of_hosts_us=of_hosts_us)


@pytest.mark.root
def test_udp_goodput_through_a_relayed_wire_is_that_of_the_framing_both_ways_at_once_too(
    station, in_quiet_window
):
    with make_testbed(2, wires=relayed()) as bed:
        one, other = bed.hosts

        def sent_between(ends: list[tuple[Host, Host]], payload_octets: int) -> list[Any]:
            with ThreadPoolExecutor(len(ends)) as pool:
                running = [
                    pool.submit(
                        measure, station, *each, f"frame={payload_octets + 46}", "seconds=1"
                    )
                    for each in ends
                ]
            return [each.result() for each in running]

        there, back = (one, other), (other, one)
        cases = [([there], octets) for octets in (18, 50, 200, 700, 1472)]
        for ends, octets in (*cases, ([there, back], 1472)):
            # Hosts that stall may lose frames, so no window that they disturb says anything.
            for sunk, sent in in_quiet_window(
                lambda ends=ends, octets=octets: sent_between(ends, octets),
                tolerated_stall_s=TOLERATED_STALL_S,
            ):
                assert (sunk["missing"], sunk["received"]) == (0, sent["frames"])
                found_bps = float(sunk["goodput_bps"])
                judge(found_bps, framing_bps(RATE_BPS, octets), in_quiet_window.stalled_s)
    for way in ways(bed):
        assert way["came"] == way["left"]
        assert not any(way["dropped"].values())


@pytest.mark.root
def test_losses_by_chance_are_within_the_binomial_interval_and_where_the_relay_says(station):
    frames, probability = 5000, 0.02
    with make_testbed(2, wires=relayed(loss=probability, seed=1988)) as bed:
        sunk, sent = measure(station, *bed.hosts, "frame=64", f"frames={frames}", "seconds=60")
    assert sent["frames"] == frames
    missing = frames - sunk["received"]
    # Two sides, 99.99%: the seed is fixed, so this is right or wrong for good, but for frames that
    # the hosts' kernels add.
    low, high = stats.binom.interval(0.9999, frames, probability)
    assert low <= missing <= high
    there, _ = ways(bed)
    # Of the frames that the host's kernel adds (listener reports), some may be lost too.
    added = there["came"] - frames
    assert 0 <= there["dropped"]["lost"] - missing <= added
    assert there["left"] + there["dropped"]["lost"] == there["came"]


@pytest.mark.root
def test_a_relay_says_meanwhile_what_it_has_counted(station):
    frames = 1000
    with make_testbed(2, wires=relayed(lose_every=10)) as bed:
        assert bed.relay is not None
        before = msgspec.to_builtins(bed.relay.count().directions)
        measure(station, *bed.hosts, "frame=64", f"frames={frames}", "seconds=60")
        after = msgspec.to_builtins(bed.relay.count().directions)
    assert [(way["from"], way["to"]) for way in before] == [
        (way["from"], way["to"]) for way in after
    ]
    for one, other, last in zip(before, after, ways(bed), strict=True):
        for way in (one, other, last):
            assert way["came"] == way["left"] + way["under_way"] + sum(way["dropped"].values())
        assert one["came"] <= other["came"] <= last["came"]
    assert after[0]["came"] - before[0]["came"] >= frames
    assert after[0]["dropped"]["lost"] == after[0]["came"] // 10


@pytest.mark.root
def test_every_tenth_frame_is_lost_where_that_is_asked_for(station):
    with make_testbed(2, wires=relayed(lose_every=10)) as bed:
        measure(station, *bed.hosts, "frame=64", "frames=1000", "seconds=60")
    there, _ = ways(bed)
    assert there["came"] >= 1000
    assert there["dropped"]["lost"] == there["came"] // 10


@pytest.mark.root
def test_who_passes_by_the_shaper_fills_the_queue_and_the_drops_are_counted(station):
    frames = 2000
    with make_testbed(2, wires=relayed(queue_octets=15_000)) as bed:
        one, other = bed.hosts
        words = (
            "port=packet",
            "interface=em0",
            f"mac={other.mac}",
            "past-queue=1",
            "frame=1518",
            f"frames={frames}",
            "seconds=60",
        )
        sent = json.loads(
            subprocess.run(
                one.command(station, "send", *words), check=True, capture_output=True, text=True
            ).stdout
        )
        relay = bed.relay
        assert relay is not None
        # All of them have come, and nothing waits.
        eventually(
            lambda: (way := relay.count().directions[0]).came >= frames and way.under_way == 0
        )
    assert sent["frames"] == frames
    there, _ = ways(bed)
    assert there["dropped"]["queue"] + there["dropped"]["ring"] > frames // 2
    assert there["came"] >= frames
    assert there["came"] == there["left"] + sum(there["dropped"].values())


def raw_socket_on(host: Host, program: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        host.command(sys.executable, "-c", program, *words), stdout=subprocess.PIPE, text=True
    )


LISTEN = """
import socket, struct, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as port:
    port.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
    port.bind(("em0", 3))  # all protocols: later the kernel has thrown the tag away
    port.settimeout(120)
    print("ready", flush=True)
    seen = 0
    while seen < 2:
        frame, control, _, _ = port.recvmsg(4096, 256)
        if frame[12:14] != b"\\x88\\xb5":
            continue
        seen += 1
        tag = 0
        for level, kind, data in control:
            if (level, kind) == (263, 8):
                status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
                tag = tpid << 16 | tci if status & 16 else 0
        print(frame.hex(), tag, flush=True)
"""
SEND = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as port:
    port.bind(("em0", 0))
    for frame in sys.argv[1:]:
        port.send(bytes.fromhex(frame))
"""


@pytest.mark.root
def test_short_frames_are_padded_and_vlan_tags_stay():
    with make_testbed(2, wires=relayed()) as bed:
        one, other = bed.hosts
        addresses = bytes.fromhex((other.mac + one.mac).replace(":", ""))
        short = addresses + b"\x88\xb5" + bytes(range(10))
        tagged = addresses + struct.pack("!HHH", 0x8100, 0x2007, 0x88B5) + bytes(range(100))
        with raw_socket_on(other, LISTEN) as listener:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "ready\n"
            subprocess.run(
                one.command(sys.executable, "-c", SEND, short.hex(), tagged.hex()), check=True
            )
            heard = [line.split() for line in listener.stdout.read().splitlines()]
    assert heard[0] == [(short + bytes(60 - len(short))).hex(), "0"]
    assert heard[1] == [
        (addresses + b"\x88\xb5" + bytes(range(100))).hex(),
        str(0x8100 << 16 | 0x2007),
    ]


SEGMENTS = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
    port.sendto(bytes(5000), (sys.argv[1], 9))
"""


@pytest.mark.root
def test_many_segments_in_one_are_no_frame_of_this_wire():
    with make_testbed(2, wires=relayed()) as bed:
        one, other = bed.hosts
        # As somebody might who does not know better.
        offloads = ("tx", "on", "sg", "on", "gso", "on", "tx-udp-segmentation", "on")
        subprocess.run(
            one.command("ethtool", "-K", "em0", *offloads), check=True, capture_output=True
        )
        subprocess.run(one.command("ip", "link", "set", "em0", "gso_max_segs", "64"), check=True)
        subprocess.run(
            one.command("tc", "qdisc", "del", "dev", "em0", "root"), check=True
        )  # the shaper would cut it up
        subprocess.run(one.command(sys.executable, "-c", SEGMENTS, other.ipv4), check=True)
    assert ways(bed)[0]["dropped"]["too_long"] == 1


MAKE_AND_WAIT = """
import sys
from ethermeter.testbed import Wire, make_testbed
with make_testbed(2, wires=Wire(10_000_000, kind="relay")) as bed:
    print(bed.name, bed.relay.process.pid, flush=True)
    sys.stdin.read()
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # it has ended, and its new parent has not looked yet


@pytest.mark.root
def test_a_relay_and_its_namespace_go_with_the_testbed(namespaces):
    with make_testbed(2, layout="switch", wires=relayed()) as bed:
        assert f"{bed.name}-wires" in namespaces()
        assert bed.relay is not None
        pid = bed.relay.process.pid
        assert is_running(pid)
    assert not is_running(pid)
    assert not any(name.startswith(bed.name) for name in namespaces())
    assert not list(RECORDS.glob(f"{bed.name}*"))


@pytest.mark.root
@pytest.mark.xdist_group("leftovers")
def test_a_relay_ends_with_a_maker_that_is_killed(namespaces):
    with subprocess.Popen(
        [sys.executable, "-c", MAKE_AND_WAIT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as maker:
        assert maker.stdout is not None
        name, pid = maker.stdout.readline().split()
        maker.send_signal(signal.SIGKILL)
    eventually(lambda: not is_running(int(pid)))
    # Another process may have begun to remove it.
    remove_leftovers()
    eventually(lambda: not any(there.startswith(name) for there in namespaces()))
    eventually(lambda: not list(RECORDS.glob(f"{name}*")))


@pytest.mark.root
def test_a_relayed_testbed_stays_tells_its_wires_and_goes_with_what_happened(namespaces, up):
    made = up("wire=relay", "rate=10 Mb/s", "delay=50 us", "loss=0.01")
    assert (
        made["wires"][0] | {"kind": "relay", "delay_ns": 50_000, "loss": 0.01} == made["wires"][0]
    )
    assert "relay, 10 Mb/s, queue 150000 B, delay 50 us, loss 0.01" in invoke("testbed", "show")[1]
    pids = subprocess.run(
        ["ip", "netns", "pids", f"{made['name']}-wires"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert len(pids) == 1
    first, last = made["hosts"]
    ping = ("ping", "-q", "-c", "3", "-i", "0.2", last["ipv4"])
    subprocess.run(["ip", "netns", "exec", first["namespace"], *ping], check=False)
    code, text, error = invoke("testbed", "down", made["name"], "--json")
    assert code == 0, error
    told = json.loads(text)["wires"][made["name"]]
    assert told["ended"] == "interface_gone"
    assert sum(way["left"] + way["dropped"]["lost"] for way in told["directions"]) >= 1
    eventually(lambda: not is_running(int(pids[0])))
    assert not any(name.startswith(made["name"]) for name in namespaces())
    assert not list(RECORDS.glob(f"{made['name']}*"))


@pytest.mark.root
def test_a_relay_that_stays_and_was_killed_holds_up_nobody(up):
    made = up("wire=relay", "rate=10 Mb/s")
    pids = subprocess.run(
        ["ip", "netns", "pids", f"{made['name']}-wires"], check=True, capture_output=True, text=True
    ).stdout.split()
    os.kill(int(pids[0]), signal.SIGKILL)
    eventually(lambda: not is_running(int(pids[0])))
    assert invoke("testbed", "down", made["name"], "--json")[:2] == (
        0,
        json.dumps({"removed": [made["name"]]}, indent=2) + "\n",
    )
    assert not list(RECORDS.glob(f"{made['name']}*"))


@pytest.mark.root
def test_wires_that_cannot_be_played_are_told_and_nothing_stays(namespaces, monkeypatch):
    from ethermeter.relay_plan import DirectionProperties
    from ethermeter.testbed import TestbedError, network

    slow = DirectionProperties(rate_bps=1, delay_ns=0, queue_octets=0)
    monkeypatch.setattr(network, "direction", lambda wire, mtu: slow)
    before = namespaces(maker=os.getpid())
    with (
        pytest.raises(TestbedError, match=r"relay of the wires did not start: wire: rate_bps = 1"),
        make_testbed(2, wires=relayed()),
    ):
        pass
    assert namespaces(maker=os.getpid()) == before


@pytest.mark.parametrize(
    ("wires", "key"),
    [
        (Wire(RATE_BPS, kind="tape"), "kind"),  # type: ignore[arg-type]
        (Wire(RATE_BPS, delay_ns=1), "delay_ns"),
        (Wire(RATE_BPS, loss=0.1), "loss"),
        (Wire(RATE_BPS, lose_every=3), "lose_every"),
        (relayed(delay_ns=-1), "delay_ns"),
        (relayed(delay_ns=10_000_000_001), "delay_ns"),
        (relayed(10_000_000_000, delay_ns=1_000_000_000), "delay_ns"),
        (relayed(loss=1.5), "loss"),
        (relayed(loss=float("nan")), "loss"),
        (relayed(lose_every=0), "lose_every"),
        (relayed(lose_every=3, loss=0.1), "lose_every"),
        (relayed(seed=-1), "seed"),
        ((relayed(), Wire(RATE_BPS)), "wires"),
        ((relayed(), None), "wires"),
    ],
)
def test_wires_that_cannot_be_are_refused_with_what_can(wires, key):
    with pytest.raises(InputError, match=rf"{key}.* = .*: must be"), make_testbed(2, wires=wires):
        pass


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("wire=relay",), "rate = not given"),
        (("wire=relay", "rate=10 Mb/s", "delay=soon"), "delay = soon"),
        (("wire=relay", "rate=10 Mb/s", "loss=2"), "loss = 2"),
        (("rate=10 Mb/s", "loss=0.1"), "given for a relay only"),
    ],
)
def test_the_command_line_refuses_in_a_line(words, said):
    code, _, error = invoke("testbed", "up", *words)
    assert (code, said in error) == (2, True), error


def test_the_process_of_wires_refuses_a_plan_in_a_line():
    done = subprocess.run(
        [sys.executable, "-m", "ethermeter.testbed.wire", "{}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("wire: plan")
