"""Scenarios as the engines read them, against hand-calculated values."""

import json
from pathlib import Path

import msgspec
import pytest
from ethermeter import _core, topology
from ethermeter.experiment import Experiment, load
from ethermeter.plan import expand
from ethermeter.scenario import Scenario
from ethermeter.station_groups import Group, constants_of, groups_of, medium_of, points_of
from hypothesis import given
from hypothesis import strategies as st
from segments import table_of

HEAD = 'title = "t"\n[segment]\nstandard = "dix-10"\n'


def experiment_of(folder: Path, text: str) -> Experiment:
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def scenario_of(folder: Path, text: str) -> Scenario:
    (trial,) = expand([experiment_of(folder, text)]).trials
    written = json.loads(trial.line)["scenario"]
    assert msgspec.convert(written, Scenario) == trial.scenario
    assert _core.check_trial(json.dumps({"id": "x", "seed": 0, "scenario": written})) is None
    assert isinstance(trial.scenario, Scenario)
    return trial.scenario


def first_of(folder: Path, text: str) -> Group:
    """The first group of stations."""
    return groups_of(scenario_of(folder, text))[0]


def with_group(text: str, *, segment: str = 'length = "1 m"', count: int = 1) -> str:
    return HEAD + segment + f"\n[[stations]]\ncount = {count}\n" + text


def saturated(text: str = "", *, segment: str = 'length = "1 m"', count: int = 1) -> str:
    return with_group(
        'frames = "64 B"\narrivals = "saturated"\n' + text, segment=segment, count=count
    )


def test_the_constants_of_a_standard_are_passed_on(tmp_path):
    (medium,) = scenario_of(tmp_path, saturated()).media
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


def test_constants_can_be_changed_in_bits_or_in_time(tmp_path):
    changed = (
        'length = "1 m"\nrate = "20 Mb/s"\nslot = "25.6 us"\ngap = "4.8 us"\n'
        'gap_part1 = "64 bit"\npreamble = "8 B"\njam = "48 bit"'
    )
    scenario = scenario_of(tmp_path, saturated(segment=changed))
    mac = constants_of(scenario)
    assert medium_of(scenario).bit_ps == 50_000
    assert [mac.slot_bits, mac.gap_bits, mac.gap_part1_bits, mac.preamble_bits, mac.jam_bits] == [
        512,
        96,
        64,
        64,
        48,
    ]


def test_the_12_us_net_of_four_clusters(tmp_path):
    found = scenario_of(
        tmp_path,
        saturated(segment='round_trip = "12 us"\nclusters = 4\ntap_delay = "0.5 us"', count=7),
    )
    assert points_of(found) == [0, 1, 2, 3, 0, 1, 2]
    # The last place has one station only, so nothing on its diagonal.
    assert table_of(medium_of(found).delay_ps) == [
        [1_000_000, 2_666_667, 4_333_333, 6_000_000],
        [2_666_667, 1_000_000, 2_666_666, 4_333_333],
        [4_333_333, 2_666_666, 1_000_000, 2_666_667],
        [6_000_000, 4_333_333, 2_666_667, 0],
    ]


def test_one_cluster_is_all_taps(tmp_path):
    for taps in ("", 'tap_delay = "0.75 us"'):
        found = scenario_of(
            tmp_path, saturated(segment=f'round_trip = "3 us"\nclusters = 1\n{taps}', count=2)
        )
        assert table_of(medium_of(found).delay_ps) == [[1_500_000]]


def test_stations_are_spread_evenly_if_nothing_is_said(tmp_path):
    found = scenario_of(tmp_path, saturated(segment='round_trip = "4 us"', count=3))
    assert points_of(found) == [0, 1, 2]
    assert table_of(medium_of(found).delay_ps) == [
        [0, 10**6, 2 * 10**6],
        [10**6, 0, 10**6],
        [2 * 10**6, 10**6, 0],
    ]


def test_equal_positions_are_one_place(tmp_path):
    text = saturated(
        'positions = ["100 m", "0 m", "100 m"]', segment='length = "100 m"\nvelocity = 1.0', count=3
    )
    found = scenario_of(tmp_path, text)
    assert points_of(found) == [1, 0, 1]
    # 100 m / 299 792 458 m/s = 333 564.1 ps
    assert table_of(medium_of(found).delay_ps) == [[0, 333_564], [333_564, 0]]


