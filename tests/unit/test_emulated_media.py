"""Shared media of networks as segments of a testbed: stations, delays, queues, credit, ports."""

import ethermeter as em
import numpy as np
import pytest
from ethermeter import _core
from ethermeter.engines.live.media import (
    flow_faults,
    hops_of,
    media_faults,
    segments_of,
    shared_media,
    trials_of,
    windows_of,
)
from ethermeter.engines.live.offsets import without_offsets
from ethermeter.engines.live.ports import media_counts, port_counts
from ethermeter.live_reports import Distribution as Times
from ethermeter.live_reports import (
    RoleReport,
    SegmentCounts,
    SinkReport,
    StationReport,
    StreamCounts,
    StreamWindow,
)
from ethermeter.scenario import PoissonArrivals
from ethermeter.store.result import FlowResult, Result
from ethermeter.trial import core_trial
from measured_trials import only_trial
from msgspec.json import encode
from msgspec.structs import replace

MEDIA = em.network(
    title="Media",
    rate="10 Mb/s",
    segments=[{"name": "cable", "standard": "ieee-10", "length": "200 m"}],
    hosts=[em.host("h", count=5)],
    switches=[em.switch("switch", queue=7)],
    hubs=[em.hub("first", delay="2 us"), em.hub("second", delay="1 us")],
    links=[
        em.link("h1", "first", delay="100 ns"),
        em.link("h2", "first", delay="200 ns"),
        em.link("first", "second", delay="300 ns"),
        em.link("second", "switch", delay="400 ns"),
        em.link("h3", "switch", half_duplex=True, rate="100 Mb/s"),
        em.link("switch", "cable", position="0 m"),
        em.link("h4", "cable", position="150 m"),
        ("h5", "switch"),
    ],
    flows=em.flow("load", "h1", "h4", data="5000 B", arrivals="saturated"),
    phases={"settle": "0 s", "transmit": "100 ms", "measure": "last 90 ms"},
    run={"engines": ["live"]},
)


def trial_of(changes=None):
    return only_trial(MEDIA, changes)


def test_media_are_segments_hubs_and_half_duplex_links_with_the_delays_between_ports():
    cable, hubs, link = shared_media(trial_of().scenario)
    assert [shared.medium.name for shared in (cable, hubs, link)] == [
        "cable",
        "first, second",
        "h3 - switch",
    ]
    assert (cable.nodes, hubs.nodes, link.nodes) == (
        ("switch", "h4"),
        ("h1", "h2", "switch"),
        ("h3", "switch"),
    )
    # Links of the file are numbered without those of segments, which come after them.
    assert (cable.ports, hubs.ports, link.ports) == ((12, 14), (0, 2, 7), (8, 9))
    # 100 + 2000 + 200 ns from h1 to h2; 100 + 2000 + 300 + 1000 + 400 to the switch.
    assert np.array_equal(
        hubs.medium.delay_ps, 1000 * np.array([[0, 2300, 3800], [2300, 0, 3900], [3800, 3900, 0]])
    )
    assert (hubs.medium.bit_ps, link.medium.bit_ps) == (100_000, 10_000)
    mac = hubs.medium.mac.csma_cd
    assert (mac.slot_bits, mac.gap_bits, mac.gap_part1_bits, mac.jam_bits) == (512, 96, 64, 32)
    assert mac.preamble_bits == 64


def test_the_core_takes_every_medium_as_a_segment_whose_stations_are_silent():
    trial = trial_of()
    for made, shared in zip(trials_of(trial), shared_media(trial.scenario), strict=True):
        counts = _core.simulate_trial(encode(made.trial).decode())
        assert counts.stations.frames.tolist() == [0] * len(shared.nodes)
    seeds = {made.trial.seed for made in trials_of(trial)}
    assert len(seeds) == 3


