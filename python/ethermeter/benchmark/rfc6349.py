"""RFC 6349: throughput, efficiency and buffer delay of TCP by the size of its window."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ethermeter.analysis.benchmark import Column, Row, Test
from ethermeter.benchmark.bench import Bench, Stimulus
from ethermeter.benchmark.outcome import Outcome
from ethermeter.benchmark.rates import (
    GENERATOR,
    THROUGHPUT,
    Throughput,
    generator_step,
    key_of,
    tester_culprit,
    throughput_step,
)
from ethermeter.benchmark.steps import Ledger, Results, Step, Suite
from ethermeter.benchmark.tables import generator_table, seconds, throughput_table
from ethermeter.metrics import Metric
from ethermeter.units import PS_PER_S

OCTETS = 1518
SEGMENT_OCTETS = 1460
"""Data of a full segment: an IP packet of 1500 octets without options."""
LEAST_SEGMENTS = 2
WINDOWS = (0.25, 0.5, 0.75, 1.0, 2.0, 4.0)
"""Windows, as shares of the bandwidth-delay product."""
STANDARD_S = 30.0
BASELINE, CONNECTION = "baseline", "tcp"
_ANSWER_OCTETS, _PROBE_PS = 64, PS_PER_S // 200
_NO_LIMIT_OCTETS = 1 << 30


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection with a window.

    `window_octets` is None where the host has its own; `expected_bps` is the lower of the rate that
    the window permits and that of the path.
    """

    window_octets: int | None
    share: float | None
    expected_bps: float
    outcome: Outcome


def suite(bench: Bench) -> Suite:
    """Return the suite of a path between two testers."""
    one, other = bench.testers[:2]
    pairs = [(one, (other,))]
    steps = (
        generator_step(bench, OCTETS, pairs, both_ways=False),
        throughput_step(bench, OCTETS, pairs),
        Step(BASELINE, partial(_baseline, bench)),
        Step(
            CONNECTION,
            partial(_connections, bench),
            (BASELINE, key_of(THROUGHPUT, OCTETS)),
            len(WINDOWS),
        ),
    )
    return Suite(
        name="rfc6349",
        title="RFC 6349",
        bench=bench,
        steps=steps,
        tables=partial(_tables, bench),
        conditions=bench.settings.conditions(),
        culprit=partial(tester_culprit, (OCTETS,)),
    )


def _baseline(bench: Bench, ledger: Ledger, _: Results) -> Outcome:
    """Return the outcome of full segments with short answers on the idle path."""
    one, other = bench.testers[:2]
    probe = {
        "name": "probe",
        "from": one,
        "to": other,
        "frames": f"{OCTETS} B",
        "arrivals": {"regular": f"{_PROBE_PS} ps"},
        "response": {"frames": f"{_ANSWER_OCTETS} B", "timeout": "1 s"},
        "port": bench.settings.port,
    }
    return ledger.measure(
        Stimulus(label={}, transmit_ps=round(bench.settings.trial_s * PS_PER_S), flows=(probe,))
    )


def windows(bandwidth_delay_octets: float) -> tuple[int, ...]:
    """Return windows in octets, at least two segments each, without repetition."""
    least = LEAST_SEGMENTS * SEGMENT_OCTETS
    return tuple(
        dict.fromkeys(max(least, round(share * bandwidth_delay_octets)) for share in WINDOWS)
    )


def _connections(bench: Bench, ledger: Ledger, results: Results) -> tuple[Connected, ...]:
    found: Throughput = results[key_of(THROUGHPUT, OCTETS)]
    if found.rate is None:
        return ()
    round_trip_s = baseline_s(results)
    path_bps = found.rate * SEGMENT_OCTETS * 8
    product = path_bps * round_trip_s / 8
    sizes: Sequence[int | None] = (None,) if bench.settings.is_live else windows(product)
    outcomes = ledger.measure_all([_stimulus(bench, size) for size in sizes])
    return tuple(
        Connected(
            size,
            None if size is None else size / product,
            path_bps if size is None else min(path_bps, 8 * size / round_trip_s),
            outcome,
        )
        for size, outcome in zip(sizes, outcomes, strict=True)
    )


def baseline_s(results: Results) -> float:
    """Return the shortest round trip of the idle path, in s."""
    return float(results[BASELINE].round_trip_s)


def _stimulus(bench: Bench, window: int | None) -> Stimulus:
    one, other = bench.testers[:2]
    lasts_s = STANDARD_S if bench.settings.is_standard else max(1.0, bench.settings.trial_s)
    size = _NO_LIMIT_OCTETS if window is None else window
    flow = {
        "name": "connection",
        "from": one,
        "to": other,
        "transfer": {"stream": {}, "tcp": {"window": f"{size} B"}},
    }
    text = "the host's" if window is None else f"{window} B"
    return Stimulus(label={"window": text}, transmit_ps=round(lasts_s * PS_PER_S), flows=(flow,))


def _tables(bench: Bench, results: Results) -> tuple[Test, ...]:
    found: Throughput = results[key_of(THROUGHPUT, OCTETS)]
    base_s = baseline_s(results)
    baseline = Test(
        BASELINE,
        "Round trip of the idle path",
        "RFC 6349 section 3.2",
        (Column("round_trip", "round trip", "µs", "lower"),),
        (
            Row(
                {"frames": f"{OCTETS} B, answers {_ANSWER_OCTETS} B"},
                {"round_trip": seconds(base_s)},
            ),
        ),
    )
    return (
        generator_table({OCTETS: results[key_of(GENERATOR, OCTETS)]}),
        throughput_table(
            [found], clause="RFC 6349 section 3.2: bottleneck bandwidth", name=THROUGHPUT
        ),
        baseline,
        _connection_table(results[CONNECTION], base_s),
    )


def _connection_table(found: Sequence[Connected], base_s: float) -> Test:
    rows = []
    for each in found:
        outcome = each.outcome
        rate_bps = outcome.value(Metric.DATA_RATE)
        again = outcome.value(Metric.RETRANSMITTED)
        segments = rate_bps * outcome.transmit_s / 8 / SEGMENT_OCTETS + again
        trip_s = outcome.loaded_round_trip_s
        window = "the host's" if each.window_octets is None else f"{each.window_octets} B"
        rows.append(
            Row(
                {"window": window},
                {
                    "share": each.share,
                    "rate": rate_bps / 1e6,
                    "expected": each.expected_bps / 1e6,
                    "time_ratio": each.expected_bps / rate_bps if rate_bps > 0 else None,
                    "efficiency": 100 * (segments - again) / segments if segments > 0 else None,
                    "round_trip": seconds(trip_s),
                    "buffer_delay": 100 * (trip_s - base_s) / base_s if trip_s == trip_s else None,
                },
            )
        )
    return Test(
        CONNECTION,
        "TCP throughput",
        "RFC 6349 section 4",
        (
            Column("share", "of BDP"),
            Column("rate", "TCP", "Mb/s", "higher"),
            Column("expected", "expected", "Mb/s"),
            Column("time_ratio", "time ratio", "", "lower"),
            Column("efficiency", "efficient", "%", "higher"),
            Column("round_trip", "round trip", "µs"),
            Column("buffer_delay", "buffer delay", "%", "lower"),
        ),
        tuple(rows),
        (
            "Expected is the lower of window over round trip and the data of full segments at the "
            "throughput, which is too low by the width of its search at most; the time ratio is "
            "expected over TCP.",
        ),
    )
