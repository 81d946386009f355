"""A stand-in for the compiled core: counts of made-up numbers that depend on the trial alone."""

import json
import time
import zlib
from dataclasses import replace

import numpy as np
from counted import buckets, exact, of_segment
from ethermeter.counts import MediumCounts, StationBatches, StationCounts, zeros


def simulate(line, watch=None, traces=None, makers=None, *, sleep_s=0.0):
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
    batch_frames = rng.poisson(window_ps / charged / n / b * 0.8, (b, n)).astype(np.int64)
    frames = batch_frames.sum(0)
    delay_ps = (rng.exponential(1e9, (b, n)) * batch_frames).astype(np.int64)
    total = min(int(frames.sum()) * charged, window_ps)
    some = {
        name: rng.integers(0, 9, n)
        for name in (
            "collisions",
            "late_collisions",
            "discarded",
            "resumed",
            "offered",
            "dropped",
            "damaged",
        )
    }
    times = {
        f"{name}_ps": (rng.exponential(1e9, n) * frames).astype(np.int64)
        for name in ("access", "response", "waiting")
    }
    sums = delay_ps.sum(0)
    stations = replace(
        zeros(StationCounts, n),
        frames=frames,
        bits=frames * bits,
        charged_ps=frames * charged,
        delay_ps=sums,
        # The same delay of all frames, and some more.
        delay_ps2=exact(
            *(
                2 * total**2 // max(count, 1) + 1
                for total, count in zip(sums.tolist(), frames.tolist(), strict=True)
            )
        ),
        offered_load=rng.exponential(1e-3, n),
        batches=StationBatches(
            batch_frames, batch_frames * charged, delay_ps, np.square(delay_ps.astype(np.float64))
        ),
        **some,
        **times,
    )
    three = buckets((10**6, 10**7, 1), (10**7, 10**8, 2), (10**8, 10**9, 3))
    counted = replace(
        zeros(MediumCounts),
        time_ps=np.array([total, 0, 0, 0, window_ps - total]),
        attempts_per_frame=np.array([5, 4]),
        colliders=np.array([3]),
        transmission_delay=three,
        access_delay=three,
    )
    return of_segment(stations, counted, window_ps=window_ps)
