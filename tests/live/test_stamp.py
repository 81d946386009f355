"""STAMP and TWAMP Light between network namespaces, with the programs of others and among us.

The programs are the crates stamp-suite 1.0 and twamp-rs 0.2 (`scripts/install-stamp-peers`). Every
frame is recorded, and Wireshark's dissector reads it.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ethermeter.live_reports import StampMeasurement
from ethermeter.metrics import Metric
from ethermeter.probing import by_stamp
from ethermeter.probing.peers import stamp
from ethermeter.testbed import Host, make_testbed
from program import LIMIT_S
from stalls import Contention

# What others wrote is built once.
pytestmark = [pytest.mark.root, pytest.mark.xdist_group("peers of STAMP")]
ROOT = Path(__file__).parents[2]
KEY = b"0123456789abcdef0123456789abcdef"
TRACE = re.compile(r"Expert Info \(Chat/Sequence\): Possible traceroute: hop #\d+, attempt #\d+,?")
PACKETS = 50
INTERVAL_NS = 4_000_000
FLUSH_S = 0.5
"""The kernel hands frames to a capture in blocks, each after a quarter of a second at most."""


@pytest.fixture(scope="module")
def peers() -> Path:
    """Folder of the peers' programs; skips with the reason if they cannot be had."""
    folder = ROOT / "target" / "peers"
    if shutil.which("cargo") is None and not (folder / "bin" / "twamp-peer").exists():
        pytest.skip("stamp-suite and twamp-rs need cargo")
    script = [ROOT / "scripts" / "install-stamp-peers", folder]
    built = subprocess.run(script, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"stamp-suite and twamp-rs cannot be installed: {built.stderr[-300:]}")
    return folder / "bin"


@pytest.fixture
def pair() -> Iterator[tuple[Host, Host]]:
    """Two hosts on an unshaped wire."""
    with make_testbed(2) as bed:
        yield bed.hosts[0], bed.hosts[1]


@contextlib.contextmanager
def running(host: Host, *command: object, ready: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a program on a host from when a line of its output matches, until the block ends."""
    words = host.command(*map(str, command))
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ)
    ) as process:
        assert process.stdout is not None
        try:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if re.search(ready, line):
                    break
            else:
                pytest.fail(f"{command} ended: {lines}")
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def recorded(host: Host, file: Path) -> Iterator[None]:
    """Record the frames of a host's interface into a file."""
    command = ("dumpcap", "-q", "-i", host.interface, "-f", "udp", "-w", file)
    with running(host, *command, ready="File:") as process:
        yield
        time.sleep(FLUSH_S)
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT_S)


def ours(host: Host, *options: object) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """Run our reflector on a host."""
    command = (sys.executable, "-m", "ethermeter", "reflector", "--json", *options)
    return running(host, *command, ready="listening on")


def counted(process: "subprocess.Popen[str]") -> dict[str, int]:
    """End a reflector of ours, and return what it counted."""
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT_S)
    found = json.loads(output)
    assert isinstance(found, dict)
    return found


def session(
    host: Host,
    to: Host,
    *,
    packets: int = PACKETS,
    interval_ns: int = INTERVAL_NS,
    **options: object,
) -> StampMeasurement:
    """Send a session from a host to a reflector on another one."""
    return stamp(
        f"{to.ipv4}:862",
        packets=packets,
        interval_ns=interval_ns,
        namespace=Path("/run/netns") / host.namespace,
        **options,  # type: ignore[arg-type]
    )


def check_session(found: StampMeasurement, *, has_times: bool = True) -> None:
    """Every packet was answered, with its four times in order if the reflector has right ones."""
    assert found.sent >= PACKETS
    assert sorted(found.sequence) == list(range(found.sent))
    assert (found.duplicates, found.foreign, found.not_authentic, found.late) == (0, 0, 0, 0)
    # The namespaces share a clock: times in packets are rounded to a quarter of a nanosecond, and
    # programs that do not use the kernel's time stamps read the clock later.
    sent, received, answered, returned = np.array(found.times_ns).T
    assert (returned > sent).all()
    if not has_times:
        return
    assert (received - sent >= -1).all()
    assert (answered - received >= 0).all()
    assert (returned - answered >= -1).all()


def dissect(file: Path, port: int, protocol: str = "twamp.test") -> list[str]:
    """Return what Wireshark finds wrong in the packets of a port; there must be such packets.

    Wireshark takes UDP to ports from 33434 on for a trace of a route, and the system may choose
    such a port for a sender. That remark is not about the packets.
    """
    command = ["tshark", "-n", "-r", str(file), "-d", f"udp.port=={port},{protocol}"]
    fields = ["-T", "fields", "-e", "frame.protocols", "-e", "_ws.malformed", "-e", "_ws.expert"]
    found = subprocess.run([*command, *fields], capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in found.stdout.splitlines()]
    tests = [line for line in lines if "twamp" in line[0]]
    assert len(tests) >= 2 * PACKETS, found.stdout[:500]
    found_wrong = ([line[0], *(TRACE.sub("", each) for each in line[1:])] for line in tests)
    return [" ".join(line) for line in found_wrong if any(line[1:])]


