"""Myths: formulas against reference values, and a made-up world that bears out the claims about
runs, then one that does not.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from entries import entry_with
from ethermeter.analysis.claims import Claim
from ethermeter.experiment import load, shipped
from ethermeter.metrics import Metric
from ethermeter.plan import Plan, expand
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate, exact
from ethermeter.results.query import Results
from ethermeter.studies import registry
from ethermeter.studies.judging import Entry
from ethermeter.studies.myths import claims as myths
from ethermeter.studies.myths import curves as myths_curves
from ethermeter.studies.myths import theory as myths_theory
from ethermeter.studies.myths.runs import (
    CSMA_CD,
    FRAMES,
    KNEES,
    LOAD,
    RING,
    SATURATED,
    SIMULATED,
    knees,
    regime,
)
from ethermeter.studies.myths.runs import members as points_in
from ethermeter.studies.myths.theory import FORMULAS
from made_results import results_of, whole_of

STUDY = registry.find("myths")

World = Callable[[str, str, Mapping[str, str], Metric], float]
USED = (
    Metric.UTILISATION,
    Metric.RESPONSE_TIME,
    Metric.TRANSMISSION_DELAY,
    Metric.TRANSMISSION_DELAY_SD,
    Metric.OFFERED_LOAD_Q,
    Metric.COLLISIONS_PER_FRAME,
    Metric.LOSS,
)
FILES = [Path(shipped()[name]) for name in STUDY.runs]
CORNER = 0.8
"""Offered load at which the made-up delays begin to rise."""


@cache
def plan() -> Plan:
    return expand([load(path) for path in FILES], name="myths", replications=3)


def share(load: float) -> float:
    """Throughput of the made-up segment: all up to the corner, and hardly more beyond."""
    return load if load <= CORNER else CORNER + 0.02 * (load - CORNER)


def ideal(series: str, engine: str, point: Mapping[str, str], metric: Metric) -> float:
    """Return numbers with which every claim about runs is right."""
    offered = float(point[LOAD]) if LOAD in point else math.nan
    if metric is Metric.UTILISATION:
        if series == "one slot":
            return 0.37
        if series == "assumptions":
            return 0.9 if engine == "simulation" else 0.6
        return share(offered) if LOAD in point else 0.97
    if metric is Metric.RESPONSE_TIME:
        slow = engine == "simulation" and series == RING
        # Against throughput the wall is at 0.2 of the load at which the slope begins.
        rise = max(0.0, offered - CORNER) * 50 if LOAD in point else 0.0
        return (1e-3 + rise * 1e-3) * (3.0 if slow else 1.0)
    if metric is Metric.TRANSMISSION_DELAY:
        return 2.3e-4 if series == "regime" else 1e-3
    if metric is Metric.TRANSMISSION_DELAY_SD:
        return 1e-3 * (1 + offered if LOAD in point else 1.0)
    if metric is Metric.OFFERED_LOAD_Q:
        return 1 + 10 * max(0.0, offered - CORNER) + 0.1 * offered if LOAD in point else 24.0
    if metric is Metric.LOSS:
        return max(0.0, offered - CORNER) if LOAD in point else 0.0
    return 0.1


def made_up(world: World, *, error: float = 1e-4) -> Results:
    """Fill every trial of the plan with a world's numbers; the points have intervals, the
    replications are alike.
    """
    trials = plan().trials
    values = {
        metric: np.array(
            [world(trial.series, trial.engine, trial.point, metric) for trial in trials]
        )
        for metric in USED
    }
    points = {}
    for at, trial in enumerate(trials):
        key = (trial.series, trial.engine, *sorted(trial.point.items()))
        of = {metric: float(column[at]) for metric, column in values.items()}
        found = {metric: Estimate(value, abs(value) * error, 2.0) for metric, value in of.items()}
        points.setdefault(key, Point(trial.series, trial.point, trial.engine, 3, found))
    whole = whole_of(USED, np.array([values[metric] for metric in USED]).T)
    return results_of(trials, whole=whole, points=list(points.values()))


def judged(world: World, *, error: float = 1e-4) -> dict[str, Claim]:
    about_runs = {entry.id for entry in STUDY.published() if simulated(entry)}
    return {
        claim.id: claim
        for claim in STUDY.claims(made_up(world, error=error))
        if claim.id in about_runs
    }


def simulated(entry: Entry) -> bool:
    return entry.rule in SIMULATED


def changed(metric: Metric, change: Callable[[str, str, Mapping[str, str], float], float]) -> World:
    def world(series: str, engine: str, point: Mapping[str, str], asked: Metric) -> float:
        found = ideal(series, engine, point, asked)
        return change(series, engine, point, found) if asked is metric else found

    return world


def test_every_claim_names_a_quantity_and_every_quantity_has_a_claim():
    entries = STUDY.published()
    assert sorted({entry.rule for entry in entries}) == sorted({**FORMULAS, **SIMULATED})
    assert len({entry.id for entry in entries}) == len(entries) == 32
    # Without a limit there must be a print to compare with.
    assert all("above" in entry or "below" in entry or entry.rounding for entry in entries)


def test_the_files_make_one_plan_of_eight_series():
    assert len(dict.fromkeys(trial.series for trial in plan().trials)) == len(FILES) == 8


def test_every_claim_about_runs_is_borne_out_by_a_world_that_agrees():
    verdicts = {name: claim.verdict for name, claim in judged(ideal).items()}
    # Its knees: with all delays on one slope beyond the corner, both axes put the knee at the
    # corner.
    assert verdicts.pop("knee-lower-against-throughput") == "fails"
    assert set(verdicts.values()) == {"met", "holds"}
    assert len(verdicts) == len(SIMULATED) - 1


@pytest.mark.parametrize(
    ("claim", "metric", "change"),
    [
        (
            "minimal-packets-simulated",
            Metric.UTILISATION,
            lambda s, e, p, v: 0.39 if s == "one slot" else v,
        ),
        (
            "minimal-frames-above-37",
            Metric.UTILISATION,
            lambda s, e, p, v: 0.36 if s == SATURATED else v,
        ),
        (
            "nominal-capacity",
            Metric.UTILISATION,
            lambda s, e, p, v: 0.94 if s == SATURATED and p[FRAMES] == "1536 B" else v,
        ),
        (
            "not-saturated-at-37",
            Metric.LOSS,
            lambda s, e, p, v: 0.02 if s == KNEES and float(p[LOAD]) > 0.35 else v,
        ),
        (
            "stable-with-backoff",
            Metric.UTILISATION,
            lambda s, e, p, v: v - 0.04 if s == CSMA_CD and p[LOAD] == "2.0" else v,
        ),
        ("spread-grows-faster", Metric.TRANSMISSION_DELAY_SD, lambda s, e, p, v: 1e-3 / v),
        (
            "assumptions-too-pessimistic",
            Metric.UTILISATION,
            lambda s, e, p, v: 0.5 if s == "assumptions" and e == "simulation" else v,
        ),
        (
            "delay-is-not-throughput",
            Metric.RESPONSE_TIME,
            lambda s, e, p, v: 1e-3 if s == RING else v,
        ),
        (
            "typical-load-is-light",
            Metric.TRANSMISSION_DELAY,
            lambda s, e, p, v: 5e-4 if s == "regime" else v,
        ),
    ],
)
def test_every_claim_about_runs_can_fail(claim, metric, change):
    assert judged(changed(metric, change))[claim].verdict in ("missed", "fails")


def test_a_wide_interval_does_not_keep_a_limit():
    # 0.97 with a half width of 4.3 x 0.01 x 0.97 reaches below 0.95.
    assert judged(ideal, error=0.01)["nominal-capacity"].verdict == "undecided"


@pytest.mark.parametrize(
    ("entry", "ours", "holds"),
    [
        ({"above": 1.0}, exact(1.1), "holds"),
        ({"above": 1.0}, exact(1.0), "fails"),
        ({"above": 1.0}, Estimate(1.1, math.nan, math.nan), "undecided"),
        ({"below": 1.0}, exact(0.9), "holds"),
        ({"below": 1.0}, Estimate(0.99, 0.01, 10.0), "undecided"),
        ({"below": 1.0}, Estimate(1.05, 0.01, 10.0), "fails"),
        ({}, exact(1.0), None),
    ],
)
def test_a_limit_is_kept_by_the_whole_interval(entry, ours, holds):
    assert myths.decide(entry_with(**entry), ours, "").holds == holds


def test_a_partial_run_leaves_its_claims_not_run_and_formulas_judged():
    about_runs = {entry.id for entry in STUDY.published() if simulated(entry)}
    assert {
        claim.id for claim in STUDY.claims(results_of(())) if claim.verdict == "not-run"
    } == about_runs


# Values of THEORY.md and of docs of the theories, to half a unit of their last digit.
@pytest.mark.parametrize(
    ("name", "printed", "half_unit"),
    [
        ("long_packets", 0.9803, 5e-5),
        ("minimal_packets", 0.3686, 5e-5),
        ("small_packets_response", 0.6925, 5e-5),
        ("response_limit", 0.8613, 5e-5),
        ("low_load_response", 0.7208 / 0.1803, 0.7208 / 0.1803 * (5e-5 / 0.1803 + 5e-5 / 0.7208)),
        ("long_for_the_cable", 6.7034, 5e-5),
        ("extreme_load", 0.8353 / 0.8284, 2 * 5e-5 / 0.8284 * 1.01),
        ("hasty_retransmission", 0.0094 / 0.7214, 5e-5 / 0.7214 * 1.02),
        ("second_peak_of_artefact", 79.0, 0.5),
        ("first_peak_of_artefact", 1.03, 0.005),
    ],
)
def test_formulas_give_the_reference_values(name, printed, half_unit):
    assert FORMULAS[name]()[0] == pytest.approx(printed, abs=half_unit, rel=0)


def test_bux_curve_gives_its_reference_values():
    found = myths_theory.bux_delay(np.array([0.1, 0.3, 0.4, 0.5]))
    assert found == pytest.approx([1.2029, 1.8977, 2.8445, 5.7567], abs=5e-5, rel=0)


def test_two_peaks_come_out_of_the_artefact_only():
    assert FORMULAS["peaks"]()[0] == 1
    assert FORMULAS["peaks_of_artefact"]()[0] == 2


@pytest.mark.parametrize("end", [5.0, 10.0, 20.0])
def test_the_knee_of_bux_is_where_the_curve_is_as_steep_as_its_chord(end):
    found = myths_theory.bux_knee(end)
    grid = np.arange(0.01, 0.7, 0.005)
    delay = myths_theory.bux_delay(grid)
    last = grid[np.isfinite(delay) & (delay <= end)][-1]
    at = myths_theory.bux_delay(np.array([0.01, found - 0.005, found, found + 0.005, last]))
    chord = (at[4] - at[0]) / (last - 0.01)
    # Before the knee the curve rises more slowly than its chord, after it faster.
    assert (at[2] - at[1]) / 0.005 <= chord <= (at[3] - at[2]) / 0.005


def test_knees_are_found_replication_by_replication():
    found = knees(made_up(ideal), "64 B")
    # The corner is a point of the grid, and all replications are alike.
    assert found.load.value == pytest.approx(CORNER)
    assert found.throughput.value == pytest.approx(CORNER)
    assert found.apart.value == pytest.approx(0.0, abs=1e-12)
    assert found.load.half_width == pytest.approx(0.0, abs=1e-12)


def test_knees_lower_against_throughput_are_seen():
    # Half of what is offered is carried, so every bend lies at half the value.
    world = changed(Metric.UTILISATION, lambda s, e, p, v: float(p[LOAD]) / 2 if s == KNEES else v)
    found = judged(world)["knee-lower-against-throughput"]
    assert found.verdict == "holds"
    assert found.ours == pytest.approx(CORNER / 2)


def test_the_three_figures_draw_the_same_trials():
    runs = made_up(ideal)
    by_load, by_throughput, by_queue = myths_curves.same_trials(runs)
    for offered, throughput, queue in zip(by_load, by_throughput, by_queue, strict=True):
        members = list(points_in(runs, KNEES, frames=offered.name))
        assert [y for _, y in offered.points] == [y for _, y in throughput.points]
        assert [x for x, _ in throughput.points] == [
            point.estimate(Metric.UTILISATION).value for point in members
        ]
        assert [y.value for _, y in queue.points] == sorted(x for x, _ in throughput.points)
        assert len(offered.points) == len(members) == 25


def test_worlds_are_drawn_where_their_attempts_carry_what_arrives():
    traces = myths_curves.against_attempts(made_up(ideal))
    without = next(
        trace
        for trace in traces
        if trace.look == myths_curves.WORLD and trace.name == myths_curves.NO_DETECTION
    )
    formula = next(
        trace
        for trace in traces
        if trace.look == myths_curves.THEORY and trace.name == myths_curves.NO_DETECTION
    )
    places, values = zip(*((x, y.value) for x, y in formula.points), strict=True)
    # 0.1 to 0.5 are carried; beyond the capacity there is one more point, at G = 1 to two digits
    # (KT 1975).
    at = [x for x, _ in without.points]
    assert np.interp(at[:5], places, values) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5], rel=0.01)
    assert len(at) == 6
    assert at[-1] == pytest.approx(1.0, abs=0.05)


def test_steps_lead_from_the_formula_to_the_segment():
    places, traces = myths_curves.steps(made_up(ideal))
    assert (places[0], places[-1], len(places)) == ("formula of 1976", "hosts take time", 8)
    assert all([x for x, _ in trace.points] == places for trace in traces)
    assert all(
        (trace.points[0][1].value, trace.points[-1][1].value) == (0.6, 0.9) for trace in traces
    )


def test_the_ring_carries_its_packets_and_one_turn_of_a_bit_by_hand():
    found = dict(myths_curves.ring_capacities(made_up(ideal))[0].points)
    turn_s = 24 * (1536 + 24) * 8e-7
    # The round trip of 12 us and one bit in each of 24 stations.
    assert found["1536 B"].value == pytest.approx(turn_s / (turn_s + 12e-6 + 24e-7), rel=1e-6)


def test_regimes_have_names():
    arrivals = dict.fromkeys(
        trial.point["stations.arrivals"] for trial in plan().trials if trial.series == "regime"
    )
    assert [regime(text) for text in arrivals] == [
        "5%, smooth",
        "5%, in bursts",
        "50%, smooth",
        "saturated",
    ]
