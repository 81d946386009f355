"""Gonsalves 1982: claims.

Packet-Voice Communication on an Ethernet Local Computer Network, Stanford, CSL TR 230.

Its tables are read off curves against the number of hosts: at the knee, and where a share of the
samples is lost. So are ours, on the straight line between two numbers of hosts, for each
replication by itself; the interval is Student's t over the replications.

The study's words: *delay* D is here the mean over samples (`Metric.SAMPLE_DELAY`), not over packets
as its section 3.3 says: its delays at losses of 1 and 5% can only be that
(evidence/voice-study.md).
*Throughput* T is the share of the capacity that delivered packets take, in tables 4.1 and 4.3
without 6 bytes of header and checksum a packet, in table 4.2 evidently with them. *Loss* L is that
of samples.
"""

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.analysis.verdicts import decision, every
from ethermeter.entities import medium_of, senders
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats, ratio, student
from ethermeter.results.query import MissingError, Results, Where
from ethermeter.results.trials import PS_PER_S
from ethermeter.scenario import CoderArrivals, SamplesLengths
from ethermeter.studies.judging import Entry, Finding, Rule, judged, measured_entries, rules_of
from ethermeter.studies.rules import bend, crossing, is_straight, takeoff

HOSTS = "stations.count"
FRAMES = "stations.frames"
HEADER_BITS = 48
"""Header and checksum, which the study does not count as data (section 3.1)."""


def measured(results: Results) -> tuple[Claim, ...]:
    """Every published number that the live tests measure against a run of them.

    By the rules of the simulated study, each point measured once or more often; in the order of
    `measured` in `published.toml`.
    """
    return judged(measured_entries(__package__), RULES, results)


def reading(results: Results, series: str, where: Where, quantity: str) -> Floats:
    """Return a quantity of the study at a point, one value a replication.

    `hosts`; `loss`, a share; `delay` and `packet_delay` in ms, over samples and over packets;
    `normalised_delay`, over the formula's shortest; `throughput` and `data_throughput` in %, with
    and without headers; `load` in %.
    """
    bit_s = medium_of(results.at(series, where).scenario).bit_ps / PS_PER_S

    def of(metric: Metric) -> Floats:
        return results.at(series, where).values(metric)

    def delay_s(metric: Metric) -> Floats:
        # The study's delays begin with the interval of the oldest sample, as its shortest is that
        # of all samples of a packet (section 3.3); the metric's begin with its end.
        coder, _ = _voice(results, series, where)
        return of(metric) + coder.sample_ps / PS_PER_S

    match quantity:
        case "hosts":
            return np.full(results.at(series, where).replications, float(where[HOSTS]))
        case "loss":
            return of(Metric.SAMPLE_LOSS)
        case "delay":
            return delay_s(Metric.SAMPLE_DELAY) * 1e3
        case "packet_delay":
            return delay_s(Metric.VOICE_DELAY) * 1e3
        case "normalised_delay":
            return delay_s(Metric.SAMPLE_DELAY) / shortest_delay_s(results, series, where)
        case "throughput":
            return of(Metric.GOODPUT) * bit_s * 100
        case "data_throughput":
            return (of(Metric.GOODPUT) - HEADER_BITS * of(Metric.PACKET_RATE)) * bit_s * 100
        case "load":
            return of(Metric.VOICE_LOAD) * 100
        case _:
            raise ValueError(f"quantity must be one of the study's, got {quantity}")


def _voice(results: Results, series: str, where: Where) -> tuple[CoderArrivals, SamplesLengths]:
    """Return the coder and the packets of the hosts."""
    (group,) = senders(results.at(series, where).scenario)
    coder, frames = group.flow.arrivals, group.flow.frames
    assert isinstance(coder, CoderArrivals), "the study's hosts send voice"
    assert isinstance(frames, SamplesLengths)
    return coder, frames


def shortest_delay_s(results: Results, series: str, where: Where) -> float:
    """Return the study's Dmin = P' 8 / R with P' = Pmin / (1 - R / C), in s (section 3.3)."""
    scenario = results.at(series, where).scenario
    coder, frames = _voice(results, series, where)
    rate_bps = coder.sample_bits * PS_PER_S / coder.sample_ps
    capacity_bps = PS_PER_S / medium_of(scenario).bit_ps
    return float(frames.min_bits / (1 - rate_bps / capacity_bps) / rate_bps)


