"""Answers of several hosts: a histogram for each of them, and answers to a group."""

import ethermeter as em
import pytest

WIRE_US = 72 * 8e-3
SPACE_US = 84 * 8e-3


def asked(cast):
    """Return a multicast request of one host, which two others answer through a switch."""
    return em.network(
        title="A request to two",
        rate="1 Gb/s",
        hosts=["a", "b", "c", "d"],
        switches=["s"],
        links=[(host, "s") for host in "abcd"],
        flows=[
            em.flow(
                "ask",
                "a",
                ["b", "c"],
                cast="multicast",
                frames="64 B",
                arrivals="saturated",
                response={"frames": "64 B", "cast": cast},
            )
        ],
        phases={"settle": "0 s", "transmit": "1 ms", "measure": "all", "drain": "1 ms"},
    )


@pytest.mark.parametrize("cast", ["unicast", "multicast", "broadcast"])
def test_each_responder_has_a_histogram(cast):
    results = em.simulate(asked(cast))
    first, second = (results.histogram("responder_round_trip", f"ask {host}") for host in "bc")
    # Four wires; the second answer waits for the first on the way to the asker.
    assert first.low_ps[0] / 1e6 == pytest.approx(4 * WIRE_US)
    assert second.low_ps[0] / 1e6 == pytest.approx(4 * WIRE_US + SPACE_US)
    assert results.value("round_trip") * 1e6 == pytest.approx(4 * WIRE_US + SPACE_US)
    frame = results.histograms()
    of = frame[frame["time"] == "responder_round_trip"]
    assert set(of["entity"]) == {"ask b", "ask c"}
