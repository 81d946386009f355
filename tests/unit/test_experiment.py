"""Reading sound experiments: what is kept, what overrides do, what comes shipped."""

import functools
import json
import tomllib

import jsonschema
import pytest
from ethermeter.experiment import json_schema, load, of_tables, shipped, toml
from ethermeter.plan import expand
from faults_at import faults_of
from hypothesis import given
from hypothesis import strategies as st
from shared_experiments import SEGMENT

SHIPPED = shipped()


def test_an_experiment_keeps_what_its_file_says(small):
    experiment = load(small)
    assert (
        experiment.title,
        experiment.series,
        experiment.seed,
        experiment.replications,
        experiment.batches,
    ) == ("Two stations", "small", 1, 1, 20)
    assert experiment.engines == ("simulation",)
    assert experiment.source_text == SEGMENT.text()
    assert experiment.path == small
    assert experiment.sources == {}


def test_overrides_set_values_and_the_text_says_so(small):
    overrides = [
        "stations.count=5",
        "phases.transmit=11 s",
        "stations.host.frames='128 B'",
        "seed = 7",
        "run.replications=3",
        "title=A new title",
    ]
    experiment = load(small, overrides=overrides)
    assert (experiment.seed, experiment.replications, experiment.title) == (7, 3, "A new title")
    read = tomllib.loads(experiment.source_text)
    assert read["stations"][0]["count"] == 5
    assert read["phases"] == {"transmit": "11 s"}
    assert read["stations"][0]["frames"] == "128 B"


def test_the_text_after_overrides_gives_the_same_plan(small, tmp_path):
    overrides = [
        'vary."stations.count"={ from = 1, to = 3 }',
        "segment.gap=9.6 us",
        "stations.0.backoff={ linear = { limit = 3 } }",
    ]
    experiment = load(small, overrides=overrides)
    again = tmp_path / "again" / "small.toml"
    again.parent.mkdir()
    again.write_text(experiment.source_text, encoding="utf-8")
    assert expand([load(again)]).to_jsonl() == expand([experiment]).to_jsonl()


def test_a_key_that_is_set_is_no_longer_varied(small):
    varied = load(
        small,
        overrides=['vary."stations.count"=[1, 2, 3]', "vary.stations.frames=['64 B', '65 B']"],
    )
    assert varied.points == 6
    fixed = load(
        small,
        overrides=[
            'vary."stations.count"=[1, 2, 3]',
            "vary.stations.frames=['64 B', '65 B']",
            "stations.0.count=9",
        ],
    )
    assert [sweep.key for sweep in fixed.sweeps] == ["stations.frames"]
    assert fixed.document["stations"][0]["count"] == 9


@pytest.mark.parametrize(
    ("override", "key", "allowed"),
    [
        ("stations.count", "stations.count", "key.path=value"),
        ("=3", "(missing)", "key.path=value"),
        ("stations.nobody.count=3", "stations.nobody.count", "the name of a group (host)"),
        ("stations.3.count=3", "stations.3.count", "number below 1"),
        ("segment.colour=3", "segment.colour", "keys of segment"),
        ("wire.length=3", "wire.length", "begins with segment"),
        ("stations.frames.mix.0=3", "stations.frames.mix.0", "expected a table"),
        ("title=\udc80", "title", "UTF-8"),
        ("a.b.c.d.e.f.g.h.i=1", "a.b.c.d.e.f.g.h.i", "at most 8 parts"),
        ("title=" + "x" * 20_000, "title", "key.path=value"),
    ],
)
def test_overrides_that_lead_nowhere_are_refused(small, override, key, allowed):
    faults = faults_of(lambda: load(small, overrides=[override]))
    assert [(fault.file, fault.key) for fault in faults] == [("--set", key)]
    assert allowed in faults[0].allowed


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("0x" + "f" * 9000, "at most 9223372036854775807"),
        ("[" * 300 + "]" * 300, "an integer"),
        ("[" * 4000, "an integer"),
    ],
)
def test_monstrous_override_values_are_refused(small, value, allowed):
    (fault,) = faults_of(lambda: load(small, overrides=[f"seed={value}"]))
    assert (fault.key, allowed in fault.allowed) == ("seed", True)
    assert faults_of(lambda: load(small, overrides=[f"vary.stations.count=[1, {value}]"]))