def test_a_star_with_branches_of_different_length(tmp_path):
    segment = 'star = { radii = ["100 m", "50 m"], repeater_delay = "1 us" }\nvelocity = 1.0'
    found = scenario_of(tmp_path, saturated(segment=segment, count=3))
    assert points_of(found) == [0, 1, 0]
    assert table_of(medium_of(found).delay_ps) == [[1_667_128, 1_500_346], [1_500_346, 0]]


def test_a_delay_matrix_is_taken_as_it_is_with_the_taps_added(tmp_path):
    segment = 'delays = [["1 us", "2 us"], ["2 us", "1 us"]]\ntap_delay = "10 ns"'
    found = scenario_of(tmp_path, saturated(segment=segment, count=4))
    assert table_of(medium_of(found).delay_ps) == [[1_020_000, 2_020_000], [2_020_000, 1_020_000]]


def test_groups_are_dealt_on_and_may_choose_their_cluster(tmp_path):
    text = (
        saturated('name = "a"', segment='round_trip = "12 us"\nclusters = 3', count=2)
        + '\n[[stations]]\nname = "b"\ncount = 2\nframes = "64 B"\narrivals = "saturated"\n'
        + (
            '[[stations]]\nname = "c"\ncount = 2\nframes = "64 B"\narrivals = '
            '"saturated"\ncluster = 2\n'
        )
        + (
            '[[stations]]\ncount = 3\nframes = "64 B"\narrivals = "saturated"\n'
            "per_cluster = [1, 0, 2]\n"
        )
    )
    groups = groups_of(scenario_of(tmp_path, text))
    assert [group.stations.points for group in groups] == [(0, 1), (2, 0), (2, 2), (0, 2, 2)]
    assert [group.name for group in groups] == ["a", "b", "c", "group-3"]


def test_groups_of_one_name_have_nodes_of_their_own(tmp_path):
    unnamed = '\n[[stations]]\ncount = 2\nframes = "64 B"\narrivals = "saturated"\n'
    scenario = scenario_of(tmp_path, saturated('name = "group-1"') + unnamed)
    assert [group.name for group in groups_of(scenario)] == ["group-1", "group-1"]
    assert [(node.name, node.count) for node in scenario.nodes] == [("group-1", 1), ("group-1'", 2)]


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        ('frames = "64 B"', {"kind": "fixed", "bits": 512}),
        ('frames = "64 B"\nframes_include_fcs = false', {"kind": "fixed", "bits": 544}),
        (
            'frames = "64 B x 7 + 1536 B x 1"',
            {"kind": "mix", "bits": [512, 12_288], "weights": [7.0, 1.0]},
        ),
        ('frames = "64 B x 0 + 1536 B x 8"', {"kind": "fixed", "bits": 12_288}),
        (
            (
                'frames = { mix = [{ length = "64 B", weight = 0.5 }, { length = "100 B", '
                "weight = 1 }] }"
            ),
            {"kind": "mix", "bits": [512, 800], "weights": [0.5, 1.0]},
        ),
    ],
)
def test_frames(tmp_path, text, frames):
    found = first_of(tmp_path, with_group(text + '\narrivals = "saturated"\n'))
    assert table_of(found.flow.frames) == frames


def test_frames_from_a_measured_table(tmp_path):
    (tmp_path / "lengths.csv").write_text(
        "length_bytes,weight\n64,3\n\n1518,0\n1000,0.5\n", encoding="utf-8"
    )
    text = with_group('frames = { measured = "lengths.csv" }\narrivals = "saturated"\n')
    assert table_of(first_of(tmp_path, text).flow.frames) == {
        "kind": "mix",
        "bits": [512, 8000],
        "weights": [3.0, 0.5],
    }


@pytest.mark.parametrize(
    ("text", "arrivals"),
    [
        ('{ poisson = "100 /s" }', {"kind": "poisson", "mean_ps": 1e10}),
        # Four stations share half of the line rate: (64 + 512 + 96) bits x 100 ns x 4 / 0.5.
        ("{ poisson_load = 0.5 }", {"kind": "poisson", "mean_ps": 537_600_000.0}),
        ('{ regular = "1 ms" }', {"kind": "regular", "period_ps": 10**9}),
        ('{ regular = "1 ms", phase = "random" }', {"kind": "regular", "period_ps": 10**9}),
        (
            '{ regular = "1 ms", phase = "0 s" }',
            {"kind": "regular", "period_ps": 10**9, "phase_ps": 0},
        ),
        (
            '{ regular = "1 ms", phase = "999 us" }',
            {"kind": "regular", "period_ps": 10**9, "phase_ps": 999_000_000},
        ),
        (
            '{ on_off = { period = "1 ms", on = "10 ms", off = "90 ms" } }',
            {"kind": "on_off", "period_ps": 10**9, "on_mean_ps": 1e10, "off_mean_ps": 9e10},
        ),
        ('"saturated"', {"kind": "saturated"}),
    ],
)
def test_arrivals(tmp_path, text, arrivals):
    found = first_of(tmp_path, with_group(f'frames = "64 B"\narrivals = {text}\n', count=4))
    assert table_of(found.flow.arrivals) == arrivals
    assert found.flow.queue_frames is None


