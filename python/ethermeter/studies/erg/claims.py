"""ERG (University of Aberdeen): claims of its LAN tests with a UDP generator and sink.

In one direction and in both, through hub, switch and router.

Throughput is data in completely received UDP datagrams, `Metric.DATA_RATE`, in Mb/s.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.analysis.interval import Floats, student
from ethermeter.metrics import Metric
from ethermeter.studies import live_claims
from ethermeter.studies.judging import Entry, Finding, MissingError, judged, published, rules_of
from ethermeter.studies.paths import Paths, paths_of

MBPS = 1e-6
Rule = Callable[[Entry, Paths], Finding]


def claims(paths: Paths) -> tuple[Claim, ...]:
    """Every claim against a run, in the order of the file.

    `not-run` where its points are missing.
    """
    return judged(published(__package__), lambda entry: RULES[entry.rule](entry, paths))


def of_run(run_dir: Path) -> tuple[Claim, ...]:
    """Every claim against a finished run."""
    return claims(paths_of(run_dir))


def measured(run_dir: Path) -> tuple[Claim, ...]:
    """Every number of the live tests against a finished run of them."""
    return live_claims.claims(__package__, RULES, run_dir)


def rate(entry: Entry, paths: Paths) -> Finding:
    """Find the mean rate of the entry's flows, in Mb/s."""
    rates = _rates(entry, paths)
    remark = (
        ", ".join(
            f"{of.mean():.2f} {flow}" for of, flow in zip(rates, entry.texts("flows"), strict=True)
        )
        if len(rates) > 1
        else ""
    )
    return Finding(student(rates.mean(axis=0)), remark=remark)


def total(entry: Entry, paths: Paths) -> Finding:
    """Find the sum of the entry's flows, in Mb/s."""
    return Finding(student(np.sum(_rates(entry, paths), axis=0)))


def gets_more(entry: Entry, paths: Paths) -> Finding:
    """Whether the first of two flows gets more than the second, by the interval, in Mb/s."""
    first, second = _rates(entry, paths)
    apart = student(first - second)
    return Finding(
        apart, bool(apart.low > 0), f"{first.mean():.2f} against {second.mean():.2f} Mb/s"
    )


def _rates(entry: Entry, paths: Paths) -> Floats:
    """Return the rates of the entry's flows, shape `(flows, replications)`, in Mb/s."""
    where = entry.point()
    return (
        np.array(
            [
                paths.values(entry.series, where, flow, Metric.DATA_RATE)
                for flow in entry.texts("flows")
            ]
        )
        * MBPS
    )


def most(entry: Entry, paths: Paths) -> Finding:
    """Find the largest rate of the entry's flow at any value of the entry's key, in Mb/s."""
    series, key, flow = entry.series, entry.text("key"), entry.flow
    rates = {
        text: paths.estimate(series, {key: text}, flow, Metric.DATA_RATE, factor=MBPS)
        for text in paths.along(series, key)
    }
    if not rates:
        raise MissingError(f"no point of {series}")
    best = max(rates, key=lambda text: rates[text].value)
    return Finding(rates[best], remark=f"with a datagram every {best}")


def stops(entry: Entry, paths: Paths) -> Finding:
    """Whether a flow's rate drops to a share of its largest under load, in Mb/s.

    At most that share, wherever the other flow offers more than the entry's limit.
    """
    series, key = entry.series, entry.text("key")
    texts = paths.along(series, key)
    if not texts:
        raise MissingError(f"no point of {series}")
    own = {
        text: paths.estimate(series, {key: text}, entry.flow, Metric.DATA_RATE, factor=MBPS)
        for text in texts
    }
    offered = {
        text: paths.value(series, {key: text}, entry.text("other"), Metric.OFFERED_RATE)
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
    return Finding(worst, worst.value <= entry.number("share") * largest, remark)


RULES: Mapping[str, Rule] = rules_of(globals())
