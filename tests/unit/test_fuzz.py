"""Fuzzing the reader of experiments and of plans: nothing but faults may come of bad input."""

import json

from ethermeter.experiment import Experiment, shipped, toml
from ethermeter.experiment.phases import Phases, Run
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.tables import keys_of, table_reader
from ethermeter.experiment.voice import Coder
from ethermeter.faults import InputError
from ethermeter.plan import Plan, expand
from ethermeter.scenario import Generator, LoadRegisterBackoff, SamplesLengths
from fuzz_input import outcome_of_load, outcome_of_read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shared_experiments import SEGMENT

FILES = [SEGMENT.text().encode(), *(path.read_bytes() for path in shipped().values())]
LINES = (
    expand([found]).to_jsonl().encode()
    if isinstance(found := outcome_of_load(SEGMENT.text().encode()), Experiment)
    else b""
)

quantities = st.builds(
    lambda number, unit: f"{number} {unit}",
    st.integers(-2, 40) | st.floats(allow_nan=True),
    st.sampled_from(["us", "s", "ps", "m", "ft", "B", "bit", "Mb/s", "/s", "", "furlong"]),
)
words = st.sampled_from(
    [
        "saturated",
        "exponential",
        "none",
        "resume",
        "unlimited",
        "middle 1 s",
        "all",
        "64 B x 7 + 1 B x 0",
        "ieee-10",
        "x",
    ]
)
keys = st.sampled_from(
    [
        *keys_of(table_reader(Segment)),
        *keys_of(table_reader(StationGroup)),
        *keys_of(table_reader(Phases)),
        *keys_of(table_reader(Run)),
        *keys_of(table_reader(Generator)),
        "title",
        "segment",
        "stations",
        "vary",
        "sources",
        "from",
        "to",
        "step",
        "poisson",
        "poisson_load",
        "coder",
        "samples",
        "load_register",
        *keys_of(table_reader(Coder)),
        *keys_of(table_reader(SamplesLengths)),
        *keys_of(table_reader(LoadRegisterBackoff)),
        "on_off",
        "uniform",
        "linear",
        "mix",
        "stations.count",
        "stations.0.frames",
        "segment.length",
        "phases.transmit",
        "limit",
        "slots",
        "mean",
        "values",
        "weights",
        "measured",
    ]
)
values = st.recursive(
    quantities
    | words
    | st.integers(-3, 2000)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.text(max_size=20)
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(keys | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.binary(max_size=400))
def test_any_bytes(data):
    outcome_of_load(data)


@given(st.text(max_size=400))
def test_any_text(text):
    outcome_of_load(text.encode("utf-8", "surrogatepass"))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(FILES),
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 12), st.binary(max_size=12)),
        min_size=1,
        max_size=4,
    ),
)
def test_mutated_files(data, cuts):
    for at, gone, put in cuts:
        place = at % (len(data) + 1)
        data = data[:place] + put + data[place + gone :]
    found = outcome_of_load(data)
    # What the reader lets through must be possible to plan, or be refused with faults.
    if isinstance(found, Experiment) and found.trials <= 2000:
        try:
            count = len(expand([found]).trials)
            assert count == found.trials or set(found.engines) != {"simulation"}
        except InputError as error:
            assert error.faults  # noqa: PT017


@given(st.dictionaries(keys, values, max_size=8))
def test_any_structure(tree):
    outcome_of_load(toml.document(tree).encode("utf-8", "replace"))


@given(
    st.dictionaries(st.sampled_from(list(keys_of(table_reader(Segment)))), values, max_size=3),
    st.dictionaries(st.sampled_from(list(keys_of(table_reader(StationGroup)))), values, max_size=3),
    st.dictionaries(st.sampled_from(list(keys_of(table_reader(Phases)))), values, max_size=2),
    st.dictionaries(keys, values, max_size=2),
)
def test_almost_sound_structures(segment: dict, group: dict, phases: dict, vary: dict) -> None:  # type: ignore[type-arg]
    tree = SEGMENT.changed(
        segment=SEGMENT["segment"] | segment,
        stations=[SEGMENT["stations"][0] | group],
        phases=phases,
        vary=vary,
    )
    outcome_of_load(toml.document(tree).encode("utf-8", "replace"))


@given(st.binary(max_size=400))
def test_any_bytes_as_a_plan(data):
    outcome_of_read(data)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 12), st.binary(max_size=12)),
        min_size=1,
        max_size=4,
    )
)
def test_mutated_plans(cuts):
    data = LINES
    for at, gone, put in cuts:
        place = at % (len(data) + 1)
        data = data[:place] + put + data[place + gone :]
    found = outcome_of_read(data)
    if isinstance(found, Plan):
        assert found.to_jsonl().encode().removesuffix(b"\n") == data.removesuffix(b"\n")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["id", "series", "replication", "seed", "engine", "point", "scenario"]),
        json_values,
        min_size=1,
    )
)
def test_plans_with_any_values(changes):
    outcome_of_read(json.dumps({**json.loads(LINES), **changes}).encode())
