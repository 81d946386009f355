"""Two networks side by side: flows, bounds and ports by name, against calculations by hand."""

import csv
import io
import json
import re
from pathlib import Path

import ethermeter as em
import pytest
from documents import shell

DESIGN = """
title = "Sensors at a switch"
[network]
rate = "100 Mb/s"

[[network.hosts]]
name = "sensor"
count = {sensors}

[[network.hosts]]
name = "server"

[[network.switches]]
name = "switch"

[[network.links]]
ends = ["sensor", "switch"]

[[network.links]]
ends = ["switch", "server"]
rate = "{uplink}"

[[flows]]
name = "reading"
from = "sensor"
to = "server"
frames = "1000 B"
arrivals = {{ regular = "200 us" }}
deadline = "200 us"

[phases]
transmit = "20 ms"

[run]
engines = ["theory", "simulation"]
replications = 3
"""
FRAME_S = 1008 * 8 / 100e6
"""A frame of 1000 octets with preamble, on a wire of 100 Mb/s."""
PERIOD_S = 1020 * 8 / 100e6
"""The same with the gap after it."""


def design(folder: Path, name: str, *, sensors: int, uplink: str = "100 Mb/s") -> None:
    """Run a network of some sensors at a switch with one uplink."""
    (folder / f"{name}.toml").write_text(
        DESIGN.format(sensors=sensors, uplink=uplink), encoding="utf-8"
    )
    em.load(folder / f"{name}.toml").run(out=folder / name)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with three sensors at 100 Mb/s, `slow`, and two at 1 Gb/s, `fast`."""
    folder = tmp_path_factory.mktemp("designs")
    design(folder, "slow", sensors=3)
    design(folder, "fast", sensors=2, uplink="1 Gb/s")
    return folder


def test_capacity_flows_and_ports_by_hand(both: Path) -> None:
    answer = shell("ethermeter compare slow fast", cwd=both)
    told = " ".join(answer.split())
    # Each sensor offers 1020 octets in 200 us, 40.8 Mb/s: three are 122.4 Mb/s.
    assert "First: Does not fit: wire switch → server is offered 122.4 Mb/s of 100" in told
    assert "full at 0.817 times this load" in told
    # Two at 1 Gb/s: the wires of the sensors, 40.8 of 100, are the fullest.
    assert "Second: Fits: wire sensor1 → switch is offered 40.8 Mb/s of 100" in told
    assert "switch to server 122.4 → 8.16" in told
    assert "sensor × 2 to switch 40.8" in told
    assert "Flows of the first run only: reading sensor3." in told
    assert "Ports of the first run only: sensor3 to switch." in told


def test_every_flow_and_port_is_named_for_programs(both: Path) -> None:
    rows = json.loads(shell("ethermeter compare slow fast --json", cwd=both))
    of_ports = {
        row["point"]["port"]: (row["a"], row["b"]) for row in rows if row["metric"] == "load"
    }
    assert of_ports == {
        "switch to server": pytest.approx((3 * PERIOD_S / 200e-6, 0.2 * PERIOD_S / 200e-6)),
        "sensor1 to switch": pytest.approx((PERIOD_S / 200e-6,) * 2),
        "sensor2 to switch": pytest.approx((PERIOD_S / 200e-6,) * 2),
    }
    flows = {row["point"].get("flow") for row in rows if row["metric"] == "one_way_delay_p99"}
    assert {"reading sensor1", "reading sensor2"} <= flows
    listed = list(
        csv.DictReader(io.StringIO(shell("ethermeter compare slow fast --csv", cwd=both)))
    )
    assert len(listed) == len(rows)
    assert {row["port"] for row in listed if row["metric"] == "queue"} == of_ports.keys()


def test_a_column_of_flows_has_one_unit_for_all_its_values(both: Path) -> None:
    rows = json.loads(shell("ethermeter compare slow fast --json", cwd=both))
    (row,) = (
        row
        for row in rows
        if row["metric"] == "one_way_delay_p99" and row["point"].get("flow") == "reading sensor1"
    )
    table = shell("ethermeter compare slow fast", cwd=both).partition("Flows, first")[2]
    table = table.partition("Worst cases")[0]
    (unit,) = re.findall(r"\((ms|µs)\)", table)
    ((first, second),) = re.findall(r"^reading × 2 +(\S+) → (\S+), lower", table, re.MULTILINE)
    factor = {"ms": 1e3, "µs": 1e6}[unit]
    assert [float(first), float(second)] == pytest.approx(
        [row["a"] * factor, row["b"] * factor], rel=0.05
    )


def test_worst_cases_and_deadlines_by_hand(tmp_path: Path) -> None:
    design(tmp_path, "slow", sensors=2)
    design(tmp_path, "fast", sensors=2, uplink="1 Gb/s")
    answer = shell("ethermeter compare slow fast --figure page.html", cwd=tmp_path)
    rows = json.loads(shell("ethermeter compare slow fast --json", cwd=tmp_path))
    ((first, second),) = {
        (row["a"], row["b"])
        for row in rows
        if row["metric"] == "one_way_delay_max"
        and row["point"].get("flow", "").startswith("reading ")
    }
    # A frame to the switch, one of the other sensor before it, and its own.
    assert first == pytest.approx(2 * FRAME_S + PERIOD_S, rel=0.01)
    assert second == pytest.approx(FRAME_S + 0.1 * (FRAME_S + PERIOD_S), rel=0.01)
    assert "reading × 2 242.9 96.86 -60.1 200 missed → kept" in " ".join(answer.split())
    assert "missed → kept" in (tmp_path / "page.html").read_text(encoding="utf-8")
