"""Scenarios as the engines read them, against hand-calculated values."""

import json
from collections.abc import Mapping

import ethermeter as em
import msgspec
import pytest
from ethermeter import _core, topology
from ethermeter.entities import Senders, constants_of, medium_of, points_of, senders
from ethermeter.experiment import load
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.scenario import Scenario
from hypothesis import given
from hypothesis import strategies as st
from segments import table_of
from shared_experiments import trials


def scenario_of(experiment: Mapping[str, object]) -> Scenario:
    (trial,) = trials(experiment)
    written = json.loads(trial.line)["scenario"]
    assert msgspec.convert(written, Scenario) == trial.scenario
    assert _core.check_trial(json.dumps({"id": "x", "seed": 0, "scenario": written})) == []
    assert isinstance(trial.scenario, Scenario)
    return trial.scenario


def of_group(count: int = 1, **keys: object) -> ExperimentTables:
    """A segment with this group, which is saturated with 64 B if nothing else is said."""
    group = {"count": count, "frames": "64 B", "arrivals": "saturated", **keys}
    return em.segment("dix-10", length="1 m", stations=em.stations(**group))


def of_segment(count: int = 1, **keys: object) -> Scenario:
    """A segment of these keys with saturated stations."""
    return scenario_of(of_group(count).changed(segment={"standard": "dix-10", **keys}))


def first_of(count: int = 1, **keys: object) -> Senders:
    """The first group of stations."""
    return senders(scenario_of(of_group(count, **keys)))[0]


def test_the_constants_of_a_standard_are_passed_on():
    (medium,) = scenario_of(of_group()).media
    assert (medium.bit_ps, medium.delay_ps) == (100_000, ((0,),))
    assert table_of(medium.mac) == {
        "csma_cd": {
            "slot_bits": 512,
            "gap_bits": 96,
            "gap_part1_bits": 0,
            "preamble_bits": 64,
            "jam_bits": 32,
        }
    }


def test_constants_can_be_changed_in_bits_or_in_time():
    scenario = of_segment(
        length="1 m",
        rate="20 Mb/s",
        slot="25.6 us",
        gap="4.8 us",
        gap_part1="64 bit",
        preamble="8 B",
        jam="48 bit",
    )
    mac = constants_of(scenario)
    assert medium_of(scenario).bit_ps == 50_000
    assert (mac.slot_bits, mac.gap_bits, mac.gap_part1_bits) == (512, 96, 64)
    assert (mac.preamble_bits, mac.jam_bits) == (64, 48)


def test_the_12_us_net_of_four_clusters():
    found = of_segment(7, round_trip="12 us", clusters=4, tap_delay="0.5 us")
    assert points_of(found) == [0, 1, 2, 3, 0, 1, 2]
    # The last place has one station only, so nothing on its diagonal.
    assert table_of(medium_of(found).delay_ps) == [
        [1_000_000, 2_666_667, 4_333_333, 6_000_000],
        [2_666_667, 1_000_000, 2_666_666, 4_333_333],
        [4_333_333, 2_666_666, 1_000_000, 2_666_667],
        [6_000_000, 4_333_333, 2_666_667, 0],
    ]


def test_one_cluster_is_all_taps():
    for taps in (None, "0.75 us"):
        found = of_segment(2, round_trip="3 us", clusters=1, tap_delay=taps)
        assert table_of(medium_of(found).delay_ps) == [[1_500_000]]


def test_stations_are_spread_evenly_if_nothing_is_said():
    found = of_segment(3, round_trip="4 us")
    assert points_of(found) == [0, 1, 2]
    assert table_of(medium_of(found).delay_ps) == [
        [0, 10**6, 2 * 10**6],
        [10**6, 0, 10**6],
        [2 * 10**6, 10**6, 0],
    ]


def test_equal_positions_are_one_place():
    group = of_group(3, positions=["100 m", "0 m", "100 m"])
    found = scenario_of(group.changed({"segment.length": "100 m", "segment.velocity": 1.0}))
    assert points_of(found) == [1, 0, 1]
    # 100 m / 299 792 458 m/s = 333 564.1 ps
    assert table_of(medium_of(found).delay_ps) == [[0, 333_564], [333_564, 0]]


