"""The file of hosts: what it says, and every fault in it with key, value and what is allowed."""

import json
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import _core, hosts_file
from ethermeter.api.hosts import busy_with
from ethermeter.faults import InputError
from ethermeter.live_reports import HostActivity
from ethermeter.live_test import AgentEntry
from program import invoke
from shared_experiments import star


def written(folder: Path, text: str) -> Path:
    path = folder / "hosts.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_station_has_the_address_of_its_control_unless_it_says_another(tmp_path):
    path = written(
        tmp_path,
        """certificates = "lab"
[hosts.a]
control = "10.0.0.1:4988"
[hosts.b]
control = "[fd00::2]:5000"
address = "192.168.1.2"
interface = "eth1"
""",
    )
    hosts = hosts_file.read(path)
    assert hosts.stations == {
        "a": AgentEntry(name="a", control="10.0.0.1:4988", address="10.0.0.1"),
        "b": AgentEntry(
            name="b", control="[fd00::2]:5000", address="192.168.1.2", interface="eth1"
        ),
    }
    assert hosts.certificates == tmp_path / "lab"
    assert hosts.certified() == ["a=10.0.0.1=10.0.0.1", "b=fd00::2=192.168.1.2"]


def test_loopback_needs_no_certificates(tmp_path):
    laboratory = hosts_file.read(
        written(tmp_path, '[hosts.a]\ncontrol = "127.0.0.1:4988"\n')
    ).laboratory()
    assert laboratory.credentials is None
    assert laboratory.is_one_machine


def test_missing_certificates_are_a_fault_that_says_how_to_make_them(tmp_path):
    path = written(tmp_path, 'certificates = "lab"\n[hosts.a]\ncontrol = "10.0.0.1:4988"\n')
    with pytest.raises(InputError, match=r"ethermeter hosts .* --certify"):
        hosts_file.read(path).laboratory()


FAULTS = {
    "": "(file) = empty",
    "hosts = 3": "hosts = 3: expected 1 to 1000 tables",
    'certificates = "lab"': "hosts = (missing)",
    '[hosts.a]\ncontrol = "10.0.0.1"': 'hosts.a.control = "10.0.0.1": expected ADDRESS:PORT',
    '[hosts.a]\ncontrol = "10.0.0.1:0"': 'hosts.a.control = "10.0.0.1:0": expected ADDRESS:PORT',
    '[hosts.a]\ncontrol = "10.0.0.1:65536"': "expected ADDRESS:PORT",
    '[hosts.a]\ncontrol = "300.0.0.1:4988"': "expected ADDRESS:PORT",
    "[hosts.a]\ncontrol = 4988": "hosts.a.control = 4988",
    '[hosts.a]\naddress = "10.0.0.1"': "hosts.a.control = (missing)",
    '[hosts.a]\ncontrol = "10.0.0.1:4988"': (
        'hosts.a.control = "10.0.0.1:4988": expected a loopback address, or the key certificates'
    ),
    'certificates = ""\n[hosts.a]\ncontrol = "10.0.0.1:4988"': (
        'certificates = "": expected a folder'
    ),
    '[hosts.a]\ncontrol = "127.0.0.1:4988"\naddress = "here"': (
        'hosts.a.address = "here": expected an IP address'
    ),
    '[hosts.a]\ncontrol = "127.0.0.1:4988"\ninterface = "a b"': (
        'hosts.a.interface = "a b": expected the name of an interface'
    ),
    '[hosts.a]\ncontrol = "127.0.0.1:4988"\nport = 3': (
        "hosts.a.port = 3: unknown key; expected control, address, interface"
    ),
    '[hosts.a]\ncontrol = "127.0.0.1:4988"\n[links]': "links = {}: unknown key",
    '[hosts.a]\ncontrol = "127.0.0.1:1"\n[hosts.b]\ncontrol = "127.0.0.1:1"': "hosts.b.control",
    '[hosts.coordinator]\ncontrol = "127.0.0.1:1"': "none of authority, coordinator",
    '[hosts."a/../b"]\ncontrol = "127.0.0.1:1"': "expected letters, digits, dots and hyphens",
    "[hosts": "line 1 = [hosts: expected valid TOML",
}


@pytest.mark.parametrize("text", FAULTS)
def test_each_fault_names_key_value_and_what_is_allowed(tmp_path, text):
    with pytest.raises(InputError) as caught:
        hosts_file.read(written(tmp_path, text))
    assert FAULTS[text] in str(caught.value)


