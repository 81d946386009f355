"""Boggs, Mogul and Kent 1988: claims, and the rules that decide them by the evidence of a run.

"Measured Capacity of an Ethernet: Myths and Reality", WRL Research Report 88/4. Estimates of
different points come from different trials and are taken as independent.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ethermeter.analysis import estimates
from ethermeter.analysis.claims import Claim
from ethermeter.analysis.curves import Line, line, rank_correlation
from ethermeter.analysis.estimates import ENOUGH_REPLICATIONS, Point
from ethermeter.analysis.frame_mixes import Lengths, lengths
from ethermeter.analysis.interval import (
    Estimate,
    average,
    difference,
    exact,
    pooled_degrees,
    ratio,
)
from ethermeter.analysis.tables import Trial
from ethermeter.metrics import Metric
from ethermeter.studies.boggs1988.evidence import Evidence
from ethermeter.studies.judging import (
    Entry,
    Finding,
    MissingError,
    judged,
    measured_entries,
    published,
    rules_of,
)
from ethermeter.trial import LIVE

NO_DIFFERENCE = 0.005
PUBLISHED_WINDOW_S = 10.0
"""Window of one of the study's runs (section 3.3)."""
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


def claims(points: Sequence[Point], trials: Sequence[Trial]) -> tuple[Claim, ...]:
    """Every claim of the text against the estimates of a run, in the order of the text.

    `points`: estimates of series I-1 to I-5; a claim whose points are missing is `not-run`.
    `trials`: the plan, for the constants of the segment.
    """
    evidence = Evidence(points, trials)
    return judged(published(__package__), lambda entry: RULES[entry.rule](entry, evidence))


def measured(run_dir: Path) -> tuple[Claim, ...]:
    """Every claim that the live tests measure against a finished run of them, by the same rules.

    In the order of `measured` in `published.toml`.
    """
    from ethermeter.store import RunDirectory

    evidence = Evidence(estimates.read(run_dir), RunDirectory(run_dir).replications(), engine=LIVE)
    return judged(measured_entries(__package__), lambda entry: RULES[entry.rule](entry, evidence))


def of_run(run_dir: Path) -> tuple[Claim, ...]:
    """Every claim against a finished run."""
    from ethermeter.store import RunDirectory

    return claims(estimates.read(run_dir), RunDirectory(run_dir).replications())


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
    found = _at(entry, evidence, lengths(entry.text("frames")))
    scale = entry.number("scale", 1.0)
    return Finding(Estimate(found.value * scale, found.error * scale, found.degrees))


def _at(entry: Entry, evidence: Evidence, frames: Lengths) -> Estimate:
    """Return the estimate of the entry's metric at its number of hosts."""
    metric = Metric(entry.text("metric"))
    return evidence.at(entry.series, entry.read("hosts", int), frames, metric)


def back_to_back_rate(entry: Entry, evidence: Evidence) -> Finding:
    """Frames per second without anything between them but the gap."""
    return Finding(exact(1 / evidence.cycle_s(entry.series, lengths(entry.text("frames")))))


def round_of_sending(entry: Entry, evidence: Evidence) -> Finding:
    """Time for every host to send one frame, back to back, in ms."""
    cycle_s = evidence.cycle_s(entry.series, lengths(entry.text("frames")))
    return Finding(exact(entry.read("hosts", int) * cycle_s * 1e3))


def peak(entry: Entry, evidence: Evidence) -> Finding:
    """Find the number of hosts at which a curve is highest."""
    curve = dict(_curve(entry, evidence, lengths(entry.text("frames")), since=1))
    best = max(curve, key=lambda hosts: curve[hosts].value)
    leads = {
        hosts: difference(curve[best], other) for hosts, other in curve.items() if hosts != best
    }
    clear = all(lead.low > 0 for lead in leads.values())
    second, lead = min(leads.items(), key=lambda item: item[1].value)
    remark = (
        f"next highest at {second}, lower by {lead.value:.0f} packet/s (95% interval {lead.low:.0f}"
        f" to {lead.high:.0f})"
    )
    return Finding(exact(best), best == int(entry.published) and clear, remark)


