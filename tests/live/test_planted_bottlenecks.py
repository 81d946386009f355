"""Bottlenecks that were planted on a testbed, and what is left of it afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from bottleneck_runs import search_bottleneck
from ethermeter.analysis.roofline import read
from ethermeter.bottleneck import load, make_bench
from ethermeter.bottleneck.quota import Stopping, quota_on
from ethermeter.store import RunDirectory
from msgspec import structs
from program import LIMIT_S, eventually

pytestmark = pytest.mark.root

CHEAP = ("slow-source", "turn-around", "sender-processor")
MS = 10**9
"""In picoseconds."""
TOLERATED_STALL_S = 0.5
"""Of some ten seconds.

Rounds repeat the same transfers, and the rule that names a point allows for one that was held up.
"""


@pytest.mark.long
def test_planted_bottlenecks_are_named(new_path, namespaces, in_quiet_window):
    for name in CHEAP:
        whole = load(name)
        brief = structs.replace(whole.transfer, settle=50 * MS, duration=250 * MS)
        document = structs.replace(whole, transfer=brief)

        def bottleneck(document=document) -> str | None:
            out = new_path()
            found = search_bottleneck(document, out, repetitions=5)
            written = json.loads(RunDirectory(out).answer())
            assert read(written["roofline"], file="f") == found.path()
            assert len(written["order"]) == written["rounds"] * (1 + len(written["changes"]))
            return found.bottleneck

        named = in_quiet_window(bottleneck, tolerated_stall_s=TOLERATED_STALL_S)
        assert namespaces(maker=os.getpid()) == set()
        assert named == document.planted


def test_wires_windows_and_devices_of_a_bench_carry_no_more_than_they_should():
    plain = replace(load("wire").setup(), settle_ns=100_000_000, window_ns=300_000_000)
    far = replace(plain, delay_ns=5_000_000)
    slow = replace(plain, frame_ns=1_000_000, room_frames=100)
    with make_bench() as bench:
        near, away, small, device, again = (
            bench.run(setup)
            for setup in (plain, far, replace(far, receive_octets=16_000), slow, plain)
        )
    # 1448 octets of data in 1538 on a wire of 50 Mb/s, and two frames more that the shaper may have
    # saved up. A receiver that did not get a processor while it settled may read in 300 ms what
    # came in 400.
    most_bps = (50e6 * 1448 / 1538 * 0.4 + 2 * 8 * 1448) / 0.3
    for outcome in (near, away, again):
        assert 0 < outcome.throughput_bps <= most_bps
    # Both ways take the delay, whatever else there is.
    assert away.round_trip_s >= 0.010
    # A window each 10 ms, of which the kernel grants at most twice what was asked for; and one more
    # at either end.
    assert small.throughput_bps <= 8 * 2 * 16_000 * (0.3 / 0.010 + 2) / 0.3 < 0.8 * most_bps
    # A frame with 1448 octets of data in each millisecond, likewise; one begun before counts too.
    assert device.throughput_bps <= 8 * 1448 * (400 + 1) / 0.3


def test_an_interrupted_search_leaves_no_testbed_and_no_control_group(namespaces, tmp_path):
    command = [sys.executable, "-m", "ethermeter", "find", "bottleneck", "wire"]
    with subprocess.Popen(
        [*command, "--on", "testbed", "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        eventually(lambda: _groups(process.pid))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert namespaces(maker=process.pid) == set()
    assert _groups(process.pid) == []


def _groups(pid: int) -> list[Path]:
    return [
        path
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified")
        for path in Path(root).glob(f"ethermeter-{pid}-*")
    ]


SPIN = "import sys; print(flush=True)\nwhile True: pass"


@pytest.mark.parametrize("limit", [quota_on, lambda pid: closing(Stopping(pid))])
def test_a_limited_process_gets_no_more_than_its_share_of_a_processor(limit, unless_held_up):
    with subprocess.Popen(
        [sys.executable, "-c", SPIN], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with limit(process.pid) as quota:
                quota.limit(0.2)
                begun_s, begun_work_s = time.monotonic(), _worked_s(process.pid)
                time.sleep(0.5)
                eventually(lambda: _worked_s(process.pid) > begun_work_s)
                worked_s = _worked_s(process.pid) - begun_work_s
                lasted_s = time.monotonic() - begun_s
        finally:
            process.kill()
    # A period more at each end, and two processor times (of the program, and of the system for it)
    # that are each counted in whole ticks of 10 ms. Where processes are stopped, the system wakes
    # late.
    most_s = 0.2 * lasted_s + 2 * 0.002 + 2 * 0.01
    if quota.means.startswith("cgroup"):
        assert worked_s <= most_s
    else:
        unless_held_up(worked_s <= 0.5 * lasted_s, f"{worked_s} of {lasted_s} s")


def _worked_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_worker_ends_with_its_maker_even_in_the_middle_of_a_task():
    command = [sys.executable, "-m", "ethermeter.testbed.worker"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write("{}\n")
        worker.stdin.flush()
        assert worker.stdout.readline() == "{}\n"
        # A receiver waits for somebody to connect.
        task = {
            "receive": {
                "address": "127.0.0.1:0",
                "connections": 1,
                "settle_ns": 0,
                "window_ns": None,
            }
        }
        worker.stdin.write(json.dumps(task) + "\n")
        worker.stdin.flush()
        worker.stdin.close()
        assert worker.wait(timeout=LIMIT_S) == 0
