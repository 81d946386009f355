"""Assumptions that a plain run does not meet, named where theory and simulation differ."""

import json
from pathlib import Path

import ethermeter as em
from ethermeter.theory import queueing
from program import invoke


def network(arrivals: dict[str, object], *, data: str = "1000 B") -> dict[str, object]:
    """Return two hosts at a switch, of which one sends to the other."""
    return {
        "title": "A flow through a switch",
        "series": "switch",
        "network": {
            "rate": "100 Mb/s",
            "hosts": [{"name": "a"}, {"name": "b"}],
            "switches": [{"name": "switch"}],
            "links": [{"ends": ["a", "switch"]}, {"ends": ["switch", "b"]}],
        },
        "flows": [{"name": "load", "from": "a", "to": "b", "data": data, "arrivals": arrivals}],
        "phases": {"transmit": "1 s"},
        "run": {"engines": ["theory", "simulation"], "replications": 3},
    }


def test_what_a_network_does_not_meet_is_named_by_its_flows(tmp_path: Path) -> None:
    (trial, *_) = (
        em.load(network({"regular": "1 ms"}, data="4000 B")).run(out=tmp_path / "a").trials()
    )
    found = queueing.unmet(trial.scenario)
    assert list(found) == ["poisson-arrivals", "one-frame", "independent-queues"]
    assert found["poisson-arrivals"].endswith("here those of load do not")
    # Frames of Poisson arrivals leave the first of two equal wires spaced: they never wait again.
    (trial, *_) = em.load(network({"poisson": "9000 /s"})).run(out=tmp_path / "b").trials()
    assert list(queueing.unmet(trial.scenario)) == ["independent-queues"]


def test_a_plain_run_names_them_and_points_to_the_engines_that_part_them(tmp_path: Path) -> None:
    segment = {
        "title": "Three stations",
        "segment": {"standard": "ieee-10", "length": "100 m"},
        "stations": [{"count": 10, "frames": "64 B", "arrivals": "saturated"}],
        "phases": {"transmit": "1 s"},
        "run": {"engines": ["theory", "simulation"], "replications": 3},
        "theory": {"models": ["metcalfe-boggs-1976"]},
    }
    em.load(segment).run(out=tmp_path / "run")
    told = " ".join(invoke("compare", tmp_path / "run").stdout.split())
    assert "Where they differ, the causes are among what is assumed and does not hold:" in told
    # Stations of ieee-10 do not know how many wait: they back off.
    assert "- known-queue: every station knows how many wait" in told
    assert 'the engines "idealised" and "ablation"' in told
    printed = json.loads(invoke("compare", tmp_path / "run", "--json").stdout)
    assert "known-queue" in [each["assumption"] for each in printed["unmet"]]
