"""Hughes-Jones and Saka 2000: claims.

Performance of 100 Mbit and Gigabit Ethernet components using raw Ethernet frames
(ATL-COM-DAQ-2000-014).

Sizes are octets of user data b; a frame has 18 more. Times are in us, throughput in MB/s (10^6
octets of user data a second). What is drawn from chance is replicated and has an interval; all else
is exact and has none.
"""

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from ethermeter.counts import Buckets
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats, exact, student
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.judging import Entry, Finding, Rule, rules_of
from ethermeter.studies.rules import crossing
from ethermeter.swept import Swept

US = 1e6
PS_PER_US = 1e6
MB_S = 1 / 8e6
AROUND_OCTETS = 18
"""Header and check sequence of a frame: what its length has beyond user data."""
ANSWER, REQUEST = "flows.ping.response.frames", "flows.ping.frames"
LOAD, SPACING, STREAM = (
    "flows.load.frames",
    "flows.load.arrivals.poisson",
    "flows.stream.arrivals.regular",
)
QUIET = "100 s"
"""Period of a stream that is none."""
SHORTEST = 64
Sizes = list[tuple[int, str]]
"""User octets of the messages, and the prefix of the flows that send them."""


def user_octets(text: str) -> int:
    """Return the user data of a frame's length.

    Examples
    --------
    >>> user_octets("82 B")
    64
    """
    return int(text.removesuffix(" B")) - AROUND_OCTETS


def frame(octets: int) -> str:
    """Return a frame's length for so much user data.

    Examples
    --------
    >>> frame(1500)
    '1518 B'
    """
    return f"{octets + AROUND_OCTETS} B"


def one_way(
    results: Results, series: str, flow: str, how: str, where: dict[str, str] | None = None
) -> tuple[Floats, Floats]:
    """Return user octets and one-way latencies in us of a path, shape `(sizes,)` each.

    `series`, `flow`, `where`: the path. `how`: `answer`: round
    trips by length of the answer, less half of the round trip of the shortest (the study's
    request-response). `request`: one-way latency of the request, by its length. `both`: half of the
    round trip of equal lengths (the study's ping-pong).
    """
    at = dict(where or {})
    if how == "both":
        # Of every length with every length, those that are equal.
        texts = [
            of
            for of in _lengths(results, series)
            if results.along(series, ANSWER, {**at, REQUEST: of})
        ]
        values = [
            results.at(series, {**at, REQUEST: of, ANSWER: of}).value(Metric.ROUND_TRIP, flow) / 2
            for of in texts
        ]
    elif how == "answer":
        texts = results.along(series, ANSWER, at)
        trips = {
            of: results.at(series, {**at, ANSWER: of}).value(Metric.ROUND_TRIP, flow)
            for of in texts
        }
        if frame(SHORTEST) not in trips:
            raise MissingError(f"no answer of {SHORTEST} octets in {series}")
        values = [trip - trips[Swept(frame(SHORTEST))] / 2 for trip in trips.values()]
    else:
        texts = results.along(series, REQUEST, at)
        values = [
            results.at(series, {**at, REQUEST: of}).value(Metric.ONE_WAY_DELAY, flow)
            for of in texts
        ]
    if len(texts) < 3:
        raise MissingError(f"fewer than three sizes of {series}")
    return np.array([user_octets(of) for of in texts], dtype=np.float64), np.array(values) * US


def _lengths(results: Results, series: str) -> list[Swept]:
    """Lengths of requests that a series has with the shortest answer."""
    return results.along(series, REQUEST, {ANSWER: frame(SHORTEST)})


def fitted(octets: Floats, latency: Floats, *, least: float = 0.0) -> tuple[float, float]:
    """Return constant in us and slope in us an octet of a path's latencies from a size on.

    Examples
    --------
    >>> sizes = np.array([64.0, 512.0, 1500.0])
    >>> constant, slope = fitted(sizes, sizes * 0.02 + 26)
    >>> print(f"{constant:.6f} + {slope:.6f} b")
    26.000000 + 0.020000 b
    """
    kept = octets >= least
    slope, constant = np.polyfit(octets[kept], latency[kept], 1)
    return float(constant), float(slope)