def test_a_star_with_branches_of_different_length():
    star = {"radii": ["100 m", "50 m"], "repeater_delay": "1 us"}
    found = of_segment(3, star=star, velocity=1.0)
    assert points_of(found) == [0, 1, 0]
    assert table_of(medium_of(found).delay_ps) == [[1_667_128, 1_500_346], [1_500_346, 0]]


def test_a_delay_matrix_is_taken_as_it_is_with_the_taps_added():
    found = of_segment(4, delays=[["1 us", "2 us"], ["2 us", "1 us"]], tap_delay="10 ns")
    assert table_of(medium_of(found).delay_ps) == [[1_020_000, 2_020_000], [2_020_000, 1_020_000]]


def test_groups_are_dealt_on_and_may_choose_their_cluster():
    common = {"frames": "64 B", "arrivals": "saturated"}
    stations = [
        em.stations("a", count=2, **common),
        em.stations("b", count=2, **common),
        em.stations("c", count=2, cluster=2, **common),
        em.stations(count=3, per_cluster=[1, 0, 2], **common),
    ]
    net = em.segment("dix-10", round_trip="12 us", clusters=3, stations=stations)
    groups = senders(scenario_of(net))
    assert [group.stations.points for group in groups] == [(0, 1), (2, 0), (2, 2), (0, 2, 2)]
    assert [group.name for group in groups] == ["a", "b", "c", "group-3"]


def test_a_group_without_a_name_has_one_that_no_other_has():
    unnamed = of_group(2)["stations"][0]
    scenario = scenario_of(of_group(name="group-1").changed({"stations.1": unnamed}))
    assert [group.name for group in senders(scenario)] == ["group-1", "group-1'"]
    assert [(node.name, node.count) for node in scenario.nodes] == [("group-1", 1), ("group-1'", 2)]


@pytest.mark.parametrize(
    ("keys", "frames"),
    [
        ({"frames": "64 B"}, {"kind": "fixed", "bits": 512}),
        ({"frames": "64 B", "frames_include_fcs": False}, {"kind": "fixed", "bits": 544}),
        (
            {"frames": "64 B x 7 + 1536 B x 1"},
            {"kind": "mix", "bits": [512, 12_288], "weights": [7.0, 1.0]},
        ),
        ({"frames": "64 B x 0 + 1536 B x 8"}, {"kind": "fixed", "bits": 12_288}),
        (
            {
                "frames": {
                    "mix": [{"length": "64 B", "weight": 0.5}, {"length": "100 B", "weight": 1}]
                }
            },
            {"kind": "mix", "bits": [512, 800], "weights": [0.5, 1.0]},
        ),
    ],
)
def test_frames(keys, frames):
    assert table_of(first_of(**keys).flow.frames) == frames


def test_frames_from_a_measured_table(tmp_path):
    (tmp_path / "lengths.csv").write_text(
        "length_bytes,weight\n64,3\n\n1518,0\n1000,0.5\n", encoding="utf-8"
    )
    read = load(of_group(frames={"measured": "lengths.csv"}).save(tmp_path / "x.toml"))
    assert table_of(read.scenarios.at([]).flows[0].frames) == {
        "kind": "mix",
        "bits": [512, 8000],
        "weights": [3.0, 0.5],
    }


@pytest.mark.parametrize(
    ("given", "arrivals"),
    [
        ({"poisson": "100 /s"}, {"kind": "poisson", "mean_ps": 1e10}),
        # Four stations share half of the line rate: (64 + 512 + 96) bits x 100 ns x 4 / 0.5.
        ({"poisson_load": 0.5}, {"kind": "poisson", "mean_ps": 537_600_000.0}),
        ({"regular": "1 ms"}, {"kind": "regular", "period_ps": 10**9}),
        ({"regular": "1 ms", "phase": "random"}, {"kind": "regular", "period_ps": 10**9}),
        (
            {"regular": "1 ms", "phase": "0 s"},
            {"kind": "regular", "period_ps": 10**9, "phase_ps": 0},
        ),
        (
            {"regular": "1 ms", "phase": "999 us"},
            {"kind": "regular", "period_ps": 10**9, "phase_ps": 999_000_000},
        ),
        (
            {"on_off": {"period": "1 ms", "on": "10 ms", "off": "90 ms"}},
            {"kind": "on_off", "period_ps": 10**9, "on_mean_ps": 1e10, "off_mean_ps": 9e10},
        ),
        ("saturated", {"kind": "saturated"}),
    ],
)
def test_arrivals(given, arrivals):
    found = first_of(4, arrivals=given)
    assert table_of(found.flow.arrivals) == arrivals
    assert found.flow.queue_frames is None


