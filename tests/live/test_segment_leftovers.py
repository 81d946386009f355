"""Commands on segments that are killed leave nothing, or what the next command removes; and no
frame of a testbed is seen outside it.
"""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.testbed import kept, remove_leftovers
from ethermeter.testbed.record import NAMESPACES, RECORDS
from program import call, eventually, real

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.xdist_group("leftovers")]

SEGMENT = em.segment(
    "ieee-10",
    length="500 m",
    stations=em.stations(count=3, frames="512 B", arrivals="saturated"),
    phases={"settle": "1 ms", "transmit": "300 ms", "measure": "all"},
    run={"engines": ["live"]},
)
MARK = "ETHERMETER_TEST_PROCESS"
"""Variable by which the processes of a command are found, whoever their parent is."""
KILLS = 6
"""Moments at which each command is killed, in one test each."""
EVERY_PROTOCOL = 0x0003


def processes(mark: str) -> list[int]:
    """Processes that descend from a command with this mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found


def left(maker: int) -> list[Path]:
    """Return the namespaces, records, control sockets and results of a maker's testbeds."""
    folders = [folder for folder in (NAMESPACES, RECORDS) if folder.is_dir()]
    return [path for folder in folders for path in folder.glob(f"em-{maker}-*")]


def cleared(maker: int) -> None:
    """Do what the next command does, and remove what was complete when its maker was killed.

    As `testbed down --all`, but other testbeds may be in use.
    """
    remove_leftovers()
    for name in [name for name in kept() if name.startswith(f"em-{maker}-")]:
        done = call(real("testbed", "down", name))
        assert done.returncode == 0, done.stderr
    # A command of another test that has begun to remove them goes on meanwhile.
    eventually(lambda: not left(maker))


def seconds(*words: object) -> float:
    """Return how long a command takes that is not killed."""
    begin_s = time.monotonic()
    done = call(real(*words))
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begin_s


def killed(after_s: float, *words: object) -> tuple[int, str]:
    """Kill a command; return its process id and the mark of its processes."""
    mark = str(uuid.uuid4())
    command = subprocess.Popen(
        real(*words),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, MARK: mark},
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        command.wait(after_s)
    command.send_signal(signal.SIGKILL)
    command.wait()
    return command.pid, mark


def test_a_measurement_of_a_segment_that_is_killed_at_any_moment_leaves_nothing(tmp_path):
    path = SEGMENT.save(tmp_path / "segment.toml")
    words = ("measure", path, "--on", "testbed", "--capture", "--force", "--out", tmp_path / "run")
    whole_s = seconds(*words)
    moments = random.Random(17)
    for _ in range(KILLS):
        after_s = moments.uniform(0.1, whole_s)
        maker, mark = killed(after_s, *words)
        # Relay and agents end with it, without another command.
        eventually(lambda of=mark: not processes(of))
        cleared(maker)
        assert left(maker) == [], after_s
    # Nothing that is left is in the way of the next measurement, of which nothing is left either.
    maker, mark = killed(10 * whole_s + 60, *words)
    assert left(maker) == processes(mark) == []
    (account,) = (tmp_path / "run" / "captures").glob("*/*.json")
    assert json.loads(account.read_text())["hosts"]["segment"]["frames"] > 0
    assert not [path for path in (tmp_path / "run").rglob("*") if "tmp" in path.name]


def test_a_segment_that_was_to_stay_and_whose_maker_was_killed_is_removed(tmp_path):
    path = SEGMENT.save(tmp_path / "segment.toml")
    begin_s = time.monotonic()
    made = call(real("testbed", "up", path, "--json"))
    up_s = time.monotonic() - begin_s
    down_s = seconds("testbed", "down", json.loads(made.stdout)["name"])
    moments = random.Random(18)
    for _ in range(KILLS):
        after_s = moments.uniform(0.1, up_s)
        maker, mark = killed(after_s, "testbed", "up", path)
        cleared(maker)
        # The relay ends with its interfaces.
        eventually(lambda of=mark: not processes(of))
        assert left(maker) == [], after_s
    for _ in range(KILLS // 2):
        mark = str(uuid.uuid4())
        made = call(real("testbed", "up", path, "--json"), env={MARK: mark})
        name = json.loads(made.stdout)["name"]
        after_s = moments.uniform(0.1, down_s)
        killed(after_s, "testbed", "down", name)
        maker = int(name.split("-")[1])
        cleared(maker)
        eventually(lambda of=mark: not processes(of))
        assert name not in kept()
        assert left(maker) == [], after_s


class Listener:
    """Frames on every interface of this process's network namespace, in both directions."""

    def __init__(self) -> None:
        self.kinds: set[int] = set()
        self.addresses: set[str] = set()
        self._ended = threading.Event()
        self._socket = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL)
        )
        self._socket.settimeout(0.1)
        self._thread = threading.Thread(target=self._listen)

    def _listen(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                frame = self._socket.recv(14)
                self.kinds.add(int.from_bytes(frame[12:14]))
                self.addresses |= {frame[0:6].hex(":"), frame[6:12].hex(":")}

    def __enter__(self) -> "Listener":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as listening:
        yield listening


def interfaces() -> dict[str, str]:
    """Interfaces of this process's namespace, with their addresses of Ethernet."""
    return {path.name: (path / "address").read_text() for path in Path("/sys/class/net").iterdir()}


def test_no_frame_and_no_interface_of_a_segment_is_outside_its_testbed(tmp_path, listener):
    before = interfaces()
    path = SEGMENT.save(tmp_path / "segment.toml")
    made = call(real("testbed", "up", path, "--json"))
    assert made.returncode == 0, made.stderr
    name = json.loads(made.stdout)["name"]
    hosts = kept()[name].hosts
    try:
        # None of its interfaces, nor an end of one, is here.
        assert interfaces() == before
        inside = sum(len(links(path.name)) for path in NAMESPACES.glob(f"{name}-*"))
        assert inside == 2 * len(hosts) + 2 * len(hosts)  # both ends: to the segment and to control
        # A broadcast that reaches the segment, and addresses beyond it, which no host can reach.
        ping = ["ping", "-q", "-c", "3", "-i", "0.2", "-b", "10.77.0.255"]
        subprocess.run(hosts[0].command(*ping), check=False, capture_output=True)
        beyond = subprocess.run(
            hosts[0].command("ping", "-c", "1", "-W", "1", "192.0.2.1"),
            check=False,
            capture_output=True,
            text=True,
        )
        assert "unreachable" in beyond.stdout + beyond.stderr
        shown = json.loads(call(real("testbed", "show", name, "--json")).stdout)
        (stations,) = [segment["stations"] for segment in shown["segments"]]
        assert stations[0]["frames"] > 0
    finally:
        call(real("testbed", "down", name))
    run = tmp_path / "run"
    done = call(real("measure", path, "--on", "testbed", "--out", run))
    assert done.returncode == 0, done.stderr
    assert interfaces() == before
    # A frame of this machine itself, which shows that the listener hears.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.sendto(b"x", ("127.0.0.1", 9))
    eventually(lambda: 0x0800 in listener.kinds)
    assert not listener.addresses & {host.mac for host in hosts}


def links(namespace: str) -> list[str]:
    """Names of the virtual Ethernet interfaces in a namespace."""
    command = ["ip", "-n", namespace, "-json", "link", "show", "type", "veth"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [link["ifname"] for link in json.loads(done.stdout or "[]")]
