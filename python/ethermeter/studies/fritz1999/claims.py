"""Fritz, Gigabit choke points (Network World, 1999): files over Fast and Gigabit Ethernet.

Five pairs of server and client. What a host does with each octet besides sending and receiving it
(disk, file service, application) is fitted for each pair to its throughput on Fast Ethernet;
everything on Gigabit Ethernet is predicted. Throughput is the mean of reading and writing, as the
article has it. A run answers without chance, so that its numbers have no interval.
"""

import math
from collections.abc import Mapping

import numpy as np

from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, exact
from ethermeter.results.query import MissingError, Results
from ethermeter.scenario import ConstantTimes, File, Flow, Host, Stage
from ethermeter.store.columns import PORTS
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
RATE = "network.rate"
SEEN_MBPS = 0.5
"""Gain that would show in whole Mb/s, which are what the article has."""
MBPS = 1e6


def value(
    results: Results, series: str, case: str, metric: Metric, flow: str, *, rate: str = GIGABIT
) -> float:
    """Return a metric of a flow where what its series varies has a value, in the metric's unit.

    `case`: empty where the series varies nothing. `rate`: of the link, where the series varies it
    besides the case. Raises MissingError if the run does not hold it.
    """
    for of in results.points(series):
        is_case = next(iter(of.point.values()), "") == case
        if is_case and of.point.get(RATE, rate) in (case, rate):
            found = of.value(metric, flow)
            if found == found:
                return found
    raise MissingError(f"no {metric.value} of {flow} for {series}, {case}")


def mean_of(
    results: Results, series: str, case: str, metric: Metric, pair: str, *, rate: str = GIGABIT
) -> float:
    """Return the mean of a metric over both directions of a pair."""
    flows = (f"{pair}-read", f"{pair}-write")
    return sum(value(results, series, case, metric, flow, rate=rate) for flow in flows) / 2


def rate_mbps(results: Results, series: str, case: str, pair: str, *, rate: str = GIGABIT) -> float:
    """Return the throughput of a pair, both directions averaged, in Mb/s."""
    return mean_of(results, series, case, Metric.TRANSFER_RATE, pair, rate=rate) / MBPS


def gains_of(
    results: Results, series: str, case: str, *, over: tuple[str, str] = ("remedies", BARE)
) -> dict[str, float]:
    """Return by how much each pair is faster on Gigabit Ethernet than elsewhere, in percent."""
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


def mean_throughput(entry: Entry, results: Results) -> Finding:
    """Find the mean throughput of several pairs."""
    rate, pairs = entry.text("rate"), entry.texts("pairs")
    rates = {pair: rate_mbps(results, "copies", rate, pair) for pair in pairs}
    remark = ", ".join(f"{PAIRS[pair]} {of:.1f}" for pair, of in rates.items())
    return Finding(exact(float(np.mean(list(rates.values())))), remark=remark)


def largest_share(entry: Entry, results: Results) -> Finding:
    """Find the largest share of the bandwidth that a pair takes, in percent."""
    capacity_mbps = {FAST: 100.0, GIGABIT: 1000.0}[entry.text("rate")]
    shares = {
        pair: rate_mbps(results, "copies", entry.text("rate"), pair) / capacity_mbps * 100
        for pair in PAIRS
    }
    most = max(shares, key=shares.__getitem__)
    return Finding(exact(shares[most]), remark=PAIRS[most])


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


def remedy(entry: Entry, results: Results) -> Finding:
    """Find the gain of a remedy for copies, in percent, averaged over the pairs.

    Whether it shows in whole Mb/s. On Gigabit Ethernet, unless the entry has another `rate`.
    """
    over = entry.read("over", tuple[str, str], default=("remedies", BARE))
    rate = entry.text("rate", GIGABIT)
    found = {
        pair: [
            rate_mbps(results, series, case, pair, rate=rate)
            for series, case in ((entry.series, entry.text("case")), over)
        ]
        for pair in PAIRS
    }
    gains = [(after / before - 1) * 100 for after, before in found.values()]
    gain_mbps = float(np.mean([after - before for after, before in found.values()]))
    remark = f"{gain_mbps:+.1f} Mb/s; from {min(gains):+.1f} to {max(gains):+.1f}%"
    return Finding(
        Estimate(float(np.mean(gains)), 0.0, math.inf),
        gain_mbps >= SEEN_MBPS,
        remark.replace("-", "−"),
    )


