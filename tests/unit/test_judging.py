import pytest
from entries import entry_with
from ethermeter.faults import InputError
from ethermeter.studies import registry


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
    assert sum(map(len, every)) == 308
