"""Faults of the core have the key and the value of the file from which they come."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import _core
from ethermeter.experiment import of_tables
from ethermeter.experiment.builder import ExperimentTables
from faults_at import faults_of
from shared_experiments import lowered

FILE = Path(__file__).with_name("every_key.toml")
RICH = ExperimentTables(tomllib.loads(FILE.read_text(encoding="utf-8")))
WHOLE = ("arrivals", "client", "frames", "server", "service", "think", "time")
"""Values of a flow that the core finds wrong as a whole: its faults name none of their keys."""


def steps_of(path: str) -> list[str | int]:
    """Return the keys and indices of a path such as "links[3].delay_ps"."""
    return [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]


def paths(value: object, path: str) -> Iterator[str]:
    """Return the path of every value within one, itself included."""
    yield path
    if isinstance(value, dict) and path.rpartition(".")[2] not in WHOLE:
        for key, item in value.items():
            yield from paths(item, f"{path}.{key}")
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
        for at, item in enumerate(value):
            yield from paths(item, f"{path}[{at}]")


def test_every_key_that_the_core_may_name_is_one_of_the_file(monkeypatch):
    found = lowered(RICH)
    every = [
        path
        for top in ("nodes", "links", "flows")
        for at, table in enumerate(found[top])
        for path in paths(table, f"{top}[{at}]")
    ]
    assert len(every) > 200
    for path in every:
        fault = (steps_of(path), None, "expected right")
        monkeypatch.setattr(_core, "check_trial", lambda _, fault=fault: [fault])
        (shown,) = faults_of(lambda: of_tables(RICH))
        assert shown.value != "(missing)", (path, shown.key)
        assert shown.key.split(".")[0] in ("network", "flows"), path


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("nodes[1].kind.host.send[0].ps_per_octet", "network.models.pc.send.0.per_byte", "7.75 ns"),
        (
            "nodes[0].kind.host.buffer.pause.quanta",
            "network.models.pc.buffer.pause.quanta",
            "65535",
        ),
        ("nodes[0].kind.host.overlap_octets", "network.models.pc.overlap", "14 B"),
        ("nodes[2].kind.host.clock.drift_ppb", "network.hosts.1.clock.drift", "50 ppm"),
        ("nodes[4].kind.switch.queue_octets", "network.switches.0.queue_size", "64 kB"),
        ("nodes[4].kind.switch.learning.learns", "network.switches.0.learning.learns", ""),
        ("nodes[7].kind.hub.delay_ps", "network.hubs.0.delay", "500 ns"),
        ("links[0].delay_ps", "network.links.0.length", "100 m"),
        ("links[2].delay_ps", "network.links.1.delay", "1 us"),
        ("links[2].ps_per_octet", "network.rate", "100 Mb/s"),
        ("links[0].ends[1].node", "network.links.0.ends.1", "s"),
        ("flows[1].frames", "flows.0.data", "100 B"),
        ("flows[1].framing.udp.mtu_octets", "flows.0.mtu", "1000 B"),
        ("flows[0].response.frames", "flows.0.response.data", "1000 B"),
        ("flows[0].response.timeout_ps", "flows.0.response.timeout", "10 ms"),
        ("flows[2].address", "flows.1.cast", "multicast"),
        ("flows[3].codec", "flows.2.arrivals.coder.codec", "g711"),
        ("flows[4].transfer.job.file.octets", "flows.3.transfer.file.size", "1 MB"),
        ("flows[4].transfer.tcp.acknowledge.ps", "flows.3.transfer.tcp.acknowledge.time", "1 ms"),
        ("flows", "flows", ""),
        ("batches", "run.batches", ""),
        ("clocks", "network.clocks", "synchronised"),
    ],
)
def test_a_fault_of_the_core_has_the_key_and_the_value_of_the_file(monkeypatch, path, key, value):
    found = (steps_of(path), "1", "expected right")
    monkeypatch.setattr(_core, "check_trial", lambda _: [found])
    (fault,) = faults_of(lambda: of_tables(RICH))
    assert (fault.key, fault.allowed) == (key, "expected right")
    assert value in fault.value


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        (
            {"network.models.pc.buffer.pause.quanta": 1},
            "network.models.pc.buffer.pause.quanta",
            "1",
        ),
        (
            {"network.models.pc.buffer.size": "20001 B"},
            "network.models.pc.buffer.size",
            '"20001 B"',
        ),
        ({"network.hubs.0.delay": "60 us"}, "network.links.4.delay", "120000000"),
        (
            {"network.links.5": em.link("printer", "h", gap="13 B", half_duplex=True)},
            "network.links.5",
            '{ ends = [ … ], gap = "13 B", half_duplex = true }',
        ),
    ],
)
def test_what_only_the_core_finds_is_shown_as_the_file_has_it(change, key, value):
    faults = faults_of(lambda: of_tables(RICH.changed(change)))
    assert (key, value) in [(fault.key, fault.value) for fault in faults]


def test_all_that_only_the_core_finds_is_shown_together():
    changes = {
        "network.models.pc.buffer.pause.quanta": 1,
        "network.models.pc.buffer.size": "20001 B",
        "network.hubs.0.delay": "60 us",
    }
    faults = faults_of(lambda: of_tables(RICH.changed(changes)))
    keys = {fault.key for fault in faults}
    buffer = "network.models.pc.buffer"
    assert {f"{buffer}.pause.quanta", f"{buffer}.size", "network.links.4.delay"} <= keys
    assert len(set(faults)) == len(faults)


def test_a_range_of_the_core_is_shown_in_the_units_of_the_file(monkeypatch):
    found = (steps_of("nodes[7].kind.hub.delay_ps"), "2", (0, 10**12))
    monkeypatch.setattr(_core, "check_trial", lambda _: [found])
    (fault,) = faults_of(lambda: of_tables(RICH))
    assert (fault.key, fault.allowed) == ("network.hubs.0.delay", "expected from 0 s to 1 s")