def test_the_load_of_a_mix_counts_its_mean_length(tmp_path):
    text = with_group(
        'frames = "64 B x 1 + 128 B x 3"\narrivals = { poisson_load = 1 }\nqueue = 5\n'
    )
    flow = first_of(tmp_path, text).flow
    # Mean frame 112 B = 896 bit; (64 + 896 + 96) x 100 ns.
    assert table_of(flow.arrivals)["mean_ps"] == 105_600_000.0
    assert flow.queue_frames == 5


@pytest.mark.parametrize(
    ("text", "service"),
    [
        ('"5 us"', {"kind": "constant", "ps": 5_000_000}),
        ('{ constant = "5 us" }', {"kind": "constant", "ps": 5_000_000}),
        (
            '{ uniform = ["60 us", "90 us"] }',
            {"kind": "uniform", "low_ps": 60_000_000, "high_ps": 90_000_000},
        ),
        (
            '{ exponential = { mean = "3 us" } }',
            {"kind": "exponential", "offset_ps": 0, "mean_ps": 3e6},
        ),
        (
            '{ measured = { values = ["1 us", "2 us"], weights = [1, 2.5] } }',
            {"kind": "measured", "values_ps": [10**6, 2 * 10**6], "weights": [1.0, 2.5]},
        ),
    ],
)
def test_host_times(tmp_path, text, service):
    flow = first_of(
        tmp_path, saturated(f"service = {text}\ngenerator = {{ buffers = 15, time = {text} }}")
    ).flow
    assert table_of(flow.service) == service
    assert table_of(flow.generator) == {"buffers": 15, "time": service}


@pytest.mark.parametrize(
    ("text", "backoff"),
    [
        ('"exponential"', {"rule": "exponential", "limit": 10}),
        ("{ exponential = { limit = 8 } }", {"rule": "exponential", "limit": 8}),
        ("{ linear = { limit = 10 } }", {"rule": "linear", "limit": 10}),
        ("{ constant = { slots = 4 } }", {"rule": "constant", "slots": 4}),
        ('"none"', {"rule": "none"}),
        (
            '{ load_register = { bits = 8, clock = "38.08 us", ticks = true } }',
            {"rule": "load-register", "bits": 8, "clock_ps": 38_080_000, "ticks": True},
        ),
    ],
)
def test_backoff(tmp_path, text, backoff):
    stations = first_of(tmp_path, saturated(f"backoff = {text}\nattempt_limit = 3")).stations
    assert (table_of(stations.backoff), stations.attempt_limit) == (backoff, 3)


CODER = {"kind": "coder", "sample_bits": 16, "sample_ps": 152_320_000}
SAMPLES = {"kind": "samples", "overhead_bits": 48, "min_bits": 512, "max_bits": 8192}


@pytest.mark.parametrize(
    ("text", "coder"),
    [
        ('sample = "16 bit", every = "152.32 us"', CODER),
        (
            'sample = "8 bit", rate = "64 kb/s"',
            CODER | {"sample_bits": 8, "sample_ps": 125_000_000},
        ),
        (
            'sample = "16 bit", every = "152.32 us", talk = "1.2 s", silence = "1.8 s"',
            CODER | {"spurts": {"talk_mean_ps": 1.2e12, "silence_mean_ps": 1.8e12}},
        ),
    ],
)
def test_a_coder_and_a_host_that_never_gives_up(tmp_path, text, coder):
    frames = 'frames = { samples = { least = "64 B", most = "1024 B", overhead = "6 B" } }'
    group = first_of(tmp_path, with_group(f"{frames}\narrivals = {{ coder = {{ {text} }} }}\n"))
    stations, flow = group.stations, group.flow
    assert (table_of(flow.arrivals), table_of(flow.frames)) == (coder, SAMPLES)
    assert (stations.after_attempt_limit, stations.after_late_collision, flow.queue_frames) == (
        "resume",
        "backoff",
        None,
    )


