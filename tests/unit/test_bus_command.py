"""`ethermeter bus`: what the settings of a bus do, before anything is simulated."""

import csv
import json

import ethermeter as em
import pytest
from ethermeter.analysis.buses import SingleBus
from ethermeter.api.bus import bus as advised
from ethermeter.theory.bus_advice import ranges
from program import invoke
from shared_experiments import BUS, GATEWAY


@pytest.fixture
def bus(tmp_path):
    groups = [
        em.stations(name, count=count, frames="64 B", arrivals="saturated")
        for name, count in (("head", 1), ("sensor", 8))
    ]
    turns = BUS.changed(stations=groups, phases={"settle": "1 ms"})
    return str(turns.save(tmp_path / "bus.toml"))


def test_cycles_and_delays_are_printed_with_the_effect_of_bursts_and_ids(bus):
    found = json.loads(invoke("bus", bus, "--json").stdout)
    assert found["empty_cycle_s"] == 30.8e-6
    assert found["longest_cycle_s"] == 614e-6
    head, sensors = found["nodes"]
    assert head["node_ids"] == [[0]]
    assert sensors["node_ids"] == [[number] for number in range(1, 9)]
    assert sensors["attempt_delay_max_s"] == 619.6e-6
    assert sensors["access_delay_max_s"] == 686.8e-6
    # A second ID in the middle: at most four others, a beacon and the rest as before.
    assert sensors["attempt_delay_max_with_two_ids_s"] == pytest.approx(
        (608 + 32 + 4 * 680 + 20 + 96) * 1e-7
    )
    # Four frames an opportunity: 20 + 9 x 4 x 680 bits, 36 x 584 of them data.
    by_count = {each["burst_cnt"]: each for each in found["bursts"]}
    assert by_count[3]["longest_cycle_s"] == pytest.approx(24_500e-7)
    assert by_count[3]["data_share"] == pytest.approx(36 * 584 / 24_500)
    assert found["warnings"] == []
    text = invoke("bus", bus).stdout
    assert "Empty cycle: 30.8 µs\nLongest cycle: 614.0 µs\n" in text
    assert "1–8" in text


def test_the_figure_has_delays_by_node_and_the_effect_of_bursts(bus, tmp_path):
    drawn = tmp_path / "bus.svg"
    done = invoke("bus", bus, "--figure", str(drawn))
    assert done.stdout.splitlines()[-1] == str(drawn)
    words = drawn.read_text(encoding="utf-8")
    for word in ("head (0)", "sensor (1–8)", "empty cycle 30.8", "longest cycle 614"):
        assert word in words
    # Frames with what is around them: 584 of 680 bits, and a beacon of 20 bits for nine of them.
    assert f"{100 * 9 * 584 / (20 + 9 * 680):.4g}% without" in words
    page = tmp_path / "bus.html"
    invoke("bus", bus, "--figure", str(page))
    assert "686.8" in page.read_text(encoding="utf-8")


def test_a_bus_without_bound_has_a_page_that_says_why_and_no_figure(bus, tmp_path):
    page, drawn = tmp_path / "bus.html", tmp_path / "bus.svg"
    off = ("--set", "stations.head.plca={ enable = false }")
    invoke("bus", bus, *off, "--figure", str(page))
    assert "head contend by CSMA/CD, which has no bound" in page.read_text(encoding="utf-8")
    done = invoke("bus", bus, *off, "--figure", str(drawn))
    assert (done.returncode, drawn.exists()) == (2, False)
    assert "suffix = .svg: expected .html: there is nothing to draw" in done.stderr
    done = invoke("bus", bus, "--figure", str(tmp_path / "bus.gif"))
    assert "--figure" in done.stderr
    assert ".html, .png, .pdf, .svg" in done.stderr


WRONG = {
    "segment.plca.node-cnt=5": "node-id 5 to 8 never come",
    "segment.plca.node-cnt=10": "1 opportunity of a cycle belongs to no node: 3.2 µs",
    "stations.head.plca={ enable = false }": "head contend by CSMA/CD",
    "stations.sensor.plca={ to-tmr = 20 }": "to-tmr differs between nodes: 20, 32 bit times",
    "phases.settle='0 s'": "stations send before the first cycles",
    "segment.plca.fall-back=false": "with fall-back off",
    "segment.plca.beacon-loss=0.1": "beacons are lost",
}


@pytest.mark.parametrize("change", WRONG)
def test_a_wrong_setting_is_a_warning(bus, change):
    found = json.loads(invoke("bus", bus, "--set", change, "--json").stdout)
    assert any(WRONG[change] in text for text in found["warnings"]), found["warnings"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("poisson-load", "segment.standard = ieee-10"),
        ("office", "network.segments.standard = (missing)"),
    ],
)
def test_an_experiment_without_a_bus_is_refused_in_one_line(name, fault):
    done = invoke("bus", name)
    assert f'{fault}: expected "10base-t1s"' in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (done.returncode, done.stdout) == (2, "")


def test_nodes_of_a_bus_in_a_network_send_what_flows_bring_to_them(tmp_path):
    """A bus of four IDs of 40 bits: the gateway, and three nodes of which only node1 sends.

    Empty cycle: 20 + 4 x 40 = 180 bits, and 20 m at 0.667 of the speed of light. Used opportunity
    of node1: a gap of 96, and 64 octets with 8 of preamble and one of end delimiter, 584 bits.
    """
    file = GATEWAY.save(tmp_path / "gateway.toml")
    found = json.loads(invoke("bus", str(file), "--json").stdout)["segments"]["bus"]
    assert found["node_count"] == 4
    end_s = 20 / (0.667 * 299_792_458)
    assert found["empty_cycle_s"] == pytest.approx(180e-7 + end_s, rel=1e-6)
    assert found["longest_cycle_s"] == pytest.approx(
        (20 + 3 * 40 + 680) * 1e-7 + 2 * end_s, rel=1e-6
    )
    (node,) = found["nodes"]
    assert (node["group"], len(node["node_ids"])) == ("node1", 1)
    # It is alone: a gap after its own frame, an opportunity that it misses, and all others empty.
    text = invoke("bus", str(file)).stdout
    assert text.startswith(
        "segment bus:\nOpportunities in a cycle: 4\nEmpty cycle: 18.1 µs\nLongest cycle: 82.2 µs\n"
    )


def test_ranges_are_short():
    assert ranges([0]) == "0"
    assert ranges([8, 1, 2, 3, 6, 7]) == "1–3, 6–8"


def test_in_python_buses_have_what_the_command_prints(bus):
    found = advised(bus, overrides={"segment.plca.burst-cnt": 0})
    assert isinstance(found, SingleBus)
    assert (found.longest_cycle_s, found.point) == (614e-6, {})
    rows = list(csv.DictReader(invoke("bus", bus, "--csv").stdout.splitlines()))
    assert [row["group"] for row in rows] == ["head", "sensor"]
    assert float(rows[1]["access_delay_max_s"]) == 686.8e-6
