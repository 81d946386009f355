"""Calls that begin and end on a simulated segment, against Erlang's formula, Little's law, and the
chain of calls over the losses of fixed numbers of them.

Seeded; a comparison fails by chance with probability 1e-4: Student's t over the replications. The
chain knows nothing of what buffers hold when a call begins or ends, which is a tenth of a second of
20 s.
"""

import ethermeter as em
import numpy as np
import pytest
from ethermeter import voice
from ethermeter.results.interval import student
from scipy.stats import t as student_t

ERROR, REPLICATIONS, HOSTS = 1e-4, 12, 12
OFFERED = 5.0
"""Calls at a time, of coders of 500 kb/s on 2.94 Mb/s: five fit, six lose a few percent."""
DURATIONS = {
    "exponential": {"exponential": {"mean": "20 s"}},
    "constant": "20 s",
    "of two lengths": {"measured": {"values": ["5 s", "125 s"], "weights": [7, 1]}},
}


def segment(*, count: int = HOSTS, measured_s: int = 400, **keys: object):
    """Return coders of 500 kb/s on the experimental Ethernet."""
    stations = em.stations(
        "host",
        count=count,
        frames={"samples": {"least": "512 B", "most": "2048 B", "overhead": "6 B"}},
        arrivals={"coder": {"sample": "16 bit", "every": "32 us"}},
        service={"uniform": ["0 us", "38 us"]},
        clock_error="50 ppm",
        **keys,
    )
    return em.segment(
        "experimental-3",
        title="Calls",
        round_trip="5.5 us",
        clusters=4,
        stations=stations,
        phases={
            "transmit": f"{measured_s + 150} s",
            "measure": f"last {measured_s} s",
            "spread": "50 ms",
        },
        run={"replications": REPLICATIONS},
    )


def calls(duration: object, **rule: object) -> dict[str, object]:
    """Return calls of which `OFFERED` come in the mean of their durations, 20 s."""
    return {"every": f"{20 / OFFERED} s", "duration": duration} | rule


def is_within(samples: np.ndarray, value: float) -> bool:
    """Whether a value is in the interval of the mean of replications."""
    half = student(samples).error * student_t.ppf(1 - ERROR / 2, samples.size - 1)
    return bool(abs(samples.mean() - value) <= half)


@pytest.mark.parametrize("duration", DURATIONS)
def test_calls_are_refused_as_erlang_says_whatever_the_distribution_of_durations(duration):
    results = em.simulate(segment(calls=calls(DURATIONS[duration], most=6)))
    assert is_within(results.values("call_refusal"), voice.erlang_b(OFFERED, circuits=6))
    carried = OFFERED * (1 - voice.erlang_b(OFFERED, circuits=6))
    assert is_within(results.values("calls"), carried)


def test_calls_get_the_loss_that_the_chain_says():
    loss = np.zeros(HOSTS + 1)
    for count in range(1, HOSTS + 1):
        loss[count] = em.simulate(segment(count=count, measured_s=10)).value("sample_loss")
    assert loss[4] < 0.001 < loss[6] < loss[7]
    for most in (5, HOSTS):
        results = em.simulate(segment(calls=calls(DURATIONS["exponential"], most=most)))
        chain = voice.occupancy(OFFERED, admit=voice.central(most, circuits=HOSTS))
        lot = voice.call_time(chain.distribution, loss=loss, limit=0.01, most=most)
        assert is_within(results.values("sample_loss"), float(lot.mean_loss)), most


def test_hosts_that_listen_refuse_as_many_and_a_few_that_have_just_ended():
    server = em.simulate(segment(calls=calls("20 s", most=6)))
    listening = em.simulate(segment(calls=calls("20 s", most=6, listen="400 ms")))
    # 0.02 of a call's time more, in which it is still counted.
    assert is_within(
        listening.values("call_refusal"), voice.erlang_b(OFFERED * 20.4 / 20, circuits=6)
    )
    assert abs(listening.value("call_refusal") - server.value("call_refusal")) < 0.03
