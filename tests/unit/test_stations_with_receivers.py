"""Stations of a segment send to the medium, or to other stations, and then flows have delays."""

import ethermeter as em
import pytest
from ethermeter.entities import names_of
from ethermeter.experiment import of_tables
from ethermeter.metrics import Metric
from faults_at import faults_of
from hypothesis import given
from hypothesis import strategies as st
from measured_trials import only_trial
from shared_experiments import pair, scenario, trials
from test_media_within_networks import results_of

PHASES = {"settle": "1 ms", "transmit": "60 ms", "measure": "last 50 ms"}
OF_MEDIUM = (Metric.UTILISATION, Metric.ACCESS_DELAY, Metric.COLLISIONS_PER_FRAME)
GROUPS = [("left", 2), ("right", 3), ("alone", 1)]


def segment(groups, to, standard="ieee-10", **keys):
    """A segment with groups, each with the receivers of its name."""
    stations = [
        em.stations(name, count=count, to=to.get(name), frames=frames, arrivals=arrivals)
        for name, count, frames, arrivals in groups
    ]
    return em.segment(standard, length="20 m", stations=stations, phases=PHASES, **keys)


SOURCES = st.one_of(
    st.just("saturated"),
    st.builds(lambda load: {"poisson_load": load}, st.sampled_from([0.05, 0.3, 0.9])),
)
RECEIVERS = st.sampled_from(["left", "right", "alone", ["left", "right"]])


@given(
    sources=st.tuples(*[SOURCES] * 3),
    receivers=st.tuples(RECEIVERS, RECEIVERS, st.sampled_from(["left", "right"])),
    standard=st.sampled_from(["ieee-10", "10base-t1s"]),
    seed=st.integers(0, 2**40),
)
def test_receivers_change_nothing_on_the_medium(sources, receivers, standard, seed):
    groups = [(*group, "200 B", of) for group, of in zip(GROUPS, sources, strict=True)]
    keys = {"standard": standard, "seed": seed}
    if standard == "10base-t1s":
        keys["plca"] = {}
    alone = only_trial(segment(groups, {}, **keys))
    within = only_trial(
        segment(groups, dict(zip(("left", "right", "alone"), receivers, strict=True)), **keys)
    )
    assert within.seed == alone.seed
    mine, theirs = results_of(within), results_of(alone)
    assert names_of("station", within.scenario) == names_of("station", alone.scenario)
    for metric in OF_MEDIUM:
        assert mine.value(metric, "segment") == theirs.value(metric), metric
        for station in names_of("station", alone.scenario):
            value = mine.value(metric, station)
            assert value == pytest.approx(theirs.value(metric, station), rel=0, nan_ok=True)


def test_a_delay_is_access_transmission_and_propagation():
    regular = {"regular": "1 ms"}
    late = {**regular, "phase": "500 us"}
    a = em.stations("a", count=1, position="0 m", to="b", frames="64 B", arrivals=regular)
    b = em.stations("b", count=1, position="77 m", to="a", frames="500 B", arrivals=late)
    experiment = em.segment("ieee-10", length="100 m", stations=[a, b], phases=PHASES)
    found = results_of(only_trial(experiment))
    # No frame waits: preamble and frame at 10 Mb/s, and 77 m at 0.77 of the speed of light.
    propagation_s = 77 / (0.77 * 299_792_458)
    for flow, octets in (("a to b", 64), ("b to a", 500)):
        delay_s = 8 * (8 + octets) / 10e6 + propagation_s
        assert found.value(Metric.ONE_WAY_DELAY, flow) == pytest.approx(delay_s, abs=1e-12)
        assert found.value(Metric.LOSS, flow) == 0


def test_delays_of_contending_stations_are_their_access_delays_and_what_follows():
    arrivals = {"regular": "2 ms", "phase": "random"}
    stations = em.stations("s", count=4, to="s", frames="200 B", arrivals=arrivals)
    experiment = em.segment("ieee-10", delays=[["0 s"]], stations=stations, phases=PHASES)
    found = results_of(only_trial(experiment))
    for at in (1, 2, 3, 4):
        access_s = found.value(Metric.ACCESS_DELAY, f"s{at}")
        delay_s = access_s + 8 * (8 + 200) / 10e6
        flow = f"s{at} to s{at % 4 + 1}"
        assert found.value(Metric.ONE_WAY_DELAY, flow) == pytest.approx(delay_s, abs=1e-12)


def test_stations_send_in_rotation_and_within_a_group_to_the_next():
    to = {"left": "right", "right": "right", "alone": ["left", "right"]}
    groups = [(*group, "64 B", "saturated") for group in GROUPS]
    assert [(flow.name, flow.to) for flow in scenario(segment(groups, to)).flows] == [
        ("left1 to right1", ("right1",)),
        ("left2 to right2", ("right2",)),
        ("right1 to right2", ("right2",)),
        ("right2 to right3", ("right3",)),
        ("right3 to right1", ("right1",)),
        ("alone to left1", ("left1",)),
    ]


