"""One sound set of arguments for every model of the catalogue."""

from typing import Any

POINTS: dict[str, dict[str, Any]] = {
    "kleinrock-tobagi-1975": {"load": 1.0, "propagation": 0.05},
    "metcalfe-boggs-1976": {"stations": 3, "packet_bits": 512, "rate_bps": 3e6, "slot_s": 16e-6},
    "almes-lazowska-1979": {"load": 0.5, "packet_bits": 512, "rate_bps": 3e6, "slot_s": 16e-6},
    "tobagi-hunt-1980-non-persistent": {"load": 10.0, "propagation": 0.01, "collision_slots": 4.0},
    "tobagi-hunt-1980-one-persistent": {"load": 10.0, "propagation": 0.01, "collision_slots": 4.0},
    "tobagi-hunt-1980-p-persistent": {
        "load": 10.0,
        "propagation": 0.01,
        "persistence": 0.1,
        "collision_slots": 4.0,
    },
    "tobagi-hunt-1980-bimodal": {
        "short_fraction": 0.5,
        "short_slots": 10.0,
        "long_slots": 100.0,
        "collision_slots": 4.0,
    },
    "tobagi-hunt-1980-finite": {
        "stations": 5,
        "generation": 0.002,
        "retransmission": 0.05,
        "packet_slots": 10,
        "collision_slots": 4,
    },
    "lam-1980": {"arrival_rate": 300.0, "packet_s": 1e-3, "propagation_s": 1e-5},
    "bux-1981-csma-cd": {"arrival_rate": 300.0, "packet_s": 1e-3, "propagation_s": 1e-5},
    "bux-1981-token-ring": {
        "arrival_rate": 300.0,
        "stations": 50,
        "packet_s": 1e-3,
        "latency_s": 6e-5,
    },
    "bux-1981-slotted-ring": {
        "arrival_rate": 300.0,
        "packet_s": 1e-3,
        "latency_s": 6e-5,
        "header_bits": 10.0,
        "data_bits": 40.0,
    },
    "coyle-liu-1983": {
        "stations": 5,
        "generation": 0.02,
        "retransmission": 0.5,
        "window": 0.04,
        "collision": 0.05,
    },
    "takagi-kleinrock-1985": {"load": 2.0, "propagation": 0.01, "abort": 0.1},
    "takagi-kleinrock-1985-double-peak": {"load": 2.0, "propagation": 0.01, "abort": 0.1},
    "takagi-kleinrock-1985-finite": {"load": 2.0, "stations": 5, "propagation": 0.01, "abort": 0.1},
    "tasaka-1986": {
        "stations": 5,
        "buffers": 2,
        "generation": 0.001,
        "retransmission": 0.05,
        "packet_slots": 10,
        "collision_slots": 4,
    },
}
