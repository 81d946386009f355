"""Claims: a world that bears every one of them out, and for each a change of that world that does
not.
"""

import json
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from ethermeter.analysis import claims
from ethermeter.analysis.frame_mixes import lengths
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from ethermeter.scenario import Scenario
from ethermeter.studies import registry
from ethermeter.studies.judging import published
from made_results import results_of
from segments import segment

FIXED = (64, 512, 1536, 4000)
MIXED = ("64 B", "64 B x 7 + 1536 B x 1", "1536 B")
STUDY = registry.find("boggs1988")
PROBLEM_SERIES = (
    *("experimental", "pair", "storm", "low load", "backoff", "collapse", "queues", "cable"),
)
PROBLEMS = [claim.id for claim in published(STUDY.package) if claim.series in PROBLEM_SERIES]
"""Claims that runs of their own decide (`test_boggs1988_problems.py`)."""
World = Callable[[str, int, str, Metric], float]


def ideal(series: str, hosts: int, frames: str, metric: Metric) -> float:
    """Return numbers that agree with everything the text says."""
    octets = sum(o * w for o, w in lengths(frames)) / sum(w for _, w in lengths(frames))
    if metric is Metric.UTILISATION:
        loss = (
            {"I-1": 0.3, "I-4": 1 + 0.011 * 0.85 / 0.15}.get(series, 1.0)
            if octets == 64
            else {"I-1": 0.3}.get(series, 1.0)
        )
        return 1 - loss * {64: 0.15, 1536: 0.03}.get(int(octets), 6 / octets)
    if metric is Metric.BIT_RATE:
        alone = 0.6 if (hosts, octets) == (1, 64) else 1.0
        return 1e7 * (1 - 6 / octets) * alone * (1 - hosts / 1000)
    if metric is Metric.PACKET_RATE:
        return {1: 7000.0, 2: 13500.0}.get(hosts, 13000 - 10.0 * hosts)
    if metric is Metric.TRANSMISSION_DELAY:
        return (
            hosts * 31e-3 / 24 * octets / 1536 * (1.015 if series == "I-4" and octets == 64 else 1)
        )
    if metric is Metric.TRANSMISSION_DELAY_SD:
        return 2 * hosts * 31e-3 / 24 * octets / 1536
    if metric is Metric.EXCESS_DELAY:
        return hosts * 1e-3 / 24
    if metric in (Metric.BIT_RATE_SD, Metric.PACKET_RATE_SD):
        return 1e6 / hosts
    if metric is Metric.UTILISATION_SD_OVER_MEAN:
        return 0.2 * math.sqrt(20 / hosts)
    return 0.0 if hosts <= 2 else 0.1 * hosts


def scenario(frames: str, window_s: float) -> Scenario:
    return segment(
        {
            "points": [0] * 24,
            "frames": {"kind": "fixed", "bits": int((lengths(frames)[0][0] + 4) * 8)},
        },
        phases={"measure_from_ps": 10**13, "measure_to_ps": 10**13 + round(window_s * 1e12)},
    )


def stands(
    series: str, point: Mapping[str, str], scenario: Scenario, replications: int
) -> list[Any]:
    """Trials as far as results look at them."""
    of_all = {"series": series, "engine": "simulation", "point": point, "scenario": scenario}
    return [
        SimpleNamespace(id=f"{series}/{point}/{number}", **of_all) for number in range(replications)
    ]


