"""`python -m benches.theory`: time of 10,000 points of each model, and of a point of each chain."""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ethermeter import theory

POINTS = 10_000
LOADS = np.geomspace(1e-3, 1e3, POINTS)
RATES = np.linspace(0, 900, POINTS)
STABLE = np.linspace(0, 0.84, POINTS)
SEGMENT: dict[str, Any] = {"packet_bits": 512, "rate_bps": 3e6, "slot_s": 16e-6}

MANY: dict[str, Callable[[], Any]] = {
    "metcalfe-boggs-1976": lambda: theory.metcalfe_boggs_1976(np.arange(1, POINTS + 1), **SEGMENT),
    "almes-lazowska-1979 chain": lambda: theory.almes_lazowska_1979(STABLE, **SEGMENT),
    "almes-lazowska-1979 birth-death": lambda: theory.almes_lazowska_1979(
        STABLE, method="birth-death", **SEGMENT
    ),
    "kleinrock-tobagi-1975": lambda: theory.kleinrock_tobagi_1975(LOADS, propagation=0.01),
    "tobagi-hunt-1980-non-persistent": lambda: theory.tobagi_hunt_1980_non_persistent(
        LOADS, propagation=0.01
    ),
    "tobagi-hunt-1980-one-persistent": lambda: theory.tobagi_hunt_1980_one_persistent(
        LOADS, propagation=0.01
    ),
    "tobagi-hunt-1980-p-persistent p=.1": lambda: theory.tobagi_hunt_1980_p_persistent(
        LOADS, propagation=0.01, persistence=0.1
    ),
    "tobagi-hunt-1980-p-persistent p=.01": lambda: theory.tobagi_hunt_1980_p_persistent(
        LOADS, propagation=0.01, persistence=0.01
    ),
    "tobagi-hunt-1980-bimodal": lambda: theory.tobagi_hunt_1980_bimodal(
        np.linspace(0, 1, POINTS), short_slots=10, long_slots=100
    ),
    "lam-1980": lambda: theory.lam_1980(RATES, packet_s=1e-3, propagation_s=1e-6),
    "bux-1981-csma-cd": lambda: theory.bux_1981_csma_cd(RATES, packet_s=1e-3, propagation_s=1e-6),
    "bux-1981-token-ring": lambda: theory.bux_1981_token_ring(
        RATES, stations=50, packet_s=1e-3, latency_s=6e-5
    ),
    "takagi-kleinrock-1985": lambda: theory.takagi_kleinrock_1985(
        LOADS, propagation=0.01, abort=0.01
    ),
}
ONE: dict[str, Callable[[], Any]] = {
    "tobagi-hunt-1980-finite": lambda: theory.tobagi_hunt_1980_finite(
        1000, generation=1e-5, retransmission=1e-3, packet_slots=100
    ),
    "coyle-liu-1983": lambda: theory.coyle_liu_1983(
        1000, generation=1e-3, retransmission=0.02, window=0.04, collision=0.04
    ),
    "takagi-kleinrock-1985-finite": lambda: theory.takagi_kleinrock_1985_finite(
        3, stations=1000, propagation=0.01, abort=0.01
    ),
    "tasaka-1986 K=4": lambda: theory.tasaka_1986(
        1000, buffers=4, generation=5e-6, retransmission=1e-3, packet_slots=100
    ),
}


def main() -> int:
    """Print the wall time of every model [s]."""
    for title, cases in ((f"{POINTS} points", MANY), ("one point, 1000 stations", ONE)):
        print(title)
        for name, evaluate in cases.items():
            begin_s = time.perf_counter()
            evaluate()
            print(f"  {name:38} {time.perf_counter() - begin_s:7.4f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
