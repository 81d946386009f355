"""Rules that decide claims, by the paper's entry and the evidence of a run.

Estimates of different points come from different trials and are taken as independent.
"""

import math
from collections.abc import Callable

import numpy as np

from ethermeter.analysis.curves import Line, line, rank_correlation
from ethermeter.analysis.frame_mixes import Lengths, lengths
from ethermeter.analysis.interval import Estimate, average, difference, exact, ratio
from ethermeter.metrics import Metric
from ethermeter.studies.boggs1988.differences import difference_of_runs, no_appreciable_difference
from ethermeter.studies.boggs1988.evidence import Evidence
from ethermeter.studies.judging import Entry, Finding, MissingError

CONTENTION_FROM = 3
"""Hosts from which the study sees collisions."""
COMPARED_FROM = 5
"""Hosts from which both nets are overloaded at every length, so that efficiency is the net's and
not the hosts'.
"""
LINEAR = 0.95
"""R squared from which a curve counts as a line."""
REACHED = 0.9
"""Share of a curve's intervals that must reach a line for the curve to count as one although its R
squared is lower.
"""
LARGE_OCTETS = 1024
SIGNIFICANT = 0.05

Rule = Callable[[Entry, Evidence], Finding]


def _curve(
    entry: Entry, evidence: Evidence, frames: Lengths, *, since: int
) -> list[tuple[int, Estimate]]:
    """Points of a curve with a value, from so many hosts on; at least three."""
    found = [
        (hosts, evidence.at(entry.series, hosts, frames, Metric(entry.text("metric"))))
        for hosts in evidence.hosts(entry.series, frames)
    ]
    kept = [
        (hosts, estimate)
        for hosts, estimate in found
        if hosts >= since and math.isfinite(estimate.value)
    ]
    if len(kept) < 3:
        raise MissingError(f"fewer than three points from {since} hosts on")
    return kept


def value(entry: Entry, evidence: Evidence) -> Finding:
    """One number, scaled to the unit of the text."""
    found = evidence.at(
        entry.series,
        entry.read("hosts", int),
        lengths(entry.text("frames")),
        Metric(entry.text("metric")),
    )
    scale = entry.number("scale", 1.0)
    return Finding(Estimate(found.value * scale, found.error * scale, found.degrees))


def back_to_back_rate(entry: Entry, evidence: Evidence) -> Finding:
    """Frames per second without anything between them but the gap."""
    return Finding(exact(1 / evidence.cycle_s(entry.series, lengths(entry.text("frames")))))


def round_of_sending(entry: Entry, evidence: Evidence) -> Finding:
    """Time for every host to send one frame, back to back, in ms."""
    return Finding(
        exact(
            entry.read("hosts", int)
            * evidence.cycle_s(entry.series, lengths(entry.text("frames")))
            * 1e3
        )
    )


def peak(entry: Entry, evidence: Evidence) -> Finding:
    """Find the number of hosts at which a curve is highest."""
    curve = dict(_curve(entry, evidence, lengths(entry.text("frames")), since=1))
    best = max(curve, key=lambda hosts: curve[hosts].value)
    leads = {
        hosts: difference(curve[best], other) for hosts, other in curve.items() if hosts != best
    }
    clear = all(lead.low > 0 for lead in leads.values())
    second = min(leads, key=lambda hosts: leads[hosts].value)
    lead = leads[second]
    remark = (
        f"next highest at {second}, lower by {lead.value:.0f} packet/s (95% interval {lead.low:.0f}"
        f" to {lead.high:.0f})"
    )
    return Finding(exact(best), best == int(entry.published) and clear, remark)


def no_collisions(entry: Entry, evidence: Evidence) -> Finding:
    """Collisions a frame with one or two hosts."""
    series = entry.series
    metric = Metric.COLLISIONS_PER_FRAME
    few = [
        evidence.at(series, hosts, frames, metric).value
        for frames in evidence.lengths(series)
        for hosts in (1, 2)
    ]
    three = [
        evidence.at(series, CONTENTION_FROM, frames, metric).value
        for frames in evidence.lengths(series)
    ]
    return Finding(
        exact(max(few)),
        max(few) == 0,
        f"with three hosts {min(three):.3g} to {max(three):.3g} collisions a frame",
    )


