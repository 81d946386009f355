"""Scenarios to time: saturated stations on the nets of 1988, and one that peers simulate too."""

import json
from dataclasses import dataclass
from typing import Any

PS_PER_S = 10**12
PS_PER_US = 10**6
BITS_PER_OCTET = 8
FCS_OCTETS = 4
STANDARD = "dix-10"


@dataclass(frozen=True, slots=True)
class Net:
    """A segment by its longest round trip; its places are equally far from one another."""

    name: str
    round_trip_us: int
    places: int

    @property
    def delay_ps(self) -> list[list[int]]:
        """One-way delays between places, in ps.

        Two stations at one of several places are 1 us apart, as behind one repeater.
        """
        farthest_ps = self.round_trip_us * PS_PER_US // 2
        if self.places == 1:
            return [[farthest_ps]]
        step_ps = (farthest_ps - PS_PER_US) // (self.places - 1)
        return [
            [PS_PER_US + step_ps * abs(p - q) for q in range(self.places)]
            for p in range(self.places)
        ]


LONG_NET = Net("long", 12, 4)
NETS = (LONG_NET, Net("short", 3, 1), Net("two ends", 45, 2))
PEERS_NET = Net("equal delays", 12, 1)


@dataclass(frozen=True, slots=True)
class Length:
    """A packet length as the study counts it: without the FCS."""

    octets: int

    @property
    def name(self) -> str:
        """As in the study's figures."""
        return f"{self.octets} B"

    @property
    def frame_octets(self) -> int:
        """Destination address to FCS."""
        return self.octets + FCS_OCTETS


SHORT, LONG = Length(64), Length(1536)
LENGTHS = (SHORT, LONG)


def trial_1988(
    net: Net, *, stations: int, length: Length, simulated_s: int, implementation: str = "fast"
) -> str:
    """Return a trial of the study as JSON (docs/reference/trials.md); all of its time is measured.

    Hosts need 60 to 90 us between frames, and hand a frame over again after 16 attempts. They are
    spread over the places of the net in turn. The implementation is `fast` or `reference`.
    """
    return _trial(
        net,
        {"kind": "uniform", "low_ps": 60 * PS_PER_US, "high_ps": 90 * PS_PER_US},
        "resume",
        stations=stations,
        length=length,
        simulated_s=simulated_s,
        implementation=implementation,
    )


def trial_for_peers(*, stations: int, length: Length, simulated_s: int) -> str:
    """Return the trial that peers simulate too, as JSON; all of its time is measured.

    There is no preamble, no time between frames but the gap, and 6 us between any two stations.
    """
    return _trial(
        PEERS_NET,
        {"kind": "constant", "ps": 0},
        "discard",
        stations=stations,
        length=length,
        simulated_s=simulated_s,
        constants={"preamble_bits": 0},
    )


def phases(end_ps: int) -> dict[str, int]:
    """Phases of a trial that is measured from its begin to its end."""
    return {
        "begin_ps": 0,
        "stop_ps": end_ps,
        "measure_from_ps": 0,
        "measure_to_ps": end_ps,
        "end_ps": end_ps,
        "spread_ps": 0,
    }


def _trial(
    net: Net,
    service: dict[str, Any],
    after_attempt_limit: str,
    *,
    stations: int,
    length: Length,
    simulated_s: int,
    constants: dict[str, int] | None = None,
    implementation: str = "fast",
) -> str:
    from ethermeter._core import standards

    if stations < 1:
        raise ValueError(f"stations must be at least 1, got {stations}")
    standard = standards()[STANDARD]
    keys = ("slot_bits", "gap_bits", "gap_part1_bits", "preamble_bits", "jam_bits")
    medium = {
        "name": "segment",
        "bit_ps": standard["bit_ps"],
        "mac": {"csma_cd": {**{key: standard[key] for key in keys}, **(constants or {})}},
        "delay_ps": net.delay_ps,
        "stations": [
            {
                "node": "host",
                "points": [station % net.places for station in range(stations)],
                "backoff": {"rule": "exponential", "limit": standard["backoff_limit"]},
                "attempt_limit": standard["attempt_limit"],
                "after_attempt_limit": after_attempt_limit,
            }
        ],
    }
    flow = {
        "name": "host",
        "from": "host",
        "frames": {"kind": "fixed", "bits": length.frame_octets * BITS_PER_OCTET},
        "arrivals": {"kind": "saturated"},
        "service": service,
    }
    scenario = {
        "nodes": [{"name": "host", "count": stations, "kind": {"host": {}}}],
        "media": [medium],
        "flows": [flow],
        "phases": phases(simulated_s * PS_PER_S),
    }
    settings = {"implementation": implementation}
    return json.dumps(
        {"id": "bench/00000", "seed": 1988, "scenario": scenario, "settings": settings}
    )
