"""TCP transfers between network namespaces with a planted limit each, captured as pcap files."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethermeter import testbed
from ethermeter.captures.limits import Limit
from ethermeter.captures.verdict import Verdict
from ethermeter.testbed import Host, Wire

RECEIVE = """
import json, socket, sys, time
asked = json.loads(sys.argv[1])
with socket.socket() as listening:
    if asked["receive_buffer"]:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, asked["receive_buffer"])
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("", 5001))
    listening.listen()
    print("ready", flush=True)
    taken, _ = listening.accept()
with taken:
    octets, begin_s = 0, None
    while got := taken.recv(asked["read_octets"] or 1 << 18):
        begin_s = begin_s or time.monotonic()
        octets += len(got)
        end_s = time.monotonic()
        if asked["read_every_s"]:
            time.sleep(asked["read_every_s"])
    print(json.dumps({"octets": octets, "seconds": end_s - begin_s}), flush=True)
"""
SEND = """
import json, socket, sys, time
asked, host = json.loads(sys.argv[1]), sys.argv[2]
with socket.socket() as made:
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, asked["congestion"].encode())
    if asked["send_buffer"]:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, asked["send_buffer"])
    made.connect((host, 5001))
    block = bytes(asked["write_octets"] or 1 << 17)
    until_s = time.monotonic() + asked["seconds"]
    left = asked["octets"] or 1 << 60
    while time.monotonic() < until_s and left > 0:
        made.sendall(block[:left])
        left -= len(block)
        if asked["write_every_s"]:
            time.sleep(asked["write_every_s"])
    made.shutdown(socket.SHUT_WR)
    made.recv(1)
"""


@dataclass(frozen=True, slots=True)
class Plant:
    """A transfer and what limits it by construction.

    Parameters
    ----------
    limit
        The `ethermeter.captures.Limit` that is right.
    rate_bps, delay_s, loss, queue_octets
        The relayed link: line rate, propagation delay of one direction, loss probability of frames
        from the sender, queue before it.
    bottleneck_bps, bottleneck_queue_octets
        Rate and queue of a switch port behind that link; no switch if None.
    send_buffer, receive_buffer
        SO_SNDBUF and SO_RCVBUF, octets; the system's choice if None.
    write_octets, write_every_s, read_octets, read_every_s
        Size of each write and read of the applications, and the pause after each.
    congestion
        Congestion control of the sender.
    seconds, octets
        Longest time that is sent, and octets after which the sender ends.
    at
        Host of the capture: 0 sends, 1 receives.
    iperf3_window
        `-w` of an iperf3 that sends instead, octets.

    """

    limit: str
    rate_bps: int = 50_000_000
    delay_s: float = 0.01
    loss: float = 0.0
    seed: int = 1
    queue_octets: int = 150_000
    bottleneck_bps: int | None = None
    bottleneck_queue_octets: int = 150_000
    send_buffer: int | None = None
    receive_buffer: int | None = None
    write_octets: int | None = None
    write_every_s: float = 0.0
    read_octets: int | None = None
    read_every_s: float = 0.0
    congestion: str = "cubic"
    seconds: float = 4.0
    octets: int | None = None
    at: int = 0
    iperf3_window: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a transfer.

    Parameters
    ----------
    goodput_bps
        Payload that the receiving application read over the time from its first read to its last,
        in bit/s.
    lost
        Frames from the sender that the relay lost by chance, and that queues of the relay dropped.

    """

    goodput_bps: float
    lost: int


def transfer(plant: Plant, path: Path | None = None) -> Outcome:
    """Run a transfer, and capture it to a file if one is given."""
    there = Wire(
        plant.rate_bps,
        plant.queue_octets,
        kind="relay",
        delay_ns=round(plant.delay_s * 1e9),
        loss=plant.loss,
        seed=plant.seed,
    )
    # Only frames from the sender are lost.
    back = replace(there, loss=0.0)
    layout: Any = "pair"
    wires: list[Wire] = [there, back]
    if plant.bottleneck_bps is not None:
        layout, wires = "switch", [there, Wire(plant.bottleneck_bps, plant.bottleneck_queue_octets)]
    with testbed.make_testbed(2, layout=layout, wires=wires) as made:
        with _captured(made.hosts[plant.at], path):
            goodput_bps = (_iperf3 if plant.iperf3_window else _sockets)(plant, *made.hosts)
        assert made.relay is not None
        dropped = made.relay.count().directions[0].dropped
    return Outcome(goodput_bps, sum(dropped.values()))


