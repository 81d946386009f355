"""Testbeds are what was asked for, refuse what cannot be, and leave nothing behind."""

import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ethermeter.faults import InputError
from ethermeter.testbed import TestbedError, Wire, addresses, make_testbed, remove_leftovers
from ethermeter.testbed.addresses import MOST_LEARNED, limit_learning
from ethermeter.testbed.record import RECORDS, Record, remove_namespaces
from program import eventually

MAKE_AND_WAIT = """
import sys
from ethermeter.testbed import make_testbed
with make_testbed(2) as bed:
    print(bed.name, flush=True)
    sys.stdin.read()
"""


def answer(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.root
def test_a_testbed_and_its_record_are_gone_when_it_is_left(namespaces):
    before = namespaces(maker=os.getpid())
    with make_testbed(3, layout="switch") as bed:
        made = namespaces(maker=os.getpid()) - before
        assert made >= {host.namespace for host in bed.hosts} | {bed.switch}
        assert (RECORDS / f"{bed.name}.json").exists()
    assert not any(name.startswith(bed.name) for name in namespaces())
    assert not (RECORDS / f"{bed.name}.json").exists()


@pytest.mark.root
def test_a_testbed_is_removed_when_what_runs_on_it_fails(namespaces):
    with pytest.raises(ZeroDivisionError), make_testbed(2) as bed:
        raise ZeroDivisionError
    assert not any(name.startswith(bed.name) for name in namespaces())


@pytest.mark.root
@pytest.mark.xdist_group("leftovers")
def test_the_leftover_of_a_killed_process_is_removed_and_the_testbed_of_a_living_one_is_not(
    namespaces,
):
    with subprocess.Popen(
        [sys.executable, "-c", MAKE_AND_WAIT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as maker:
        assert maker.stdout is not None
        name = maker.stdout.readline().strip()
        mine = {f"{name}-h1", f"{name}-h2"}
        assert name not in remove_leftovers()
        assert namespaces() >= mine
        maker.send_signal(signal.SIGKILL)
    # Another process may have begun to remove it.
    remove_leftovers()
    eventually(lambda: not namespaces() & mine)
    eventually(lambda: not (RECORDS / f"{name}.json").exists())


@pytest.mark.root
def test_a_process_left_on_a_host_keeps_no_interface_of_the_testbed(namespaces):
    with make_testbed(2) as bed:
        left = subprocess.Popen(
            bed.hosts[0].command(sys.executable, "-c", "import sys; sys.stdin.read()"),
            stdin=subprocess.PIPE,
        )
        try:
            links = f"/proc/{left.pid}/net/dev"
            assert "em0" in Path(links).read_text(encoding="ascii") or answer(
                bed.hosts[0].command("cat", "/proc/net/dev")
            )
        except BaseException:
            left.kill()
            raise
    try:
        assert not namespaces() & {host.namespace for host in bed.hosts}
        assert "em0" not in Path(links).read_text(encoding="ascii")
    finally:
        left.communicate()


@pytest.mark.root
def test_hosts_know_each_other_and_nobody_else():
    with make_testbed(3, layout="switch") as bed:
        for host in bed.hosts:
            links = {
                link["ifname"] for link in json.loads(answer(host.command("ip", "-json", "link")))
            }
            assert links == {"lo", "em0"}
            neighbours = {
                line.split()[0]
                for line in answer(
                    host.command("ip", "neigh", "show", "nud", "permanent")
                ).splitlines()
            }
            assert neighbours == {
                address
                for other in bed.hosts
                if other is not host
                for address in (other.ipv4, other.ipv6)
            }


@pytest.mark.root
def test_nothing_is_offloaded_that_would_make_few_frames_of_many():
    with make_testbed(2) as bed:
        offloads = answer(bed.hosts[0].command("ethtool", "-k", "em0"))
        state = {
            key.strip(): value.split()[0]
            for key, _, value in (line.partition(":") for line in offloads.splitlines()[1:])
        }
    for offload in (
        "tcp-segmentation-offload",
        "generic-segmentation-offload",
        "generic-receive-offload",
        "tx-checksumming",
    ):
        assert state[offload] == "off"


@pytest.mark.root
def test_one_wire_may_be_slower_than_the_other():
    with make_testbed(2, wires=(Wire(10_000_000), None)) as bed:
        kinds = [
            json.loads(answer(host.command("tc", "-json", "qdisc", "show", "dev", "em0")))[0][
                "kind"
            ]
            for host in bed.hosts
        ]
    assert kinds == ["tbf", "noqueue"]


@pytest.mark.root
def test_a_namespace_of_somebody_else_is_not_removed(tmp_path):
    for foreign in ("vpn", "em-1-ab", "../em-1-abcd-h1", "em-1-abcd-h1/.."):
        with pytest.raises(TestbedError, match="not the name"):
            remove_namespaces([foreign])


def test_a_record_that_names_others_namespaces_removes_none_of_them(tmp_path):
    record = Record.make(["h1"], tmp_path)
    record.path.write_text('{"namespaces": ["vpn"]}', encoding="ascii")
    os.close(record.lock)  # as if its maker had been killed
    assert remove_leftovers(tmp_path) == [record.name]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"namespaces": 1}', '{"namespaces": [1]}']
)
def test_a_damaged_record_is_removed(tmp_path, content):
    record = Record.make([], tmp_path)
    record.path.write_text(content, encoding="ascii")
    os.close(record.lock)
    assert remove_leftovers(tmp_path) == [record.name]


def test_the_draft_of_a_killed_maker_is_removed_and_that_of_a_living_one_is_not(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    drafts = [tmp_path / f"em-{maker}-abcd.draft" for maker in (ended.pid, os.getpid())]
    for draft in drafts:
        draft.touch()
    assert remove_leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == [drafts[1]]


def test_a_record_that_is_held_is_left_alone(tmp_path):
    record = Record.make([], tmp_path)
    assert remove_leftovers(tmp_path) == []
    record.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"hosts": 1}, "hosts"),
        ({"hosts": 3}, "hosts"),
        ({"hosts": 65, "layout": "switch"}, "hosts"),
        ({"layout": "ring"}, "layout"),
        ({"mtu": 100}, "mtu"),
        ({"wires": [None]}, "wires"),
        ({"wires": Wire(1)}, "rate_bps"),
        ({"wires": Wire(10_000_000, queue_octets=1000)}, "queue_octets"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_can(arguments, key):
    with pytest.raises(InputError, match=f"{key}.* = .*: must be"), make_testbed(**arguments):  # type: ignore[arg-type]
        pass


@pytest.mark.root
def test_without_root_it_says_so():
    program = (
        "import os; os.setresuid(65534, 65534, 65534)\n"
        "from ethermeter.testbed import TestbedError, make_testbed\n"
        "try:\n    make_testbed(2).__enter__()\nexcept TestbedError as error:\n    print(error)"
    )
    # Everything is imported before the rights are given up, as the checkout may lie where nobody
    # else may look.
    program = "import ethermeter.testbed, json, subprocess\n" + program
    assert (
        answer([sys.executable, "-c", program])
        == "network namespaces need root, this is user 65534\n"
    )


FLOOD = """
import socket, struct
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
    port.bind(("em0", 0))
    for number in range(10_000):
        source = b"\\x02\\x99" + struct.pack("!I", number)
        port.send(b"\\x02\\0\\0\\0\\0\\x02" + source + b"\\x88\\xb5" + bytes(46))
"""


@pytest.mark.root
def test_a_switch_learns_as_many_addresses_as_usual():
    with make_testbed(2, layout="switch") as bed:
        # With a short queue the receiver may drop frames; the bridge has seen them.
        subprocess.run(bed.hosts[0].command(sys.executable, "-c", FLOOD), check=True)
        show = ["ip", "netns", "exec", bed.switch, "bridge", "-json", "fdb", "show", "br", "bridge"]
        table = json.loads(subprocess.run(show, check=True, capture_output=True).stdout)
    learned = {each["mac"] for each in table if each["mac"].startswith("02:99:")}
    # The addresses of the hosts themselves may be among those that are learned.
    assert MOST_LEARNED - 2 <= len(learned) <= MOST_LEARNED


@pytest.mark.root
def test_a_bridge_that_is_not_there_is_named():
    with make_testbed(2) as bed, pytest.raises(TestbedError, match=r"none: .*No such device"):
        limit_learning(bed.hosts[0].namespace, "none")


def test_an_older_kernel_is_told_of_once(monkeypatch, caplog):
    monkeypatch.setattr(addresses, "_can_limit", functools.cache(addresses._can_limit.__wrapped__))
    release = os.uname()
    monkeypatch.setattr(
        addresses.os,
        "uname",
        lambda: os.uname_result((*release[:2], "6.1.0-18-amd64", *release[3:])),
    )
    for _ in range(2):
        limit_learning("em-1-abcd-switch", "bridge")
    (record,) = caplog.records
    assert record.getMessage() == (
        "switches of testbeds learn any number of addresses: Linux 6.1.0-18-amd64 has no limit, "
        "6.7 has"
    )