def mean_over_lengths(entry: Entry, evidence: Evidence) -> Finding:
    """Mean over the curves of a series at one number of hosts."""
    of = evidence.lengths(entry.series)
    found = {
        frames: evidence.at(
            entry.series, entry.read("hosts", int), frames, Metric(entry.text("metric"))
        )
        for frames in of
    }
    ends = sorted(found, key=lambda frames: found[frames].value)
    remark = (
        f"from {found[ends[0]].value:.3f} at {_name(ends[0])} to {found[ends[-1]].value:.3f} at"
        f" {_name(ends[-1])}"
    )
    return Finding(average(list(found.values())), remark=remark)


def worst_delay_spread(entry: Entry, evidence: Evidence) -> Finding:
    """Largest ratio of the delay's standard deviation to its mean among large frames.

    At the largest number of hosts.

    The two are taken as independent; they rise and fall together, so the interval is on the wide
    side.
    """
    series = entry.series
    found = {}
    for frames in evidence.lengths(series):
        hosts = evidence.hosts(series, frames)[-1]
        if hosts < 20:
            raise MissingError("fewer than 20 hosts")
        if frames[0][0] >= LARGE_OCTETS:
            delay = evidence.at(series, hosts, frames, Metric.TRANSMISSION_DELAY)
            found[frames] = ratio(
                evidence.at(series, hosts, frames, Metric.TRANSMISSION_DELAY_SD), delay
            )
    if not found:
        raise MissingError("no large frames")
    worst = max(found, key=lambda frames: found[frames].value)
    return Finding(
        found[worst],
        remark=", ".join(
            f"{spread.value:.2f} at {_name(frames)}" for frames, spread in found.items()
        ),
    )


def linear(entry: Entry, evidence: Evidence) -> Finding:
    """Whether every curve of a series is a rising line from three hosts on."""
    fits: dict[Lengths, Line] = {}
    bent = []
    for frames in evidence.lengths(entry.series):
        curve = _curve(entry, evidence, frames, since=CONTENTION_FROM)
        fit = line(
            np.array([float(hosts) for hosts, _ in curve]),
            np.array([found.value for _, found in curve]),
        )
        fits[frames] = fit
        reached = sum(
            found.low <= fit.intercept.value + fit.slope.value * hosts <= found.high
            for hosts, found in curve
        )
        if fit.determination < LINEAR and reached < REACHED * len(curve):
            bent.append(frames)
    worst = min(fits, key=lambda frames: fits[frames].determination)
    rising = all(fit.slope.low > 0 for fit in fits.values())
    remarks = [f"least at {_name(worst)}"]
    remarks += [f"no line at {', '.join(map(_name, bent))}"] * bool(bent) + [
        "not every slope is above zero by its interval"
    ] * (not rising)
    return Finding(exact(fits[worst].determination), rising and not bent, "; ".join(remarks))


def unfairness_falls(entry: Entry, evidence: Evidence) -> Finding:
    """Whether the spread falls with the number of hosts and is largest at three."""
    curves = [
        dict(_curve(entry, evidence, frames, since=CONTENTION_FROM))
        for frames in evidence.lengths(entry.series)
    ]
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    if CONTENTION_FROM not in shared or len(shared) < 3:
        raise MissingError("three hosts and at least two larger numbers are needed at every length")
    means = {hosts: average([curve[hosts] for curve in curves]) for hosts in shared}
    ranks = rank_correlation(
        np.array([float(hosts) for hosts in shared]),
        np.array([means[hosts].value for hosts in shared]),
    )
    worst = max(means, key=lambda hosts: means[hosts].value)
    falls = ranks.rho < 0 and ranks.falling_probability < SIGNIFICANT
    # The lead of three need not be beyond its interval to be the largest, but another may not lead
    # three beyond its own.
    largest = (
        worst == CONTENTION_FROM or not difference(means[worst], means[CONTENTION_FROM]).low > 0
    )
    unit = {Metric.BIT_RATE_SD: " bit/s", Metric.PACKET_RATE_SD: " packet/s"}.get(
        Metric(entry.text("metric")), ""
    )
    ends = (
        f"{means[CONTENTION_FROM].value:.3g}{unit} at three hosts,"
        f" {means[shared[-1]].value:.3g}{unit} at {shared[-1]}"
    )
    remark = f"{ends}; largest at {worst}"
    return Finding(exact(ranks.rho), falls and largest, remark)


