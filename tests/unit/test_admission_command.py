"""Admission from a run: what is read of it, what becomes of calls, and the command."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter.calls.admission import RULES, ByCalls, Outcome, Thresholds, outcomes, read
from ethermeter.experiment import load, shipped
from ethermeter.metrics import Metric
from ethermeter.results import estimates
from ethermeter.voice import erlang_b
from program import invoke

SHORT = (
    "phases.settle='0 s'",
    "phases.transmit='500 ms'",
    "phases.measure='last 400 ms'",
    "run.batches=8",
)
HELD = {"stations.frames.samples.least": "64 B"}
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a series that varies two things, one that varies the number of stations, one with
    one number, and one without voice.
    """
    names = ("minimum", "rate-84", "fairness", "data-load")
    out = tmp_path_factory.mktemp("study") / "run"
    return (
        em.load(*(f"gonsalves1982/{name}" for name in names), overrides=SHORT, name="study")
        .run(out=out, jobs=1)
        .path
    )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one series, measured from the start."""
    out = tmp_path_factory.mktemp("plain") / "run"
    overrides = (
        "vary.stations.count=[12, 16, 20, 22, 24, 28, 30]",
        "phases.transmit='500 ms'",
        "phases.measure='all'",
        "run.batches=10",
    )
    return em.load("voice-experimental", overrides=overrides).run(out=out, jobs=1).path


def made(**change: Any) -> ByCalls:
    """Numbers of a run of 0 to 8 calls that loses 1% of the samples with 5 calls, and 1% more with
    each.
    """
    calls = np.arange(9)
    loss = np.maximum(calls - 4, 0) / 100
    given: dict[str, Any] = {
        "series": "made",
        "simulated": tuple(range(1, 9)),
        "loss": loss,
        "loss_low": np.maximum(loss - 0.002, 0),
        "loss_high": np.where(calls < 4, loss, loss + 0.002),
        "load": calls / 10,
        "deviation": np.full(9, 0.05),
        "window_s": 0.5,
        "is_from_the_start": False,
    }
    return ByCalls(**(given | change))


def outcome(rule: str, offered: float, by_calls: ByCalls, **change: Any) -> Outcome:
    thresholds = Thresholds(**({"limit": 0.01, "most": 4, "heard": 0.8, "load": 0.4} | change))
    found = outcomes([offered], by_calls, thresholds)
    assert tuple(each.rule for each in found) == RULES
    return found[RULES.index(rule)]


def test_what_was_simulated_is_taken_and_the_rest_lies_between(plain):
    found = read(plain)
    points = {
        int(point.point["stations.count"]): point.estimates for point in estimates.read(plain)
    }
    assert found.simulated == (12, 16, 20, 22, 24, 28, 30)
    assert found.loss.shape == (31,)
    for calls, of in points.items():
        assert found.loss[calls] == of[Metric.SAMPLE_LOSS].value
        assert found.loss_high[calls] == min(of[Metric.SAMPLE_LOSS].high, 1)
    assert found.loss[28] > 0
    for name in ("loss", "loss_low", "loss_high", "load", "deviation"):
        values = getattr(found, name)
        assert values[26] == pytest.approx((values[24] + values[28]) / 2, abs=ROUNDING)
        assert set(values[:12]) == {values[12]}


def test_the_load_is_that_of_batches_in_which_all_stations_send(plain):
    found = read(plain)
    rows = em.open(plain).directory.table("station-batches").to_pandas()
    trials = {trial.id: trial for trial in em.open(plain).trials()}
    at_24 = rows[
        rows["trial"].map(lambda name: trials[name].point["stations.count"] == "24").to_numpy()
    ]
    # Ten batches of 50 ms; stations begin within the first 100 ms, so that two batches of each
    # trial are left out.
    load = at_24[at_24["batch"] >= 2].groupby(["trial", "batch"], observed=True)[
        "charged_ps"
    ].sum() / (found.window_s * 1e12)
    assert (len(load), found.window_s) == (24, pytest.approx(0.05))
    assert found.load[24] == pytest.approx(load.mean())
    assert found.deviation[24] == pytest.approx(load.std(ddof=1))
    assert found.is_from_the_start


def test_a_run_that_measures_later_is_not_from_the_start(study):
    assert not read(study, series="rate-84").is_from_the_start


def test_other_keys_of_a_series_are_held(study):
    short, long = (
        read(study, series="minimum", at=HELD | {"stations.frames.samples.least": least})
        for least in ("64 B", "512 B")
    )
    assert short.simulated == long.simulated
    (point,) = (
        point
        for point in estimates.read(study)
        if point.series == "minimum"
        and point.point == {"stations.frames.samples.least": "512 B", "stations.count": "30"}
    )
    assert long.loss[30] == point.estimates[Metric.SAMPLE_LOSS].value
    assert long.loss[30] != short.loss[30]


@pytest.mark.parametrize(
    ("limit", "most"),
    [(0.0, 3), (0.001, 3), (0.002, 4), (0.011, 4), (0.012, 5), (0.042, 8), (1.0, 8)],
)
def test_most_calls_are_those_whose_interval_is_within_the_limit(limit, most):
    # Half a rounding of the interval's end more, so that an end at the limit is within it.
    assert made().most_within(limit + ROUNDING) == most


def test_a_number_that_is_good_again_behind_one_that_is_not_does_not_count():
    assert made(loss_high=np.array([0, 0, 0, 0.02, 0, 0, 0, 0, 0])).most_within(0.01) == 2
    assert made(loss_high=np.full(9, 0.02)).most_within(0.01) == 0


@pytest.mark.parametrize("offered", [0.5, 4.0, 20.0])
def test_without_rule_and_with_a_server_it_is_erlangs_formula(offered):
    none, central = (outcome(rule, offered, made()) for rule in ("none", "central"))
    assert none.blocking == pytest.approx(erlang_b(offered, circuits=8), abs=ROUNDING)
    # All that is refused without a rule is refused because the run has no more stations.
    assert none.bound == pytest.approx(none.blocking, abs=ROUNDING)
    assert central.blocking == pytest.approx(erlang_b(offered, circuits=4), abs=ROUNDING)
    assert (central.bound, central.over_most, central.beyond_limit.value) == (0, 0, 0)


def test_the_ends_of_the_intervals_give_ends_of_the_share_beyond_the_limit():
    found = outcome("none", 4.0, made())
    weights = [4.0**n / np.prod(np.arange(1.0, n + 1)) * n for n in range(9)]
    # 1% is lost with 5 calls: within the limit, beyond it at the upper end. With 6 it is beyond at
    # both.
    above = [sum(weights[n:]) / sum(weights) for n in (5, 6)]
    assert found.beyond_limit.value == pytest.approx(above[1], abs=ROUNDING)
    assert (found.beyond_limit.low, found.beyond_limit.high) == pytest.approx(
        (above[1], above[0]), abs=ROUNDING
    )
    without = outcome("none", 4.0, made(loss_low=np.full(9, np.nan), loss_high=np.full(9, np.nan)))
    assert without.beyond_limit.value == found.beyond_limit.value
    assert np.isnan([without.beyond_limit.low, without.beyond_limit.high]).all()


def test_a_bound_that_is_met_too_often_is_told():
    assert outcome("none", 8.0, made()).is_bounded
    assert not outcome("none", 0.5, made()).is_bounded
    assert not outcome("central", 8.0, made()).is_bounded
    # A server that has all that the run has: whom it refuses is refused by the rule.
    assert outcome("central", 8.0, made(), most=8).bound == 0
    # Nobody is heard, so nobody is refused but by the bound.
    unheard = outcome("count", 8.0, made(), heard=0.0)
    assert unheard.bound == unheard.blocking > 0
    # So many come that one in hundreds let in is enough to fill all there is, and would fill more.
    assert outcome("count", 1e6, made(), most=2, heard=0.9).is_bounded


def answer(*words: object) -> Mapping[str, Any]:
    code, text, said = invoke("model", "admission", *words, "--json")
    assert code == 0, said
    found: Mapping[str, Any] = json.loads(text)
    return found


def test_the_command_answers_for_each_load_and_rule(plain):
    found = answer(
        f"run={plain}",
        "offered=10,20",
        "most=22",
        "limit=0.5%",
        "listen=2 s",
        "pattern=p59",
    )
    by_calls = read(plain)
    assert [(each["offered"], each["rule"]) for each in found["outcomes"]] == [
        (offered, rule) for offered in (10, 20) for rule in RULES
    ]
    heard = em.voice.heard(2.0, talk_s=1.004, silence_s=1.587)
    assert (found["most"], found["limit"]) == (22, 0.005)
    assert found["count"] == {"listen_s": 2.0, "pattern": "p59", "heard": heard}
    assert found["load"] == {"listen_s": by_calls.window_s, "threshold": by_calls.load[22]}
    expected = outcomes(
        [10.0, 20.0], by_calls, Thresholds(0.005, 22, float(heard), float(by_calls.load[22]))
    )
    assert [each["blocking"] for each in found["outcomes"]] == [each.blocking for each in expected]
    assert [each["beyond_limit"]["value"] for each in found["outcomes"]] == [
        each.beyond_limit.value for each in expected
    ]
    assert [each["loss"] for each in found["calls"]] == by_calls.loss.tolist()


def test_thresholds_are_those_of_the_run_unless_given(plain):
    by_calls = read(plain)
    found = answer(f"run={plain}", "offered=10", "limit=3%")
    assert found["most"] == by_calls.most_within(0.03) < by_calls.largest
    assert found["load"]["threshold"] == by_calls.load[found["most"]]
    assert found["count"]["listen_s"] == by_calls.window_s
    assert answer(f"run={plain}", "offered=10", "limit=3%", "load=60%")["load"]["threshold"] == 0.6


@pytest.mark.usefixtures("wide")
def test_a_table_has_a_row_for_each_load_and_rule_and_says_what_the_rules_are(plain):
    code, text, _ = invoke("model", "admission", f"run={plain}", "offered=20,200", "most=22")
    assert code == 0
    lines = text.splitlines()
    assert [line.split()[:2] for line in lines[1:9]] == [
        [offered, rule] for offered in ("20", "200") for rule in RULES
    ]
    assert lines[0].endswith("over 22 %  caution")
    assert lines[5].endswith("outside-model-range")
    assert not lines[6].endswith("outside-model-range")
    assert (
        sum(
            line.startswith(
                ("central: ", "count: ", "load: ", "beyond limit: ", "outside-model-range: ")
            )
            for line in lines
        )
        == 5
    )
    assert "measures from before all stations have begun" in text
    assert "caution" not in invoke("model", "admission", f"run={plain}", "offered=5")[1]


def test_of_several_series_one_is_chosen_and_its_other_keys_held(study):
    words = (f"run={study}", "offered=10", "most=20")
    assert answer(*words, "series=rate-84")["series"] == "rate-84"
    short = answer(*words, "series=minimum", "stations.frames.samples.least=64 B")
    quoted = answer(*words, "series=minimum", 'stations.frames.samples.least="64 B"')
    assert short == quoted
    assert "measures from" not in invoke("model", "admission", *words, "series=rate-84")[1]


def test_without_intervals_the_threshold_has_to_be_given(tmp_path):
    overrides = ("vary.stations.count=[20, 30]", *SHORT)
    run = (
        em.load("voice-experimental", overrides=overrides)
        .run(out=tmp_path / "run", replications=1, jobs=1)
        .path
    )
    code, _, said = invoke("model", "admission", f"run={run}", "offered=20")
    assert (code, "command line: most = not given: a number from 1 to 30" in said) == (2, True)
    found = answer(f"run={run}", "offered=20", "most=25")["outcomes"][0]["beyond_limit"]
    assert (found["low"], found["high"]) == (None, None)
    assert 0 < found["value"] < 1


def test_a_limit_that_no_number_keeps_is_refused(tmp_path):
    overrides = ("vary.stations.count=[40, 50]", *SHORT, "run.replications=3")
    run = em.load("voice-experimental", overrides=overrides).run(out=tmp_path / "run", jobs=1).path
    code, _, said = invoke("model", "admission", f"run={run}", "offered=20", "limit=0.1%")
    assert (code, "command line: limit = 0.1%: one that is kept with 40 calls" in said) == (
        2,
        True,
    )
    assert answer(f"run={run}", "offered=20", "limit=0.1%", "most=45")["most"] == 45


def test_stations_without_voice_are_no_calls(tmp_path):
    document = load(shipped()["voice-experimental"], overrides=SHORT).document
    data = em.stations("data", count=1, frames="64 B", arrivals={"poisson_load": 0.1})
    talkers = [{**group, "count": 10} for group in document["stations"]]
    mixed = {**document, "stations": [*talkers, data], "vary": {"stations.data.count": [1, 2]}}
    run = em.load(mixed).run(out=tmp_path / "run", jobs=1).path
    code, _, said = invoke("model", "admission", f"run={run}", "offered=20")
    assert (code, "stations.data.count = not the number of voice stations" in said) == (2, True)


def test_a_directory_without_a_finished_run_is_refused(plain, tmp_path):
    code, _, said = invoke("model", "admission", f"run={tmp_path / 'nowhere'}", "offered=20")
    assert (code, "a run directory, which has a plan.jsonl" in said) == (2, True)
    unfinished = tmp_path / "unfinished"
    shutil.copytree(plain, unfinished)
    (unfinished / "provenance.json").unlink()
    code, _, said = invoke("model", "admission", f"run={unfinished}", "offered=20")
    assert (code, "unfinished, by its provenance.json: a finished run" in said) == (2, True)


def test_a_run_without_voice_is_refused(tmp_path):
    overrides = (
        "vary={}",
        "vary.stations.count=[2, 3]",
        "phases.transmit='20 ms'",
        "phases.measure='last 10 ms'",
    )
    run = (
        em.load("poisson-load", overrides=overrides)
        .run(out=tmp_path / "run", jobs=1, replications=1)
        .path
    )
    code, _, said = invoke("model", "admission", f"run={run}", "offered=20")
    assert (code, "one with voice that varies the number of stations" in said) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "series = not given: one of minimum, rate-84"),
        (
            ("series=maximum",),
            "series = maximum: did you mean minimum? One of minimum, rate-84, fairness",
        ),
        (
            ("series=data-load",),
            (
                "series = data-load: one with voice that varies the number of stations: "
                "minimum, rate-84"
            ),
        ),
        (("series=fairness",), "series = fairness: one with voice that varies the number"),
        (
            ("series=minimum",),
            ("stations.frames.samples.least = not given: one of 64 B, "),
        ),
        (
            ("series=minimum", "stations.frames.samples.least=65 B"),
            "stations.frames.samples.least = 65 B: did you mean 64 B? One of 64 B, ",
        ),
        (
            ("series=minimum", "segment.turnaround=1 us"),
            "segment.turnaround = 1 us: one of the keys ",
        ),
        (
            ("series=rate-84", "stations.count=8"),
            "stations.count = 8: a number of stations that is left to vary",
        ),
        (("series=rate-84", "nonsense"), "argument = nonsense: expected NAME=VALUE"),
        (("series=rate-84", "a.b=1", "a.b=2"), "a.b = 2: expected once"),
        (("series=rate-84", "most=41"), "most = 41: from 1 to 40"),
        (("series=rate-84", "most=0"), "most = 0: from 1 to 40"),
        (("series=rate-84", "most=1.5"), "most = 1.5: a whole number"),
        (("series=rate-84", "limit=-1%"), "limit = -1%: "),
        (("series=rate-84", "limit=101%"), "limit = 101%: a number from 0 to 1"),
        (("series=rate-84", "limit=1%,2%"), "limit = 1%,2%: one value"),
        (("series=rate-84", "listen=1 m"), "listen = 1 m: expected a time"),
        (("series=rate-84", "listen=-1"), "listen = -1: a number from 0 to 1e+06"),
        (("series=rate-84", "pattern=mine"), "pattern = mine: one of brady-1968, p59"),
        (("series=rate-84", "most=20", "load=100%"), "load = 100%: from 0."),
        (("series=rate-84", "most=20", "load=0"), "load = 0: from 0."),
        (("offered=-1",), "offered = -1: a number from 0 to 1e+09"),
        (("offered=many",), "offered = many: expected a number"),
        (("offered=0..1/20000",), "values = 20000 combinations: at most 10000"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line_that_names_it(study, words, said):
    offered = [] if any(word.startswith("offered=") for word in words) else ["offered=20"]
    code, text, errors = invoke("model", "admission", f"run={study}", *offered, *words)
    assert (code, text) == (2, "")
    assert any(line.startswith("command line: " + said) for line in errors.splitlines()), errors


def test_the_program_ends_with_2_and_without_a_traceback():
    ended = invoke("model", "admission", "run=nowhere", "offered=2")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "nowhere: run = nowhere: a run directory, which has a plan.jsonl\n"
