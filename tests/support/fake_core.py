"""A stand-in for the compiled core: same table of results, made-up numbers that depend on the trial
alone.
"""

import json
import time
import zlib

import numpy as np


def simulate(line, watch=None, *, sleep_s=0.0):
    trial = json.loads(line)
    scenario = trial["scenario"]
    rng = np.random.default_rng(zlib.crc32(line.encode()))
    (medium,) = scenario["media"]
    n = sum(len(group["points"]) for group in medium["stations"])
    b = scenario.get("batches", 20)
    if sleep_s:
        time.sleep(sleep_s)
    phases = scenario["phases"]
    window_ps = phases["measure_to_ps"] - phases["measure_from_ps"]
    bits = scenario["flows"][0]["frames"]["bits"]
    mac = medium["mac"]["csma_cd"]
    charged = (bits + mac["preamble_bits"] + mac["gap_bits"]) * medium["bit_ps"]
    batch_frames = rng.poisson(window_ps / charged / n / b * 0.8, (b, n)).astype(np.uint32)
    frames = batch_frames.sum(0).astype(np.uint64)
    delay = rng.exponential(1e-3, (b, n))
    total = min(int(frames.sum()) * charged, window_ps)
    count = np.array([1, 2, 3], np.uint64)
    buckets = (
        np.array([10**6, 10**7, 10**8], np.uint64),
        np.array([10**7, 10**8, 10**9], np.uint64),
        count,
    )
    result = {
        f"station_{name}": rng.integers(0, 9, n).astype(np.uint64)
        for name in (
            "attempts",
            "collisions",
            "late_collisions",
            "discarded",
            "resumed",
            "offered",
            "dropped",
            "damaged",
        )
    }
    result |= {
        f"station_{name}": rng.exponential(1e-3, n)
        for name in ("delay_s", "delay_sd_s", "access_s", "response_s", "waiting", "offered_load")
    }
    return result | {
        "station_frames": frames,
        "station_bits": frames * np.uint64(bits),
        "station_charged_ps": frames * np.uint64(charged),
        "batch_frames": batch_frames,
        "batch_charged_ps": batch_frames.astype(np.uint64) * np.uint64(charged),
        "batch_delay_sum_s": delay * batch_frames,
        "batch_delay_square_sum_s2": delay**2 * batch_frames,
        "time_ps": np.array([total, 0, 0, 0, window_ps - total], np.uint64),
        "window_ps": window_ps,
        "attempts_per_frame": np.array([5, 4], np.uint64),
        "colliders": np.array([3], np.uint64),
        "histograms": {"transmission_delay": buckets, "access_delay": buckets},
        "cautions": [],
        "events": int(frames.sum()),
    }
