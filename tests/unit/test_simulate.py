"""Results in memory: the same as those of a run directory, and what is asked of them."""

import json
import math

import ethermeter as em
import jsonschema
import numpy as np
import pytest
from ethermeter.analysis.schemas import FILES, schema_of
from ethermeter.swept import Swept
from ethermeter.trial import SIMULATION

NETWORK = em.network(
    title="Two flows through a switch",
    series="switch",
    rate="100 Mb/s",
    hosts=["a", "b", "sink"],
    switches=[em.switch("s", queue=4)],
    links=[("a", "s"), ("b", "s"), em.link("s", "sink", rate="10 Mb/s")],
    flows=[
        em.flow("control", "a", "sink", data="100 B", arrivals={"regular": "1 ms"}),
        em.flow("load", "b", "sink", frames="512 B", arrivals={"regular": "800 us"}),
    ],
    vary={"flows.load.frames": ["512 B", "700 B"]},
    phases={"transmit": "60 ms", "measure": "last 50 ms", "drain": "10 ms"},
    run={"engines": ["theory", "simulation"], "replications": 3},
)
KEY = "flows.load.frames"


@pytest.fixture(scope="module")
def results() -> em.Run:
    return em.simulate(NETWORK, jobs=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> em.Run:
    return em.load(NETWORK).run(out=tmp_path_factory.mktemp("simulate") / "run", jobs=1)


def test_what_is_simulated_in_memory_is_what_a_run_keeps(results, run):
    assert [trial.id for trial in results.trials()] == [trial.id for trial in run.trials()]
    for by in ("point", "trial", "entity"):
        one, other = (of.frame(by=by, library="arrow").to_pylist() for of in (results, run))
        assert str(one) == str(other), "of NaN, too"
    for one, other in ((results.ports(), run.ports()), (results.histograms(), run.histograms())):
        assert set(one.columns) == set(other.columns)
        for name in one.columns:
            if one[name].dtype.kind in "if":
                assert np.array_equal(one[name], other[name].astype(float), equal_nan=True), name
            else:
                assert one[name].tolist() == other[name].tolist()
    assert repr(results) == "Run(in memory: 10 trials)"


def test_bounds_and_agreement_need_no_directory(results, run):
    assert str(results.bounds()) == str(run.bounds())
    assert len(results.bounds().times) == 4
    assert all(math.isfinite(time.bound_s) for time in results.bounds().times)
    assert str(results.agreement()) == str(run.agreement())
    with pytest.raises(em.RunError, match="no directory"):
        results.plot("goodput")


def test_a_point_has_the_values_of_its_replications_by_flow(results):
    assert results.along("switch", KEY) == ["512 B", "700 B"]
    assert [of.number for of in results.along("switch", KEY)] == [512, 700]
    point = results.at("switch", {KEY: "512 B"})
    assert point.entities == ["control", "load"]
    assert point.replications == 3
    # A message every 800 us; one more or less at the edges of the window.
    assert point.values("message_rate", "load") == pytest.approx([1250] * 3, abs=20)
    both = point.values("message_rate", "control") + point.values("message_rate", "load")
    assert point.values("message_rate") == pytest.approx(both, rel=1e-12)
    assert point.estimate("message_rate").value == pytest.approx(point.value("message_rate"))
    assert [of.engine for of in results.points(engine="theory/network-calculus")] == [
        "theory/network-calculus"
    ] * 2
    assert point.engine == SIMULATION


def test_metrics_that_results_cannot_have_are_answered_with_those_there_are(results):
    with pytest.raises(em.InputError, match=r"metric = utilisation: one of .*goodput"):
        results.frame("utilisation")
    with pytest.raises(em.InputError, match="did you mean goodput"):
        results.frame("godput", by="entity")
    with pytest.raises(em.InputError, match="engines = live"):
        em.simulate(NETWORK.changed({"run.engines": ["live"]}))


def test_a_swept_value_is_its_text_and_its_quantity():
    value = Swept("10 Mb/s")
    assert value == "10 Mb/s"
    assert (value.number, value.unit) == (10e6, "b/s")
    assert math.isnan(Swept("saturated").number)
    assert Swept("saturated").unit == ""


def test_files_of_a_run_are_what_their_schema_says(run, tmp_path):
    estimates = json.loads((run.path / "estimates.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema_of("estimates")).validate(estimates)
    for name in FILES:
        jsonschema.Draft202012Validator.check_schema(schema_of(name))
    del estimates["points"][0]["engine"]
    with pytest.raises(jsonschema.ValidationError, match="'engine' is a required property"):
        jsonschema.Draft202012Validator(schema_of("estimates")).validate(estimates)