def test_an_override_that_is_no_toml_value_counts_as_a_text(small):
    (fault,) = faults_of(lambda: load(small, overrides=["seed=1\nrun = { batches = 3 }"]))
    assert (fault.key, fault.allowed) == ("seed", "expected an integer")


@given(st.text(max_size=80))
def test_any_override_gives_an_experiment_or_faults(text):
    from fuzz_input import outcome_of_load

    outcome_of_load(SEGMENT.text().encode(), overrides=[text])


trees = st.recursive(
    st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats()
    | st.text()
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), trees, max_size=6))
def test_toml_text_reads_back_as_what_was_written(tree):
    # Compared as text, for a NaN equals nothing.
    assert repr(sorted(tomllib.loads(toml.document(tree)).items())) == repr(sorted(tree.items()))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_file_is_sound_and_says_where_its_numbers_come_from(name):
    experiment = load(SHIPPED[name])
    assert experiment.notes.strip()
    trials = expand([experiment]).trials
    # Of theories it depends on the point how many apply.
    assert experiment.trials == len(trials) or set(experiment.engines) != {"simulation"}
    for sweep in experiment.sweeps:
        said = [
            key for key in experiment.sources if sweep.key == key or sweep.key.startswith(f"{key}.")
        ]
        assert said, f"{sweep.key} has no source"
    described = " ".join(experiment.sources)
    for key in ("segment.standard",):
        assert key not in described  # the standard is its own source


@functools.cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("name", SHIPPED)
def test_the_schema_accepts_every_shipped_file(name):
    validator().validate(tomllib.loads(SHIPPED[name].read_text(encoding="utf-8")))


def test_the_schema_is_valid_and_refuses_what_the_reader_refuses():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema
    refused: list[dict[str, object]] = [
        {"colour": 1},
        {"segment.length": 5},
        {"segment.standard": "token"},
        {"stations.0.arrivals": {"bursts": 1}},
        {"vary": {"stations.count": 3}},
        {"stations.0.clock_error": "50 us"},
        {"stations.0.clock_error": 50},
    ]
    assert [validator().is_valid(SEGMENT.changed(each)) for each in refused] == [False] * 7
    for each in ({}, {"stations.0.clock_error": "50 ppm"}):
        assert validator().is_valid(SEGMENT.changed(each))


def test_the_study_has_its_five_experiments_and_ten_of_what_its_text_names():
    figures = [name for name in SHIPPED if name.startswith("boggs1988/i-")]
    assert figures == [f"boggs1988/i-{number}" for number in range(1, 6)]
    assert [name for name in SHIPPED if name.startswith("boggs1988/") and name not in figures] == [
        *("boggs1988/backoff", "boggs1988/cable", "boggs1988/clusters", "boggs1988/collapse"),
        *("boggs1988/delay-spread", "boggs1988/low-load", "boggs1988/pair", "boggs1988/queues"),
        *("boggs1988/schoch-hupp", "boggs1988/storm"),
    ]


@pytest.mark.parametrize(
    ("name", "counts", "frames"),
    [("i-1", 23, 10), ("i-2", 24, 10), ("i-3", 24, 10), ("i-4", 24, 9), ("i-5", 24, 9)],
)
def test_the_study_covers_every_number_of_hosts_and_every_length(name, counts, frames):
    experiment = load(SHIPPED[f"boggs1988/{name}"])
    assert experiment.series == name.upper()
    assert experiment.points == counts * frames
    assert experiment.replications == 5


def test_an_unknown_standard_does_not_hide_other_faults():
    faulty = SEGMENT.changed({"segment.standard": "dix-11"}, colour=1)
    assert {fault.key for fault in faults_of(lambda: of_tables(faulty))} == {
        "segment.standard",
        "colour",
    }


def test_a_wrong_word_is_told_of_tables_too(small):
    overrides = ["stations.0.arrivals=sometimes", "stations.0.backoff=never"]
    faults = faults_of(lambda: load(small, overrides=overrides))
    told = {fault.key: fault.allowed for fault in faults}
    assert "poisson_load" in told["stations.0.arrivals"]
    assert "linear" in told["stations.0.backoff"]
