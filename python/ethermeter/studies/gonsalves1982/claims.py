"""Gonsalves 1982: claims.

Packet-Voice Communication on an Ethernet Local Computer Network, Stanford, CSL TR 230.

Its tables are read off curves against the number of hosts: at the knee, and where a share of the
samples is lost. So are ours, on the straight line between two numbers of hosts, for each
replication by itself; the interval is Student's t over the replications.

The study's words: *delay* D is here the mean over samples (`Metric.SAMPLE_DELAY`), not over packets
as its section 3.3 says: its delays at losses of 1 and 5% can only be that
(docs/evidence/voice-study.md).
*Throughput* T is the share of the capacity that delivered packets take, in tables 4.1 and 4.3
without 6 bytes of header and checksum a packet, in table 4.2 evidently with them. *Loss* L is that
of samples.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.analysis.interval import Estimate, Floats, exact, student
from ethermeter.analysis.tables import PS_PER_S, Trial
from ethermeter.analysis.unseen import is_unseen, limited
from ethermeter.metrics import Metric
from ethermeter.results.values import Whole, of_all, values_of_each
from ethermeter.scenario import CoderArrivals, SamplesLengths
from ethermeter.station_groups import groups_of, medium_of
from ethermeter.studies.judging import (
    Entry,
    Finding,
    MissingError,
    judged,
    measured_entries,
    published,
    rules_of,
)
from ethermeter.studies.replications import Curves, crossing, takeoff
from ethermeter.studies.trials import SIMULATION, Where
from ethermeter.trial import LIVE

HOSTS = "stations.count"
HEADER_BITS = 48
"""Header and checksum, which the study does not count as data (section 3.1)."""

Stations = Sequence[Mapping[Metric, Floats]]
"""For every trial, values of its stations, shape `(stations,)`."""
Rule = Callable[[Entry, Curves, Stations], Finding]


def claims(trials: Sequence[Trial], whole: Whole, stations: Stations) -> tuple[Claim, ...]:
    """Every claim against a run, in the order of the file.

    `not-run` where its points are missing.
    """
    curves = Curves(trials, whole)
    return judged(published(__package__), lambda entry: RULES[entry.rule](entry, curves, stations))


def curves_of(run_dir: Path) -> Curves:
    """Gather the curves of a run."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    trials = run.replications()
    return Curves(trials, of_all(run, trials))


def of_run(run_dir: Path) -> tuple[Claim, ...]:
    """Every claim against a finished run."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    trials = run.replications()
    metrics = (Metric.SAMPLE_DELAY, Metric.VOICE_DELAY, Metric.BIT_RATE)
    return claims(trials, of_all(run, trials), values_of_each(run, trials, metrics))


def measured(run_dir: Path) -> tuple[Claim, ...]:
    """Every published number that the live tests measure against a run of them."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    trials = run.replications()
    return measured_claims(trials, of_all(run, trials))


def measured_claims(trials: Sequence[Trial], whole: Whole) -> tuple[Claim, ...]:
    """Every published number that the live tests measure against what was measured.

    By the rules of the simulated study, each point measured once or more often; in the order of
    `measured` in `published.toml`.
    """
    curves = Curves(trials, whole, engine=LIVE, least=1)
    return judged(measured_entries(__package__), lambda entry: RULES[entry.rule](entry, curves, ()))


def reading(curves: Curves, series: str, where: Where, quantity: str) -> Floats:
    """Return a quantity of the study at a point, one value a replication.

    `hosts`; `loss`, a share; `delay` and `packet_delay` in ms, over samples and over packets;
    `normalised_delay`, over the formula's shortest; `throughput` and `data_throughput` in %, with
    and without headers; `load` in %.
    """
    bit_s = curves.bit_ps(series, where) / PS_PER_S

    def of(metric: Metric) -> Floats:
        return curves.values(series, where, metric)

    match quantity:
        case "hosts":
            return np.full(len(curves.trials(series, where)), float(where[HOSTS]))
        case "loss":
            return of(Metric.SAMPLE_LOSS)
        case "delay":
            return of(Metric.SAMPLE_DELAY) * 1e3
        case "packet_delay":
            return of(Metric.VOICE_DELAY) * 1e3
        case "normalised_delay":
            return of(Metric.SAMPLE_DELAY) / shortest_delay_s(curves, series, where)
        case "throughput":
            return of(Metric.GOODPUT) * bit_s * 100
        case "data_throughput":
            return (of(Metric.GOODPUT) - HEADER_BITS * of(Metric.PACKET_RATE)) * bit_s * 100
        case "load":
            return of(Metric.VOICE_LOAD) * 100
        case _:
            raise ValueError(f"quantity must be one of the study's, got {quantity}")


