"""The reference of the file format names every key, and its examples are sound."""

import re
import tomllib
from pathlib import Path

import pytest
from ethermeter.experiment import load
from ethermeter.experiment.components import Model, shipped_models
from ethermeter.experiment.document import Document
from ethermeter.experiment.flows import Flow, Response
from ethermeter.experiment.message_tables import MessageTable
from ethermeter.experiment.network import HostGroup, Hub, Link, Network, Router, Switch
from ethermeter.experiment.phases import Phases, Run, Theory
from ethermeter.experiment.plca import GroupPlca, Outage, Phy, SegmentPlca
from ethermeter.experiment.search import Search
from ethermeter.experiment.segment import Segment, Star
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.tables import keys_of, table_reader
from ethermeter.experiment.transfers import Tcp, Transfer
from ethermeter.experiment.voice import Coder
from ethermeter.scenario import (
    Acknowledge,
    Buffer,
    Burst,
    Class,
    ClockSpec,
    Coalesce,
    Crossbar,
    File,
    LoadRegisterBackoff,
    Pause,
    SamplesLengths,
    Shaper,
    Stage,
)
from ethermeter.units import UNITS

from scripts.reference import keys

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
NETWORKS = "".join(
    (REFERENCE / name).read_text(encoding="utf-8")
    for name in ("networks.md", "node-models.md", "flows.md")
)
TEXT = (REFERENCE / "experiment-file.md").read_text(encoding="utf-8")
KEYS = keys.page()
TABLES: tuple[type, ...] = (
    *(Document, Segment, Star, StationGroup, SamplesLengths, Coder, LoadRegisterBackoff, Phases),
    *(Run, Theory, Search, SegmentPlca, GroupPlca, Phy, Outage),
    *(Network, HostGroup, ClockSpec, Switch, Router, Hub, Link, Model, Stage, Burst, Coalesce),
    *(
        Buffer,
        Pause,
        Crossbar,
        Shaper,
        Flow,
        Response,
        Transfer,
        Tcp,
        File,
        Acknowledge,
        MessageTable,
    ),
)


@pytest.mark.parametrize("table", TABLES)
def test_every_key_has_a_row_with_its_meaning(table):
    for key in keys_of(table_reader(table)):
        rows = re.findall(rf"^\| `{re.escape(key)}` \| .+ \| .+ \| (.*) \|$", KEYS, re.MULTILINE)
        assert rows, key
        assert all(rows), key


def test_every_unit_is_documented():
    assert {unit for unit in UNITS if f"{unit} " not in TEXT and f"{unit}`" not in TEXT} <= {
        "μs",
        "kbit/s",
        "Mbit/s",
        "Gbit/s",
        "bit/s",
    }


def test_every_example_is_sound(tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    whole = next(block for block in blocks if "title" in block)
    voice, *parts = [block for block in blocks if "title" not in block]
    assert len(parts) == 3
    base = whole.split("[vary]")[0]
    talking = re.sub('frames = "1518 B"\narrivals = "saturated"\n', voice, base)
    assert voice in talking
    for number, block in enumerate(
        [
            whole,
            talking,
            *(base + part.replace("segment.round_trip", "segment.length") for part in parts),
        ]
    ):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert tomllib.loads(block)
        assert load(path).trials >= 1


def test_every_key_of_a_class_is_documented():
    for key in keys_of(table_reader(Class)):
        assert f"`{key}`" in NETWORKS


def test_every_shipped_model_is_documented():
    for name in shipped_models():
        assert f"| `{name}` |" in NETWORKS


def test_every_example_of_networks_is_sound(tmp_path):
    whole, segment, clocks, model, query, voice = re.findall(
        r"```toml\n(.*?)```", NETWORKS, re.DOTALL
    )
    path = tmp_path / "x.toml"
    path.write_text(whole, encoding="utf-8")
    assert load(path).points == 16
    path.write_text(
        whole.replace('name = "sink"', 'name = "sink"\nmodel = "pc"') + model, encoding="utf-8"
    )
    assert load(path).points == 16
    wires = '[[network.links]]\nends = ["sender", "s"]            # a group: a link for each host\n'
    assert wires in whole
    path.write_text(whole.replace(wires, segment), encoding="utf-8")
    assert load(path).points == 16
    table, host = clocks.split("[[network.hosts]]")
    clocked = whole.replace("[network]\n", table).replace('name = "sender"', host.strip(), 1)
    assert table in clocked
    path.write_text(clocked, encoding="utf-8")
    assert load(path).points == 16
    for flow, source, to in ((query, "client", "server"), (voice, "talker", "listener")):
        named = whole.replace('"sender', f'"{source}').replace('"sink"', f'"{to}"')
        nodes, phases = named.split("[[flows]]")[0], named.split("[phases]\n")[1]
        path.write_text(f"{nodes}{flow}[phases]\n{phases}", encoding="utf-8")
        assert load(path).points == 1
