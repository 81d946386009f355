"""Which values agree, which do not, and which assumption parts them; on made-up estimates."""

import json
import math

import pytest
from ethermeter.analysis.agreement import AgreementFile, agreements
from ethermeter.json_values import plain
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate

MODEL = "metcalfe-boggs-1976"


def point(engine, value, error=0.01, *, x="1", metric=Metric.UTILISATION, degrees=9.0):
    return Point("s", {"x": x}, engine, 10, {metric: Estimate(value, error, degrees)})


def theory(value, **more):
    return point(f"theory/{MODEL}", value, 0.0, degrees=1e9, **more)


def test_a_value_within_chance_agrees_and_one_beyond_differs():
    found = agreements(
        [
            theory(0.5),
            point("simulation", 0.52),
            theory(0.5, x="2"),
            point("simulation", 0.6, x="2"),
        ]
    )
    # Student's t with nine degrees of freedom: 2 and 10 standard errors.
    assert [each.verdict for each in found] == ["agrees", "differs"]
    assert [each.simulation.value for each in found] == [0.52, 0.6]
    assert found[0].simulation.half_width == pytest.approx(0.01 * 2.262157, rel=1e-6)


def test_one_of_many_comparisons_may_lie_outside_its_own_interval():
    # 2.5 standard errors: beyond the 95% interval of a single comparison, not beyond that of forty
    # together.
    alone = agreements([theory(0.5), point("simulation", 0.525)])
    together = agreements(
        [
            each
            for x in range(40)
            for each in (theory(0.5, x=str(x)), point("simulation", 0.525, x=str(x)))
        ]
    )
    assert [each.verdict for each in alone] == ["differs"]
    assert {each.verdict for each in together} == {"agrees"}


def test_without_simulation_or_interval_nothing_is_said():
    found = agreements(
        [
            theory(0.5),
            theory(0.5, x="2"),
            point("simulation", 0.5, math.nan, x="2"),
            theory(math.nan, x="3"),
        ]
    )
    assert [each.verdict for each in found] == ["not-run", "no-value"]
    assert [each.idealised_verdict for each in found] == ["not-run", "not-run"]


def test_values_without_any_spread_agree_only_if_they_are_equal():
    found = agreements(
        [
            theory(1.0),
            point("simulation", 1.0, 0.0),
            theory(1.0, x="2"),
            point("simulation", 1.0001, 0.0, x="2"),
        ]
    )
    assert [each.verdict for each in found] == ["agrees", "differs"]


def way(*values, last):
    steps = ["known-queue", "slotted", "no-overhead"]
    made = [
        point(f"ablation/{MODEL}/{step}", value) for step, value in zip(steps, values, strict=False)
    ]
    return [point("simulation", last), theory(0.5), point(f"idealised/{MODEL}", 0.5), *made]


def test_the_cause_is_the_step_that_changes_most():
    (found,) = agreements(way(0.51, 0.8, 0.7, last=0.7))
    assert (found.idealised_verdict, found.verdict, found.cause) == ("agrees", "differs", "slotted")
    assert [(change.step, change.is_seen) for change in found.changes] == [
        ("known-queue", False),
        ("slotted", True),
        ("no-overhead", True),
        ("contention-slot", False),
    ]
    assert found.changes[1].change == pytest.approx(0.29)


def test_what_happens_behind_the_last_step_is_named_after_what_the_segment_itself_gives_up():
    (found,) = agreements(way(0.5, 0.5, 0.5, last=0.7))
    assert found.cause == "contention-slot"


def test_steps_that_cancel_leave_no_cause_where_the_ends_agree():
    (found,) = agreements(way(0.7, 0.7, 0.5, last=0.5))
    assert (found.verdict, found.cause) == ("agrees", "")
    assert [change.is_seen for change in found.changes] == [True, False, True, False]


def test_undefined_numbers_are_null_in_the_file():
    found = agreements([theory(0.5), point("simulation", 0.5, math.nan)])
    read = json.loads(json.dumps(plain(AgreementFile.of(found))))
    assert read["comparisons"][0]["simulation"] == {"value": 0.5, "half_width": None}
    assert read["metrics"]["utilisation"]["unit"] == ""
