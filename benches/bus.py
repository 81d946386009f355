"""Speed on buses of 10BASE-T1S whose nodes take turns, fast beside reference in the same run."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benches.scenario import BITS_PER_OCTET, PS_PER_S, phases
from benches.speed import MILLION, Effort, time_runs

STANDARD = "10base-t1s"
FRAME_OCTETS = 64
PACKET_PS = 67_200_000
"""Preamble, frame of 64 octets and gap at 10 Mb/s: what an offered load counts."""
DELAY_PS = 125_000
"""One-way delay between any two nodes: 25 m at 5 ns/m."""


@dataclass(frozen=True, slots=True)
class Bus:
    """A bus to time, with frames of 64 octets."""

    nodes: int
    load: float | None
    """Share of the line that all nodes offer together; None: saturated."""
    simulated_s: int
    reference_s: int
    target_frames_per_cpu_s: float | None = None
    target_ratio: float | None = None
    """Speed over that of the reference."""

    @property
    def name(self) -> str:
        """As in the table."""
        load = "saturated" if self.load is None else f"Poisson, load {self.load:g}"
        return f"{self.nodes} nodes, {load}"


BUSES = (
    Bus(8, None, 300, 2, target_frames_per_cpu_s=15.0 * MILLION),
    Bus(40, None, 300, 2),
    Bus(40, 0.1, 600, 5, target_frames_per_cpu_s=5.0 * MILLION),
    Bus(40, 0.5, 300, 2),
    Bus(8, 0.001, 9000, 20, target_ratio=100.0),
)


def trial_bus(bus: Bus, *, simulated_s: int, implementation: str) -> str:
    """Return the trial as JSON (docs/reference/trials.md); all of its time is measured."""
    from ethermeter._core import plca_timing, standards

    standard = standards()[STANDARD]
    keys = ("slot_bits", "gap_bits", "gap_part1_bits", "preamble_bits", "jam_bits")
    plca = {key: value for key, value in plca_timing().items() if key != "sources"}
    nodes = {
        "ids": [[number] for number in range(bus.nodes)],
        "node_count": bus.nodes,
        **{key: plca.pop(key) for key in ("opportunity_bits", "burst_bits")},
    }
    medium = {
        "name": "segment",
        "bit_ps": standard["bit_ps"],
        "mac": {"plca": {"csma_cd": {key: standard[key] for key in keys}, **plca}},
        "delay_ps": [[DELAY_PS]],
        "stations": [
            {
                "node": "host",
                "points": [0] * bus.nodes,
                "after_attempt_limit": "resume",
                "plca": nodes,
            }
        ],
    }
    arrivals: dict[str, Any] = {"kind": "saturated"}
    if bus.load is not None:
        arrivals = {"kind": "poisson", "mean_ps": PACKET_PS * bus.nodes / bus.load}
    flow = {
        "name": "host",
        "from": "host",
        "frames": {"kind": "fixed", "bits": FRAME_OCTETS * BITS_PER_OCTET},
        "arrivals": arrivals,
    }
    scenario = {
        "nodes": [{"name": "host", "count": bus.nodes, "kind": {"host": {}}}],
        "media": [medium],
        "flows": [flow],
        "phases": phases(simulated_s * PS_PER_S),
    }
    settings = {"implementation": implementation}
    return json.dumps(
        {"id": "bench/00000", "seed": 1988, "scenario": scenario, "settings": settings}
    )


def measure_buses(effort: Effort, *, follow: Callable[[str], None]) -> list[dict[str, Any]]:
    """Time every bus by both implementations, the reference on a shorter time; a row for each.

    Raises
    ------
    RuntimeError
        If the two do not deliver the same frames in the time of the reference: their ratio would
        mean nothing.

    """
    return [_measure(bus, effort, follow=follow) for bus in BUSES]


def _measure(bus: Bus, effort: Effort, *, follow: Callable[[str], None]) -> dict[str, Any]:
    follow(f"simulator: a bus of {bus.name}")

    def timed(implementation: str, simulated_s: int, runs: int) -> tuple[float, int]:
        trial = trial_bus(bus, simulated_s=simulated_s, implementation=implementation)
        rates, found = time_runs(trial, delivered=lambda found: found.stations.frames, runs=runs)
        return max(rates), int(found.stations.frames.sum())

    reference_s = bus.reference_s if effort.judged else 1
    reference, wanted = timed("reference", reference_s, 1)
    _, found = timed("fast", reference_s, 1)
    if found != wanted:
        raise RuntimeError(
            f"of the same trial, fast delivered {found} frames and reference {wanted}"
        )
    simulated_s = bus.simulated_s if effort.judged else reference_s
    fast, frames = timed("fast", simulated_s, effort.runs)
    ratio = fast / reference
    aims = ((fast, bus.target_frames_per_cpu_s), (ratio, bus.target_ratio))
    judged = [value >= aim for value, aim in aims if aim is not None]
    return {
        "bus": bus.name,
        "runs": effort.runs,
        "frames": frames,
        "fast_frames_per_cpu_s": fast,
        "reference_frames_per_cpu_s": reference,
        "ratio": ratio,
        "target_frames_per_cpu_s": bus.target_frames_per_cpu_s,
        "target_ratio": bus.target_ratio,
        "met": all(judged) if judged and effort.judged else None,
    }
