"""PLCA of interfaces, as agents found it: beside the experiment, on the page, in calibration."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import ethermeter as em
import pytest
from ethermeter import _core, plan
from ethermeter.analysis import accounts
from ethermeter.analysis.accounts_file import AccountsFile
from ethermeter.analysis.interfaces import interfaces_of
from ethermeter.calibration.model import Model
from ethermeter.experiment import of_tables
from ethermeter.faults import InputError
from ethermeter.report.sections import hosts
from measured_trials import result_of
from program import invoke
from shared_experiments import scenario

NETWORK = em.network(
    title="t",
    segments=[{"name": "bus", "standard": "10base-t1s", "length": "25 m", "plca": {}}],
    hosts=["gateway", "sensor"],
    links=[("gateway", "bus"), ("sensor", "bus")],
    flows=em.flow("up", "sensor", "gateway", frames="64 B", arrivals={"regular": "1 ms"}),
    phases={"transmit": "10 ms", "measure": "last 5 ms"},
)


def agents(*, gateway: dict[str, object] | None = None, **changed: object) -> dict[str, Any]:
    """Reports of a coordinator with the file's settings, and of a sensor with others."""

    def report(plca: dict[str, object]) -> dict[str, object]:
        interfaces = {"eth1": {"mtu": 1500, "plca": plca}, "lo": {"mtu": 65536}}
        return {"result": {"host": [], "provenance": {"interfaces": interfaces}}}

    usual = {"enable": True, "node_cnt": 2, "to_tmr": 32, "burst_cnt": 0, "burst_tmr": 128}
    return {
        "gateway": report({**usual, "node_id": 0, "is_ok": True, **(gateway or {})}),
        "sensor": report({**usual, "node_id": 1, "is_ok": False, "node_cnt": 8, **changed}),
    }


def test_what_differs_from_the_experiment_is_found_where_it_matters():
    found = interfaces_of(result_of({"agents": agents(to_tmr=24, burst_tmr=64)}), scenario(NETWORK))
    assert [(each.host, each.interface) for each in found] == [
        ("gateway", "eth1"),
        ("sensor", "eth1"),
    ]
    assert found[0].differs == {}
    assert found[0].settings["node-cnt"] == "2"
    # The number of opportunities is the coordinator's, and no burst waits for a timer.
    assert found[1].differs == {"to-tmr": "32"}
    assert found[1].plca.is_ok is False


def test_what_a_phy_does_not_say_differs_from_nothing():
    few = agents()
    interfaces = {"eth1": {"plca": {"enable": False}}}
    few["sensor"] = {"result": {"provenance": {"interfaces": interfaces}}}
    _, found = interfaces_of(result_of({"agents": few}), scenario(NETWORK))
    assert found.settings == {"enable": "off"}
    assert found.differs == {"enable": "on"}


def test_an_interface_on_a_bus_of_csma_cd_must_have_plca_off():
    contending = NETWORK.changed({"network.segments.0.plca": None})
    found = interfaces_of(result_of({"agents": agents()}), scenario(contending))
    assert [each.differs for each in found] == [{"enable": "off"}, {"enable": "off"}]


def test_of_several_interfaces_that_of_the_address_is_compared():
    found = agents()
    sensor = found["sensor"]
    sensor |= {"address": "10.0.0.2", "interfaces": {"eth1": [], "eth2": ["10.0.0.2/24"]}}
    ports = sensor["result"]["provenance"]["interfaces"]
    ports["eth2"] = {"plca": {"node_id": 5}}
    ports["eth1"]["plca"]["node_id"] = 6
    _, one, two = interfaces_of(result_of({"agents": found}), scenario(NETWORK))
    assert (one.differs, two.differs) == ({}, {"node-id": "1"})


def run_with(folder: Path, experiment: Mapping[str, object] = NETWORK, **changed: Any) -> Path:
    """Return a run directory with one live trial and what its agents found."""
    made = plan.expand([of_tables(experiment)])
    lines = made.to_jsonl().replace('"engine":"simulation"', '"engine":"live"')
    lines = lines.rstrip("\n").removesuffix("}") + ',"live":{"ports":["packet"]}}\n'
    run = folder / "run"
    run.mkdir(parents=True)
    (run / "plan.jsonl").write_text(lines, encoding="utf-8")
    (trial,) = made.trials
    result = run / "live" / f"{trial.id}.json"
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(
        json.dumps({"outcome": "complete", "agents": agents(**changed), "flows": {}}),
        encoding="utf-8",
    )
    return run


def test_accounts_and_page_have_the_settings_and_name_what_differs(tmp_path):
    (account,) = accounts.read(run_with(tmp_path, to_tmr=24))
    assert account.interfaces[1].differs == {"to-tmr": "32"}
    (found,) = AccountsFile.of([account]).trials
    assert found.interfaces[1].plca["to-tmr"] == "24"
    agreed = replace(
        account, interfaces=tuple(replace(of, differs={}) for of in account.interfaces)
    )
    # The last trial is of another point, whose settings are those of the interface.
    _, _, table = hosts._interfaces([account, account, agreed])
    cells = [[str(cell) for cell in row] for row in table.rows]
    assert cells[0] == ["gateway", "eth1", "on", "0", "2", "32", "0", "128", "OK"]
    assert [row[5] for row in cells[1:]] == ["24", "24 (experiment: 32)"]
    assert cells[1][-1] == "FAIL"


