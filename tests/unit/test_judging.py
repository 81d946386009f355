import math

import msgspec
import pytest
from entries import entry_with
from ethermeter.blocks import Text
from ethermeter.faults import InputError
from ethermeter.present.claims import claims
from ethermeter.results.interval import Estimate, exact
from ethermeter.studies import registry
from ethermeter.studies.judging import Finding, judge


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({}, "published.toml: made-up.limit = (missing): required"),
        ({"limit": "8"}, 'published.toml: made-up.limit = "8": expected `float`, got `str`'),
    ],
)
def test_a_key_that_a_rule_cannot_use_is_named_with_its_file(keys, fault):
    with pytest.raises(InputError) as raised:
        entry_with(**keys).number("limit")
    assert str(raised.value) == fault


def test_a_default_stands_for_a_key_that_is_left_out():
    assert entry_with().number("scale", 1.0) == 1.0
    assert entry_with(scale=2).number("scale", 1.0) == 2.0


def test_every_study_reads_its_entries():
    every = [registry.find(name).published() for name in registry.names()]
    assert sum(map(len, every)) == 363


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (Estimate(100.0, 1.0, math.inf), "met"),  # 98.04 to 101.96, within 97 to 103
        (Estimate(100.0, 2.0, math.inf), "undecided"),  # 96.08 to 103.92
        (Estimate(106.0, 1.0, math.inf), "missed"),  # 104.04 to 107.96
        (Estimate(106.0, 2.0, math.inf), "undecided"),  # 102.08 to 109.92
        (Estimate(102.0, math.nan, math.nan), "met"),  # without an interval the value decides
        (Estimate(104.0, math.nan, math.nan), "missed"),
    ],
)
def test_a_number_is_undecided_where_its_interval_is_on_both_sides_of_a_limit(ours, verdict):
    entry = msgspec.structs.replace(entry_with(), published=100.0, cause="the cable")
    found = judge(entry, Finding(ours))
    assert (found.verdict, found.band) == (verdict, (97.0, 103.0))
    assert ("likeliest cause: the cable" in found.note) is (verdict == "missed")
    assert ("both sides of a limit" in found.note) is (verdict == "undecided")


def test_an_undecided_statement_is_named_with_its_rule_and_its_finding():
    entry = msgspec.structs.replace(
        entry_with(), what="Two is best", measure="holds when the lead is above zero", published=2
    )
    found = judge(entry, Finding(exact(2), "undecided", "the lead is 3 ± 4"))
    table, text = claims([found])
    assert table.rows == [["made-up", "2", "", "2", "predicted", "undecided"]]
    assert text == Text(
        "made-up is undecided: Two is best; compared: holds when the lead is above zero; found:"
        " the lead is 3 ± 4; undecided: an interval reaches both sides of its limit"
    )
