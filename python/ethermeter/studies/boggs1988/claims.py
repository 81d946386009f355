"""Boggs, Mogul and Kent 1988: claims, and the rules that decide them by the points of a run.

"Measured Capacity of an Ethernet: Myths and Reality", WRL Research Report 88/4. Estimates of
different points come from different trials and are taken as independent.
"""

import itertools
import math
from collections.abc import Mapping

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.analysis.curves import rank_correlation
from ethermeter.analysis.frame_mixes import Lengths, lengths
from ethermeter.analysis.verdicts import Decision, decision, every
from ethermeter.metrics import Metric
from ethermeter.results.estimates import ENOUGH_REPLICATIONS
from ethermeter.results.interval import (
    Estimate,
    average,
    difference,
    exact,
    pooled_degrees,
    ratio,
)
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.boggs1988 import failures, problems
from ethermeter.studies.boggs1988.curves import at, cycle_s, first, hosts_of, lengths_of, points_of
from ethermeter.studies.judging import Entry, Finding, Rule, judged, measured_entries, rules_of
from ethermeter.studies.rules import bend, is_straight

NO_DIFFERENCE = 0.005
PUBLISHED_WINDOW_S = 10.0
"""Window of one of the study's runs (section 3.3)."""
CONTENTION_FROM = 3
"""Hosts from which the study sees collisions."""
COMPARED_FROM = 5
"""Hosts from which both nets are overloaded at every length, so that efficiency is the net's and
not the hosts'.
"""
SIGNIFICANT = 0.05


def measured(results: Results) -> tuple[Claim, ...]:
    """Every claim that the live tests measure against a run of them, by the same rules.

    In the order of `measured` in `published.toml`.
    """
    return judged(measured_entries(__package__), RULES, results)


def _curve(
    entry: Entry, results: Results, frames: Lengths, *, since: int
) -> list[tuple[int, Estimate]]:
    """Points of a curve with a value, from so many hosts on; at least three."""
    found = [
        (hosts, at(results, entry.series, hosts, frames).estimate(Metric(entry.text("metric"))))
        for hosts in hosts_of(results, entry.series, frames)
    ]
    kept = [
        (hosts, estimate)
        for hosts, estimate in found
        if hosts >= since and math.isfinite(estimate.value)
    ]
    if len(kept) < 3:
        raise MissingError(f"fewer than three points from {since} hosts on")
    return kept


def value(entry: Entry, results: Results) -> Finding:
    """One number, scaled to the unit of the text."""
    found = _at(entry, results, lengths(entry.text("frames")))
    scale = entry.number("scale", 1.0)
    return Finding(Estimate(found.value * scale, found.error * scale, found.degrees))


def _at(entry: Entry, results: Results, frames: Lengths) -> Estimate:
    """Return the estimate of the entry's metric at its number of hosts."""
    metric = Metric(entry.text("metric"))
    return at(results, entry.series, entry.read("hosts", int), frames).estimate(metric)


def back_to_back_rate(entry: Entry, results: Results) -> Finding:
    """Frames per second without anything between them but the gap."""
    return Finding(exact(1 / cycle_s(results, entry.series, lengths(entry.text("frames")))))


def round_of_sending(entry: Entry, results: Results) -> Finding:
    """Time for every host to send one frame, back to back, in ms."""
    time_s = cycle_s(results, entry.series, lengths(entry.text("frames")))
    return Finding(exact(entry.read("hosts", int) * time_s * 1e3))


def peak(entry: Entry, results: Results) -> Finding:
    """Find the number of hosts at which a curve is highest, and whether it is the published one."""
    curve = dict(_curve(entry, results, lengths(entry.text("frames")), since=1))
    published = int(entry.published)
    if published not in curve:
        raise MissingError(f"no point with {published} hosts")
    leads = {
        hosts: difference(curve[published], other)
        for hosts, other in curve.items()
        if hosts != published
    }
    rival, lead = min(leads.items(), key=lambda item: item[1].value)
    remark = (
        f"at {published} {curve[published].value:.0f} packet/s, more than at {rival} by"
        f" {lead.value:.0f} (95% interval {lead.low:.0f} to {lead.high:.0f})"
    ).replace("-", "−")
    best = max(curve, key=lambda hosts: curve[hosts].value)
    return Finding(exact(best), every(decision(of, ">", 0) for of in leads.values()), remark)


