"""How many calls fit: what a trial means for those who talk, the search, and the command."""

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ethermeter import find
from ethermeter.analysis.call_search import CallsAnswer
from ethermeter.calls import OnSegment, Quality, Question, Wanted, quality
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.results.query import Results
from ethermeter.strategies import answered
from ethermeter.strategies.calls import CallSearch
from ethermeter.voice import e_model
from made_results import made
from program import invoke
from segments import segment

SEGMENT = OnSegment({"standard": "ieee-10", "round_trip": "25 us", "clusters": 2})


def rows(response: Mapping[int, int], *, discarded: float = 0, dropped: float = 0) -> Results:
    """Return a trial whose packets took so many milliseconds; a bucket ends at its time."""
    values = {Metric.DISCARDED: discarded, Metric.DROPPED: dropped, Metric.UTILISATION: 0.5}
    trial = SimpleNamespace(id="x", engine="simulation", scenario=segment({"points": [0, 1]}))
    source = made(
        (("x", -1, metric, value) for metric, value in values.items()),
        histograms=(
            ("x", "response_time", end * 1e-3 - 1e-12, end * 1e-3, count)
            for end, count in response.items()
        ),
    )
    return Results.of((trial,), source)


def rated(trial: Results, **change: Any) -> Quality:
    asked: dict[str, Any] = {
        "codec": "g711",
        "packet_s": 0.02,
        "buffer_s": None,
        "beyond_s": 0.0,
        "wanted": Wanted(mos=4.0),
    }
    return quality.rated(quality.heard_by_stations(trial), **(asked | change))


def test_with_a_buffer_that_is_set_what_comes_later_is_lost():
    found = rated(rows({1: 90, 5: 6, 30: 4}), buffer_s=0.005)
    assert found.loss == pytest.approx(0.04)
    # 20 ms of speech, 5 ms of network and buffer; G.711 looks nowhere ahead.
    assert found.delay_s == pytest.approx(0.025)
    assert found.mos == pytest.approx(float(e_model(0.025, 0.04).mos))
    assert found.network_p50_s == pytest.approx(0.001)
    assert found.network_p99_s == pytest.approx(0.030)


def test_a_buffer_shorter_than_any_packet_takes_loses_all():
    assert rated(rows({5: 10}), buffer_s=0.001).loss == 1


def test_what_was_given_up_or_refused_is_lost_whatever_the_buffer():
    found = rated(rows({1: 90}, discarded=6, dropped=4))
    assert found.loss == pytest.approx(0.1)
    assert found.buffer_s == 0.001


def test_the_best_buffer_weighs_delay_against_loss():
    # One packet in a thousand is later by 400 ms: waiting for it costs far more than losing it, as
    # the E-model says of both.
    found = rated(rows({1: 999, 401: 1}))
    assert found.loss == pytest.approx(0.001)
    assert found.buffer_s == 0.001
    assert found.rating > float(e_model(0.421, 0.0).r)
    # One in three is later by 10 ms, which is worth waiting for.
    assert rated(rows({1: 2, 11: 1})).buffer_s == 0.011


def test_delay_beyond_the_segment_adds_to_that_from_mouth_to_ear_only():
    near, far = (rated(rows({1: 100}), beyond_s=beyond) for beyond in (0.0, 0.1))
    assert far.delay_s - near.delay_s == pytest.approx(0.1)
    assert far.network_p99_s == near.network_p99_s
    assert far.mos < near.mos


def test_a_codec_without_rating_is_judged_by_loss_and_delay():
    wanted = Wanted(loss=0.05, delay_s=0.1)
    found = rated(rows({1: 90, 5: 6, 30: 4}), codec="opus", wanted=wanted)
    assert found.loss == pytest.approx(0.04)
    assert found.buffer_s == 0.005
    assert math.isnan(found.mos)
    assert wanted.margin(found) == pytest.approx(0.01)
    # 20 ms of speech and 6.5 ms of look-ahead leave 3.5 ms: too little for the packets of 5 ms.
    late = rated(rows({1: 90, 5: 6, 30: 4}), codec="opus", wanted=Wanted(loss=0.05, delay_s=0.03))
    assert Wanted(loss=0.05, delay_s=0.03).margin(late) == pytest.approx(-0.05)


