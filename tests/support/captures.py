"""Captures: of real sockets between network namespaces, and made octet by octet."""

import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethermeter import testbed
from ethermeter.testbed import Layout, Wire
from program import LIMIT_S

SERVER = """
import socket, sys, time
kind = sys.argv[1]
listening = socket.socket()
if kind == "slow":
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
listening.bind(("", 5001))
listening.listen()
print("ready", flush=True)
taken, _ = listening.accept()
taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while got := taken.recv(64 if kind == "ask" else 65536):
    if kind == "ask":
        time.sleep(0.003)
        taken.sendall(got * 5)
    elif kind == "slow":
        time.sleep(0.01)
taken.close()
"""
CLIENT = """
import socket, sys, time
kind, host, octets = sys.argv[1], sys.argv[2], int(sys.argv[3])
made = socket.create_connection((host, 5001))
made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
if kind == "ask":
    for at in range(octets // 64):
        made.sendall(b"x" * 64)
        left = 320
        while left:
            left -= len(made.recv(left))
        time.sleep(0.02 if at % 10 == 0 else 0.002)
else:
    made.sendall(bytes(octets))
made.shutdown(socket.SHUT_WR)
made.recv(1)
made.close()
"""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is captured: `bulk` sends, `ask` asks 64 octets at a time and is answered with 320,
    `slow` reads slowly.
    """

    kind: str
    octets: int
    wires: Wire | Sequence[Wire | None] | None = None
    layout: Layout = "pair"
    at: int = 0
    """Host at which is captured: 0 sends, 1 receives."""


TRANSFERS = {
    "bulk": Transfer("bulk", 1_000_000, Wire(100_000_000)),
    "interactive": Transfer("ask", 40 * 64),
    # The switch drops what its queue has no room for, behind the capture point.
    "lossy": Transfer("bulk", 1_500_000, (None, Wire(20_000_000, 15_000)), "switch"),
    "lossy, at the receiver": Transfer(
        "bulk", 1_500_000, (None, Wire(20_000_000, 15_000)), "switch", at=1
    ),
    "queued": Transfer("bulk", 1_500_000, (None, Wire(20_000_000)), "switch"),
    "closed windows": Transfer("slow", 300_000),
}


def capture(transfer: Transfer, path: Path) -> Path:
    """Capture a transfer between two hosts of a testbed; it is closed before the capture ends."""
    with testbed.make_testbed(2, layout=transfer.layout, wires=transfer.wires) as made:
        sender, receiver = made.hosts
        at = made.hosts[transfer.at]
        command = [
            "dumpcap",
            "-q",
            "-P",
            "-s",
            "128",
            "-i",
            at.interface,
            "-f",
            "tcp",
            "-w",
            str(path),
        ]
        capturing = subprocess.Popen(at.command(*command), stderr=subprocess.PIPE, text=True)
        assert capturing.stderr is not None
        try:
            # It says which file it writes when it has begun.
            assert any(line.startswith("File:") for line in capturing.stderr), (
                "dumpcap has not begun"
            )
            serving = subprocess.Popen(
                receiver.command(sys.executable, "-c", SERVER, transfer.kind),
                stdout=subprocess.PIPE,
                text=True,
            )
            assert serving.stdout is not None
            with serving:
                assert serving.stdout.readline() == "ready\n"
                host = receiver.ipv4.partition("/")[0]
                subprocess.run(
                    sender.command(
                        sys.executable, "-c", CLIENT, transfer.kind, host, str(transfer.octets)
                    ),
                    check=True,
                    timeout=LIMIT_S,
                )
                serving.wait(timeout=LIMIT_S)
            # What the interface has seen is on its way to the file until it stops growing.
            size = -1
            while size != (size := path.stat().st_size):
                time.sleep(0.3)
        finally:
            capturing.terminate()
            capturing.stderr.read()
            capturing.wait(timeout=LIMIT_S)
            capturing.stderr.close()
    return path


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment between 10.0.0.1 (end 0) and 10.0.0.2 (end 1)."""

    at_us: int
    end: int
    sequence: int
    acknowledgment: int
    octets: int = 0
    flags: str = "A"
    window: int = 500
    stamp: int | None = None
    port: int = 5000


