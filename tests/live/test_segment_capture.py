"""Captures of emulated segments: every frame and every collision that the relay counted."""

import fcntl
import itertools
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.testbed import kept
from live_runs import measure
from program import LIMIT_S, call, eventually, invoke, real, started

pytestmark = pytest.mark.root

COAX = em.segment(
    "ieee-10",
    length="500 m",
    stations=em.stations(count=4, frames="256 B", arrivals="saturated"),
    phases={"settle": "1 ms", "transmit": "300 ms", "measure": "last 200 ms"},
    run={"engines": ["live"]},
)
LONG = COAX.changed({"segment.length": "2.5 km"})
T1S = COAX.changed(segment={"standard": "10base-t1s", "length": "25 m", "plca": {"burst-cnt": 0}})
FLOOD = """
import socket, sys
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[2])):
    made.sendto(bytes(400), (sys.argv[1], 9))
"""
"""Sends datagrams as fast as its shaper lets it; the answers are ICMP."""
COLLISION = re.compile(
    r"(?:late )?collision of stations? [0-9, and]+, attempt \d+, \d+\.\d us; \d+ of \d+ octets "
    r"sent(?:; given up, waited \d+\.\d{3} us)?"
)
LOGICAL = re.compile(r"logical collision of station \d+, attempt \d+, nothing on the line")


@pytest.fixture
def segment(tmp_path, up) -> str:
    """Name of a standing segment of four hosts."""
    return up(COAX.save(tmp_path / "segment.toml"))["name"]


@pytest.fixture
def tshark() -> str:
    tool = shutil.which("tshark")
    assert tool, "tshark is missing; scripts/install-system-packages installs it"
    return tool


def marks(tshark: str, path: Path) -> tuple[Counter[str], Counter[str], list[str]]:
    """What Wireshark reads: frames and collisions by interface, and the comments of these."""
    fields = ("frame.interface_name", "frame.packet_flags_crc_error", "frame.comment")
    options = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(
        [tshark, "-n", "-r", path, "-T", "fields", "-E", "separator=|", *options],
        check=True,
        capture_output=True,
        text=True,
    )
    frames, collisions, comments = Counter[str](), Counter[str](), []
    for line in done.stdout.splitlines():
        interface, is_wrong, comment = line.split("|")
        if "collision" in comment:
            collisions[interface] += 1
            comments.append(comment)
            assert is_wrong in {"1", "True"} or LOGICAL.fullmatch(comment)
        else:
            frames[interface] += 1
            assert is_wrong in {"0", "False"}
    return frames, collisions, comments


def deliveries(tshark: str, path: Path) -> list[tuple[int, int]]:
    """Starts in ns and octets of the frames that were sent."""
    shown = ["-Y", 'not frame.comment contains "collision"', "-T", "fields"]
    fields = ["-e", "frame.time_epoch", "-e", "frame.len"]
    done = subprocess.run(
        [tshark, "-n", "-r", path, *shown, *fields], check=True, capture_output=True, text=True
    )
    lines = (line.split() for line in done.stdout.splitlines())
    return [(int(at.replace(".", "")), int(octets)) for at, octets in lines]


def packets(path: Path) -> int:
    """Packets of a file by capinfos."""
    capinfos = subprocess.run(
        ["capinfos", "-Mrc", path], check=True, capture_output=True, text=True
    )
    return int(capinfos.stdout.split()[-1])


def has_begun(capture: Path) -> bool:
    return capture.exists() and capture.stat().st_size > 0


def counted(name: str) -> list[dict[str, int]]:
    """Counters of the stations, once nothing happens any more."""
    before = None
    while True:
        shown = json.loads(invoke("testbed", "show", name, "--json").stdout)
        stations = shown["segments"][0]["stations"]
        if stations == before:
            return stations
        before = stations
        time.sleep(0.3)