def test_a_trial_without_a_packet_is_worth_nothing():
    assert rated(rows({})).loss == 1


def test_a_question_has_room_for_what_the_bits_and_the_standard_leave():
    question = Question(SEGMENT, codec="g711", packet_s=0.02)
    # 8 octets of preamble, 218 of frame and 12 of gap every 20 ms: 95.2 kb/s a direction.
    assert SEGMENT.load_of_a_call(question) == pytest.approx(2 * 0.00952)
    assert question.most == 52
    assert Question(OnSegment({"standard": "ieee-100"}), codec="g729", packet_s=0.06).most == 512


def test_few_calls_are_as_good_as_the_codec_and_far_too_many_as_bad_as_can_be():
    question = Question(SEGMENT, codec="g711", packet_s=0.02, duration_s=1.0)
    found = answered(CallSearch(question, Wanted(mos=4.0)), jobs=2)
    assert 10 < found.calls < question.most
    best = found.tried[0].rating.value
    # One packet of 20 ms, some milliseconds of network: R of the E-model to a point.
    assert best == pytest.approx(float(e_model(0.025, 0.0).r), abs=2.0)
    assert (found.tried[-1].margin.value or 0) < 0
    assert not found.is_limited_by_stations
    assert isinstance(found, CallsAnswer)


def test_the_same_seed_gives_the_same_answer_on_any_number_of_threads():
    question = Question(
        SEGMENT, codec="g729a", packet_s=0.02, duration_s=0.5, replications=2, seed=7
    )
    one, two = (answered(CallSearch(question, Wanted(mos=3.6)), jobs=jobs) for jobs in (1, 2))
    assert one == two


@pytest.fixture(autouse=True)
def _own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep runs out of the directory in which the tests run."""
    monkeypatch.chdir(tmp_path)


def test_the_command_answers_and_writes_an_experiment_that_can_be_run(tmp_path):
    file = tmp_path / "found.toml"
    words = ("schools-hub", "duration=500 ms", "mos=4.0", "--write", str(file))
    code, text, _ = invoke("find", "calls", *words, "--json")
    assert code == 0
    answer = json.loads(text)
    assert answer["sure"] <= answer["calls"] <= answer["possible"]
    assert invoke("validate", file).returncode == 0
    assert f"count = {2 * answer['calls']}" in file.read_text(encoding="utf-8")
    code, _, said = invoke("find", "calls", *words)
    assert (code, "--write" in said) == (2, True)
    (run,) = (tmp_path / "runs").glob("calls-*")
    assert json.loads((run / "answer.json").read_text(encoding="utf-8")) == answer
    assert (run / "report.html").is_file()


def test_in_python_it_is_a_function_and_the_command_prints_what_was_tried_as_rows(tmp_path):
    out = tmp_path / "found"
    found = find.calls("schools-hub", duration=0.5, packet=0.02, mos=4.0, out=out)
    assert found.run.path == out
    words = ("schools-hub", "duration=500 ms", "mos=4.0", "--out", out)
    _, text, said = invoke("find", "calls", *words, "--csv")
    assert "already finished" in said
    rows = list(csv.DictReader(text.splitlines()))
    assert [int(row["calls"]) for row in rows] == [each.calls for each in found.answer.tried]
    assert float(rows[0]["mos.high"]) == found.answer.tried[0].mos.high


def test_faults_name_arguments_of_the_function():
    with pytest.raises(InputError) as caught:
        find.calls(codec="g711", packet="1 m", bit_rate="fast")
    assert [fault.key for fault in caught.value.faults] == ["packet", "bit_rate"]
    with pytest.raises(InputError, match="arguments: source = a"):
        find.calls("schools-hub", source="a", to="b")