@pytest.mark.parametrize("mode", ["open", "authenticated"])
@pytest.mark.parametrize("extension", ["plain", "tlvs"])
def test_our_sender_and_the_reflector_of_stamp_suite(
    peers: Path, pair: tuple[Host, Host], tmp_path: Path, mode: str, extension: str
) -> None:
    here, there = pair
    is_authenticated, has_tlvs = mode == "authenticated", extension == "tlvs"
    options = ["--stateful-reflector", "-A", "A" if is_authenticated else "O"]
    options += ["--hmac-key", KEY.hex()] if is_authenticated else []
    command = (peers / "stamp-suite", "-i", "-S", there.ipv4, "-o", 862, *options)
    file = tmp_path / "frames.pcapng"
    with running(there, *command, ready=r"862"), recorded(here, file):
        key = KEY if is_authenticated else None
        found = session(here, there, has_tlvs=has_tlvs, key=key, ssid=0)
    check_session(found)
    assert set(found.sender_ttl) == {255}
    if has_tlvs:
        # Counters (5), timestamping (3) and the HMAC (8) are understood: no flag is set.
        kinds = {5, 3, 8} if is_authenticated else {5, 3}
        assert dict(found.tlvs) == dict.fromkeys(kinds, 0)
    if not is_authenticated:
        assert dissect(file, 862) == []


@pytest.mark.parametrize("mode", ["open", "authenticated"])
def test_the_sender_of_stamp_suite_and_our_reflector(
    peers: Path, pair: tuple[Host, Host], tmp_path: Path, mode: str
) -> None:
    here, there = pair
    is_authenticated = mode == "authenticated"
    key = tmp_path / "key"
    key.write_bytes(KEY)
    options = ["--key-file", key] if is_authenticated else []
    file = tmp_path / "frames.pcapng"
    with (
        ours(there, "--listen", there.ipv4, "--allow", here.ipv4, *options) as reflector,
        recorded(here, file),
    ):
        command = [peers / "stamp-suite", "-r", there.ipv4, "-S", here.ipv4, "-c", PACKETS]
        command += ["-d", "4", "-A", "A" if is_authenticated else "O"]
        command += ["--hmac-key", KEY.hex()] if is_authenticated else []
        words = here.command(*map(str, command))
        sent = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        counts = counted(reflector)
    assert counts["answered"] == counts["received"] == PACKETS, (counts, sent.stdout, sent.stderr)
    assert re.search(rf"\b{PACKETS}\b.*\b{PACKETS}\b", sent.stdout + sent.stderr, re.DOTALL)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    if not is_authenticated:
        assert dissect(file, 862) == []


def test_our_sender_and_the_reflector_of_twamp_rs(
    peers: Path, pair: tuple[Host, Host], tmp_path: Path
) -> None:
    here, there = pair
    file = tmp_path / "frames.pcapng"
    command = (peers / "twamp-peer", "reflect", f"{there.ipv4}:862", 2)
    with running(there, *command, ready="listening"), recorded(here, file):
        found = session(here, there, packets=60, interval_ns=20_000_000)
    # twamp-rs 0.2 writes nanoseconds where fractions of a second belong, and a TTL of 255 always.
    check_session(found, has_times=False)
    assert set(found.sender_ttl) == {255}
    values, notes = by_stamp.values(found)
    assert any("nanoseconds" in note for note in notes)
    assert {value.flow for value in values} == {by_stamp.ROUND_TRIP}
    assert dissect(file, 862) == []


def test_the_sender_of_twamp_rs_and_our_reflector(
    peers: Path, pair: tuple[Host, Host], tmp_path: Path
) -> None:
    here, there = pair
    file = tmp_path / "frames.pcapng"
    with (
        # That sender waits for nothing but answers.
        ours(
            there, "--listen", there.ipv4, "--allow", "10.0.0.0/8", "--rate", 100_000
        ) as reflector,
        recorded(here, file),
    ):
        command = (peers / "twamp-peer", "send", f"{here.ipv4}:4001", PACKETS, f"{there.ipv4}:862")
        words = here.command(*map(str, command), "27")
        sent = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert sent.returncode == 0, sent.stderr
        # Packets without padding have 14 octets, and an answer has 41: there is none.
        blind = (peers / "twamp-peer", "blind", f"{here.ipv4}:4002", 5, f"{there.ipv4}:862")
        subprocess.run(here.command(*map(str, blind)), check=True, timeout=LIMIT_S)
        counts = counted(reflector)
    for number, line in enumerate(sent.stdout.splitlines()):
        octets, own, echoed, ttl, *_ = line.split()
        # That sender leaves the hop limit of its packets at the system's 64.
        assert (octets, int(own), int(echoed), ttl) == ("41", number, number, "64")
    assert len(sent.stdout.splitlines()) == PACKETS
    assert (counts["answered"], counts["malformed"]) == (PACKETS, 5)
    assert dissect(file, 862) == []


@pytest.mark.parametrize("mode", ["open", "authenticated"])
def test_our_sender_and_our_reflector(
    pair: tuple[Host, Host], tmp_path: Path, mode: str, unless_held_up: Contention
) -> None:
    here, there = pair
    is_authenticated = mode == "authenticated"
    key = tmp_path / "key"
    key.write_bytes(KEY)
    options = ["--key-file", key] if is_authenticated else []
    file = tmp_path / "frames.pcapng"
    with (
        ours(there, "--listen", there.ipv4, "--allow", here.ipv4, *options) as reflector,
        recorded(here, file),
    ):
        found = session(here, there, key=KEY if is_authenticated else None, octets=512)
        wrong = session(here, there, key=b"another key", patience_ns=300_000_000)
        counts = counted(reflector)
    check_session(found)
    assert wrong.sequence == ()
    refused = counts["not_authentic" if is_authenticated else "answered"]
    assert refused >= PACKETS
    assert found.clock is not None
    # One clock: its offset from itself is 0, within the stated bound.
    assert abs(found.clock.offset_ns) <= found.clock.uncertainty_ns
    values, _ = by_stamp.values(found)
    trip = next(value for value in values if value.metric is Metric.ROUND_TRIP_P50)
    assert trip.estimate.value > 0
    unless_held_up(trip.estimate.value < 0.01, f"a round trip of {trip.estimate.value} s")
    if not is_authenticated:
        assert dissect(file, 862) == []
