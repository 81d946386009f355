"""Claims of sections 3.3 and 4.3: the queues of a generator host, and an open or shorted cable."""

from collections.abc import Iterator, Mapping

from ethermeter.entities import mean_ps, senders
from ethermeter.metrics import Metric
from ethermeter.results.interval import exact
from ethermeter.results.query import MissingError, Results
from ethermeter.results.trials import PS_PER_S
from ethermeter.studies.judging import Entry, Finding, Rule, rules_of

CLEARLY = 1.2
"""How many times as long one time is as the other where the text's "longer" holds clearly."""
USUALLY = 0.9
"""Share of the buffers from which a queue is usually full; below the rest it is usually empty."""
FAULT = "segment.cable_fault"


def queue_full(entry: Entry, results: Results) -> Finding:
    """Least share of the buffers in the output queue where packets take longer to send."""
    points = [of for of, longer in _points(entry, results) if longer > CLEARLY]
    full = [_share(of, Metric.OUTPUT_QUEUE) for of in _some(points)]
    empty = max(_share(of, Metric.TRANSMITTED_QUEUE) for of in points)
    busy = max(of.estimate(Metric.GENERATOR_BUSY).value for of in points)
    holds = min(full) > USUALLY and empty < 1 - USUALLY and busy < 1
    remark = (
        f"{len(points)} points: at most {empty:.2f} in the other queue, busy at most {busy:.0%}"
    )
    return Finding(exact(min(full)), holds, remark)


def queue_empty(entry: Entry, results: Results) -> Finding:
    """Largest share of the buffers in the output queue where packets take longer to generate."""
    points = [of for of, longer in _points(entry, results) if longer < 1 / CLEARLY]
    empty = [_share(of, Metric.OUTPUT_QUEUE) for of in _some(points)]
    full = min(_share(of, Metric.TRANSMITTED_QUEUE) for of in points)
    busy = min(of.estimate(Metric.GENERATOR_BUSY).value for of in points)
    # The first packet of the measured window may have been begun before it.
    holds = max(empty) < 1 - USUALLY and full > USUALLY - 0.1 and busy > 0.999
    remark = (
        f"{len(points)} points: at least {full:.2f} in the other queue, busy at least {busy:.1%}"
    )
    return Finding(exact(max(empty)), holds, remark)


def _points(entry: Entry, results: Results) -> Iterator[tuple[Results, float]]:
    """Yield points with the time to send a packet over the time to generate one."""
    for of in results.points(entry.series):
        flow = senders(of.scenario)[0].flow
        if flow.generator is None:
            raise MissingError(f"a point of {entry.series} without a generator")
        sent_s = of.estimate(Metric.TRANSMISSION_DELAY).value + mean_ps(flow.service) / PS_PER_S
        yield of, sent_s / (mean_ps(flow.generator.time) / PS_PER_S)


def _some(points: list[Results]) -> list[Results]:
    if not points:
        raise MissingError("no point at which one time is clearly longer")
    return points


def _share(of: Results, metric: Metric) -> float:
    generator = senders(of.scenario)[0].flow.generator
    assert generator is not None, "it was looked for"
    return of.estimate(metric).value / generator.buffers


def cable_stops_all(entry: Entry, results: Results) -> Finding:
    """Largest utilisation with a cable that is open or shorted in all of the measured window."""
    whole = results.at(entry.series, {FAULT: entry.text("whole")}).estimate(Metric.UTILISATION)
    faulty = [
        float(results.at(entry.series, {FAULT: fault}).values(Metric.UTILISATION).max())
        for fault in entry.texts("faulty")
    ]
    repaired = results.at(entry.series, {FAULT: entry.text("repaired")}).estimate(
        Metric.UTILISATION
    )
    remark = f"{whole.value:.3f} with a whole cable, {repaired.value:.3f} after the repair"
    return Finding(exact(max(faulty)), max(faulty) == 0 < whole.low, remark)


RULES: Mapping[str, Rule] = rules_of(globals())