def line(entry: Entry, results: Results) -> Finding:
    """Find the constant or the slope of a path's line, or its excess over that of `less`."""

    def of(flow: str) -> tuple[float, float]:
        octets, latency = one_way(results, entry.series, flow, entry.text("how"), entry.point())
        return fitted(octets, latency, least=entry.number("least", 0.0))

    coefficient = {"constant": 0, "slope": 1}[entry.text("part")]
    value = of(entry.flow)[coefficient] - (
        of(entry.text("less"))[coefficient] if "less" in entry else 0.0
    )
    return Finding(exact(value))


def _pooled(value: float) -> Estimate:
    """Return a value of all replications together, which has chance in it and no interval."""
    return Estimate(value, math.nan, math.nan)


def latency_at(entry: Entry, results: Results) -> Finding:
    """Find a path's one-way latency for a size, in us."""
    octets, latency = one_way(results, entry.series, entry.flow, entry.text("how"), entry.point())
    size = entry.read("octets", int)
    if size not in octets:
        raise MissingError(f"no {size} octets in {entry.series}")
    return Finding(exact(float(latency[octets == size][0])))


def flat_trip(entry: Entry, results: Results) -> Finding:
    """Whether round trips grow by no more than the entry's share up to a size.

    From the shortest answer on; ours is the growth in us.
    """
    texts = results.along(entry.series, ANSWER)
    if len(texts) < 3:
        raise MissingError(f"fewer than three sizes of {entry.series}")
    octets = np.array([user_octets(of) for of in texts], dtype=np.float64)
    trips = np.array(
        [
            results.at(entry.series, {ANSWER: of}).value(Metric.ROUND_TRIP, entry.flow) * US
            for of in texts
        ]
    )
    first, last = float(trips[0]), float(np.interp(entry.read("to", int), octets, trips))
    return Finding(
        exact(last - first),
        last - first <= entry.number("share") * first,
        f"from {first:.1f} to {last:.1f} us",
    )


def same_trips(entry: Entry, results: Results) -> Finding:
    """Whether round trips of two series are the same at every length, within the entry's share.

    Ours is the largest difference in %, of `series` from `beside`.
    """
    apart = {}
    for of in results.along(entry.series, ANSWER):
        first, second = (
            results.at(series, {ANSWER: of}).value(Metric.ROUND_TRIP, entry.flow)
            for series in (entry.text("beside"), entry.series)
        )
        apart[user_octets(of)] = second / first - 1
    if not apart:
        raise MissingError(f"no size of {entry.series}")
    octets = max(apart, key=lambda of: abs(apart[of]))
    most = apart[octets]
    return Finding(exact(most * 100), abs(most) <= entry.number("share"), f"largest at {octets} B")


def round_trip(entry: Entry, results: Results) -> Finding:
    """Find a round trip, in us."""
    where = {ANSWER: frame(entry.read("octets", int))}
    return Finding(exact(results.at(entry.series, where).value(Metric.ROUND_TRIP, entry.flow) * US))


def between(results: Results, series: str, flow: str) -> tuple[Floats, Floats]:
    """Return user octets and mean times between frames in us, of saturated streams.

    Shape `(sizes,)` each.
    """
    texts = results.along(series, LOAD)
    if len(texts) < 3:
        raise MissingError(f"fewer than three sizes of {series}")
    times = [results.at(series, {LOAD: of}).value(Metric.INTER_ARRIVAL, flow) * US for of in texts]
    return np.array([user_octets(of) for of in texts], dtype=np.float64), np.array(times)


def between_frames(entry: Entry, results: Results) -> Finding:
    """Find the time between received frames of a size, or at a point, in us."""
    where = entry.point() or {LOAD: frame(entry.read("octets", int))}
    return Finding(
        exact(results.at(entry.series, where).value(Metric.INTER_ARRIVAL, entry.flow) * US)
    )


def between_line(entry: Entry, results: Results) -> Finding:
    """Find constant or slope of the time between received frames, from a size on.

    The constant is that of a line with the entry's slope, if it has one.
    """
    octets, times = between(results, entry.series, entry.flow)
    kept = octets >= entry.number("least")
    if "slope" in entry:
        return Finding(exact(float(np.mean(times[kept] - entry.number("slope") * octets[kept]))))
    constant, slope = fitted(octets, times, least=entry.number("least"))
    return Finding(exact(slope if entry.text("part") == "slope" else constant))


