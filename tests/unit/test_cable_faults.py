"""Open and shorted cables in an experiment file, and what theories say of them."""

import ethermeter as em
import pytest
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.faults import InputError
from ethermeter.scenario import CableFault
from ethermeter.theory.assumptions import Assumptions
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import applicable, judge_all


def segment(standard: str = "dix-10", **more: object) -> ExperimentTables:
    more.setdefault("length", "400 m")
    return em.segment(
        standard,
        stations=em.stations(count=3, frames="64 B", arrivals="saturated"),
        phases={"transmit": "1 s", "measure": "last 500 ms"},
        **more,
    )


def fault_of(file: ExperimentTables) -> CableFault:
    (medium,) = em.load(file).plan().trials[0].scenario.media
    assert medium.cable_fault is not None
    return medium.cable_fault


def test_the_location_is_as_far_from_stations_as_along_the_cable_and_the_tap():
    # Three stations at 0, 200 and 400 m; 0.77 of the speed of light; a fault at 300 m.
    fault = fault_of(
        segment(
            tap_delay="0.5 us",
            cable_fault={"position": "300 m", "at": "100 ms", "for": "200 ms"},
        )
    )
    expected = [away / (0.77 * 299_792_458) + 0.5e-6 for away in (300, 100, 100)]
    assert [ps / 1e12 for ps in fault.delay_ps] == pytest.approx(expected, abs=2e-12)
    assert (fault.from_ps, fault.to_ps) == (100 * 10**9, 300 * 10**9)


def test_clusters_have_a_location_each_and_a_fault_without_end_lasts():
    fault = fault_of(segment(clusters=2, cable_fault={"position": "0 m", "at": "0 s"}))
    assert len(fault.delay_ps) == 2
    assert fault.delay_ps[0] == 0
    assert fault.to_ps == 10**16


def test_nothing_passes_an_open_cable():
    whole = em.simulate(segment()).value("utilisation")
    broken = em.simulate(segment(cable_fault={"position": "200 m", "at": "0 s"}))
    assert whole > 0.5
    assert broken.value("utilisation") == 0
    # Sixteen attempts have 4100 slots of backoff on the mean, 0.2 s: seven frames of three hosts.
    assert 3 < broken.value("discarded") < 15


@pytest.mark.parametrize(
    ("more", "key", "allowed"),
    [
        ({"cable_fault": {"position": "401 m", "at": "0 s"}}, "cable_fault.position", "400 m"),
        (
            {"cable_fault": {"position": "1 m", "at": "0 s"}, "length": None, "round_trip": "9 us"},
            "cable_fault",
            "not allowed without length",
        ),
        ({"cable_fault": {"at": "0 s"}}, "cable_fault.position", "required"),
        ({"cable_fault": {"position": "1 m", "at": "0 s", "for": "0 s"}}, "cable_fault.for", ""),
        (
            {"cable_fault": {"position": "1 m", "form": "0 s", "at": "0 s"}},
            "cable_fault.form",
            "for",
        ),
    ],
)
def test_a_wrong_fault_names_its_key(more, key, allowed):
    with pytest.raises(InputError) as refused:
        em.load(segment(**more)).plan()
    (fault,) = refused.value.faults
    assert fault.key == f"segment.{key}"
    assert allowed in fault.allowed


def test_a_bus_of_10base_t1s_has_none():
    file = segment("10base-t1s", length="20 m", cable_fault={"position": "1 m", "at": "0 s"})
    with pytest.raises(InputError, match="CSMA/CD alone with cable_fault"):
        em.load(file).plan()


def test_theories_of_a_segment_decline_it():
    file = segment(cable_fault={"position": "200 m", "at": "0 s"})
    inputs = model_inputs(em.load(file).plan().trials[0].scenario, Assumptions())
    why = "needs a whole cable; here it is open or shorted at some time"
    assert applicable(inputs) == ()
    assert all(why in verdict.obstacles for verdict in judge_all(inputs))
