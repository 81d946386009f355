"""Packet voice: the figures of Gonsalves (1982) with the published values.

Also the effect of a run's fitted parameters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ethermeter.analysis.claims import Claim
from ethermeter.chart import Trace
from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Label,
    Section,
    Table,
    Text,
    cell,
    micro,
    plain,
)
from ethermeter.metrics import Metric
from ethermeter.report.plots import annotated
from ethermeter.report.tables import claims_table
from ethermeter.results.interval import student
from ethermeter.results.query import MissingError, Results, Where
from ethermeter.studies.families import HOW, ClaimGrid, claim_table, line_of
from ethermeter.studies.gonsalves1982.claims import (
    FRAMES,
    HOSTS,
    one_length,
    reading,
    value_at_loss,
)

MEASURED = Markup(
    "Published and measured in this run, by the rules of the simulated study: a number is "
    "<em>met</em> within 1 host, 3 points of throughput, or what the text’s rounding leaves open. "
    "Frames and hosts are real and the medium is emulated: coders, clocks and service times of "
    "the study’s hosts are those of the cards. Below each point is compared with the simulation "
    "of the same file."
)
LEAST, MOST = "stations.frames.samples.least", "stations.frames.samples.most"
QUANTITIES: dict[str, Label] = {
    "hosts": Label("Number of hosts"),
    "load": Label("Offered load", "%"),
    "delay": Label("Delay of samples", "ms"),
    "loss": Label("Loss of samples", "%", 100.0),
    "throughput": Label("Throughput, whole packets", "%"),
    "data_throughput": Label("Throughput, data", "%"),
    "normalised_delay": Label("Delay over the shortest"),
}
"""Of `ethermeter.studies.gonsalves1982.claims.reading`, by name."""
LEGEND = (
    "Lines: this run, with 95% bands. Diamonds: the study’s tables, which read hosts off to one,"
    " delays to 1 ms and throughput to 1%."
)
ADMISSION = (
    "The study concludes that the number of connections must be restricted, by a server that counts"
    " them or by hosts that listen, and measures neither. Here calls come at random and last 20 s"
    " on average. Of voice alone, 40 at a time are offered, and at most 40 admitted; of voice and"
    " data, 40 of either, each as fast as the other."
)
ADMISSIONS = (
    ("admission", "stations.calls", "Voice alone"),
    ("connections", "stations.data.calls", "Voice, refused from 40 connections on, and data"),
)
"""Series, key and title of each table of rules of admission."""
LOSSES = (0.01, 0.05)
Read = tuple[str, float | str, float | str]
"""Curve, x and y: numbers, or ids of claims whose published numbers they are."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure of the study: x and y by their quantities, and published points."""

    title: str
    text: str
    x: str
    y: str
    marks: tuple[Read, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one section of the study, with series and point of each curve.

    Also what the names of curves are values of.
    """

    anchor: str
    name: str
    title: str
    text: str
    legend: str
    curves: Mapping[str, tuple[str, Where]]
    figures: tuple[Drawing, ...]
    tables: tuple[ClaimGrid, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter whose values a series varies.

    Its title, series, key and text, and the name of the value that all other series use.
    """

    name: str
    series: str
    key: str
    text: str
    used: str


def build(results: Results, claims: Sequence[Claim]) -> list[Section]:
    """Return every section whose points the run holds."""
    by = {claim.id: claim for claim in claims}
    published = {name: claim.published for name, claim in by.items()}
    found = _data(results)
    for family in FAMILIES:
        drawn = [_figure(family, figure, results, published) for figure in family.figures]
        if figures := [figure for figure in drawn if figure is not None]:
            blocks: list[Block] = [Text(family.text), Text(LEGEND, "lead"), Grid(figures)]
            if tables := [block for of in family.tables for block in claim_table(of, by)]:
                blocks += [Text(Markup(HOW)), *tables]
            found.append(Section(family.anchor, family.name, family.title, blocks))
    if calls := [block for table in ADMISSIONS for block in _admission(*table, results)]:
        blocks = [Text(ADMISSION, "lead"), *calls]
        found.append(Section("calls", "Calls", "Calls that come and go (section 4.4)", blocks))
    sensitivity = [
        block for parameter in PARAMETERS for block in _sensitivity(parameter, results, published)
    ]
    if sensitivity:
        blocks = [Text(SENSITIVITY, "lead"), *sensitivity]
        title = "What each parameter changes"
        found.append(Section("voice-sensitivity", "Sensitivity", title, blocks))
    return found


def _admission(series: str, key: str, title: str, results: Results) -> list[Block]:
    """Return the table of what each rule of admission makes of the calls of a series."""
    shown = (
        (Metric.CALL_REFUSAL, 100.0),
        (Metric.CALLS, 1.0),
        (Metric.SAMPLE_LOSS, 100.0),
        (Metric.SAMPLE_DELAY_P99, 1e3),
    )
    rows = []
    for of in results.points(series):
        found = [cell(of.estimate(metric), factor) for metric, factor in shown]
        rows.append([_rule_name(str(of.point[key])), *found])
    head = ["", "Refused, %", "At a time", "Samples lost, %", "99% of delays below, ms"]
    return [Table(head, rows, title)] if rows else []


def _rule_name(text: str) -> str:
    """Name a rule of admission.

    Examples
    --------
    >>> _rule_name('{ every = "1 s" }'), _rule_name('{ every = "1 s", most = 40 }')
    ('all are admitted', 'at most 40, counted by a server')
    >>> _rule_name('{ every = "1 s", most = 40, listen = "128 ms" }')
    'at most 40, heard in 128 ms'
    """
    most, listen = re.search(r"most = (\d+)", text), re.search(r'listen = "([^"]*)"', text)
    if most is None:
        return "all are admitted"
    how = "counted by a server" if listen is None else f"heard in {listen[1]}"
    return f"at most {most[1]}, {how}"


def measured(claims: Sequence[Claim]) -> Section:
    """Return the numbers of the study beside the results of its live tests."""
    judged = [claim for claim in claims if claim.verdict in ("met", "missed")]
    met = sum(claim.verdict == "met" for claim in judged)
    return Section(
        "study",
        "Study",
        "The study’s numbers, measured",
        [
            Text(MEASURED, "lead"),
            Text(f"{met} of {len(judged)} numbers that this run decides are met."),
            claims_table(claims),
        ],
    )


def _data(results: Results) -> list[Section]:
    """Return the section of data under load, as far as the run holds it."""
    figures = []
    for series, key, title, x, scale in DATA:
        lines = []
        for octets in results.along(series, FRAMES, None):
            texts = sorted(results.along(series, key, {FRAMES: octets}), key=float)
            values = [
                student(reading(results, series, {FRAMES: octets, key: text}, "throughput"))
                for text in texts
            ]
            lines.append(line_of(plain(octets), [float(text) * scale for text in texts], values))
        if lines:
            chart = annotated(lines, (), x, QUANTITIES["throughput"], "Packet")
            figures.append(Figure(chart, title, ""))
    if not figures:
        return []
    return [Section("voice-data", "Data", DATA_TITLE, [Text(DATA_TEXT), Grid(figures)])]


def _lines(named: Mapping[str, tuple[str, Where]], results: Results, x: str, y: str) -> list[Trace]:
    lines = []
    for name, (series, where) in named.items():
        points, counts = [], []
        for hosts in sorted(results.along(series, HOSTS, where), key=float):
            try:
                of = [
                    student(reading(results, series, {**where, HOSTS: hosts}, quantity))
                    for quantity in (x, y)
                ]
            except MissingError:
                continue
            counts.append(int(hosts))
            points.append((of[0], of[1]))
        if points:
            lines.append(Trace(name, points, order=counts))
    return lines


def _figure(
    family: Family, figure: Drawing, results: Results, published: Mapping[str, float]
) -> Figure | None:
    lines = _lines(family.curves, results, figure.x, figure.y)
    if not lines:
        return None
    marks = [(name, _number(x, published), _number(y, published)) for name, x, y in figure.marks]
    chart = annotated(
        lines,
        [
            (name, x, y)
            for name, x, y in marks
            if x == x and y == y and any(line.name == name for line in lines)
        ],
        QUANTITIES[figure.x],
        QUANTITIES[figure.y],
        family.legend,
        order="" if figure.x == "hosts" else "hosts",
    )
    return Figure(chart, figure.title, figure.text)


def _number(value: float | str, published: Mapping[str, float]) -> float:
    return published.get(value, float("nan")) if isinstance(value, str) else value


def _sensitivity(
    parameter: Parameter, results: Results, published: Mapping[str, float]
) -> list[Block]:
    """Show a parameter: loss and delay for each of its values, and what is read off them."""
    name, series, key = parameter.name, parameter.series, parameter.key
    values = results.along(series, key, None)
    if not values:
        return []
    named = {_value_name(value): (series, {key: value}) for value in values}
    octets = "64"
    at = {loss: f"4.1b-n-{octets}-l{round(loss * 100)}" for loss in LOSSES}
    figures = []
    for y, marks in (
        ("loss", [(at[loss], loss) for loss in LOSSES]),
        ("delay", [(at[loss], f"4.1b-d-{octets}-l{round(loss * 100)}") for loss in LOSSES]),
    ):
        named_marks = tuple((parameter.used, *mark) for mark in marks)
        title = f"{QUANTITIES[y].title}, {name.lower()}"
        drawing = Drawing(title, "", "hosts", y, named_marks)
        family = Family("", "", "", "", name, named, ())
        figure = _figure(family, drawing, results, published)
        figures += [figure] if figure is not None else []
    quantities = ("hosts", "data_throughput", "delay")
    rows = []
    for value, (_, where) in named.items():
        row = [value]
        for loss in LOSSES:
            row += [_at(results, series, where, quantity, loss) for quantity in quantities]
        rows.append(row)
    letters = {"hosts": "N", "data_throughput": "T (%)", "delay": "D (ms)"}
    head = [
        name,
        *(f"{letters[quantity]} at {loss:.0%}" for loss in LOSSES for quantity in quantities),
    ]
    last = [
        "published",
        *(
            f"{published.get(f'4.1b-{letter}-{octets}-l{round(loss * 100)}', float('nan')):g}"
            for loss in LOSSES
            for letter in "ntd"
        ),
    ]
    numbers = Table(head, [*rows, last], f"{name}: at losses of 1 and 5%")
    return [
        Heading(name),
        Text(parameter.text),
        Grid(figures),
        Heading("Read off at losses of 1 and 5%", 4),
        numbers,
    ]


def _at(results: Results, series: str, where: Where, quantity: str, loss: float) -> str:
    try:
        return cell(student(value_at_loss(results, series, where, quantity, loss)), 1.0)
    except MissingError:
        return "–"


def _value_name(text: str) -> str:
    """Name a value of a parameter.

    Examples
    --------
    >>> _value_name('{ uniform = ["0 us", "1 ms"] }'), _value_name("6 us")
    ('0 µs to 1 ms, evenly', '6 µs')
    >>> _value_name('{ load_register = { bits = 8, clock = "170 ns", ticks = false } }')
    'clock of 170 ns, without ticks'
    """
    if found := re.fullmatch(r'\{ uniform = \["([^"]*)", "([^"]*)"\] \}', text):
        return micro(f"{found[1]} to {found[2]}, evenly")
    if found := re.fullmatch(
        r'\{ load_register = \{ bits = 8, clock = "([^"]*)", ticks = (true|false) \} \}', text
    ):
        return f"clock of {found[1]}, {'with' if found[2] == 'true' else 'without'} ticks"
    return plain(text)


def _losses(
    table_name: str,
    numbers: Sequence[str],
    *,
    x: str,
    y: str | None,
    percents: Sequence[int] = (1, 5),
) -> tuple[Read, ...]:
    """Return marks at the losses of a table.

    `x` and `y` are letters of its columns, no `y` is the loss itself.
    """
    return tuple(
        (
            f"{number} B",
            f"{table_name}-{x}-{number}-l{percent}",
            f"{table_name}-{y}-{number}-l{percent}" if y else percent / 100,
        )
        for number in numbers
        for percent in percents
    )


def _knees(numbers: Sequence[str], *, x: str, y: str) -> tuple[Read, ...]:
    def of(letter: str, number: str) -> str:
        return f"4.1a-dmin-{number}" if letter == "d" else f"4.1a-{letter}-knee-{number}"

    return tuple((f"{number} B", of(x, number), of(y, number)) for number in numbers)


DATA_TITLE = "Figures 2.1 and 2.2: data under load"
DATA_TEXT = (
    "Section 2.3 reproduces two figures of Shoch and Hupp (1980). No number of them is at hand, nor"
    " the lengths of their packets: what the text says of them is judged. Lines: this run, with 95%"
    " bands."
)
DATA = (
    (
        "data-load",
        "stations.arrivals.poisson_load",
        "Throughput against load, ten hosts (figure 2.1)",
        Label("Offered load", "%"),
        100.0,
    ),
    (
        "data-queued",
        HOSTS,
        "Throughput of hosts that always have a packet (figure 2.2)",
        Label("Number of hosts"),
        1.0,
    ),
)
"""Series, key, title and x of the figures of data, and what x is multiplied by."""


def _grid(title: str, head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> ClaimGrid:
    return ClaimGrid(title, tuple(head), tuple((name, tuple(ids)) for name, ids in rows.items()))


_AT_LOSSES = (
    *("D at 1%, ms", "D at 5%, ms", "T at 1%, %", "T at 5%, %"),
    *("N at 1%", "N at 5%"),
)
SHORTEST, LONGEST = ("64", "128", "512"), ("64", "128", "256", "512")
FAMILIES = (
    Family(
        "voice-fixed",
        "Packets of one length",
        "Section 3.3: packets of one length instead",
        "Coders of 105 kb/s. Packets of 128 bytes, of which one fills while others wait, in 2 or 8"
        " buffers, beside packets that grow from 128 to 1024 bytes. Section 5 feels that other"
        " protocols would not do appreciably better.",
        "Packets",
        {
            "growing": ("minimum", {LEAST: "128 B"}),
            "2 buffers": ("fixed", one_length("128 B", 2)),
            "8 buffers": ("fixed", one_length("128 B", 8)),
        },
        (
            Drawing("Loss against hosts", "", "hosts", "loss"),
            Drawing("Delay against hosts", "", "hosts", "delay"),
            Drawing(
                "Throughput against hosts",
                "Without 6 bytes of header and checksum a packet.",
                "hosts",
                "data_throughput",
            ),
        ),
    ),
    Family(
        "voice-shortest",
        "Shortest packet",
        "Figures 4.1 to 4.4: the shortest packet",
        "Coders of 105 kb/s, packets of at most 1024 bytes. A buffer that is wanted to be sent"
        " later makes fewer and longer packets, which use the channel better and take longer to"
        " fill. The diamonds are the knee and the losses of 1 and 5% of tables 4.1a and 4.1b, to"
        " which the turnaround time was fitted.",
        "Shortest packet",
        {f"{number} B": ("minimum", {LEAST: f"{number} B"}) for number in SHORTEST},
        (
            Drawing(
                "Delay against throughput (figure 4.1)",
                "Each curve runs through growing numbers of hosts: flat up to the knee, then"
                " upwards at nearly one throughput.",
                "data_throughput",
                "delay",
                _knees(SHORTEST, x="t", y="d") + _losses("4.1b", SHORTEST, x="t", y="d"),
            ),
            Drawing(
                "Delay against hosts (figure 4.2)",
                "Each host is 3.57% of the capacity; 28 make 100%.",
                "hosts",
                "delay",
                _knees(SHORTEST, x="n", y="d") + _losses("4.1b", SHORTEST, x="n", y="d"),
            ),
            Drawing(
                "Loss against hosts (figure 4.3)",
                "",
                "hosts",
                "loss",
                _losses("4.1b", SHORTEST, x="n", y=None),
            ),
            Drawing(
                "Throughput against hosts (figure 4.4)",
                "Without 6 bytes of header and checksum a packet.",
                "hosts",
                "data_throughput",
                _knees(SHORTEST, x="n", y="t") + _losses("4.1b", SHORTEST, x="n", y="t"),
            ),
        ),
        (
            _grid(
                "At the knee (table 4.1a)",
                ("Shortest packet", "Shortest delay, ms", "T, %", "N"),
                {
                    f"{of} B": (f"4.1a-dmin-{of}", f"4.1a-t-knee-{of}", f"4.1a-n-knee-{of}")
                    for of in SHORTEST
                },
            ),
            _grid(
                "At losses of 1 and 5% (table 4.1b)",
                ("Shortest packet", *_AT_LOSSES),
                {
                    f"{of} B": [
                        f"4.1b-{letter}-{of}-l{loss}" for letter in "dtn" for loss in (1, 5)
                    ]
                    for of in SHORTEST
                },
            ),
        ),
    ),
    Family(
        "voice-longest",
        "Longest packet",
        "Figures 4.5 to 4.8: the longest packet",
        "Coders of 105 kb/s, packets from 32 bytes on. Nothing is fitted here. What cannot grow is"
        " lost: the shorter the longest packet, the earlier. The study’s network loses 1% and 5%"
        " nearly at once, ours more gradually.",
        "Longest packet",
        {f"{number} B": ("maximum", {MOST: f"{number} B"}) for number in LONGEST},
        (
            Drawing(
                "Delay against throughput (figure 4.5)",
                "The study’s tables have no delays at these losses.",
                "throughput",
                "delay",
            ),
            Drawing("Delay against hosts (figure 4.6)", "", "hosts", "delay"),
            Drawing(
                "Loss against hosts (figure 4.7)",
                "",
                "hosts",
                "loss",
                _losses("4.2", LONGEST, x="n", y=None),
            ),
            Drawing(
                "Throughput against hosts (figure 4.8)",
                "Of packets in full, header and checksum included: only so does table 4.2 agree"
                " with the load at its numbers of hosts.",
                "hosts",
                "throughput",
                _losses("4.2", LONGEST, x="n", y="t"),
            ),
        ),
        (
            _grid(
                "At losses of 1 and 5% (table 4.2)",
                ("Longest packet", *_AT_LOSSES[2:]),
                {
                    f"{of} B": [f"4.2-{letter}-{of}-l{loss}" for letter in "tn" for loss in (1, 5)]
                    for of in LONGEST
                },
            ),
        ),
    ),
    Family(
        "voice-rate",
        "Coder rate",
        "Figures 4.9 and 4.10: the coder’s rate",
        "Packets of 64 to 1024 bytes. Against the load, and with delays over the shortest, coders"
        " of different rates are nearly alike, which is what the study extrapolates to 64 kb/s by.",
        "Coder rate",
        {
            "70 kb/s": ("rate-70", {}),
            "84 kb/s": ("rate-84", {}),
            "105 kb/s": ("minimum", {LEAST: "64 B"}),
        },
        (
            Drawing(
                "Normalised delay against load (figure 4.9)",
                "Over the formula’s shortest delay.",
                "load",
                "normalised_delay",
            ),
            Drawing("Loss against load (figure 4.10)", "", "load", "loss"),
            Drawing(
                "Normalised delay against throughput (table 4.3)",
                "Diamonds at losses of 1 and 3%.",
                "data_throughput",
                "normalised_delay",
                tuple(
                    (f"{rate} kb/s", f"4.3-t-{rate}-l{percent}", f"4.3-d-{rate}-l{percent}")
                    for rate in ("70", "84", "105")
                    for percent in (1, 3)
                ),
            ),
            Drawing(
                "Throughput against load",
                "Without 6 bytes of header and checksum a packet.",
                "load",
                "data_throughput",
            ),
        ),
        (
            _grid(
                "At losses of 1 and 3% (table 4.3)",
                ("Coder", "D / Dmin at 1%", "D / Dmin at 3%", "T at 1%, %", "T at 3%, %"),
                {
                    f"{rate} kb/s": [
                        f"4.3-{letter}-{rate}-l{loss}" for letter in "dt" for loss in (1, 3)
                    ]
                    for rate in ("70", "84", "105")
                },
            ),
        ),
    ),
)
SENSITIVITY = (
    "Coders of 105 kb/s, packets of 64 to 1024 bytes, around losses of 1 and 5%: one parameter"
    " changed, all others as in the series minimum, half as long. N, T and D are read off at these"
    " losses, with 95% intervals over the replications. Diamonds: the study’s table 4.1b, in the"
    " colour of the value that all other series use."
)
PARAMETERS = (
    Parameter(
        "Turnaround time",
        "sensitivity-turnaround",
        "segment.turnaround",
        "From a host’s decision to send to its first bit, in which it hears nothing. Fitted:"
        " 10.5 µs.",
        "10.5 µs",
    ),
    Parameter(
        "Arming time",
        "sensitivity-arming",
        "stations.service",
        "From a packet’s being wanted to its being ready to go. Assumed: evenly spread from 0 to"
        " one unit of the timer, 38.08 µs.",
        "0 µs to 38.08 µs, evenly",
    ),
    Parameter(
        "Error of the clocks",
        "sensitivity-clock-error",
        "stations.clock_error",
        "How much hosts’ crystals differ. Assumed: 50 ppm.",
        "50 ppm",
    ),
    Parameter(
        "Backoff",
        "sensitivity-register",
        "stations.backoff",
        "Which clock masks the load register, and whether a wait ends with a tick. Used: the"
        " processor’s clock of 170 ns, without ticks.",
        "clock of 170 ns, without ticks",
    ),
)
