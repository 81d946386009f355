"""`python -m benches.live`: what a live station does with a processor, beside its peers in the same
minute.

Everything runs on one pair of hosts, two network namespaces on virtual Ethernet; needs root. A
sender has the first processor and a receiver the second, for us and for the peers alike. CPU time
is that of the processes: on virtual Ethernet the kernel's work for a frame, the receiver's share of
it too, is done in the call that sends it.
"""

import argparse
import itertools
import json
import math
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from ethermeter.testbed import Host, Testbed, TestbedError, Wire, WireKind, make_testbed

from benches import machine
from benches.children import ChildError, run_child

ROOT = Path(__file__).parent.parent
ROUNDS = 5
"""Ours and theirs take turns, so that what else the machine does falls on both.

Each round has a ratio; the median of these is judged.
"""
TABLES = ("frames", "round_trips", "pacing", "wires")
PACED = ("nuttcp", "iperf3", "trafgen", "mausezahn")
TARGET = 1.0
"""Least median ratio to a peer that is as good as it."""
SECONDS = 1.5
RAW_FRAMES = 1_500_000
LIMIT_S = 60.0
PACE_US = 100
ON_TIME_US = 5
PORT = 5000
WIRE_BPS = 10_000_000
WIRE_SIZES = [64, 200, 400, 800, 1200, 1518]
WIRE_EXCHANGES = 100
WIRE_PAUSE_US = 8000
"""Longer than the round trip of a long frame, so that each is alone on its way."""
STARTS_S = 0.5
"""How long servers of peers are given to begin to listen; they do not say when they do."""


class Running:
    """A process under way, on one processor."""

    def __init__(
        self,
        host: Host,
        processor: int,
        words: Sequence[str],
        *,
        wait_for: str | None = None,
        given: str | None = None,
    ) -> None:
        command = host.command("taskset", "-c", str(processor % (os.cpu_count() or 1)), *words)
        self.name = words[0]
        self.out = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self.out,
            stderr=subprocess.PIPE if wait_for else subprocess.STDOUT,
            text=True,
        )
        if given is not None and self.process.stdin is not None:
            self.process.stdin.write(given)
        if wait_for and self.process.stderr is not None:
            said = self.process.stderr.readline().strip()
            if said != wait_for:
                raise ChildError(f"{self.name}: {said or 'it said nothing'}")

    def end(self, *, stopped: bool = False) -> tuple[str, float]:
        """Wait for the end; returns what it printed and its CPU time in s.

        How it ended matters unless it was stopped.
        """
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        for stream in (self.process.stdin, self.process.stderr):
            if stream is not None:
                stream.close()
        self.out.seek(0)
        out = self.out.read()
        self.out.close()
        if self.process.returncode != 0 and not stopped:
            last = (
                [line.strip() for line in out.splitlines() if line.strip()] or ["it said nothing"]
            )[-1]
            raise ChildError(f"{self.name}: ended with {self.process.returncode}: {last}")
        return out, usage.ru_utime + usage.ru_stime

    def stop(self) -> None:
        """End it from outside."""
        os.kill(
            self.process.pid, signal.SIGTERM
        )  # nobody has waited for it, so the number is still its own
        self.end(stopped=True)


def station(program: str, host: Host, processor: int, *words: str) -> Running:
    """Start one of ours; returns when its port is open."""
    return Running(host, processor, [program, *words], wait_for="ready")


def address(port: str, own: Host, other: Host) -> list[str]:
    """Return the words that make a station on `own` talk to `other`."""
    if port == "udp":
        return [f"local={own.ipv4}:{PORT}", f"peer={other.ipv4}:{PORT}"]
    return [
        f"port={port}",
        "interface=em0",
        f"source={own.mac}",
        f"mac={other.mac}",
        "past-queue=1",
    ]


# --- frames per CPU-second
# ---------------------------------------------------------------------------------------------------------------


def ours_udp(bed: Testbed, program: str) -> dict[str, float]:
    """Send and count 64-octet frames over UDP."""
    one, other = bed.hosts
    sink = station(
        program,
        other,
        1,
        "sink",
        *address("udp", other, one),
        f"seconds={SECONDS + 1}",
        "collect=1",
        "stamps=1",
    )
    send = station(program, one, 0, "send", *address("udp", one, other), f"seconds={SECONDS}")
    sent, sender_cpu_s = send.end()
    received, sink_cpu_s = sink.end()
    return _rates(
        json.loads(sent)["frames"], json.loads(received)["received"], sender_cpu_s, sink_cpu_s
    )


