"""`ethermeter testbed`: hosts that stay until they are taken down."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from ethermeter.api import testbed, testbed_view
from ethermeter.faults import InputError
from ethermeter.testbed import kept, record, remove_leftovers
from program import LIMIT_S, eventually, invoke, real, started

LISTEN = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.bind(("", 9))
    port.settimeout(120)
    print("ready", flush=True)
    print(port.recv(99).decode())
"""
SAY = (
    "import socket, sys; socket.socket(socket.AF_INET, "
    "socket.SOCK_DGRAM).sendto(b'hello', (sys.argv[1], 9))"
)


def heard(first: dict[str, str], last: dict[str, str]) -> str:
    """Say hello from one host to another; return what is heard there."""

    def on(host: dict[str, str], *words: str) -> list[str]:
        return ["ip", "netns", "exec", host["namespace"], sys.executable, "-c", *words]

    with subprocess.Popen(on(last, LISTEN), stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout is not None
        listener.stdout.readline()
        subprocess.run(on(first, SAY, last["ipv4"]), check=True)
        return listener.stdout.read().strip()


@pytest.mark.root
@pytest.mark.xdist_group("leftovers")
def test_a_testbed_stays_reaches_its_hosts_and_is_removed_by_its_name(namespaces, up):
    made = up("hosts=3", "rate=10 Mb/s")
    mine = {host["namespace"] for host in made["hosts"]} | {f"{made['name']}-s1"}
    assert namespaces() >= mine
    first, last = made["hosts"][0], made["hosts"][-1]
    assert heard(first, last) == "hello"
    # Its maker is gone from the record's point of view, and still it is nobody's leftover.
    assert made["name"] not in remove_leftovers()
    assert made["name"] in {
        each["name"] for each in json.loads(invoke("testbed", "show", "--json")[1])
    }
    assert all(host["namespace"] in invoke("testbed", "show")[1] for host in made["hosts"])
    code, text, _ = invoke("testbed", "down", made["name"], "--json")
    assert (code, json.loads(text)) == (0, {"removed": [made["name"]]})
    assert not namespaces() & mine
    assert made["name"] not in kept()


@pytest.mark.root
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "hosts=1", "layout=switch"), "hosts = 1: must be from 2 to 64"),
        (("up", "hosts=3", "layout=pair"), "hosts = 3: must be 2"),
        (("up", "rate=1 b/s"), "rate_bps = 1: must be from 64 kb/s to 10 Gb/s"),
        (("up", "rate=10 m"), "rate = 10 m"),
        (("up", "rate=10 Mb/s", "queue=1 B"), "queue_octets"),
        (("up", "mtu=100"), "mtu = 100"),
        (("up", "--hosts", "3"), "now hosts=VALUE"),
        (("up", "wire=tape"), "wire = tape: expected one of shaped, relay"),
        (("down",), "NAME = not given"),
        (("down", "em-1-abcd"), "NAME = em-1-abcd"),
        (("down", "em-1-abcd", "--all"), "given together with all of them"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line_and_makes_nothing(words, said, namespaces):
    before = namespaces(maker=os.getpid())
    code, _, error = invoke("testbed", *words)
    assert (code, said in error) == (2, True), error
    assert namespaces(maker=os.getpid()) == before


STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.mark.root
@pytest.mark.xdist_group("leftovers")
def test_down_ends_a_relay_that_is_stopped_and_programs_that_run_on_hosts(up):
    made = up("wire=relay", "rate=10 Mb/s")
    name = made["name"]
    pids = ["ip", "netns", "pids", f"{name}-wires"]
    (relay,) = subprocess.run(pids, check=True, capture_output=True, text=True).stdout.split()
    os.kill(int(relay), signal.SIGSTOP)
    program = real("testbed", "exec", name, 1, "--", sys.executable, "-c", STUBBORN)
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as stubborn:
        assert stubborn.stdout is not None
        assert stubborn.stdout.readline() == "ready\n"
        ended = invoke("testbed", "down", name)
        assert (ended.returncode, ended.stdout) == (0, f"{name}: removed\n"), ended.stderr
        assert stubborn.wait(LIMIT_S) == -signal.SIGKILL
    eventually(lambda: not Path("/proc", relay).exists())


@pytest.mark.root
@pytest.mark.xdist_group("leftovers")
def test_what_cannot_be_ended_is_named(up, monkeypatch):
    name = up()["name"]
    monkeypatch.setattr(record, "GRACE_S", 0.1)
    # Signals that end nothing.
    monkeypatch.setattr(record, "signal", SimpleNamespace(SIGTERM=0, SIGKILL=0))
    program = real("testbed", "exec", name, 1, "--", "sleep", "1000")
    with subprocess.Popen(program) as sleeper:
        eventually(lambda: Path("/proc", str(sleeper.pid), "comm").read_text() == "sleep\n")
        ended = invoke("testbed", "down", name)
        sleeper.kill()
    assert ended.returncode == 1
    assert f"could not be ended: process {sleeper.pid} (sleep)" in ended.stderr
    assert "removed" not in ended.stdout


@pytest.mark.root
@pytest.mark.xdist_group("leftovers")
def test_a_testbed_whose_maker_was_killed_is_listed_and_removed_by_its_name(namespaces):
    with started(real("testbed", "up", "hosts=40", "layout=switch")) as maker:
        eventually(lambda: namespaces(maker=maker.pid))
        maker.kill()
        maker.wait()
    left = namespaces(maker=maker.pid)
    (name,) = {namespace.rpartition("-")[0] for namespace in left}
    shown = json.loads(invoke("testbed", "show", "--json").stdout)
    assert {"name": name, "unfinished": True} in shown
    assert f"{name}: unfinished" in invoke("testbed", "show").stdout
    ended = invoke("testbed", "down", name)
    assert (ended.returncode, ended.stdout) == (0, f"{name}: removed\n"), ended.stderr
    assert not namespaces(maker=maker.pid)


def test_without_root_a_line_says_so(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, _, error = invoke("testbed", "up")
    assert (code, "need root" in error) == (1, True)


@pytest.mark.root
@pytest.mark.xdist_group("leftovers")
def test_a_testbed_is_made_used_shown_and_removed_from_python():
    made = testbed.up(hosts=3, rate="10 Mb/s")
    try:
        assert [wire.rate_bps for wire in made.wires] == [10_000_000] * 3
        assert testbed.execute(made.name, "2", ["sh", "-c", "exit 7"]) == 7
        listed = testbed_view.show()
        assert isinstance(listed, testbed_view.Listing)
        assert made in listed.testbeds
        with pytest.raises(InputError, match="a number from 1 to 3"):
            testbed.execute(made.name, "h9", ["true"])
        with pytest.raises(InputError, match="a testbed with a segment"):
            testbed_view.show(made.name, live=True)
    finally:
        removed = testbed.down([made.name])
    assert (removed.removed, removed.wires, removed.faults) == ([made.name], {}, [])
