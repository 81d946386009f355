"""Switched studies: tables and figures of ERG's LAN tests and of Hughes-Jones and Saka (2000),
published against this run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.analysis.claims import NOT_COMPARED, Claim
from ethermeter.analysis.interval import Estimate, Floats, exact, student
from ethermeter.document import Label
from ethermeter.metrics import Metric
from ethermeter.report.html import safe, section, table
from ethermeter.report.marked import Line, Mark, marked_lines
from ethermeter.report.results import cell, claims_table
from ethermeter.report.sheet import Sheet
from ethermeter.report.shell import Section
from ethermeter.studies.erg import claims as erg
from ethermeter.studies.hughesjones2000.claims import QUIET, US, between, one_way, trips, waits
from ethermeter.studies.judging import MissingError
from ethermeter.studies.paths import Paths

By = Mapping[str, Claim]
"""Claims by id."""
MBPS = Label("Rate of data", "Mb/s")
LATENCY = Label("One-way latency", "µs")
BETWEEN = Label("Time between frames", "µs")
SIZE = Label("User data", "B")
PUBLISHED = "Lines: this run. Diamonds: the study."


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: what is along its axes, its lines and the published points upon them."""

    title: str
    text: str
    x: Label
    y: Label
    legend: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    most: float | None = None


def switched_sections(
    study: str, paths: Paths, claims: Sequence[Claim], sheet: Sheet
) -> list[Section]:
    """Return the tables and figures of a study that the run holds.

    Parameters
    ----------
    study
        `erg` or `hughesjones2000`.
    paths
        Of a run of it.
    claims
        Of the run.
    sheet
        Where the figures go.

    """
    by = {claim.id: claim for claim in claims}
    families = ERG if study == "erg" else HUGHES_JONES
    found: list[Section] = []
    for family in families:
        drawn = [_drawn(make, paths, by, sheet) for make in family.figures]
        tables = "".join(_table(of, by) for of in family.tables)
        if any(drawn) or tables:
            lead = f'<p class="lead">{PUBLISHED}</p>' if family.has_marks else ""
            grid = f'{lead}<div class="grid">{"".join(drawn)}</div>' if any(drawn) else ""
            found.append(
                (
                    family.anchor,
                    family.name,
                    section(family.anchor, family.title, f"<p>{family.text}</p>{tables}{grid}"),
                )
            )
    return found


def study_section(study: str, claims: Sequence[Claim]) -> str:
    """Return the tables of a study with what its live tests measured, and every number with its
    verdict or why it has none.

    Parameters
    ----------
    study
        `erg`.
    claims
        As `ethermeter.studies.live_claims.claims` has them.

    """
    by = {claim.id: claim for claim in claims}
    lead = (
        "Published → measured in this run, Mb/s of data in whole UDP datagrams of 5000 B. A number is <em>met</em> within 8% where "
        "a wire of the study’s rate is the limit, as it was then; <strong>missed</strong> ones are bold. Numbers in italics are not "
        "compared: something else limited the study, as the note says."
    )
    judged = [claim for claim in claims if claim.verdict in ("met", "missed")]
    count = f"<p>{sum(claim.verdict == 'met' for claim in judged)} of {len(judged)} numbers that are compared are met.</p>"
    body = f'<p class="lead">{lead}</p>{count}' + "".join(_table(of, by) for of in TABLES[study])
    return section(
        "study",
        "The study’s numbers, measured",
        f'{body}<h3>Number by number</h3><div class="panel">{claims_table(claims)}</div>',
    )


def _drawn(make: "Maker", paths: Paths, by: By, sheet: Sheet) -> str:
    try:
        figure = make(paths, by)
    except MissingError:
        return ""
    spec = marked_lines(
        figure.lines, figure.marks, figure.x, figure.y, legend=figure.legend, most=figure.most
    )
    return sheet.add(spec, title=figure.title, text=figure.text, numbers=_numbers(figure))


