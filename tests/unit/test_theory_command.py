"""`ethermeter model` of theory: what it prints, and what it says of values it cannot use."""

import json

import numpy as np
import pytest
from ethermeter import theory
from ethermeter.faults import InputError
from ethermeter.models.catalogue import model, models
from ethermeter.models.values import read
from program import Ended, invoke
from theory_points import POINTS

SATURATION = ("packet_bits=512 bit", "rate_bps=3 Mb/s", "slot_s=16 us")


def run(*words: str) -> Ended:
    return invoke("model", *words)


def test_the_list_names_every_model():
    lines = run().stdout.splitlines()
    # What does not fit goes on in a line of its own, below its column.
    named = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
    assert named == list(models())
    assert [entry["name"] for entry in json.loads(run("--json").stdout)] == list(models())


def test_a_model_is_shown_with_all_that_is_known_of_it():
    shown = " ".join(run("bux-1981-slotted-ring").stdout.split())
    entry = model("bux-1981-slotted-ring")
    for text in (
        entry.title,
        entry.source,
        entry.validity,
        entry.confidence,
        *entry.notes,
        *(s.argument for s in entry.symbols),
    ):
        assert text in shown
    described = json.loads(run("bux-1981-slotted-ring", "--json").stdout)
    assert described["assumptions"]["slotting"] == "slots that circulate"
    assert [symbol["argument"] for symbol in described["symbols"] if symbol["required"]] == list(
        POINTS[entry.name]
    )


def test_values_are_evaluated_in_a_table():
    lines = run("metcalfe-boggs-1976", "stations=1..3", *SATURATION).stdout.splitlines()
    assert lines[0].split() == ["stations", "acquisition", "waiting_slots", "slots", "efficiency"]
    assert lines[2].split() == ["2", "0.5", "1", "0.914286"]
    assert len(lines) == 4


def test_json_has_every_combination_with_its_units():
    found = json.loads(
        run(
            "metcalfe-boggs-1976",
            "stations=2,4",
            "packet_bits=64 B,4096",
            *SATURATION[1:],
            "--json",
        ).stdout
    )
    assert found["fixed"] == {"rate_bps": 3e6, "slot_s": 16e-6}
    assert [point["given"] for point in found["points"]] == [
        {"stations": q, "packet_bits": bits} for q in (2.0, 4.0) for bits in (512.0, 4096.0)
    ]
    expected = theory.metcalfe_boggs_1976(
        [[2], [4]], packet_bits=[512, 4096], rate_bps=3e6, slot_s=16e-6
    ).efficiency.reshape(-1)
    assert [point["found"]["efficiency"] for point in found["points"]] == expected.tolist()
    assert found["units"]["slot_s"] == "s"
    assert {tuple(point["cautions"]) for point in found["points"]} == {()}


def test_what_is_outside_the_range_is_cautioned():
    words = ("takagi-kleinrock-1985", "load=1", "propagation=0.01", "abort=0.1,1")
    lines = run(*words).stdout.splitlines()
    assert "outside-model-range" not in lines[1]
    assert lines[2].endswith("outside-model-range")
    assert lines[3].startswith("outside-model-range: ")
    assert [point["cautions"] for point in json.loads(run(*words, "--json").stdout)["points"]] == [
        [],
        ["outside-model-range"],
    ]


def test_what_has_no_value_is_null():
    words = (
        "lam-1980",
        "arrival_rate=100,2000",
        "packet_s=1 ms",
        "propagation_s=0",
        "unstable=nan",
    )
    points = json.loads(run(*words, "--json").stdout)["points"]
    assert points[1]["found"]["delay_s"] is None
    assert points[1]["cautions"] == ["outside-model-range"]
    assert "–" in run(*words).stdout


def test_rows_of_different_lengths_are_printed():
    words = (
        "coyle-liu-1983",
        "stations=2,50",
        "generation=0.02",
        "retransmission=3",
        "window=0.04",
        "collision=0.04",
    )
    points = json.loads(run(*words, "--json").stdout)["points"]
    assert [len(point["found"]["drift"]) for point in points] == [3, 51]
    assert [len(point["found"]["stable"]) for point in points] == [1, 2]
    assert "drift: with --json" in run(*words).stdout


def test_a_mix_is_no_variation():
    words = (
        "lam-1980",
        "arrival_rate=100,200",
        "packet_s=1 ms,2 ms",
        "weights=3,1",
        "lengths=mix",
        "propagation_s=10 us",
        "--json",
    )
    found = json.loads(run(*words).stdout)
    assert len(found["points"]) == 2
    expected = theory.lam_1980(
        [100, 200], packet_s=[1e-3, 2e-3], weights=[3, 1], lengths="mix", propagation_s=1e-5
    )
    assert [point["found"]["delay_s"] for point in found["points"]] == pytest.approx(
        expected.delay_s.tolist(), rel=1e-12
    )


@pytest.mark.parametrize("name", POINTS)
def test_every_model_can_be_evaluated_from_the_command_line(name):
    found = json.loads(
        run(
            name,
            *(f"{argument}={value}" for argument, value in POINTS[name].items()),
            "--json",
        ).stdout
    )
    assert len(found["points"]) == 1


def values(
    text: str, *, argument: str = "load", name: str = "takagi-kleinrock-1985"
) -> list[float]:
    others = {key: value for key, value in POINTS[name].items() if key != argument}
    found = read(model(name), {argument: text, **others})[argument]
    assert isinstance(found, list)
    return found


def test_numbers_lists_and_ranges_are_read():
    assert values("1") == [1]
    assert values(" 1e-3 , .5,2.") == [0.001, 0.5, 2]
    assert values("1..4") == [1, 2, 3, 4]
    assert values("0..1/5") == [0, 0.25, 0.5, 0.75, 1]
    np.testing.assert_allclose(values("1e-3..1e2/6log"), [1e-3, 1e-2, 0.1, 1, 10, 100], rtol=1e-12)
    assert values("1,3..4,0..1/2") == [1, 3, 4, 0, 1]


def test_units_are_read_where_the_symbol_has_one():
    given = {"name": "metcalfe-boggs-1976"}
    assert values("64 B,512 bit,512", argument="packet_bits", **given) == [512, 512, 512]
    assert values("10 Mb/s", argument="rate_bps", **given) == [1e7]
    assert values("12 us,1e-6", argument="slot_s", **given) == [12e-6, 1e-6]
    assert values("1 us..3 us/3", argument="slot_s", **given) == pytest.approx(
        [1e-6, 2e-6, 3e-6], rel=1e-15
    )
    assert values("300 /s,60 /min", argument="arrival_rate", name="lam-1980") == [300, 1]


UNREADABLE = [
    "",
    ",",
    "x",
    "1 us",
    "1..",
    "..1",
    "4..1",
    "1..2.5",
    "1..4/1",
    "0..1/4log",
    "1..4/0log",
    "1..1e9",
    "1..2/999999",
]
UNREADABLE += ["nan", "1..2..3", "1,,2", "0x10", "1e9999"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read_is_a_fault(text):
    with pytest.raises(InputError) as error:
        values(text)
    assert [fault.key for fault in error.value.faults] == ["load"]
