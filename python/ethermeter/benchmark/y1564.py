"""ITU-T Y.1564: service configuration, and service performance of all services together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ethermeter.analysis.benchmark import Column, Row, Test
from ethermeter.benchmark.bench import Bench, Stimulus, Stream
from ethermeter.benchmark.outcome import Outcome
from ethermeter.benchmark.rates import (
    GENERATOR,
    Ceiling,
    generator_step,
    key_of,
    rate_stimulus,
    tester_culprit,
)
from ethermeter.benchmark.services import Service
from ethermeter.benchmark.steps import Ledger, Results, Step, Suite
from ethermeter.benchmark.tables import generator_table, seconds
from ethermeter.faults import InputError
from ethermeter.units import PS_PER_S

CONFIGURATION, PERFORMANCE = "configuration", "performance"
STEPS = (0.25, 0.5, 0.75, 1.0)
"""Shares of the committed rate of the step load test."""
POLICING = 0.25
"""Excess over all agreed rates of the policing test, as a share of the excess rate, or of the
committed one where there is no excess rate.
"""
PERFORMANCE_S, QUICK_PERFORMANCE_S = 900.0, 5.0
PERFORMANCE_BATCHES = 100
_AVAILABLE = 0.5
"""Share of lost frames from which an interval is unavailable."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A load of a service in the configuration test; `outcome` is None beyond the testers."""

    what: str
    rate_bps: float
    must_hold: bool
    outcome: Outcome | None


def suite(bench: Bench) -> Suite:
    """Return the suite of services between two testers."""
    services = bench.settings.services
    if not services:
        allowed = "required by y1564: 'NAME: cir=RATE, frame=SIZE, ftd=TIME, fdv=TIME, flr=SHARE'"
        raise InputError.of_argument("services", "(missing)", allowed)
    names = [service.name for service in services]
    for name in names:
        if names.count(name) > 1:
            raise InputError.of_argument("services", name, "expected each name once")
    one, other = bench.testers[:2]
    lengths = tuple(dict.fromkeys(service.octets for service in services))
    pairs = [(one, (other,))]
    steps = [generator_step(bench, octets, pairs, both_ways=False) for octets in lengths]
    steps += [
        Step(
            f"{CONFIGURATION} {service.name}",
            partial(_configuration, bench, service),
            (key_of(GENERATOR, service.octets),),
            len(STEPS) + 2,
        )
        for service in services
    ]
    needs = tuple(key_of(GENERATOR, octets) for octets in lengths)
    steps.append(Step(PERFORMANCE, partial(_performance, bench), needs))
    return Suite(
        name="y1564",
        title="ITU-T Y.1564",
        bench=bench,
        steps=tuple(steps),
        tables=partial(_tables, bench, lengths),
        conditions=bench.settings.conditions(),
        culprit=partial(tester_culprit, lengths),
    )


def _configuration(
    bench: Bench, service: Service, ledger: Ledger, results: Results
) -> tuple[Loaded, ...]:
    ceiling: Ceiling = results[key_of(GENERATOR, service.octets)]
    one, other = bench.testers[:2]
    loads = [(f"CIR {100 * share:g}%", share * service.cir_bps, True) for share in STEPS]
    agreed_bps = service.cir_bps + service.eir_bps
    if service.eir_bps:
        loads.append(("CIR + EIR", agreed_bps, False))
    beyond_bps = POLICING * (service.eir_bps or service.cir_bps)
    loads.append(("policing", agreed_bps + beyond_bps, False))
    found = []
    for what, rate_bps, must_hold in loads:
        load = service.load(rate_bps)
        if ceiling.rate is None or load > ceiling.rate * (1 + 1e-9):
            found.append(Loaded(what, rate_bps, must_hold, None))
            continue
        stimulus = rate_stimulus(
            bench,
            [(one, (other,))],
            service.octets,
            load,
            bench.settings.trial_s,
            label={"service": service.name, "step": what},
        )
        found.append(Loaded(what, rate_bps, must_hold, ledger.measure(stimulus)))
    return tuple(found)


def _performance(bench: Bench, ledger: Ledger, results: Results) -> Outcome | None:
    """Return the outcome of all services at their committed rates at once."""
    one, other = bench.testers[:2]
    services = bench.settings.services
    for service in services:
        ceiling: Ceiling = results[key_of(GENERATOR, service.octets)]
        if ceiling.rate is None:
            return None
    lasts_s = PERFORMANCE_S if bench.settings.is_standard else QUICK_PERFORMANCE_S
    transmit_ps = round(lasts_s * PS_PER_S)
    streams: list[Stream] = []
    for service in services:
        streams += bench.rate_streams(
            [(one, (other,))],
            service.octets,
            service.load(service.cir_bps),
            transmit_ps=transmit_ps,
        )
    return ledger.measure(
        Stimulus(
            label={"services": str(len(services))},
            transmit_ps=transmit_ps,
            streams=tuple(streams),
            batches=PERFORMANCE_BATCHES,
        )
    )