def test_the_load_of_a_mix_counts_its_mean_length():
    load = {"poisson_load": 1}
    flow = first_of(frames="64 B x 1 + 128 B x 3", arrivals=load, queue=5).flow
    # Mean frame 112 B = 896 bit; (64 + 896 + 96) x 100 ns.
    assert table_of(flow.arrivals)["mean_ps"] == 105_600_000.0
    assert flow.queue_frames == 5


@pytest.mark.parametrize(
    ("given", "service"),
    [
        ("5 us", {"kind": "constant", "ps": 5_000_000}),
        ({"constant": "5 us"}, {"kind": "constant", "ps": 5_000_000}),
        (
            {"uniform": ["60 us", "90 us"]},
            {"kind": "uniform", "low_ps": 60_000_000, "high_ps": 90_000_000},
        ),
        (
            {"exponential": {"mean": "3 us"}},
            {"kind": "exponential", "mean_ps": 3e6},
        ),
        (
            {"measured": {"values": ["1 us", "2 us"], "weights": [1, 2.5]}},
            {"kind": "measured", "values_ps": [10**6, 2 * 10**6], "weights": [1.0, 2.5]},
        ),
    ],
)
def test_host_times(given, service):
    flow = first_of(service=given, generator={"buffers": 15, "time": given}).flow
    assert table_of(flow.service) == service
    assert table_of(flow.generator) == {"buffers": 15, "time": service}


@pytest.mark.parametrize(
    ("given", "backoff"),
    [
        ("exponential", {"rule": "exponential", "limit": 10}),
        ({"exponential": {"limit": 8}}, {"rule": "exponential", "limit": 8}),
        ({"linear": {"limit": 10}}, {"rule": "linear", "limit": 10}),
        ({"constant": {"slots": 4}}, {"rule": "constant", "slots": 4}),
        ("none", {"rule": "none"}),
        (
            {"load_register": {"bits": 8, "clock": "38.08 us", "ticks": True}},
            {"rule": "load-register", "bits": 8, "clock_ps": 38_080_000, "ticks": True},
        ),
    ],
)
def test_backoff(given, backoff):
    stations = first_of(backoff=given, attempt_limit=3).stations
    assert (table_of(stations.backoff), stations.attempt_limit) == (backoff, 3)


CODER = {"kind": "coder", "sample_bits": 16, "sample_ps": 152_320_000}
SAMPLES = {"kind": "samples", "overhead_bits": 48, "min_bits": 512, "max_bits": 8192}


@pytest.mark.parametrize(
    ("given", "coder"),
    [
        ({"sample": "16 bit", "every": "152.32 us"}, CODER),
        (
            {"sample": "8 bit", "rate": "64 kb/s"},
            CODER | {"sample_bits": 8, "sample_ps": 125_000_000},
        ),
        (
            {"sample": "16 bit", "every": "152.32 us", "talk": "1.2 s", "silence": "1.8 s"},
            CODER | {"spurts": {"talk_mean_ps": 1.2e12, "silence_mean_ps": 1.8e12}},
        ),
    ],
)
def test_a_coder_and_a_host_that_never_gives_up(given, coder):
    samples = {"least": "64 B", "most": "1024 B", "overhead": "6 B"}
    group = first_of(frames={"samples": samples}, arrivals={"coder": given})
    stations, flow = group.stations, group.flow
    assert (table_of(flow.arrivals), table_of(flow.frames)) == (coder, SAMPLES)
    assert (stations.after_attempt_limit, stations.after_late_collision, flow.queue_frames) == (
        "resume",
        "backoff",
        None,
    )


