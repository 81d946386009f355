"""Every shipped experiment of simulation and theory gives the values that are recorded of it, and
every study the claims.

An intended change of values is recorded by `scripts/record-values --write`; a rename needs one line
in tests/golden/renamed.toml.
"""

import pytest
import recorded_values

RENAMED = recorded_values.read_renamed()
RECORDED = {RENAMED.experiments.get(name, name): name for name in recorded_values.recorded_names()}


def test_every_experiment_is_recorded_and_nothing_else():
    assert sorted(RECORDED) == sorted(recorded_values.names())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_values_are_as_recorded(name):
    recorded = recorded_values.read(RECORDED[name], RENAMED)
    found = recorded_values.compute(name)
    different = list(recorded_values.differences(recorded, found))
    assert not different, f"{name}: {len(different)} values differ:\n" + "\n".join(different[:40])


STUDIES = {RENAMED.studies.get(name, name): name for name in recorded_values.recorded_studies()}


@pytest.mark.long
@pytest.mark.parametrize("study", recorded_values.studies())
def test_claims_are_as_recorded(study):
    recorded = recorded_values.read_claims(STUDIES[study], RENAMED)
    found = recorded_values.judge(study)
    different = list(recorded_values.differing_claims(recorded, found))
    assert not different, f"{study}:\n" + "\n".join(different)