COLUMNS = (
    Column("ir", "IR", "Mb/s"),
    Column("ftd", "FTD", "µs", "lower"),
    Column("fdv", "FDV", "µs", "lower"),
    Column("flr", "FLR", "%", "lower"),
)


def _tables(bench: Bench, lengths: Sequence[int], results: Results) -> tuple[Test, ...]:
    services = bench.settings.services
    return (
        generator_table({octets: results[key_of(GENERATOR, octets)] for octets in lengths}),
        _configuration_table(services, results),
        _performance_table(bench, results[PERFORMANCE]),
    )


def _configuration_table(services: Sequence[Service], results: Results) -> Test:
    rows, remarks = [], []
    for service in services:
        for loaded in results[f"{CONFIGURATION} {service.name}"]:
            point = {"service": service.name, "step": loaded.what}
            outcome: Outcome | None = loaded.outcome
            offered = loaded.rate_bps / 1e6
            if outcome is None:
                rows.append(Row(point, {"offered": offered, "verdict": "refused"}))
                remarks.append(f"{service.name}, {loaded.what}: beyond the limit of the testers")
                continue
            rate_bps = outcome.received * service.octets * 8 / outcome.transmit_s
            verdict = _verdict(service, loaded, outcome, rate_bps)
            rows.append(
                Row(
                    point,
                    {
                        "offered": offered,
                        "ir": rate_bps / 1e6,
                        "ftd": seconds(outcome.delays.most_s),
                        "fdv": seconds(outcome.delays.variation_s),
                        "flr": 100 * outcome.loss,
                        "verdict": verdict,
                    },
                )
            )
    remarks.append(
        "A policing step passes if no more than CIR + EIR arrives; CIR + EIR if CIR does."
    )
    return Test(
        CONFIGURATION,
        "Service configuration",
        "Y.1564 section 8.1",
        (Column("offered", "offered", "Mb/s"), *COLUMNS, Column("verdict", "")),
        tuple(rows),
        tuple(remarks),
    )


def _verdict(service: Service, loaded: Loaded, outcome: Outcome, rate_bps: float) -> str:
    if loaded.must_hold:
        return "pass" if not failures(service, outcome) else "fail"
    # A frame more or less at the ends of the transmission.
    frame_bps = 8 * service.octets / outcome.transmit_s
    if loaded.what == "policing":
        limit_bps = service.cir_bps + service.eir_bps
        return "pass" if rate_bps <= limit_bps + frame_bps else "fail"
    return "pass" if rate_bps >= service.cir_bps * (1 - service.loss) - frame_bps else "fail"


def failures(service: Service, outcome: Outcome) -> tuple[str, ...]:
    """Return the criteria of a service that a trial of it alone does not meet."""
    found = []
    if outcome.loss > service.loss:
        found.append("FLR")
    if service.delay_s is not None and not outcome.delays.most_s <= service.delay_s:
        found.append("FTD")
    if service.variation_s is not None and not outcome.delays.variation_s <= service.variation_s:
        found.append("FDV")
    return tuple(found)


def _performance_table(bench: Bench, outcome: Outcome | None) -> Test:
    rows = []
    services = bench.settings.services
    count = bench.settings.streams
    for at, service in enumerate(services if outcome is not None else ()):
        assert outcome is not None, "there is a row"
        mine = range(at * count, (at + 1) * count)
        sent = sum(outcome.flows[number].sent for number in mine)
        received = sum(outcome.flows[number].received for number in mine)
        delays_s = [outcome.largest_delay_s(number) for number in mine]
        variations_s = [outcome.variation_s(number) for number in mine]
        loss = 1 - received / sent if sent else 0.0
        available = availability(outcome.messages[:, list(mine)].sum(axis=1), sent)
        is_met = (
            loss <= service.loss
            and (service.delay_s is None or max(delays_s) <= service.delay_s)
            and (service.variation_s is None or max(variations_s) <= service.variation_s)
            and available >= service.availability
        )
        rows.append(
            Row(
                {"service": service.name},
                {
                    "ir": received * service.octets * 8 / outcome.transmit_s / 1e6,
                    "ftd": seconds(max(delays_s)),
                    "fdv": seconds(max(variations_s)),
                    "flr": 100 * loss,
                    "avail": 100 * available,
                    "verdict": "pass" if is_met else "fail",
                },
            )
        )
    return Test(
        PERFORMANCE,
        "Service performance",
        "Y.1564 section 8.2: all services at their CIR at once",
        (*COLUMNS, Column("avail", "AVAIL", "%", "higher"), Column("verdict", "")),
        tuple(rows),
    )


def availability(arrived: "np.ndarray", sent: int) -> float:
    """Return the share of intervals in which at least half of the frames arrived.

    Parameters
    ----------
    arrived
        Frames that arrived in each interval.
    sent
        Frames that were sent in all of them.

    """
    if not len(arrived) or (arrived < 0).any():
        return 1.0 if arrived.sum() else 0.0
    expected = sent / len(arrived)
    return float(np.mean(arrived >= _AVAILABLE * expected)) if expected else 0.0
