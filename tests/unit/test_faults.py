"""Faults are one printable line whatever the input held."""

from ethermeter.faults import LONGEST_VALUE, MOST_LISTED, Fault, InputError, shown
from hypothesis import given
from hypothesis import strategies as st

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_a_fault_names_file_key_value_and_what_was_allowed():
    assert (
        str(Fault("a.toml", "run.batches", "1", "expected at least 2"))
        == "a.toml: run.batches = 1: expected at least 2"
    )


def test_line_breaks_and_controls_are_written_as_escapes():
    fault = Fault("a\n.toml", "k\x1b[31m", "v\r\n\u2028", "no\ttabs")
    assert str(fault) == r"a\n.toml: k\x1b[31m = v\r\n\u2028: no\ttabs"


def test_long_values_are_cut():
    fault = Fault("f", "k", "x" * 10**6, "short")
    assert len(fault.value) == LONGEST_VALUE
    assert fault.value.endswith("…")


def test_integers_that_python_will_not_write_are_described():
    assert shown(1 << 40_000) == "an integer of about 12000 digits"


@given(st.text(), st.text(), anything, st.text())
def test_any_fault_is_one_line(file, key, value, allowed):
    fault = Fault(file, key, shown(value), allowed)
    assert str(fault).isprintable()
    assert len(fault.value) <= LONGEST_VALUE


def test_an_input_error_lists_its_faults_one_a_line():
    error = InputError([Fault("f", "a", "1", "x"), Fault("f", "b", "2", "y")])
    assert str(error).splitlines() == ["f: a = 1: x", "f: b = 2: y"]
    assert len(error.faults) == 2


def test_of_very_many_faults_of_a_file_some_are_listed_and_the_others_counted():
    many = [Fault("many", f"k{at}", "1", "unknown key") for at in range(300_000)]
    said = str(InputError([*many, Fault("few", "a", "1", "x")])).splitlines()
    assert said == [*map(str, many[:MOST_LISTED]), "few: a = 1: x", "many: 299950 more faults"]