@contextmanager
def _captured(host: Host, path: Path | None) -> Iterator[None]:
    if path is None:
        yield
        return
    command = [
        "dumpcap",
        "-q",
        "-P",
        "-s",
        "128",
        "-i",
        host.interface,
        "-f",
        "tcp",
        "-w",
        str(path),
    ]
    with subprocess.Popen(host.command(*command), stderr=subprocess.PIPE, text=True) as capturing:
        assert capturing.stderr is not None
        try:
            # It writes the name of the file when it has begun.
            assert any(line.startswith("File:") for line in capturing.stderr), (
                "dumpcap has not begun"
            )
            yield
            _await_silence(path)
        finally:
            capturing.terminate()
            capturing.stderr.read()


def _await_silence(path: Path) -> None:
    """Wait until the file does not grow any more."""
    size = -1
    while size != (size := path.stat().st_size):
        time.sleep(0.3)


def _sockets(plant: Plant, sender: Host, receiver: Host) -> float:
    names = (
        "send_buffer",
        "receive_buffer",
        "write_octets",
        "write_every_s",
        "read_octets",
        "read_every_s",
        "congestion",
    )
    asked = json.dumps({name: getattr(plant, name) for name in (*names, "seconds", "octets")})
    with subprocess.Popen(
        receiver.command(sys.executable, "-c", RECEIVE, asked), stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        assert serving.stdout.readline() == "ready\n"
        subprocess.run(
            sender.command(sys.executable, "-c", SEND, asked, receiver.ipv4),
            check=True,
            timeout=120,
        )
        read = json.loads(serving.stdout.read())
    return float(8 * read["octets"] / read["seconds"])


def _iperf3(plant: Plant, sender: Host, receiver: Host) -> float:
    with subprocess.Popen(
        receiver.command("iperf3", "-s", "-1", "--forceflush"), stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        assert any("listening" in line for line in serving.stdout), "iperf3 does not listen"
        command = [
            "iperf3",
            "-c",
            receiver.ipv4,
            "-t",
            f"{plant.seconds:.0f}",
            "-C",
            plant.congestion,
            "-J",
        ]
        done = subprocess.run(
            sender.command(*command, "-w", str(plant.iperf3_window)),
            check=True,
            capture_output=True,
            timeout=120,
        )
        serving.stdout.read()
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"])


CHOSEN_ON = {
    "send buffer of 64 kB": Plant("send-buffer", send_buffer=64_000),
    "send buffer of 32 kB, Reno, at the receiver": Plant(
        "send-buffer", send_buffer=32_000, congestion="reno", at=1
    ),
    "iperf3 -w 64000": Plant("send-buffer", iperf3_window=64_000),
    "losses of 1%": Plant("congestion-window", loss=0.01),
    "losses of 0.3%, Reno": Plant("congestion-window", loss=0.003, congestion="reno"),
    "receive buffer of 64 kB": Plant("receiver-window", receive_buffer=64_000),
    "20 kB are read every 20 ms": Plant(
        "receiver-application", read_octets=20_000, read_every_s=0.02
    ),
    "20 kB are written every 20 ms": Plant(
        "sender-application", write_octets=20_000, write_every_s=0.02
    ),
    "interface of 20 Mb/s": Plant("sender-pace", rate_bps=20_000_000),
    "switch port of 10 Mb/s": Plant(
        "network", rate_bps=100_000_000, bottleneck_bps=10_000_000, bottleneck_queue_octets=60_000
    ),
    "600 kB over 100 ms": Plant("congestion-window", delay_s=0.05, octets=600_000),
    "send buffer of 48 kB": Plant("send-buffer", 30_000_000, 0.015, send_buffer=48_000, seconds=3),
    "send buffer of 100 kB": Plant("send-buffer", 80_000_000, 0.02, send_buffer=100_000, seconds=3),
    "send buffer of 24 kB, Reno": Plant(
        "send-buffer", 10_000_000, 0.025, send_buffer=24_000, congestion="reno", seconds=3
    ),
    "send buffer of 64 kB, at the receiver": Plant(
        "send-buffer", 50_000_000, 0.01, send_buffer=64_000, at=1, seconds=3
    ),
    "send buffer of 32 kB, losses of 0.02%": Plant(
        "send-buffer", 40_000_000, 0.01, 0.0002, send_buffer=32_000, seconds=3
    ),
    "iperf3 -w 40000": Plant("send-buffer", 30_000_000, 0.02, iperf3_window=40_000, seconds=3),
    "losses of 0.5%": Plant("congestion-window", 40_000_000, 0.01, 0.005, 2, seconds=3),
    "losses of 2%": Plant("congestion-window", 20_000_000, 0.01, 0.02, 3, seconds=3),
    "losses of 0.2%, Reno": Plant(
        "congestion-window", 50_000_000, 0.02, 0.002, 4, congestion="reno", seconds=3
    ),
    "losses of 1%, Reno, at the receiver": Plant(
        "congestion-window", 30_000_000, 0.015, 0.01, 5, congestion="reno", at=1, seconds=3
    ),
    "losses of 0.1%": Plant("congestion-window", 80_000_000, 0.02, 0.001, 6, seconds=3),
    "receive buffer of 32 kB": Plant(
        "receiver-window", 30_000_000, 0.01, receive_buffer=32_000, seconds=3
    ),
    "receive buffer of 100 kB": Plant(
        "receiver-window", 60_000_000, 0.02, receive_buffer=100_000, seconds=3
    ),
    "receive buffer of 48 kB, Reno, at the receiver": Plant(
        "receiver-window",
        40_000_000,
        0.01,
        receive_buffer=48_000,
        congestion="reno",
        at=1,
        seconds=3,
    ),
    "64 kB are read every 100 ms": Plant(
        "receiver-application", read_octets=64_000, read_every_s=0.1, seconds=3
    ),
    "8 kB are read every 10 ms": Plant(
        "receiver-application", 30_000_000, 0.005, read_octets=8_000, read_every_s=0.01, seconds=3
    ),
    "40 kB are read every 20 ms, at the receiver": Plant(
        "receiver-application", read_octets=40_000, read_every_s=0.02, at=1, seconds=3
    ),
    "4 kB are written every 5 ms": Plant(
        "sender-application", write_octets=4_000, write_every_s=0.005, seconds=3
    ),
    "100 kB are written every 200 ms": Plant(
        "sender-application", write_octets=100_000, write_every_s=0.2, seconds=3
    ),
    "1 kB is written every 2 ms, at the receiver": Plant(
        "sender-application", write_octets=1_000, write_every_s=0.002, at=1, seconds=3
    ),
    "interface of 10 Mb/s": Plant("sender-pace", 10_000_000, 0.005, seconds=3),
    "interface of 40 Mb/s, Reno": Plant(
        "sender-pace", 40_000_000, 0.01, congestion="reno", seconds=3
    ),
    "switch port of 20 Mb/s": Plant(
        "network", 100_000_000, 0.005, bottleneck_bps=20_000_000, seconds=3
    ),
    "switch port of 8 Mb/s, short queue, Reno": Plant(
        "network",
        50_000_000,
        0.01,
        bottleneck_bps=8_000_000,
        bottleneck_queue_octets=40_000,
        congestion="reno",
        seconds=3,
    ),
    "300 kB over 100 ms": Plant("congestion-window", 50_000_000, 0.05, octets=300_000, seconds=3),
}
"""Transfers on which the thresholds of the rules were chosen."""
JUDGED_ON = {
    "send buffer of 40 kB": Plant("send-buffer", 40_000_000, 0.012, send_buffer=40_000, seconds=3),
    "send buffer of 150 kB": Plant("send-buffer", 70_000_000, 0.03, send_buffer=150_000, seconds=4),
    "send buffer of 20 kB, Reno": Plant(
        "send-buffer", 20_000_000, 0.008, send_buffer=20_000, congestion="reno", seconds=3
    ),
    "send buffer of 80 kB, at the receiver": Plant(
        "send-buffer", 60_000_000, 0.015, send_buffer=80_000, at=1, seconds=3
    ),
    "send buffer of 24 kB, losses of 0.05%": Plant(
        "send-buffer", 30_000_000, 0.01, 0.0005, 7, send_buffer=24_000, seconds=4
    ),
    "send buffer of 50 kB, blocks of 8 kB": Plant(
        "send-buffer", 50_000_000, 0.012, send_buffer=50_000, write_octets=8_000, seconds=3
    ),
    "send buffer of 60 kB, BBR": Plant(
        "send-buffer", 60_000_000, 0.015, send_buffer=60_000, congestion="bbr", seconds=3
    ),
    "iperf3 -w 80000": Plant("send-buffer", 60_000_000, 0.02, iperf3_window=80_000, seconds=3),
    "losses of 0.7%": Plant("congestion-window", 60_000_000, 0.008, 0.007, 11, seconds=3),
    "losses of 3%": Plant("congestion-window", 30_000_000, 0.008, 0.03, 12, seconds=3),
    "losses of 0.4%, Reno": Plant(
        "congestion-window", 40_000_000, 0.015, 0.004, 13, congestion="reno", seconds=3
    ),
    "losses of 1.5%, at the receiver": Plant(
        "congestion-window", 40_000_000, 0.012, 0.015, 14, at=1, seconds=3
    ),
    "losses of 0.15%": Plant("congestion-window", 60_000_000, 0.025, 0.0015, 15, seconds=4),
    "200 kB over 60 ms": Plant("congestion-window", 80_000_000, 0.03, octets=200_000, seconds=3),
    "receive buffer of 40 kB": Plant(
        "receiver-window", 40_000_000, 0.012, receive_buffer=40_000, seconds=3
    ),
    "receive buffer of 150 kB": Plant(
        "receiver-window", 80_000_000, 0.025, receive_buffer=150_000, seconds=4
    ),
    "receive buffer of 60 kB, Reno, at the receiver": Plant(
        "receiver-window",
        60_000_000,
        0.015,
        receive_buffer=60_000,
        congestion="reno",
        at=1,
        seconds=3,
    ),
    "30 kB are read every 15 ms": Plant(
        "receiver-application", 60_000_000, 0.01, read_octets=30_000, read_every_s=0.015, seconds=3
    ),
    "100 kB are read every 150 ms": Plant(
        "receiver-application", 40_000_000, 0.012, read_octets=100_000, read_every_s=0.15, seconds=3
    ),
    "5 kB are read every 4 ms, at the receiver": Plant(
        "receiver-application",
        40_000_000,
        0.012,
        read_octets=5_000,
        read_every_s=0.004,
        at=1,
        seconds=3,
    ),
    "6 kB are written every 7 ms": Plant(
        "sender-application", 40_000_000, 0.012, write_octets=6_000, write_every_s=0.007, seconds=3
    ),
    "60 kB are written every 80 ms": Plant(
        "sender-application", 40_000_000, 0.012, write_octets=60_000, write_every_s=0.08, seconds=3
    ),
    "2 kB are written every 30 ms, at the receiver": Plant(
        "sender-application", write_octets=2_000, write_every_s=0.03, at=1, seconds=3
    ),
    "interface of 15 Mb/s": Plant("sender-pace", 15_000_000, 0.008, seconds=3),
    "interface of 30 Mb/s, Reno": Plant(
        "sender-pace", 30_000_000, 0.012, congestion="reno", seconds=3
    ),
    "switch port of 15 Mb/s": Plant(
        "network",
        100_000_000,
        0.008,
        bottleneck_bps=15_000_000,
        bottleneck_queue_octets=100_000,
        seconds=3,
    ),
    "switch port of 6 Mb/s, short queue, Reno": Plant(
        "network",
        40_000_000,
        0.012,
        bottleneck_bps=6_000_000,
        bottleneck_queue_octets=30_000,
        congestion="reno",
        seconds=3,
    ),
}
"""Other transfers, on which the rules are judged."""


def changed(plant: Plant, verdict: Verdict) -> Plant | None:
    """Return a transfer with the change that a verdict recommends; None if it recommends none that
    can be made here.
    """
    match verdict.limit:
        case Limit.SEND_BUFFER if plant.iperf3_window:
            return replace(plant, iperf3_window=verdict.buffer_octets)
        case Limit.SEND_BUFFER:
            return replace(plant, send_buffer=verdict.buffer_octets)
        case Limit.RECEIVER_WINDOW:
            return replace(plant, receive_buffer=verdict.buffer_octets)
        case Limit.CONGESTION_WINDOW if plant.loss:
            return replace(plant, loss=0.0)
        case Limit.CONGESTION_WINDOW:
            return replace(plant, octets=None)
        case Limit.RECEIVER_APPLICATION:
            return replace(plant, read_octets=None, read_every_s=0.0)
        case Limit.SENDER_APPLICATION:
            return replace(plant, write_octets=None, write_every_s=0.0)
        case Limit.SENDER_PACE:
            return replace(plant, rate_bps=2 * plant.rate_bps)
        case Limit.NETWORK if plant.bottleneck_bps is not None:
            return replace(plant, bottleneck_bps=2 * plant.bottleneck_bps)
        case _:
            return None