def test_the_check_sequence_is_added_to_every_length_of_samples():
    samples = {"least": "60 B", "most": "1020 B", "overhead": "0 B"}
    coder = {"coder": {"sample": "8 bit", "rate": "64 kb/s"}}
    group = first_of(frames={"samples": samples}, frames_include_fcs=False, arrivals=coder)
    # ieee-10 has 32 bit of it.
    assert table_of(group.flow.frames) == {
        "kind": "samples",
        "overhead_bits": 32,
        "min_bits": 512,
        "max_bits": 8192,
    }


def test_a_turnaround_time_stands_in_a_scenario_where_there_is_one_only():
    assert "turnaround_ps" not in table_of(constants_of(scenario_of(of_group())))
    found = constants_of(
        of_segment(length="100 m", turnaround="15 us", gap="0 bit", gap_part1="0 bit")
    )
    assert (found.turnaround_ps, found.gap_bits) == (15_000_000, 0)


def test_a_priority_wait_stands_in_a_scenario_where_there_is_one_only():
    for wait in (None, "0 us"):
        stations = first_of(priority_wait=wait).stations
        assert "priority_wait_ps" not in table_of(stations)
    stations = first_of(priority_wait="51.2 us").stations
    assert stations.priority_wait_ps == 51_200_000


def test_defaults_come_from_the_standard():
    group = first_of()
    assert group.stations.attempt_limit == 16
    assert group.stations.after_attempt_limit == "discard"
    assert group.stations.after_late_collision == "backoff"
    assert table_of(group.flow.service) == {"kind": "constant", "ps": 0}


@pytest.mark.parametrize(
    ("phases", "moments"),
    [
        (
            {
                "settle": "5 s",
                "transmit": "20 s",
                "measure": "middle 10 s",
                "drain": "5 s",
                "spread": "1 ms",
            },
            (5, 25, 10, 20, 30, 0.001),
        ),
        ({"transmit": "20 s", "measure": "last 5 s"}, (0, 20, 15, 20, 20, 0)),
        ({"settle": "1 s", "transmit": "2 s", "measure": "all"}, (1, 3, 1, 3, 3, 0)),
        ({}, (0, 12, 2, 12, 12, 0)),
    ],
)
def test_phases(phases, moments):
    found = scenario_of(of_group().changed(phases=phases, run={"batches": 7}))
    keys = ("begin_ps", "stop_ps", "measure_from_ps", "measure_to_ps", "end_ps", "spread_ps")
    assert set(table_of(found.phases)) == set(keys)
    assert [getattr(found.phases, key) for key in keys] == [
        round(moment * 10**12) for moment in moments
    ]
    assert found.batches == 7


lengths = st.integers(0, 5000).map(lambda metres: f"{metres / 10} m")
taps = st.sampled_from([{}, {"tap_delay": "0.3 us"}])
clusters = st.integers(1, 12)
# A round trip includes its taps, so any tap does not fit any round trip.
segments = st.one_of(
    st.builds(
        lambda of, number, tap: {"length": of, "clusters": number, **tap}, lengths, clusters, taps
    ),
    st.builds(lambda of, tap: {"length": of, **tap}, lengths, taps),
    st.builds(
        lambda quarter, number: {"round_trip": f"{4 * quarter} ps", "clusters": number},
        st.integers(0, 10**8),
        clusters,
    ),
    st.builds(lambda half: {"round_trip": f"{2 * half} ps"}, st.integers(0, 10**8)),
    st.builds(
        lambda radii, ns, tap: {"star": {"radii": radii, "repeater_delay": f"{ns} ns"}, **tap},
        st.lists(lengths, min_size=1, max_size=8),
        st.integers(0, 5000),
        taps,
    ),
)


@given(segments, st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_every_topology_is_symmetric_and_obeys_the_triangle_inequality(segment, counts):
    groups = [em.stations(count=count, frames="64 B", arrivals="saturated") for count in counts]
    found = scenario_of(em.segment("dix-10", stations=groups, **segment))
    delays = medium_of(found).delay_ps
    topology.check(delays)
    places = points_of(found)
    assert len(places) == sum(counts)
    assert set(places) <= set(range(len(delays)))
    for place in range(len(delays)):
        assert delays[place][place] == 0 or places.count(place) > 1