def _curve(results: Results, series: str, where: Where, quantity: str) -> tuple[Floats, Floats]:
    """Return numbers of hosts, shape `(points,)`, and values, `(replications, points)`."""
    texts = sorted(results.along(series, HOSTS, where), key=float)
    if len(texts) < 3:
        raise MissingError(f"fewer than three numbers of hosts for {series}, {dict(where)}")
    rows = [reading(results, series, {**where, HOSTS: text}, quantity) for text in texts]
    replications = min(row.size for row in rows)
    return (
        np.array([text.number for text in texts]),
        np.array([row[:replications] for row in rows]).T,
    )


def value_at_loss(
    results: Results, series: str, where: Where, quantity: str, loss: float
) -> Floats:
    """Read a quantity off where a share of the samples is lost, one value a replication."""
    hosts, losses = _curve(results, series, where, "loss")
    _, values = _curve(results, series, where, quantity)
    return np.array(
        [
            np.interp(crossing(hosts, lost, loss), hosts, value)
            for lost, value in zip(losses, values, strict=True)
        ]
    )


def _at_knee(results: Results, series: str, where: Where, quantity: str) -> Floats:
    """Read a quantity off where the delay takes off, one value a replication."""
    hosts, delays = _curve(results, series, where, "delay")
    _, values = _curve(results, series, where, quantity)
    return np.array(
        [
            np.interp(takeoff(hosts, delay), hosts, value)
            for delay, value in zip(delays, values, strict=True)
        ]
    )


def at_loss(entry: Entry, results: Results) -> Finding:
    """Find a quantity where the entry's share of samples is lost."""
    return Finding(
        student(
            value_at_loss(
                results, entry.series, entry.point(), entry.text("quantity"), entry.number("loss")
            )
        )
    )


def at_knee(entry: Entry, results: Results) -> Finding:
    """Find a quantity where the delay takes off."""
    return Finding(student(_at_knee(results, entry.series, entry.point(), entry.text("quantity"))))


def at_hosts(entry: Entry, results: Results) -> Finding:
    """Find a quantity with a number of hosts.

    Over several results, their mean, with the least and the largest.
    """
    found = {
        text: student(
            reading(
                results,
                entry.series,
                {**where, HOSTS: str(entry.read("hosts", int))},
                entry.text("quantity"),
            )
        )
        for text, where in _named(entry)
    }
    mean = Estimate(
        sum(of.value for of in found.values()) / len(found),
        float(np.hypot.reduce([of.error for of in found.values()])) / len(found),
        min(of.degrees for of in found.values()),
    )
    remark = (
        ", ".join(f"{of.value:.3g} at {text}" for text, of in found.items())
        if len(found) > 1
        else ""
    )
    return Finding(mean, remark=remark)


def below(entry: Entry, results: Results) -> Finding:
    """Whether a metric with a number of hosts is below a limit, by its interval.

    Over several results, all of them; ours is the largest.
    """
    metric, scale = Metric(entry.text("metric")), entry.number("scale", 1.0)
    hosts = {HOSTS: str(entry.read("hosts", int))}
    found = {
        text: results.at(entry.series, {**where, **hosts}).estimate(metric).scaled(scale)
        for text, where in _named(entry)
    }
    most = max(found.values(), key=lambda of: of.value)
    are_below = every(decision(of, "<", entry.number("limit")) for of in found.values())
    remark = ", ".join(f"{of.value:.3g} at {text}" for text, of in found.items())
    return Finding(most, are_below, remark if len(found) > 1 else "")


def fairness(entry: Entry, results: Results) -> Finding:
    """Find the least or the largest of the hosts' mean delays over the mean of all."""
    where = {**entry.point(), HOSTS: str(entry.read("hosts", int))}
    at = results.at(entry.series, where)
    pick = np.min if entry.text("end") == "least" else np.max

    def extreme(metric: Metric) -> Estimate:
        means = [at.each(metric, trial) for trial in range(at.replications)]
        return student(np.array([pick(of) / np.mean(of) for of in means]) * 100)

    over_packets = extreme(Metric.VOICE_DELAY)
    return Finding(
        extreme(Metric.SAMPLE_DELAY), remark=f"of the means over packets {over_packets.value:.1f}%"
    )