def _numbers(figure: Figure) -> str:
    """Numbers of a figure: line, x and y; then what was published."""
    rows = [
        [safe(line.name), f"{at.value:.6g}", cell(of, figure.y.factor)]
        for line in figure.lines
        for _, at, of in line.points
    ]
    rows += [
        [f"{safe(name)}, published", f"{at:g}", f"{high * figure.y.factor:g}"]
        for name, at, high in figure.marks
    ]
    return table(
        [safe(figure.legend), safe(figure.x.axis), safe(figure.y.axis)],
        rows,
        caption=figure.title,
        kind="data",
    )


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of the study: claims by id, cell by cell, as rows with a name each."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def _table(grid: Grid, by: By) -> str:
    """Return a table with published → ours in every cell, and the deviation."""
    rows = [[safe(name), *(_cell(by.get(identity)) for identity in ids)] for name, ids in grid.rows]
    if not any(identity in by for _, ids in grid.rows for identity in ids):
        return ""
    panel = table([safe(of) for of in grid.head], rows, caption=grid.title, kind="data")
    return f'<h3>{safe(grid.title)}</h3><div class="panel">{panel}</div>'


def _cell(claim: Claim | None) -> str:
    if claim is None:
        return ""
    ours = "not run" if claim.ours != claim.ours else f"{claim.ours:.4g}"
    deviation = (
        ""
        if claim.deviation != claim.deviation
        else f" <small>{claim.deviation:+.1%}</small>".replace("-", "−")
    )
    text = f"{claim.published:g} → {ours}{deviation}"
    if claim.verdict == NOT_COMPARED:
        return f"<em>{text}</em>"
    return f"<strong>{text}</strong>" if claim.verdict == "missed" else text


def _line(name: str, x: Iterable[float], y: Iterable[float | Estimate]) -> Line:
    return Line(
        name,
        tuple(
            (at, exact(at), of if isinstance(of, Estimate) else exact(of))
            for at, of in zip(x, y, strict=True)
        ),
    )


def _ends(name: str, by: By, identity: str, sizes: Iterable[float]) -> list[Mark]:
    """Return points of a published line at some sizes."""
    try:
        constant, slope = (by[f"{identity}-{part}"].published for part in ("constant", "slope"))
    except KeyError:
        raise MissingError(f"no claim {identity}") from None
    return [(name, octets, constant + slope * octets) for octets in sizes]


# ERG


def _rates(
    paths: Paths, series: str, key: str, flows: Mapping[str, str], of_x: Callable[[str], float]
) -> tuple[Line, ...]:
    """Return the rates of flows, by name of the line, against what the key's texts are."""
    texts = paths.along(series, key)
    if not texts:
        raise MissingError(f"no point of {series}")
    texts = sorted(texts, key=of_x)
    return tuple(
        _line(
            name,
            [of_x(text) for text in texts],
            [
                paths.estimate(series, {key: text}, flow, Metric.DATA_RATE, factor=erg.MBPS)
                for text in texts
            ],
        )
        for name, flow in flows.items()
    )


DATAGRAM_BITS = 40_000
TO_10, TO_100 = "from 100 to 10 Mb/s", "from 10 to 100 Mb/s"


def _offered(text: str) -> float:
    """Return the Mb/s that datagrams of 5000 B offer, one every so often.

    Examples
    --------
    >>> _offered("400 us"), _offered("4 ms")
    (100.0, 10.0)
    """
    number, unit = text.split(" ")
    return DATAGRAM_BITS / (float(number) * {"us": 1, "ms": 1000}[unit])


def _capture(paths: Paths, by: By) -> Figure:
    lines = _rates(
        paths,
        "capture",
        "flows.from-100.arrivals.regular",
        {TO_10: "from-100", TO_100: "from-10"},
        _offered,
    )
    at = _offered("4192 us")
    return Figure(
        "Both ways, by what the 100 Mb/s host offers",
        "Above some 9.5 Mb/s the port’s queue overflows, and every datagram loses a fragment. The Sparc keeps a fifth of the link.",
        Label("Offered by the 100 Mb/s host", "Mb/s"),
        MBPS,
        "Data",
        lines,
        ((TO_10, at, by["3-100-10"].published), (TO_100, at, by["3-10-100"].published)),
    )


