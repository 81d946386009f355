"""Files of 10BASE-T1S: what they become, what they answer, and every fault of their keys."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from buses import of_bus
from ethermeter import _core, plan
from ethermeter.counts import Counts
from ethermeter.engines.simulation import core_trial_of
from ethermeter.experiment import load
from ethermeter.metrics import Metric
from ethermeter.scenario import Interval, PlcaNodes, Scenario
from ethermeter.theory.bus import bus_of
from faults_at import expect_fault

HEAD = 'title = "t"\n[phases]\nsettle = "1 ms"\ntransmit = "100 ms"\nmeasure = "last 50 ms"\n'
BUS = '[segment]\nstandard = "10base-t1s"\ndelays = [["0 s"]]\n'
PLCA = BUS + "[segment.plca]\n"
SHARES = (
    *(Metric.TIME_FRAME, Metric.TIME_PREAMBLE, Metric.TIME_GAP, Metric.TIME_COLLISION),
    *(Metric.TIME_IDLE, Metric.TIME_BEACON, Metric.TIME_COMMIT, Metric.TIME_OPPORTUNITY),
)


def stations(name="node", *, count=9, frames="64 B", arrivals='"saturated"', more=""):
    return (
        f'[[stations]]\nname = "{name}"\ncount = {count}\nframes = "{frames}"\n'
        f"arrivals = {arrivals}\n{more}\n"
    )


def scenario(folder: Path, text: str) -> Scenario:
    path = folder / "bus.toml"
    path.write_text(text, encoding="utf-8")
    return load(path).scenarios.at([])


def nodes(folder: Path, text: str) -> list[PlcaNodes | None]:
    return [group.plca for group in scenario(folder, text).media[0].stations]


def answer(folder: Path, text: str) -> dict[Metric, float]:
    """Return the values of a bus as a whole."""
    path = folder / "bus.toml"
    path.write_text(text, encoding="utf-8")
    (trial,) = plan.expand([load(path)]).trials
    return of_bus(trial)


def test_ids_are_the_lowest_free_ones_and_a_cycle_has_room_for_all(tmp_path):
    groups = stations("a", count=2, more="plca = { node-id = [0, 3] }") + stations("b", count=3)
    first, second = nodes(tmp_path, HEAD + PLCA + groups)
    assert first is not None
    assert second is not None
    assert first.ids == ((0,), (3,))
    assert second.ids == ((1,), (2,), (4,))
    assert first.node_count == second.node_count == 5


def test_a_group_has_the_settings_of_the_segment_but_for_its_own(tmp_path):
    text = (
        HEAD
        + PLCA
        + "to-tmr = 24\nburst-cnt = 2\nbeacon-loss = 0.25\n"
        + stations("a", count=1, more="plca = { burst-cnt = 0, node-cnt = 20, fall-back = false }")
        + stations("b", count=1, more="plca = { node-id = [1, 7], burst-tmr = 200 }")
        + stations("c", count=1, more="plca = { enable = false }")
    )
    first, second, third = nodes(tmp_path, text)
    assert first == PlcaNodes(
        ids=((0,),), node_count=20, opportunity_bits=24, burst_bits=128, falls_back=False
    )
    assert second == PlcaNodes(
        ids=((1, 7),), node_count=8, opportunity_bits=24, burst_count=2, burst_bits=200
    )
    assert third is None
    bus = scenario(tmp_path, text).media[0].mac.plca
    assert bus is not None
    assert bus.beacon_loss == 0.25


def test_without_the_table_of_the_segment_only_groups_that_say_so_take_turns(tmp_path):
    text = HEAD + BUS + stations("a", count=1, more="plca = {}") + stations("b", count=1)
    first, second = nodes(tmp_path, text)
    assert first is not None
    assert second is None
    assert nodes(tmp_path, HEAD + BUS + stations())[0] is None
    text = HEAD + PLCA + "enable = false\n" + stations()
    assert nodes(tmp_path, text)[0] is None


def test_rules_of_inet_are_those_of_its_mac(tmp_path):
    for given, at_once, part1_bits in (
        ("", False, 64),
        ('rules = "standard"\n', False, 64),
        ('rules = "inet"\n', True, 0),
        ('rules = "inet"\ngap_part1 = "32 bit"\n', True, 32),
    ):
        bus = scenario(tmp_path, HEAD + BUS + given + stations()).media[0].mac.plca
        assert bus is not None
        assert (bus.jams_at_once, bus.gap_after_backoff) == (at_once, at_once)
        assert bus.csma_cd.gap_part1_bits == part1_bits


def test_no_bound_holds_for_a_mac_that_owes_a_gap_after_a_backoff(tmp_path):
    for rules, is_bounded in (("standard", True), ("inet", False)):
        text = HEAD + PLCA.replace("[segment.plca]", f'rules = "{rules}"\n[segment.plca]')
        bus = bus_of(scenario(tmp_path, text + stations()))
        assert bus is not None
        assert bus.is_bounded == is_bounded, bus.obstacles


def test_times_of_outages_are_those_of_the_trial(tmp_path):
    more = (
        'down = [{ at = "20 ms", for = "5 ms" }, { at = "1 ms", for = "1 ms" }]\n'
        'plca = { off = [{ at = "50 ms", for = "10 ms" }] }'
    )
    (group,) = scenario(tmp_path, HEAD + PLCA + stations(more=more)).media[0].stations
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
def test_every_cycle_of_a_saturated_bus_has_the_length_of_the_closed_form(
    tmp_path, count, octets, cycle_us
):
    # 20 + N (8 (L + 9) + 96) bits of 100 ns.
    found = answer(tmp_path, HEAD + PLCA + stations(count=count, frames=f"{octets} B"))
    assert found[Metric.CYCLE_TIME_MAX] == pytest.approx(cycle_us * 1e-6, rel=1e-12)
    assert found[Metric.CYCLE_TIME] == pytest.approx(cycle_us * 1e-6, rel=1e-12)


def test_every_cycle_of_an_idle_bus_has_nine_opportunities_of_32_bits_and_a_beacon(tmp_path):
    found = answer(tmp_path, HEAD + PLCA + stations(arrivals='{ poisson = "0.001 /s" }'))
    assert found[Metric.CYCLE_TIME_MAX] == pytest.approx(30.8e-6, rel=1e-12)
    assert found[Metric.TIME_BEACON] == pytest.approx(20 / 308, rel=1e-3)
    assert found[Metric.TIME_OPPORTUNITY] == pytest.approx(288 / 308, rel=1e-3)
    # 50 ms are 1623.4 cycles.
    assert found[Metric.OPPORTUNITIES] in range(1622 * 9, 1625 * 9)


CONTENTION = {
    "saturated": (12, '"saturated"', "64 B x 7 + 1518 B x 1"),
    "poisson": (7, "{ poisson_load = 0.7 }", "200 B"),
    "two saturated": (2, '"saturated"', "64 B"),
}


def same(found: object, expected: object, key: str) -> None:
    """Compare counts, but for those that only buses have."""
    if is_dataclass(expected):
        for each in fields(expected):
            if each.name != "plca":
                same(getattr(found, each.name), getattr(expected, each.name), f"{key}.{each.name}")
    else:
        np.testing.assert_array_equal(found, expected, err_msg=key)


@pytest.mark.parametrize("name", CONTENTION)
@pytest.mark.parametrize(("length", "seed"), [(1, 3), (25, 5), (137, 7), (500, 11)])
def test_stations_without_plca_and_end_delimiters_are_those_of_ieee_10(
    tmp_path, name, length, seed
):
    # The constants are the same, so every count is, to the picosecond.
    count, arrivals, frames = CONTENTION[name]
    traffic = stations(count=count, arrivals=arrivals, frames=frames)

    def counts(standard: str, more: str = "") -> Counts:
        place = f'[segment]\nstandard = "{standard}"\nlength = "{length} m"\nvelocity = 0.667\n'
        path = tmp_path / "bus.toml"
        path.write_text(f"seed = {seed}\n{HEAD}{place}{more}\n{traffic}", encoding="utf-8")
        (trial,) = plan.expand([load(path)]).trials
        return _core.simulate_trial(core_trial_of(trial.line))

    segment = counts("ieee-10")
    assert segment.stations.frames.sum() > 100
    same(counts("10base-t1s", 'end_delimiter = "0 bit"'), segment, "counts")
    with_delimiters = counts("10base-t1s").medium.time_ps
    assert not np.array_equal(with_delimiters, segment.medium.time_ps)


WORST = """title = "t"
[phases]
settle = "0 s"
transmit = "1 ms"
measure = "all"
[segment]
standard = "10base-t1s"
delays = [["0 s"]]
[segment.plca]
burst-cnt = 1
"""
BIT_PS = 100_000


def worst_case(
    folder: Path, *, ids: list[int], more: str, cycle_bits: int, late_ps: list[int]
) -> dict[Metric, float]:
    """Simulate a controller and four nodes with a frame each, in the tenth cycle of an idle bus.

    A node's frame comes so many ps after the begin of its opportunity: the second's after a silent
    one, the others' 712 bits (584 of data, 128 of a held line) after the one before.
    """
    due = [52, 84, 84 + 712, 84 + 2 * 712]
    text = WORST + more + stations("controller", count=1, arrivals='{ poisson = "0.001 /s" }')
    for node, (id, bits, late) in enumerate(zip(ids, due, late_ps, strict=True)):
        phase = (cycle_bits - 20 + 10 * cycle_bits + bits) * BIT_PS + late
        arrivals = f'{{ regular = "1 s", phase = "{phase} ps" }}'
        more = f"plca = {{ node-id = {id} }}"
        text += stations(f"node{node}", count=1, arrivals=arrivals, more=more)
    return answer(folder, text)


@pytest.mark.parametrize("early_bits", [0, 1, 31])
def test_inets_longest_delay_is_met_by_frames_that_come_in_a_silent_opportunity(
    tmp_path, early_bits
):
    # INET, examples/ethernet/TenBaseT1S/worstcase.ini: node 0 is 1 ps late for its opportunity and
    # waits for it (32), 3 · (584 of data + 128 of a held line), beacon (20), the controller's
    # opportunity (32), and its gap (96): 2316 bits. Here an ID that nobody has precedes each
    # node whose frame must not be late, so that it may come before: the line is held for 128 - 32
    # bits, and burst-tmr counts the end delimiter (8) besides.
    found = worst_case(
        tmp_path,
        ids=[1, 2, 4, 6],
        more="node-cnt = 8\nburst-tmr = 104\n",
        cycle_bits=20 + 8 * 32,
        late_ps=[1] + [-early_bits * BIT_PS] * 3,
    )
    assert found[Metric.ATTEMPT_DELAY_MAX] == pytest.approx(231.6e-6 - 1e-12, abs=1e-15)
    assert found[Metric.LOGICAL_COLLISIONS] == 1


@pytest.mark.parametrize("late_bits", [-1, 0, 1])
def test_inets_longest_delay_needs_a_tie_that_the_diagrams_do_not_decide(tmp_path, late_bits):
    # Its own IDs leave no silence before the opportunities of nodes 2 and 3: before and at their
    # begin the held line is still heard, which is a logical collision (Figure 148-5, RECEIVE to
    # COLLIDE); after it they have yielded, and hear another node before the next one.
    found = worst_case(
        tmp_path,
        ids=[1, 2, 3, 4],
        more="node-cnt = 5\nburst-tmr = 136\n",
        cycle_bits=20 + 5 * 32,
        late_ps=[1, 0] + [late_bits * BIT_PS] * 2,
    )
    assert found[Metric.ATTEMPT_DELAY_MAX] < 120e-6
    assert found[Metric.LOGICAL_COLLISIONS] == 3


@pytest.mark.parametrize(
    ("rules", "cycle_bits", "frames"), [("standard", 732, 1), ("inet", 1380, 2)]
)
def test_two_saturated_nodes_miss_every_other_opportunity_unless_they_jam_at_once(
    tmp_path, rules, cycle_bits, frames
):
    # As in INET the MAC sends the end delimiter itself: 65 octets, and none of the PHY. After its
    # frame a node is pending by the standard when gap, preamble, jam and pending_timer are over, 96
    # + 64 + 32 + 512 = 704 bits; with a jam at once after 640. Its opportunity is there after a
    # beacon and the other's held line and frame, 20 + 96 + 584 = 700 bits. So by the standard
    # the nodes send in turn, a frame a cycle of 20 + 32 + 96 + 584: 6.99 Mb/s in frames of 64
    # octets; else both in each of 20 + 2 (96 + 584): 7.42. (A program of our own: 6.98 and 7.41.)
    text = BUS + f'end_delimiter = "0 bit"\nrules = "{rules}"\n[segment.plca]\n'
    found = answer(tmp_path, HEAD + text + stations(count=2, frames="65 B"))
    assert found[Metric.CYCLE_TIME] == pytest.approx(cycle_bits * 1e-7, rel=1e-12)
    assert found[Metric.FRAMES] == pytest.approx(50e-3 / (cycle_bits * 1e-7) * frames, abs=1)


FAULTY = {
    "sound": "",
    "a coordinator that dies": 'down = [{ at = "60 ms", for = "20 ms" }]',
    "PLCA off at a time": 'plca = { off = [{ at = "60 ms", for = "20 ms" }] }',
    "two nodes of one ID": "plca = { node-id = [0, 1, 1, 2] }",
    "two coordinators": "plca = { node-id = [0, 0, 1, 2] }",
    "no coordinator": "plca = { node-id = [1, 2, 3, 4] }",
}


@pytest.mark.parametrize("fault", FAULTY)
@pytest.mark.parametrize("arrivals", ['"saturated"', "{ poisson_load = 0.4 }"])
def test_shares_of_channel_time_sum_to_one_and_frames_go_on(tmp_path, fault, arrivals):
    lost = "" if fault == "sound" else "beacon-loss = 0.01\n"
    text = (
        HEAD
        + PLCA
        + lost
        + stations(count=4, arrivals=arrivals, more=FAULTY[fault])
        + stations("plain", count=2, arrivals=arrivals, more="plca = { enable = false }")
    )
    found = answer(tmp_path, text)
    assert sum(found[metric] for metric in SHARES) == pytest.approx(1, abs=1e-12)
    assert found[Metric.FRAMES] > 30


MALFORMED = {
    "PLCA on another standard": (
        BUS.replace("10base-t1s", "ieee-10") + "[segment.plca]\n" + stations(),
        "segment.standard",
        '"10base-t1s" with segment.plca',
    ),
    "PHYs of another standard": (
        BUS.replace("10base-t1s", "ieee-10") + '[segment.phy]\ntransmit = "1 us"\n' + stations(),
        "segment.standard",
        "with segment.phy",
    ),
    "a silent station of another standard": (
        BUS.replace("10base-t1s", "ieee-10")
        + stations(more='down = [{ at = "0 s", for = "1 s" }]'),
        "segment.standard",
        "with stations.0.down",
    ),
    "underscores": (PLCA + "to_tmr = 32\n" + stations(), "segment.plca.to_tmr", "to-tmr"),
    "no opportunity": (PLCA + "to-tmr = 0\n" + stations(), "segment.plca.to-tmr", "from 1 to 255"),
    "long opportunity": (PLCA + "to-tmr = 256\n" + stations(), "segment.plca.to-tmr", "30.16"),
    "no nodes": (PLCA + "node-cnt = 0\n" + stations(), "segment.plca.node-cnt", "from 1 to 255"),
    "long burst": (PLCA + "burst-cnt = 256\n" + stations(), "segment.plca.burst-cnt", "0 to 255"),
    "burst timer": (PLCA + "burst-tmr = -1\n" + stations(), "segment.plca.burst-tmr", "0 to 255"),
    "enable a number": (PLCA + "enable = 1\n" + stations(), "segment.plca.enable", "true or false"),
    "loss above one": (
        PLCA + "beacon-loss = 1.5\n" + stations(),
        "segment.plca.beacon-loss",
        "from 0 to 1",
    ),
    "many errors": (BUS + "bit_error_rate = 0.5\n" + stations(), "segment.bit_error_rate", "0.01"),
    "slow PHY": (
        BUS + '[segment.phy]\ncarrier_on = "11 us"\n' + stations(),
        "segment.phy.carrier_on",
        "at most",
    ),
    "delimiter of another standard": (
        BUS.replace("10base-t1s", "ieee-10") + 'end_delimiter = "0 bit"\n' + stations(),
        "segment.standard",
        "with segment.end_delimiter",
    ),
    "delimiter longer than the gap": (
        BUS + 'end_delimiter = "97 bit"\n' + stations(),
        "segment.end_delimiter",
        "expected end_delimiter, 97 bit, to be at most gap, 96 bit",
    ),
    "rules of nobody": (BUS + 'rules = "omnet"\n' + stations(), "segment.rules", "inet"),
    "turnaround": (BUS + 'turnaround = "1 us"\n' + stations(), "segment.turnaround", "segment.phy"),
    "ID of no node": (
        PLCA + stations(more="plca = { node-id = 255 }"),
        "stations.0.plca.node-id",
        "from 0 to 254",
    ),
    "no IDs": (PLCA + stations(more="plca = { node-id = [] }"), "stations.0.plca.node-id", "254"),
    "few IDs": (
        PLCA + stations(more="plca = { node-id = [0, 1] }"),
        "stations.0.plca.node-id",
        "for each of the 9 stations",
    ),
    "many stations": (PLCA + stations(count=256), "stations.0.count", "at most 255"),
    "short frames": (PLCA + stations(frames="41 B"), "stations.0.frames", "at least 42 B"),
    "outages at once": (
        PLCA + stations(more='down = [{ at = "1 s", for = "1 s" }, { at = "2 s", for = "1 s" }]'),
        "stations.0.down.1.at",
        "after the end of the interval before, 2 s",
    ),
    "outage without an end": (
        PLCA + stations(more='down = [{ at = "1 s" }]'),
        "stations.0.down.0.for",
        "required",
    ),
    "no outages": (
        PLCA + stations(more="plca = { off = [] }"),
        "stations.0.plca.off",
        "at least 1",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_fault_has_its_key_and_what_is_allowed(tmp_path, name):
    text, key, allowed = MALFORMED[name]
    expect_fault(tmp_path, HEAD + text, key=key, allowed=allowed)


def test_examples_of_the_documentation_are_sound(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "explanation" / "plca.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        path = tmp_path / "example.toml"
        path.write_text(block, encoding="utf-8")
        load(path)


def test_plca_and_csma_cd_are_curves_of_one_figure(tmp_path):
    from ethermeter.analysis.estimates import Point
    from ethermeter.report.axes import choose, keys

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


def test_settings_of_the_nodes_are_on_the_page(tmp_path):
    from ethermeter.report.sections.parameters import constants

    text = (
        HEAD + PLCA + "burst-cnt = 2\n" + stations("a", count=3, more="") + stations("b", count=1)
    )
    rows = dict(constants(scenario(tmp_path, text)))
    assert rows["PLCA (a)"] == "node-id 0–2, node-cnt 4, to-tmr 32, burst-cnt 2, burst-tmr 128"
    assert rows["PLCA (b)"].startswith("node-id 3,")
