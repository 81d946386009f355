"""PLCA of interfaces, as agents found it: beside the experiment, on the page, in calibration."""

import json
from pathlib import Path

import pytest
from ethermeter import _core, plan
from ethermeter.analysis import accounts
from ethermeter.analysis.interfaces import interfaces_of
from ethermeter.calibration.model import Model
from ethermeter.cli import app
from ethermeter.experiment import load
from ethermeter.experiment.toml import parsed
from ethermeter.faults import InputError
from ethermeter.report.sections import hosts
from ethermeter.scenario import Scenario
from measured_trials import result_of
from typer.testing import CliRunner

FILE = """
title = "t"
[network]
[[network.hosts]]
name = "gateway"
[[network.hosts]]
name = "sensor"
[[network.segments]]
name = "bus"
standard = "10base-t1s"
length = "25 m"
plca = {}
[[network.links]]
ends = ["gateway", "bus"]
[[network.links]]
ends = ["sensor", "bus"]
[[flows]]
name = "up"
from = "sensor"
to = "gateway"
frames = "64 B"
arrivals = { regular = "1 ms" }
[phases]
transmit = "10 ms"
measure = "last 5 ms"
"""


def agents(**changed: object) -> dict[str, object]:
    """Reports of a coordinator with the file's settings, and of a sensor with others."""

    def report(plca: dict[str, object]) -> dict[str, object]:
        interfaces = {"eth1": {"mtu": 1500, "plca": plca}, "lo": {"mtu": 65536}}
        return {"result": {"host": [], "provenance": {"interfaces": interfaces}}}

    usual = {"enable": True, "node_cnt": 2, "to_tmr": 32, "burst_cnt": 0, "burst_tmr": 128}
    return {
        "gateway": report({**usual, "node_id": 0, "is_ok": True}),
        "sensor": report({**usual, "node_id": 1, "is_ok": False, "node_cnt": 8, **changed}),
    }


def scenario(folder: Path) -> Scenario:
    path = folder / "bus.toml"
    path.write_text(FILE, encoding="utf-8")
    return load(path).scenarios.at([])


def test_what_differs_from_the_experiment_is_found_where_it_matters(tmp_path):
    found = interfaces_of(
        result_of({"agents": agents(to_tmr=24, burst_tmr=64)}), scenario(tmp_path)
    )
    assert [(each.host, each.interface) for each in found] == [
        ("gateway", "eth1"),
        ("sensor", "eth1"),
    ]
    assert found[0].differs == {}
    assert found[0].settings["node-cnt"] == "2"
    # The number of opportunities is the coordinator's, and no burst waits for a timer.
    assert found[1].differs == {"to-tmr": "32"}
    assert found[1].plca.is_ok is False


def test_what_a_phy_does_not_say_differs_from_nothing(tmp_path):
    few = agents()
    interfaces = {"eth1": {"plca": {"enable": False}}}
    few["sensor"] = {"result": {"provenance": {"interfaces": interfaces}}}
    _, found = interfaces_of(result_of({"agents": few}), scenario(tmp_path))
    assert found.settings == {"enable": "off"}
    assert found.differs == {"enable": "on"}


def run_with(folder: Path, **changed: object) -> Path:
    """Return a run directory with one live trial and what its agents found."""
    scenario(folder)
    made = plan.expand([load(folder / "bus.toml")])
    text = made.to_jsonl().replace('"engine":"simulation"', '"engine":"live"')
    text = text.rstrip("\n").removesuffix("}") + ',"live":{"ports":["packet"]}}\n'
    run = folder / "run"
    (run / "live" / "t").mkdir(parents=True)
    (run / "plan.jsonl").write_text(text, encoding="utf-8")
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
    (found,) = json.loads(accounts.to_json([account]))["trials"]
    assert found["interfaces"][1]["plca"]["to-tmr"] == "24"
    _, _, table = hosts._interfaces(account)
    cells = [[str(cell) for cell in row] for row in table.rows]
    assert cells[0] == ["gateway", "eth1", "on", "0", "2", "32", "0", "128", "OK"]
    assert cells[1][5] == "24 (experiment: 32)"
    assert cells[1][-1] == "no beacons"


def test_a_calibration_refuses_data_of_a_bus_with_other_settings(tmp_path):
    document = parsed(FILE, file="bus.toml")
    model = Model(tmp_path / "bus.toml", document, (), (), 1)
    model.check_interfaces([run_with(tmp_path)])
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match=r"sensor\.eth1\.plca\.to-tmr = 24: expected 32"):
        model.check_interfaces([run_with(tmp_path / "other", to_tmr=24)])


def test_the_command_says_that_an_interface_has_no_plca():
    found = CliRunner().invoke(app.app, ["plca", "--interface", "lo"])
    assert found.exit_code == 2 or isinstance(found.exception, InputError)
    assert _core.interface_plca("lo") is None
    with pytest.raises(OSError, match="No such device"):
        _core.interface_plca("no-such-one")
