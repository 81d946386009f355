"""Rooflines: ceilings of a chain by hand, against the simulator, and what is read back."""

import json
from pathlib import Path
from typing import Any

import ethermeter
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ethermeter._core import simulate_trial
from ethermeter.analysis.roofline import Roofline, RooflineEntry, Stage, of_scenario, read
from ethermeter.ceilings.paths import rooflines
from ethermeter.faults import InputError
from ethermeter.present.rooflines import ceilings, nearest
from ethermeter.report.export import export
from ethermeter.report.roofline import page
from ethermeter.results.interval import Estimate, exact
from ethermeter.scenario import Scenario
from ethermeter.trial import core_trial
from msgspec.structs import replace
from scenarios import phases

WINDOW_PS = 200_000_000_000


def chain(frame_octets: int, *, pci_ps: int = 7750, **flow: Any) -> Scenario:
    """Return hosts as of Hughes-Jones and Saka 2000 (equation 2.1) at a store-and-forward switch of
    1 Gb/s with a backplane.
    """
    pci = {"name": "pci", "ps_per_octet": pci_ps, "extra_octets": -4}
    tables = {
        "nodes": [
            {
                "name": "a",
                "kind": {"host": {"send": [{"name": "software", "fixed_ps": 8_697_500}, pci]}},
            },
            {
                "name": "b",
                "kind": {"host": {"receive": [{**pci, "burst": {"octets": 380, "ps": 100_000}}]}},
            },
            {
                "name": "s",
                "kind": {
                    "switch": {
                        "learning": "known",
                        "fabric": {"shared": {"name": "backplane", "ps_per_octet": 3500}},
                    }
                },
            },
        ],
        "links": [
            {"ends": [{"node": "a"}, {"node": "s"}], "ps_per_octet": 8000},
            {"ends": [{"node": "s"}, {"node": "b"}], "ps_per_octet": 8000},
        ],
        "flows": [
            {
                "name": "load",
                "from": "a",
                "to": ["b"],
                "frames": {"kind": "fixed", "bits": 8 * frame_octets},
                "arrivals": {"kind": "saturated"},
                **flow,
            }
        ],
        "phases": phases(2 * WINDOW_PS, measure_from_ps=WINDOW_PS),
    }
    return msgspec.convert(tables, Scenario)


def test_ceilings_are_bits_over_the_time_of_each_stage():
    found = of_scenario(chain(1518), 0, None)
    expected = {
        "a software (send)": 8_697_500,
        "a pci (send)": 7750 * 1514,
        "wire a – s": 8000 * 1538,
        "s backplane": 3500 * 1518,
        "wire s – b": 8000 * 1538,
        "b pci (receive)": 7750 * 1514 + 4 * 100_000,
    }
    assert {stage.name: stage.ceiling.value for stage in found.stages} == pytest.approx(
        {name: 1518 * 8 / ps * 1e12 for name, ps in expected.items()}, rel=1e-12
    )
    assert found.nearest.name == "wire a – s"
    assert found.margin is None


@pytest.mark.parametrize(
    ("frame_octets", "pci_ps", "priority", "nearest"),
    [
        (64, 7750, None, "software"),
        (1518, 7750, None, "wire a"),
        (1518, 20_000, None, "b pci"),
        (64, 7750, 6, "software"),
        (64, 200_000, 6, "pci"),
    ],
)
def test_a_saturated_chain_runs_at_its_lowest_ceiling(frame_octets, pci_ps, priority, nearest):
    scenario = chain(frame_octets, pci_ps=pci_ps, priority=priority)
    outcome = simulate_trial(core_trial(msgspec.Raw(msgspec.json.encode(scenario)), seed=1))
    achieved = float(outcome.flows.octets[0]) * 8 / (WINDOW_PS * 1e-12)
    found = of_scenario(scenario, 0, exact(achieved))
    assert nearest in found.nearest.name
    # The edges of the window cut off less than a frame at each end.
    assert found.margin == pytest.approx(
        1, abs=2 * frame_octets * 8 / (achieved * WINDOW_PS * 1e-12)
    )


def test_a_tag_takes_its_time_on_every_stage():
    # A frame of 64 octets with a tag has 68; the wire carries 20 octets more.
    scenario = chain(64, pci_ps=20_000, priority=6)
    stages = {stage.name: stage.ceiling.value for stage in of_scenario(scenario, 0, None).stages}
    assert stages["wire a – s"] == pytest.approx(68 * 8 / (8000 * 88) * 1e12, rel=1e-12)
    assert stages["a pci (send)"] == pytest.approx(68 * 8 / (20_000 * 64) * 1e12, rel=1e-12)


def test_a_datagram_goes_in_fragments_that_each_take_their_time():
    # 3000 octets of data and 8 of header over an MTU of 1500: 1480, 1480 and 48 octets, in frames
    # of 1518, 1518 and 86.
    scenario = chain(3000, framing={"udp": {"mtu_octets": 1500}})
    wire = next(
        stage for stage in of_scenario(scenario, 0, None).stages if stage.name.startswith("wire")
    )
    assert wire.ceiling.value == pytest.approx(
        (1518 + 1518 + 86) * 8 / (8000 * (1538 + 1538 + 106)) * 1e12
    )