def leaves_floor(entry: Entry, results: Results) -> Finding:
    """Find the size from which on the time between frames exceeds its least, in octets.

    By more than the entry's share.
    """
    octets, times = between(results, entry.series, entry.flow)
    return Finding(exact(crossing(octets, times, float(times.min()) * (1 + entry.number("share")))))


def throughput(entry: Entry, results: Results) -> Finding:
    """Find how much user data comes, in MB/s: of a flow, or of all."""
    where = (
        {LOAD: frame(entry.read("octets", int)), **entry.point()}
        if entry.read("varied", bool, default=True)
        else dict(entry.point())
    )
    values = results.at(entry.series, where).values(Metric.DATA_RATE, entry.flow) * MB_S
    return Finding(student(values) if values.size > 1 else exact(float(values[0])))


def same_through_switches(entry: Entry, results: Results) -> Finding:
    """Whether times between frames through switches are those of direct links.

    They may differ by the entry's share.
    """
    direct = between(results, entry.series, entry.text("direct"))[1]
    apart = max(
        float(np.abs(between(results, entry.series, flow)[1] / direct - 1).max())
        for flow in entry.texts("flows")
    )
    return Finding(exact(apart * 100), apart <= entry.number("share"))


def waits(results: Results, series: str, flow: str) -> tuple[Floats, Floats]:
    """Return mean spacings and mean one-way latencies of every replication, in us.

    Spacings grow; shape `(replications, spacings)`.
    """
    texts = results.along(series, SPACING)
    if len(texts) < 3:
        raise MissingError(f"fewer than three spacings of {series}")
    spacings = np.array([US / of.number for of in texts])
    order = np.argsort(spacings)
    rows = (
        np.array(
            [results.at(series, {SPACING: of}).values(Metric.ONE_WAY_DELAY, flow) for of in texts]
        ).T
        * US
    )
    return spacings[order], rows[:, order]


def doubled(entry: Entry, results: Results) -> Finding:
    """Find the mean spacing of random frames at which their latency doubles, in us.

    Twice that at the widest spacing.
    """
    spacings, rows = waits(results, entry.series, entry.flow)
    # Crossed from the right: against rates, latency rises.
    rates = -spacings[::-1]
    return Finding(
        student(np.array([-crossing(rates, row[::-1], 2 * float(row[-1])) for row in rows]))
    )


def more_than_direct(entry: Entry, results: Results) -> Finding:
    """Find the excess latency of a path at the widest spacing over its published line.

    The excess is over the direct path; the line is that of the switch.
    """
    ratios, sizes = [], entry.read("sizes", list[tuple[str, int]])
    for series, octets in sizes:
        direct = waits(results, series, entry.text("direct"))[1][:, -1]
        through = waits(results, series, entry.flow)[1][:, -1]
        ratios.append(
            (through - direct) / (entry.number("constant") + entry.number("slope") * octets)
        )
    mean = np.mean(ratios, axis=0)
    remark = ", ".join(
        f"{of.mean():.3f} at {octets} B" for of, (_, octets) in zip(ratios, sizes, strict=True)
    )
    return Finding(student(mean), remark=remark)


def shift(entry: Entry, results: Results) -> Finding:
    """Find by how much the other stream moves the mean latency of the first, in us."""
    quiet, loaded = (
        results.at(entry.series, {entry.text("key"): text}).value(Metric.ONE_WAY_DELAY, entry.flow)
        for text in entry.texts("values")
    )
    return Finding(exact((loaded - quiet) * US))


def trips(results: Results, flow: str, octets: int, period: str) -> Buckets:
    """Return the histogram of round trips beside a stream of a period."""
    return results.at("background", {ANSWER: frame(octets), STREAM: period}).histogram(
        "round_trip", flow
    )


def rank(histogram: Buckets, share: float) -> float:
    """Return the time below which a share of a histogram lies, in us.

    Counts are spread evenly over their buckets.
    """
    total = np.concatenate([[0.0], np.cumsum(histogram.count)])
    return float(np.interp(share * total[-1], total, _ends_us(histogram)))


