"""What is sent again: what theory and measurements say of it; and a jam of each group."""

import ethermeter as em
import pytest
from ethermeter.theory.bounds import bounds_of
from ethermeter.theory.queueing import means_of


def utilisation(*overrides: str) -> list[float]:
    base = em.segment(
        "dix-10",
        round_trip="12 us",
        clusters=4,
        stations=[
            em.stations(name=name, count=3, frames="64 B", arrivals="saturated")
            for name in ("a", "b")
        ],
        phases={"settle": "0 s", "transmit": "200 ms", "measure": "last 150 ms"},
        run={"replications": 2},
    )
    return em.simulate(base, overrides=list(overrides)).values("utilisation").tolist()


def test_a_jam_of_every_group_is_that_of_the_segment():
    # The fast implementation has the one, the reference the other.
    of_groups = utilisation("stations.0.jam=48 bit", "stations.1.jam=48 bit")
    assert of_groups == utilisation("segment.jam=48 bit")
    assert of_groups != utilisation()


def test_a_jam_of_one_group_lies_between():
    short, one, both = (
        sum(utilisation(*overrides))
        for overrides in (
            (),
            ("stations.0.jam=1000 bit",),
            ("segment.jam=1000 bit",),
        )
    )
    assert both < one < short


@pytest.mark.parametrize(
    ("name", "why"), [("storm", "broadcasts again"), ("collapse", "sent again")]
)
def test_bounds_decline_what_is_sent_again(name, why):
    scenario = em.load(f"boggs1988/{name}").plan().trials[0].scenario
    assert all(why in (flow.delay.reason or "") for flow in bounds_of(scenario).flows)


def test_means_decline_a_storm():
    scenario = em.load("boggs1988/storm").plan().trials[0].scenario
    assert ["again" in (flow.reason or "") for flow in means_of(scenario).flows] == [True]
