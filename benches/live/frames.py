"""Frames per CPU-second, of our station and of iperf3, trafgen and testpmd."""

import json
import math
import os
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from ethermeter.testbed import Host, Testbed

from benches.children import ChildError, run_child
from benches.live.process import (
    LIMIT_S,
    PORT,
    SECONDS,
    Running,
    address,
    give_time,
    station,
    trafgen_config,
)

RAW_FRAMES = 1_500_000


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
    give_time(server)
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
    """Send 64-octet raw frames without a receiver."""
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
    """Do the same with trafgen, whose start-up time of several frames is included."""
    one, _ = bed.hosts
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write(trafgen_config(bed))
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
    """Do the same with testpmd of DPDK.

    CPU time is that of its sending thread while it sends, because testpmd starts slowly.
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
            # A few frames of other programs do not count.
            while _sent_frames(one) < before + RAW_FRAMES // 100:
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
