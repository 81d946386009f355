"""Sections of Hughes-Jones and Saka (2000): tables and figures, published against a run."""

from collections.abc import Sequence

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.chart import Trace, number_of
from ethermeter.counts import Buckets
from ethermeter.document import Figure, Label, Section
from ethermeter.metrics import Metric
from ethermeter.report.plots import annotated
from ethermeter.results.interval import Floats, student
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.families import (
    HOW,
    By,
    ClaimGrid,
    Family,
    Maker,
    family_sections,
    line_of,
    published_line,
)
from ethermeter.studies.hughesjones2000.claims import (
    ANSWER,
    MB_S,
    PS_PER_US,
    QUIET,
    US,
    between,
    frame,
    one_way,
    trips,
    user_octets,
    waits,
)

LATENCY = Label("One-way latency", "µs")
BETWEEN = Label("Time between frames", "µs")
TRIP = Label("Round trip", "µs")
RATE = Label("Throughput", "MB/s")
SHARE = Label("Share", "%")
SIZE = Label("User data", "B")
FAST = (
    "direct",
    "one switch, one module",
    "one switch, two modules",
    "two switches, one module",
    "two switches, two modules",
)
FAST_IDS = ("direct", "same", "different", "two-same", "two-different", "two-gigabit")
CASTS = {"flows.ping.cast": "broadcast", "flows.ping.response.cast": "broadcast"}
GIGABIT = {"direct": "3.1-direct", "Alteon 180": "3.1-alteon", "BATM Titan 4": "3.1-batm"}


def _ping(number: int) -> str:
    return f"ping asker{number} to answerer{number}"


def _load(number: int) -> str:
    return f"load sender{number} to receiver{number}"


def _gigabit_latency(results: Results, by: By) -> Figure:
    lines, marks = [], []
    for number, (name, identity) in enumerate(GIGABIT.items(), 1):
        lines.append(line_of(name, *one_way(results, "gigabit-latency", _ping(number), "answer")))
        marks += published_line(name, by, identity, (64, 750, 1500))
    text = (
        "From request-response, as figures 3.2 and 3.4 have it. Diamonds are on the published"
        " lines."
    )
    return Figure(annotated(lines, marks, SIZE, LATENCY, "Path"), "1 Gb/s", text)


def _fast_latency(results: Results, by: By) -> Figure:
    lines, marks = [], []
    for number, (name, identity) in enumerate(
        zip((*FAST, "two switches, 1 Gb/s between"), FAST_IDS, strict=True), 1
    ):
        lines.append(line_of(name, *one_way(results, "fast-latency", _ping(number), "request")))
        marks += published_line(name, by, f"t3.1-{identity}", (64, 750, 1500))
    text = (
        "Ping-pong, as figure 3.6 and table 3.1 have it; two switches are predicted. Diamonds are"
        " on the published lines."
    )
    return Figure(annotated(lines, marks, SIZE, LATENCY, "Path"), "100 Mb/s", text)


def _mixed_latency(results: Results, by: By) -> Figure:
    name = "BATM Titan 4"
    line = line_of(name, *one_way(results, "mixed-latency", "ping", "both"))
    marks = tuple(published_line(name, by, "3.3-mixed", (64, 750, 1500)))
    return Figure(
        annotated((line,), marks, SIZE, LATENCY, "Path"),
        "From 100 Mb/s to 1 Gb/s",
        "Predicted; figure 3.8.",
    )


def _broadcast(results: Results, by: By) -> Figure:
    direct, two, four = "direct", "two ports", "four ports"
    lines = [
        line_of(direct, *_trips(results, "broadcast-direct", CASTS)),
        line_of(two, *_trips(results, "broadcast-two-ports", {})),
        line_of(four, *_trips(results, "broadcast-batm", {})),
    ]
    floor = by["5.1-broadcast-short"].published
    marks = [(two, octets, floor) for octets in (64, 300, 600)]
    marks.append((two, 1500, by["5.1-broadcast-1500"].published))
    text = (
        "The study’s switch takes as long for 64 as for 600 B, with two ports and with four. Here"
        " an answer waits until the copies of its request are made: of one with two ports, of three"
        " with four."
    )
    return Figure(
        annotated(lines, marks, SIZE, TRIP, "Path"),
        "Broadcast requests and answers at 1 Gb/s (figure 5.1)",
        text,
    )


