"""Talkers before wires of a rate: what they send while there is room, and how packets grow and
samples are lost where there is none.
"""

from pathlib import Path
from typing import Any

import pytest
from agents import Agents
from ethermeter.testbed import Host, Wire, make_testbed
from stations import AROUND_OCTETS

RATE_BPS = 1_000_000
SECOND_NS = 10**9
WINDOW_S = 2.0
OVERHEAD_OCTETS, LEAST_SAMPLES, MOST_SAMPLES = 82, 80, 700
SLOW_PS, FAST_PS = 125_000_000, 8_000_000
"""Of samples with two octets each: 128 kb/s and 2 Mb/s."""


def talk(
    program: str, hosts: list[Host], folder: Path, port: str, sample_ps: int
) -> dict[str, Any]:
    """Let the first host talk to the second; what was counted of it."""
    agents = Agents(program, hosts, folder, 'addresses = ["10.77.0.0/16"]')
    with agents.running() as entries:
        result = agents.measure(hosts[1], described(entries, port, sample_ps))
    flow: dict[str, Any] = result["flows"]["talk"]
    return flow


def described(agents: list[dict[str, str]], port: str, sample_ps: int) -> dict[str, Any]:
    """A test of one talker."""
    lengths = {
        "overhead_bits": OVERHEAD_OCTETS,
        "min_bits": octets_of(LEAST_SAMPLES),
        "max_bits": octets_of(MOST_SAMPLES),
    }
    traffic = {
        "kind": "stream",
        "source": {
            "frames": {"kind": "samples", **{name: 8 * octets for name, octets in lengths.items()}},
            "arrivals": {
                "kind": "coder",
                "sample_bits": 16,
                "sample_ps": sample_ps,
                "spurts": None,
            },
        },
        # Whatever else the machine does, the wire is not left idle.
        "real_time": True,
    }
    window_ns = round(WINDOW_S * SECOND_NS)
    return {
        "agents": agents,
        "clocks": "not_compared",
        "phases": {
            "settle_ns": SECOND_NS // 10,
            "transmit_ns": SECOND_NS + window_ns,
            "measure_from_ns": SECOND_NS,
            "measure_to_ns": SECOND_NS + window_ns,
            "drain_ns": SECOND_NS // 4,
        },
        "flows": [
            {
                "name": "talk",
                "from": "h1",
                "to": "h2",
                "port": port,
                "most_bps": 10**7,
                "most_frames_per_s": 10_000,
                "traffic": traffic,
            },
        ],
    }


def octets_of(samples: int) -> int:
    """Octets of a frame."""
    return OVERHEAD_OCTETS + 2 * samples


def samples_of(flow: dict[str, Any], sample_ps: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a talker and its listener say of samples; every one is accounted for."""
    said, heard = (
        flow["sending"]["counted"]["voice"],
        flow["receiving"]["counted"]["streams"][0]["voice"],
    )
    of = said["measured"]
    assert of["made"] == of["sent"] + of["lost"] + of["left"]
    assert of["made"] == pytest.approx(WINDOW_S / sample_ps * 1e12, abs=1)
    # No wire here loses what it was given.
    assert (said["samples"], of["sent"], of["packets"]) == (
        heard["samples"],
        heard["measured"]["samples"],
        heard["measured"]["packets"],
    )
    return said, heard


@pytest.mark.root
@pytest.mark.parametrize("port", ["udp", "packet"])
def test_a_talker_whose_wire_has_room_loses_nothing_and_sends_packets_of_the_least_length(
    agent, tmp_path, port, unless_held_up
):
    # A packet of the least length takes 262 octets, 210 us at 10 Mb/s, each 10 ms.
    with make_testbed(2, wires=Wire(10_000_000)) as testbed:
        said, heard = samples_of(talk(agent, testbed.hosts, tmp_path, port, SLOW_PS), SLOW_PS)
    lost = said["measured"]["lost"]
    unless_held_up(lost == 0, f"{lost} samples lost")
    # No packet has fewer; what a stall lets wait has some more.
    assert heard["samples"] / heard["packets"] >= LEAST_SAMPLES
    oldest_s = (LEAST_SAMPLES - 1) * SLOW_PS / 1e12
    assert oldest_s < heard["measured"]["voice_delay"]["quantiles_ps"]["0.01"] / 1e12


@pytest.mark.root
@pytest.mark.parametrize(
    ("port", "kind"), [("udp", "shaped"), ("packet", "shaped"), ("udp", "relay")]
)
def test_before_a_wire_slower_than_its_coder_a_talker_sends_its_longest_packets_and_loses_the_rest(
    agent, tmp_path, port, kind, unless_held_up
):
    with make_testbed(2, wires=Wire(RATE_BPS, kind=kind)) as testbed:
        said, heard = samples_of(talk(agent, testbed.hosts, tmp_path, port, FAST_PS), FAST_PS)
    assert said["most_samples"] == MOST_SAMPLES
    # In 2 ms, 250 samples of two octets each are made, and the wire carries 250 octets.
    assert said["measured"]["lost"] > 0
    # The buffer is full when a packet goes, so that its oldest sample is as old as all that it
    # holds took, and then takes the wire's time; but where the machine has let the wire idle.
    packet_s = 8 * (octets_of(MOST_SAMPLES) + AROUND_OCTETS) / RATE_BPS
    median_s = heard["measured"]["voice_delay"]["quantiles_ps"]["0.5"] / 1e12
    unless_held_up(
        median_s > (MOST_SAMPLES - 1) * FAST_PS / 1e12 + 0.99 * packet_s, f"median of {median_s} s"
    )