def iperf3(bed: Testbed) -> dict[str, float]:
    """Do the same with iperf3, datagrams of 18 octets."""
    one, other = bed.hosts
    server = Running(other, 1, ["iperf3", "-s", "-1", "-p", str(PORT)])
    _give_time(server)
    words = [
        "iperf3",
        "-c",
        other.ipv4,
        "-p",
        str(PORT),
        "-u",
        "-l",
        "18",
        "-b",
        "0",
        "-t",
        str(math.ceil(SECONDS)),
        "-J",
    ]
    out, sender_cpu_s = Running(one, 0, words).end()
    _, server_cpu_s = server.end()
    total = json.loads(out)["end"]["sum"]
    return _rates(
        total["packets"], total["packets"] - total["lost_packets"], sender_cpu_s, server_cpu_s
    )


def ours_raw(port: str, bed: Testbed, program: str) -> dict[str, float]:
    """Send 64-octet raw frames that nobody waits for."""
    one, other = bed.hosts
    out, cpu_s = station(
        program,
        one,
        0,
        "send",
        *address(port, one, other),
        f"seconds={LIMIT_S}",
        f"frames={RAW_FRAMES}",
        "batch=256",
    ).end()
    return _rates(json.loads(out)["frames"], None, cpu_s, 0.0)


def trafgen(bed: Testbed) -> dict[str, float]:
    """Do the same with trafgen, of which several frames' worth of start-up is not taken off."""
    one, other = bed.hosts
    octets = ",".join(
        f"0x{octet}" for octet in (*other.mac.split(":"), *one.mac.split(":"), "88", "b5")
    )
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write(f"{{ {octets}, fill(0, 46) }}\n")
        config.flush()
        words = [
            "trafgen",
            "--dev",
            "em0",
            "--conf",
            config.name,
            "--num",
            str(RAW_FRAMES),
            "--cpus",
            "1",
            "--no-cpu-stats",
        ]
        _, cpu_s = Running(one, 0, words).end()
    return _rates(RAW_FRAMES, None, cpu_s, 0.0)


def testpmd(bed: Testbed) -> dict[str, float]:
    """Do the same with testpmd of DPDK; CPU time is that of its thread that sends, while it sends,
    for the whole takes long to start.
    """
    one, _ = bed.hosts
    words = [
        *(
            "dpdk-testpmd",
            "-l",
            "0,1",
            "--main-lcore",
            "1",
            "--no-huge",
            "-m",
            "1024",
            "--no-pci",
            "--no-telemetry",
        ),
        *(
            "--file-prefix",
            f"em{os.getpid()}",
            "--vdev",
            "net_af_xdp0,iface=em0",
            "--",
            "--forward-mode=txonly",
            "--txpkts=60",
        ),
        *("--auto-start", "--nb-cores=1", "--burst=64", "--total-num-mbufs=8192"),
    ]
    command = one.command("timeout", "30", *words)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            before = _sent_frames(one)
            while (
                _sent_frames(one) < before + RAW_FRAMES // 100
            ):  # some others' frames do not count
                if process.poll() is not None:
                    raise ChildError(f"dpdk-testpmd: ended with {process.returncode}")
                time.sleep(0.1)
            first = _sent_frames(one), _thread_cpu_s(process.pid, "worker")
            time.sleep(SECONDS)
            last = _sent_frames(one), _thread_cpu_s(process.pid, "worker")
        finally:
            with suppress(BrokenPipeError):
                process.communicate("\n")
    return _rates(last[0] - first[0], None, last[1] - first[1], 0.0)


def _sent_frames(host: Host) -> int:
    table = run_child(host.command("cat", "/proc/net/dev"), limit_s=LIMIT_S).out
    return int(
        next(
            line.split(":")[1].split()[9]
            for line in table.splitlines()
            if line.strip().startswith("em0:")
        )
    )