def test_the_check_sequence_is_added_to_every_length_of_samples(tmp_path):
    frames = (
        'frames = { samples = { least = "60 B", most = "1020 B", overhead = "0 B" '
        "} }\nframes_include_fcs = false\n"
    )
    found = scenario_of(
        tmp_path,
        with_group(frames + 'arrivals = { coder = { sample = "8 bit", rate = "64 kb/s" } }\n'),
    )
    # ieee-10 has 32 bit of it.
    assert table_of(found.flows[0].frames) == {
        "kind": "samples",
        "overhead_bits": 32,
        "min_bits": 512,
        "max_bits": 8192,
    }


def test_a_turnaround_time_stands_in_a_scenario_where_there_is_one_only(tmp_path):
    assert "turnaround_ps" not in table_of(constants_of(scenario_of(tmp_path, saturated())))
    found = constants_of(
        scenario_of(
            tmp_path,
            saturated(
                segment='length = "100 m"\nturnaround = "15 us"\ngap = "0 bit"\ngap_part1 = "0 bit"'
            ),
        )
    )
    assert (found.turnaround_ps, found.gap_bits) == (15_000_000, 0)


def test_a_priority_wait_stands_in_a_scenario_where_there_is_one_only(tmp_path):
    for text in ("", 'priority_wait = "0 us"\n'):
        stations = first_of(tmp_path, saturated(text)).stations
        assert "priority_wait_ps" not in table_of(stations)
    stations = first_of(tmp_path, saturated('priority_wait = "51.2 us"\n')).stations
    assert stations.priority_wait_ps == 51_200_000


def test_defaults_come_from_the_standard(tmp_path):
    group = first_of(tmp_path, saturated())
    assert group.stations.attempt_limit == 16
    assert group.stations.after_attempt_limit == "discard"
    assert group.stations.after_late_collision == "backoff"
    assert table_of(group.flow.service) == {"kind": "constant", "ps": 0}


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        (
            (
                'settle = "5 s"\ntransmit = "20 s"\nmeasure = "middle 10 s"\ndrain = "5 '
                's"\nspread = "1 ms"'
            ),
            (5, 25, 10, 20, 30, 0.001),
        ),
        ('transmit = "20 s"\nmeasure = "last 5 s"', (0, 20, 15, 20, 20, 0)),
        ('settle = "1 s"\ntransmit = "2 s"\nmeasure = "all"', (1, 3, 1, 3, 3, 0)),
        ("", (0, 12, 2, 12, 12, 0)),
    ],
)
def test_phases(tmp_path, text, moments):
    found = scenario_of(tmp_path, saturated() + f"\n[phases]\n{text}\n[run]\nbatches = 7\n")
    keys = ("begin_ps", "stop_ps", "measure_from_ps", "measure_to_ps", "end_ps", "spread_ps")
    assert set(table_of(found.phases)) == set(keys)
    assert [getattr(found.phases, key) for key in keys] == [
        round(moment * 10**12) for moment in moments
    ]
    assert found.batches == 7


lengths = st.integers(0, 5000).map(lambda metres: f"{metres / 10} m")
segments = st.one_of(
    st.builds(
        lambda length, clusters: f'length = "{length}"\nclusters = {clusters}',
        lengths,
        st.integers(1, 12),
    ),
    st.builds(lambda length: f'length = "{length}"', lengths),
    st.builds(
        lambda half, clusters: f'round_trip = "{4 * half} ps"\nclusters = {clusters}',
        st.integers(0, 10**8),
        st.integers(1, 12),
    ),
    st.builds(lambda half: f'round_trip = "{2 * half} ps"', st.integers(0, 10**8)),
    st.builds(
        lambda radii, delay: (
            f'star = {{ radii = {json.dumps(radii)}, repeater_delay = "{delay} ns" }}'
        ),
        st.lists(lengths, min_size=1, max_size=8),
        st.integers(0, 5000),
    ),
)


@given(
    segments,
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from(["", '\ntap_delay = "0.3 us"']),
)
def test_every_topology_is_symmetric_and_obeys_the_triangle_inequality(
    tmp_path_factory, segment, counts, tap
):
    # A round trip includes its taps, so any tap does not fit any round trip.
    tap = "" if "round_trip" in segment else tap
    group = '[[stations]]\ncount = {}\nframes = "64 B"\narrivals = "saturated"\n'
    text = HEAD + segment + tap + "\n" + "".join(group.format(count) for count in counts)
    found = scenario_of(tmp_path_factory.mktemp("any"), text)
    delays = medium_of(found).delay_ps
    topology.check(delays)
    places = points_of(found)
    assert len(places) == sum(counts)
    assert set(places) <= set(range(len(delays)))
    for place in range(len(delays)):
        assert delays[place][place] == 0 or places.count(place) > 1