def tail_moves(entry: Entry, results: Results) -> Finding:
    """Whether the latest round trips move by from `low` to `high` us at every size.

    Ours is the largest move of the 99th percentile.
    """
    moves = {}
    for octets in entry.read("octets", list[int]):
        quiet, loaded = (
            trips(results, entry.flow, octets, period) for period in (QUIET, entry.text("period"))
        )
        moves[octets] = rank(loaded, 0.99) - rank(quiet, 0.99)
    holds = all(entry.number("low") <= move <= entry.number("high") for move in moves.values())
    return Finding(
        _pooled(max(moves.values())),
        holds,
        ", ".join(f"{move:.1f} µs at {octets} B" for octets, move in moves.items()),
    )


def stays(entry: Entry, results: Results) -> Finding:
    """Whether the median round trip moves by less than the entry's limit in us.

    At every size; ours is the largest move.
    """
    moves = []
    for octets in entry.read("octets", list[int]):
        quiet, loaded = (
            trips(results, entry.flow, octets, period) for period in (QUIET, entry.text("period"))
        )
        moves.append(rank(loaded, 0.5) - rank(quiet, 0.5))
    return Finding(
        _pooled(max(moves, key=abs)), all(abs(move) < entry.number("limit") for move in moves)
    )


def spread(entry: Entry, results: Results) -> Finding:
    """Find the mean standard deviation of round trips without a stream over the sizes, in us."""
    return Finding(
        _pooled(
            float(
                np.mean(
                    [
                        _deviation(trips(results, entry.flow, octets, QUIET))
                        for octets in entry.read("octets", list[int])
                    ]
                )
            )
        )
    )


def _ends_us(histogram: Buckets) -> Floats:
    return np.concatenate([histogram.low_ps[:1], histogram.high_ps]) / PS_PER_US


def _mean(histogram: Buckets) -> float:
    middle = (histogram.low_ps + histogram.high_ps) / 2 / PS_PER_US
    return float(np.average(middle, weights=histogram.count))


def _deviation(histogram: Buckets) -> float:
    low, high = (of / PS_PER_US for of in (histogram.low_ps, histogram.high_ps))
    mean = np.average((low + high) / 2, weights=histogram.count)
    # Less what buckets add of their own (Sheppard's correction).
    square = ((low + high) / 2 - mean) ** 2 - (high - low) ** 2 / 12
    return float(np.sqrt(np.average(square, weights=histogram.count)))


def peaks(entry: Entry, results: Results) -> Finding:
    """Whether round trips beside the stream have several peaks at every size, in bins of 1 us.

    A peak exceeds both of its sides by four standard errors; ours is the smallest number of them.
    """
    counts = [
        _peaks(trips(results, entry.flow, octets, entry.text("period")))
        for octets in entry.read("octets", list[int])
    ]
    remark = ", ".join(
        f"{count} at {octets} B"
        for count, octets in zip(counts, entry.read("octets", list[int]), strict=True)
    )
    return Finding(_pooled(float(min(counts))), min(counts) > 1, remark)


def _peaks(histogram: Buckets) -> int:
    total = np.concatenate([[0.0], np.cumsum(histogram.count)])
    ends = _ends_us(histogram)
    # Buckets grow with the time: counts are spread over them, so that bins do not see their edges.
    counts = np.diff(np.interp(np.arange(ends[0] - 1, ends[-1] + 2), ends, total))
    found, rising, extreme = 0, True, 0.0
    for count in counts:
        margin = 4 * np.sqrt(max(count, 1.0))
        if rising and count < extreme - margin:
            found, rising, extreme = found + 1, False, count
        elif not rising and count > extreme + margin:
            rising, extreme = True, count
        else:
            extreme = max(extreme, count) if rising else min(extreme, count)
    return found


def late(entry: Entry, results: Results) -> Finding:
    """Find the share of late round trips, in %.

    Late is later than the median by the entry's limit in us.
    """
    histogram = results.at(entry.series).histogram("round_trip", entry.flow)
    beyond = histogram.low_ps / PS_PER_US > rank(histogram, 0.5) + entry.number("limit")
    return Finding(_pooled(float(histogram.count[beyond].sum() / histogram.count.sum()) * 100))


def widths(entry: Entry, results: Results) -> dict[tuple[int, int], float]:
    """Return the width between the 5th and the 95th percentile of one-way latency, in us.

    By user octets and senders; their mean.
    """
    found: dict[tuple[int, int], float] = {}
    for octets, kind in entry.read("sizes", Sizes):
        for count, group in enumerate(entry.texts("groups"), 1):
            of = [f"{group}-{kind}{number}" for number in range(1, count + 1)]
            shapes = [results.at(entry.series).histogram("one_way_delay", flow) for flow in of]
            found[octets, count] = float(
                np.mean([rank(shape, 0.95) - rank(shape, 0.05) for shape in shapes])
            )
    return found