def test_a_load_is_shared_by_the_stations_of_a_group():
    groups = [("left", 4, "64 B", {"poisson_load": 0.4})]
    means = [
        flow.arrivals.mean_ps
        for to in ({}, {"left": "left"})
        for flow in scenario(segment(groups, to)).flows
    ]
    assert set(means) == {(64 + 512 + 96) * 100_000 * 4 / 0.4}


@pytest.mark.parametrize(
    ("to", "key", "allowed"),
    [
        (
            {"left": "nobody", "right": "left", "alone": "left"},
            "stations.0.to",
            "the name of a host or of a group",
        ),
        (
            {"left": "right", "alone": "left"},
            "stations.1.to",
            "expected receivers, as other groups have",
        ),
        ({"left": "left", "right": "left", "alone": "alone"}, "stations.2.to", "another host"),
    ],
)
def test_receivers_that_cannot_be_are_faults(to, key, allowed):
    groups = [(*group, "64 B", "saturated") for group in GROUPS]
    faults = faults_of(lambda: trials(segment(groups, to)))
    assert [(fault.key, allowed in fault.allowed) for fault in faults][-1] == (key, True)


def test_what_a_network_does_not_carry_is_a_fault_of_its_key():
    def stations(**keys):
        of = {"count": 2, "to": "s", "frames": "64 B", "arrivals": "saturated", **keys}
        return em.segment("ieee-10", length="1 m", stations=em.stations("s", **of))

    register = {"load_register": {"bits": 8, "clock": "1 us", "ticks": True}}
    for keys, key in (
        ({"frames": "65 bit"}, "stations.0.frames"),
        ({"backoff": register}, "stations.0.backoff"),
        ({"count": 1001}, "stations"),
    ):
        assert [fault.key for fault in faults_of(lambda keys=keys: trials(stations(**keys)))] == [
            key
        ]
    for run, theory, key in (
        ({"engines": ["idealised"]}, {}, "run.engines.0"),
        ({"engines": ["theory"]}, {"models": ["lam-1980"]}, "theory.models.0"),
    ):
        experiment = {**stations(), "run": run, "theory": theory}
        assert key in [fault.key for fault in faults_of(lambda e=experiment: trials(e))]


def test_bounds_and_means_answer_for_flows_on_a_segment():
    stations = em.stations("s", count=3, to="s", frames="64 B", arrivals={"regular": "2 ms"})
    keys = {"plca": {}, "phases": PHASES, "run": {"engines": ["simulation", "theory"]}}
    experiment = em.segment("10base-t1s", length="10 m", stations=stations, **keys)
    engines = {trial.engine for trial in trials(experiment)}
    assert engines == {"simulation", "theory/network-calculus", "theory/queueing"}
    assert of_tables(experiment).points == 1


def test_a_node_on_a_segment_of_a_network_contends_as_its_link_says():
    limits = {"attempt_limit": 3, "backoff": "none", "priority_wait": "10 us"}
    given = em.network(
        hosts=["a", "b"],
        segments=[{"name": "bus", "standard": "ieee-10", "length": "9 m"}],
        links=[em.link("a", "bus", **limits), ("b", "bus")],
        flows=em.flow("f", "a", "b", frames="64 B", arrivals="saturated"),
    )
    short = em.segment(
        "ieee-10",
        length="9 m",
        stations=[
            em.stations("a", count=1, to="b", frames="64 B", arrivals="saturated", **limits),
            em.stations("b", count=1, to="a", frames="64 B", arrivals="saturated"),
        ],
    )
    (media,), (others,) = scenario(given).media, scenario(short).media
    assert media.stations == others.stations
    assert (media.stations[0].attempt_limit, media.stations[1].attempt_limit) == (3, 16)


def test_lengths_without_their_check_sequence_are_lengths_with_it():
    def lengths(**keys):
        flow = em.flow("f", "a", "b", arrivals="saturated", response={}, **keys)
        (only,) = scenario(pair(flow)).flows
        return only.frames, only.response.frames

    assert lengths(frames="60 B", frames_include_fcs=False) == lengths(frames="64 B")


def test_receivers_can_be_varied():
    groups = [("left", 2, "64 B", {"regular": "1 ms"})]
    experiment = {**segment(groups, {}), "vary": {"stations.to": ["medium", "left"]}}
    assert [len(trial.scenario.flows) for trial in trials(experiment)] == [1, 2]
    assert em.simulate(experiment).frame().shape[0] > 0