def judged(
    world: World,
    *,
    error: float = 1e-4,
    replications: int = 5,
    window_s: float = 10.0,
    clusters: World | None = None,
) -> dict[str, claims.Claim]:
    used = [
        Metric.UTILISATION,
        Metric.BIT_RATE,
        Metric.PACKET_RATE,
        Metric.TRANSMISSION_DELAY,
        Metric.TRANSMISSION_DELAY_SD,
        Metric.EXCESS_DELAY,
        Metric.BIT_RATE_SD,
        Metric.PACKET_RATE_SD,
        Metric.UTILISATION_SD_OVER_MEAN,
        Metric.COLLISIONS_PER_FRAME,
    ]
    points, trials = [], []
    for series in ("I-1", "I-2", "I-4", "I-5"):
        for frames in (
            MIXED if series in ("I-4", "I-5") else tuple(f"{octets} B" for octets in FIXED)
        ):
            for hosts in range(1, 25):
                point = {"stations.count": str(hosts), "stations.frames": frames}
                values = {metric: world(series, hosts, frames, metric) for metric in used}
                found = {
                    m: Estimate(v, abs(v) * error, replications - 1) for m, v in values.items()
                }
                points.append(Point(series, point, "simulation", replications, found))
                trials += stands(series, point, scenario(frames, window_s), replications)
    for series, number in (("I-4", "2"), ("I-5", "4")) if clusters else ():
        for frames in ("64 B", "1536 B"):
            point = {
                "segment.clusters": number,
                "stations.frames": frames,
            }  # the scenario says how many hosts there are
            values = {metric: clusters(series, 24, frames, metric) for metric in used}
            points.append(
                Point(
                    "clusters",
                    point,
                    "simulation",
                    20,
                    {m: Estimate(v, abs(v) * error, 19) for m, v in values.items()},
                )
            )
            trials += stands("clusters", point, scenario(frames, window_s), 20)
    results = results_of(trials, points=points)
    return {claim.id: claim for claim in STUDY.claims(results)}


def changed(metric: Metric, change: Callable[[str, int, str, float], float]) -> World:
    def world(series: str, hosts: int, frames: str, asked: Metric) -> float:
        found = ideal(series, hosts, frames, asked)
        return change(series, hosts, frames, found) if asked is metric else found

    return world


def test_every_claim_is_borne_out_by_a_world_that_agrees():
    verdicts = {claim.id: claim.verdict for claim in judged(ideal).values()}
    agree = {name for name, verdict in verdicts.items() if verdict in ("met", "holds")}
    others = {name for name, verdict in verdicts.items() if verdict == "not-run"}
    assert set(verdicts) == agree | others
    assert (len(agree), others) == (26, set(PROBLEMS))


