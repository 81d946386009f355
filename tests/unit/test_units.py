"""Exact numbers from text with a unit."""

from fractions import Fraction

import pytest
from ethermeter import units
from ethermeter.units import UnitError
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "ps"),
    [
        ("12 us", 12_000_000),
        ("12us", 12_000_000),
        ("1.5 ms", 1_500_000_000),
        ("0 s", 0),
        ("1 ps", 1),
        ("0.001 ns", 1),
        ("9.6 µs", 9_600_000),
        ("9.6 μs", 9_600_000),
        ("1e-12 s", 1),
        ("1000 s", 10**15),
        (" 3  s ", 3 * 10**12),
        ("0.1 s", 10**11),
        ("0.3 s", 3 * 10**11),
    ],
)
def test_times_are_exact_picoseconds(text, ps):
    assert units.time_ps(text) == ps


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("64 B", 512),
        ("512 bit", 512),
        ("1.5 kB", 12_000),
        ("1 kbit", 1000),
        ("0.125 B", 1),
        ("1518 B", 12_144),
    ],
)
def test_sizes_are_whole_bits(text, bits):
    assert units.size_bits(text) == bits


def test_three_thousand_feet_are_914_4_metres():
    assert units.length_m("3000 ft") == Fraction(9144, 10)
    assert units.length_m("0.91 km") == 910


@pytest.mark.parametrize(
    ("text", "ps"),
    [
        ("10 Mb/s", 100_000),
        ("100 Mb/s", 10_000),
        ("10 Mbit/s", 100_000),
        ("1 Gb/s", 1000),
        ("1 kb/s", 10**9),
    ],
)
def test_rates_are_whole_picoseconds_a_bit(text, ps):
    assert units.bit_ps(text) == ps


def test_a_frequency_is_the_time_between_events():
    assert units.interval_ps("100 /s") == 10**10
    assert units.interval_ps("3 /s") == Fraction(10**12, 3)
    assert units.interval_ps("60 /min") == 10**12


@pytest.mark.parametrize(
    ("text", "ppb"),
    [("50 ppm", 50_000), ("0 ppm", 0), ("1.5 ppm", 1500), ("7 ppb", 7), ("10000 ppm", 10**7)],
)
def test_an_error_of_a_clock_is_whole_parts_of_a_billion(text, ppb):
    assert units.clock_error_ppb(text) == ppb


@pytest.mark.parametrize(
    ("read", "value", "word"),
    [
        (units.time_ps, "12", "the unit is missing"),
        (units.time_ps, 12, "the unit is missing"),
        (units.time_ps, 1.5, "the unit is missing"),
        (units.time_ps, True, "a time such as"),
        (units.time_ps, None, "a time such as"),
        (units.time_ps, [], "a time such as"),
        (units.time_ps, "", "a time such as"),
        (units.time_ps, "s", "a time such as"),
        (units.time_ps, "12 parsec", "unknown unit parsec; known are ps, ns, us, ms, s"),
        (units.time_ps, "12 m", "not a length"),
        (units.time_ps, "12 B", "not a size"),
        (units.time_ps, "-1 us", "must not be negative"),
        (units.time_ps, "nan s", "a time such as"),
        (units.time_ps, "inf s", "a time such as"),
        (units.time_ps, "0.1 ps", "whole number of picoseconds"),
        (units.time_ps, "1001 s", "at most 1000 s"),
        (units.time_ps, "1e30 s", "at most 1000 s"),
        (units.time_ps, "1e999999999 s", "exponents"),
        (units.time_ps, "1 e3 s", "a time such as"),
        (units.time_ps, "1_000 s", "a time such as"),
        (units.time_ps, "1,5 s", "a time such as"),
        (units.time_ps, "١ s", "a time such as"),
        (units.time_ps, "9" * 60 + " s", "a time such as"),
        (units.size_bits, "0.3 bit", "whole number of bits"),
        (units.size_bits, "2 GB", "at most"),
        (units.bit_ps, "70 Gb/s", "the nearest is 71.4285714 Gb/s or 66.6666667 Gb/s"),
        (units.bit_ps, "0 b/s", "above zero"),
        (units.bit_ps, "999 b/s", "at least 1 kb/s"),
        (units.bit_ps, "500 b/s", "at least 1 kb/s"),
        (units.bit_ps, "10 MB/s", "unknown unit"),
        (units.length_m, "101 km", "at most 100 km"),
        (units.interval_ps, "0 /s", "above zero"),
        (units.interval_ps, "1e20 /s", "1e9 /s"),
        (units.rate_bps, "0 b/s", "above zero"),
        (units.clock_error_ppb, 50, "the unit is missing"),
        (units.clock_error_ppb, "50 us", "an error of a clock"),
        (units.clock_error_ppb, "0.1 ppb", "whole number of ppb"),
        (units.clock_error_ppb, "10001 ppm", "at most 10000 ppm"),
    ],
)
def test_what_is_no_such_quantity_is_refused_with_what_was_expected(read, value, word):
    with pytest.raises(UnitError) as caught:
        read(value)
    assert word in str(caught.value)


def test_zero_is_refused_where_it_makes_no_sense():
    with pytest.raises(UnitError, match="above zero"):
        units.time_ps("0 s", positive=True)
    with pytest.raises(UnitError, match="above zero"):
        units.size_bits("0 B", positive=True)


@given(st.integers(min_value=0, max_value=10**15))
def test_every_time_reads_back_from_its_decimal_text(ps):
    text = units.decimal_text(Fraction(ps, 10**6))
    assert units.time_ps(f"{text} us") == ps
    assert "e" not in text


@given(st.text(max_size=60))
def test_any_text_is_a_time_or_a_unit_error(text):
    try:
        assert 0 <= units.time_ps(text) <= units.LONGEST_PS
    except UnitError as error:
        assert str(error)  # noqa: PT017


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_exact_gives_the_decimal_that_was_written(value, whole):
    assert float(units.exact(value)) == value
    assert units.exact(whole) == whole
    assert units.exact(0.1) == Fraction(1, 10)


def test_a_third_has_no_decimal_text():
    with pytest.raises(ValueError, match="no finite decimal"):
        units.decimal_text(Fraction(1, 3))


def test_a_rate_may_be_said_by_the_time_of_an_octet():
    assert units.octet_ps("800 ns/B") == units.octet_ps("10 Mb/s") == 800_000
    assert units.octet_ps(" 158416 ps/B ") == 158_416
    for wrong in ("0 ns/B", "2 ms/B", "0.5 ps/B", "8 kb/B", "12 miles/B", "10 Mb/s/B"):
        with pytest.raises(UnitError):
            units.octet_ps(wrong)


@pytest.mark.parametrize(
    ("rate", "octet_ps"),
    [
        ("3 Mb/s", 2_666_667),
        ("6 Mb/s", 1_333_333),
        ("7 Mb/s", 1_142_857),
        ("30 Mb/s", 266_667),
        ("45 Mb/s", 177_778),
        ("60 Mb/s", 133_333),
        ("155.52 Mb/s", 51_440),
        ("300 Mb/s", 26_667),
        ("1.544 Mb/s", 5_181_347),
        ("56 kb/s", 142_857_143),
    ],
)
def test_an_octet_of_an_ordinary_rate_lasts_the_nearest_picosecond(rate, octet_ps):
    assert units.octet_ps(rate) == octet_ps
