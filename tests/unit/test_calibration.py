"""Calibration: from latencies to the stages of hosts, from these to another scenario; and what
users may get wrong.
"""

import csv
import json
import re
from pathlib import Path
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter.calibration import (
    Calibration,
    Datum,
    Model,
    judge,
    predict,
    read_data,
    read_model,
    read_network,
)
from ethermeter.calibration.document import network_text
from ethermeter.execution import Execution, Progress, search
from ethermeter.experiment import toml
from ethermeter.faults import InputError
from ethermeter.store.integrity import checksums_in, read_provenance, write_provenance
from ethermeter.strategies import answered
from ethermeter.strategies.calibration import CalibrationSearch
from program import invoke


def stages(software: str = "8 us", nic: str = "4 us", pci: str = "7 ns") -> dict[str, Any]:
    """The model of a PC, of these times."""
    one, bus, card = (
        {"name": "software", "fixed": software},
        {"name": "pci", "per_byte": pci, "extra": "-4 B"},
        {"name": "nic", "delay": nic},
    )
    return {"pc": {"send": [one, bus, card], "receive": [card, bus, one]}}


def of_both(stage: str) -> list[str]:
    return [f"network.models.pc.{way}.{stage}" for way in ("send", "receive")]


PCS = em.network(
    title="Two PCs back to back",
    rate="1 Gb/s",
    models=stages(),
    hosts=[em.host("a", model="pc"), em.host("b", model="pc")],
    links=[("a", "b")],
    flows=em.flow("ping", "a", "b", port="packet", frames="64 B", arrivals={"regular": "1 ms"}),
    phases={"settle": "0 s", "transmit": "5 ms", "measure": "last 4 ms", "drain": "1 ms"},
)
UNKNOWNS: dict[str, dict[str, Any]] = {
    "software": {"keys": of_both("software.fixed"), "from": "0 us", "to": "50 us"},
    "nic": {"keys": of_both("nic.delay"), "from": "0 us", "to": "20 us", "start": "4.25 us"},
    "pci": {"keys": of_both("pci.per_byte"), "from": "1 ns", "to": "20 ns"},
}
MODEL = PCS.changed(calibrate={"metrics": ["one_way_delay"], "unknown": UNKNOWNS})
SCENARIO = em.network(
    title="Two PCs to one through a switch",
    rate="1 Gb/s",
    hosts=[em.host("sender", count=2, model="pc"), em.host("sink", model="pc")],
    switches=["switch"],
    links=[("sender", "switch"), ("sink", "switch")],
    flows=em.flow(
        "load", "sender", "sink", port="packet", frames="1518 B", arrivals={"poisson": "2000 /s"}
    ),
    vary={"flows.load.frames": ["64 B", "1518 B"]},
    phases={"settle": "2 ms", "transmit": "52 ms", "measure": "last 50 ms", "drain": "2 ms"},
)
OVERHEAD = 18
"""Octets of a frame around its user data."""


def calibrate(model: Model, data: tuple[Datum, ...]) -> Calibration:
    """Calibrate in memory."""
    strategy = CalibrationSearch(model, data)
    answered(strategy)
    return strategy.found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return MODEL.save(tmp_path / "model.toml")


@pytest.fixture
def latencies(tmp_path: Path) -> Path:
    """The line that Hughes-Jones and Saka (2000) fitted to two PCs directly connected: 26.32 +
    0.0235 b us, b octets of user data.
    """
    path = tmp_path / "latency.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["flows.ping.frames", "metric", "value", "error"])
        for data in range(64, 1501, 159):
            rows.writerow(
                [
                    f"{data + OVERHEAD} B",
                    "one_way_delay",
                    f"{26.32 + 0.0235 * data:.6f} us",
                    "0.01 us",
                ]
            )
    return path


