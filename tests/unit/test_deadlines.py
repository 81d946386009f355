"""Deadlines of flows: exact counts by hand, margins by simulation and by bound, faults."""

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis.bounds_file import BoundsFile
from ethermeter.metrics import EntityKind, metrics_of
from ethermeter.present.bounds import deadlines
from ethermeter.results.values import metrics_in
from faults_at import faults_of
from shared_experiments import COPY, pair, trials

PREAMBLE_OCTETS, OCTET_PS = 8, 800_000
DELAY_PS = (PREAMBLE_OCTETS + 64) * OCTET_PS
"""One-way delay of a frame of 64 octets on an idle link of 10 Mb/s, by hand: 57.6 us."""
DUE = metrics_of(EntityKind.DUE)


def alone(**keys: object):
    """A frame of 64 octets every millisecond, for 100 ms, on an idle link."""
    flow = em.flow(
        "m", "a", "b", frames="64 B", arrivals={"regular": "1 ms", "phase": "0 s"}, **keys
    )
    phases = {"transmit": "100 ms", "measure": "all", "drain": "1 ms"}
    return pair(flow, phases=phases, run={"engines": ["simulation", "theory"]})


def simulated(tables):
    """Return what the simulation of an experiment of one point found."""
    return next(em.simulate(tables).points(engine="simulation"))


@pytest.mark.parametrize(("later_ps", "overdue"), [(-1, 0), (0, 0), (1, 100)])
def test_a_message_is_overdue_a_picosecond_after_its_deadline(later_ps, overdue):
    results = simulated(alone(deadline=f"{DELAY_PS - later_ps} ps"))
    assert results.value("overdue") == overdue
    assert results.value("overdue_share") == overdue / 100
    assert results.value("deadline_margin") == pytest.approx(-later_ps / 1e12, abs=1e-16)


def test_the_margin_by_bound_is_the_deadline_less_the_bound():
    results = em.simulate(alone(deadline="100 us"))
    (bounds,) = results.points(engine="theory/network-calculus")
    bound_s = bounds.value("one_way_delay_max")
    assert bounds.value("deadline_margin") == 100e-6 - bound_s
    # The frame is alone on its link: nothing is longer than the delay by hand.
    assert bound_s == pytest.approx(DELAY_PS / 1e12, rel=1e-9)
    (time,) = (each for each in results.bounds().times if each.metric == "one_way_delay")
    assert time.margin_s == bounds.value("deadline_margin")


def test_of_several_flows_the_smallest_margin_counts_and_others_have_none():
    flows = [
        em.flow("m", "a", "b", frames="64 B", arrivals={"regular": "2 ms"}, deadline="1 ms"),
        em.flow("n", "a", "b", frames="500 B", arrivals={"poisson": "900 /s"}, deadline="800 us"),
        em.flow("o", "b", "a", frames="64 B", arrivals={"regular": "2 ms"}),
    ]
    results = em.simulate(pair(flows, phases={"transmit": "1 s", "measure": "all"}))
    margins, shares, late, messages = (
        np.array([results.values(metric, entity)[0] for entity in results.entities])
        for metric in ("deadline_margin", "overdue_share", "overdue", "messages")
    )
    assert np.isnan(margins).tolist() == np.isnan(shares).tolist() == [False, False, True]
    assert results.value("deadline_margin") == margins[:2].min()
    assert 0 < late[1] < messages[1]
    assert shares[1] == late[1] / messages[1]
    # Messages of flows without a deadline are not in the share of all.
    assert results.value("overdue_share") == late[:2].sum() / messages[:2].sum()
    assert results.estimate("overdue_share").half_width > 0, "by batches"


def test_trials_without_deadlines_have_none_of_their_metrics():
    (without, _, _), (with_one, bounds, _) = trials(alone()), trials(alone(deadline="1 ms"))
    assert not set(DUE) & set(metrics_in(without))
    assert set(DUE) <= set(metrics_in(with_one))
    assert set(DUE) <= set(metrics_in(bounds))
    assert "deadline" not in without.line
    assert without.seed == with_one.seed


def test_a_flow_to_several_receivers_has_the_deadline_for_each():
    hosts, links = ["a", "b", "c"], [("a", "s"), ("b", "s"), ("c", "s")]
    flow = em.flow(
        "m",
        *("a", ["b", "c"]),
        cast="multicast",
        frames="64 B",
        arrivals={"regular": "1 ms", "phase": "0 s"},
        deadline="1 ns",
    )
    phases = {"transmit": "20 ms", "measure": "all", "drain": "1 ms"}
    network = em.network(
        rate="10 Mb/s", hosts=hosts, switches=["s"], links=links, flows=flow, phases=phases
    )
    results = em.simulate(network)
    assert results.value("overdue") == results.value("messages") == 40


