"""Malformed assumptions of theories: each fault is found, named by its key, and says what was
allowed.
"""

from pathlib import Path

import pytest
from ethermeter.experiment import load
from ethermeter.plan import expand
from faults_at import expect_fault, faults_of
from files import HEAD, SEGMENT, VALID, traffic

POISSON = traffic("arrivals = { poisson_load = 0.3 }")
ASKED = '[run]\nengines = ["theory"]\n'

MALFORMED = {
    "engines twice": (
        '[run]\nengines = ["theory", "theory"]\n',
        "run.engines",
        "each of them once",
    ),
    "six engines": (
        '[run]\nengines = ["theory", "simulation", "idealised", "ablation", "live", "theory"]\n',
        "run.engines",
        "at most 5",
    ),
    "theory a text": ('theory = "lam-1980"\n', "theory", "expected a table"),
    "unknown key": (
        "[theory]\nmodel = 1\n",
        "theory.model",
        "unknown key; did you mean models? Allowed: models",
    ),
    "unknown model": ('[theory]\nmodels = ["lam-1979"]\n', "theory.models.0", '"lam-1980"'),
    "no model": ("[theory]\nmodels = []\n", "theory.models", "at least 1"),
    "model twice": (
        '[theory]\nmodels = ["lam-1980", "lam-1980"]\n',
        "theory.models",
        "each of them once",
    ),
    "models a text": ('[theory]\nmodels = "lam-1980"\n', "theory.models", "expected a list"),
    "contention slot a number": (
        "[theory]\ncontention_slot = 12\n",
        "theory.contention_slot",
        '"round trip", "slot time", or a time',
    ),
    "contention slot unknown": (
        '[theory]\ncontention_slot = "long"\n',
        "theory.contention_slot",
        '"round trip", "slot time", or a time',
    ),
    "contention slot zero": (
        '[theory]\ncontention_slot = "0 us"\n',
        "theory.contention_slot",
        "above zero",
    ),
    "contention slot in bit": (
        '[theory]\ncontention_slot = "512 bit"\n',
        "theory.contention_slot",
        "time",
    ),
    "sensing interval without unit": (
        "[theory]\nsensing_interval = 4\n",
        "theory.sensing_interval",
        "time",
    ),
    "sensing interval zero": (
        '[theory]\nsensing_interval = "0 s"\n',
        "theory.sensing_interval",
        "above zero",
    ),
    "sensing interval negative": (
        '[theory]\nsensing_interval = "-1 ms"\n',
        "theory.sensing_interval",
        "negative",
    ),
    "collision zero": ('[theory]\ncollision = "0 s"\n', "theory.collision", "above zero"),
    "persistence zero": ("[theory]\npersistence = 0\n", "theory.persistence", "above 0"),
    "persistence above one": (
        "[theory]\npersistence = 1.01\n",
        "theory.persistence",
        "above 0 to 1",
    ),
    "persistence NaN": ("[theory]\npersistence = nan\n", "theory.persistence", "above 0 to 1"),
    "persistence a text": (
        '[theory]\npersistence = "often"\n',
        "theory.persistence",
        "above 0 to 1",
    ),
    "station latency zero": (
        '[theory]\nstation_latency = "0 s"\n',
        "theory.station_latency",
        "above zero",
    ),
    "models varied": (
        '[vary]\n"theory.models" = [["lam-1980"]]\n',
        'vary."theory.models"',
        "all models in one list",
    ),
    "persistence varied beyond": (
        '[vary]\n"theory.persistence" = [0.1, 2]\n',
        'vary."theory.persistence".1',
        "above 0 to 1",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_names_its_fault(tmp_path, name):
    text, key, allowed = MALFORMED[name]
    # A bare key stands before the first table.
    whole = HEAD + text + VALID.removeprefix(HEAD) if text.startswith("theory =") else VALID + text
    expect_fault(tmp_path, whole, key=key, allowed=allowed)


def planned(folder: Path, text: str) -> object:
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    return expand([load(path)])


@pytest.mark.parametrize("engine", ["theory", "idealised", "ablation"])
def test_an_engine_to_which_no_model_applies_says_why_for_each(tmp_path, engine):
    text = traffic('arrivals = { regular = "1 ms" }') + f'[run]\nengines = ["{engine}"]\n'
    (fault,) = faults_of(lambda: planned(tmp_path, text))
    assert (fault.key, fault.value) == ("run.engines", engine)
    assert "needs Poisson arrivals; they are regular (8 models)" in fault.allowed
    assert "needs stations that are saturated; arrivals are regular (1 model)" in fault.allowed


def test_a_model_that_applies_nowhere_says_why(tmp_path):
    text = POISSON + ASKED + '[theory]\nmodels = ["lam-1980", "metcalfe-boggs-1976"]\n'
    (fault,) = faults_of(lambda: planned(tmp_path, text))
    assert (fault.key, fault.value) == ("theory.models", "metcalfe-boggs-1976")
    assert "needs stations that are saturated; arrivals are poisson" in fault.allowed


def test_a_model_that_applies_only_somewhere_answers_there(tmp_path):
    text = (
        POISSON
        + ASKED
        + (
            '[theory]\nmodels = ["tasaka-1986"]\nsensing_interval = "1 ms"\n[vary]\n'
            '"stations.queue" = ["unlimited", 1, 4]\n'
        )
    )
    plan = planned(tmp_path, text)
    assert [trial.point["stations.queue"] for trial in plan.trials] == ["1", "4"]


def test_a_segment_without_any_distance_is_refused_by_models_that_need_it(tmp_path):
    text = (
        POISSON.replace(SEGMENT, '[segment]\nstandard = "ieee-10"\ndelays = [["0 us"]]\n') + ASKED
    )
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    engines = {trial.engine for trial in expand([load(path)]).trials}
    assert engines == {"theory/almes-lazowska-1979", "theory/bux-1981-token-ring"}