def _thread_cpu_s(pid: int, name: str) -> float:
    """Return the CPU time of the thread with `name` in its name, of a process or of its child."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    for process in (str(pid), *children):
        for thread in Path(f"/proc/{process}/task").iterdir():
            if name in (thread / "comm").read_text(encoding="utf-8"):
                return int((thread / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    raise ChildError(f"no thread called {name!r}")


def _rates(
    sent: int, received: int | None, sender_cpu_s: float, receiver_cpu_s: float
) -> dict[str, float]:
    rates = {"sender": sent / sender_cpu_s}
    if received is not None:
        rates |= {"both": received / (sender_cpu_s + receiver_cpu_s), "lost": 1 - received / sent}
    return rates


# --- round trips
# -------------------------------------------------------------------------------------------------------------------------


def ours_round_trip(port: str, bed: Testbed, program: str) -> dict[str, float]:
    """Ask and answer with frames of 64 octets, both ends spinning."""
    one, other = bed.hosts
    echo = station(
        program,
        other,
        1,
        "echo",
        *address(port, other, one),
        f"seconds={SECONDS + 1}",
        "spin=1",
        "batch=1",
    )
    words = [
        "ask",
        *address(port, one, other),
        f"seconds={SECONDS}",
        "spin=1",
        "batch=1",
        "frame=64",
    ]
    out, _ = station(program, one, 0, *words).end()
    echo.stop()
    asked = json.loads(out)
    return {quantile: asked["round_trip_ns"][quantile] / 1000 for quantile in ("p50", "p99")}


def sockperf(bed: Testbed) -> dict[str, float]:
    """Do the same with sockperf, UDP payloads of 18 octets; it prints half of a round trip."""
    one, other = bed.hosts
    server = Running(
        other, 1, ["sockperf", "server", "-i", other.ipv4, "-p", str(PORT), "--nonblocked"]
    )
    _give_time(server)
    words = [
        "sockperf",
        "ping-pong",
        "-i",
        other.ipv4,
        "-p",
        str(PORT),
        "-m",
        "18",
        "-t",
        str(math.ceil(SECONDS)),
        "--nonblocked",
    ]
    out, _ = Running(one, 0, words).end()
    server.stop()
    return {
        name: 2 * float(_found(rf"percentile {number}\.000 = +([0-9.]+)", out))
        for name, number in (("p50", 50), ("p99", 99))
    }


# --- pacing
# ------------------------------------------------------------------------------------------------------------------------------


def paced(
    words: Sequence[str], *, served: Sequence[str] = ()
) -> Callable[[Testbed], dict[str, float]]:
    """Return what measures the intervals between the frames of a sender.

    They are those between the kernel's stamps of arrivals, taken in the same way for all. On
    virtual Ethernet a frame arrives within the call that sends it.
    """

    def measure(bed: Testbed) -> dict[str, float]:
        one, other = bed.hosts
        fill = {"ipv4": other.ipv4, "mac": other.mac, "own": one.ipv4, "port": str(PORT)}
        server = Running(other, 1, [word.format(**fill) for word in served]) if served else None
        if server:
            _give_time(server)
        watch = Running(
            other,
            1,
            [sys.executable, "-m", "benches.live", "--watch", str(SECONDS + 1), one.mac],
            wait_for="ready",
        )
        given = {"trafgen": _trafgen_config(bed)}.get(words[0])
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


def _trafgen_config(bed: Testbed) -> str:
    one, other = bed.hosts
    octets = ",".join(
        f"0x{octet}" for octet in (*other.mac.split(":"), *one.mac.split(":"), "88", "b5")
    )
    return f"{{ {octets}, fill(0, 46) }}\n"


def watch(seconds: float, sender: str) -> dict[str, float]:
    """Measure the intervals between frames of 60 octets from one station; runs on the receiving
    host.

    Parameters
    ----------
    seconds
        For how long.
    sender
        Its Ethernet address.

    Returns
    -------
    :
        `share` within 5 us of 100 us, `frames`, and half the range in which 98% of the intervals
        lie, in us.

    """
    timestampns, all_frames, frame_octets = (
        35,
        3,
        60,
    )  # SO_TIMESTAMPNS, ETH_P_ALL, 64 without the FCS
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
    # The first tenth of a second is that of waking up.
    intervals_us = [
        (later - earlier) / 1000 for earlier, later in itertools.pairwise(stamps[1000:])
    ]
    if not intervals_us:
        raise ChildError("no frames of 64 octets came")
    on_time = sum(abs(interval_us - PACE_US) <= ON_TIME_US for interval_us in intervals_us)
    return {
        "share": on_time / len(intervals_us),
        "frames": len(intervals_us),
        "mean_us": sum(intervals_us) / len(intervals_us),
    }


# --- wires
# -------------------------------------------------------------------------------------------------------------------------------


def latency_slope(program: str, kind: WireKind) -> dict[str, float]:
    """Fit the latency of lone frames against their size, host to host through two wires of 10 Mb/s
    and a switch between them.

    Parameters
    ----------
    program
        Our station.
    kind
        What makes the wires slow.

    Returns
    -------
    :
        `error`: by what share the slope is off the time of an octet on both wires; `slope_us` and
        `intercept_us` of the medians of round trips, halved; `slept`: share of the time that the
        relay slept, where there is one.

    """
    medians_us = []
    # Both ends sleep while they wait, before all others when they wake up: else long ways would be
    # held up more by what runs beside them.
    real_time = ("--fifo", "1", program)
    with make_testbed(2, layout="switch", wires=Wire(WIRE_BPS, kind=kind)) as bed:
        one, other = bed.hosts
        for octets in WIRE_SIZES:
            words = [
                f"seconds={WIRE_EXCHANGES * WIRE_PAUSE_US / 1e6}",
                f"interval={WIRE_PAUSE_US}",
                "batch=1",
                f"frame={octets}",
            ]
            echo = station(
                "chrt",
                other,
                1,
                *real_time,
                "echo",
                *address("udp", other, one),
                f"seconds={LIMIT_S}",
                "batch=1",
            )
            out, _ = station(
                "chrt", one, 0, *real_time, "ask", *address("udp", one, other), *words
            ).end()
            echo.stop()
            medians_us.append(json.loads(out)["round_trip_ns"]["p50"] / 2000)
    slope_us, intercept_us = (float(value) for value in np.polyfit(WIRE_SIZES, medians_us, 1))
    expected_us = 2 * 8e6 / WIRE_BPS
    fitted = {
        "error": abs(slope_us / expected_us - 1),
        "slope_us": slope_us,
        "intercept_us": intercept_us,
    }
    result = bed.relay and bed.relay.result
    return fitted | ({"slept": result.slept_ns / result.over_ns} if result else {})


# --- all of it
# ---------------------------------------------------------------------------------------------------------------------------


def measure(
    program: str,
    *,
    tables: Sequence[str] = TABLES,
    peers: Sequence[str] = PACED,
    rounds: int = ROUNDS,
    follow: Callable[[str], None],
) -> dict[str, Any]:
    """Measure the wanted tables, ours and theirs in turns.

    Parameters
    ----------
    program
        Our station.
    tables
        Of `TABLES`.
    peers
        Those of `PACED` that pacing is compared with.
    rounds
        How often each is measured, at least 1.
    follow
        Called with what is measured next.

    Returns
    -------
    :
        `machine`, and for each table its rows: `ours` and `theirs` (medians), `ratio` (ours over
        the peer's of each round: `median`, `low`, `high`, by key), `met` (of each key with a target
        and a ratio, whether the median is at least `TARGET`); `status` says why if something was
        not measured.

    """
    here = machine.describe()
    rows = _Rows(rounds, follow)
    results: dict[str, Any] = {}
    with make_testbed(2) as bed:
        if "frames" in tables:
            results["frames"] = [
                rows.measure(
                    "UDP",
                    "iperf3",
                    lambda: ours_udp(bed, program),
                    lambda: iperf3(bed),
                    target=("sender", "both"),
                ),
                rows.measure(
                    "AF_PACKET",
                    "trafgen",
                    lambda: ours_raw("packet", bed, program),
                    lambda: trafgen(bed),
                    target=("sender",),
                ),
                rows.measure(
                    "AF_XDP",
                    "dpdk-testpmd",
                    lambda: ours_raw("xdp", bed, program),
                    lambda: testpmd(bed),
                    target=("sender",),
                ),
            ]
        if "round_trips" in tables:
            results["round_trips"] = [
                rows.measure(
                    name,
                    "sockperf",
                    lambda port=port: ours_round_trip(port, bed, program),  # type: ignore[misc]
                    lambda: sockperf(bed),
                )
                for name, port in (("UDP", "udp"), ("AF_PACKET", "packet"), ("AF_XDP", "xdp"))
            ]
        if "pacing" in tables:
            results["pacing"] = _pacing(bed, program, rows, peers)
    if "wires" in tables:
        kinds: dict[WireKind, str] = {"relay": "relayed wires", "shaped": "shaped wires"}
        results["wires"] = [
            rows.measure(what, "", lambda kind=kind: latency_slope(program, kind), None)  # type: ignore[misc]
            for kind, what in kinds.items()
        ]
    return {"machine": {**here, "load_at_end": machine.load()}, **results}


def _pacing(
    bed: Testbed, program: str, rows: "_Rows", wanted: Sequence[str]
) -> list[dict[str, Any]]:
    """Measure ours, without real-time priority alone and with it beside every peer that can be
    given a rate.
    """
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


class _Rows:
    """Measures rows of tables, ours and theirs in turns."""

    def __init__(self, rounds: int, follow: Callable[[str], None]) -> None:
        self._rounds = rounds
        self._follow = follow

    def measure(
        self,
        what: str,
        peer: str,
        ours: Callable[[], dict[str, float]],
        theirs: Callable[[], dict[str, float]] | None,
        *,
        target: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Measure one row: `target` names the keys whose ratios are judged."""
        missing = bool(peer) and shutil.which(peer) is None
        status = "not installed" if missing else "measured"
        of_ours: list[dict[str, float]] = []
        of_theirs: list[dict[str, float]] = []
        for turn in range(self._rounds):
            self._follow(
                f"{' beside '.join(filter(None, (what, peer)))}, {turn + 1} of {self._rounds}"
            )
            try:
                of_ours.append(ours())
                if theirs is not None and not missing:
                    of_theirs.append(theirs())
            except ChildError as error:
                status = f"failed: {error}"
                break
        row = {"what": what, "peer": peer, "status": status, **compared(of_ours, of_theirs)}
        return row | {"met": met(row["ratio"], target)}