def load_moves(entry: Entry, results: Results) -> Finding:
    """Find the largest difference between coders of the load at a loss, in % of the capacity.

    At a loss, or at a normalised delay.
    """
    moves, remarks = [], []
    for what, levels in (
        ("loss", entry.read("losses", list[float])),
        ("normalised_delay", entry.read("delays", list[float])),
    ):
        for level in levels:
            loads = {}
            for series, where in entry.read("curves", list[tuple[str, dict[str, str]]]):
                hosts, values = _curve(results, series, where, what)
                _, load = _curve(results, series, where, "load")
                loads[series] = np.array(
                    [np.interp(crossing(hosts, row, level), hosts, load[0]) for row in values]
                )
            means = {series: float(of.mean()) for series, of in loads.items()}
            low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            apart = student(loads[high][: loads[low].size] - loads[low][: loads[high].size])
            remarks.append(f"{apart.value:.1f} at {what.replace('_', ' ')} {level:g}")
            moves.append(apart)
    are_small = every(decision(of, "<=", entry.number("limit")) for of in moves)
    return Finding(max(moves, key=lambda of: of.value), are_small, "; ".join(remarks))


def rises(entry: Entry, results: Results) -> Finding:
    """Whether a quantity rises from value to value of a key, at each of the losses.

    Or its growth from the first loss to the last.
    """
    found = []
    for text in entry.texts("values"):
        where = {**entry.point(), entry.text("key"): text}
        at = [
            value_at_loss(results, entry.series, where, entry.text("quantity"), loss)
            for loss in entry.read("losses", list[float])
        ]
        found.append(at[-1] - at[0] if entry.read("growth", bool, default=False) else at[0])
    steps = [student(after - before) for before, after in pairwise(found)]
    falling = any(step.high < 0 for step in steps)
    whole = student(found[-1] - found[0])
    remark = ", ".join(
        f"{of.mean():.1f} at {text}" for text, of in zip(entry.texts("values"), found, strict=True)
    )
    return Finding(whole, every([decision(whole, ">", 0), not falling]), remark)


def grows_linearly(entry: Entry, results: Results) -> Finding:
    """Whether loss grows linearly with the load, from a loss of 1% on, at each value of a key.

    Ours is the bend that is farthest from 1.
    """
    found = {}
    for text in entry.texts("values"):
        where = {**entry.point(), entry.text("key"): text}
        _, losses = _curve(results, entry.series, where, "loss")
        _, loads = _curve(results, entry.series, where, "load")
        lossy = losses.mean(axis=0) >= entry.number("loss")
        if not lossy.any() or np.ptp(losses[:, lossy], axis=1).min() == 0:
            raise MissingError(f"losses that do not vary, {where}")
        found[text] = bend(
            loads[:, lossy].mean(axis=0).tolist(), [student(of) for of in losses[:, lossy].T]
        )
    most = max(found.values(), key=lambda of: abs(math.log(of.value)) if of.value > 0 else math.inf)
    are_linear = every(is_straight(of, entry.number("limit")) for of in found.values())
    remark = ", ".join(f"{of.value:.2f} at {text}" for text, of in found.items())
    return Finding(most, are_linear, remark)


def grown(entry: Entry, results: Results) -> Finding:
    """Find a quantity at a loss, at the last value of a key over that at the first."""
    first, last = (
        value_at_loss(
            results,
            entry.series,
            {**entry.point(), entry.text("key"): text},
            entry.text("quantity"),
            entry.number("loss"),
        )
        for text in (entry.texts("values")[0], entry.texts("values")[-1])
    )
    return Finding(ratio(student(last), student(first)))


