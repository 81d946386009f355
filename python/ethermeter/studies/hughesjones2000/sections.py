"""Sections of Hughes-Jones and Saka (2000): tables and figures, published against a run."""

from collections.abc import Sequence

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.chart import number_of
from ethermeter.document import Figure, Label, Section
from ethermeter.metrics import Metric
from ethermeter.report.plots import annotated
from ethermeter.results.interval import Floats, student
from ethermeter.results.query import Results
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
    direct, through = "direct", "BATM Titan 4"
    lines = [
        line_of(direct, *_trips(results, "broadcast-direct", CASTS)),
        line_of(through, *_trips(results, "broadcast-batm", {})),
    ]
    floor = by["5.1-broadcast-short"].published
    marks = [(through, octets, floor) for octets in (64, 300, 600)]
    marks.append((through, 1500, by["5.1-broadcast-1500"].published))
    text = (
        "The study’s switch takes as long for 64 as for 600 B; here an answer waits until the"
        " copies of its request are made."
    )
    return Figure(
        annotated(lines, marks, SIZE, Label("Round trip", "µs"), "Path"),
        "Broadcast requests and answers at 1 Gb/s (figure 5.1)",
        text,
    )


def _trips(results: Results, series: str, where: dict[str, str]) -> tuple[Floats, Floats]:
    """Return user octets of answers and round trips in us, shape `(sizes,)` each."""
    texts = results.along(series, ANSWER, where)
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
            ends = np.concatenate([found.low_ps[:1], found.high_ps]) / PS_PER_US
            share = found.count / found.count.sum() * 100
            lines.append(
                line_of(
                    f"PC {number}",
                    [float(ends[0]), *ends.tolist(), float(ends[-1])],
                    [0.0, *share.tolist(), float(share[-1]), 0.0],
                )
            )
        return Figure(
            annotated(lines, (), Label("Round trip", "µs"), Label("Share", "%"), "Responder"),
            f"Three answers of {octets} B to a multicast request (figure 5.5)",
            "Nothing is random here: each PC has one round trip.",
        )

    return make


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
            annotated(
                lines, (), Label("Round trip", "µs"), Label("Share", "% per µs"), "Round trips"
            ),
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
        annotated((line,), marks, SIZE, Label("Throughput", "MB/s"), "Path"),
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


def _line_grid(title: str, names: Sequence[str], ids: Sequence[str]) -> ClaimGrid:
    rows = [
        (name, (f"{identity}-constant", f"{identity}-slope"))
        for name, identity in zip(names, ids, strict=True)
    ]
    return ClaimGrid(title, ("Path", "Constant (µs)", "Slope (µs/B)"), tuple(rows))


FAMILIES = (
    Family(
        "hj-tables",
        "Tables",
        "The study’s lines and tables",
        f"{HOW} Direct paths and single switches were fitted to; two switches, mixed speeds, groups"
        " and many senders are predicted.",
        (
            _line_grid(
                "One-way latency at 1 Gb/s",
                (*GIGABIT, "Alteon 180 alone", "BATM Titan 4 alone"),
                (*GIGABIT.values(), "3.1-alteon-alone", "3.1-batm-alone"),
            ),
            _line_grid(
                "One-way latency at 100 Mb/s (table 3.1)",
                (*FAST, "two switches, 1 Gb/s between"),
                [f"t3.1-{of}" for of in FAST_IDS],
            ),
            _line_grid(
                "Of these, the switches alone (table 3.1)",
                (*FAST[1:], "two switches, 1 Gb/s between"),
                [f"t3.1-{of}-alone" for of in FAST_IDS[1:]],
            ),
            _line_grid(
                "One-way latency, mixed speeds and groups",
                (
                    "100 Mb/s to 1 Gb/s",
                    "broadcast, direct",
                    "multicast, direct",
                    "broadcast, BATM Titan 4, above 600 B",
                ),
                ("3.3-mixed", "5.1-broadcast", "5.1-multicast", "5.1-broadcast-batm"),
            ),
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
            ClaimGrid(
                "Senders at 100 Mb/s into one receiver at 1 Gb/s, MB/s (table 4.2)",
                ("User data", "1", "6", "8"),
                tuple(
                    (f"{of} B", tuple(f"t4.2-{count}-{of}" for count in (1, 6, 8)))
                    for of in (512, 1024, 1500)
                ),
            ),
            ClaimGrid(
                "Time between the answers of three, µs (table 5.1)",
                ("User data", "On the wire", "To place a frame", "Between peaks"),
                tuple(
                    (f"{of} B", (f"t5.1-wire-{of}", f"t5.1-place-{of}", f"t5.1-{of}"))
                    for of in (64, 1024, 1500)
                ),
            ),
        ),
    ),
    Family(
        "hj-latency",
        "Latency",
        "Latency by size",
        "An empty path is the sum of its stages: software, bus, interface, wire, and what a switch"
        " adds.",
        (),
        (_gigabit_latency, _fast_latency, _mixed_latency),
    ),
    Family(
        "hj-background",
        "Background",
        "Round trips beside a stream between other ports",
        "A shared backplane makes a request, its answer or both wait for a frame of the stream; a"
        " crossbar does not. The width of the peak without a stream is fitted; the study’s"
        " histograms are not at hand as numbers.",
        (),
        tuple(
            _histogram(number, switch, octets)
            for number, switch in ((1, "Alteon 180"), (2, "BATM Titan 4"))
            for octets in (64, 1024, 1472)
        ),
        has_marks=False,
    ),
    Family(
        "hj-streams",
        "Streams",
        "Streams",
        "As fast as they go, held back by PAUSE, and with random frames at a mean spacing.",
        (),
        (
            _between_gigabit,
            _throughput_gigabit,
            _between_fast,
            *(_spacing(octets) for octets in (512, 1024, 1500)),
        ),
    ),
    Family(
        "hj-groups",
        "Groups",
        "Broadcast and multicast",
        "Copies of a flooded frame take a path of their own in the switch, one after another.",
        (),
        (_broadcast, *(_responders(octets) for octets in (64, 1024, 1500))),
    ),
)


def build(results: Results, claims: Sequence[Claim]) -> list[Section]:
    """Return the sections that a run holds."""
    return family_sections(FAMILIES, results, claims)