def compared(
    ours: Sequence[dict[str, float]], theirs: Sequence[dict[str, float]]
) -> dict[str, Any]:
    """Compare runs round by round.

    Parameters
    ----------
    ours, theirs
        Figures of each run, by key, in the order in which the runs took turns. A last round without
        a partner has no ratio.

    Returns
    -------
    :
        `ours`, `theirs`: the medians by key, None without a run; `ratio`: of each key that both
        have, ours over theirs as `median`, `low` and `high` over the rounds; None without a round
        in which the peer's figure is above 0.

    """
    ratios: dict[str, list[float]] = {}
    for one, other in zip(ours, theirs, strict=False):
        for key, value in one.items():
            if other.get(key, 0.0) > 0:
                ratios.setdefault(key, []).append(value / other[key])
    spread = {
        key: {"median": float(np.median(of)), "low": min(of), "high": max(of)}
        for key, of in ratios.items()
    }
    return {"ours": _medians(ours), "theirs": _medians(theirs), "ratio": spread or None}


def met(ratio: dict[str, dict[str, float]] | None, target: Sequence[str]) -> dict[str, bool]:
    """Return of each key in `target` that has a ratio whether its median is at least `TARGET`."""
    return {key: ratio[key]["median"] >= TARGET for key in target if ratio and key in ratio}