def _host_time(paths: Paths, by: By) -> Figure:
    key = "network.models.sparc.send.software.fixed"
    lines = _rates(
        paths,
        "host-time",
        key,
        {TO_10: "from-100", TO_100: "from-10"},
        lambda text: float(text.removesuffix(" us")),
    )
    return Figure(
        "Both ways, by the Sparc’s time for a fragment",
        "Up to the gap of 9.6 µs both sides contend for every turn; a slower host leaves the next one to the port that has just sent. "
        "63 µs are fitted, to one way only.",
        Label("The Sparc’s time for a fragment", "µs"),
        MBPS,
        "Data",
        lines,
        ((TO_10, 63, by["3-100-10"].published), (TO_100, 63, by["3-10-100"].published)),
    )


def _router(paths: Paths, by: By) -> Figure:
    lines = _rates(
        paths, "router", "flows.load.arrivals.regular", {"whole datagrams": "load"}, _offered
    )
    return Figure(
        "Through the router, by what is offered",
        "Frames are forwarded one by one. What finds the queue full is lost, and a datagram without one of its four is of no use.",
        Label("Offered", "Mb/s"),
        MBPS,
        "Data",
        lines,
        (("whole datagrams", 100, by["1-router-load"].published),),
    )


# Hughes-Jones and Saka

FAST = (
    "direct",
    "one switch, one module",
    "one switch, two modules",
    "two switches, one module",
    "two switches, two modules",
)
FAST_IDS = ("direct", "same", "different", "two-same", "two-different", "two-gigabit")
GIGABIT = {"direct": "3.1-direct", "Alteon 180": "3.1-alteon", "BATM Titan 4": "3.1-batm"}


def _ping(number: int) -> str:
    return f"ping asker{number} to answerer{number}"


def _load(number: int) -> str:
    return f"load sender{number} to receiver{number}"


def _gigabit_latency(paths: Paths, by: By) -> Figure:
    lines, marks = [], []
    for number, (name, identity) in enumerate(GIGABIT.items(), 1):
        lines.append(_line(name, *one_way(paths, "gigabit-latency", _ping(number), "answer")))
        marks += _ends(name, by, identity, (64, 750, 1500))
    text = "From request-response, as figures 3.2 and 3.4 have it. Diamonds are on the published lines."
    return Figure("1 Gb/s", text, SIZE, LATENCY, "Path", tuple(lines), tuple(marks))


def _fast_latency(paths: Paths, by: By) -> Figure:
    lines, marks = [], []
    for number, (name, identity) in enumerate(
        zip((*FAST, "two switches, 1 Gb/s between"), FAST_IDS, strict=True), 1
    ):
        lines.append(_line(name, *one_way(paths, "fast-latency", _ping(number), "request")))
        marks += _ends(name, by, f"t3.1-{identity}", (64, 750, 1500))
    text = "Ping-pong, as figure 3.6 and table 3.1 have it; two switches are predicted. Diamonds are on the published lines."
    return Figure("100 Mb/s", text, SIZE, LATENCY, "Path", tuple(lines), tuple(marks))


def _mixed_latency(paths: Paths, by: By) -> Figure:
    name = "BATM Titan 4"
    line = _line(name, *one_way(paths, "mixed-latency", "ping", "both"))
    marks = tuple(_ends(name, by, "3.3-mixed", (64, 750, 1500)))
    return Figure(
        "From 100 Mb/s to 1 Gb/s", "Predicted; figure 3.8.", SIZE, LATENCY, "Path", (line,), marks
    )


def _broadcast(paths: Paths, by: By) -> Figure:
    direct, through = "direct", "BATM Titan 4"
    lines = (
        _line(
            direct,
            *one_way(paths, "broadcast-direct", "ping", "answer", {"flows.ping.cast": "broadcast"}),
        ),
        _line(through, *one_way(paths, "broadcast-batm", "ping", "request")),
    )
    marks = [
        *_ends(direct, by, "5.1-broadcast", (64, 750, 1500)),
        *_ends(through, by, "5.1-broadcast-batm", (600, 1050, 1500)),
    ]
    marks += [(through, octets, by["5.1-broadcast-short"].published) for octets in (64, 300)]
    text = "The study’s switch takes as long for 64 as for 600 B, which the model cannot."
    return Figure(
        "Broadcast at 1 Gb/s (figure 5.1)", text, SIZE, LATENCY, "Path", lines, tuple(marks)
    )


