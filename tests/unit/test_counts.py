"""Counts in Python are those of the core, structure by structure."""

import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from ethermeter import counts

CRATES = Path(__file__).parents[2] / "crates"
STRUCTURE = re.compile(r"^pub struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^    pub (\w+):", re.MULTILINE)


def structures(path: str) -> dict[str, list[str]]:
    """Fields of every structure of a file of Rust."""
    text = (CRATES / path).read_text(encoding="utf-8")
    return {name: FIELD.findall(body) for name, body in STRUCTURE.findall(text)}


RUST = structures("trial/src/counts.rs") | {
    name: structures(path)[name]
    for name, path in (
        ("ClockEstimate", "traffic/src/clock/rounds.rs"),
        ("HostSamples", "traffic/src/packets.rs"),
        ("ClassCounts", "traffic/src/classes.rs"),
    )
}
PYTHON = {
    name: [of.name for of in fields(kind)]
    for name, kind in vars(counts).items()
    if isinstance(kind, type) and is_dataclass(kind) and kind is not counts.Counter
}


def test_each_structure_has_the_fields_of_the_core_in_their_order():
    # Rust has these as a list of tuples, and the implementation beside the counts; the classes of
    # each port are in it, and have its number here. Of flows, hosts count more than the core does.
    of_hosts = ["offered_ps", "received_ps", "queued", "reordered"]
    columns = {"Buckets", "Windows"}
    assert len(RUST) > 15
    assert {name: found for name, found in PYTHON.items() if name not in columns} == {
        **RUST,
        "ClassCounts": ["port", "number", *RUST["ClassCounts"]],
        "Counts": [*RUST["Counts"], "implementation"],
        "FlowCounts": ["balance", *of_hosts, *RUST["FlowCounts"][1:]],
    }


def test_causes_of_losses_are_those_of_the_core_in_their_order():
    text = (CRATES / "trial/src/counts.rs").read_text(encoding="utf-8")
    found = re.search(r"LOSSES: \[&str; \d\] = \[(.*?)\];", text)
    assert found
    assert re.findall(r'"(\w+)"', found[1]) == list(counts.LOSSES)


@pytest.mark.parametrize("name", [name for name in PYTHON if name != "Counts"])
def test_zeros_have_the_shapes_of_their_entities(name):
    found = counts.zeros(getattr(counts, name), 3)
    for of in fields(found):
        value = getattr(found, of.name)
        if isinstance(value, np.ndarray) and name not in (
            "Buckets",
            "Windows",
            "ClassCounts",
            "MediumCounts",
            "PlcaCounts",
        ):
            assert value.shape[0] == 3, of.name
    assert counts.zeros(counts.FlowCounts, 3).batches.frames.shape == (0, 3)
    assert counts.zeros(counts.FlowCounts, 3).balance.lost.shape == (3, len(counts.LOSSES))


def test_joined_flows_keep_their_order_and_lack_what_none_of_them_has():
    no_voice, voice = (
        replace(
            counts.zeros(counts.FlowCounts, 1),
            offered=np.array([offered]),
            voice=None if offered == 1 else counts.unknown(counts.FlowVoice, 1),
            batches=counts.unknown(counts.FlowBatch, 4, 1),
            one_way=counts.Delays(
                np.array([1]),
                np.array([1.0]),
                np.array([1]),
                counts.Buckets(*(np.array([each]) for each in (0, 7, 8, offered))),
            ),
        )
        for offered in (1, 2)
    )
    found = counts.joined([no_voice, voice, no_voice])
    assert found.offered.tolist() == [1, 2, 1]
    assert found.one_way.buckets.entity.tolist() == [0, 1, 2]
    assert found.one_way.buckets.count.tolist() == [1, 2, 1]
    assert found.batches.frames.shape == (4, 3)
    assert found.voice is not None
    np.testing.assert_array_equal(found.voice.delivered, [0, np.nan, 0])
    assert found.balance.lost.shape == (3, len(counts.LOSSES))
    assert found.transfer is found.clocks is None