def shortest_delay_s(curves: Curves, series: str, where: Where) -> float:
    """Return the study's Dmin = P' 8 / R with P' = Pmin / (1 - R / C), in s (section 3.3)."""
    scenario = curves.scenario(series, where)
    (group,) = groups_of(scenario)
    coder, frames = group.flow.arrivals, group.flow.frames
    assert isinstance(coder, CoderArrivals), "the study's hosts send voice"
    assert isinstance(frames, SamplesLengths)
    rate_bps = coder.sample_bits * PS_PER_S / coder.sample_ps
    capacity_bps = PS_PER_S / medium_of(scenario).bit_ps
    return float(frames.min_bits / (1 - rate_bps / capacity_bps) / rate_bps)


def _curve(curves: Curves, series: str, where: Where, quantity: str) -> tuple[Floats, Floats]:
    """Return numbers of hosts, shape `(points,)`, and values, `(replications, points)`."""
    texts = curves.along(series, where, HOSTS)
    if len(texts) < 3:
        raise MissingError(f"fewer than three numbers of hosts for {series}, {dict(where)}")
    rows = [reading(curves, series, {**where, HOSTS: text}, quantity) for text in texts]
    replications = min(row.size for row in rows)
    return (
        np.array([float(text) for text in texts]),
        np.array([row[:replications] for row in rows]).T,
    )


def value_at_loss(curves: Curves, series: str, where: Where, quantity: str, loss: float) -> Floats:
    """Read a quantity off where a share of the samples is lost, one value a replication."""
    hosts, losses = _curve(curves, series, where, "loss")
    _, values = _curve(curves, series, where, quantity)
    return np.array(
        [
            np.interp(crossing(hosts, lost, loss), hosts, value)
            for lost, value in zip(losses, values, strict=True)
        ]
    )


def _at_knee(curves: Curves, series: str, where: Where, quantity: str) -> Floats:
    """Read a quantity off where the delay takes off, one value a replication."""
    hosts, delays = _curve(curves, series, where, "delay")
    _, values = _curve(curves, series, where, quantity)
    return np.array(
        [
            np.interp(takeoff(hosts, delay), hosts, value)
            for delay, value in zip(delays, values, strict=True)
        ]
    )


def at_loss(entry: Entry, curves: Curves, _stations: Stations) -> Finding:
    """Find a quantity where the entry's share of samples is lost."""
    return Finding(
        student(
            value_at_loss(
                curves, entry.series, entry.point(), entry.text("quantity"), entry.number("loss")
            )
        )
    )


def at_knee(entry: Entry, curves: Curves, _stations: Stations) -> Finding:
    """Find a quantity where the delay takes off."""
    return Finding(student(_at_knee(curves, entry.series, entry.point(), entry.text("quantity"))))