@pytest.mark.parametrize(
    ("tables", "value", "allowed"),
    [
        (alone(), "0 s", "above zero"),
        (alone(), 5, "the unit is missing"),
        (alone(), "1001 s", "at most 1000 s"),
        (alone(), "64 B", "not a size"),
        (COPY, "1 ms", "not allowed with transfer"),
    ],
)
def test_what_is_no_deadline_is_refused(tables, value, allowed):
    (fault,) = faults_of(lambda: trials(tables.changed({"flows.0.deadline": value})))
    assert fault.key == "flows.0.deadline"
    assert allowed in fault.allowed


def test_a_deadline_is_varied_like_any_key():
    varied = alone().changed({"flows.0.deadline": "1 ms"}, vary={"flows.m.deadline": ["9 us"]})
    assert simulated(varied).value("overdue") == 100


def stations(later_ps: int, **keys: object):
    """A station alone, whose frame of 64 octets takes 57.6 us with its preamble, every 1 ms."""
    arrivals = {"regular": "1 ms", "phase": "0 s"}
    alone = em.stations(
        "a", count=1, frames="64 B", arrivals=arrivals, deadline=f"{DELAY_PS - later_ps} ps"
    )
    other = em.stations("b", count=1, frames="64 B", arrivals={"regular": "9 s", "phase": "8 s"})
    phases = {"transmit": "100 ms", "measure": "all", "drain": "1 ms"}
    return em.segment("ieee-10", length="1 m", stations=[alone, other], phases=phases, **keys)


@pytest.mark.parametrize(("later_ps", "overdue"), [(0, 0), (1, 100)])
def test_a_frame_of_a_station_is_overdue_a_picosecond_after_its_deadline(later_ps, overdue):
    results = em.simulate(stations(later_ps))
    assert results.value("overdue") == overdue
    assert results.value("overdue_share") == overdue / 100
    assert results.values("overdue_share", "a")[0] == overdue / 100
    assert np.isnan(results.values("overdue_share", "b")[0])


def test_segments_without_deadlines_have_none_of_their_metrics():
    tables = stations(0)
    (with_one,), (without,) = trials(tables), trials(tables.changed({"stations.0.deadline": None}))
    of_stations = metrics_of(EntityKind.DUE_STATION)
    assert set(of_stations) <= set(metrics_in(with_one))
    assert not set(of_stations) & set(metrics_in(without))
    assert without.seed == with_one.seed


@pytest.mark.parametrize(
    ("deadline", "decision", "share", "sentence"),
    [
        # None of 100 is late: by the rule of three at most 1 - 0.05^(1/100) = 2.95% are.
        (
            "100 us",
            "holds",
            (0.0, 0.0, 0.0295),
            "1 of 1 are guaranteed by bounds; of the simulated messages none was late: at most"
            " 3% of a flow’s.",
        ),
        # All are late, as the largest possible delay is the only one: 57.6 µs, of 57.
        (
            "57 us",
            "fails",
            (1.0, 0.9705, 1.0),
            "0 of 1 are guaranteed by bounds; by its bound, m may be 600 ns late; of the simulated"
            " messages some of 1 flow were late, most of m, 100 % (97 to 100).",
        ),
    ],
)
def test_a_deadline_has_a_verdict_by_bound_and_by_the_share_of_late_messages(
    deadline, decision, share, sentence
):
    answers = em.simulate(alone(deadline=deadline)).bounds()
    (time,) = (each for each in answers.times if each.metric == "one_way_delay")
    missed = time.observed[0].missed
    assert (missed.value, missed.low, missed.high) == pytest.approx(share, abs=5e-5)
    assert time.deadline_decision == decision
    entry = BoundsFile.of(answers).flows[0]
    assert (entry.deadline_verdict, entry.observed["simulation"].missed.value) == (
        decision,
        share[0],
    )
    (text,) = deadlines(answers)
    assert text.text == f"Deadlines: {sentence}"


def test_no_late_message_of_all_flows_has_a_limit_only_if_all_have_deadlines():
    flow = {"frames": "64 B", "arrivals": {"regular": "1 ms"}}
    with_one = em.flow("m", "a", "b", deadline="1 ms", **flow)
    phases = {"transmit": "100 ms", "measure": "all"}
    both = em.simulate(
        pair([with_one, em.flow("n", "b", "a", deadline="1 ms", **flow)], phases=phases)
    )
    one = em.simulate(pair([with_one, em.flow("n", "b", "a", **flow)], phases=phases))
    found = both.estimate("overdue_share")
    messages = both.value("messages")
    assert (found.low, found.high) == pytest.approx((0, 1 - 0.05 ** (1 / messages)))
    assert not one.estimate("overdue_share").has_interval
