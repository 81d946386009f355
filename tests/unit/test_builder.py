"""Experiments made in Python are those of the file."""

import tomllib

import ethermeter as em
import pytest
from ethermeter.experiment import load, shipped


def rebuilt(tables):
    """Build tables anew by the functions of the builder."""
    rest = dict(tables)
    if "segment" in rest:
        segment = rest.pop("segment")
        groups = [em.stations(group.pop("name", None), **group) for group in rest.pop("stations")]
        return em.segment(segment.pop("standard", None), stations=groups, **segment, **rest)
    flows = [
        em.flow(flow.pop("name", None), flow.pop("from"), flow.pop("to"), **flow)
        for flow in rest.pop("flows")
    ]
    made = {"hosts": em.host, "switches": em.switch, "routers": em.router, "hubs": em.hub}
    network = rest.pop("network")
    nodes = {
        kind: [make(node.pop("name"), **node) for node in network.pop(kind, ())]
        for kind, make in made.items()
    }
    links = [em.link(*link.pop("ends"), **link) for link in network.pop("links", ())]
    return em.network(**nodes, links=links, flows=flows, **network, **rest)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_experiment_can_be_built(name):
    text = shipped()[name].read_text(encoding="utf-8")
    built = rebuilt(tomllib.loads(text))
    assert built == tomllib.loads(text) == tomllib.loads(built.text())


def test_a_saved_experiment_is_the_plan_of_its_tables(tmp_path):
    name = "capture-effect"
    built = rebuilt(tomllib.loads(shipped()[name].read_text(encoding="utf-8")))
    expected = em.load(name).plan().trials
    assert em.load(built, name=name, overrides=[f'series="{name}"']).plan().trials == expected
    assert load(built.save(tmp_path / f"{name}.toml")).document == built


def test_names_and_ends_are_short_for_tables():
    link = em.link("a", "b", rate="10 Mb/s")
    short = em.network(hosts=["a", "b"], links=[("a", "b"), link], flows=em.flow("f", "a", "b"))
    assert short["network"] == {
        "hosts": [em.host("a"), em.host("b", count=None)],
        "links": [{"ends": ["a", "b"]}, {"ends": ["a", "b"], "rate": "10 Mb/s"}],
    }
    assert short["flows"] == [{"name": "f", "from": "a", "to": "b"}]


def test_values_are_changed_by_dotted_key_in_a_copy():
    hub = em.segment("ieee-10", stations=em.stations("a", count=2), length="1 m", seed=3)
    changed = hub.changed(
        {"stations.0.name": None, "stations.1": em.stations("b"), "segment.star.arms": 1},
        seed=None,
        colour="red",
    )
    assert changed["stations"] == [{"count": 2}, {"name": "b"}]
    assert changed["segment"]["star"] == {"arms": 1}
    assert (changed["colour"], "seed" in changed) == ("red", False)
    assert hub == em.segment("ieee-10", stations=[em.stations("a", count=2)], length="1 m", seed=3)
