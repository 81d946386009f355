"""The findings of a page: sentences with known numbers, intervals and places."""

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import ethermeter as em
import pytest
from ethermeter.analysis.bounds import Answers, FlowTime, Observed
from ethermeter.analysis.claims import Claim
from ethermeter.analysis.verdicts import verdict_of
from ethermeter.metrics import Metric
from ethermeter.report.extremes import extremes, losses
from ethermeter.report.sections import bounds as of_bounds
from ethermeter.report.sections.run import claim_sentences
from ethermeter.report.tables import claims_table
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from markup import parse, sentences
from markup import text_of as text_in

SPACE = "\N{NO-BREAK SPACE}"


def point(stations: int, metric: Metric, value: float, *, half: float = 0.0) -> Point:
    # With infinitely many degrees of freedom the half width is 1.96 standard errors.
    estimate = Estimate(value, half / 1.959964, math.inf)
    return Point("s", {"stations.count": str(stations)}, "simulation", 3, {metric: estimate})


def text_of(markup: str | None) -> str:
    assert markup is not None
    bare = markup.replace("<strong>", "").replace("</strong>", "")
    return bare.replace(SPACE, " ")


def test_the_highest_and_the_lowest_value_have_interval_unit_and_place():
    found = [
        point(stations, Metric.TRANSMISSION_DELAY, value, half=1e-4)
        for stations, value in ((2, 0.004), (24, 0.0312), (8, 0.001))
    ]
    assert text_of(extremes(Metric.TRANSMISSION_DELAY, found)) == (
        "Transmission delay is highest, 31.20 ms (± 0.10), at number of hosts 24; "
        "lowest, 1.00 ms (± 0.10), at number of hosts 8."
    )


def test_values_within_their_intervals_are_one_range():
    found = [
        point(stations, Metric.UTILISATION, value, half=0.02)
        for stations, value in ((2, 0.90), (8, 0.91), (24, 0.92))
    ]
    assert text_of(extremes(Metric.UTILISATION, found)) == (
        "Utilisation is 0.900 (± 0.020) to 0.920 (± 0.020) at all 3 points."
    )


def test_the_only_value_and_no_value():
    assert text_of(extremes(Metric.GOODPUT, [point(2, Metric.GOODPUT, 8.2e6)])) == (
        "Goodput is 8.2 Mb/s."
    )
    assert extremes(Metric.GOODPUT, [point(2, Metric.GOODPUT, math.nan)]) is None


def test_a_mean_opinion_score_has_one_decimal():
    found = [point(2, Metric.MOS, 4.347, half=0.004), point(8, Metric.MOS, 1.96, half=0.12)]
    assert text_of(extremes(Metric.MOS, found)) == (
        "Mean opinion score is highest, 4.3, at number of hosts 2; "
        "lowest, 2.0 (± 0.1), at number of hosts 8."
    )


def test_losses_say_where_nothing_is_lost_and_what_zero_may_hide():
    found = [point(2, Metric.LOSS, 0.0), point(24, Metric.LOSS, 0.125)]
    assert text_of(losses(Metric.LOSS, found)) == (
        "Loss is highest, 12.5 %, at number of hosts 24; zero at 1 of 2 points."
    )
    limited = replace(
        found[0],
        estimates={Metric.LOSS: Estimate(0.0, math.nan, math.nan, ends=(0.0, 3e-4))},
    )
    assert text_of(losses(Metric.LOSS, [limited])) == (
        "Loss is zero in this run (95% limit: 0.03 %)."
    )


def claim(name: str, verdict: str, *, basis: str = "predicted", ours: float = math.nan) -> Claim:
    return Claim(
        id=name,
        what=f"what {name} says",
        where="",
        published=4.0,
        rounding=None,
        unit="ms",
        basis=basis,
        measure="",
        ours=ours,
        low=ours - 0.5,
        high=ours + 0.5,
        verdict=verdict,
        note="",
    )


@pytest.mark.parametrize(
    ("verdict", "is_folded"), [("met", True), ("missed", False), ("contradicted", False)]
)
def test_only_the_rule_of_a_claim_that_is_met_is_folded(verdict, is_folded):
    of = replace(claim("a", verdict, ours=4.0), measure="the rule", note="the remark")
    note = claims_table([of]).rows[0][-1]
    assert ("<details" in note) is is_folded
    assert "remark" in note
    assert "the rule" in note


def test_claims_are_counted_and_those_that_are_missed_are_named_with_both_numbers():
    found = claim_sentences(
        [
            claim("a", "met"),
            claim("b", "holds", basis="fitted"),
            claim("c", "missed", ours=6.0),
            claim("d", "not-run"),
            claim("e", "met", basis="reference"),
        ]
    )
    assert [text_of(each) for each in found] == [
        "2 of 3 published claims are met or hold: 1 of 2 predicted.",
        "Not met: what c says (4 ms published, 6.0 ± 0.5 ms here).",
    ]
    assert claim_sentences([claim("d", "not-run")]) == []