def _medians(runs: Sequence[dict[str, float]]) -> dict[str, float] | None:
    return {key: float(np.median([run[key] for run in runs])) for key in runs[0]} if runs else None


def _give_time(server: Running) -> None:
    """Let a server that does not say when it listens begin to do so."""
    try:
        server.process.wait(STARTS_S)
    except subprocess.TimeoutExpired:
        return
    server.end()
    raise ChildError(f"{server.name}: ended at once")


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise ChildError(f"its answer has no {pattern!r}")
    return match[1]


def build_station() -> str:
    """Build our station and return its path."""
    words = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--package",
        "ethermeter-live",
        "--example",
        "station",
        "--message-format",
        "json",
    ]
    try:
        built = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ChildError(f"cargo: {error}") from None
    return str(
        next(
            message["executable"]
            for message in map(json.loads, built.splitlines())
            if message.get("executable")
        )
    )


def print_results(results: dict[str, Any]) -> None:
    """Print what was measured, for a person."""
    here = results["machine"]
    print(
        f"{here['cpu']}, {here['processors']} processors, {here['system']}; load {here['load']}"
        f" before, {here['load_at_end']} after"
    )
    print(
        "Medians of all rounds; ratios are of the two runs of a round: median [lowest to"
        f" highest]; PASS at a median of {TARGET:g} or more"
    )
    tables = {
        "frames": (
            "64-octet frames over virtual Ethernet, thousands per CPU-second: of the sender, of"
            " both ends",
            {"sender": 1e-3, "both": 1e-3},
            "k",
        ),
        "round_trips": (
            "Round trip of 64-octet frames, both ends spinning, us: median, 99%",
            {"p50": 1.0, "p99": 1.0},
            "",
        ),
        "pacing": (
            f"Intervals of {PACE_US} us: share within {ON_TIME_US} us",
            {"share": 100.0},
            "%",
        ),
        "wires": (
            f"Latency slope through two hops of {WIRE_BPS / 1e6:g} Mb/s ({2 * 8e6 / WIRE_BPS:g} us"
            " an octet): slope, intercept, us",
            {"slope_us": 1.0, "intercept_us": 1.0},
            "",
        ),
    }
    for name, (title, scales, unit) in tables.items():
        if name in results:
            print(f"\n{title}")
            for row in results[name]:
                print(line(row, scales, unit))