def no_collisions(entry: Entry, results: Results) -> Finding:
    """Collisions a frame with one or two hosts."""
    one, two, three = (
        [
            at(results, entry.series, hosts, frames).estimate(Metric.COLLISIONS_PER_FRAME).value
            for frames in lengths_of(results, entry.series)
        ]
        for hosts in (1, 2, CONTENTION_FROM)
    )
    most = max(one + two)
    remark = f"with three hosts {min(three):.3g} to {max(three):.3g} collisions a frame"
    return Finding(exact(most), most == 0, remark)


def mean_over_lengths(entry: Entry, results: Results) -> Finding:
    """Mean over the curves of a series at one number of hosts."""
    found = {frames: _at(entry, results, frames) for frames in lengths_of(results, entry.series)}
    ends = sorted(found, key=lambda frames: found[frames].value)
    least, most = ends[0], ends[-1]
    remark = (
        f"from {found[least].value:.3f} at {_name(least)} to {found[most].value:.3f} at"
        f" {_name(most)}"
    )
    return Finding(average(list(found.values())), remark=remark)


def delay_spread(entry: Entry, results: Results) -> Finding:
    """Ratio of the delay's standard deviation to its mean at one point.

    The two are taken as independent; they rise and fall together, so the interval is on the wide
    side.
    """
    series, hosts = entry.series, entry.read("hosts", int)

    def of(frames: Lengths) -> Estimate:
        point = at(results, series, hosts, frames)
        return ratio(
            point.estimate(Metric.TRANSMISSION_DELAY_SD), point.estimate(Metric.TRANSMISSION_DELAY)
        )

    others = (
        f"{of(frames).value:.2f} at {_name(frames)}" for frames in lengths_of(results, series)
    )
    return Finding(of(lengths(entry.text("frames"))), remark=", ".join(others))


def rises_with_length(entry: Entry, results: Results) -> Finding:
    """Least gain of the bit rate from a length to the next longer one, on the mean over hosts."""
    names = lengths_of(results, entry.series)
    curves = [dict(_curve(entry, results, frames, since=1)) for frames in names]
    gains = [
        average([difference(longer[hosts], shorter[hosts]) for hosts in shorter.keys() & longer])
        for shorter, longer in itertools.pairwise(curves)
    ]
    if not gains:
        raise MissingError("one length has no next")
    least = min(range(len(gains)), key=lambda number: gains[number].value)
    remark = f"least beyond {_name(names[least])}"
    return Finding(gains[least], every(decision(gain, ">", 0) for gain in gains), remark)


def falls_with_hosts(entry: Entry, results: Results) -> Finding:
    """Largest rank correlation of the bit rate with the number of hosts, over all lengths."""
    ranks = {}
    for frames in lengths_of(results, entry.series):
        curve = _curve(entry, results, frames, since=CONTENTION_FROM)
        ranks[frames] = rank_correlation(
            np.array([float(hosts) for hosts, _ in curve]),
            np.array([found.value for _, found in curve]),
        )
    worst = max(ranks, key=lambda frames: ranks[frames].rho)
    falls = all(rank.falling_probability < SIGNIFICANT for rank in ranks.values())
    return Finding(exact(ranks[worst].rho), falls, f"largest at {_name(worst)}")


def first_rises(entry: Entry, results: Results) -> Finding:
    """Gain of the shortest packets from one host to two."""
    curve = dict(_curve(entry, results, lengths_of(results, entry.series)[0], since=1))
    if not {1, 2} <= curve.keys():
        raise MissingError("no points with one host and with two")
    gain = difference(curve[2], curve[1])
    return Finding(gain, decision(gain, ">", 0))


