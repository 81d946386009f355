"""Intervals of networks from one replication cover what queueing theory says.

The number of covering intervals among n is binomial: n p ± 4 sqrt(n p q), which a correct method leaves once in 16 000 seeds, and the
seeds are fixed. Batches are a thousand services long, and a queue at a load of 0.5 remembers a few dozen: batches are nearly independent.
The jackknife of 20 batches is first-order; as for segments, two points more of tolerance.
"""

import math
from dataclasses import replace
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.analysis.estimates import estimate
from ethermeter.observation import Metric

CASES = 400
TOLERANCE = 4 * math.sqrt(0.95 * 0.05 / CASES) + 0.02
LOAD = 0.5
OCTET_S = 80e-9  # 100 Mb/s
AROUND = 20  # octets of preamble and gap, for which the wire is busy beside the frame
LENGTHS = {"64 B": {64: 1.0}, "64 B x 3 + 1518 B x 1": {64: 0.75, 1518: 0.25}}

NETWORK = """\
title = "A wire with Poisson arrivals"
[network]
rate = "100 Mb/s"
[[network.hosts]]
name = "a"
[[network.hosts]]
name = "b"
[[network.links]]
ends = ["a", "b"]
[[flows]]
name = "load"
from = "a"
to = "b"
frames = "{frames}"
arrivals = {{ poisson = "{rate} /s" }}
{more}
[phases]
settle = "0 s"
transmit = "{transmit} us"
measure = "last {measure} us"
drain = "10 ms"
[run]
replications = {cases}
batches = 20
"""


def covered(folder: Path, frames: str, truths: dict[Metric, float], *, more: str = "") -> dict[Metric, float]:
    """Share of trials, each by itself, whose intervals hold the truth."""
    service_s = sum(share * (octets + AROUND) * OCTET_S for octets, share in LENGTHS[frames].items())
    rate = LOAD / service_s
    measure_us = round(10_000 / rate * 1e6)  # ten thousand messages
    text = NETWORK.format(frames=frames, rate=rate, more=more, transmit=measure_us + measure_us // 20, measure=measure_us, cases=CASES)
    (folder / "x.toml").write_text(text, encoding="utf-8")
    run = em.load(folder / "x.toml").run(out=folder / "run", jobs=2)
    # Each trial a series of its own, so that none is a replication of another.
    trials = [replace(trial, series=f"{at}") for at, trial in enumerate(run.trials())]
    points = estimate(trials, run.directory.observations(), run.directory.batches(), run.directory.flow_batches())
    assert len(points) == CASES
    return {
        metric: sum(point.estimates[metric].low <= truth <= point.estimates[metric].high for point in points) / CASES
        for metric, truth in truths.items()
    }


@pytest.mark.parametrize("frames", LENGTHS)
def test_intervals_cover_the_wait_of_pollaczek_and_khinchine(tmp_path: Path, frames: str) -> None:
    # The wire is an output queue with one server: wait = rate E[S^2] / (2 (1 - load)); then preamble and frame are sent.
    services_s = {(octets + AROUND) * OCTET_S: share for octets, share in LENGTHS[frames].items()}
    mean_s = sum(share * each for each, share in services_s.items())
    wait_s = LOAD / mean_s * sum(share * each**2 for each, share in services_s.items()) / (2 * (1 - LOAD))
    delay_s = wait_s + mean_s - 12 * OCTET_S
    truths = {Metric.ONE_WAY_DELAY: delay_s, Metric.MESSAGE_RATE: LOAD / mean_s, Metric.INTER_ARRIVAL: mean_s / LOAD}
    for metric, share in covered(tmp_path, frames, truths).items():
        print(f"{frames}, {metric}: {share:.1%}")
        assert share == pytest.approx(0.95, abs=TOLERANCE), metric


def test_intervals_cover_the_loss_of_erlang(tmp_path: Path) -> None:
    # Room for the message being sent only: Erlang's B of one server, load / (1 + load), whatever the lengths (Gross and Harris, 2.4).
    frames = "64 B x 3 + 1518 B x 1"
    (share,) = covered(tmp_path, frames, {Metric.LOSS: LOAD / (1 + LOAD)}, more="queue = 1").values()
    print(f"loss: {share:.1%}")
    assert share == pytest.approx(0.95, abs=TOLERANCE)
