"""Malformed experiments: each fault is found, named by its key, and says what was allowed."""

import tomllib
from pathlib import Path

import pytest
import shared_experiments
from ethermeter.experiment import load
from faults_at import expect_fault, faults_of
from shared_experiments import SEGMENT, trials

SOUND = {name.lower(): each for name, each in vars(shared_experiments).items() if name.isupper()}
DATA = tomllib.loads(Path(__file__).with_name("malformed.toml").read_text(encoding="utf-8"))
HUGE = 16**9000 - 1
MADE = {
    "title of 10 MB": ({"title": 10**7 * "x"}, {"title": "at most 200 characters"}),
    "seed huge": ({"seed": HUGE}, {"seed": "at most"}),
    "vary a huge integer": (
        {"vary": {"stations.count": [1, HUGE]}},
        {'vary."stations.count".1': "at most 1024"},
    ),
    "vary a huge number": (
        {"vary": {"segment.velocity": [HUGE]}},
        {'vary."segment.velocity".0': "from 0.01 to 1"},
    ),
    "vary to a huge end": (
        {"vary": {"stations.count": {"from": 1, "to": HUGE}}},
        {'vary."stations.count"': "up to 1e15"},
    ),
}
CASES = {
    f"{of}: {name}": (
        SOUND[of],
        {**case.get("change", {}), **dict.fromkeys(case.get("remove", ()))},
        case["fault"],
    )
    for of, cases in DATA.items()
    for name, case in cases.items()
} | {name: (SEGMENT, *case) for name, case in MADE.items()}
TEXTS = {
    "not TOML": ('title = "t"\nseed = = 1\n', "line 2", "valid TOML"),
    "unclosed text": ('title = "t\n', "line 1", "valid TOML"),
    "key twice": ("title = 'a'\ntitle = 'b'\n", "line 2", "valid TOML"),
    "only a comment": ("# nothing\n", "title", "required"),
    "deep list": ("title = " + "[" * 30 + "]" * 30 + "\n", "(file)", "at most 24"),
    "very deep list": ("title = " + "[" * 100_000, "(file)", "at most 24"),
    "key of many parts": ("a." * 100 + "b = 1\n", "line 1", "at most 24 parts"),
    "integer of ten thousand digits": ("seed = " + "9" * 10_000 + "\n", "(file)", "4300 digits"),
    "impossible date": ("title = 2000-02-31\n", "line 1", "valid TOML"),
}


@pytest.mark.parametrize("name", CASES)
def test_every_fault_has_its_key_and_what_was_allowed(name):
    sound, changes, expected = CASES[name]
    faults = faults_of(lambda: trials(sound.changed(changes)))
    found = {key: [fault for fault in faults if fault.key == key] for key in expected}
    for key, allowed in expected.items():
        assert any(allowed in fault.allowed for fault in found[key]), [*map(str, faults)]
    if len(expected) > 1:
        assert {fault.key for fault in faults} == set(expected)


def test_a_missing_title_hides_no_fault_between_tables():
    changes = {
        "title": None,
        "network.links.2": {"ends": ["s", "sink"]},
        "phases.measure": "last 20 s",
        "flows.0.queue": 0,
    }
    faults = faults_of(lambda: trials(shared_experiments.NETWORK.changed(changes)))
    keys = ["title", "flows.0.queue", "phases.measure", "network.links.2.ends", "network.hosts.1"]
    assert sorted(fault.key for fault in faults) == sorted(keys)


def test_a_missing_title_hides_no_fault_of_the_core():
    changes = {"title": None, "network.links.0.half_duplex": True, "network.links.0.gap": "13 B"}
    changes |= {"network.hubs": [{"name": "h"}], "network.links.2": {"ends": ["h", "s"]}}
    changes |= {"network.hosts.2": {"name": "x"}, "network.links.3": {"ends": ["h", "x"]}}
    changes |= {"network.links.3.delay": "1 ms"}
    faults = faults_of(lambda: trials(shared_experiments.NETWORK.changed(changes)))
    assert {"title", "network.links.3.delay"} <= {fault.key for fault in faults}