def linear(entry: Entry, results: Results) -> Finding:
    """Whether every curve of a series is a rising line from three hosts on."""
    rises, bends = {}, {}
    for frames in lengths_of(results, entry.series):
        curve = _curve(entry, results, frames, since=CONTENTION_FROM)
        rises[frames] = difference(curve[-1][1], curve[0][1])
        bends[frames] = bend([hosts for hosts, _ in curve], [found for _, found in curve])
    worst = max(bends, key=lambda frames: abs(bends[frames].value - 1))
    rising = every(decision(of, ">", 0) for of in rises.values())
    remark = "; ".join(f"{_ends_text(of)} at {_name(frames)}" for frames, of in bends.items())
    straight = (is_straight(of, entry.number("limit")) for of in bends.values())
    return Finding(bends[worst], every([rising, *straight]), remark)


def unfairness_falls(entry: Entry, results: Results) -> Finding:
    """Whether the spread falls with the number of hosts and is largest at three."""
    curves = [
        dict(_curve(entry, results, frames, since=CONTENTION_FROM))
        for frames in lengths_of(results, entry.series)
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
    # A rise that is as unlikely by chance as the fall should be contradicts it.
    falls: Decision = (
        "holds"
        if ranks.falling_probability < SIGNIFICANT
        else "fails"
        if ranks.falling_probability > 1 - SIGNIFICANT
        else "undecided"
    )
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
    return Finding(exact(ranks.rho), every([falls, largest]), remark)


def lift(entry: Entry, results: Results) -> Finding:
    """Utilisation with one long frame in eight, from all short (0) to all long (1)."""
    short, mixed, long = (_at(entry, results, lengths(frames)) for frames in entry.texts("frames"))
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
        decision(found, ">", 0.5),
        f"utilisation {short.value:.3f} all short, {mixed.value:.3f} with one in eight,"
        f" {long.value:.3f} all long",
    )


def _gains(entry: Entry, results: Results) -> dict[Lengths, dict[int, Estimate]]:
    """Gain of one series over another by length and number of hosts."""
    metric, pair = Metric(entry.text("metric")), (entry.series, entry.text("against"))
    gains: dict[Lengths, dict[int, Estimate]] = {}
    for frames in lengths_of(results, entry.series):
        shared = set.intersection(*(set(hosts_of(results, series, frames)) for series in pair))
        gains[frames] = {
            hosts: difference(
                *(at(results, series, hosts, frames).estimate(metric) for series in pair)
            )
            for hosts in sorted(shared)
            if hosts >= COMPARED_FROM
        }
        if len(gains[frames]) < 3:
            raise MissingError(f"fewer than three numbers of hosts from {COMPARED_FROM} on")
    return gains


def shorter_net(entry: Entry, results: Results) -> Finding:
    """Whether the short net is more efficient.

    With the shortest frames at every number of hosts, with the others on the mean.
    """
    gains = _gains(entry, results)
    means = {frames: average(list(of.values())) for frames, of in gains.items()}
    shortest = min(gains)
    remarks = [
        f"{_ends_text(gain)} at {_name(shortest)} with {hosts} hosts"
        for hosts, gain in gains[shortest].items()
        if not gain.low > 0
    ]
    remarks += [
        f"{_ends_text(gain)} on the mean at {_name(frames)}"
        for frames, gain in means.items()
        if not gain.low > 0
    ]
    decisions = (decision(gain, ">", 0) for gain in [*gains[shortest].values(), *means.values()])
    return Finding(means[shortest], every(decisions), "; ".join(remarks))


def most_for_the_shortest(entry: Entry, results: Results) -> Finding:
    """Whether the short net's gain is largest with the shortest frames."""
    means = {frames: average(list(of.values())) for frames, of in _gains(entry, results).items()}
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
    return Finding(found, decision(found, ">", 0), remark)


def _ends_text(gain: Estimate) -> str:
    return f"{gain.low:.3g} to {gain.high:.3g}".replace("-", "−")


def _name(frames: Lengths) -> str:
    return " + ".join(
        f"{octets:g} B" + (f" x {weight:g}" if len(frames) > 1 else "") for octets, weight in frames
    )


