"""Longest times of a bus of 10BASE-T1S: each node's beside its bound, and why there is none."""

import math

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis import bus_times
from ethermeter.analysis.answers import answers
from ethermeter.analysis.bounds import Answers
from ethermeter.metrics import ALL, Metric
from ethermeter.results.query import Results
from ethermeter.results.values import of_all, of_each, values_of_each
from ethermeter.store import RunDirectory
from ethermeter.studies import pages
from ethermeter.theory.bus import EARLY, bus_of, early
from ethermeter.theory.bus_polling import PolledBus
from ethermeter.theory.two_queues import waits_of_two
from shared_experiments import scenario

BUS = em.segment(
    "10base-t1s",
    title="t",
    delays=[["0 s"]],
    plca={},
    stations=[
        em.stations("head", count=1, frames="64 B", arrivals="saturated"),
        em.stations("sensor", count=2, frames="128 B", arrivals={"poisson_load": 0.3}),
    ],
    phases={"settle": "1 ms", "transmit": "40 ms", "measure": "last 39 ms"},
    vary={"segment.plca.enable": [True, False]},
    run={"replications": 3},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunDirectory:
    out = tmp_path_factory.mktemp("bus") / "run"
    return em.load(BUS).run(out=out, jobs=1).directory


def largest_s(run: RunDirectory, metric: Metric, stations: list[int]) -> float:
    """Largest simulated value of some stations with PLCA over all replications."""
    with_plca = [trial for trial in run.trials() if trial.point["segment.plca.enable"] == "true"]
    if stations == [-1]:
        return float(np.nanmax(of_all(run, with_plca, [metric]).values))
    found = values_of_each(run, with_plca, [metric])
    return max(float(of[metric][stations].max()) for of in found)


def test_each_group_stands_beside_its_bound_without_the_engine_theory(run):
    found = answers(run)["bounds"]
    # Cycles and two access delays of two groups have a bound where nodes take turns.
    assert (found["compared"], found["exceeded"], found["warnings"]) == (5, 0, [])
    turns, contention = (
        [each for each in found["buses"] if each["point"]["segment.plca.enable"] == text]
        for text in ("true", "false")
    )
    by_hand = {
        # A beacon; gap, preamble, frame and end delimiter of 64 and twice 128 octets.
        (None, "cycle_time_max"): 20 + (96 + 584) + 2 * (96 + 1096),
        # An opportunity that is let pass, the others, a beacon, a gap. Of sensors also the 608 bits
        # until a frame is pending: the head's of 64 octets fits into them, one of 128 does not.
        ("head", "attempt_delay_max"): 32 + 2 * 1192 + 20 + 96,
        ("sensor", "attempt_delay_max"): 608 + 32 + 680 + 1192 + 20 + 96,
        # Before it the longest frame of another with its preamble, and a gap.
        ("head", "access_delay_max"): 1088 + 96 + 32 + 2 * 1192 + 20 + 96,
        ("sensor", "access_delay_max"): 1088 + 96 + 608 + 32 + 680 + 1192 + 20 + 96,
    }
    stations = {None: [ALL], "head": [0], "sensor": [1, 2]}
    assert {(each["stations"], each["metric"]) for each in turns} == by_hand.keys()
    for each in turns:
        assert each["bound"] == pytest.approx(
            by_hand[each["stations"], each["metric"]] * 1e-7, rel=1e-12
        )
        seen = largest_s(run, Metric(each["metric"]), stations[each["stations"]])
        assert each["simulated"] == seen <= each["bound"]
    (obstacle,) = {text for each in contention for text in each["obstacles"]}
    assert obstacle == "head, sensor contend by CSMA/CD, which has no bound"
    assert {each["bound"] for each in contention} == {None}
    assert {each["verdict"] for each in contention} == {"unknown"}


def test_a_longest_time_may_reach_its_bound_and_not_a_picosecond_more(run, monkeypatch):
    original = bus_times._bounds_s
    most_s = largest_s(run, Metric.ACCESS_DELAY_MAX, [2])

    def verdicts(less_s: float) -> Answers:
        def bounds_s(bus, metric, stations):
            bounds = original(bus, metric, stations)
            if metric is Metric.ACCESS_DELAY_MAX and not math.isnan(bounds[0]):
                bounds[2] = most_s - less_s
            return bounds

        monkeypatch.setattr(bus_times, "_bounds_s", bounds_s)
        return Answers((), (), buses=bus_times.read(Results.of_run(run.path)))

    assert verdicts(0.0).warnings == []
    passed = verdicts(1e-12)
    (text,) = passed.warnings
    assert text.startswith(
        "experiment, segment.plca.enable = true: sensor: the simulated access_delay"
    )
    assert passed.verdicts == (5, 1)


def test_the_report_has_every_time_and_says_where_there_is_no_bound(run):
    text = pages.write_report(run.path).read_text(encoding="utf-8")
    table = text.split('aria-label="Longest times and bounds"')[1].split("</table>")[0]
    assert table.count("<tr>") == 1 + 2 * 5
    assert table.count("no bound") == 5
    assert table.count("below") == 5
    sentence = "PLCA: false: head, sensor contend by CSMA/CD, which has no bound."
    assert f"<strong>No bound</strong> at {sentence}" in text


def test_a_window_in_which_stations_may_still_contend_is_not_compared(tmp_path):
    # Without `settle` the first frames collide before the first beacon, and back off for long.
    without = BUS.changed({"phases.settle": None, "phases.measure": "last 40 ms"})
    run = em.load(without).run(out=tmp_path / "run", jobs=1).directory
    with_plca = [
        each for each in bus_times.read(Results.of_run(run.path)) if "true" in each.point.values()
    ]
    assert {each.verdict for each in with_plca} == {"unknown"}
    assert {each.obstacles for each in with_plca} == {(EARLY,)}
    # Attempts of a frame last 16 access delays and 7151 slots of 51.2 us at most: 0.37 s.
    longer = scenario(without.changed({"phases.transmit": "500 ms"}))
    bus = bus_of(longer)
    assert bus is not None
    assert early(longer, bus) == ""


def test_theories_of_a_bus_have_rows_of_its_stations(tmp_path):
    # The first station has the second turn.
    late = em.stations("late", count=1, frames="64 B", plca={"node-id": 1})
    head = em.stations("head", count=1, frames="1518 B", plca={"node-id": 0})
    pair = em.segment(
        "10base-t1s",
        delays=[["0 s"]],
        plca={},
        stations=[
            {**late, "arrivals": {"poisson": "1500 /s"}},
            {**head, "arrivals": {"poisson": "325 /s"}},
        ],
        phases={"settle": "1 ms"},
        run={"engines": ["theory"]},
    )
    run = em.load(pair).run(out=tmp_path / "run", jobs=1).directory
    trials = run.trials()
    by_node = of_each(run, trials, [Metric.ACCESS_DELAY, Metric.ACCESS_DELAY_MAX])
    found = {trial.engine: of for trial, of in zip(trials, by_node, strict=True)}
    bus = bus_of(scenario(pair))
    assert bus is not None
    bounds_s = [bus.access_delay_ps(node) / 1e12 for node in bus.nodes]
    assert found["theory/plca-2019"][Metric.ACCESS_DELAY_MAX].values.tolist() == bounds_s
    assert bounds_s[0] > bounds_s[1]
    exact = found["theory/boxma-groenendijk-1988"][Metric.ACCESS_DELAY]
    head, late = PolledBus(bus).pair
    waits = waits_of_two(head, late)
    assert waits is not None
    held_s = PolledBus(bus).held_s
    for station, wait in enumerate(reversed(waits)):
        assert exact.values[station] == wait.head_s + held_s
    # A wait of the head is that of one frame of 64 octets at most; the other's is longer.
    assert exact.values[0] > exact.values[1]
    assert exact.cautions.all()