def test_the_sums_of_equation_2_1_come_out_of_the_published_line(model, latencies):
    found = calibrate(read_model(model), read_data([latencies], metrics=()))
    by_name = dict(zip(found.names, found.fit.values, strict=True))
    # Slope: R_net + 2 R_pci = 0.0235 us; values are whole picoseconds an octet, and the pull of the
    # starting values moves less than that.
    assert by_name["pci"] == pytest.approx((23.5 - 8) / 2, abs=1.5e-3)
    # Constant: 2 t_sw + 2 t_nic + 26 R_net + 28 R_pci = 26.32 us.
    (total,) = found.fit.combinations
    assert total.estimate.value == pytest.approx((26.32 - 26 * 0.008 - 28 * 0.00775) / 2, abs=1e-3)
    assert [bool(known) for known in found.fit.is_determined] == [False, False, True]
    assert found.doubts == ()


def test_a_network_file_is_read_back_and_carries_its_sources(tmp_path, model, latencies):
    found = calibrate(read_model(model), read_data([latencies], metrics=()))
    path = tmp_path / "network.toml"
    path.write_text(network_text(found), encoding="utf-8")
    back = read_network(path)
    assert np.array_equal(back.values, found.fit.values)
    assert np.array_equal(back.covariance, found.fit.covariance)
    assert np.array_equal(back.undetermined, found.fit.undetermined)
    sources = toml.parsed(path.read_text(encoding="utf-8"), file="x")["sources"]
    assert "software + nic = " in sources["network.models.pc.send.nic.delay"]
    assert "95% interval" in sources["network.models.pc.send.pci.per_byte"]


def test_a_prediction_holds_what_the_same_network_does_and_another_network_is_outside(
    tmp_path, model, latencies
):
    network = tmp_path / "network.toml"
    network.write_text(
        network_text(calibrate(read_model(model), read_data([latencies], metrics=()))),
        encoding="utf-8",
    )
    scenario = SCENARIO.save(tmp_path / "scenario.toml")
    found = predict(scenario, read_network(network), draws=40)
    delay = {
        row.point["flows.load.frames"]: row for row in found.rows if row.metric == "one_way_delay"
    }
    # Nothing is said of where the constant time is spent, and under load this matters: so the
    # interval is wide, and to the right.
    assert delay["64 B"].low < delay["64 B"].value < delay["64 B"].high

    # The truth: another seed, and the constant divided as the study divides it.
    for slow, outside in (
        (stages("8.6975 us", "4.25 us", "7.75 ns"), False),
        (stages(pci="30 ns"), True),
    ):
        true = SCENARIO.changed({"network.models": slow}, series="true")
        run = em.load(true).run(out=tmp_path / f"run-{outside}", seed=99, replications=3)
        verdicts = {
            (each.point["flows.load.frames"], each.metric): each.verdict
            for each in judge(found, run.path)
        }
        assert verdicts["1518 B", "one_way_delay"] == ("outside" if outside else "inside")
        assert verdicts["1518 B", "loss"] == "inside"


@pytest.fixture
def network(tmp_path: Path, model: Path, latencies: Path) -> Path:
    path = tmp_path / "network.toml"
    found = calibrate(read_model(model), read_data([latencies], metrics=()))
    path.write_text(network_text(found), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "key", "expected"),
    [
        # Models of its own in the place of the calibrated one, of which nothing would be used.
        ({"network.models": stages(pci="30 ns")}, "network.models.pc", "the calibrated model of"),
        # No node is of the calibrated model.
        (
            {"network.hosts": ["sink", em.host("sender", count=2)]},
            "network",
            'expected nodes with model = "pc", or no network',
        ),
    ],
)
def test_a_scenario_that_uses_nothing_of_a_calibration_is_refused(
    tmp_path, network, changes, key, expected
):
    scenario = SCENARIO.changed(changes).save(tmp_path / "scenario.toml")
    with pytest.raises(InputError) as caught:
        predict(scenario, read_network(network), draws=2)
    (fault,) = caught.value.faults
    assert (fault.file, fault.key) == (str(scenario), key)
    assert expected in fault.allowed