def difference_of_runs(entry: Entry, results: Results) -> Finding:
    """How much higher (or, with `lower`, lower) one series is than another.

    With the prediction interval of two single runs.

    The published number is a difference of two single runs, whose run-to-run spread is larger than
    its rounding. The interval that a further such difference falls into with 95% is the mean plus
    or minus t s sqrt(1 + 1/R), s from the R replications of either side. There is none with fewer
    than three replications, or if a run's window is not the study's 10 s, since s depends on it;
    nor if the mean difference is not above zero by its interval: no wide one makes up for that.

    Source
    ------
    Hahn and Meeker, Statistical Intervals, 1991, section 4.7.
    """
    frames, hosts = lengths(entry.text("frames")), entry.read("hosts", int)
    pair = _pair(entry, results, frames, hosts)
    found, weights = _relative(entry, results, frames, hosts, pair)
    sign = -1.0 if entry.read("lower", bool, default=False) else 1.0
    value = sign * found.value
    replications = [at(results, series, hosts, frames).replications for series in pair]
    windows_s = [first(results, series, frames).window_s for series in pair]
    remarks = [_little(entry, results, frames, hosts, pair[1])]
    prediction = None
    is_above = Estimate(value, found.error, found.degrees).low > 0
    has_windows = all(math.isclose(window_s, PUBLISHED_WINDOW_S) for window_s in windows_s)
    if min(replications) >= ENOUGH_REPLICATIONS and has_windows and is_above:
        # The standard error of a mean over R is s / sqrt(R): s^2 (1 + 1/R) is (R + 1) times its
        # square.
        single = [
            Estimate(estimate.value, estimate.error * math.sqrt(count + 1), estimate.degrees)
            for estimate, count in zip(
                _ends(entry, results, frames, hosts, pair), replications, strict=True
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


def no_appreciable_difference(entry: Entry, results: Results) -> Finding:
    """Whether one series differs from another by less than 0.5%, interval included.

    An exact zero without an interval does not count.
    """
    frames, hosts = lengths(entry.text("frames")), entry.read("hosts", int)
    found, _ = _relative(entry, results, frames, hosts, _pair(entry, results, frames, hosts))
    ends = (("<", NO_DIFFERENCE), (">", -NO_DIFFERENCE))
    return Finding(found, every(decision(found, *end) for end in ends))


def _pair(entry: Entry, results: Results, frames: Lengths, hosts: int) -> tuple[str, str]:
    """Series to compare: those made for it if the run holds both, otherwise the figures' own."""
    made = entry.texts("made_for_it")
    first, second = (
        made
        if all((series, hosts, frames) in points_of(results) for series in made)
        else (entry.series, entry.text("against"))
    )
    return first, second


def _ends(
    entry: Entry, results: Results, frames: Lengths, hosts: int, pair: tuple[str, str]
) -> tuple[Estimate, Estimate]:
    metric = Metric(entry.text("metric"))
    return at(results, pair[0], hosts, frames).estimate(metric), at(
        results, pair[1], hosts, frames
    ).estimate(metric)


def _relative(
    entry: Entry, results: Results, frames: Lengths, hosts: int, pair: tuple[str, str]
) -> tuple[Estimate, tuple[float, float]]:
    """First over second less one, and its derivatives by the two."""
    first, second = _ends(entry, results, frames, hosts, pair)
    found = ratio(first, second)
    return Estimate(found.value - 1, found.error, found.degrees), (
        1 / second.value,
        -found.value / second.value,
    )


def _little(entry: Entry, results: Results, frames: Lengths, hosts: int, series: str) -> str:
    """Describe, by Little's law, the delay's rise: hosts = rate x (delay + service)."""
    rate_per_s = at(results, series, hosts, frames).estimate(Metric.PACKET_RATE).value
    delay_s = at(results, series, hosts, frames).estimate(Metric.TRANSMISSION_DELAY).value
    factor = hosts / rate_per_s / delay_s
    rise = (
        f"by Little’s law the delay’s rise is cycle / (cycle − service) = {factor:.2f} times the"
        " utilisation’s fall"
    )
    return f"{rise}, {entry.text('consequence')}"


RULES: Mapping[str, Rule] = {**rules_of(globals()), **problems.RULES, **failures.RULES}
