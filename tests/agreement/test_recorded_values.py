"""Every shipped experiment of simulation and theory gives the values that are recorded of it, live
results the rows, and every study the claims.

An intended change of values is recorded by `scripts/record-values --write`; a rename needs one line
in tests/golden/renamed.toml.
"""

import pytest
import recorded_values

RECORDED = recorded_values.read(recorded_values.read_renamed())
SUBJECTS = [*recorded_values.names(), *recorded_values.studies()]


def test_everything_is_recorded_and_nothing_else():
    assert sorted(RECORDED) == sorted(SUBJECTS)


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(name, marks=pytest.mark.long) if name.startswith("claims/") else name
        for name in SUBJECTS
    ],
)
def test_values_are_as_recorded(subject):
    found = recorded_values.compute(subject)
    different = list(recorded_values.differences(RECORDED[subject], found))
    assert not different, f"{subject}: {len(different)} differ:\n" + "\n".join(different[:40])