def test_the_models_that_a_prediction_has_written_are_those_of_the_calibration(tmp_path, network):
    scenario = SCENARIO.save(tmp_path / "scenario.toml")
    first = predict(scenario, read_network(network), draws=4)
    # Of the same name, on which random numbers depend.
    again = tmp_path / "again" / scenario.name
    again.parent.mkdir()
    again.write_text(first.text, encoding="utf-8")
    assert predict(again, read_network(network), draws=4).rows == first.rows


def test_a_parameter_that_a_scenario_does_not_use_is_named(tmp_path, latencies):
    wire = {"keys": ["network.rate"], "from": "100 Mb/s", "to": "10 Gb/s"}
    model = MODEL.changed({"calibrate.unknown": {"wire": wire, **UNKNOWNS}})
    path = tmp_path / "network.toml"
    found = calibrate(
        read_model(model.save(tmp_path / "model.toml")), read_data([latencies], metrics=())
    )
    path.write_text(network_text(found), encoding="utf-8")
    scenario = SCENARIO.save(tmp_path / "scenario.toml")
    (doubt,) = predict(scenario, read_network(path), draws=2).doubts
    assert doubt.startswith("not used: wire (network.rate)")
    whole = SCENARIO.changed(network=None).changed({"flows.0.from": "a", "flows.0.to": "b"})
    assert predict(whole.save(scenario), read_network(path), draws=2).doubts == ()


def test_a_prediction_has_another_chance_than_a_run_with_the_seed_of_the_file(tmp_path, network):
    scenario = SCENARIO.save(tmp_path / "scenario.toml")
    found = predict(scenario, read_network(network), draws=4)
    run = em.load(toml.parsed(found.text, file="x")).run(out=tmp_path / "run")
    rates = {
        each.point["flows.load.frames"]: each
        for each in judge(found, run.path)
        if each.metric == "message_rate"
    }
    # Poisson arrivals of 2 x 2000 a second for 50 ms: 200 of them, give or take 14.
    assert all(each.relative_error for each in rates.values()), "the same arrivals"
    assert all(abs(each.relative_error) < 0.5 for each in rates.values())


def test_predictions_are_printed_with_their_intervals_and_units(tmp_path, network, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SCENARIO.save(tmp_path / "scenario.toml")
    done = invoke("predict", "scenario.toml", "--network", network, "--draws", "8")
    assert done.returncode == 0, done.output
    delays = [line for line in done.stdout.splitlines() if "one_way_delay" in line]
    assert len(delays) == 2
    for line in delays:
        assert re.search(r"one_way_delay +[0-9.]+ µs (± [0-9.]+|\([0-9.]+ to [0-9.]+\))$", line), (
            line
        )
    assert "other than the file's" in " ".join(done.stdout.split())


def test_a_run_is_data_as_well(tmp_path, model):
    lengths = {"flows.ping.frames": ["64 B", "512 B", "1024 B", "1518 B"]}
    varied = PCS.changed({"network.models": stages(pci="9 ns")}, vary=lengths)
    run = em.load(varied).run(out=tmp_path / "run")
    known = read_model(model)

    def calibrated() -> bool:
        found = calibrate(known, read_data([run.path], metrics=known.metrics))
        assert dict(zip(found.names, found.fit.values, strict=True))["pci"] == pytest.approx(
            9.0, abs=1.5e-3
        )
        return found.are_errors_known

    assert calibrated(), "from batches"
    # A run of an older version has no batches of flows, and so no errors from one replication.
    (run.path / "flow-batches.parquet").unlink()
    (run.path / "estimates.json").unlink(missing_ok=True)
    provenance = read_provenance(run.path)
    sums = {
        name: of for name, of in checksums_in(provenance).items() if name != "flow-batches.parquet"
    }
    write_provenance(run.path, {**provenance, "sha256": sums})
    assert not calibrated()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"calibrate.unknown.nic.less": 1},
            "calibrate.unknown.nic.less = 1: unknown key; allowed: keys, from",
        ),
        (
            {"calibrate.unknown.nic.keys.0": "network.models.pc.send.card.delay"},
            "expected one of software, pci, nic, or a number below 3, where the key says card",
        ),
        (
            {"calibrate.unknown.nic.start": "42 us"},
            "expected from below to, and start between them",
        ),
        (
            {"calibrate.unknown.nic.to": "20 B"},
            'expected a time or a bit rate such as "12 us" or "100 Mb/s"',
        ),
        ({"calibrate.metrics": ["speed"]}, "expected a list of metrics of flows"),
        ({"calibrate.unknown.pci.keys": None}, "calibrate.unknown.pci.keys = (missing)"),
        ({"flows.0.frames": "64 miles"}, "flows.0.frames"),
    ],
)
def test_a_wrong_model_is_refused_with_its_key(tmp_path, change, expected):
    path = MODEL.changed(change).save(tmp_path / "model.toml")
    with pytest.raises(InputError) as error:
        read_model(path)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metric,value\none_way_delay,12 miles\n", "line 2"),
        ("metric,value\none_way_delay,12 B\n", "of the same kind"),
        ("metric,value\nspeed,12 us\n", "expected a metric of flows"),
        ("metric,value\none_way_delay\n", "expected as many values as columns"),
        ("metric,value,error\none_way_delay,12 us,0 us\n", "expected an error above zero"),
        ("value\n12\n", "expected the columns metric and value"),
        ("metric,value\n", "expected 1 to 10000 values"),
        ("metric,value\none_way_delay,nan\n", "expected a finite number"),
    ],
)
def test_wrong_data_are_refused_with_their_line(tmp_path, text, expected):
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_data([path], metrics=())
    assert expected in str(error.value)