def pcap(packets: Iterable[tuple[int, bytes]], *, link: int = 1, keep: int = 65_535) -> bytes:
    """Write packets, each with its time in µs, as a classic capture file with microseconds."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, keep, link)
    return head + b"".join(
        struct.pack(
            "<IIII", 1_700_000_000 + at_us // 10**6, at_us % 10**6, min(len(data), keep), len(data)
        )
        + data[:keep]
        for at_us, data in packets
    )


def pcapng(order: str, *blocks: tuple[int, bytes]) -> bytes:
    """Write blocks, each with its kind, behind the head of a section in this order of octets."""

    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + length + body + length

    head = (0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    return b"".join(block(*each) for each in (head, *blocks))


def interface(order: str, *, speed_bps: int | None = None) -> tuple[int, bytes]:
    """Return the block of an interface of Ethernet, with microseconds, and the rate of its link."""
    speed = b"" if speed_bps is None else struct.pack(order + "HHQHH", 8, 8, speed_bps, 0, 0)
    return 1, struct.pack(order + "HHI", 1, 0, 0) + speed


def packet(order: str, at_us: int, data: bytes, options: bytes = b"") -> tuple[int, bytes]:
    """Return the block of a packet, with options."""
    head = struct.pack(order + "IIIII", 0, 0, at_us, len(data), len(data))
    return 6, head + data + bytes(-len(data) % 4) + options


def frame(of: Segment) -> bytes:
    """Return a segment as an Ethernet frame; its checksums are zero."""
    options = b""
    if "S" in of.flags:
        options += bytes([2, 4, 5, 180, 1, 3, 3, 7])
    if of.stamp is not None:
        options += bytes([1, 1, 8, 10]) + struct.pack(">II", of.stamp, 0)
    bits = sum(1 << "FSRPA".index(flag) for flag in of.flags)
    ports = (of.port, 80) if of.end == 0 else (80, of.port)
    tcp = struct.pack(
        ">HHIIBBHHH",
        *ports,
        of.sequence,
        of.acknowledgment,
        (20 + len(options)) // 4 << 4,
        bits,
        of.window,
        0,
        0,
    )
    addresses = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    whole = tcp + options + bytes(of.octets)
    ip = (
        struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(whole), 0, 0x4000, 64, 6, 0)
        + addresses[of.end]
        + addresses[1 - of.end]
    )
    return bytes(6) + bytes(5) + b"\x01" + b"\x08\x00" + ip + whole


def segments(of: Iterable[Segment]) -> bytes:
    """Write segments as a capture file."""
    return pcap((segment.at_us, frame(segment)) for segment in of)


def opened(*, window: int = 500, round_trip_us: int = 200, port: int = 5000) -> list[Segment]:
    """Return a handshake that is seen near its beginner: numbers begin at 1, and windows are in
    units of 128.
    """
    syn = min(window << 7, 65_535)
    return [
        Segment(0, 0, 0, 0, flags="S", window=syn, port=port),
        Segment(round_trip_us, 1, 0, 1, flags="SA", window=syn, port=port),
        Segment(round_trip_us + 10, 0, 1, 1, window=window, port=port),
    ]


def rounds(
    count: int, *, window: int, round_trip_us: int = 10_000, size: int = 1460, port: int = 5000
) -> bytes:
    """Return a transfer in rounds of ten segments, each acknowledged a round trip later."""
    found = opened(window=window, round_trip_us=round_trip_us, port=port)
    now, number = round_trip_us + 30, 1
    for _ in range(count):
        for at in range(10):
            found.append(Segment(now + at, 0, number, 1, size, window=window, port=port))
            number += size
        now += round_trip_us + 9
        found.append(Segment(now, 1, 1, number, window=window, port=port))
        now += 20
    found.append(Segment(now, 0, number, 1, flags="FA", window=window, port=port))
    found.append(
        Segment(now + round_trip_us, 1, 1, number + 1, flags="FA", window=window, port=port)
    )
    return segments(found)