def test_all_faults_are_told_at_once(tmp_path):
    text = 'wires = 1\n[hosts.a]\ncontrol = "x"\n[hosts.b]\ncontrol = "127.0.0.1:1"\naddress = 7\n'
    with pytest.raises(InputError) as caught:
        hosts_file.read(written(tmp_path, text))
    assert [fault.key for fault in caught.value.faults] == [
        "wires",
        "hosts.a.control",
        "hosts.b.address",
    ]


@pytest.mark.parametrize(
    ("addresses", "engines", "is_said"),
    [
        (["fd00::1", "fd00::2"], ["simulation", "live"], True),
        (["fd00::1", "fd00::2"], ["live"], False),
        (["127.0.0.1", "127.0.0.2"], ["simulation", "live"], False),
    ],
)
def test_frames_of_hosts_with_ipv6_are_said_to_be_longer_than_simulated(
    tmp_path, addresses, engines, is_said
):
    # UDP over IPv6 has a header of 40 octets (RFC 8200, section 3), simulations the 20 of IPv4.
    hosts = "".join(
        f'[hosts.{name}]\ncontrol = "127.0.0.1:{port}"\naddress = "{address}"\n'
        for name, port, address in zip("ab", (9, 10), addresses, strict=True)
    )
    path = written(tmp_path, 'certificates = "lab"\n' + hosts)
    assert invoke("hosts", path, "--certify").returncode == 0
    load = em.flow("load", "a", "b", data="1000 B", arrivals={"regular": "1 ms"})
    short = {"transmit": "10 ms", "measure": "all"}
    file = star(["a", "b"], load, phases=short, run={"engines": engines}).save(tmp_path / "x.toml")
    done = invoke("measure", file, "--on", path, "--out", tmp_path / "run")
    assert done.returncode == 1  # no agent is there
    assert ("frames are 20 octets shorter than those measured" in done.stderr) == is_said


IDLE = {
    "window_ns": 10**9,
    "processor_share": 0.05,
    "load_average": 0.5,
    "tasks_runnable": 0,
    "tests": 0,
    "traffic_bps": {"lo": 1e9, "eth0": 1e5},
}
"""A host at the limits of an idle one."""


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"tests": 2}, "2 tests under way"),
        (
            {"processor_share": 0.37, "tasks_runnable": 3},
            "processors 37%, 3 runnable tasks (idle: at most 5%)",
        ),
        ({"load_average": 1.25}, "load average 1.25 (idle: at most 0.5)"),
        ({"traffic_bps": {"eth0": 2.5e6}}, "2.50 Mb/s on eth0 (idle: at most 0.1 Mb/s)"),
    ],
)
def test_a_host_beyond_a_limit_is_busy_with_it(changed, text):
    assert busy_with(HostActivity(**IDLE), "eth0") == ()
    assert busy_with(HostActivity(**IDLE | changed), "eth0") == (text,)


def test_loopback_traffic_counts_where_it_is_measured():
    assert busy_with(HostActivity(**IDLE), "lo") == ("1000.00 Mb/s on lo (idle: at most 0.1 Mb/s)",)


@pytest.mark.parametrize(
    ("first", "second", "code", "states"),
    [
        (IDLE, IDLE, 0, ["idle", "idle"]),
        (IDLE, IDLE | {"tests": 1}, 4, ["idle", "busy: 1 test under way"]),
        (IDLE, None, 3, ["idle", "unknown"]),  # an older agent
        (IDLE | {"tests": 1}, "gone", 1, ["busy: 1 test under way", "–"]),
    ],
)
def test_scripts_learn_by_the_exit_code_whether_hosts_are_idle(
    tmp_path, monkeypatch, first, second, code, states
):
    monkeypatch.setenv("COLUMNS", "300")  # a row of a table is a line
    path = written(
        tmp_path,
        '[hosts.a]\ncontrol = "127.0.0.1:4988"\ninterface = "eth0"\n'
        '[hosts.b]\ncontrol = "127.0.0.2:4988"\ninterface = "eth0"\n',
    )

    def answer(activity):
        clock = {"offset_ns": 0, "uncertainty_ns": 0}
        known = {"interfaces": {"eth0": []}, "clock": clock}
        if activity == "gone":
            return {"control": "127.0.0.2:4988", "error": "refused"}
        return known if activity is None else known | {"activity": activity}

    def ask(*_, reads_activity, **__):
        assert reads_activity
        return json.dumps([answer(first), answer(second)])

    monkeypatch.setattr(_core, "ask_hosts", ask)
    done = invoke("hosts", path)
    head, *rows = done.stdout.splitlines()
    at, end = head.index("activity"), head.index("state")
    assert [row[at:end].strip() for row in rows] == states
    assert done.returncode == code
    busy = [host["busy"] for host in json.loads(invoke("hosts", path, "--json").stdout).values()]
    assert [bool(each) for each in busy] == [state.startswith("busy") for state in states]
