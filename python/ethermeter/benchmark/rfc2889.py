"""RFC 2889: meshes, congestion control, forward pressure, addresses and broadcast of switches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ethermeter.analysis.benchmark import Column, Refusal, Row, Test
from ethermeter.benchmark.bench import Bench, Stimulus, Stream
from ethermeter.benchmark.networks import ADDRESS, with_addresses, with_gap
from ethermeter.benchmark.outcome import Outcome
from ethermeter.benchmark.rates import (
    GENERATOR,
    Ceiling,
    Pairs,
    Throughput,
    frame_text,
    generator_step,
    key_of,
    line_rate,
    rate_stimulus,
    tester_culprit,
    throughput_step,
)
from ethermeter.benchmark.rfc3918 import latencies, latency_table
from ethermeter.benchmark.searches import Goal, halving_search, longest
from ethermeter.benchmark.steps import Ledger, Results, Step, Suite
from ethermeter.benchmark.tables import FRAMES_PER_S, generator_table, throughput_table
from ethermeter.experiment.network import MOST_NODES
from ethermeter.units import PS_PER_S

FULL, PARTIAL, CONGESTION, PRESSURE = "full-mesh", "partial-mesh", "congestion", "forward-pressure"
CACHE, LEARNING, BROADCAST = "address-cache", "address-learning", "broadcast"
BROADCAST_LATENCY = "broadcast-latency"
OVERLOAD = "-overload"
SHORT_GAP_OCTETS = 11
"""Gap of the forward pressure test: 88 bits (section 5.6)."""
CONGESTED_PORTS = 4
_ADDRESS_OCTETS = 64
_SPARE_NODES = 50
_SPACING = 8
"""Times of a frame from one frame to a learned address to the next: no buffer fills."""
_HELD = 0.99
"""Share of the frames to the port without congestion that must arrive while frames are sent."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """A pattern of traffic: the name of its test, in words, its clause and its pairs."""

    name: str
    title: str
    clause: str
    pairs: Pairs


def meshes(testers: Sequence[str]) -> tuple[Mesh, ...]:
    """Return the fully meshed and the partially meshed pattern of some testers."""
    half = len(testers) // 2
    full = [(one, [other for other in testers if other != one]) for one in testers]
    part = [(one, list(testers[half : 2 * half])) for one in testers[:half]]
    return (
        Mesh(FULL, "Fully meshed throughput", "RFC 2889 section 5.1", full),
        Mesh(PARTIAL, "Partially meshed throughput", "RFC 2889 section 5.4, one direction", part),
    )


def suite(bench: Bench) -> Suite:
    """Return the suite of a switch between several testers."""
    testers = bench.testers
    refused: list[Refusal] = []
    steps: list[Step] = []
    source: Pairs = [(testers[0], list(testers[1:]))]
    full = meshes(testers)[0].pairs
    is_congestible = len(testers) >= CONGESTED_PORTS
    if not is_congestible:
        refused.append(Refusal(CONGESTION, f"it needs {CONGESTED_PORTS} testers"))
    is_live = bench.settings.is_live
    if is_live:
        why = "the gap between frames is that of the hosts' cards"
        refused.append(Refusal(PRESSURE, why))
        why = "an agent sends from the address of its host only"
        refused += [Refusal(name, why) for name in (CACHE, LEARNING)]
    elif len(testers) < 3:
        why = "it needs 3 testers: a learning, a test and a monitoring port"
        refused += [Refusal(name, why) for name in (CACHE, LEARNING)]
    for octets in bench.settings.frames:
        needs = (key_of(GENERATOR, octets),)
        steps.append(generator_step(bench, octets, full, both_ways=True))
        for mesh in meshes(testers):
            steps.append(throughput_step(bench, octets, mesh.pairs, name=mesh.name))
            steps.append(
                Step(
                    key_of(mesh.name + OVERLOAD, octets),
                    partial(_overload, bench, octets, mesh.pairs),
                    needs,
                )
            )
        if is_congestible:
            steps.append(
                Step(key_of(CONGESTION, octets), partial(_congestion, bench, octets), needs)
            )
        if not is_live:
            steps.append(Step(key_of(PRESSURE, octets), partial(_pressure, bench, octets)))
        steps += [
            throughput_step(bench, octets, source, name=BROADCAST, cast="broadcast"),
            Step(
                key_of(BROADCAST_LATENCY, octets),
                partial(latencies, bench, octets, source, "broadcast", BROADCAST),
                (key_of(BROADCAST, octets),),
                bench.settings.latency_trials,
            ),
        ]
    has_addresses = not is_live and len(testers) >= 3
    if has_addresses:
        steps.append(Step(CACHE, partial(_cache, bench), expected_trials=12))
        steps.append(Step(LEARNING, partial(_learning, bench), (CACHE,)))
    return Suite(
        name="rfc2889",
        title="RFC 2889",
        bench=bench,
        steps=tuple(steps),
        tables=partial(_tables, bench, is_congestible=is_congestible, has_addresses=has_addresses),
        conditions=bench.settings.conditions() | {"ports": str(len(testers))},
        refused=tuple(refused),
        culprit=partial(tester_culprit, bench.settings.frames),
    )


def _overload(
    bench: Bench, octets: int, pairs: Pairs, ledger: Ledger, results: Results
) -> Outcome | None:
    """Return the outcome of the highest load that the testers can offer."""
    ceiling: Ceiling = results[key_of(GENERATOR, octets)]
    if ceiling.rate is None:
        return None
    rate = min(ceiling.rate, line_rate(bench, pairs, octets))
    return ledger.measure(rate_stimulus(bench, pairs, octets, rate, bench.settings.trial_s))


def _congestion(bench: Bench, octets: int, ledger: Ledger, results: Results) -> Outcome | None:
    """Return the outcome of one port with half of a sender's frames, and one with 150%.

    Its flows are: first sender to the port without congestion, first to the congested port, second
    to the congested port.
    """
    ceiling: Ceiling = results[key_of(GENERATOR, octets)]
    if ceiling.rate is None:
        return None
    first, second, free, congested = bench.testers[:CONGESTED_PORTS]
    trial_s = bench.settings.trial_s
    pairs: Pairs = [(first, [free, congested]), (second, [congested])]
    single = replace(bench, settings=replace(bench.settings, streams=1))
    rate = min(ceiling.rate, line_rate(bench, pairs, octets))
    stimulus = rate_stimulus(single, pairs, octets, rate, trial_s)
    # Where a switch holds senders back, what they keep must still come out.
    return ledger.measure(replace(stimulus, drain_s=bench.settings.drain_s + trial_s))


def _pressure(bench: Bench, octets: int, ledger: Ledger, _: Results) -> Outcome:
    """Return the outcome of frames with a gap of 88 bits."""
    one, other = bench.testers[:2]
    link = bench.link_of(one)
    period_ps = (link.preamble_octets + octets + SHORT_GAP_OCTETS) * link.ps_per_octet
    transmit_ps = round(bench.settings.trial_s * PS_PER_S)
    stream = Stream(
        sender=one,
        receivers=(other,),
        octets=octets,
        arrivals={"regular": f"{period_ps} ps", "phase": "0 s"},
        intended=-(-transmit_ps // period_ps),
    )
    return ledger.measure(
        Stimulus(
            label={"frame": frame_text(octets), "gap": "88 bit"},
            transmit_ps=transmit_ps,
            streams=(stream,),
            network=with_gap(bench, one, SHORT_GAP_OCTETS),
        )
    )


def address_stimulus(bench: Bench, count: int, rate: float) -> Stimulus:
    """Return the stimulus that lets a device learn addresses, and then sends a frame to each.

    Parameters
    ----------
    bench
        The device; its first tester is the test port, the second one monitors, and the third is
        replaced by the hosts whose addresses are learned.
    count
        Addresses.
    rate
        Addresses/s that are presented.

    """
    test, _, learning = bench.testers[:3]
    octets = _ADDRESS_OCTETS
    frame_ps = bench.frame_ps(test, octets)
    between_ps = bench.period_ps(learning, octets, rate)
    spacing_ps = _SPACING * frame_ps
    begin_ps = (count + 1) * between_ps + PS_PER_S // 1000
    transmit_ps = begin_ps + (count + 1) * spacing_ps
    never_ps = 2 * transmit_ps

    def stream(sender: str, receiver: str, phase_ps: int) -> Stream:
        return Stream(
            sender=sender,
            receivers=(receiver,),
            octets=octets,
            arrivals={"regular": f"{never_ps} ps", "phase": f"{phase_ps} ps"},
            intended=1,
        )

    names = [f"{ADDRESS}{at}" for at in range(1, count + 1)]
    learned = [stream(name, test, at * between_ps) for at, name in enumerate(names)]
    asked = [stream(test, name, begin_ps + at * spacing_ps) for at, name in enumerate(names)]
    return Stimulus(
        label={"addresses": str(count), "load": f"{rate:.6g} /s"},
        transmit_ps=transmit_ps,
        streams=(*learned, *asked),
        network=with_addresses(bench, learning, count),
    )


def flooded(outcome: Outcome) -> int:
    """Return the frames to learned addresses that other ports received too."""
    return sum(flow.ignored > 0 for flow in outcome.flows[len(outcome.flows) // 2 :])


def _cache(bench: Bench, ledger: Ledger, _: Results) -> tuple[int, int]:
    """Return the most addresses without a flooded frame, and the most that are tried."""
    most = MOST_NODES - len(bench.nodes) - _SPARE_NODES
    rate = bench.line_rate(bench.testers[2], _ADDRESS_OCTETS) / _SPACING

    def is_cached(count: int) -> bool:
        return not flooded(ledger.measure(address_stimulus(bench, count, rate)))

    return longest(is_cached, most), most


@dataclass(frozen=True, slots=True)
class _Learned:
    """Addresses of a trial: presented, and learned."""

    sent: int
    received: int

    @property
    def intended(self) -> int:
        return self.sent


def _learning(bench: Bench, ledger: Ledger, results: Results) -> tuple[float | None, float, int]:
    """Return the highest learning rate, the highest that is tried, and the number of addresses."""
    count, _ = results[CACHE]
    most = bench.line_rate(bench.testers[2], _ADDRESS_OCTETS)
    if not count:
        return None, most, 0

    def measure(_: float, rate: float) -> _Learned:
        outcome = ledger.measure(address_stimulus(bench, count, rate))
        return _Learned(count, count - flooded(outcome))

    goal = Goal(width=bench.settings.width)
    return halving_search(measure, goal, least=most / 1000, most=most).rate, most, count


def _tables(
    bench: Bench, results: Results, *, is_congestible: bool, has_addresses: bool
) -> tuple[Test, ...]:
    frames = bench.settings.frames
    tests = [generator_table({octets: results[key_of(GENERATOR, octets)] for octets in frames})]
    for mesh in meshes(bench.testers):
        found: list[Throughput] = [results[key_of(mesh.name, octets)] for octets in frames]
        table = throughput_table(found, clause=mesh.clause, name=mesh.name, title=mesh.title)
        overloads = [results[key_of(mesh.name + OVERLOAD, octets)] for octets in frames]
        rows = [
            replace_values(row, {"forwarding": _forwarding(outcome, len(mesh.pairs))})
            for row, outcome in zip(table.rows, overloads, strict=True)
        ]
        column = Column("forwarding", "at most load", FRAMES_PER_S, "higher")
        tests.append(
            Test(
                table.name,
                table.title,
                table.clause,
                (*table.columns, column),
                tuple(rows),
                (*table.remarks, "Rates are of each sending port."),
            )
        )
    if is_congestible:
        tests.append(_congestion_table(bench, results))
    if not bench.settings.is_live:
        tests.append(_pressure_table(bench, results))
    if has_addresses:
        tests.append(_address_table(results))
    broadcast = [results[key_of(BROADCAST, octets)] for octets in frames]
    tests.append(
        throughput_table(
            broadcast, clause="RFC 2889 section 5.10", name=BROADCAST, title="Broadcast throughput"
        )
    )
    tests.append(
        latency_table(
            bench,
            results,
            name=BROADCAST_LATENCY,
            title="Broadcast latency at the throughput",
            clause="RFC 2889 section 5.10; one-way delays of all receivers",
        )
    )
    return tuple(tests)


def replace_values(row: Row, values: dict[str, float | str | None]) -> Row:
    """Return a row with further values."""
    return Row(row.point, {**row.values, **values})


def _forwarding(outcome: Outcome | None, senders: int) -> float | None:
    """Return the frames/s that arrived, by sender."""
    return None if outcome is None else outcome.received / outcome.transmit_s / senders


def _congestion_table(bench: Bench, results: Results) -> Test:
    rows = []
    for octets in bench.settings.frames:
        outcome: Outcome | None = results[key_of(CONGESTION, octets)]
        if outcome is None:
            continue
        free, *congested = outcome.flows
        lost = 1 - free.received / free.sent if free.sent else 0.0
        sent = sum(flow.sent for flow in congested)
        of_congested = 1 - sum(flow.received for flow in congested) / sent if sent else 0.0
        in_time = np.clip(outcome.messages[:, 0], 0, None).sum() / free.sent if free.sent else 1.0
        is_blocked = lost > 0 or in_time < _HELD
        rows.append(
            Row(
                {"frame": frame_text(octets)},
                {
                    "free": 100 * lost,
                    "congested": 100 * of_congested,
                    "blocking": "yes" if is_blocked else "no",
                    "pressure": "no" if of_congested > 0 else "yes",
                },
            )
        )
    return Test(
        CONGESTION,
        "Congestion control",
        "RFC 2889 section 5.5",
        (
            Column("free", "lost, free port", "%", "lower"),
            Column("congested", "congested", "%"),
            Column("blocking", "blocking"),
            Column("pressure", "pressure"),
        ),
        tuple(rows),
        (
            "Blocking: frames to the free port are lost or late, because others wait for the "
            "congested port. Pressure: the device holds senders back instead of losing frames.",
        ),
    )


def _pressure_table(bench: Bench, results: Results) -> Test:
    rows = []
    for octets in bench.settings.frames:
        outcome: Outcome = results[key_of(PRESSURE, octets)]
        rate = np.clip(outcome.messages, 0, None).sum() / outcome.transmit_s
        line = bench.line_rate(bench.testers[1], octets)
        # A frame more may fall into the time of the transmission.
        is_pressed = rate > line + 1 / outcome.transmit_s
        rows.append(
            Row(
                {"frame": frame_text(octets)},
                {
                    "offered": outcome.sent / outcome.transmit_s,
                    "rate": float(rate),
                    "line_rate": line,
                    "pressure": "yes" if is_pressed else "no",
                },
            )
        )
    return Test(
        PRESSURE,
        "Forward pressure",
        "RFC 2889 section 5.6: gaps of 88 bits",
        (
            Column("offered", "offered", FRAMES_PER_S),
            Column("rate", "forwarded", FRAMES_PER_S),
            Column("line_rate", "line rate", FRAMES_PER_S),
            Column("pressure", "forward pressure"),
        ),
        tuple(rows),
    )


def _address_table(results: Results) -> Test:
    count, most = results[CACHE]
    rate, most_rate, learned = results[LEARNING]
    remarks = []
    if count == most:
        remarks.append(f"at least {most} addresses: networks have at most {MOST_NODES} nodes")
    if rate is not None and rate >= most_rate:
        remarks.append(f"{learned} addresses are learned at the line rate")
    return Test(
        CACHE,
        "Addresses",
        "RFC 2889 sections 5.7 and 5.8",
        (
            Column("capacity", "cached", "addresses", "higher"),
            Column("rate", "learned at", "addresses/s", "higher"),
        ),
        (Row({"port": "one"}, {"capacity": count, "rate": rate}),),
        tuple(remarks),
    )