def no_collisions(entry: Entry, evidence: Evidence) -> Finding:
    """Collisions a frame with one or two hosts."""
    one, two, three = (
        [
            evidence.at(entry.series, hosts, frames, Metric.COLLISIONS_PER_FRAME).value
            for frames in evidence.lengths(entry.series)
        ]
        for hosts in (1, 2, CONTENTION_FROM)
    )
    most = max(one + two)
    remark = f"with three hosts {min(three):.3g} to {max(three):.3g} collisions a frame"
    return Finding(exact(most), most == 0, remark)


def mean_over_lengths(entry: Entry, evidence: Evidence) -> Finding:
    """Mean over the curves of a series at one number of hosts."""
    found = {frames: _at(entry, evidence, frames) for frames in evidence.lengths(entry.series)}
    ends = sorted(found, key=lambda frames: found[frames].value)
    least, most = ends[0], ends[-1]
    remark = (
        f"from {found[least].value:.3f} at {_name(least)} to {found[most].value:.3f} at"
        f" {_name(most)}"
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
    remark = ", ".join(f"{of.value:.2f} at {_name(frames)}" for frames, of in found.items())
    return Finding(found[worst], remark=remark)


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
    if bent:
        remarks.append(f"no line at {', '.join(map(_name, bent))}")
    if not rising:
        remarks.append("not every slope is above zero by its interval")
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
    short, mixed, long = (_at(entry, evidence, lengths(frames)) for frames in entry.texts("frames"))
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
    metric, pair = Metric(entry.text("metric")), (entry.series, entry.text("against"))
    gains: dict[Lengths, dict[int, Estimate]] = {}
    for frames in evidence.lengths(entry.series):
        shared = set.intersection(*(set(evidence.hosts(series, frames)) for series in pair))
        gains[frames] = {
            hosts: difference(*(evidence.at(series, hosts, frames, metric) for series in pair))
            for hosts in sorted(shared)
            if hosts >= COMPARED_FROM
        }
        if len(gains[frames]) < 3:
            raise MissingError(f"fewer than three numbers of hosts from {COMPARED_FROM} on")
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
    remarks = []
    if everywhere:
        hosts_text = ", ".join(map(str, everywhere))
        remarks.append(f"not above zero at {_name(shortest)} with {hosts_text} hosts")
    if lengthwise:
        remarks.append(f"not above zero on the mean at {', '.join(map(_name, lengthwise))}")
    return Finding(means[shortest], not remarks, "; ".join(remarks))


def most_for_the_shortest(entry: Entry, evidence: Evidence) -> Finding:
    """Whether the short net's gain is largest with the shortest frames."""
    means = {frames: average(list(of.values())) for frames, of in _gains(entry, evidence).items()}
    if len(means) < 2:
        raise MissingError("fewer than two lengths")
    shortest = min(means)
    others = [frames for frames in means if frames != shortest]
    rival = max(others, key=lambda frames: means[frames].value)
    found = difference(means[shortest], means[rival])
    remark = (
        f"{means[shortest].value:.4f} at {_name(shortest)}, next {means[rival].value:.4f} at"
        f" {_name(rival)}"
    )
    return Finding(found, found.low > 0, remark)


def _name(frames: Lengths) -> str:
    return " + ".join(
        f"{octets:g} B" + (f" x {weight:g}" if len(frames) > 1 else "") for octets, weight in frames
    )


def difference_of_runs(entry: Entry, evidence: Evidence) -> Finding:
    """How much higher (or, with `lower`, lower) one series is than another.

    With the prediction interval of two single runs.

    The published number is a difference of two single runs, whose run-to-run spread is larger than
    its rounding. The interval that a further such difference falls into with 95% is the mean plus
    or minus t s sqrt(1 + 1/R), s from the R replications of either side. There is none with fewer
    than three replications, or if a run's window is not the study's 10 s, since s depends on it.

    Source
    ------
    Hahn and Meeker, Statistical Intervals, 1991, section 4.7.
    """
    frames, hosts = lengths(entry.text("frames")), entry.read("hosts", int)
    pair = _pair(entry, evidence, frames, hosts)
    found, weights = _relative(entry, evidence, frames, hosts, pair)
    sign = -1.0 if entry.read("lower", bool, default=False) else 1.0
    value = sign * found.value
    replications = [evidence.replications(series, hosts, frames) for series in pair]
    windows_s = [evidence.window_s(series, frames) for series in pair]
    remarks = [_little(entry, evidence, frames, hosts, pair[1])]
    prediction = None
    if min(replications) >= ENOUGH_REPLICATIONS and all(
        math.isclose(window_s, PUBLISHED_WINDOW_S) for window_s in windows_s
    ):
        # The standard error of a mean over R is s / sqrt(R): s^2 (1 + 1/R) is (R + 1) times its
        # square.
        single = [
            Estimate(estimate.value, estimate.error * math.sqrt(count + 1), estimate.degrees)
            for estimate, count in zip(
                _ends(entry, evidence, frames, hosts, pair), replications, strict=True
            )
        ]
        error = math.hypot(
            *(weight * estimate.error for weight, estimate in zip(weights, single, strict=True))
        )
        half = Estimate(
            value, error, pooled_degrees(single[0], single[1], weights=weights)
        ).half_width
        prediction = (value - half, value + half)
        runs = (
            f"{replications[0]} and {replications[1]} replications"
            if len(set(replications)) > 1
            else f"{replications[0]} replications each"
        )
        remarks.insert(
            0,
            f"a difference of two single runs of {PUBLISHED_WINDOW_S:g} s lies between"
            f" {prediction[0]:.2%} and {prediction[1]:.2%} (95% prediction interval from {runs} of"
            f" {pair[0]} and {pair[1]})",
        )
    return Finding(
        Estimate(value, found.error, found.degrees),
        remark="; ".join(remarks),
        prediction=prediction,
    )


def no_appreciable_difference(entry: Entry, evidence: Evidence) -> Finding:
    """Whether one series differs from another by less than 0.5%, interval included.

    An exact zero without an interval does not count.
    """
    frames, hosts = lengths(entry.text("frames")), entry.read("hosts", int)
    found, _ = _relative(entry, evidence, frames, hosts, _pair(entry, evidence, frames, hosts))
    return Finding(found, found.low > -NO_DIFFERENCE and found.high < NO_DIFFERENCE)


def _pair(entry: Entry, evidence: Evidence, frames: Lengths, hosts: int) -> tuple[str, str]:
    """Series to compare: those made for it if the run holds both, otherwise the figures' own."""
    made = entry.texts("made_for_it")
    first, second = (
        made
        if all(evidence.holds(series, hosts, frames) for series in made)
        else (entry.series, entry.text("against"))
    )
    return first, second


def _ends(
    entry: Entry, evidence: Evidence, frames: Lengths, hosts: int, pair: tuple[str, str]
) -> tuple[Estimate, Estimate]:
    metric = Metric(entry.text("metric"))
    return evidence.at(pair[0], hosts, frames, metric), evidence.at(pair[1], hosts, frames, metric)


def _relative(
    entry: Entry, evidence: Evidence, frames: Lengths, hosts: int, pair: tuple[str, str]
) -> tuple[Estimate, tuple[float, float]]:
    """First over second less one, and its derivatives by the two."""
    first, second = _ends(entry, evidence, frames, hosts, pair)
    found = ratio(first, second)
    return Estimate(found.value - 1, found.error, found.degrees), (
        1 / second.value,
        -found.value / second.value,
    )


def _little(entry: Entry, evidence: Evidence, frames: Lengths, hosts: int, series: str) -> str:
    """Describe, by Little's law, the delay's rise: hosts = rate x (delay + service)."""
    rate_per_s = evidence.at(series, hosts, frames, Metric.PACKET_RATE).value
    delay_s = evidence.at(series, hosts, frames, Metric.TRANSMISSION_DELAY).value
    factor = hosts / rate_per_s / delay_s
    rise = (
        f"by Little’s law the delay’s rise is cycle / (cycle − service) = {factor:.2f} times the"
        " utilisation’s fall"
    )
    return f"{rise}, {entry.text('consequence')}"


RULES: Mapping[str, Rule] = rules_of(globals())