def test_data_of_keys_that_the_model_has_not_or_of_what_it_cannot_say_are_refused(tmp_path, model):
    path = tmp_path / "data.csv"
    path.write_text("flows.pong.frames,metric,value\n64 B,one_way_delay,12 us\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"flows\.pong\.frames"):
        calibrate(read_model(model), read_data([path], metrics=()))
    path.write_text("metric,value\nround_trip,12 us\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected a metric of which the model's flows"):
        calibrate(read_model(model), read_data([path], metrics=()))


def test_the_commands_write_network_report_and_json(tmp_path, model, latencies, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SCENARIO.save(tmp_path / "scenario.toml")
    done = invoke("fit", latencies, "--experiment", model, "--json")
    assert done.returncode == 0, done.output
    tree = json.loads(done.stdout)
    assert [each["sum"] for each in tree["combinations"]] == ["software + nic"]
    assert tree == json.loads((tmp_path / "calibrated" / "answer.json").read_text(encoding="utf-8"))
    again = invoke("fit", latencies, "--experiment", model, "--json")
    assert again.returncode == 0
    assert "already finished; --force" in again.stderr
    assert json.loads(again.stdout) == tree
    done = invoke(
        "predict", "scenario.toml", "--network", "calibrated/network.toml", "--draws", "2"
    )
    assert done.returncode == 0, done.output
    assert "one_way_delay" in done.stdout
    assert {path.name for path in (tmp_path / "predicted").iterdir()} == {
        "scenario.toml",
        "prediction.json",
        "report.html",
    }
    assert invoke("validate", "predicted/scenario.toml").returncode == 0
    done = invoke("predict", "scenario.toml", "--network", model, "--out", "other")
    assert done.returncode == 2
    assert "expected a file that `ethermeter fit` wrote" in done.output


def test_an_interrupted_calibration_is_resumed_to_the_same_bytes(tmp_path, model, latencies):
    def strategy() -> CalibrationSearch:
        return CalibrationSearch(read_model(model), read_data([latencies], metrics=()))

    def stop(progress: Progress) -> None:
        if progress.done >= 30:
            raise KeyboardInterrupt

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    search(strategy(), directory=whole, options=Execution(jobs=2))
    with pytest.raises(KeyboardInterrupt):
        search(strategy(), directory=broken, options=Execution(jobs=1), follow=stop)
    search(strategy(), directory=broken, options=Execution(jobs=1))
    for name in ("plan.jsonl", "answer.json", "flows.parquet", "question.json"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