def at_hosts(entry: Entry, curves: Curves, _stations: Stations) -> Finding:
    """Find a quantity with a number of hosts.

    Over several curves, their mean, with the least and the largest.
    """
    found = {
        text: student(
            reading(
                curves,
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


def below(entry: Entry, curves: Curves, _stations: Stations) -> Finding:
    """Whether a metric with a number of hosts is below a limit, by its interval."""
    where = {**entry.point(), HOSTS: str(entry.read("hosts", int))}
    metric = Metric(entry.text("metric"))
    found = student(curves.values(entry.series, where, metric))
    if is_unseen(metric, found.value, SIMULATION):
        found = limited(metric, found, curves.exposure(entry.series, where, metric))
    found = found.scaled(entry.number("scale", 1.0))
    return Finding(found, found.high < entry.number("limit"))


def fairness(entry: Entry, curves: Curves, stations: Stations) -> Finding:
    """Find the least or the largest of the hosts' mean delays over the mean of all."""
    where = {**entry.point(), HOSTS: str(entry.read("hosts", int))}
    pick = np.min if entry.text("end") == "least" else np.max

    def extreme(metric: Metric) -> Estimate:
        means = [stations[at][metric] for at in curves.trials(entry.series, where)]
        return student(np.array([pick(of) / np.mean(of) for of in means]) * 100)

    over_packets = extreme(Metric.VOICE_DELAY)
    return Finding(
        extreme(Metric.SAMPLE_DELAY), remark=f"of the means over packets {over_packets.value:.1f}%"
    )


def load_moves(entry: Entry, curves: Curves, _stations: Stations) -> Finding:
    """Find the largest difference between coders of the load at a loss, in % of the capacity.

    At a loss, or at a normalised delay.
    """
    widest, remarks = exact(0.0), []
    for what, levels in (
        ("loss", entry.read("losses", list[float])),
        ("normalised_delay", entry.read("delays", list[float])),
    ):
        for level in levels:
            loads = {}
            for series, where in entry.read("curves", list[tuple[str, dict[str, str]]]):
                hosts, values = _curve(curves, series, where, what)
                _, load = _curve(curves, series, where, "load")
                loads[series] = np.array(
                    [np.interp(crossing(hosts, row, level), hosts, load[0]) for row in values]
                )
            means = {series: float(of.mean()) for series, of in loads.items()}
            low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            apart = student(loads[high][: loads[low].size] - loads[low][: loads[high].size])
            remarks.append(f"{apart.value:.1f} at {what.replace('_', ' ')} {level:g}")
            widest = max(widest, apart, key=lambda of: of.value)
    return Finding(widest, widest.value <= entry.number("limit"), "; ".join(remarks))


def rises(entry: Entry, curves: Curves, _stations: Stations) -> Finding:
    """Whether a quantity rises from value to value of a key, at each of the losses.

    Or its growth from the first loss to the last.
    """
    found = []
    for text in entry.texts("values"):
        where = {**entry.point(), entry.text("key"): text}
        at = [
            value_at_loss(curves, entry.series, where, entry.text("quantity"), loss)
            for loss in entry.read("losses", list[float])
        ]
        found.append(at[-1] - at[0] if entry.read("growth", bool, default=False) else at[0])
    steps = [student(after - before) for before, after in pairwise(found)]
    falling = [step for step in steps if step.high < 0]
    whole = student(found[-1] - found[0])
    remark = ", ".join(
        f"{of.mean():.1f} at {text}" for text, of in zip(entry.texts("values"), found, strict=True)
    )
    return Finding(whole, whole.low > 0 and not falling, remark)


def data_curves(entry: Entry, curves: Curves, stations: Stations) -> Finding:
    """Decide a statement about data under load: `levels-off`, `longer-is-more`, `fair`."""
    key, texts = "stations.frames", entry.texts("frames")
    ends = entry.texts("values")

    def utilisation(octets: str, value: str) -> Floats:
        return (
            curves.values(entry.series, {key: octets, entry.text("key"): value}, Metric.GOODPUT)
            * bit_s
        )

    bit_s = curves.bit_ps(entry.series, {key: texts[0], entry.text("key"): ends[0]}) / PS_PER_S
    if entry.text("statement") == "levels-off":
        falls = {
            octets: student(utilisation(octets, ends[1]) / utilisation(octets, ends[0]) - 1)
            for octets in texts
        }
        worst = min(falls, key=lambda octets: falls[octets].value)
        remark = "; ".join(
            f"{of.value * 100:+.1f}% at {octets}" for octets, of in falls.items()
        ).replace("-", "−")
        return Finding(
            falls[worst], all(of.value >= -entry.number("limit") for of in falls.values()), remark
        )
    if entry.text("statement") == "longer-is-more":
        at_last = [utilisation(octets, ends[-1]) for octets in texts]
        steps = [student(after - before) for before, after in pairwise(at_last)]
        remark = ", ".join(
            f"{of.mean():.3f} at {octets}" for octets, of in zip(texts, at_last, strict=True)
        )
        return Finding(student(at_last[-1]), all(step.low > 0 for step in steps), remark)
    last = [
        curves.trials(entry.series, {key: octets, entry.text("key"): ends[-1]}) for octets in texts
    ]
    rates = [stations[at][Metric.BIT_RATE] for trials in last for at in trials]
    spread = student(np.array([np.std(of, ddof=1) / np.mean(of) for of in rates]))
    return Finding(spread, spread.high < entry.number("limit"))


def _named(entry: Entry) -> list[tuple[str, Where]]:
    """Return the entry's curves, each with what distinguishes it."""
    if "key" not in entry:
        return [("", entry.point())]
    return [(text, {**entry.point(), entry.text("key"): text}) for text in entry.texts("values")]


RULES: Mapping[str, Rule] = rules_of(globals())