def test_a_standing_segment_is_captured_with_all_frames_and_collisions(segment, tshark, tmp_path):
    out = tmp_path / "a segment.pcapng"
    before = counted(segment)
    words = ("testbed", "show", segment, "--capture", out, "--json")
    hosts = kept()[segment].hosts
    with started(real(*words)) as capture:
        eventually(lambda: has_begun(out))
        flood = [sys.executable, "-c", FLOOD]
        ends = zip(hosts, (*hosts[1:], hosts[0]), strict=True)
        running = [subprocess.Popen(of.command(*flood, to.ipv4, "150")) for of, to in ends]
        assert all(each.wait() == 0 for each in running)
        after = counted(segment)
        refused = invoke("testbed", "show", segment, "--capture", tmp_path / "b.pcapng")
        assert refused.returncode == 1
        assert "the segment is being captured already" in refused.stderr
        capture.send_signal(signal.SIGINT)
        told, said = capture.communicate(timeout=LIMIT_S)
    assert capture.returncode == 130, said
    account = json.loads(told)
    frames, collisions, comments = marks(tshark, out)
    names = [f"station-{number}" for number in range(1, 5)]
    expected = {
        key: {
            name: now[key] - then[key] for name, then, now in zip(names, before, after, strict=True)
        }
        for key in ("frames", "collisions")
    }
    assert frames == expected["frames"]
    assert collisions == expected["collisions"]
    assert min(collisions.values()) > 0
    assert all(COLLISION.fullmatch(comment) for comment in comments), comments[:3]
    assert account["dropped"] == account["beyond_size"] == 0
    assert account["collisions"] == sum(collisions.values())
    assert account["frames"] == sum(frames.values()) + account["collisions"] == packets(out)
    assert account["file_octets"] == out.stat().st_size
    explained = invoke("explain", out, "--json")
    found = json.loads(explained.stdout)
    assert (found["packets"], found["damaged"]) == (sum(frames.values()), account["collisions"])
    assert "earlier than one before" not in explained.stderr
    # Preamble, frame and check sequence take 100 ns a bit, and a gap of 96 bits follows; stations
    # count it from when they hear the end, so that it is no shorter.
    sent = deliveries(tshark, out)
    for (start_ns, octets), (following_ns, _) in itertools.pairwise(sent):
        assert following_ns >= start_ns + (8 + octets + 4) * 800 + 9600


@pytest.mark.parametrize("medium", [COAX, LONG, T1S])
def test_the_capture_of_a_measured_segment_has_what_its_relay_counted(medium, tshark, tmp_path):
    short = medium.changed({"stations.0.frames": "64 B"})
    measured = measure(short, tmp_path, "--on", "testbed", "--capture", "--json")
    stations = measured.result()["segment"]["stations"]
    (file,) = (measured.run / "captures").glob("*/*-segment.pcapng")
    frames, collisions, comments = marks(tshark, file)
    for number, station in enumerate(stations, 1):
        assert frames[f"station-{number}"] == station["frames"]
        assert collisions[f"station-{number}"] == station["collisions"]
    assert comments
    (account,) = json.loads(measured.printed.stdout)["captures"]
    assert (account["host"], account["dropped"]) == ("segment", 0)
    assert account["frames"] == packets(file)


def test_a_segment_is_captured_for_a_time_a_number_of_frames_and_into_a_pipe(
    segment, tshark, tmp_path
):
    begin_s = time.monotonic()
    out = tmp_path / "time.pcapng"
    done = call(real("testbed", "show", segment, "--capture", out, "--for", "500 ms"))
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin_s >= 0.5
    assert "0 frames" in " ".join(done.stdout.split())
    assert packets(out) == 0
    ping = ["ping", "-q", "-i", "0.2", kept()[segment].hosts[1].ipv4]
    with started(real("testbed", "exec", segment, "station-1", "--", *ping)):
        out = tmp_path / "frames.pcapng"
        words = ("--capture", out, "frames=5", "octets=64", "--json")
        done = call(real("testbed", "show", segment, *words))
        assert done.returncode == 0, done.stderr
        account = json.loads(done.stdout)
        assert (account["frames"], account["ended"]) == (5, "frames")
        assert packets(out) == 5
        piped = subprocess.run(
            real("testbed", "show", segment, "--capture", "-", "frames=3"),
            check=True,
            capture_output=True,
        )
    (tmp_path / "piped.pcapng").write_bytes(piped.stdout)
    assert packets(tmp_path / "piped.pcapng") == 3
    assert b"3 frames" in b" ".join(piped.stderr.split())


def test_a_capture_that_is_killed_ends_and_another_may_begin(segment, tmp_path):
    out = tmp_path / "killed.pcapng"
    with started(real("testbed", "show", segment, "--capture", out)) as capture:
        eventually(lambda: has_begun(out))
        capture.kill()
    again = real("testbed", "show", segment, "--capture", out, "--for", "10 ms")
    eventually(lambda: call(again).returncode == 0)
    assert packets(out) == 0


