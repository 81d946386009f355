"""RFC 2544 and RFC 9004: throughput, latency, frame loss rate, back-to-back, system recovery."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ethermeter.analysis.benchmark import Column, Row, Test
from ethermeter.benchmark.bench import Bench, Stimulus, Stream
from ethermeter.benchmark.outcome import Outcome
from ethermeter.benchmark.rates import (
    GENERATOR,
    THROUGHPUT,
    Ceiling,
    Pairs,
    Throughput,
    directed,
    frame_text,
    generator_step,
    key_of,
    line_rate,
    punctual,
    rate_stimulus,
    tester_culprit,
    throughput_step,
)
from ethermeter.benchmark.searches import longest
from ethermeter.benchmark.steps import Ledger, Results, Step, Suite
from ethermeter.benchmark.tables import (
    FRAMES_PER_S,
    LOST,
    delay_cautions,
    generator_table,
    lost_of_delays,
    seconds,
    throughput_table,
)
from ethermeter.units import PS_PER_S

LATENCY, LOSS, BURST, RECOVERY = "latency", "frame-loss", "back-to-back", "recovery"
LOADS = tuple(range(100, 0, -10))
"""Loads of the frame loss rate, in percent of the line rate (section 26.3)."""
LONGEST_BURST_S = 2.0
"""Duration of the longest burst (section 26.4)."""
_AFTER_BURST_PS = PS_PER_S // 500
RECOVERY_BATCHES = 1000
_ONE_BIT = "1 bit/s"
"""Rate of a token bucket that releases its burst, and then nothing for the rest of a trial."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Longest burst at line rate without loss: the mean of some searches, in frames."""

    frames: float | None
    is_longest: bool = False
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Recovery:
    """Time from the end of an overload until frames arrive as they are sent, in s."""

    seconds: float | None
    resolution_s: float = 0.0
    why_not: str = ""


def suite(bench: Bench) -> Suite:
    """Return the suite of a device between two testers."""
    one, other = bench.testers[:2]
    pairs = directed(bench, [(one, (other,))])
    both_ways = bench.settings.is_bidirectional
    steps: list[Step] = []
    for octets in bench.settings.frames:
        needs = (key_of(GENERATOR, octets),)
        after = (key_of(THROUGHPUT, octets),)
        steps += [
            generator_step(bench, octets, pairs, both_ways=both_ways),
            throughput_step(bench, octets, pairs),
            Step(
                key_of(LATENCY, octets),
                partial(_latency, bench, octets, pairs),
                after,
                bench.settings.latency_trials,
            ),
            Step(key_of(LOSS, octets), partial(_loss, bench, octets, pairs), needs, 8),
            Step(key_of(BURST, octets), partial(_burst, bench, octets, one, other), after, 15),
            Step(key_of(RECOVERY, octets), partial(_recovery, bench, octets, one, other), after),
        ]
    return Suite(
        name="rfc2544",
        title="RFC 2544 with RFC 9004",
        bench=bench,
        steps=tuple(steps),
        tables=partial(_tables, bench, one, other),
        conditions=bench.settings.conditions(),
        culprit=partial(tester_culprit, bench.settings.frames),
    )


def _latency(
    bench: Bench, octets: int, pairs: Pairs, ledger: Ledger, results: Results
) -> tuple[Outcome, ...]:
    found: Throughput = results[key_of(THROUGHPUT, octets)]
    if found.rate is None:
        return ()
    settings = bench.settings
    stimuli = [
        rate_stimulus(bench, pairs, octets, found.rate, settings.latency_s)
        for _ in range(settings.latency_trials)
    ]
    return tuple(ledger.measure_all(stimuli))


def _loss(
    bench: Bench, octets: int, pairs: Pairs, ledger: Ledger, results: Results
) -> tuple[tuple[int, float, Outcome], ...]:
    """Return load in percent, rate and outcome, until two loads in a row lost nothing."""
    ceiling: Ceiling = results[key_of(GENERATOR, octets)]
    if ceiling.rate is None:
        return ()
    found: list[tuple[int, float, Outcome]] = []
    for percent in LOADS:
        rate = line_rate(bench, pairs, octets) * percent / 100
        if rate > ceiling.rate * (1 + 1e-9):
            continue
        outcome = punctual(
            ledger, rate_stimulus(bench, pairs, octets, rate, bench.settings.trial_s)
        )
        found.append((percent, rate, outcome))
        if len(found) > 1 and not any(each.lost_frames for _, _, each in found[-2:]):
            break
    return tuple(found)


def burst_stimulus(bench: Bench, octets: int, sender: str, receiver: str, frames: int) -> Stimulus:
    """Return the stimulus of a burst at line rate."""
    link = bench.link_of(sender)
    volume = frames * (link.preamble_octets + octets + link.gap_octets)
    burst = Stream(
        sender=sender,
        receivers=(receiver,),
        octets=octets,
        arrivals={"token_bucket": {"rate": _ONE_BIT, "burst": f"{volume} B"}},
        intended=frames,
    )
    return Stimulus(
        label={"frame": frame_text(octets), "burst": str(frames)},
        transmit_ps=frames * bench.frame_ps(sender, octets) + _AFTER_BURST_PS,
        streams=(burst,),
    )


