"""Captures that are taken while a trial is measured: every frame is in them or counted, and nothing
is left of what was interrupted.
"""

import json
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ethermeter as em
import pytest
from ethermeter import _core
from ethermeter.testbed import Host, make_testbed
from ethermeter.testbed.record import NAMESPACES
from live_runs import measure, refusal
from program import LIMIT_S, call, eventually, invoke, real, started
from shared_experiments import star

pytestmark = pytest.mark.root

NETWORK = star(
    [em.host("sender", count=2), "sink"],
    em.flow("load", "sender", "sink", data="500 B", arrivals={"regular": "1 ms"}),
    rate="100 Mb/s",
    phases={"transmit": "0.5 s", "measure": "all"},
    run={"engines": ["live"], "replications": 2},
)
STREAM = """
import socket, struct, sys
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[2])):
    # The mark of docs/reference/test-frames.md: of a stream, experiment 1, stream 2, its number, no
    # time.
    mark = struct.pack(">BBHHHIHI", 0xE3, 0x10, 1, 2, 0, number, 0, 0)
    made.sendto(mark + bytes(400), (sys.argv[1], 5001))
"""
"""Sends datagrams as fast as it can; nobody listens, and the first are answered by ICMP."""
FRAMES = 20_000
TAGGED = """
import socket, sys
made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
made.bind((sys.argv[1], 0))
made.send(bytes.fromhex(sys.argv[2]))
"""
INTERFACE_STATISTICS = 5
ENHANCED_PACKET = 6
OUT = 2


def written(folder: Path, transmit: str) -> Path:
    return NETWORK.changed({"phases.transmit": transmit}).save(folder / "experiment.toml")


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Type and body of every block of a pcapng file of this machine's byte order."""
    octets, at = path.read_bytes(), 0
    while at < len(octets):
        kind, length = struct.unpack_from("=II", octets, at)
        yield kind, octets[at + 8 : at + length - 4]
        at += length


