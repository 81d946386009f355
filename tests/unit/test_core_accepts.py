"""Agreement of two doors: what the reader lets through, the simulator does not refuse."""

import ethermeter as em
from ethermeter import _core
from ethermeter.counts import Counts
from ethermeter.experiment import Experiment
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.plan import expand
from ethermeter.trial import core_trial_of
from fuzz_input import outcome_of_load
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

# Sound values at their limits and one inside; which of them go together, the reader decides.
TIMES = [
    "0 ps",
    "1000 s",
    {"constant": "1 us"},
    {"uniform": ["0 us", "1000 s"]},
    {"exponential": {"offset": "1 us", "mean": "1 ps"}},
    {"exponential": {"mean": "1000 s"}},
    {"measured": {"values": ["1 us", "1000 s"], "weights": [0, 1]}},
    {"measured": {"values": ["0 s", "9 us"], "weights": [1e-300, 1e12]}},
]
BITS = ["1 bit", "16777216 bit", "0 bit", "9.6 us", "96 bit"]
DELAYS = ["0 s", "1 ps", "0.1 s", "1 us", "24.9 ms"]
TOPOLOGIES = [
    {"length": "0 m"},
    {"length": "100 km"},
    {"length": "100 km", "velocity": 0.01, "clusters": 3},
    {"round_trip": "0.1 s"},
    {"round_trip": "0.1 s", "clusters": 1024},
    {"round_trip": "12 us", "clusters": 1},
    {"star": {"radii": ["100 km", "0 m"], "repeater_delay": "0.1 s"}, "velocity": 0.01},
    {"star": {"radius": "50 m", "repeater_delay": "0 s"}},
    {"delays": [["0.1 s", "0.1 s"], ["0.1 s", "0 s"]]},
]
SEGMENT = {
    "rate": ["1 kb/s", "1 Tb/s", "10 Mb/s"],
    "slot": BITS,
    "gap": BITS,
    "gap_part1": BITS,
    "preamble": BITS,
    "jam": BITS,
    "tap_delay": DELAYS,
    "turnaround": DELAYS,
}
GROUP = {
    "frames": [
        "1 bit",
        "125 MB",
        "64 B x 1 + 1 MB x 0",
        {"mix": [{"length": "5 B", "weight": 1e12}, {"length": "125 MB", "weight": 1e-300}]},
    ],
    "frames_include_fcs": [True, False],
    "arrivals": [
        "saturated",
        {"poisson": "0.001 /s"},
        {"poisson": "1e6 /s"},
        {"poisson_load": 100},
        {"poisson_load": 1e-6},
        {"regular": "1000 s"},
        {"regular": "1000 s", "phase": "999 s"},
        {"regular": "1 us", "phase": "999999 ps"},
        {"regular": "1 us"},
        {"on_off": {"period": "1 us", "on": "1 ps", "off": "1000 s"}},
        {"on_off": {"period": "1000 s", "on": "1000 s", "off": "1 ns"}},
    ],
    "service": TIMES,
    "generator": [{"buffers": buffers, "time": time} for buffers in (1, 100_000) for time in TIMES],
    "queue": ["unlimited", 1, 10_000_000],
    "priority_wait": DELAYS,
    "backoff": [
        "none",
        {"exponential": {"limit": 30}},
        {"linear": {"limit": 0}},
        {"constant": {"slots": 1_000_000}},
        {"constant": {"slots": 1}},
        {"load_register": {"bits": 16, "clock": "0.1 s", "ticks": True}},
        {"load_register": {"bits": 1, "clock": "1 ps", "ticks": False}},
    ],
    "clock_error": ["0 ppm", "1 ppb", "10000 ppm"],
    "attempt_limit": [1, 1000],
    "after_attempt_limit": ["discard", "resume"],
    "after_late_collision": ["discard", "backoff"],
}


def some_of(table: dict[str, list[object]]) -> st.SearchStrategy[dict[str, object]]:
    """At most three of the keys, each with one of its values."""
    return st.lists(st.sampled_from(sorted(table)), unique=True, max_size=3).flatmap(
        lambda keys: st.fixed_dictionaries({key: st.sampled_from(table[key]) for key in keys})
    )


PHASES = {"settle": "1 ms", "transmit": "1 ms", "measure": "all", "drain": "1 ms"}


def simulated(experiment: ExperimentTables) -> Counts:
    """Counts of what the reader lets through; the rest is no example."""
    found = outcome_of_load(experiment.text().encode())
    assume(isinstance(found, Experiment))
    (trial,) = expand([found]).trials  # type: ignore[list-item]
    return _core.simulate_trial(core_trial_of(trial.line))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    st.sampled_from(TOPOLOGIES),
    some_of(SEGMENT),
    some_of(GROUP),
    st.sampled_from(["dix-10", "ieee-100", "experimental-3"]),
    st.integers(1, 5),
    st.sampled_from(["0 s", "1 ms"]),
)
def test_the_simulator_runs_whatever_the_reader_lets_through(
    topology, segment, group, standard, count, spread
):
    stations = {"count": count, "frames": "64 B", "arrivals": "saturated", **group}
    phases = {**PHASES, "spread": spread}
    experiment = em.segment(standard, stations=stations, phases=phases, **{**topology, **segment})
    result = simulated(experiment)
    assert len(result.stations.frames) == count
    assert int(result.media[0].time_ps.sum()) == result.window_ps == 10**9


VOICE_FRAMES = {
    "least": ["1 bit", "64 B", "65 B", "1 MB"],
    "most": ["2 B", "1024 B", "16777216 bit", "16777200 bit", "1 MB"],
    "overhead": ["0 B", "2 B", "6 B", "100 B"],
}
CODERS = [
    {"sample": "16 bit", "every": "152.32 us"},
    {"sample": "4096 bit", "every": "1 s"},
    {"sample": "1 bit", "every": "2.5 us"},
    # 5.44 us of the experimental Ethernet, and a picosecond more than those are of a clock that is
    # 1% too fast.
    {"sample": "16 bit", "every": "5494951 ps"},
    {"sample": "8 bit", "rate": "64 kb/s"},
    {"sample": "8 bit", "rate": "8 b/s"},
    {"sample": "8 bit", "every": "125 us", "talk": "125 us", "silence": "1000 s"},
    {"sample": "8 bit", "every": "125 us", "talk": "1000 s", "silence": "125 us"},
]
VOICE_HOST = {
    key: GROUP[key]
    for key in ("frames_include_fcs", "service", "clock_error", "backoff", "attempt_limit")
}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    some_of(SEGMENT),
    some_of(VOICE_HOST),
    st.fixed_dictionaries({key: st.sampled_from(values) for key, values in VOICE_FRAMES.items()}),
    st.sampled_from(CODERS),
    st.sampled_from(["dix-10", "experimental-3"]),
    st.integers(1, 5),
)
def test_the_simulator_runs_whatever_voice_the_reader_lets_through(
    segment, group, frames, coder, standard, count
):
    talk = {"frames": {"samples": frames}, "arrivals": {"coder": coder}}
    stations = {"count": count, **talk, **group}
    result = simulated(
        em.segment(standard, stations=stations, phases=PHASES, **{"length": "550 m", **segment})
    )
    voice = result.stations.voice
    assert voice is not None
    fates = voice.samples_delivered + voice.samples_lost + voice.samples_buffered
    assert (voice.samples == fates).all()