def _burst(
    bench: Bench, octets: int, sender: str, receiver: str, ledger: Ledger, results: Results
) -> Burst:
    found: Throughput = results[key_of(THROUGHPUT, octets)]
    if found.is_line_rate:
        return Burst(None, why_not="not needed: no frame is lost at the line rate (RFC 9004)")
    if not found.ceiling.is_line_rate:
        return Burst(None, why_not="refused: bursts at line rate are beyond the testers")
    most = int(LONGEST_BURST_S * PS_PER_S) // bench.frame_ps(sender, octets)

    def is_whole(frames: int) -> bool:
        stimulus = burst_stimulus(bench, octets, sender, receiver, frames)
        return not ledger.measure(stimulus).lost_frames

    lengths = [longest(is_whole, most) for _ in range(bench.settings.burst_searches)]
    return Burst(float(np.mean(lengths)), is_longest=min(lengths) == most)


def _recovery(
    bench: Bench, octets: int, sender: str, receiver: str, ledger: Ledger, results: Results
) -> Recovery:
    found: Throughput = results[key_of(THROUGHPUT, octets)]
    if found.rate is None or found.is_line_rate:
        return Recovery(None, why_not="no overload: no frame is lost at the line rate")
    if not found.ceiling.is_line_rate:
        return Recovery(None, why_not="refused: an overload at line rate is beyond the testers")
    period_ps = bench.period_ps(sender, octets, found.rate / 2)
    each = max(1, round(bench.settings.trial_s * PS_PER_S / RECOVERY_BATCHES / period_ps))
    transmit_ps = RECOVERY_BATCHES * each * period_ps
    overload_ps = transmit_ps // 2
    link = bench.link_of(sender)
    volume = link.preamble_octets + octets + link.gap_octets
    # Beside the steady stream, the burst has what is left of the line rate.
    share = 1 - bench.frame_ps(sender, octets) / period_ps
    frames = int(overload_ps * share) // bench.frame_ps(sender, octets)
    steady = Stream(
        sender=sender,
        receivers=(receiver,),
        octets=octets,
        arrivals={"regular": f"{period_ps} ps", "phase": f"{period_ps // 2} ps"},
        intended=RECOVERY_BATCHES * each,
    )
    burst = Stream(
        sender=sender,
        receivers=(receiver,),
        octets=octets,
        arrivals={"token_bucket": {"rate": _ONE_BIT, "burst": f"{frames * volume} B"}},
        intended=frames,
    )
    outcome = ledger.measure(
        Stimulus(
            label={"frame": frame_text(octets), "load": "line rate, then half of the throughput"},
            transmit_ps=transmit_ps,
            streams=(steady, burst),
            batches=RECOVERY_BATCHES,
        )
    )
    batch_s = transmit_ps / PS_PER_S / RECOVERY_BATCHES
    if outcome.messages.shape[0] != RECOVERY_BATCHES or (outcome.messages[:, 0] < 0).any():
        return Recovery(None, why_not="agents did not count frames by batch")
    return Recovery(
        recovery_s(outcome.messages[:, 0], each, batch_s, overload_ps / PS_PER_S), batch_s
    )


def recovery_s(arrived: "np.ndarray", each: int, batch_s: float, overload_s: float) -> float | None:
    """Return the time from the end of an overload until nothing more is missing, in s.

    Parameters
    ----------
    arrived
        Frames of the steady stream that arrived in each batch.
    each
        Frames that it sends in each batch.
    batch_s, overload_s
        Length of a batch, and time from the beginning to the end of the overload, in s.

    Returns
    -------
    :
        The time, at most a batch too long; None if frames are still missing at the end.

    """
    missing = np.cumsum(each - arrived)
    # One frame may be under way at the end of a batch.
    unsettled = np.nonzero(np.abs(missing - missing[-1]) > 1)[0]
    last = int(unsettled[-1]) if unsettled.size else -1
    if last >= len(arrived) - 2:
        return None
    return max(0.0, (last + 2) * batch_s - overload_s)


def _tables(bench: Bench, one: str, other: str, results: Results) -> tuple[Test, ...]:
    frames = bench.settings.frames
    found: list[Throughput] = [results[key_of(THROUGHPUT, octets)] for octets in frames]
    return (
        generator_table({octets: results[key_of(GENERATOR, octets)] for octets in frames}),
        throughput_table(found, clause="RFC 2544 section 26.1"),
        _latency_table(bench, one, other, results),
        _loss_table(bench, results),
        _burst_table(bench, one, found, results),
        _recovery_table(bench, results),
    )


