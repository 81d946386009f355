"""TCP transfers between network namespaces with a planted limit each, captured as pcap files."""

import json
import subprocess
import sys
import time
import tomllib
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


DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CHOSEN_ON, JUDGED_ON = (
    {name: Plant(**given) for name, given in DATA[kind].items()} for kind in ("chosen", "judged")
)
"""Transfers on which the thresholds of the rules were chosen, and others that judge them."""


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