def test_a_statement_that_fails_says_what_was_compared_and_not_two_equal_numbers():
    fails = replace(
        claim("a", "fails", ours=4.0),
        measure="holds when its lead is above zero by its interval",
        note="next highest at 3, lower by 12 (95% interval -30 to 54)",
    )
    assert [text_of(each) for each in claim_sentences([fails])][1:] == [
        "Not met: what a says (compared: holds when its lead is above zero by its interval; found: "
        "next highest at 3, lower by 12 (95% interval -30 to 54))."
    ]


def time_of(flow: str, bound_s: float, largest_s: float, method: str) -> FlowTime:
    unknown = Estimate(math.nan, math.nan, math.nan)
    verdict = verdict_of(largest_s, bound_s)
    seen = Observed("simulation", unknown, {}, largest_s, None, 0.0, verdict)
    metric = Metric.ONE_WAY_DELAY
    return FlowTime(
        "s", {}, flow, metric, bound_s, math.nan, math.nan, method, math.nan, (), "", (seen,)
    )


def delays(bounded: int, unbounded: int) -> SimpleNamespace:
    times = [time_of(f"f{at}", 1e-3, 1e-4, "TFA") for at in range(bounded)]
    reasons = ("no room for its load", "no arrival curve")
    times += [time_of(f"g{at}", math.nan, 2e-3, reasons[at % 2]) for at in range(unbounded)]
    return SimpleNamespace(answers=Answers(tuple(times), ()))


@pytest.mark.parametrize(
    ("bounded", "unbounded", "expected"),
    [
        (3, 0, "The worst-case bound holds for all 3 delays. Nearest"),
        (1, 0, "The worst-case bound holds for the delay. Nearest"),
        (
            1,
            40,
            "The worst-case bound holds for 1 of 41 delays; 40 have no bound: no room for its load"
            " (20); no arrival curve (20). Nearest",
        ),
        (
            2,
            1,
            "The worst-case bound holds for 2 of 3 delays; 1 has no bound: no room for its load."
            " Nearest",
        ),
        (
            0,
            3,
            "None of the 3 delays has a worst-case bound: no room for its load (2); no arrival"
            " curve (1).",
        ),
        (0, 1, "The delay has no worst-case bound: no room for its load."),
    ],
)
def test_delays_without_a_bound_are_counted_beside_those_that_keep_theirs(
    bounded, unbounded, expected
):
    (found,) = of_bounds.findings(delays(bounded, unbounded))
    assert text_of(found).startswith(expected)
    assert of_bounds.findings(delays(0, 0)) == []


NETWORK = em.network(
    rate="10 Mb/s",
    hosts=["a", "b"],
    links=[("a", "b")],
    flows=em.flow("load", "a", "b", frames="1500 B", arrivals={"regular": "10 ms"}),
    vary={"flows.load.frames": ["1500 B", "500 B"]},
    phases={"transmit": "1 s", "measure": "all"},
    run={"replications": 2},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("findings")
    return em.load(NETWORK).run(out=folder / "run", report=True).path


def test_the_findings_of_a_run_are_the_numbers_that_follow_from_its_file(run):
    found = sentences(parse(run / "report.html"))
    assert 3 <= len(found) <= 5
    # 99 or 100 frames in 1 s: 1520 octets of 0.8 µs each with preamble and gap, 12.16 % of 10 ms.
    (busiest,) = [text for text in found if text.startswith("The busiest link is a to b")]
    share = re.search(r"busy for ([0-9.]+) % of its time", busiest)
    assert share is not None
    assert float(share[1]) == pytest.approx(12.16, rel=0.01)
    assert "at frame length (load) 1500 B; no port drops a frame there." in busiest
    (delay,) = [text for text in found if text.startswith("One-way delay")]
    # Preamble and frame on the wire: 1508 and 508 octets of 0.8 µs.
    assert "1.206 ms" in delay
    assert "406.4 µs" in delay
    (loss,) = [text for text in found if text.startswith("Loss")]
    assert loss.startswith("Loss is zero at all 2 points (95% limit:")
    assert estimates.read(run)[0].estimates[Metric.LOSS].value == 0


def test_the_question_names_what_was_varied_and_who_answered(run):
    page = parse(run / "report.html")
    said = (
        "Varied: frame length (load) (1500 B, 500 B). Answered by simulation, with 2 replications"
    )
    assert said in text_in(page)
    (warning,) = sentences(page, "warnings")
    assert warning.startswith("Fewer than three replications")
