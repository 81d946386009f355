"""Claims of sections 3.3, 3.4 and 4.3, decided by runs, and by runs that do not bear them out."""

import ethermeter as em
import pytest
from ethermeter.studies.boggs1988 import claims
from ethermeter.studies.judging import judged, published

SHORT = {"phases.settle": "0 s", "phases.transmit": "600 ms", "phases.measure": "last 500 ms"}


def verdicts(name: str, **changes: str) -> dict[str, str]:
    """Verdicts of the claims that an experiment of the study decides."""
    results = em.simulate(
        f"boggs1988/{name}", overrides=[f"{key}={value}" for key, value in changes.items()]
    )
    found = judged(published("ethermeter.studies.boggs1988"), claims.RULES, results)
    return {claim.id: claim.verdict for claim in found if claim.verdict != "not-run"}


def test_a_storm_grows_and_ends_by_its_hop_count():
    assert verdicts("storm") == {"storm-grows": "holds", "storm-ends": "holds"}


def test_a_storm_that_finds_no_room_does_not_follow_its_hop_count():
    found = verdicts("storm", **{"network.hosts.2.ring": "1"})
    assert found == {"storm-grows": "fails", "storm-ends": "fails"}


def test_a_receiver_keeps_up_unless_its_interrupt_takes_too_long():
    assert verdicts("pair", **SHORT) == {"pair-keeps-up": "holds"}
    slow = '[{ name = "interrupt", fixed = "200 us", queue = 15 }]'
    found = verdicts("pair", **SHORT, **{"network.hosts.1.receive": slow})
    assert found == {"pair-keeps-up": "fails"}


@pytest.mark.parametrize(("rate", "verdict"), [("20 /s", "holds"), ("2 /s", "fails")])
def test_requests_that_are_sent_again_too_early_collapse(rate, verdict):
    changes = {
        'vary."network.hosts.client.count"': "[10, 60]",
        "phases.transmit": "2 s",
        "phases.measure": "last 1 s",
        # A load that the segment does not carry, and one that it does.
        "flows.0.arrivals.poisson": rate,
    }
    assert verdicts("collapse", **changes)["retransmission-collapses"] == verdict


def test_linear_backoff_collapses_with_short_packets():
    short = {"phases.transmit": "1 s", "phases.measure": "last 500 ms"}
    assert verdicts("backoff", **short) == {"linear-collapses": "holds"}
    long = short | {"stations.0.frames": "4000 B", "stations.1.frames": "4000 B"}
    assert verdicts("backoff", **long) == {"linear-collapses": "fails"}


def test_the_slower_of_process_and_transmitter_decides_which_queue_is_full():
    both = ("output-queue-full", "output-queue-empty")
    assert verdicts("queues") == dict.fromkeys(both, "holds")
    # A single buffer is in neither queue while the process fills it.
    found = verdicts("queues", **{"stations.generator.buffers": "1"})
    assert found == dict.fromkeys(both, "fails")


def test_an_open_cable_stops_all_hosts_but_not_those_that_send_nothing():
    assert verdicts("cable", **{"run.replications": "3"}) == {"cable-stops-all": "holds"}
    found = verdicts("cable", **{"stations.service": "100 s"})
    assert found == {"cable-stops-all": "fails"}