def _histogram(number: int, switch: str, octets: int) -> "Maker":
    def make(paths: Paths, _by: By) -> Figure:
        lines = []
        for name, period in (("alone", QUIET), ("beside a stream", "28 us")):
            found = trips(paths, _ping(number), octets, period)
            width = (found.high_s - found.low_s) * US
            lines.append(
                _line(
                    name,
                    (found.middle_s * US).tolist(),
                    (found.count / found.count.sum() / width * 100).tolist(),
                )
            )
        text = (
            f"Answers of {octets} B; the stream is of 1500 B every 28 µs between two other ports."
        )
        return Figure(
            f"Round trips through the {switch}, {octets} B",
            text,
            Label("Round trip", "µs"),
            Label("Share", "% per µs"),
            "Round trips",
            tuple(lines),
        )

    return make


def _both(paths: Paths) -> tuple[Floats, Floats]:
    """Return sizes and times between frames at 1 Gb/s, of both interfaces' series."""
    parts = [between(paths, series, _load(1)) for series in ("streaming", "streaming-long")]
    return np.concatenate([sizes for sizes, _ in parts]), np.concatenate(
        [times for _, times in parts]
    )


def _between_gigabit(paths: Paths, by: By) -> Figure:
    sizes, times = _both(paths)
    name = "direct"
    marks = [(name, octets, by["4.2-floor"].published) for octets in (64, 575)]
    marks += [
        (name, octets, by[f"t4.1-regular-{octets}"].published) for octets in (512, 1024, 1500)
    ]
    text = "Up to 1024 B with an interface that receives one frame at a time, above with one that overlaps them."
    return Figure(
        "Time between received frames, 1 Gb/s (figure 4.11)",
        text,
        SIZE,
        BETWEEN,
        "Path",
        (_line(name, sizes, times),),
        tuple(marks),
    )


def _throughput_gigabit(paths: Paths, by: By) -> Figure:
    sizes, times = _both(paths)
    marks = (
        ("direct", 1024, by["4.2-throughput-1024"].published),
        ("direct", 1500, by["4.2-throughput-1500"].published),
    )
    line = _line("direct", sizes, sizes / times)
    return Figure(
        "Throughput, 1 Gb/s (figure 4.12)",
        "User data.",
        SIZE,
        Label("Throughput", "MB/s"),
        "Path",
        (line,),
        marks,
    )


def _between_fast(paths: Paths, by: By) -> Figure:
    lines = [
        _line(name, *between(paths, "streaming-fast", _load(number)))
        for number, name in enumerate(FAST[:3], 1)
    ]
    marks = tuple(_ends("direct", by, "4.3", (80, 750, 1500)))
    text = "Diamonds are on the published line."
    return Figure(
        "Time between received frames, 100 Mb/s (figure 4.13)",
        text,
        SIZE,
        BETWEEN,
        "Path",
        tuple(lines),
        marks,
    )


def _spacing(octets: int) -> "Maker":
    def make(paths: Paths, by: By) -> Figure:
        lines = []
        for number, name in enumerate(GIGABIT, 1):
            spacings, rows = waits(paths, f"spacing-{octets}", _load(number))
            lines.append(_line(name, spacings, [student(column) for column in rows.T]))
        widest = lines[0].points[-1][2].value
        marks = (("direct", by[f"t4.1-random-{octets}"].published, 2 * widest),)
        text = "Random frames. The diamond is the closest spacing that the study found to go, at twice the latency far from it."
        return Figure(
            f"Latency by spacing, {octets} B (figures 4.1, 4.4, 4.6)",
            text,
            Label("Mean spacing", "µs"),
            LATENCY,
            "Path",
            tuple(lines),
            marks,
            6 * widest,
        )

    return make


