"""Cautions in the terminal: marks at values, explained once below the table, and none where there
is nothing to doubt.
"""

import math
from dataclasses import replace

from ethermeter.analysis.live import Comparison
from ethermeter.blocks import Table
from ethermeter.cli.output import show
from ethermeter.metrics import Caution, Metric
from ethermeter.present import measurement, points
from ethermeter.present.marks import Marks
from ethermeter.report import tables
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from program import invoke


def test_every_caution_is_explained_in_one_sentence():
    for caution in Caution:
        assert 20 < len(caution.meaning) < 240, caution
        assert "\n" not in caution.meaning
        assert not caution.meaning.endswith(".")


def test_marks_are_letters_in_the_order_of_the_list_and_of_several_cautions_together():
    marks = Marks([["late-send"], ["few-samples", "late-send"], []])
    assert (marks.at(["late-send"]), marks.at(["late-send", "few-samples"]), marks.at([])) == (
        "[b]",
        "[ab]",
        "",
    )
    assert [line.partition(":")[0] for line in marks.legend()] == [
        "[a] few-samples",
        "[b] late-send",
    ]


def test_a_caution_of_all_values_is_said_once_and_marks_none():
    marks = Marks([["host-limited"], ["few-samples", "host-limited"]])
    assert (marks.at(["host-limited"]), marks.at(["few-samples", "host-limited"])) == ("", "[a]")
    assert [line.partition(": ")[0] for line in marks.legend()] == ["[a] few-samples", "all values"]
    assert marks.legend()[1] == f"all values: host-limited: {Caution.HOST_LIMITED.meaning}"


def test_one_value_is_marked_even_if_it_is_all_there_is():
    assert Marks([["late-send"]]).at(["late-send"]) == "[a]"


def test_what_has_no_samples_is_a_dash_and_needs_no_mark():
    marks = Marks([["no-samples"], ["no-samples"], []])
    assert (marks.at(["no-samples"]), marks.legend()) == ("", [])


def test_a_mark_does_not_move_the_digits_of_its_column(capsys):
    show(
        [
            Table(
                ["load", "delay s"],
                [["5", "0.25[a]"], ["10", "1.25"], ["20", "–"], ["40", "12.5[ab]"]],
                "",
            )
        ]
    )
    assert capsys.readouterr().out.splitlines() == [
        "load   delay s",
        "   5  0.25[a]",
        "  10  1.25",
        "  20     –",
        "  40  12.5[ab]",
    ]


def point(replications: int, **cautions: list[str]) -> Point:
    found = {
        "message_rate": 100.0,
        "goodput": 6.4e5,
        "one_way_delay": 0.001,
        "round_trip": math.nan,
        "loss": 0.0,
    }
    words = {"round_trip": ["no-samples"], **cautions}
    estimates = {
        Metric(metric): Estimate(value, math.nan, math.nan, tuple(words.get(metric, ())))
        for metric, value in found.items()
    }
    return Point("x", {"load": "1"}, "live", replications, estimates)


def test_the_table_of_a_run_marks_values_to_doubt_and_says_what_the_marks_mean(capsys):
    quiet = [point(3)]
    show(points.main_metrics(quiet))
    show(points.cautions(quiet))
    assert len(capsys.readouterr().out.splitlines()) == 2
    doubtful = [point(1), point(1, one_way_delay=["late-send", "clock-uncertain"])]
    show(points.main_metrics(doubtful))
    show(points.cautions(doubtful))
    lines = capsys.readouterr().out.splitlines()
    assert "1[ab]" in lines[2]
    assert "[" not in lines[1]
    assert [line.partition(":")[0] for line in lines[3:] if not line.startswith(" ")] == [
        "[a] late-send",
        "[b] clock-uncertain",
        "one-replication",
    ]


def test_the_table_of_measured_against_simulated_marks_its_verdicts(capsys, tmp_path):
    one = Comparison("x", {}, Metric.LOSS, 0.1, 0.01, 0.1, 0.01, 0.0, 0.01, "agrees", ())
    show(measurement.agreement([replace(one, cautions=("late-send",)), one]))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == ["[a]", "agrees"]
    assert lines[3].startswith("[a] late-send: messages left late enough")


def test_theories_that_do_not_hold_say_what_their_cautions_mean():
    result = invoke("validate", "poisson-load", "--models")
    assert result.returncode == 0
    named = {
        word for word in Caution if f"({word}" in result.stdout or f", {word})" in result.stdout
    }
    assert named
    lines = result.stdout.splitlines()
    assert {
        line.partition(": ")[0]
        for line in lines
        if line in {f"{word}: {word.meaning}" for word in Caution}
    } == set(named)


def test_the_report_says_a_caution_of_the_run_once_and_marks_no_value_that_is_not_there():
    dash, doubtful = (
        Estimate(math.nan, math.nan, math.nan, ("no-samples",)),
        Estimate(1.0, 0.1, 3, ("late-send",)),
    )
    one = Point("x", {}, "live", 1, {Metric.ROUND_TRIP: dash, Metric.MESSAGE_RATE: doubtful})
    of_run = "".join(text.text for text in tables.run_cautions_texts([one]))
    assert of_run.count("one-replication") == 1
    table = str(tables.cautions_table([one]))
    assert ("late-send" in table, "no-samples" in table, "one-replication" in table) == (
        True,
        False,
        False,
    )
    quiet = Point("x", {}, "live", 3, {Metric.ROUND_TRIP: dash})
    assert (
        tables.run_cautions_texts([quiet]),
        "carries a caution" in str(tables.cautions_table([quiet])),
    ) == ([], True)