def test_a_switch_has_its_queue_and_hears_all_and_a_host_has_credit():
    trial = trial_of()
    cable, hubs, _ = trials_of(trial)
    assert [flow.queue_frames for flow in hubs.trial.scenario.flows] == [None, None, 7]
    assert (cable.hear_all, hubs.hear_all) == ((0,), (2,))
    # Fragments of 606 octets and more: 26 ms of them, and one, for each half of the window.
    half = -(-26_000_000 // ((606 + 8) * 800)) + 1
    assert windows_of(trial) == [2 * half]
    assert hubs.credit == (half, None, None)


def test_programs_on_standing_media_are_shaped():
    for segment in segments_of(trial_of().scenario, has_shapers=True):
        assert segment.shaper is not None
        flows = segment.medium.trial.scenario.flows
        by_node = dict(zip(segment.stations, flows, strict=True))
        assert {name: flow.queue_frames for name, flow in by_node.items()} == {
            name: 7 if name == "switch" else 64 for name in segment.stations
        }


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"flows.0.port": "xdp"}, "saturated, unicast by xdp"),
        ({"flows.0.cast": "multicast"}, "saturated, multicast by udp"),
    ],
)
def test_saturated_flows_that_credit_does_not_hold_back_are_refused(changes, word):
    trial = trial_of(changes)
    (fault,) = flow_faults(trial.scenario, trial.settings().ports)
    assert word in str(fault)
    assert media_faults(trial.scenario) == []


def counted(stations, counts="", offset_ns=1000):
    totals = tuple(
        StationReport(
            interface="x",
            **dict.fromkeys(("arrived", "dropped", "frames", "octets", "collisions"), 0),
            **dict.fromkeys(("discarded", "starved", "samples"), 0),
            queue_most=number + 1,
            queue_octets_most=10 * number,
            access_most_ps=100 * number,
        )
        for number in range(stations)
    )
    return SegmentCounts(stations=totals, bit_ps=100_000, offset_ns=offset_ns, counts=counts)


def test_ports_at_media_have_their_counts_and_others_have_none(monkeypatch):
    trial = trial_of()
    # What a medium counts on which every station sends.
    silent = trials_of(trial)[0].trial
    flows = tuple(
        replace(flow, arrivals=PoissonArrivals(mean_ps=1e9)) for flow in silent.scenario.flows
    )
    found = _core.simulate_trial(core_trial(replace(silent.scenario, flows=flows)))
    monkeypatch.setattr(_core, "read_counts", lambda _: found)
    ports = port_counts(trial.scenario, {"cable": counted(2)})
    assert found.stations.frames.min() > 0
    for name in ("frames", "collisions", "access_ps"):
        of_stations = getattr(found.stations, name).tolist()
        # The station's port, and the segment's end, which sends nothing; others are not counted.
        expected = [-1] * 12 + [of_stations[0], 0, of_stations[1], 0]
        assert getattr(ports, name).tolist() == expected
    # 64 bits of preamble and the frame of 64 octets, 100 ns a bit.
    assert ports.busy_ps[12] == ports.frames[12] * (64 + 512) * 100_000
    assert ports.octets[12] == 64 * ports.frames[12]
    assert ports.queue_most[[12, 14]].tolist() == [1, 2]
    assert ports.access_most_ps[[12, 14]].tolist() == [0, 100]


def test_media_have_the_counts_of_segments_unless_one_was_not_emulated_to_the_end(monkeypatch):
    trial = trial_of()
    found = _core.simulate_trial(encode(trials_of(trial)[0].trial).decode())
    monkeypatch.setattr(_core, "read_counts", lambda _: found)
    media, stations = media_counts(trial.scenario, {"cable": counted(2, "{}")})
    assert media == found.media
    assert np.array_equal(stations.frames, found.stations.frames)
    assert np.isnan(stations.offered_load).all()
    for segments in ({}, {"cable": counted(2, None)}):
        media, stations = media_counts(trial.scenario, segments)
        assert (media, len(stations.frames)) == ((), 0)


def test_one_way_delays_lack_the_offset_of_each_medium_on_the_path():
    trial = trial_of()
    assert ("h1", "first, second") in hops_of(trial.scenario)
    times = Times(buckets=((2_500_000, 2_600_000, 3),), quantiles_ps={"1": 2_550_000})
    window = StreamWindow(frames=3, delay=times)
    sink = SinkReport(streams=[StreamCounts(received=3, measured=window)])
    result = Result(
        outcome="complete",
        agents={},
        flows={},
        media={name: counted(2) for name in ("cable", "first, second", "h3 - switch")},
    )
    flow = FlowResult(receiving=RoleReport(counted=sink), to="h4")
    made = without_offsets(trial.scenario, trial.scenario.flows[0], flow, result)
    (stream,) = made.receiving.counted.streams
    # Hub and cable, a microsecond each.
    assert stream.measured.delay.buckets == ((500_000, 600_000, 3),)
    assert stream.measured.delay.quantiles_ps == {"1": 550_000}