Maker = Callable[[Paths, By], Figure]


@dataclass(frozen=True, slots=True)
class Family:
    """A section of a study: what it says, its tables and its figures."""

    anchor: str
    name: str
    title: str
    text: str
    tables: tuple[Grid, ...] = ()
    figures: tuple[Maker, ...] = ()
    has_marks: bool = True


HOW = "Published → this run, with the deviation; <strong>missed</strong> numbers are bold."
ERG = (
    Family(
        "erg-tables",
        "Tables",
        "The study’s tables",
        f"{HOW} Mb/s of data in UDP datagrams of 5000 B that came whole.",
        (
            Grid(
                "One way, 100 Mb/s offered",
                ("", "Switch", "Hub", "Router, the most", "Router, at 100 Mb/s"),
                (("100 / 100", ("1-switch", "1-hub", "1-router-most", "1-router-load")),),
            ),
            Grid(
                "One way, 10 Mb/s offered",
                ("", "10 / 10", "100 / 10", "10 / 100"),
                (
                    ("One receiver", ("2-unicast-10-10", "2-unicast-100-10", "2-unicast-10-100")),
                    ("A group", ("2-multicast-10-10", "", "2-multicast-10-100")),
                ),
            ),
            Grid(
                "Both ways, 10 Mb/s offered by each",
                ("", "10 / 10 on a hub", "10 / 10 on a switch", "100 / 10", "10 / 100"),
                (("Mb/s", ("3-10-10-hub", "3-10-10-switch", "3-100-10", "3-10-100")),),
            ),
        ),
    ),
    Family(
        "erg-capture",
        "Capture",
        "Capture, and the router",
        "What is behind the numbers that are missed. A half-duplex port of a switch and a host contend for their link; who is ready within "
        "the gap after a frame keeps it.",
        (),
        (_capture, _host_time, _router),
    ),
)


TABLES = {"erg": ERG[0].tables}
"""Tables of the studies whose live tests are held against them."""


def _line_grid(title: str, names: Sequence[str], ids: Sequence[str]) -> Grid:
    rows = [
        (name, (f"{identity}-constant", f"{identity}-slope"))
        for name, identity in zip(names, ids, strict=True)
    ]
    return Grid(title, ("Path", "Constant, µs", "Slope, µs/B"), tuple(rows))


HUGHES_JONES = (
    Family(
        "hj-tables",
        "Tables",
        "The study’s lines and tables",
        f"{HOW} Direct paths and single switches were fitted to; two switches, mixed speeds, groups and many senders are predicted.",
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
            Grid(
                "Least time between frames at 1 Gb/s, µs (table 4.1)",
                ("User data", "Regular", "Random"),
                tuple(
                    (f"{of} B", (f"t4.1-regular-{of}", f"t4.1-random-{of}"))
                    for of in (512, 1024, 1500)
                ),
            ),
            Grid(
                "Senders at 100 Mb/s into one receiver at 1 Gb/s, MB/s (table 4.2)",
                ("User data", "1", "6", "8"),
                tuple(
                    (f"{of} B", tuple(f"t4.2-{count}-{of}" for count in (1, 6, 8)))
                    for of in (512, 1024, 1500)
                ),
            ),
            Grid(
                "Time between the answers of three, µs (table 5.1)",
                ("User data", "Between peaks"),
                tuple((f"{of} B", (f"t5.1-{of}",)) for of in (64, 1024, 1500)),
            ),
        ),
    ),
    Family(
        "hj-latency",
        "Latency",
        "Latency by size",
        "An empty path is the sum of its stages: software, bus, interface, wire, and what a switch adds.",
        (),
        (_gigabit_latency, _fast_latency, _mixed_latency, _broadcast),
    ),
    Family(
        "hj-background",
        "Background",
        "Round trips beside a stream between other ports",
        "A shared backplane makes a request, its answer or both wait for a frame of the stream; a crossbar does not. The width of the peak "
        "without a stream is fitted; the study’s histograms are not at hand as numbers.",
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
)
