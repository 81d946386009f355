"""Functions in Python as backoff and source: against built-in ones, and refused elsewhere."""

import functools
import json
import math
import re
import runpy
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from ethermeter import functions
from ethermeter.engines.answer import answer
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.results.query import Results
from ethermeter.store.columns import STATIONS
from shared_experiments import BUS

MEAN_S = 0.002


def standard(collisions, draws):
    """Truncated binary exponential backoff (802.3-2022 § 4.2.3.2.5)."""
    return draws.below(2 ** min(collisions, 10))


def poisson(draws):
    while True:
        yield draws.exponential(MEAN_S)


def poisson_of_one_length(draws):
    while True:
        yield draws.exponential(MEAN_S), 500


def poisson_by_logarithm(draws):
    while True:
        yield -math.log(draws.unit()) * MEAN_S


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Nothing is registered before a test or after it."""
    monkeypatch.setattr(functions, "_registered", {})


def experiment(*, length="1500 m", vary=None, engines=("simulation",), **stations):
    group = {"count": 5, "frames": "64 B x 3 + 1518 B x 1", "arrivals": "saturated"} | stations
    return em.load(
        em.segment(
            "ieee-10",
            length=length,
            stations=em.stations(**group),
            phases={"transmit": "600 ms", "measure": "last 500 ms"},
            run={"engines": list(engines)},
            vary=vary,
        )
    )


def rows_of(loaded, *, number=0):
    return answer(loaded.plan(replications=1).trials[number].line)


def values_of(loaded):
    trial = loaded.plan(replications=1).trials[0]
    results = Results.of_trial(trial, answer(trial.line))
    return {metric: results.all(metric) for metric in results.metrics}


def assert_equal_counts(found, expected, *, but=()):
    assert found.tables.keys() == expected.tables.keys()
    for name, table in found.tables.items():
        for column in table.keys() - set(but):
            one, other = table[column], expected.tables[name][column]
            np.testing.assert_array_equal(one, other, err_msg=f"{name}.{column}")
    assert found.events == expected.events


# The same rule and the same draws give the same counts.


@pytest.mark.parametrize("length", ["10 m", "2500 m"])
def test_the_standards_backoff_in_python_gives_the_counts_of_the_built_in_one(length):
    em.register_backoff("standard", standard)
    built_in, own = (
        rows_of(experiment(length=length, backoff=backoff))
        for backoff in ("exponential", {"python": "standard"})
    )
    assert built_in.implementation == "fast"
    assert own.implementation == "reference"
    assert own.events > 1000
    assert_equal_counts(own, built_in)


def test_another_backoff_gives_other_counts():
    em.register_backoff("eager", lambda collisions, draws: draws.below(2))
    built_in, own = (rows_of(experiment(backoff=b)) for b in ("exponential", {"python": "eager"}))
    one, other = (of.tables[STATIONS]["frames"] for of in (own, built_in))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("queue", ["unlimited", 3])
@pytest.mark.parametrize("source", [poisson, poisson_of_one_length])
def test_a_poisson_source_in_python_gives_the_counts_of_the_built_in_one(source, queue):
    em.register_source("own", source)
    frames = "500 B" if source is poisson_of_one_length else "64 B x 3 + 1518 B x 1"
    common = {"frames": frames, "queue": queue, "count": 8}
    built_in, own = (
        experiment(arrivals=arrivals, **common)
        for arrivals in ({"poisson": f"{1 / MEAN_S:g} /s"}, {"python": "own"})
    )
    # What is offered is known of the one and counted of the other.
    assert_equal_counts(rows_of(own), rows_of(built_in), but=["offered_load"])


def test_the_offered_load_of_a_source_in_python_is_what_it_offered():
    em.register_source("own", poisson_of_one_length)
    values = values_of(experiment(arrivals={"python": "own"}, frames="500 B", count=1))
    charged_s = (64 + 4000 + 96) * 1e-7
    window_s = 0.5
    # A station alone has one frame at most on its way at each end of the window.
    sent = values[Metric.FRAMES] * charged_s / window_s
    assert abs(values[Metric.OFFERED_LOAD_G] - sent) <= 2 * charged_s / window_s
    assert sent > 0.1


def test_a_source_of_its_own_logarithm_has_the_rate_of_its_mean():
    em.register_source("own", poisson_by_logarithm)
    values = values_of(experiment(arrivals={"python": "own"}, count=5, frames="64 B"))
    expected = 5 * 0.5 / MEAN_S
    # Five standard deviations of a Poisson count, and a frame of each station at each end.
    assert abs(values[Metric.FRAMES] - expected) < 5 * math.sqrt(expected) + 10


def test_each_station_has_an_instance_of_a_class_and_equal_trials_equal_counts():
    class Counting:
        made = 0

        def __init__(self):
            Counting.made += 1
            self.calls = 0

        def __call__(self, collisions, draws):
            self.calls += 1
            return draws.below(1 + min(self.calls, 64))

    em.register_backoff("counting", Counting)
    first, second = (rows_of(experiment(backoff={"python": "counting"})) for _ in range(2))
    assert Counting.made == 10
    assert_equal_counts(first, second)


def test_a_fraction_of_a_slot_is_a_time_and_a_generator_may_end():
    em.register_backoff("half", lambda collisions, draws: 0.5 + draws.below(1000))

    def three(draws):
        yield 0.2, 64
        yield 0.0, 1518
        yield 0.001, 100

    em.register_source("three", three)
    values = values_of(
        experiment(backoff={"python": "half"}, arrivals={"python": "three"}, count=1)
    )
    assert values[Metric.FRAMES] == 3
    assert values[Metric.BIT_RATE] == pytest.approx(((64 + 1518 + 100) * 8 + 3 * 160) / 0.5)


@pytest.mark.usefixtures("_elsewhere")
def test_the_example_of_the_how_to_runs(capsys):
    page = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-backoff.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    script = Path("example.py")
    script.write_text(block, encoding="utf-8")
    runpy.run_path(str(script))
    frame = em.open("runs/backoff").frame("utilisation", "collisions_per_frame")
    values = frame.pivot_table(index="stations.backoff", columns="metric", values="value")
    built_in, own, patient = (
        values[values.index.str.contains(name)].iloc[0]
        for name in ("exponential", "standard", "patient")
    )
    assert patient["collisions_per_frame"] < own["collisions_per_frame"]
    # Two points have two seeds, so that their counts agree within chance only.
    assert own["utilisation"] == pytest.approx(built_in["utilisation"], rel=0.1)
    load, utilisation = (
        em.open("runs/pairs").frame(metric)["value"].item()
        for metric in ("offered_load_g", "utilisation")
    )
    assert 0.5 < utilisation < load < 1
    assert "offered_load_g" in capsys.readouterr().out


# What a function does wrong is named, and nothing else is lost.


def failure(**stations):
    with pytest.raises(em.TrialError) as caught:
        experiment(**stations).run(out=None)
    return str(caught.value), caught.value


@pytest.fixture
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_elsewhere")
def test_an_exception_names_function_station_and_call():
    def broken(collisions, draws):
        return 1 // (collisions - 1)

    em.register_backoff("broken", broken)
    text, error = failure(backoff={"python": "broken"})
    assert 'backoff "broken" at station ' in text
    assert "call 1: ZeroDivisionError" in text
    assert f"({__file__}, line " in text
    assert isinstance(error.__cause__.__cause__, ZeroDivisionError)

    def brittle(draws):
        yield 0.001
        raise KeyError("x")

    em.register_source("brittle", brittle)
    text, _ = failure(arrivals={"python": "brittle"})
    assert "source \"brittle\" at station 0, call 2: KeyError: 'x'" in text


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("value", [-1, 2**30 + 1, math.nan, math.inf, True, None, "3", "1e400"])
def test_slots_out_of_range_are_refused_with_the_range(value):
    em.register_backoff("wrong", lambda collisions, draws: 10**400 if value == "1e400" else value)
    text, _ = failure(backoff={"python": "wrong"})
    assert "call 1: returned " in text
    assert "expected slots from 0 to 1073741824" in text


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    ("frame", "allowed"),
    [
        (-0.1, "wait_s from 0 to 1000"),
        (1001, "wait_s from 0 to 1000"),
        ((0.1, 64, 3), "(wait_s, octets) or wait_s"),
        (None, "(wait_s, octets) or wait_s"),
        ((0.1, 63), "octets from 64 to 1518"),
        ((0.1, 1519), "octets from 64 to 1518"),
        ((0.1, 64.5), "octets from 64 to 1518"),
    ],
)
def test_frames_out_of_range_are_refused_with_the_range(frame, allowed):
    def wrong(draws):
        yield frame

    em.register_source("wrong", wrong)
    text, _ = failure(arrivals={"python": "wrong"})
    assert 'source "wrong" at station 0, call 1: yielded ' in text
    assert allowed in text


@pytest.mark.usefixtures("_elsewhere")
def test_a_source_whose_time_stands_still_is_refused(monkeypatch):
    monkeypatch.setattr(functions, "MOST_AT_ONCE", 1000)

    def still(draws):
        while True:
            yield 0

    em.register_source("still", still)
    text, _ = failure(arrivals={"python": "still"})
    assert "at most 1000 frames at one instant" in text


@pytest.mark.usefixtures("_elsewhere")
def test_a_call_without_a_generator_or_with_a_wrong_bound_is_an_error_of_the_function():
    em.register_source("number", lambda draws: 3)
    assert "its begin: TypeError" in failure(arrivals={"python": "number"})[0]
    em.register_backoff("bound", lambda collisions, draws: draws.below(0))
    text = failure(backoff={"python": "bound"})[0]
    assert "bound must be an integer from 1 to 2**64 - 1, got 0" in text
    em.register_source("mean", lambda draws: iter([draws.exponential(-1)]))
    assert "mean_s must be from 1e-12 to 1000" in failure(arrivals={"python": "mean"})[0]


@pytest.mark.usefixtures("_elsewhere")
def test_trials_that_are_finished_are_kept_when_another_fails():
    def five(collisions, draws):
        if collisions == 5:
            raise RuntimeError("five")
        return draws.below(2**collisions)

    em.register_backoff("five", five)
    loaded = experiment(backoff={"python": "five"}, vary={"stations.count": [1, 20]})
    with pytest.raises(em.TrialError, match="five"):
        loaded.run(out="run", jobs=1)
    assert list(Path("run/parts").glob("*.parquet"))


# Names, and where no function can be called.


def refused(**given):
    with pytest.raises(InputError) as caught:
        experiment(**given)
    return str(caught.value)


def test_a_name_that_is_not_registered_is_refused_with_the_nearest():
    assert refused(backoff={"python": "standard"}).endswith(
        'stations.0.backoff.python = "standard": expected the name of a function that this process'
        " has registered (register_backoff): none"
    )
    em.register_backoff("standard", standard)
    text = refused(backoff={"python": "standrad"})
    assert "did you mean standard?" in text
    assert "register_source): none" in refused(arrivals={"python": "standard"})


@pytest.mark.parametrize("engine", ["theory", "idealised", "ablation", "live"])
def test_other_engines_refuse_functions(engine):
    em.register_backoff("standard", standard)
    em.register_source("own", poisson)
    text = refused(
        backoff={"python": "standard"}, arrivals={"python": "own"}, engines=["simulation", engine]
    )
    for key in ("backoff", "arrivals"):
        assert f"stations.0.{key}.python" in text
    assert f'run.engines = ["simulation"] only, not with {engine}' in text


def test_theories_of_a_simulated_file_do_not_apply():
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import judge_all

    em.register_backoff("standard", standard)
    point = experiment(backoff={"python": "standard"}).experiments[0].scenarios.point(())
    for verdict in judge_all(model_inputs(point.scenario(), point.theory)):
        assert verdict.obstacles[0].startswith("needs built-in backoff and arrivals")


def test_a_bus_and_a_network_refuse_functions():
    em.register_source("own", poisson)
    with pytest.raises(InputError, match="another standard than 10BASE-T1S"):
        em.load(BUS.changed({"stations.0.arrivals": {"python": "own"}}))
    with pytest.raises(InputError, match="no generator in Python in a network"):
        em.load("request-response", overrides=['flows.0.arrivals={ python = "own" }'])


def test_a_cluster_is_refused():
    em.register_backoff("standard", standard)
    with pytest.raises(InputError, match=r'expected no cluster: .* backoff "standard"'):
        experiment(backoff={"python": "standard"}).run(jobs="tcp://127.0.0.1:1")


def test_the_core_refuses_a_function_that_nobody_makes():
    from ethermeter import _core
    from ethermeter.trial import core_trial_of

    em.register_backoff("standard", standard)
    line = experiment(backoff={"python": "standard"}).plan().trials[0].line
    with pytest.raises(ValueError, match=r"media\[0\]\.stations\[0\]\.backoff: must not be"):
        _core.simulate_trial(core_trial_of(line))


def test_what_cannot_be_registered_is_refused():
    for name, function, allowed in (
        ("1x", standard, "expected a letter"),
        ("x", 3, "expected a function, or a class, called as"),
        ("x", poisson, "called as \\(collisions, draws\\): too many"),
        ("x", type("Silent", (), {}), "its instances have no __call__"),
        ("x", functools.partial(standard), "whose source Python can read"),
    ):
        with pytest.raises(InputError, match=allowed):
            em.register_backoff(name, function)
    with pytest.raises(InputError, match="missing a required argument"):
        em.register_source("x", standard)
    assert functions._registered == {}


# A run records its functions.


@pytest.mark.usefixtures("_elsewhere")
def test_a_run_records_the_source_and_is_continued_with_no_other():
    em.register_backoff("own", standard)
    run = experiment(backoff={"python": "own"}).run(out="run")
    recorded = run.directory.provenance()["functions"]
    (backoff,) = recorded
    assert (backoff["kind"], backoff["name"], len(backoff["sha256"])) == ("backoff", "own", 64)
    assert backoff["sha256"] in run.trials()[0].line
    assert em.open("run").frame("utilisation").shape[0] == 1

    em.register_backoff("own", lambda collisions, draws: collisions)
    with pytest.raises(InputError, match='backoff "own" has another source, SHA-256') as caught:
        experiment(backoff={"python": "own"}).run(out="run")
    assert str(caught.value).endswith("or force")
    functions._registered.clear()
    with pytest.raises(InputError, match='backoff "own" is not registered in this process'):
        experiment().run(out="run")
    # What was found stays readable.
    assert em.open("run").frame("utilisation").shape[0] == 1


def test_a_plan_of_another_source_is_another_plan():
    em.register_backoff("own", standard)
    before = experiment(backoff={"python": "own"}).plan()
    em.register_backoff("own", lambda collisions, draws: collisions)
    assert experiment(backoff={"python": "own"}).plan().hash != before.hash
    with pytest.raises(functions.FunctionError, match="has another source"):
        answer(before.trials[0].line)


ENDLESS = """
import sys, ethermeter as em
def endless(collisions, draws):
    print("called", flush=True)
    while True:
        pass
em.register_backoff("endless", endless)
talkers = em.stations(count=5, frames="64 B", arrivals="saturated", backoff={"python": "endless"})
em.load(em.segment("ieee-10", length="100 m", stations=talkers)).run(out=sys.argv[1])
"""


def test_control_c_ends_a_function_that_does_not_end(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(textwrap.dedent(ENDLESS), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "called\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert errors.rstrip().endswith("KeyboardInterrupt\nfinished trials are kept")
    assert process.returncode in (-signal.SIGINT, 130), errors
    assert json.loads((tmp_path / "run" / "provenance.json").read_text())["functions"]
