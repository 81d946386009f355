"""ERG (University of Aberdeen): claims of its LAN tests with a UDP generator and sink.

In one direction and in both, through hub, switch and router.

Throughput is data in completely received UDP datagrams, `Metric.DATA_RATE`, in Mb/s.
"""

from collections.abc import Mapping

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.analysis.verdicts import decision
from ethermeter.metrics import Metric
from ethermeter.results.interval import Floats, student
from ethermeter.results.query import MissingError, Results
from ethermeter.studies import live_claims
from ethermeter.studies.judging import Entry, Finding, Rule, rules_of

MBPS = 1e-6


def measured(results: Results) -> tuple[Claim, ...]:
    """Every number of the live tests against a run of them."""
    return live_claims.claims(__package__, RULES, results)


def rate(entry: Entry, results: Results) -> Finding:
    """Find the mean rate of the entry's flows, in Mb/s."""
    rates = _rates(entry, results)
    remark = (
        ", ".join(
            f"{of.mean():.2f} {flow}" for of, flow in zip(rates, entry.texts("flows"), strict=True)
        )
        if len(rates) > 1
        else ""
    )
    return Finding(student(rates.mean(axis=0)), remark=remark)


def total(entry: Entry, results: Results) -> Finding:
    """Find the sum of the entry's flows, in Mb/s."""
    return Finding(student(np.sum(_rates(entry, results), axis=0)))


def gets_more(entry: Entry, results: Results) -> Finding:
    """Whether the first of two flows gets more than the second, by the interval, in Mb/s."""
    first, second = _rates(entry, results)
    apart = student(first - second)
    return Finding(
        apart, decision(apart, ">", 0), f"{first.mean():.2f} against {second.mean():.2f} Mb/s"
    )


def _rates(entry: Entry, results: Results) -> Floats:
    """Return the rates of the entry's flows, shape `(flows, replications)`, in Mb/s."""
    where = entry.point()
    return (
        np.array(
            [
                results.at(entry.series, where).values(Metric.DATA_RATE, flow)
                for flow in entry.texts("flows")
            ]
        )
        * MBPS
    )


def stops(entry: Entry, results: Results) -> Finding:
    """Whether a flow's rate drops to a share of its largest under load, in Mb/s.

    At most that share, wherever the other flow offers more than the entry's limit.
    """
    series, key = entry.series, entry.text("key")
    texts = results.along(series, key)
    if not texts:
        raise MissingError(f"no point of {series}")
    own = {
        text: student(results.at(series, {key: text}).values(Metric.DATA_RATE, entry.flow) * MBPS)
        for text in texts
    }
    offered = {
        text: results.at(series, {key: text}).value(Metric.OFFERED_RATE, entry.text("other"))
        * entry.read("data_bits", int)
        * MBPS
        for text in texts
    }
    beyond = [text for text in texts if offered[text] > entry.number("limit")]
    if not beyond:
        raise MissingError(f"no point of {series} beyond {entry.number('limit')} Mb/s")
    largest = max(of.value for of in own.values())
    worst = max((own[text] for text in beyond), key=lambda of: of.value)
    remark = f"{worst.value:.2f} of {largest:.2f} Mb/s are left"
    return Finding(worst, decision(worst, "<=", entry.number("share") * largest), remark)


RULES: Mapping[str, Rule] = rules_of(globals())