def test_a_calibration_refuses_data_of_a_bus_with_other_settings(tmp_path):
    model = Model(tmp_path / "bus.toml", NETWORK, (), (), 1)
    model.check_interfaces([run_with(tmp_path)])
    with pytest.raises(InputError, match=r"sensor\.eth1\.plca\.to-tmr = 24: expected 32"):
        model.check_interfaces([run_with(tmp_path / "other", to_tmr=24)])


def test_data_of_a_bus_are_compared_with_the_model_at_their_own_point(tmp_path):
    varied = NETWORK.changed(vary={"network.segments.bus.plca.to-tmr": [24]})
    run = run_with(tmp_path, varied, to_tmr=24, gateway={"to_tmr": 24})
    Model(tmp_path / "bus.toml", NETWORK, (), (), 1).check_interfaces([run])


PHY = {"enable": True, "node_id": 3, "node_cnt": 8, "to_tmr": 32, "burst_cnt": 0, "burst_tmr": 128}


@pytest.fixture
def phy(monkeypatch):
    """Give the interface eth1 of this host a PHY with settings."""

    def has(**settings: object) -> None:
        monkeypatch.setattr(_core, "interface_plca", lambda _: json.dumps({**PHY, **settings}))

    return has


def test_the_command_shows_settings_as_a_file_has_them(phy):
    phy(is_ok=True)
    table, status, *_ = invoke("bus", "--interface", "eth1").stdout.splitlines()
    assert status == "status: OK"
    link = em.link("sensor", "bus", **tomllib.loads(table))
    (medium,) = scenario(NETWORK.changed({"network.links.1": link})).media
    (plca,) = [each.plca for each in medium.stations if each.node == "sensor"]
    assert plca is not None
    assert (plca.ids, plca.node_count, plca.opportunity_bits) == (((3,),), 8, 32)
    assert (plca.burst_count, plca.burst_bits) == (0, 128)


def test_the_command_has_the_cycles_of_a_bus_of_such_nodes(phy):
    phy(is_ok=True)
    found = json.loads(invoke("bus", "--interface", "eth1", "--json").stdout)
    # A beacon of 20 bits and 8 opportunities, each 25 m of 5 ns/m, to 0.2%: the velocity is 0.667.
    line_s = 25 / (0.667 * 299_792_458)
    longest_bits = 20 + 8 * (96 + 8 * (1518 + 9))
    assert found["bus"]["longest_cycle_s"] == pytest.approx(longest_bits * 1e-7 + 9 * line_s)
    assert (found["status"], found["warnings"], found["bus"]["warnings"]) == ("OK", [], [])


def test_the_command_warns_of_a_node_without_a_turn(phy):
    phy(node_id=255, is_ok=False)
    found = json.loads(invoke("bus", "--interface", "eth1", "--json").stdout)
    assert "node-id" not in found["plca"]
    assert [text.partition(":")[0] for text in found["warnings"]] == ["no beacons", "node-id 255"]
    phy(node_id=8)
    printed = invoke("bus", "--interface", "eth1").stdout
    assert "warning: node-id 8 has no turn in a cycle of 8" in printed
    phy(to_tmr=0)  # Linux allows it, clause 30.16 does not
    assert (
        "warning: segment.plca.to-tmr = 0: expected" in invoke("bus", "--interface", "eth1").stdout
    )
    phy(enable=False)
    assert json.loads(invoke("bus", "--interface", "eth1", "--json").stdout)["bus"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lo"], "interface = lo: expected an interface of 10BASE-T1S"),
        (["no-such-one"], "No such device"),
        (["a" * 70_000], "expected a name of 1 to 15 octets"),
        (["lo", "--set", "seed=1"], "--interface = lo: expected it alone"),
    ],
)
def test_the_command_refuses_what_has_no_plca(arguments, message):
    done = invoke("bus", "--interface", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.usefixtures("wide")
def test_hosts_check_shows_the_plca_of_their_interfaces(tmp_path, monkeypatch):
    file = tmp_path / "hosts.toml"
    file.write_text(
        '[hosts.a]\ncontrol = "127.0.0.1:4988"\ninterface = "eth1"\n'
        '[hosts.b]\ncontrol = "127.0.0.2:4989"\n',
        encoding="utf-8",
    )
    clock = {"offset_ns": 0, "uncertainty_ns": 0}
    a = {
        "interfaces": {"eth1": [], "lo": []},
        "clock": clock,
        "plca": {"eth1": {**PHY, "is_ok": True}},
    }
    b = {"interfaces": {"lo": []}, "clock": clock}
    monkeypatch.setattr(_core, "ask_hosts", lambda *_, **__: json.dumps([a, b]))
    head, *rows = invoke("hosts", file).stdout.splitlines()
    assert head.split()[-2:] == ["plca", "state"]
    at, state = head.index("plca"), head.index("state")
    assert [row[at:state].strip() for row in rows] == ["node-id 3, status OK", "–"]
    monkeypatch.setattr(_core, "ask_hosts", lambda *_, **__: json.dumps([{**a, "plca": {}}, b]))
    assert "plca" not in invoke("hosts", file).stdout