@pytest.mark.parametrize(
    ("claim", "metric", "change"),
    [
        ("achieved-packet-rate", Metric.PACKET_RATE, lambda s, n, f, v: v * 0.96),
        ("packet-rate-peak", Metric.PACKET_RATE, lambda s, n, f, v: 13600.0 if n == 3 else v),
        (
            "no-collisions-up-to-two",
            Metric.COLLISIONS_PER_FRAME,
            lambda s, n, f, v: 1e-6 if n == 2 else v,
        ),
        ("efficiency-long-packets", Metric.UTILISATION, lambda s, n, f, v: v * 0.96),
        ("delay-long-packets", Metric.TRANSMISSION_DELAY, lambda s, n, f, v: v * 1.04),
        ("bit-rate-rises-with-length", Metric.BIT_RATE, lambda s, n, f, v: 8e13 / v),
        ("bit-rate-falls-with-hosts", Metric.BIT_RATE, lambda s, n, f, v: v * (1 + n / 100)),
        ("bit-rate-first-rises", Metric.BIT_RATE, lambda s, n, f, v: v * 2 if n == 1 else v),
        ("excess-delay-long-packets", Metric.EXCESS_DELAY, lambda s, n, f, v: v * 1.6),
        ("efficiency-short-packets", Metric.UTILISATION, lambda s, n, f, v: v * 1.04),
        ("unfairness-20-hosts", Metric.UTILISATION_SD_OVER_MEAN, lambda s, n, f, v: v * 1.3),
        ("delay-spread-worst-case", Metric.TRANSMISSION_DELAY_SD, lambda s, n, f, v: v * 1.6),
        (
            "delay-grows-linearly",
            Metric.TRANSMISSION_DELAY,
            lambda s, n, f, v: v * n**2 if f == "64 B" else v,
        ),
        ("delay-grows-linearly", Metric.TRANSMISSION_DELAY, lambda s, n, f, v: -v),
        (
            "delay-spread-grows-linearly",
            Metric.TRANSMISSION_DELAY_SD,
            lambda s, n, f, v: v / n**0.5,
        ),
        ("excess-delay-grows-linearly", Metric.EXCESS_DELAY, lambda s, n, f, v: v * n),
        ("unfairness-bit-rate", Metric.BIT_RATE_SD, lambda s, n, f, v: 1 / v),
        ("unfairness-packet-rate", Metric.PACKET_RATE_SD, lambda s, n, f, v: 1 / v),
        ("unfairness-relative", Metric.UTILISATION_SD_OVER_MEAN, lambda s, n, f, v: 1 / v),
        (
            "unfairness-relative",
            Metric.UTILISATION_SD_OVER_MEAN,
            lambda s, n, f, v: v * 2 if n == 5 else v,
        ),
        (
            "two-clusters-delay",
            Metric.TRANSMISSION_DELAY,
            lambda s, n, f, v: v * 1.003 if s == "I-4" else v,
        ),
        (
            "two-clusters-utilisation",
            Metric.UTILISATION,
            lambda s, n, f, v: v * 1.003 if s == "I-4" else v,
        ),
        (
            "two-clusters-long-packets",
            Metric.UTILISATION,
            lambda s, n, f, v: v * 0.99 if s == "I-4" else v,
        ),
        ("one-long-in-eight", Metric.UTILISATION, lambda s, n, f, v: 0.88 if "+" in f else v),
        (
            "shorter-net-more-efficient",
            Metric.UTILISATION,
            lambda s, n, f, v: 0.84 if (s, n, f) == ("I-1", 9, "64 B") else v,
        ),
        (
            "shorter-net-more-efficient",
            Metric.UTILISATION,
            lambda s, n, f, v: 0.96 if (s, f) == ("I-1", "1536 B") else v,
        ),
        (
            "shorter-net-short-packets",
            Metric.UTILISATION,
            lambda s, n, f, v: v + 0.2 if (s, f) == ("I-1", "512 B") else v,
        ),
    ],
)
def test_every_claim_can_fail(claim, metric, change):
    found = judged(changed(metric, change))[claim]
    assert found.verdict in ("missed", "fails")
    assert "likeliest cause" in found.note


def test_a_wide_interval_decides_nothing_for_a_difference():
    assert judged(ideal, error=0.03)["two-clusters-long-packets"].verdict == "undecided"
    found = judged(ideal, error=0.03)["packet-rate-peak"]
    assert (found.verdict, found.ours) == ("undecided", 2)
    # 13500 at 2, 12970 at 3; t(8) = 2.306.
    half = 2.306 * 0.03 * math.hypot(13500, 12970)
    ends = f"{530 - half:.0f} to {530 + half:.0f}".replace("-", "−")
    assert f"more than at 3 by 530 (95% interval {ends})" in found.note


def test_a_line_is_not_decided_by_wide_intervals():
    # A square has a bend of 3 and more, and by wide intervals perhaps none.
    square = changed(Metric.EXCESS_DELAY, lambda s, n, f, v: v * n)
    assert judged(square)["excess-delay-grows-linearly"].verdict == "fails"
    assert judged(square, error=0.4)["excess-delay-grows-linearly"].verdict == "undecided"
    assert judged(ideal, error=0.4)["excess-delay-grows-linearly"].verdict == "undecided"


def test_a_partial_run_leaves_claims_not_run():
    assert {claim.verdict for claim in STUDY.claims(results_of(()))} == {"not-run"}


def test_theory_comes_from_the_scenario_by_hand():
    found = judged(ideal)
    assert found["theoretical-packet-rate"].ours == pytest.approx(1e7 / (88 * 8))
    assert found["delay-without-collisions"].ours == pytest.approx(24 * 1560 * 8e-4)


def test_difference_of_two_series_by_hand():
    found = judged(ideal)["two-clusters-delay"]
    assert found.ours == pytest.approx(0.015)
    assert found.high - found.ours == pytest.approx(
        1.015 * math.sqrt(2) * 1e-4 * 2.306, rel=1e-3
    )  # t(8) = 2.306