def test_what_cannot_be_captured_is_refused_in_a_line(segment, tmp_path):
    for words, said in (
        (("em-1-abcd", "--capture", "x"), "NAME = em-1-abcd"),
        ((segment, "--capture", "no/such/x"), "--capture = no/such/x"),
        ((segment, "--capture", "."), "--capture = .: "),
        ((segment, "--capture", "x", "--for", "10 m"), "--for = 10 m"),
        ((segment, "--capture", "x", "--segment", "2"), "--segment = 2"),
        ((segment, "--capture", "-", "--json"), "--json"),
        ((segment, "--capture", "x", "--live"), "--live"),
        ((segment, "--live", "--json"), "--json"),
        ((segment, "--for", "1 s"), "--for = 1 s"),
        (("--capture", "x"), "--capture = given without a testbed"),
    ):
        refused = invoke("testbed", "show", *words, cwd=tmp_path)
        assert refused.returncode == 2, refused.stderr
        assert said in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
        assert not list(tmp_path.glob("x"))


def test_captures_and_views_end_when_their_testbed_is_removed(segment, tmp_path):
    out = tmp_path / "x.pcapng"
    capture = ("testbed", "show", segment, "--capture", out)
    view = ("testbed", "show", segment, "--live")
    with started(real(*capture)) as captured, started(real(*view)) as viewed:
        assert viewed.stdout is not None
        while "all:" not in viewed.stdout.readline():
            pass
        eventually(lambda: has_begun(out))
        assert invoke("testbed", "down", segment).returncode == 0
        for process in (captured, viewed):
            _, said = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 0, said
            assert f"testbed {segment} was removed" in said
    assert packets(out) == 0


def test_a_view_prints_lines_without_a_terminal_and_ends_by_ctrl_c(segment):
    with started(real("testbed", "show", segment, "--live")) as viewed:
        assert viewed.stdout is not None
        lines: list[str] = []
        while sum("all:" in line for line in lines) < 2:
            lines.append(viewed.stdout.readline())
        viewed.send_signal(signal.SIGINT)
        _, said = viewed.communicate(timeout=LIMIT_S)
    assert viewed.returncode == 130, said
    assert sum(line.startswith("station-4 ") for line in lines) == 2
    assert "\x1b" not in "".join(lines)
    assert "Traceback" not in said


def test_a_view_is_refreshed_in_place_on_a_terminal(tmp_path, up):
    name = up(T1S.save(tmp_path / "segment.toml"))["name"]
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    # These would be taken for the size of the terminal.
    environment = {key: of for key, of in os.environ.items() if key not in ("COLUMNS", "LINES")}
    viewed = subprocess.Popen(
        real("testbed", "show", name, "--live"),
        stdout=side,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(side)
    try:
        shown = b""
        while shown.count(b"all:") < 3:
            shown += os.read(main, 1 << 16)
    finally:
        viewed.send_signal(signal.SIGINT)
        viewed.communicate(timeout=LIMIT_S)
        os.close(main)
    assert viewed.returncode == 130
    text = shown.decode()
    # Time, head, four stations and two lines of all, each time in place of the time before.
    assert text.count("\x1b[8F\x1b[J") == 2
    assert text.count("PLCA") == 3
    (used, yielded) = re.findall(r"station-2 .* OK +(\d+) +(\d+) +\d+", text)[-1]
    # Nothing is sent: each cycle is a beacon of 20 bits and four opportunities of 32, at 10 Mb/s.
    # Two looks are a second apart to a hundredth.
    expected = 1e7 / (20 + 4 * 32)
    assert (used, int(yielded)) == ("0", pytest.approx(expected, rel=0.01))
    assert re.search(r"\d+ beacons/s", text)


def test_hosts_are_found_by_name_and_close_names_are_suggested(segment):
    for host in ("3", "station-3", kept()[segment].hosts[2].namespace):
        done = call(real("testbed", "exec", segment, host, "--", "ip", "-brief", "addr"))
        assert kept()[segment].hosts[2].ipv4 in done.stdout
    refused = invoke("testbed", "exec", segment, "staton-3", "--", "true")
    assert refused.returncode == 2
    assert "did you mean station-3" in refused.stderr
    refused = invoke("testbed", "exec", segment[:-1], "1", "--", "true")
    assert f"did you mean {segment}?" in refused.stderr
