"""Fritz, Gigabit choke points (Network World, 1999): files over Fast and Gigabit Ethernet.

Five pairs of server and client. What a host does with each octet besides sending and receiving it
(disk, file service, application) is fitted for each pair to its throughput on Fast Ethernet;
everything on Gigabit Ethernet is predicted. Throughput is the mean of reading and writing, as the
article has it. A run answers without chance, so that its numbers have no interval.
"""

from collections.abc import Mapping

import numpy as np

from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, exact
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.judging import Entry, Finding, Rule, rules_of

FAST, GIGABIT = "100 Mb/s", "1 Gb/s"
BARE = "pc"
"""The hosts as they were."""
PAIRS = {
    "novell-win95": "Novell, Win 95",
    "novell-nt": "Novell, NT",
    "nt-win95": "NT, Win 95",
    "nt-nt": "NT, NT",
    "win95-win95": "Win 95, Win 95",
}
"""Server and client, as flows are called and for people."""
SEEN = 0.05
"""Gain in percent that would show in a number with one decimal."""
MBPS = 1e6


def value(results: Results, series: str, case: str, metric: Metric, flow: str) -> float:
    """Return a metric of a flow where what its series varies has a value, in the metric's unit.

    `case`: empty where the series varies nothing. Raises MissingError if the run does not hold it.
    """
    for of in results.points(series):
        if next(iter(of.point.values()), "") == case and (found := of.value(metric, flow)) == found:
            return found
    raise MissingError(f"no {metric.value} of {flow} for {series}, {case}")


def mean_of(results: Results, series: str, case: str, metric: Metric, pair: str) -> float:
    """Return the mean of a metric over both directions of a pair."""
    flows = (f"{pair}-read", f"{pair}-write")
    return sum(value(results, series, case, metric, flow) for flow in flows) / 2


def rate_mbps(results: Results, series: str, case: str, pair: str) -> float:
    """Return the throughput of a pair, both directions averaged, in Mb/s."""
    return mean_of(results, series, case, Metric.TRANSFER_RATE, pair) / MBPS


def gains_of(
    results: Results, series: str, case: str, *, over: tuple[str, str] = ("remedies", BARE)
) -> dict[str, float]:
    """Return by how much each pair is faster than at another point, in percent."""
    return {
        pair: (rate_mbps(results, series, case, pair) / rate_mbps(results, *over, pair) - 1) * 100
        for pair in PAIRS
    }


def constant_mbps(fast_mbps: float) -> float:
    """Return the throughput on Gigabit Ethernet if octets wait as on Fast Ethernet, in Mb/s.

    The time of the wire is added.

    `fast_mbps`: throughput on Fast Ethernet, in Mb/s; above 0 and at most 100.

    Examples
    --------
    >>> round(constant_mbps(25.0), 1)
    32.3
    """
    return 1 / (1 / fast_mbps - 1 / 100 + 1 / 1000)


def throughput(entry: Entry, results: Results) -> Finding:
    """Find the throughput of a pair, with what a constant time an octet alone would give."""
    pair, rate = entry.text("pair"), entry.text("rate")
    directions = [
        value(results, "copies", rate, Metric.TRANSFER_RATE, f"{pair}-{direction}") / MBPS
        for direction in ("read", "write")
    ]
    remark = "reading {:.1f}, writing {:.1f}".format(*directions)
    if rate == GIGABIT:
        remark += (
            "; a constant time an octet besides the wire alone gives"
            f" {constant_mbps(entry.number('fast')):.1f}"
        )
    return Finding(exact(rate_mbps(results, "copies", rate, pair)), remark=remark)


def largest_share(entry: Entry, results: Results) -> Finding:
    """Find the largest share of the bandwidth that a pair takes, in percent.

    With `limit`, whether none takes more.
    """
    capacity_mbps = {FAST: 100.0, GIGABIT: 1000.0}[entry.text("rate")]
    shares = {
        pair: rate_mbps(results, "copies", entry.text("rate"), pair) / capacity_mbps * 100
        for pair in PAIRS
    }
    most = max(shares, key=shares.__getitem__)
    return Finding(
        exact(shares[most]),
        shares[most] <= entry.number("limit") if "limit" in entry else None,
        PAIRS[most],
    )


def acknowledgements(entry: Entry, results: Results) -> Finding:
    """Decide whether delays from data to acknowledgement are shorter on Gigabit Ethernet.

    Or whether they are many times the time of the wire.
    """
    delays = {
        rate: {
            pair: mean_of(results, "copies", rate, Metric.ACKNOWLEDGEMENT_DELAY, pair) * 1e6
            for pair in PAIRS
        }
        for rate in (FAST, GIGABIT)
    }
    fast, gigabit = delays[FAST], delays[GIGABIT]
    remark = "; ".join(
        f"{name} {fast[pair]:.0f} → {gigabit[pair]:.0f} µs" for pair, name in PAIRS.items()
    )
    if entry.text("statement") == "shorter":
        ratios = [gigabit[pair] / fast[pair] for pair in PAIRS]
        return Finding(exact(float(np.mean(ratios))), max(ratios) < 1, remark)
    times = [gigabit[pair] / entry.number("wire_us") for pair in PAIRS]
    return Finding(exact(min(times)), min(times) > entry.number("times"), remark)


def without_host_times(entry: Entry, results: Results) -> Finding:
    """Find the least throughput of the chain without host times, and compare it with a limit."""
    rates = {pair: rate_mbps(results, "memory", entry.text("rate"), pair) for pair in PAIRS}
    least = min(rates, key=rates.__getitem__)
    remark = f"without host times from {rates[least]:.0f} to {max(rates.values()):.0f} Mb/s"
    return Finding(exact(rates[least]), bool(rates[least] < entry.number("below")), remark)


def wire_share(entry: Entry, results: Results) -> Finding:
    """Find the share of the time that a wire without delay would save, at most.

    Also whether it is below a limit.
    """
    shares = {
        pair: (
            rate_mbps(results, "copies", entry.text("rate"), pair)
            / {FAST: 100.0, GIGABIT: 1000.0}[entry.text("rate")]
        )
        for pair in PAIRS
    }
    most = max(shares.values()) * 100
    return Finding(
        exact(most),
        most < entry.number("below"),
        "of the time that an octet takes, as if nothing overlapped the wire",
    )


def remedy(entry: Entry, results: Results) -> Finding:
    """Find the gain of a remedy for copies on Gigabit Ethernet, in percent.

    Averaged over the pairs.
    """
    over = entry.read("over", tuple[str, str], default=("remedies", BARE))
    gains = gains_of(results, entry.series, entry.text("case"), over=over)
    mean = float(np.mean(list(gains.values())))
    remark = f"from {min(gains.values()):+.1f} to {max(gains.values()):+.1f}%".replace("-", "−")
    return Finding(Estimate(mean, 0.0, float("inf")), mean > SEEN, remark)


RULES: Mapping[str, Rule] = rules_of(globals())
