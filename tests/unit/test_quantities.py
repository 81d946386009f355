"""Quantities as text, by hand: prefix, unit, and interval, rounded by the interval."""

import math

import pytest
from ethermeter.metrics import Label, Metric
from ethermeter.quantities import (
    Scale,
    column,
    metric_text,
    number,
    places_of,
    quantity,
    suited,
    with_ends,
)
from ethermeter.results.interval import Estimate
from hypothesis import given
from hypothesis import strategies as st

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "unit", "half_width", "text"),
    [
        (82.4381e6, "bit/s", 0.31e6, "82.4 Mb/s ± 0.3"),
        (82.4381e6, "bit/s", 0.24e6, "82.44 Mb/s ± 0.24"),
        (82.4381e6, "bit/s", NAN, "82.44 Mb/s"),
        (1.5e9, "bit/s", NAN, "1.5 Gb/s"),
        (999.97e3, "bit/s", NAN, "1 Mb/s"),
        (512.0, "bit/s", NAN, "512 b/s"),
        (0.0, "bit/s", NAN, "0 b/s"),
        (5.12e-5, "s", NAN, "51.2 µs"),
        (5.12e-5, "s", 9.6e-7, "51.2 µs ± 1.0"),
        (2e-4, "s", 9e-4, "200 µs ± 900"),
        (-1.5e-3, "s", 2e-4, "-1.50 ms ± 0.20"),
        (75.0, "s", NAN, "75 s"),
        (13637.2, "packet/s", 41.0, "13640 packet/s ± 40"),
        (148809.5, "packet/s", NAN, "148810 packet/s"),
        (0.59328, "", 9e-5, "0.59328 ± 0.00009"),
        (6.10351e-12, "", 3.7e-14, "6.1035e-12 ± 3.7e-14"),
        # An interval that five digits do not show is not written.
        (0.593283, "", 1e-6, "0.59328"),
        (400e3, "B", NAN, "400 kB"),
        (NAN, "s", NAN, "–"),
        (None, "s", NAN, "–"),
    ],
)
def test_a_quantity_has_the_prefix_that_suits_it_and_the_digits_of_its_interval(
    value, unit, half_width, text
):
    assert quantity(value, unit, half_width) == text


@pytest.mark.parametrize(
    ("half_width", "places"),
    [(0.3, 1), (0.29, 2), (0.296, 1), (0.1, 2), (0.96, 1), (1.0, 1), (9.6, 0), (41, -1), (230, -1)],
)
def test_an_interval_has_two_digits_if_the_first_is_one_or_two(half_width, places):
    assert places_of(half_width) == places


@given(st.floats(1e-9, 1e9), st.floats(1e-4, 1.0))
def test_a_rounded_value_is_within_a_fourth_of_its_interval(value, ratio):
    half = max(value * ratio, value * 5e-5)
    written = float(number(value, half))
    # Half a unit of the last place: at most 0.5 of 3 where it has one digit.
    assert abs(written - value) <= max(half / 5.8, value * 5.1e-5)


@pytest.mark.parametrize(
    ("ends", "text"),
    [((1.9, 2.1), "2.00 ms ± 0.10"), ((2.0, 2.4), "2.0 ms (2.0 to 2.4)"), ((None, None), "2 ms")],
)
def test_ends_that_are_alike_are_one_half_width(ends, text):
    assert with_ends(2.0, *ends, Scale("ms")) == text


def test_a_column_has_one_unit_if_one_suits_all_its_values():
    values = [Estimate(value, NAN, NAN) for value in (60e-6, 1.6e-3, 0.0)]
    assert column([*values, None], "s") == ("ms", ["0.06", "1.6", "0", "–"])
    apart = [Estimate(value, NAN, NAN) for value in (2e-6, 3.0)]
    assert column(apart, "s") == ("", ["2 µs", "3 s"])


def test_intervals_of_shares_and_amounts_end_where_values_do():
    # t(2) = 4.303: 1.7 ms ± 1.9 ms and 1% ± 2.15%, of which nothing is below zero; 99% ± 2.15%.
    assert metric_text(Metric.ONE_WAY_DELAY, Estimate(1.7e-3, 4.5e-4, 2)) == "1.7 ms (0 to 3.6)"
    assert metric_text(Metric.LOSS, Estimate(0.01, 0.005, 2)) == "1.0 % (0 to 3.2)"
    assert metric_text(Metric.LOSS, Estimate(0.99, 0.005, 2)) == "99.0 % (96.8 to 100.0)"
    # A margin may be below zero, and what is within stays as it is.
    assert metric_text(Metric.DEADLINE_MARGIN, Estimate(1e-3, 4.5e-4, 2)) == "1.0 ms ± 1.9"
    assert metric_text(Metric.LOSS, Estimate(0.5, 0.005, 2)) == "50.0 % ± 2.2"


@pytest.mark.parametrize(
    ("label", "values", "axis"),
    [
        (Metric.ONE_WAY_DELAY.label, [0.065362, 0.002], "One-way delay (ms)"),
        (Metric.ONE_WAY_DELAY.label, [96e-6], "One-way delay (µs)"),
        (Metric.GOODPUT.label, [2.5e9, NAN], "Goodput (Gb/s)"),
        # No prefix suits both, no value says which, and shares have none.
        (Metric.ONE_WAY_DELAY.label, [1e-6, 50.0], "One-way delay (µs)"),
        (Metric.ONE_WAY_DELAY.label, [0.0, NAN], "One-way delay (µs)"),
        (Metric.LOSS.label, [1e-9], "Loss (%)"),
        # Microseconds of a publication are no seconds.
        (Label("Latency", "µs"), [65362.0], "Latency (µs)"),
    ],
)
def test_a_label_has_the_unit_that_suits_its_values(label, values, axis):
    assert suited(label, values).axis == axis


def test_what_is_rounded_to_zero_has_no_sign():
    assert number(-0.3, 41.0) == "0"