def _ping_pong(results: Results, _by: By) -> Figure:
    name = "four ports"
    line = line_of(name, *one_way(results, "broadcast-ping-pong", "ping", "both"))
    return Figure(
        annotated((line,), (), SIZE, LATENCY, "Path"),
        "Broadcast ping-pong through the BATM Titan 4 (figure 5.2)",
        "The study’s line has a slope of 9 ns/B, and no constant is printed.",
    )


def _trips(results: Results, series: str, where: dict[str, str]) -> tuple[Floats, Floats]:
    """Return user octets of answers and round trips in us, shape `(sizes,)` each."""
    texts = results.along(series, ANSWER, where)
    if len(texts) < 3:
        raise MissingError(f"fewer than three sizes of {series}")
    values = [
        results.at(series, {**where, ANSWER: of}).value(Metric.ROUND_TRIP, "ping") * US
        for of in texts
    ]
    return np.array([user_octets(of) for of in texts], dtype=np.float64), np.array(values)


def _responders(octets: int) -> "Maker":
    def make(results: Results, _by: By) -> Figure:
        at = results.at("multicast-request", {ANSWER: frame(octets)})
        lines = []
        for number in (1, 2, 3):
            found = at.histogram("responder_round_trip", f"ping answerer{number}")
            lines.append(_outline(f"PC {number}", found))
        return Figure(
            annotated(lines, (), TRIP, SHARE, "Responder"),
            f"Three answers of {octets} B to a multicast request (figure 5.5)",
            "Nothing is random here: each PC has one round trip.",
        )

    return make


def _outline(name: str, found: Buckets) -> Trace:
    """Return the outline of a histogram: share in % of each bucket, time in us."""
    ends = np.concatenate([found.low_ps[:1], found.high_ps]) / PS_PER_US
    share = found.count / found.count.sum() * 100
    return line_of(
        name,
        [float(ends[0]), *ends.tolist(), float(ends[-1])],
        [0.0, *share.tolist(), float(share[-1]), 0.0],
    )


def _histogram(number: int, switch: str, octets: int) -> "Maker":
    def make(results: Results, _by: By) -> Figure:
        lines = []
        for name, period in (("alone", QUIET), ("beside a stream", "28 us")):
            found = trips(results, _ping(number), octets, period)
            low, high = (of / PS_PER_US for of in (found.low_ps, found.high_ps))
            lines.append(
                line_of(
                    name,
                    ((low + high) / 2).tolist(),
                    (found.count / found.count.sum() / (high - low) * 100).tolist(),
                )
            )
        text = (
            f"Answers of {octets} B; the stream is of 1500 B every 28 µs between two other ports."
        )
        return Figure(
            annotated(lines, (), TRIP, Label("Share", "% per µs"), "Round trips"),
            f"Round trips through the {switch}, {octets} B",
            text,
        )

    return make


def _both(results: Results) -> tuple[Floats, Floats]:
    """Return sizes and times between frames at 1 Gb/s, of both interfaces' series."""
    streams = [between(results, series, _load(1)) for series in ("streaming", "streaming-long")]
    return np.concatenate([sizes for sizes, _ in streams]), np.concatenate(
        [times for _, times in streams]
    )


def _between_gigabit(results: Results, by: By) -> Figure:
    sizes, times = _both(results)
    name = "direct"
    marks = [(name, octets, by["4.2-floor"].published) for octets in (64, 575)]
    marks += [
        (name, octets, by[f"t4.1-regular-{octets}"].published) for octets in (512, 1024, 1500)
    ]
    text = (
        "Up to 1024 B with an interface that receives one frame at a time, above with one that"
        " overlaps them."
    )
    return Figure(
        annotated((line_of(name, sizes, times),), marks, SIZE, BETWEEN, "Path"),
        "Time between received frames, 1 Gb/s (figure 4.11)",
        text,
    )


def _throughput_gigabit(results: Results, by: By) -> Figure:
    sizes, times = _both(results)
    marks = (
        ("direct", 1024, by["4.2-throughput-1024"].published),
        ("direct", 1500, by["4.2-throughput-1500"].published),
    )
    line = line_of("direct", sizes, sizes / times)
    return Figure(
        annotated((line,), marks, SIZE, RATE, "Path"),
        "Throughput, 1 Gb/s (figure 4.12)",
        "User data.",
    )


