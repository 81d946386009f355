"""The file of hosts: what it says, and every fault in it with key, value and what is allowed."""

from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import hosts_file
from ethermeter.faults import InputError
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