def options(body: bytes, at: int) -> dict[int, bytes]:
    """Options of a block's body from `at` on, by their codes."""
    found: dict[int, bytes] = {}
    while (head := struct.unpack_from("=HH", body, at))[0]:
        found[head[0]] = body[at + 4 : at + 4 + head[1]]
        at += 4 + -(-head[1] // 4) * 4
    return found


def ways(path: Path) -> list[int]:
    """Which way each packet of a capture went: 1 in, 2 out."""
    found = []
    for kind, body in blocks(path):
        if kind == ENHANCED_PACKET:
            kept = struct.unpack_from("=I", body, 12)[0]
            found.append(struct.unpack("=I", options(body, 20 + -(-kept // 4) * 4)[2])[0] & 3)
    return found


def sent_by_interface(host: Host) -> int:
    """Frames that the interface of a host has counted as sent."""
    told = subprocess.run(
        host.command("cat", f"/sys/class/net/{host.interface}/statistics/tx_packets"),
        check=True,
        capture_output=True,
    )
    return int(told.stdout)


def explained(path: Path) -> dict[str, Any]:
    done = invoke("explain", path, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_capture_has_exactly_the_frames_that_the_senders_interface_counted(tmp_path):
    with make_testbed(2) as made:
        sender, receiver = made.hosts
        paths = [tmp_path / "sender.pcapng", tmp_path / "receiver.pcapng"]
        counts = [sent_by_interface(sender)]
        recorders = [
            _core.Recorder(path, host.interface, namespace=NAMESPACES / host.namespace)
            for path, host in zip(paths, made.hosts, strict=True)
        ]
        counts.append(sent_by_interface(sender))
        subprocess.run(
            sender.command(sys.executable, "-c", STREAM, receiver.ipv4, str(FRAMES)), check=True
        )
        counts.append(sent_by_interface(sender))
        accounts = [json.loads(recorder.finish()) for recorder in recorders]
        counts.append(sent_by_interface(sender))
    # The kernel sends a frame of its own now and then: one while the recorder begins or ends may be
    # in the capture or not.
    assert FRAMES <= counts[2] - counts[1] <= ways(paths[0]).count(OUT) <= counts[3] - counts[0]
    for path, account in zip(paths, accounts, strict=True):
        assert account["dropped"] == account["beyond_size"] == 0
        assert explained(path)["dropped"] == {"by_interface": None, "by_system": 0}
        (stream,) = (flow for flow in explained(path)["flows"] if flow["mark"] is not None)
        assert (stream["packets"], stream["numbers"]["sent"], stream["numbers"]["missing"]) == (
            FRAMES,
            FRAMES,
            0,
        )


def test_a_frame_with_a_vlan_tag_is_whole_at_both_ends_though_the_kernel_keeps_the_tag_apart(
    tmp_path,
):
    with make_testbed(2) as made:
        sender, receiver = made.hosts
        # Priority 3, VLAN 5, EtherType 88B6 (802-2014, table 1: local, and not ours), so that
        # nobody answers.
        frame = bytes.fromhex(
            receiver.mac.replace(":", "") + sender.mac.replace(":", "") + "8100" + "6005" + "88b6"
        ) + bytes(range(100))
        paths = [tmp_path / "sender.pcapng", tmp_path / "receiver.pcapng"]
        recorders = [
            _core.Recorder(
                path, host.interface, namespace=NAMESPACES / host.namespace, snap_octets=64
            )
            for path, host in zip(paths, made.hosts, strict=True)
        ]
        subprocess.run(
            sender.command(sys.executable, "-c", TAGGED, sender.interface, frame.hex()), check=True
        )
        for recorder in recorders:
            recorder.finish()
    for path in paths:
        packets = [body for kind, body in blocks(path) if kind == ENHANCED_PACKET]
        kept = [(struct.unpack_from("=II", body, 12), body[20 : 20 + 64]) for body in packets]
        assert ((64, len(frame)), frame[:64]) in kept


def test_at_every_host_there_is_a_capture_of_every_trial_with_all_that_agents_sent_and_received(
    tmp_path,
):
    printed, run = measure(NETWORK, tmp_path, "--on", "testbed", "--capture")
    assert "6 captures" in printed.stdout
    assert ", 0 frames dropped" in printed.stdout
    for trial in ("experiment/00000", "experiment/00001"):
        result = json.loads((run / "live" / f"{trial}.json").read_text())
        said = json.loads((run / "captures" / f"{trial}.json").read_text())["hosts"]
        assert list(said) == ["sender1", "sender2", "sink"]
        assert all(
            one["dropped"] == 0 and one["beyond_size"] == 0 and one["snap_octets"] == 128
            for one in said.values()
        )
        for host, one in said.items():
            path = run / "captures" / f"{trial}-{host}.pcapng"
            assert len(ways(path)) == one["frames"]
            marked = [flow for flow in explained(path)["flows"] if flow["mark"] is not None]
            assert all(flow["numbers"]["missing"] == 0 for flow in marked)
            flows = result["flows"].values()
            sent = sum(flow["sent"] for flow in flows if flow["from"] == host)
            assert sum(flow["packets"] for flow in marked) == sent + sum(
                flow["received"] for flow in flows if flow["to"] == host
            )
            (statistics,) = (
                options(body, 12) for kind, body in blocks(path) if kind == INTERFACE_STATISTICS
            )
            # isb_filteraccept, isb_osdrop, isb_usrdeliv
            assert [struct.unpack("=Q", statistics[code])[0] for code in (6, 7, 8)] == [
                one["frames"],
                0,
                one["frames"],
            ]
    page = (run / "report.html").read_text(encoding="utf-8")
    assert 'href="captures/experiment/00001-sink.pcapng"' in page
    assert "ethermeter explain captures/experiment/00001-sink.pcapng" in page


def test_over_loopback_one_host_is_recorded_no_further_than_its_size_and_goes_with_the_run(
    tmp_path,
):
    run, experiment = tmp_path / "run", written(tmp_path, "1.5 s")
    words = ["measure", experiment, "--on", "loopback", "--set", "run.replications=1", "--out", run]
    limits = ["octets=1000", "size=1"]
    # Other tests use the same loopback addresses.
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    done = call([*alone, *real(*words, "at=sink", *limits, "--json")])
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["captures"]
    assert told["file"] == "captures/experiment/00000-sink.pcapng"
    said = json.loads((run / "captures" / "experiment" / "00000.json").read_text())["hosts"]
    assert list(said) == ["sink"]
    result = json.loads((run / "live" / "experiment" / "00000.json").read_text())
    # Two streams of 1500 frames of 542 octets are more than a megabyte.
    assert said["sink"]["frames"] + said["sink"]["beyond_size"] == sum(
        flow["sent"] for flow in result["flows"].values()
    )
    assert said["sink"]["beyond_size"] > 0
    assert "size=MB allows more" in done.stderr
    path = run / "captures" / "experiment" / "00000-sink.pcapng"
    assert said["sink"]["file_octets"] == path.stat().st_size <= 1_000_000
    assert explained(path)["cut"] == 0
    assert invoke(*words, "--force").returncode == 0
    assert not (run / "captures").exists()


def test_of_a_trial_that_is_interrupted_no_capture_is_left(tmp_path):
    run = tmp_path / "run"
    words = ("measure", written(tmp_path, "20 s"), "--on", "loopback", "--capture", "--out", run)
    with started(real(*words)) as process:
        eventually(lambda: len(list(run.glob("captures/experiment/.tmp-*"))) == 3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, said
    assert not list(run.glob("captures/experiment/*"))


def test_who_may_not_hear_frames_is_told_so(tmp_path):
    words = ("--on", "loopback", "--capture", "--out", tmp_path / "run")
    command = ("measure", written(tmp_path, "0.5 s"), *words)
    done = call(["setpriv", "--bounding-set", "-net_raw", *real(*command)])
    assert done.returncode == 2, done.stderr
    assert "CAP_NET_RAW" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (
            ("--on", "loopback", "at=nobody"),
            "hosts of the experiment: sender1, sender2, sink",
        ),
        (("--on", "hosts.toml", "--capture"), "a capture is taken where the agent runs"),
        (
            ("--on", "loopback", "size=5"),
            "expected with capture, or with hosts to record at, only",
        ),
    ],
)
def test_what_cannot_be_recorded_is_said_in_a_line(tmp_path, words, fault):
    assert fault in refusal(NETWORK, tmp_path, *words)
    assert not (tmp_path / "run").exists()
