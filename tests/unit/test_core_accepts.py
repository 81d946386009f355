"""Agreement of two doors: what the reader lets through, the simulator does not refuse."""

import json

from ethermeter import _core
from ethermeter.experiment import Experiment, toml_text
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import StationGroup
from ethermeter.faults import InputError
from ethermeter.plan import expand
from fuzz_input import outcome_of_load
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_fuzz import quantities, values

likely = st.one_of(
    values,
    quantities,
    st.sampled_from(
        [
            {"uniform": ["1 us", "2 us"]},
            {"exponential": {"mean": "3 us"}},
            {"measured": {"values": ["1 us", "1000 s"], "weights": [0, 1]}},
            {"linear": {"limit": 30}},
            {"constant": {"slots": 1_000_000}},
            {"poisson": "0.001 /s"},
            {"poisson_load": 100},
            {"on_off": {"period": "1 us", "on": "1 ps", "off": "1000 s"}},
            {"mix": [{"length": "1 GB", "weight": 1e-300}, {"length": "5 B", "weight": 1e12}]},
            {"mix": [{"length": "5 B", "weight": 1}, {"length": "125 MB", "weight": 0.1}]},
            {"radii": ["100 km", "0 m"], "repeater_delay": "0.1 s"},
            {"buffers": 100_000, "time": "1000 s"},
            [["0 s", "0.1 s"], ["0.1 s", "0 s"]],
            "1 bit",
            "16777216 bit",
            "1 kb/s",
            "1 Tb/s",
            10_000_000,
        ]
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from([key for key in Segment.model_fields if key != "standard"]), likely, max_size=3),
    st.dictionaries(st.sampled_from([key for key in StationGroup.model_fields if key != "count"]), likely, max_size=3),
    st.sampled_from(["dix-10", "ieee-100", "experimental-3"]),
    st.integers(1, 5),
)
def test_the_simulator_runs_whatever_the_reader_lets_through(
    segment: dict[str, object], group: dict[str, object], standard: str, count: int
) -> None:
    topology = {} if {"round_trip", "star", "delays"} & set(segment) else {"length": "100 m"}
    tree = {
        "title": "t",
        "segment": {"standard": standard, **topology, **segment},
        "stations": [{"count": count, "frames": "64 B", "arrivals": "saturated", **group}],
        "phases": {"transmit": "1 ms", "measure": "all"},
    }
    found = outcome_of_load(toml_text.document(tree).encode("utf-8", "replace"))
    if isinstance(found, InputError):
        return
    assert isinstance(found, Experiment)
    (trial,) = expand([found]).trials
    result = _core.simulate(trial.line)
    assert len(result["station_frames"]) == count
    assert json.loads(trial.line)["id"] == "x/00000"