def _between_fast(results: Results, by: By) -> Figure:
    lines = [
        line_of(name, *between(results, "streaming-fast", _load(number)))
        for number, name in enumerate(FAST[:3], 1)
    ]
    marks = tuple(published_line("direct", by, "4.3", (80, 750, 1500)))
    text = "Diamonds are on the published line."
    return Figure(
        annotated(lines, marks, SIZE, BETWEEN, "Path"),
        "Time between received frames, 100 Mb/s (figure 4.13)",
        text,
    )


def _spacing(octets: int) -> "Maker":
    def make(results: Results, by: By) -> Figure:
        lines = []
        for number, name in enumerate(GIGABIT, 1):
            spacings, rows = waits(results, f"spacing-{octets}", _load(number))
            lines.append(line_of(name, spacings, [student(column) for column in rows.T]))
        widest = number_of(lines[0].points[-1][1])
        marks = (("direct", by[f"t4.1-random-{octets}"].published, 2 * widest),)
        text = (
            "Random frames. The diamond is the closest spacing that the study found to go, at twice"
            " the latency far from it."
        )
        return Figure(
            annotated(lines, marks, Label("Mean spacing", "µs"), LATENCY, "Path", most=6 * widest),
            f"Latency by spacing, {octets} B (figures 4.1, 4.4, 4.6)",
            text,
        )

    return make


def _two_pairs(results: Results, _by: By) -> Figure:
    lines = [
        _outline(
            name,
            results.at("two-pairs", {"flows.second.arrivals.regular": period}).histogram(
                "one_way_delay", "first"
            ),
        )
        for name, period in (("one pair", QUIET), ("two pairs", "22310 ns"))
    ]
    return Figure(
        annotated(lines, (), LATENCY, SHARE, "Streams"),
        "Streams of one and of two pairs through the Alteon 180 (figure 4.8)",
        "Regular frames of 1500 B. The study’s mean moves by 1.1 µs.",
    )


def _senders(octets: int, kind: str) -> "Maker":
    def make(results: Results, _by: By) -> Figure:
        at = results.at("several-senders")
        lines = [
            _outline(f"{count} senders", at.histogram("one_way_delay", f"{count}-{kind}1"))
            for count in ("two", "three")
        ]
        return Figure(
            annotated(lines, (), LATENCY, SHARE, "Into one receiver"),
            f"Several senders into one receiver, {octets} B (figure 4.9)",
            "Of the first sender, regular frames. One sender alone has one latency.",
        )

    return make


def _throughput_fast(results: Results, by: By) -> Figure:
    lines = []
    for number, name in enumerate(FAST[:3], 1):
        sizes, times = between(results, "streaming-fast", _load(number))
        lines.append(line_of(name, sizes, sizes / times))
    marks = (("direct", 900, by["4.3-throughput"].published),)
    return Figure(
        annotated(lines, marks, SIZE, RATE, "Path"),
        "Throughput, 100 Mb/s (figure 4.14)",
        "User data; the three paths lie on each other.",
    )


def _reverse(results: Results, _by: By) -> Figure:
    key, series = "flows.*.frames", "reverse"
    texts = results.along(series, key)
    if not texts:
        raise MissingError(f"no size of {series}")
    sizes = [user_octets(of) for of in texts]
    lines = [
        line_of(
            name,
            sizes,
            [results.at(series, {key: of}).value(Metric.DATA_RATE, flow) * MB_S for of in texts],
        )
        for name, flow in (("100 Mb/s to 1 Gb/s", "up"), ("1 Gb/s to 100 Mb/s", "down"))
    ]
    return Figure(
        annotated(lines, (), SIZE, RATE, "Direction"),
        "Throughput between 100 Mb/s and 1 Gb/s (figure 4.15)",
        "User data; the study finds the same both ways.",
    )


def _line_grid(title: str, names: Sequence[str], ids: Sequence[str]) -> ClaimGrid:
    rows = [
        (name, (f"{identity}-constant", f"{identity}-slope"))
        for name, identity in zip(names, ids, strict=True)
    ]
    return ClaimGrid(title, ("Path", "Constant (µs)", "Slope (µs/B)"), tuple(rows))