def _latency_table(bench: Bench, one: str, other: str, results: Results) -> Test:
    rows = []
    for octets in bench.settings.frames:
        outcomes: Sequence[Outcome] = results[key_of(LATENCY, octets)]
        if not outcomes:
            continue
        delays = [outcome.delays for outcome in outcomes]
        mean_s = float(np.mean([of.mean_s for of in delays]))
        wires_s = bench.serialisation_s(one, other, octets)
        rows.append(
            Row(
                {"frame": frame_text(octets)},
                {
                    "latency": None if bench.settings.is_live else seconds(mean_s - wires_s),
                    "delay": seconds(mean_s),
                    "least": seconds(min(of.least_s for of in delays)),
                    "most": seconds(max(of.most_s for of in delays)),
                    "variation": seconds(max(of.variation_s for of in delays)),
                    "trials": len(outcomes),
                    **lost_of_delays(outcomes),
                },
            )
        )
    remarks = (
        "Latency is from the last bit of a frame into the device to its first bit out of it "
        "(store and forward, RFC 1242): the one-way delay without the testers' links."
        if not bench.settings.is_live
        else "One-way delays are from the call of the sender to the arrival at the receiver; "
        "latency would need the times of single bits on both wires."
    )
    return Test(
        LATENCY,
        "Latency at the throughput",
        "RFC 2544 section 26.2; of every frame that arrived while frames were sent, not of one "
        "tagged frame a trial",
        (
            Column("latency", "latency", "µs", "lower"),
            Column("delay", "one-way", "µs", "lower"),
            Column("least", "least", "µs"),
            Column("most", "most", "µs"),
            Column("variation", "variation", "µs"),
            Column("trials", "trials"),
            LOST,
        ),
        tuple(rows),
        (remarks,),
        delay_cautions({of: results[key_of(LATENCY, of)] for of in bench.settings.frames}),
    )


def _loss_table(bench: Bench, results: Results) -> Test:
    rows = [
        Row(
            {"frame": frame_text(octets), "load": f"{percent}%"},
            {"rate": rate, "loss": 100 * outcome.loss},
        )
        for octets in bench.settings.frames
        for percent, rate, outcome in results[key_of(LOSS, octets)]
    ]
    return Test(
        LOSS,
        "Frame loss rate",
        "RFC 2544 section 26.3",
        (Column("rate", "offered", FRAMES_PER_S), Column("loss", "lost", "%", "lower")),
        tuple(rows),
        may_stop=True,
    )


def _burst_table(bench: Bench, sender: str, found: Sequence[Throughput], results: Results) -> Test:
    rows, remarks = [], []
    for throughput in found:
        octets = throughput.octets
        burst: Burst = results[key_of(BURST, octets)]
        if burst.why_not:
            remarks.append(f"{frame_text(octets)}: {burst.why_not}")
        if burst.is_longest:
            remarks.append(f"{frame_text(octets)}: the longest burst that is tried loses nothing")
        line = bench.line_rate(sender, octets)
        implied_s = corrected_s = None
        if burst.frames is not None and throughput.rate is not None:
            implied_s, corrected_s = buffer_times(burst.frames, throughput.rate, line)
        rows.append(
            Row(
                {"frame": frame_text(octets)},
                {
                    "burst": burst.frames,
                    "implied": None if implied_s is None else 1e6 * implied_s,
                    "corrected": None if corrected_s is None else 1e6 * corrected_s,
                    "buffer": None if corrected_s is None else corrected_s * line,
                },
            )
        )
    return Test(
        BURST,
        "Back-to-back frames and buffer",
        "RFC 9004 section 5.4",
        (
            Column("burst", "burst", "frames", "higher"),
            Column("implied", "implied", "µs"),
            Column("corrected", "corrected", "µs", "higher"),
            Column("buffer", "buffer", "frames", "higher"),
        ),
        tuple(rows),
        tuple(remarks),
    )


def buffer_times(frames: float, throughput: float, line: float) -> tuple[float, float]:
    """Return the implied and the corrected buffer time of the longest burst, in s.

    Parameters
    ----------
    frames
        Length of the burst.
    throughput, line
        Measured throughput and highest theoretical rate, in frames/s.

    Source
    ------
    RFC 9004 section 5.4: the device forwards while the burst comes in.

    """
    implied_s = frames / line
    return implied_s, implied_s * (1 - throughput / line)


def _recovery_table(bench: Bench, results: Results) -> Test:
    rows, remarks = [], []
    for octets in bench.settings.frames:
        found: Recovery = results[key_of(RECOVERY, octets)]
        if found.why_not:
            remarks.append(f"{frame_text(octets)}: {found.why_not}")
        elif found.seconds is None:
            remarks.append(f"{frame_text(octets)}: frames are missing until the end of the trial")
        rows.append(
            Row(
                {"frame": frame_text(octets)},
                {
                    "recovery": None if found.seconds is None else 1e3 * found.seconds,
                    "resolution": 1e3 * found.resolution_s or None,
                },
            )
        )
    remarks.append(
        "The overload is the line rate, not 110% of the throughput; the time ends when frames "
        "arrive as they are sent, so that it includes the emptying of buffers."
    )
    return Test(
        RECOVERY,
        "System recovery",
        "RFC 2544 section 26.5",
        (
            Column("recovery", "recovery", "ms", "lower"),
            Column("resolution", "resolution", "ms"),
        ),
        tuple(rows),
        tuple(remarks),
    )