def line(row: dict[str, Any], scales: dict[str, float], unit: str) -> str:
    """Return a row for a person: what, ours, the peer, its figure, the ratio with its spread, and
    PASS or MISS where there is a target.
    """

    def shown(run: dict[str, float] | None) -> str:
        return (
            "–"
            if run is None
            else " ".join(
                f"{run[key] * scale:.{3 if key == 'slope_us' else 1}f}{unit}"
                for key, scale in scales.items()
                if key in run
            )
        )

    judged = {key: " PASS" if is_met else " MISS" for key, is_met in row["met"].items()}
    ratios = (
        {key: row["ratio"][key] for key in scales if key in row["ratio"]} if row["ratio"] else {}
    )
    ratio = ", ".join(
        f"{of['median']:.3f} [{of['low']:.3f} to {of['high']:.3f}]{judged.get(key, '')}"
        for key, of in ratios.items()
    )
    status = "" if row["status"] == "measured" else f"  ({row['status']})"
    return (
        f"  {row['what']:16} {shown(row['ours']):18} {row['peer']:14} {shown(row['theirs']):18}"
        f" ratio {ratio or '–'}{status}"
    )


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


@contextmanager
def _told() -> Iterator[None]:
    """Tell what cannot be done in one line."""
    try:
        yield
    except (ChildError, TestbedError) as error:
        print(f"benches.live: {error}", file=sys.stderr)
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; returns 0 if all that is installed could be measured, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.live", description="Live stations beside their peers; needs root."
    )
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="print JSON, and nothing else, on stdout",
    )
    parser.add_argument(
        "--only",
        choices=TABLES,
        action="append",
        metavar="TABLE",
        help=f"measure this table only: {', '.join(TABLES)}; may be repeated",
    )
    parser.add_argument(
        "--peer",
        choices=PACED,
        action="append",
        metavar="PEER",
        help=f"compare pacing with this peer only: {', '.join(PACED)}; may be repeated",
    )
    parser.add_argument(
        "--rounds",
        type=_count,
        default=ROUNDS,
        metavar="N",
        help=f"how often each is measured ({ROUNDS})",
    )
    parser.add_argument("--watch", nargs=2, metavar=("SECONDS", "SENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    with _told():
        if options.watch:
            print(json.dumps(watch(float(options.watch[0]), options.watch[1])))
            return 0
        results = measure(
            build_station(),
            tables=options.only or TABLES,
            peers=options.peer or PACED,
            rounds=options.rounds,
            follow=lambda step: print(f"benches: {step}", file=sys.stderr, flush=True),
        )
    if options.as_json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_results(results)
    failed = [
        row
        for table in TABLES
        for row in results.get(table, [])
        if row["status"].startswith("failed")
    ]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