def flattens(entry: Entry, results: Results) -> Finding:
    """Whether a quantity flattens at each value of a key, to an end that rises with the key.

    The number is what a further host adds at the end of the curve over what one adds at its
    beginning, where that is most.
    """
    shares, ends = {}, []
    for text in entry.texts("values"):
        where = {**entry.point(), entry.text("key"): text}
        hosts, values = _curve(results, entry.series, where, entry.text("quantity"))
        steps = np.diff(values, axis=1) / np.diff(hosts)
        shares[text] = student(steps[:, -1] / steps[:, 0])
        ends.append(values[:, -1])
    most = max(shares.values(), key=lambda of: of.value)
    are_flat = [decision(of, "<=", entry.number("limit")) for of in shares.values()]
    rising = [decision(student(after - before), ">", 0) for before, after in pairwise(ends)]
    remark = ", ".join(
        f"{of.mean():.1f} at {text}" for text, of in zip(entry.texts("values"), ends, strict=True)
    )
    return Finding(most, every([*are_flat, *rising]), remark)


def stays(entry: Entry, results: Results) -> Finding:
    """Whether quantities stay the same, within a share each, at all values of a key.

    Each is compared with itself at the first value.
    """
    found = {}
    key, (first, *others) = entry.text("key"), entry.texts("values")
    for quantity, limit in entry.read("shares", dict[str, float]).items():
        for where in entry.read("curves", list[dict[str, str]]):
            before = reading(results, entry.series, {**where, key: first}, quantity)
            for text in others:
                after = reading(results, entry.series, {**where, key: text}, quantity)
                move = _moved(before, after)
                found[f"{quantity.replace('_', ' ')} at {text}"] = (
                    move.scaled(100 / float(before.mean())),
                    100 * limit,
                )
    within = every(
        decision(of, side, sign * limit)
        for of, limit in found.values()
        for side, sign in (("<=", 1), (">=", -1))
    )
    most = max((of for of, _ in found.values()), key=lambda of: abs(of.value))
    remark = "; ".join(f"{of.value:+.1f}% {name}" for name, (of, _) in found.items())
    return Finding(most, within, remark.replace("-", "−"))


def one_length(octets: str, buffers: int) -> Where:
    """Return the point of packets of one length, as the series `fixed` has it.

    Examples
    --------
    >>> print(one_length("64 B", 2)[FRAMES][:40])
    { samples = { least = "64 B", most = "64
    """
    samples = f'least = "{octets}", most = "{octets}", overhead = "0 B", buffers = {buffers}'
    return {FRAMES: f'{{ samples = {{ {samples}, discard_after = "100 ms" }} }}'}


def no_better(entry: Entry, results: Results) -> Finding:
    """Whether more hosts go with the study's packets at a loss than with packets of one length.

    Each length beside the study's packets that grow from it on.
    """
    loss, gains = entry.number("loss"), {}
    for octets in entry.texts("lengths"):
        where = {entry.text("key"): octets}
        ours = value_at_loss(results, entry.text("beside"), where, "hosts", loss)
        for buffers in entry.read("buffers", list[int]):
            others = value_at_loss(
                results, entry.series, one_length(octets, buffers), "hosts", loss
            )
            gains[f"{octets} in {buffers}"] = _moved(ours, others)
    most = max(gains.values(), key=lambda of: of.value)
    remark = ", ".join(f"{of.value:+.1f} at {text}" for text, of in gains.items())
    kept = every(decision(of, "<=", entry.number("limit")) for of in gains.values())
    return Finding(most, kept, remark.replace("-", "−"))


def admits(entry: Entry, results: Results) -> Finding:
    """Whether a rule of admission keeps the loss of samples below a limit that is passed without.

    Both by the interval, in % of the samples; the value is the loss with the rule.
    """
    key, limit = entry.text("key"), entry.number("limit")

    def at(rule: str) -> Results:
        return results.at(entry.series, {**entry.point(), key: entry.text(rule)})

    def percent(rule: str, metric: Metric) -> Estimate:
        return at(rule).estimate(metric).scaled(100)

    without, kept = (percent(rule, Metric.SAMPLE_LOSS) for rule in ("without", "admitted"))
    refused = (percent(rule, Metric.CALL_REFUSAL) for rule in ("without", "admitted"))
    before, after = (f"{of.value:.1f}% of the calls refused" for of in refused)
    remark = f"{without.value:.2f}% with {before} without the rule, then {after}"
    return Finding(kept, every([decision(without, ">", limit), decision(kept, "<", limit)]), remark)