def lift(entry: Entry, evidence: Evidence) -> Finding:
    """Utilisation with one long frame in eight, from all short (0) to all long (1)."""
    metric = Metric(entry.text("metric"))
    short, mixed, long = (
        evidence.at(entry.series, entry.read("hosts", int), lengths(frames), metric)
        for frames in entry.texts("frames")
    )
    extent = long.value - short.value
    if extent == 0:
        return Finding(exact(math.nan), holds=False)
    share = (mixed.value - short.value) / extent
    # Delta method: the derivatives of (m - s) / (l - s) are 1/(l-s), -(1-share)/(l-s) and
    # -share/(l-s).
    terms = [
        Estimate(0.0, term.error * weight / abs(extent), term.degrees)
        for term, weight in ((mixed, 1.0), (short, 1 - share), (long, share))
    ]
    summed = average(terms)
    found = Estimate(share, summed.error * len(terms), summed.degrees)
    return Finding(
        found,
        found.low > 0.5,
        f"utilisation {short.value:.3f} all short, {mixed.value:.3f} with one in eight,"
        f" {long.value:.3f} all long",
    )


def _gains(entry: Entry, evidence: Evidence) -> dict[Lengths, dict[int, Estimate]]:
    """Gain of one series over another by length and number of hosts."""
    metric = Metric(entry.text("metric"))
    gains: dict[Lengths, dict[int, Estimate]] = {}
    for frames in evidence.lengths(entry.series):
        shared = set(evidence.hosts(entry.series, frames)) & set(
            evidence.hosts(entry.text("against"), frames)
        )
        numbers = [hosts for hosts in sorted(shared) if hosts >= COMPARED_FROM]
        if len(numbers) < 3:
            raise MissingError(f"fewer than three numbers of hosts from {COMPARED_FROM} on")
        gains[frames] = {
            hosts: difference(
                evidence.at(entry.series, hosts, frames, metric),
                evidence.at(entry.text("against"), hosts, frames, metric),
            )
            for hosts in numbers
        }
    return gains


def shorter_net(entry: Entry, evidence: Evidence) -> Finding:
    """Whether the short net is more efficient.

    With the shortest frames at every number of hosts, with the others on the mean.
    """
    gains = _gains(entry, evidence)
    means = {frames: average(list(of.values())) for frames, of in gains.items()}
    shortest = min(gains)
    everywhere = [hosts for hosts, gain in gains[shortest].items() if not gain.low > 0]
    lengthwise = [frames for frames, gain in means.items() if not gain.low > 0]
    remark = "; ".join(
        [f"not above zero at {_name(shortest)} with {', '.join(map(str, everywhere))} hosts"]
        * bool(everywhere)
        + [f"not above zero on the mean at {', '.join(map(_name, lengthwise))}"] * bool(lengthwise)
    )
    return Finding(means[shortest], not everywhere and not lengthwise, remark)


def most_for_the_shortest(entry: Entry, evidence: Evidence) -> Finding:
    """Whether the short net's gain is largest with the shortest frames."""
    means = {frames: average(list(of.values())) for frames, of in _gains(entry, evidence).items()}
    if len(means) < 2:
        raise MissingError("fewer than two lengths")
    shortest = min(means)
    rival = max(
        (frames for frames in means if frames != shortest), key=lambda frames: means[frames].value
    )
    found = difference(means[shortest], means[rival])
    return Finding(
        found,
        found.low > 0,
        f"{means[shortest].value:.4f} at {_name(shortest)}, next {means[rival].value:.4f} at"
        f" {_name(rival)}",
    )


def _name(frames: Lengths) -> str:
    return " + ".join(
        f"{octets:g} B" + (f" x {weight:g}" if len(frames) > 1 else "") for octets, weight in frames
    )


RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        value,
        back_to_back_rate,
        round_of_sending,
        peak,
        no_collisions,
        mean_over_lengths,
        worst_delay_spread,
        linear,
        unfairness_falls,
        difference_of_runs,
        no_appreciable_difference,
        lift,
        shorter_net,
        most_for_the_shortest,
    )
}
