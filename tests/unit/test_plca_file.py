"""Files of 10BASE-T1S: what they become, what they answer, and every fault of their keys."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from buses import of_bus
from ethermeter import _core
from ethermeter.counts import Counts
from ethermeter.engines.simulation import core_trial_of
from ethermeter.experiment import of_text
from ethermeter.metrics import Metric
from ethermeter.scenario import Interval, PlcaNodes
from ethermeter.theory.bus import bus_of
from shared_experiments import BUS, scenario, trials

SILENT = {"poisson": "0.001 /s"}
SHARES = (
    *(Metric.TIME_FRAME, Metric.TIME_PREAMBLE, Metric.TIME_GAP, Metric.TIME_COLLISION),
    *(Metric.TIME_IDLE, Metric.TIME_BEACON, Metric.TIME_COMMIT, Metric.TIME_OPPORTUNITY),
)


def stations(name="node", *, count=9, frames="64 B", arrivals="saturated", **keys):
    return em.stations(name, count=count, frames=frames, arrivals=arrivals, **keys)


def bus(*groups, plca=None, **keys):
    """A bus like the shared one, with these settings and groups."""
    return em.segment(
        "10base-t1s",
        delays=[["0 s"]],
        plca=plca,
        stations=groups or stations(),
        **{"phases": BUS["phases"], **keys},
    )


def nodes(experiment) -> list[PlcaNodes | None]:
    return [group.plca for group in scenario(experiment).media[0].stations]


def answer(experiment) -> dict[Metric, float]:
    """Return the values of a bus as a whole."""
    (trial,) = trials(experiment)
    return of_bus(trial)


def test_ids_are_the_lowest_free_ones_and_a_cycle_has_room_for_all():
    groups = stations("a", count=2, plca={"node-id": [0, 3]}), stations("b", count=3)
    first, second = nodes(bus(*groups, plca={}))
    assert first is not None
    assert second is not None
    assert first.ids == ((0,), (3,))
    assert second.ids == ((1,), (2,), (4,))
    assert first.node_count == second.node_count == 5


def test_a_group_has_the_settings_of_the_segment_but_for_its_own():
    experiment = bus(
        stations("a", count=1, plca={"burst-cnt": 0, "node-cnt": 20, "fall-back": False}),
        stations("b", count=1, plca={"node-id": [1, 7], "burst-tmr": 200}),
        stations("c", count=1, plca={"enable": False}),
        plca={"to-tmr": 24, "burst-cnt": 2, "beacon-loss": 0.25},
    )
    assert nodes(experiment) == [
        PlcaNodes(
            ids=((0,),), node_count=20, opportunity_bits=24, burst_bits=128, falls_back=False
        ),
        PlcaNodes(ids=((1, 7),), node_count=8, opportunity_bits=24, burst_count=2, burst_bits=200),
        None,
    ]
    assert scenario(experiment).media[0].mac.plca.beacon_loss == 0.25


def test_without_the_table_of_the_segment_only_groups_that_say_so_take_turns():
    first, second = nodes(bus(stations("a", count=1, plca={}), stations("b", count=1)))
    assert first is not None
    assert second is None
    assert nodes(bus()) == nodes(bus(plca={"enable": False})) == [None]


@pytest.mark.parametrize(
    ("given", "at_once", "part1_bits"),
    [
        ({}, False, 64),
        ({"rules": "standard"}, False, 64),
        ({"rules": "inet"}, True, 0),
        ({"rules": "inet", "gap_part1": "32 bit"}, True, 32),
    ],
)
def test_rules_of_inet_are_those_of_its_mac(given, at_once, part1_bits):
    mac = scenario(bus(**given)).media[0].mac.plca
    assert (mac.jams_at_once, mac.gap_after_backoff) == (at_once, at_once)
    assert mac.csma_cd.gap_part1_bits == part1_bits


@pytest.mark.parametrize(("rules", "is_bounded"), [("standard", True), ("inet", False)])
def test_no_bound_holds_for_a_mac_that_owes_a_gap_after_a_backoff(rules, is_bounded):
    found = bus_of(scenario(bus(plca={}, rules=rules)))
    assert found is not None
    assert found.is_bounded == is_bounded, found.obstacles


def test_times_of_outages_are_those_of_the_trial():
    down = [{"at": "20 ms", "for": "5 ms"}, {"at": "1 ms", "for": "1 ms"}]
    off = {"off": [{"at": "50 ms", "for": "10 ms"}]}
    (group,) = scenario(bus(stations(down=down, plca=off), plca={})).media[0].stations
    ms = 10**9
    assert group.down == (
        Interval(from_ps=ms, to_ps=2 * ms),
        Interval(from_ps=20 * ms, to_ps=25 * ms),
    )
    assert group.plca is not None
    assert group.plca.off == (Interval(from_ps=50 * ms, to_ps=60 * ms),)


@pytest.mark.parametrize(
    ("count", "octets", "cycle_us"),
    [(9, 64, 614.0), (17, 64, 1158.0), (41, 64, 2790.0), (9, 1518, 11_082.8)],
)
def test_every_cycle_of_a_saturated_bus_has_the_length_of_the_closed_form(count, octets, cycle_us):
    # 20 + N (8 (L + 9) + 96) bits of 100 ns.
    found = answer(bus(stations(count=count, frames=f"{octets} B"), plca={}))
    assert found[Metric.CYCLE_TIME_MAX] == pytest.approx(cycle_us * 1e-6, rel=1e-12)
    assert found[Metric.CYCLE_TIME] == pytest.approx(cycle_us * 1e-6, rel=1e-12)


def test_every_cycle_of_an_idle_bus_has_nine_opportunities_of_32_bits_and_a_beacon():
    found = answer(bus(stations(arrivals=SILENT), plca={}))
    assert found[Metric.CYCLE_TIME_MAX] == pytest.approx(30.8e-6, rel=1e-12)
    assert found[Metric.TIME_BEACON] == pytest.approx(20 / 308, rel=1e-3)
    assert found[Metric.TIME_OPPORTUNITY] == pytest.approx(288 / 308, rel=1e-3)
    # 50 ms are 1623.4 cycles.
    assert found[Metric.OPPORTUNITIES] in range(1622 * 9, 1625 * 9)


CONTENTION = {
    "saturated": (12, "saturated", "64 B x 7 + 1518 B x 1"),
    "poisson": (7, {"poisson_load": 0.7}, "200 B"),
    "two saturated": (2, "saturated", "64 B"),
}


def same(found: Any, expected: Any, key: str) -> None:
    """Compare counts, but for those that only buses have."""
    if is_dataclass(expected):
        for each in fields(expected):
            if each.name != "plca":
                same(getattr(found, each.name), getattr(expected, each.name), f"{key}.{each.name}")
    elif isinstance(expected, tuple):
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            same(one, other, f"{key}[{number}]")
    else:
        np.testing.assert_array_equal(found, expected, err_msg=key)


@pytest.mark.parametrize("name", CONTENTION)
@pytest.mark.parametrize(("length", "seed"), [(1, 3), (25, 5), (137, 7), (500, 11)])
def test_stations_without_plca_and_end_delimiters_are_those_of_ieee_10(name, length, seed):
    # The constants are the same, so every count is, to the picosecond.
    count, arrivals, frames = CONTENTION[name]

    def counts(standard: str, **keys: str) -> Counts:
        (trial,) = trials(
            em.segment(
                standard,
                length=f"{length} m",
                velocity=0.667,
                stations=stations(count=count, arrivals=arrivals, frames=frames),
                phases=BUS["phases"],
                seed=seed,
                **keys,
            )
        )
        return _core.simulate_trial(core_trial_of(trial.line))

    segment = counts("ieee-10")
    assert segment.stations.frames.sum() > 100
    same(counts("10base-t1s", end_delimiter="0 bit"), segment, "counts")
    with_delimiters = counts("10base-t1s").media[0].time_ps
    assert not np.array_equal(with_delimiters, segment.media[0].time_ps)


BIT_PS = 100_000


def worst_case(
    *, ids: list[int], plca: dict[str, int], cycle_bits: int, late_ps: list[int]
) -> dict[Metric, float]:
    """Simulate a controller and four nodes with a frame each, in the tenth cycle of an idle bus.

    A node's frame comes so many ps after the begin of its opportunity: the second's after a silent
    one, the others' 712 bits (584 of data, 128 of a held line) after the one before.
    """
    due = [52, 84, 84 + 712, 84 + 2 * 712]
    groups = [stations("controller", count=1, arrivals=SILENT)]
    for node, (id, bits, late) in enumerate(zip(ids, due, late_ps, strict=True)):
        phase = (cycle_bits - 20 + 10 * cycle_bits + bits) * BIT_PS + late
        regular = {"regular": "1 s", "phase": f"{phase} ps"}
        groups.append(stations(f"node{node}", count=1, arrivals=regular, plca={"node-id": id}))
    phases = {"settle": "0 s", "transmit": "1 ms", "measure": "all"}
    return answer(bus(*groups, plca={"burst-cnt": 1, **plca}, phases=phases))


@pytest.mark.parametrize("early_bits", [0, 1, 31])
def test_inets_longest_delay_is_met_by_frames_that_come_in_a_silent_opportunity(early_bits):
    # INET, examples/ethernet/TenBaseT1S/worstcase.ini: node 0 is 1 ps late for its opportunity and
    # waits for it (32), 3 · (584 of data + 128 of a held line), beacon (20), the controller's
    # opportunity (32), and its gap (96): 2316 bits. Here an ID that nobody has precedes each
    # node whose frame must not be late, so that it may come before: the line is held for 128 - 32
    # bits, and burst-tmr counts the end delimiter (8) besides.
    found = worst_case(
        ids=[1, 2, 4, 6],
        plca={"node-cnt": 8, "burst-tmr": 104},
        cycle_bits=20 + 8 * 32,
        late_ps=[1] + [-early_bits * BIT_PS] * 3,
    )
    assert found[Metric.ATTEMPT_DELAY_MAX] == pytest.approx(231.6e-6 - 1e-12, abs=1e-15)
    assert found[Metric.LOGICAL_COLLISIONS] == 1


@pytest.mark.parametrize("late_bits", [-1, 0, 1])
def test_inets_longest_delay_needs_a_tie_that_the_diagrams_do_not_decide(late_bits):
    # Its own IDs leave no silence before the opportunities of nodes 2 and 3: before and at their
    # begin the held line is still heard, which is a logical collision (Figure 148-5, RECEIVE to
    # COLLIDE); after it they have yielded, and hear another node before the next one.
    found = worst_case(
        ids=[1, 2, 3, 4],
        plca={"node-cnt": 5, "burst-tmr": 136},
        cycle_bits=20 + 5 * 32,
        late_ps=[1, 0] + [late_bits * BIT_PS] * 2,
    )
    assert found[Metric.ATTEMPT_DELAY_MAX] < 120e-6
    assert found[Metric.LOGICAL_COLLISIONS] == 3


@pytest.mark.parametrize(
    ("rules", "cycle_bits", "frames"), [("standard", 732, 1), ("inet", 1380, 2)]
)
def test_two_saturated_nodes_miss_every_other_opportunity_unless_they_jam_at_once(
    rules, cycle_bits, frames
):
    # As in INET the MAC sends the end delimiter itself: 65 octets, and none of the PHY. After its
    # frame a node is pending by the standard when gap, preamble, jam and pending_timer are over, 96
    # + 64 + 32 + 512 = 704 bits; with a jam at once after 640. Its opportunity is there after a
    # beacon and the other's held line and frame, 20 + 96 + 584 = 700 bits. So by the standard
    # the nodes send in turn, a frame a cycle of 20 + 32 + 96 + 584: 6.99 Mb/s in frames of 64
    # octets; else both in each of 20 + 2 (96 + 584): 7.42. (A program of our own: 6.98 and 7.41.)
    found = answer(
        bus(stations(count=2, frames="65 B"), plca={}, end_delimiter="0 bit", rules=rules)
    )
    assert found[Metric.CYCLE_TIME] == pytest.approx(cycle_bits * 1e-7, rel=1e-12)
    assert found[Metric.FRAMES] == pytest.approx(50e-3 / (cycle_bits * 1e-7) * frames, abs=1)


FAULTY = {
    "sound": {},
    "a coordinator that dies": {"down": [{"at": "60 ms", "for": "20 ms"}]},
    "PLCA off at a time": {"plca": {"off": [{"at": "60 ms", "for": "20 ms"}]}},
    "two nodes of one ID": {"plca": {"node-id": [0, 1, 1, 2]}},
    "two coordinators": {"plca": {"node-id": [0, 0, 1, 2]}},
    "no coordinator": {"plca": {"node-id": [1, 2, 3, 4]}},
}


@pytest.mark.parametrize("fault", FAULTY)
@pytest.mark.parametrize("arrivals", ["saturated", {"poisson_load": 0.4}], ids=str)
def test_shares_of_channel_time_sum_to_one_and_frames_go_on(fault, arrivals):
    found = answer(
        bus(
            stations(count=4, arrivals=arrivals, **FAULTY[fault]),
            stations("plain", count=2, arrivals=arrivals, plca={"enable": False}),
            plca={} if fault == "sound" else {"beacon-loss": 0.01},
        )
    )
    assert sum(found[metric] for metric in SHARES) == pytest.approx(1, abs=1e-12)
    assert found[Metric.FRAMES] > 30


def test_examples_of_the_documentation_are_sound():
    page = Path(__file__).parents[2] / "docs" / "explanation" / "plca.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        of_text(block)


def test_plca_and_csma_cd_are_curves_of_one_figure():
    from ethermeter.report.axes import choose, keys
    from ethermeter.results.estimates import Point

    points = [
        Point("s", {"segment.plca.enable": enable, "stations.count": count}, engine, 1, {})
        for enable, engine in (
            ("true", "simulation"),
            ("false", "simulation"),
            ("true", "theory/plca-2019"),
        )
        for count in ("2", "9")
    ]
    assert [keys(point)["engine"] for point in points[::2]] == [
        "PLCA",
        "CSMA/CD",
        "theory/plca-2019",
    ]
    axes = choose(points)
    assert (axes.x, axes.curve, axes.panels) == ("stations.count", "engine", ())


def test_settings_of_the_nodes_are_on_the_page():
    from ethermeter.report.sections.parameters import constants

    groups = stations("a", count=3), stations("b", count=1)
    rows = dict(constants(scenario(bus(*groups, plca={"burst-cnt": 2}))))
    assert rows["PLCA (a)"] == "node-id 0–2, node-cnt 4, to-tmr 32, burst-cnt 2, burst-tmr 128"
    assert rows["PLCA (b)"].startswith("node-id 3,")
