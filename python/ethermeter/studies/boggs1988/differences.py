"""Differences: how much one series is above another, relative to it.

Also what two single runs would have shown of it.
"""

import math

from ethermeter.analysis.estimates import ENOUGH_REPLICATIONS
from ethermeter.analysis.frame_mixes import Lengths, lengths
from ethermeter.analysis.interval import Estimate, pooled_degrees, ratio
from ethermeter.metrics import Metric
from ethermeter.studies.boggs1988.evidence import Evidence
from ethermeter.studies.judging import Entry, Finding

NO_DIFFERENCE = 0.005
PUBLISHED_WINDOW_S = 10.0
"""Window of one of the study's runs (section 3.3)."""


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
