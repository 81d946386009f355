"""Stations that send in calls: what is counted of groups, of stations and of all."""

import ethermeter as em
import numpy as np
import pytest

CALLS = {"every": "100 ms", "duration": {"exponential": {"mean": "1 s"}}}
CODER = {"coder": {"sample": "16 bit", "every": "250 us"}}
SAMPLES = {"samples": {"least": "64 B", "most": "1024 B", "overhead": "6 B"}}
VOICE, DATA, ALWAYS = range(20), range(20, 30), range(30, 32)


@pytest.fixture(scope="module")
def results():
    """Voice and data in calls, eight at most of both, and two stations that send all the time."""
    voice = em.stations(
        "voice", count=20, frames=SAMPLES, arrivals=CODER, calls=CALLS | {"most": 8}
    )
    data = em.stations(
        "data",
        count=10,
        frames="512 B",
        arrivals={"poisson": "20 /s"},
        calls=CALLS | {"every": "500 ms", "most": 8},
    )
    always = em.stations("always", count=2, frames=SAMPLES, arrivals=CODER)
    return em.simulate(
        em.segment(
            "ieee-10",
            title="Calls",
            length="500 m",
            stations=[voice, data, always],
            phases={"transmit": "30 s", "measure": "last 25 s"},
        )
    )


def test_calls_are_counted_by_station_and_add_up(results):
    offered, refused, calls = (
        results.each(results.known(name)) for name in ("calls_offered", "calls_refused", "calls")
    )
    assert results.value("calls_offered") == offered.sum() > 250
    assert results.value("calls_refused") == refused.sum() > 50
    assert results.value("call_refusal") == refused.sum() / offered.sum()
    assert results.value("calls") == pytest.approx(calls.sum())
    assert 6 < calls.sum() < 8
    assert (calls <= 1).all()
    # Two of twelve that come are of data, and one limit is for both.
    assert offered[DATA].sum() / offered.sum() == pytest.approx(1 / 6, abs=0.05)
    assert offered[ALWAYS].sum() == calls[ALWAYS].sum() == 0


def test_stations_that_send_all_the_time_have_no_share_of_calls_refused(results):
    shares = results.each(results.known("call_refusal"))
    assert np.isnan(shares[ALWAYS]).all()
    assert np.isfinite(shares[VOICE]).all()


def test_the_load_of_voice_is_that_of_the_calls(results):
    calls = results.each(results.known("calls"))
    rate = 64e3 / 10e6
    loads = results.each(results.known("voice_load"))
    assert loads[VOICE] == pytest.approx(calls[VOICE] * rate)
    assert loads[ALWAYS] == pytest.approx([rate, rate])
    # Without loss, what is sent is what was made.
    assert results.value("sample_loss") == 0
    assert results.value("voice_utilisation") == pytest.approx(loads.sum(), rel=0.01)


def test_other_trials_have_no_metrics_of_calls():
    alone = em.segment(
        "ieee-10",
        title="No calls",
        length="500 m",
        stations=em.stations("host", count=2, frames="64 B", arrivals="saturated"),
        phases={"transmit": "100 ms", "measure": "all"},
    )
    assert not {"calls", "calls_offered"} & {str(of) for of in em.simulate(alone).metrics}