def admits_alike(entry: Entry, results: Results) -> Finding:
    """Difference in percentage points of the calls refused by two rules of admission.

    Whether it is within a limit by the interval, and the loss of samples of the second below
    another.
    """
    key, points = entry.text("key"), entry.number("limit")
    one, other = (
        results.at(entry.series, {**entry.point(), key: entry.text(rule)})
        for rule in ("first", "second")
    )
    apart = _moved(one.values(Metric.CALL_REFUSAL) * 100, other.values(Metric.CALL_REFUSAL) * 100)
    lost = other.estimate(Metric.SAMPLE_LOSS).scaled(100)
    alike = [decision(apart, "<=", points), decision(apart, ">=", -points)]
    kept = decision(lost, "<", entry.number("loss"))
    return Finding(apart, every([*alike, kept]), f"{lost.value:.2f}% of the samples lost")


def data_curves(entry: Entry, results: Results) -> Finding:
    """Decide a statement about data under load.

    `levels-off`: the change from the first value of the key to the second is within the limit,
    at every length. `stable`: it is not below the limit. `longer-is-more`, `fair`, and `by-length`,
    the throughput of the longest over that of the shortest.
    """
    texts, ends, statement = entry.texts("frames"), entry.texts("values"), entry.text("statement")
    bit_s = (
        medium_of(results.at(entry.series, _data(entry, texts[0], ends[0])).scenario).bit_ps
        / PS_PER_S
    )

    def utilisation(octets: str, value: str) -> Floats:
        return results.at(entry.series, _data(entry, octets, value)).values(Metric.GOODPUT) * bit_s

    if statement in ("levels-off", "stable"):
        limit = entry.number("limit")
        changes = {
            octets: student(utilisation(octets, ends[1]) / utilisation(octets, ends[0]) - 1)
            for octets in texts
        }
        sides = [(">=", -limit)] + [("<=", limit)] * (statement == "levels-off")
        kept = every(decision(of, *side) for of in changes.values() for side in sides)
        most = {"stable": lambda of: -of.value, "levels-off": lambda of: abs(of.value)}[statement]
        remark = "; ".join(f"{of.value * 100:+.1f}% at {octets}" for octets, of in changes.items())
        return Finding(max(changes.values(), key=most), kept, remark.replace("-", "−"))
    if statement == "fair":
        last = [results.at(entry.series, _data(entry, octets, ends[-1])) for octets in texts]
        rates = [of.each(Metric.BIT_RATE, trial) for of in last for trial in range(of.replications)]
        spread = student(np.array([np.std(of, ddof=1) / np.mean(of) for of in rates]))
        return Finding(spread, decision(spread, "<", entry.number("limit")))
    at_last = [student(utilisation(octets, ends[-1])) for octets in texts]
    remark = ", ".join(
        f"{of.value:.3f} at {octets}" for octets, of in zip(texts, at_last, strict=True)
    )
    if statement == "by-length":
        return Finding(ratio(at_last[-1], at_last[0]), remark=remark)
    steps = [
        student(utilisation(longer, ends[-1]) - utilisation(shorter, ends[-1]))
        for shorter, longer in pairwise(texts)
    ]
    return Finding(at_last[-1], every(decision(step, ">", 0) for step in steps), remark)


def _data(entry: Entry, octets: str, value: str) -> Where:
    return {FRAMES: octets, entry.text("key"): value}


def _moved(before: Floats, after: Floats) -> Estimate:
    """Return the difference of two means over replications that are not paired."""
    first, last = student(before), student(after)
    error = float(np.hypot(first.error, last.error))
    return Estimate(last.value - first.value, error, min(first.degrees, last.degrees))


def _named(entry: Entry) -> list[tuple[str, Where]]:
    """Return the entry's results, each with what distinguishes it."""
    if "key" not in entry:
        return [("", entry.point())]
    return [(text, {**entry.point(), entry.text("key"): text}) for text in entry.texts("values")]


RULES: Mapping[str, Rule] = rules_of(globals())
