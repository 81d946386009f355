"""Intervals between frames, of our station and of peers with a settable rate."""

import itertools
import json
import math
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from ethermeter.testbed import Testbed

from benches.children import ChildError
from benches.live.process import PORT, SECONDS, Running, give_time, trafgen_config
from benches.live.rows import Rows

PACED = ("nuttcp", "iperf3", "trafgen", "mausezahn")
PACE_US = 100
ON_TIME_US = 5


def paced(
    words: Sequence[str], *, served: Sequence[str] = ()
) -> Callable[[Testbed], dict[str, float]]:
    """Return a function that measures the intervals between the frames of a sender.

    They are intervals between the kernel's arrival timestamps, measured alike for all senders. On
    virtual Ethernet a frame arrives within the call that sends it.
    """

    def measure(bed: Testbed) -> dict[str, float]:
        one, other = bed.hosts
        fill = {"ipv4": other.ipv4, "mac": other.mac, "own": one.ipv4, "port": str(PORT)}
        server = Running(other, 1, [word.format(**fill) for word in served]) if served else None
        if server:
            give_time(server)
        watch = Running(
            other,
            1,
            [sys.executable, "-m", "benches.live", "--watch", str(SECONDS + 1), one.mac],
            wait_for="ready",
        )
        given = {"trafgen": trafgen_config(bed)}.get(words[0])
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
            config.write(given or "")
            config.flush()
            sender = Running(one, 0, [word.format(**fill, config=config.name) for word in words])
            watched, _ = watch.end()
            sender.stop()
        if server:
            server.stop()
        return {key: float(value) for key, value in json.loads(watched).items()}

    return measure


def watch(seconds: float, sender: str) -> dict[str, float]:
    """Measure the intervals between frames of 60 octets from one station, at its receiver.

    Parameters
    ----------
    seconds
        Duration.
    sender
        Its Ethernet address.

    Returns
    -------
    :
        `share` within 5 us of 100 us, `frames`, and half the range in which 98% of the intervals
        lie, in us.

    """
    # SO_TIMESTAMPNS, ETH_P_ALL, 64 without the FCS
    timestampns, all_frames, frame_octets = 35, 3, 60
    source = bytes.fromhex(sender.replace(":", ""))
    stamps: list[int] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(all_frames)) as receiver:
        receiver.bind(("em0", all_frames))
        receiver.setsockopt(socket.SOL_SOCKET, timestampns, 1)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        receiver.settimeout(0.2)
        print("ready", file=sys.stderr, flush=True)
        frames_at_most = int(seconds * 1e6 / PACE_US) - 10_000 // PACE_US
        idle = 0
        while len(stamps) < frames_at_most and idle < seconds / 0.2:
            try:
                frame, control, _, _ = receiver.recvmsg(128, 64)
            except TimeoutError:
                idle += 1
                continue
            if len(frame) == frame_octets and frame[6:12] == source and control:
                seconds_ns = struct.unpack("qq", control[0][2][:16])
                stamps.append(seconds_ns[0] * 1_000_000_000 + seconds_ns[1])
    # The first tenth of a second is start-up.
    intervals_us = [
        (later - earlier) / 1000 for earlier, later in itertools.pairwise(stamps[1000:])
    ]
    if not intervals_us:
        raise ChildError("no frames of 64 octets arrived")
    on_time = sum(abs(interval_us - PACE_US) <= ON_TIME_US for interval_us in intervals_us)
    return {
        "share": on_time / len(intervals_us),
        "frames": len(intervals_us),
        "mean_us": sum(intervals_us) / len(intervals_us),
    }


def pacing_rows(
    bed: Testbed, program: str, rows: Rows, wanted: Sequence[str]
) -> list[dict[str, Any]]:
    """Measure our station alone, and at real-time priority beside each of the wanted peers."""
    per_s, seconds = 1_000_000 // PACE_US, math.ceil(SECONDS) + 1
    ours = [
        program,
        "send",
        "local={own}:0",
        "peer={ipv4}:{port}",
        "batch=1",
        f"arrivals=regular:{PACE_US}",
        f"seconds={seconds}",
    ]
    rate_bps, frames = 18 * 8 * per_s, str(per_s * seconds)
    peers = {
        "nuttcp": (
            [
                "nuttcp",
                "-u",
                "-l18",
                f"-R{rate_bps // 1000}K",
                f"-T{seconds}",
                "-P{port}",
                "{ipv4}",
            ],
            ["nuttcp", "-S", "-1", "--nofork", "-P{port}"],
        ),
        "iperf3": (
            [
                "iperf3",
                "-c",
                "{ipv4}",
                "-p",
                "{port}",
                "-u",
                "-l18",
                f"-b{rate_bps}",
                f"-t{seconds}",
                "--pacing-timer",
                str(PACE_US),
            ],
            ["iperf3", "-s", "-1", "-p", "{port}"],
        ),
        "trafgen": (
            [
                "trafgen",
                "--dev",
                "em0",
                "--conf",
                "{config}",
                "--num",
                frames,
                "--cpus",
                "1",
                "--gap",
                f"{PACE_US}us",
            ],
            [],
        ),
        "mausezahn": (
            [
                "mausezahn",
                "em0",
                "-b",
                "{mac}",
                "-c",
                frames,
                "-d",
                f"{PACE_US}u",
                "-p",
                "18",
                "-t",
                "udp",
            ],
            [],
        ),
    }
    found = [rows.measure("UDP", "", lambda: paced(ours)(bed), None)]
    for peer in wanted:
        words, served = peers[peer]

        def theirs(
            words: Sequence[str] = words, served: Sequence[str] = served
        ) -> dict[str, float]:
            return paced(words, served=served)(bed)

        found.append(
            rows.measure(
                "UDP, real time",
                peer,
                lambda: paced([*ours, "fifo=1"])(bed),
                theirs,
                target=("share",),
            )
        )
    return found