@pytest.mark.parametrize(("text", "key", "allowed"), TEXTS.values(), ids=TEXTS)
def test_a_text_that_is_no_experiment_is_refused(tmp_path, text, key, allowed):
    expect_fault(tmp_path, text, key=key, allowed=allowed)


@pytest.mark.parametrize("name", SOUND)
def test_what_malformed_experiments_are_made_of_is_sound(name):
    assert trials(SOUND[name])


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"title = '\xff'", "byte 0xff in line 1"),
        (b"\n\n\xc3(", "line 3"),
        (b"\x00\x01", r"\x00"),
    ],
)
def test_bytes_that_are_no_text_are_refused(tmp_path, data, value):
    path = tmp_path / "x.toml"
    path.write_bytes(data)
    (fault,) = faults_of(lambda: load(path))
    assert value in fault.value


def test_a_file_larger_than_any_experiment_is_not_read(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"#" * 16_000_001)
    (fault,) = faults_of(lambda: load(path))
    assert (fault.value, fault.allowed) == ("too large", "expected at most 16000000 bytes")


def test_missing_files_and_directories_are_refused(tmp_path):
    assert faults_of(lambda: load(tmp_path / "none.toml"))[0].value == "missing"
    assert faults_of(lambda: load(tmp_path))[0].value == "a directory"
    assert faults_of(lambda: load(tmp_path / ("x" * 300)))[0].key == "(file)"
    assert faults_of(lambda: load(Path("a\0b")))[0].key == "(file)"


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("", "line 1", "header length_bytes,weight"),
        ("length_bytes,weight\n", "(file)", "from 1 to 2000 rows"),
        ("length_bytes,weight\n64\n", "line 2", "2 columns"),
        ("length_bytes,weight\n64.5,1\n", "line 2, length_bytes", "whole number of bytes"),
        ("length_bytes,weight\n64,nan\n", "line 2, weight", "zero or above"),
        ("length_bytes,weight\n64,-1\n1e999,2\n", "line 3, length_bytes", "whole number of bytes"),
        ("length_bytes,weight\n64,0\n", "(file)", "weight above zero"),
        ('length_bytes,weight\n"64,1\n' + "x" * 200_000, "(file)", "expected a CSV file"),
    ],
)
def test_malformed_measured_lengths_are_refused(tmp_path, text, key, allowed):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    measured = SEGMENT.changed({"stations.0.frames": {"measured": "x.csv"}})
    faults = faults_of(lambda: load(measured.save(tmp_path / "x.toml")))
    assert any(
        fault.file == "x.csv" and fault.key == key and allowed in fault.allowed for fault in faults
    ), [str(fault) for fault in faults]


@pytest.mark.parametrize("engine", ["theory", "idealised", "ablation"])
def test_an_engine_to_which_no_model_applies_says_why_for_each(engine):
    regular = {"stations.0.arrivals": {"regular": "1 ms"}, "run.engines": [engine]}
    (fault,) = faults_of(lambda: trials(SEGMENT.changed(regular)))
    assert (fault.key, fault.value) == ("run.engines", engine)
    assert "needs Poisson arrivals; they are regular (8 models)" in fault.allowed
    assert "needs stations that are saturated; arrivals are regular (1 model)" in fault.allowed


def test_a_short_transmit_phase_alone_is_enough_and_hides_nothing():
    (trial,) = trials(shared_experiments.NETWORK.changed(phases={"transmit": "1.2 s"}))
    phases = trial.scenario.phases
    assert (phases.measure_from_ps, phases.measure_to_ps) == (2 * 10**11, 12 * 10**11)
    changes = {"phases": {"measure": "last 20 s"}, "flows.0.frames": "10 B"}
    faults = faults_of(lambda: trials(shared_experiments.NETWORK.changed(changes)))
    assert sorted(fault.key for fault in faults) == ["flows.0.frames", "phases.measure"]


def test_too_many_nodes_are_one_fault():
    changes = {"network.hosts.0.count": 999}
    (fault,) = faults_of(lambda: trials(shared_experiments.NETWORK.changed(changes)))
    assert (fault.key, fault.value) == ("network", "1001 nodes")