def widens(entry: Entry, results: Results) -> Finding:
    """Whether one-way latency spreads with each sender more, at every size.

    Ours is the least step in us.
    """
    of = widths(entry, results)
    counts = range(1, len(entry.texts("groups")) + 1)
    steps = [
        of[octets, after] - of[octets, before]
        for octets, _ in entry.read("sizes", Sizes)
        for before, after in pairwise(counts)
    ]
    remark = "; ".join(
        f"{octets} B: " + ", ".join(f"{of[octets, count]:.1f}" for count in counts)
        for octets, _ in entry.read("sizes", Sizes)
    )
    return Finding(_pooled(min(steps)), min(steps) > 0, f"{remark} us")


def scales(entry: Entry, results: Results) -> Finding:
    """Whether the spread of several senders grows as the size, within the entry's share.

    Ours is the mean growth over that of the size.
    """
    of = widths(entry, results)
    (small, _), (large, _) = entry.read("sizes", Sizes)
    growth = [
        of[large, count] / of[small, count] / (large / small)
        for count in range(2, len(entry.texts("groups")) + 1)
    ]
    return Finding(
        _pooled(float(np.mean(growth))),
        all(abs(ratio - 1) <= entry.number("share") for ratio in growth),
    )


def apart(entry: Entry, results: Results) -> Finding:
    """Find the mean time between the answers of several to one request, in us.

    From the histograms of each of them.
    """
    at = results.at(entry.series, entry.point())
    means = [
        _mean(at.histogram("responder_round_trip", f"{entry.flow} {host}"))
        for host in entry.texts("responders")
    ]
    steps = [after - before for before, after in pairwise(sorted(means))]
    return Finding(
        exact(float(np.mean(steps))), remark=", ".join(f"{step:.1f}" for step in steps) + " us"
    )


def computed(entry: Entry, results: Results) -> Finding:
    """Find a time that the study computes of its components, in us.

    `constant` us and `slope` us for each octet of user data, and `burst` us for every 380 octets
    of data and header, the last ones included.
    """
    if not any(True for _ in results.points(entry.series)):
        raise MissingError(f"no trial of {entry.series}")
    octets = entry.read("octets", int)
    bursts = -(-(octets + 14) // 380) * entry.number("burst", 0.0)
    return Finding(exact(entry.number("constant") + entry.number("slope") * octets + bursts))


def same_both_ways(entry: Entry, results: Results) -> Finding:
    """Whether streams are as fast one way as the other at every size, within the entry's share.

    Ours is the largest difference in %.
    """
    first, second = entry.texts("flows")
    apart_by = []
    for of in results.along(entry.series, entry.text("key")):
        at = results.at(entry.series, {entry.text("key"): of})
        rates = [at.value(Metric.DATA_RATE, flow) for flow in (first, second)]
        apart_by.append(abs(rates[1] / rates[0] - 1))
    if not apart_by:
        raise MissingError(f"no size of {entry.series}")
    return Finding(exact(max(apart_by) * 100), max(apart_by) <= entry.number("share"))


def clock_error(entry: Entry, results: Results) -> Finding:
    """Whether delays by synchronised clocks are right within the entry's limit in us.

    Ours is the largest error in us.
    """
    error = results.at(entry.series, entry.point()).value(Metric.DELAY_ERROR, entry.flow) * US
    return Finding(exact(error), abs(error) <= entry.number("limit"))


def lost(entry: Entry, results: Results) -> Finding:
    """Whether messages are lost at a point, or none is; ours is their share in %."""
    share = results.at(entry.series, entry.point()).value(Metric.LOSS, entry.flow)
    remark = ""
    if "beside" in entry:
        beside = results.at(entry.series, entry.point("beside")).value(Metric.LOSS, entry.flow)
        remark = f"{beside * 100:.0f}% without flow control"
    return Finding(exact(share * 100), (share > 0) == entry.read("some", bool), remark)


RULES: Mapping[str, Rule] = rules_of(globals())
