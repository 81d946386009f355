"""Gonsalves and Tobagi 1986, station location on an Ethernet: claims.

IEEE Transactions on Communications 36(4), 441-449, 1988.

Neither the paper's text nor a number of it is at hand: what is judged are the statements of its
abstract and of the summary by Boggs, Mogul and Kent (1988, section 2.4.7). What the paper simulated
in detail is assumed, and the experiment files say so.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ethermeter.analysis.verdicts import Decision, decision, every
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, average, difference, ratio
from ethermeter.results.query import Results
from ethermeter.studies.gonsalves_tobagi1986.shares import combinations, contrast_of
from ethermeter.studies.judging import Entry, Finding, Rule, rules_of

FRAMES = "stations.frames"
CHECK_WINDOW_S = 20.0
"""Window of the single runs behind the reference check."""

Points = dict[str, list[str]]
"""Points of the experiment: values by varied key."""
Found = Sequence[tuple[Mapping[str, str], Estimate]]
"""Points with what was found there."""


def contrast(entry: Entry, results: Results) -> Finding:
    """Whether some stations get more (`better = "higher"`) or less than the others.

    By the interval, at every point asked for.
    """
    found = [
        (
            where,
            contrast_of(
                results.at(entry.series, where),
                Metric(entry.text("metric")),
                entry.text("division"),
            ),
        )
        for where in combinations(entry.read("at", Points))
    ]
    holds, but = _judged(
        [(where, Estimate(of.value - 1, of.error, of.degrees)) for where, of in found],
        entry.text("better"),
    )
    return Finding(_geometric([of for _, of in found]), holds, _range(found) + but)


def slight(entry: Entry, results: Results) -> Finding:
    """Whether the middle gains less than the larger of two clusters, at every frame length."""
    metric = Metric(entry.text("metric"))
    found = []
    for slightly, greatly in zip(
        combinations(entry.read("slightly", Points)),
        combinations(entry.read("greatly", Points)),
        strict=True,
    ):
        middle = contrast_of(results.at(entry.series, slightly), metric, "middle")
        larger = contrast_of(results.at(entry.text("against"), greatly), metric, "larger")
        found.append((slightly, difference(larger, middle)))
    holds, but = _judged(found, "higher")
    return Finding(average([of for _, of in found]), holds, _range(found) + but)


def differs(entry: Entry, results: Results) -> Finding:
    """Whether the segment carries more with one distribution of stations than with another.

    In either direction, at every frame length. Undecided where they are too close to tell: no
    interval shows that two are the same.
    """
    metric = Metric(entry.text("metric"))
    found = []
    for here, there in zip(
        combinations(entry.read("at", Points)),
        combinations(entry.read("other", Points)),
        strict=True,
    ):
        of = ratio(
            results.at(entry.series, here).estimate(metric),
            results.at(entry.text("against"), there).estimate(metric),
        )
        found.append((here, Estimate(of.value - 1, of.error, of.degrees)))
    undecided = [where for where, of in found if not (of.low > 0 or of.high < 0)]
    return Finding(
        average([of for _, of in found]),
        "undecided" if undecided else "holds",
        _range(found) + _but(undecided, found, "too close to tell"),
    )


def more_of(entry: Entry, results: Results) -> Finding:
    """Whether a metric rises (or falls) from the first value of a key to the last.

    No step may go in the other direction, by the intervals.
    """
    metric, key, values = Metric(entry.text("metric")), entry.text("key"), entry.texts("values")
    is_upward = entry.text("better") == "higher"
    found, against, decisions = [], [], []
    for where in combinations(entry.read("at", Points)):
        curve = [results.at(entry.series, {**where, key: text}).estimate(metric) for text in values]
        gain = difference(curve[-1], curve[0])
        steps = [difference(later, earlier) for earlier, later in pairwise(curve)]
        found.append((where, gain))
        is_back = any(step.high < 0 if is_upward else step.low > 0 for step in steps)
        decisions.append(every([decision(gain, ">" if is_upward else "<", 0), not is_back]))
        if decisions[-1] != "holds":
            against.append(where)
    scale = entry.number("scale", 1.0)
    scaled = [(where, of.scaled(scale)) for where, of in found]
    return Finding(
        average([of for _, of in scaled]),
        every(decisions),
        _range(scaled) + _but(against, found, "not so by its intervals"),
    )


def carries_more(entry: Entry, results: Results) -> Finding:
    """Whether one value of a key carries more than another, at every frame length.

    On the mean of the points asked for.
    """
    metric, key = Metric(entry.text("metric")), entry.text("key")
    found = []
    for octets in entry.texts("frames"):
        gains = [
            difference(
                *(
                    results.at(entry.series, {**where, FRAMES: octets, key: text}).estimate(metric)
                    for text in entry.texts("values")
                )
            )
            for where in combinations(entry.read("at", Points))
        ]
        found.append(({FRAMES: octets}, average(gains)))
    holds, but = _judged(found, "higher")
    remark = "; ".join(f"{of.value:+.3f} at {where[FRAMES]}" for where, of in found).replace(
        "-", "−"
    )
    return Finding(average([of for _, of in found]), holds, remark + but)


def reference_ratio(entry: Entry, results: Results) -> Finding:
    """Find the ratio of a station of the smaller cluster to one of the larger.

    With the interval of a single run of 20 s.

    The standard error of a mean over R replications is s / sqrt(R), so that of a further single run
    about it is sqrt(R + 1) times as much (Hahn and Meeker, Statistical Intervals, 1991, section
    4.7). There is no such interval if the run's window is not 20 s.
    """
    (where,) = combinations(entry.read("at", Points))
    larger = contrast_of(results.at(entry.series, where), Metric(entry.text("metric")), "larger")
    found = Estimate(1 / larger.value, larger.error / larger.value**2, larger.degrees)
    if not math.isclose(results.at(entry.series, where).window_s, CHECK_WINDOW_S):
        return Finding(found)
    single = Estimate(found.value, found.error * math.sqrt(found.degrees + 2), found.degrees)
    remark = (
        f"a single run of {CHECK_WINDOW_S:g} s lies between {single.low:.2f} and {single.high:.2f}"
        " (95% prediction interval)"
    )
    return Finding(found, remark=remark, prediction=(single.low, single.high))


def _judged(found: Found, better: str) -> tuple[Decision, str]:
    """Whether all are above (or below) zero by their intervals.

    With a text on those that are on the other side, and on those that are too close.
    """
    decisions = [
        (where, decision(of, ">" if better == "higher" else "<", 0)) for where, of in found
    ]
    contrary, undecided = (
        [where for where, each in decisions if each == word] for word in ("fails", "undecided")
    )
    exceptions = _but(contrary, found, "the other way round, by its interval,") + _but(
        undecided, found, "too close to tell"
    )
    return every(each for _, each in decisions), exceptions


def _geometric(ratios: Sequence[Estimate]) -> Estimate:
    """Return the geometric mean of independent ratios, by the delta method.

    It treats a ratio and its inverse alike.
    """
    logs = average([Estimate(math.log(of.value), of.error / of.value, of.degrees) for of in ratios])
    return Estimate(math.exp(logs.value), math.exp(logs.value) * logs.error, logs.degrees)


def _range(found: Found) -> str:
    """Return the least and the largest finding as text, with their points."""
    ends = [pick(found, key=lambda item: item[1].value) for pick in (min, max)]
    return " to ".join(f"{of.value:.3g} ({_name(where)})" for where, of in ends).replace("-", "−")


def _but(against: Sequence[Mapping[str, str]], found: Found, how: str) -> str:
    if not against:
        return ""
    places = "every point" if len(against) == len(found) > 1 else "; ".join(map(_name, against))
    return f"; {how} at {places}"


def _name(where: Mapping[str, str]) -> str:
    """Write a point for a person: "load 1.2, 1 + 23, 64 B"."""
    words = []
    for key, text in where.items():
        bare = " ".join(re.sub(r"[\[\]{}=\"]", " ", text).split()).replace(" ,", ",")
        leaf = key.rpartition(".")[2]
        if leaf == "per_cluster":
            bare = bare.replace(", ", " + ")
        words.append(
            {"poisson_load": f"load {bare}", "clusters": f"{bare} clusters"}.get(leaf, bare)
        )
    return ", ".join(words)


RULES: Mapping[str, Rule] = rules_of(globals())
