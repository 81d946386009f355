"""RFC 3918: throughput and latency of multicast frames from one tester to all others."""

from functools import partial

import numpy as np

from ethermeter.analysis.benchmark import Column, Row, Test
from ethermeter.benchmark.bench import Bench
from ethermeter.benchmark.outcome import Outcome
from ethermeter.benchmark.rates import (
    GENERATOR,
    THROUGHPUT,
    Pairs,
    Throughput,
    frame_text,
    generator_step,
    key_of,
    rate_stimulus,
    tester_culprit,
    throughput_step,
)
from ethermeter.benchmark.steps import Ledger, Results, Step, Suite
from ethermeter.benchmark.tables import (
    LOST,
    delay_cautions,
    generator_table,
    lost_of_delays,
    seconds,
    throughput_table,
)

LATENCY = "latency"
CAST = "multicast"


def suite(bench: Bench) -> Suite:
    """Return the suite of a device between a sender and its receivers."""
    source, *receivers = bench.testers
    pairs: Pairs = [(source, tuple(receivers))]
    steps: list[Step] = []
    for octets in bench.settings.frames:
        steps += [
            generator_step(bench, octets, pairs, both_ways=False),
            throughput_step(bench, octets, pairs, cast=CAST),
            Step(
                key_of(LATENCY, octets),
                partial(latencies, bench, octets, pairs, CAST, THROUGHPUT),
                (key_of(THROUGHPUT, octets),),
                bench.settings.latency_trials,
            ),
        ]
    return Suite(
        name="rfc3918",
        title="RFC 3918",
        bench=bench,
        steps=tuple(steps),
        tables=partial(_tables, bench),
        conditions=bench.settings.conditions()
        | {"groups": f"{bench.settings.streams}, each with {len(receivers)} receivers"},
        culprit=partial(tester_culprit, bench.settings.frames),
    )


def latencies(
    bench: Bench,
    octets: int,
    pairs: Pairs,
    cast: str,
    after: str,
    ledger: Ledger,
    results: Results,
) -> tuple[Outcome, ...]:
    """Return the trials of latency at a throughput; none without one."""
    found: Throughput = results[key_of(after, octets)]
    if found.rate is None:
        return ()
    settings = bench.settings
    stimuli = [
        rate_stimulus(bench, pairs, octets, found.rate, settings.latency_s, cast=cast)
        for _ in range(settings.latency_trials)
    ]
    return tuple(ledger.measure_all(stimuli))


def latency_table(bench: Bench, results: Results, *, name: str, title: str, clause: str) -> Test:
    """Return the table of the latencies of steps of one name, over all receivers."""
    rows = []
    for octets in bench.settings.frames:
        outcomes: tuple[Outcome, ...] = results[key_of(name, octets)]
        if outcomes:
            delays = [outcome.delays for outcome in outcomes]
            rows.append(
                Row(
                    {"frame": frame_text(octets)},
                    {
                        "delay": seconds(float(np.mean([of.mean_s for of in delays]))),
                        "least": seconds(min(of.least_s for of in delays)),
                        "most": seconds(max(of.most_s for of in delays)),
                        "trials": len(outcomes),
                        **lost_of_delays(outcomes),
                    },
                )
            )
    return Test(
        name,
        title,
        clause,
        (
            Column("delay", "one-way", "µs", "lower"),
            Column("least", "least", "µs"),
            Column("most", "most", "µs"),
            Column("trials", "trials"),
            LOST,
        ),
        tuple(rows),
        cautions=delay_cautions({of: results[key_of(name, of)] for of in bench.settings.frames}),
    )


def _tables(bench: Bench, results: Results) -> tuple[Test, ...]:
    frames = bench.settings.frames
    found = [results[key_of(THROUGHPUT, octets)] for octets in frames]
    return (
        generator_table({octets: results[key_of(GENERATOR, octets)] for octets in frames}),
        throughput_table(
            found, clause="RFC 3918 section 4.3", title="Aggregated multicast throughput"
        ),
        latency_table(
            bench,
            results,
            name=LATENCY,
            title="Multicast latency at the throughput",
            clause="RFC 3918 section 5.1; one-way delays of all receivers",
        ),
    )