def test_stages_say_how_many_flows_pass():
    scenario = chain(1518)
    (flow,) = scenario.flows
    other = replace(flow, name="other", from_="b", to=("a",))
    scenario = replace(scenario, flows=(flow, other))
    assert {stage.name: stage.flows for stage in of_scenario(scenario, 0, None).stages}[
        "s backplane"
    ] == 2


def test_what_was_written_is_read_back():
    stages = (
        Stage("disk", Estimate(8e9, 1e8, 4.0), "measured"),
        Stage("wire", exact(1e8), "computed", 2),
    )
    first = Roofline("Path", "octets", stages, Estimate(9e7, 1e6, 4.0))
    written = RooflineEntry.of(first)
    assert written.read() == first
    assert read(json.loads(msgspec.json.encode(written)), file="f") == first
    assert nearest(first) == "Nearest ceiling: wire, 100 Mb/s; achieved: 90 Mb/s, a margin of 1.11."


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ([], "(file)"),
        ({}, "stages"),
        ({"stages": []}, "stages"),
        ({"stages": [7]}, "stages.0"),
        ({"stages": [{"bit_per_s": 0}]}, "stages.0.bit_per_s"),
        ({"stages": [{"bit_per_s": 1, "flows": 0}]}, "stages.0.flows"),
        ({"stages": [{"bit_per_s": 1}], "achieved": {"bit_per_s": -1}}, "achieved.bit_per_s"),
    ],
)
def test_what_is_no_roofline_is_refused_with_its_place(value, key):
    with pytest.raises(InputError) as refused:
        read(value, file="f")
    assert [fault.key for fault in refused.value.faults] == [key]


def network_run(folder: Path) -> Path:
    """Make the run of a network, two replications of its one flow."""
    trials = [
        {
            "id": f"net/{at:05}",
            "series": "net",
            "replication": at,
            "seed": at,
            "engine": "simulation",
            "point": {"size": "big"},
            "scenario": msgspec.to_builtins(chain(1518)),
        }
        for at in range(2)
    ]
    (folder / "plan.jsonl").write_text("".join(json.dumps(trial) + "\n" for trial in trials))
    (folder / "provenance.json").write_text('{"finished": "2026-01-01"}')
    columns = {
        "trial": ["net/00000", "net/00000", "net/00001", "net/00001"],
        "entity": [0, -1, 0, 0],
        "metric": ["goodput", "goodput", "goodput", "loss"],
        "value": [7.8e8, 1.0, 8.0e8, 0.5],
        "caution": ["", "", "", ""],
    }
    pq.write_table(pa.table(columns), folder / "values.parquet")
    return folder


def test_a_run_of_a_network_has_a_roofline_for_each_flow_with_the_mean_of_its_replications(
    tmp_path,
):
    (found,) = rooflines(network_run(tmp_path))
    assert found.achieved is not None
    assert found.achieved.value == 7.9e8
    assert found.nearest.name == "wire a – s"
    assert found.title == "load: a to b, frames of 1518 octets (simulation; size = big)"


def test_a_run_without_a_network_and_a_damaged_plan_are_refused(tmp_path):
    run = network_run(tmp_path)
    (run / "plan.jsonl").write_text(ethermeter.load("jabber").plan(replications=1).to_jsonl())
    with pytest.raises(InputError, match="no network"):
        rooflines(run)
    (run / "plan.jsonl").write_text("[]\n")
    with pytest.raises(InputError, match="line 1"):
        rooflines(run)


def test_a_result_with_a_roofline_in_it_will_do(tmp_path):
    file = tmp_path / "result.json"
    written = RooflineEntry.of(of_scenario(chain(1518), 0, None))
    file.write_bytes(msgspec.json.encode({"roofline": written}))
    (found,) = rooflines(file)
    assert found.nearest.name == "wire a – s"


@pytest.mark.parametrize(
    ("achieved_bps", "is_said"), [(0.9e8, False), (1.001e8, False), (1.2e8, True)]
)
def test_more_than_the_ceiling_is_said_to_be_so_beyond_the_edges_of_a_window(achieved_bps, is_said):
    found = Roofline(
        "Path", "octets", (Stage("wire", exact(1e8), "computed"),), exact(achieved_bps)
    )
    assert ("achieved more than the ceiling says" in nearest(found)) == is_said


def test_drawings_hold_every_stage_and_the_achieved_rate(tmp_path):
    drawn = page("A path", [of_scenario(chain(1518), 0, exact(7.9e8))])
    file = export(drawn, tmp_path / "path.svg")
    text = file.read_text()
    for word in ("a software (send)", "s backplane", "achieved 790 Mb/s", "margin of 1.25"):
        assert word in text


def test_ceilings_are_written_with_the_unit_that_suits_them_and_their_intervals():
    measured = Estimate(8e9, 1e8, 4.0)
    rates = [*map(exact, (12.0, 1e4, 9.57e6, 9.9996e8, 2.5e12)), measured]
    stages = tuple(Stage(str(at), rate, "given") for at, rate in enumerate(rates))
    written = ceilings(Roofline("Path", "octets", stages, None))
    assert [row[1] for row in written.rows] == [
        "12 b/s",
        "10 kb/s",
        "9.57 Mb/s",
        "1 Gb/s",
        "2.5 Tb/s",
        "8.00 Gb/s ± 0.28",
    ]