def as_slow(entry: Entry, results: Results) -> Finding:
    """Decide whether acknowledgements over IPX take about as long as over TCP.

    Finds the ratio, the mean over both rates; both directions are averaged. `times`: the largest
    ratio, and one over it the smallest, at any rate.
    """
    pairs = [
        tuple(
            mean_of(results, "ipx", rate, Metric.ACKNOWLEDGEMENT_DELAY, f"novell-win95-{name}")
            * 1e6
            for name in ("tcp", "ipx")
        )
        for rate in (FAST, GIGABIT)
    ]
    ratios, times = [ipx / tcp for tcp, ipx in pairs], entry.number("times")
    remark = "; ".join(f"TCP {tcp:.0f}, IPX {ipx:.0f} µs" for tcp, ipx in pairs)
    holds = 1 / times <= min(ratios) and max(ratios) <= times
    return Finding(exact(float(np.mean(ratios))), holds, remark)


def ends(entry: Entry, results: Results) -> Finding:
    """Find how many transfers of a remedy end within the trial, and whether more do than without.

    `case`, `over`: the remedy, and with what it is compared.
    """
    ended = []
    for case in (entry.text("case"), entry.text("over")):
        points = [
            of
            for of in results.points(entry.series)
            if case in of.point.values() and of.point.get(RATE, GIGABIT) == GIGABIT
        ]
        if not points:
            raise MissingError(f"no point of {entry.series} with {case}")
        (of,) = points
        rates = {flow.name: of.value(Metric.TRANSFER_RATE, flow.name) for flow in of.scenario.flows}
        ended.append({flow for flow, rate in rates.items() if not math.isnan(rate)})
    with_it, without = ended
    more = sorted(with_it - without)
    remark = f"without it {len(without)}" + (f", not {', '.join(more)}" if more else "")
    return Finding(exact(float(len(with_it))), len(with_it) > len(without), remark)


def processor_share(entry: Entry, results: Results) -> Finding:
    """Find the largest share of a copy's time that a host's processor works, in percent.

    All of the host time, which has the disk in it, is counted as the processor's, besides the
    stages of the processor. Whether it is at least a limit.
    """
    of = results.at("copies", {"network.rate": entry.text("rate")})
    ports = of.columns(PORTS)
    if not ports:
        raise MissingError("no ports of copies")
    shares = {}
    for at, flow in enumerate(of.scenario.flows):
        file, stages = _copy(flow, of.scenario.nodes[2 * at].kind.host)
        # Both ends of the flow's link: what one host sends, the other receives.
        stack_ps = sum(
            float(ports["frames"][2 * at + way]) * stage.fixed_ps
            + float(ports["octets"][2 * at + way]) * stage.ps_per_octet
            for way, stage in enumerate(stages)
        )
        octets = file.octets or 0
        host_ps = math.ceil(octets / file.block_octets) * max(
            of.ps for of in (file.client, file.server) if isinstance(of, ConstantTimes)
        )
        took_ps = octets * 8e12 / of.value(Metric.TRANSFER_RATE, flow.name)
        shares[flow.name] = (stack_ps + host_ps) / took_ps * 100
    most = max(shares, key=shares.__getitem__)
    remark = f"{most}; least {min(shares.values()):.0f}%"
    return Finding(exact(shares[most]), shares[most] >= entry.number("least"), remark)


def _copy(flow: Flow, host: Host | None) -> tuple[File, list[Stage]]:
    """Return the file of a flow, and the stages of its host's processor: sending, receiving."""
    file = flow.transfer.job.file if flow.transfer else None
    if file is None or host is None:
        raise MissingError(f"no copy of {flow.name}")
    return file, [next(of for of in side if of.resource) for side in (host.send, host.receive)]


RULES: Mapping[str, Rule] = rules_of(globals())