FAMILIES = (
    Family(
        "hj-gigabit",
        "1 Gb/s",
        "Section 3.1: latency at 1 Gb/s (figures 3.2 to 3.5)",
        f"{HOW} All of these lines were fitted to. Beside a stream between other ports a shared"
        " backplane makes a request, its answer or both wait for a frame of the stream; a crossbar"
        " does not. The width of the peak without a stream is fitted; the study’s histograms are"
        " not at hand as numbers.",
        (
            _line_grid(
                "One-way latency at 1 Gb/s",
                (*GIGABIT, "Alteon 180 alone", "BATM Titan 4 alone"),
                (*GIGABIT.values(), "3.1-alteon-alone", "3.1-batm-alone"),
            ),
        ),
        (
            _gigabit_latency,
            *(
                _histogram(number, switch, octets)
                for number, switch in ((1, "Alteon 180"), (2, "BATM Titan 4"))
                for octets in (64, 1024, 1472)
            ),
        ),
    ),
    Family(
        "hj-fast",
        "100 Mb/s",
        "Section 3.2: latency at 100 Mb/s (table 3.1, figure 3.6)",
        "The direct path and the single switches were fitted to; two switches are predicted.",
        (
            _line_grid(
                "One-way latency at 100 Mb/s (table 3.1)",
                (*FAST, "two switches, 1 Gb/s between them"),
                [f"t3.1-{of}" for of in FAST_IDS],
            ),
            _line_grid(
                "Of these, the switches alone (table 3.1)",
                (*FAST[1:], "two switches, 1 Gb/s between them"),
                [f"t3.1-{of}-alone" for of in FAST_IDS[1:]],
            ),
        ),
        (_fast_latency,),
    ),
    Family(
        "hj-mixed",
        "Mixed speeds",
        "Section 3.3: from 100 Mb/s to 1 Gb/s (figure 3.8)",
        "The sum of the components of both.",
        (_line_grid("One-way latency, mixed speeds", ("100 Mb/s to 1 Gb/s",), ("3.3-mixed",)),),
        (_mixed_latency,),
    ),
    Family(
        "hj-spacing",
        "Spacing",
        "Section 4.1: latency by spacing (figures 4.1 to 4.9, table 4.1)",
        "Random frames at a mean spacing, two streams, and several senders.",
        (
            ClaimGrid(
                "Least time between frames at 1 Gb/s, µs (table 4.1)",
                ("User data", "Calculated", "Regular", "Random"),
                tuple(
                    (
                        f"{of} B",
                        (f"t4.1-calculated-{of}", f"t4.1-regular-{of}", f"t4.1-random-{of}"),
                    )
                    for of in (512, 1024, 1500)
                ),
            ),
        ),
        (
            *(_spacing(octets) for octets in (512, 1024, 1500)),
            _two_pairs,
            _senders(512, "short"),
            _senders(1024, "long"),
        ),
    ),
    Family(
        "hj-streams",
        "Streams",
        "Sections 4.2 to 4.5: throughput (figures 4.11 to 4.15, table 4.2)",
        "Streams as fast as they go, held back by PAUSE.",
        (
            ClaimGrid(
                "Senders at 100 Mb/s into one receiver at 1 Gb/s, MB/s (table 4.2)",
                ("User data", "1", "6", "8"),
                tuple(
                    (f"{of} B", tuple(f"t4.2-{count}-{of}" for count in (1, 6, 8)))
                    for of in (512, 1024, 1500)
                ),
            ),
        ),
        (_between_gigabit, _throughput_gigabit, _between_fast, _throughput_fast, _reverse),
    ),
    Family(
        "hj-groups",
        "Groups",
        "Section 5: broadcast and multicast (figures 5.1 to 5.5, table 5.1)",
        "Copies of a flooded frame take a path of their own in the switch, one after another.",
        (
            _line_grid(
                "One-way latency of groups",
                ("broadcast, direct", "multicast, direct", "broadcast, two ports, above 600 B"),
                ("5.1-broadcast", "5.1-multicast", "5.1-broadcast-batm"),
            ),
            ClaimGrid(
                "Time between the answers of three, µs (table 5.1)",
                ("User data", "On the wire", "To place a frame", "Between peaks"),
                tuple(
                    (f"{of} B", (f"t5.1-wire-{of}", f"t5.1-place-{of}", f"t5.1-{of}"))
                    for of in (64, 1024, 1472)
                ),
            ),
        ),
        (_broadcast, _ping_pong, *(_responders(octets) for octets in (64, 1024, 1472))),
    ),
)


def build(results: Results, claims: Sequence[Claim]) -> list[Section]:
    """Return the sections that a run holds."""
    return family_sections(FAMILIES, results, claims)