def shifted(series: str, hosts: int, frames: str, metric: Metric) -> float:
    """Return a world in which two clusters cost nothing."""
    return ideal("I-5" if series == "I-4" else series, hosts, frames, metric)


def smaller(series: str, hosts: int, frames: str, metric: Metric) -> float:
    """Return a world in which two clusters cost 0.7% of the utilisation."""
    found = shifted(series, hosts, frames, metric)
    return found * 0.993 if series == "I-4" and metric is Metric.UTILISATION else found


def test_a_single_difference_may_lie_where_single_runs_do():
    # Mean difference 0.007, relative standard error of a mean of 5 runs 0.001: a single run's s is
    # 0.001 sqrt(5), that of the difference of two sqrt(2) times as much, and a further one lies
    # within t(8) s sqrt(1 + 1/5) = 2.306 x 0.001 x sqrt(2 x 6) = 0.0080 of it.
    found = judged(smaller, error=0.001)["two-clusters-utilisation"]
    assert found.verdict == "met"
    assert found.prediction == (pytest.approx(-0.0010, abs=1e-4), pytest.approx(0.0150, abs=1e-4))
    assert "95% prediction interval from 5 replications each of I-4 and I-5)" in found.note
    assert found.high - found.low == pytest.approx(
        2 * 2.306 * 0.001 * math.sqrt(2), rel=1e-2
    )  # the mean's own is narrower
    narrow = judged(smaller, error=0.0002)["two-clusters-utilisation"]
    assert (narrow.verdict, narrow.basis) == ("missed", "fitted")


def test_no_difference_is_not_met_however_wide_single_runs_are():
    for error, verdict in ((0.001, "missed"), (0.01, "undecided")):
        found = judged(shifted, error=error)["two-clusters-utilisation"]
        assert (found.verdict, found.prediction) == (verdict, None)


@pytest.mark.parametrize("change", [{"replications": 2}, {"window_s": 1.0}])
def test_a_prediction_needs_replications_of_the_studys_window(change):
    assert judged(smaller, error=0.0002)["two-clusters-utilisation"].prediction is not None
    found = judged(smaller, error=0.0002, **change)["two-clusters-utilisation"]
    assert (found.verdict, found.prediction) == ("missed", None)


def test_little_s_law_links_delay_and_utilisation():
    # 24 hosts, 12760 packets a second: a cycle of 24 / 12760 s = 1.8809 ms, of which 1.2917 ms are
    # delay.
    assert (
        "= 1.46 times the utilisation’s fall, so that the published 1.5% and 1.1%"
        in judged(ideal)["two-clusters-delay"].note
    )


def test_the_series_made_for_two_clusters_goes_before_the_figures():
    found = judged(shifted, clusters=ideal)
    assert found["two-clusters-delay"].ours == pytest.approx(0.015)
    assert "20 replications each of clusters 2 and clusters 4" in found["two-clusters-delay"].note
    assert judged(ideal, clusters=shifted)["two-clusters-delay"].ours == 0.0
    worse = changed(Metric.UTILISATION, lambda s, n, f, v: v * 0.99 if s == "I-4" else v)
    assert judged(ideal, clusters=worse)["two-clusters-long-packets"].verdict == "fails"


def test_claims_survive_their_file(tmp_path):
    found = tuple(judged(ideal).values())
    (tmp_path / "claims.json").write_text(claims.text_of("boggs1988", found), encoding="utf-8")
    study, read = claims.read(tmp_path) or ("", ())
    assert study == "boggs1988"
    assert [str(claim) for claim in read] == [str(claim) for claim in found]
    assert "NaN" not in (tmp_path / "claims.json").read_text(encoding="utf-8")


def test_a_broken_claims_file_is_named(tmp_path):
    (tmp_path / "claims.json").write_text(
        json.dumps({"study": "x", "claims": [{}]}), encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"claims\.json: content = .*: not a claims file"):
        claims.read(tmp_path)


@pytest.mark.parametrize("text", ["", "64", "64 kB", "64 B +", "64 B x"])
def test_lengths_refuses(text):
    with pytest.raises(ValueError, match="not of the form"):
        lengths(text)
