"""File transfer: the figures of Fritz (1999), measured and simulated, and the remedies."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ethermeter.analysis.claims import Claim
from ethermeter.chart import Bar
from ethermeter.document import Block, Figure, Label, Section, Table, Text
from ethermeter.metrics import Metric
from ethermeter.report.plots import grouped
from ethermeter.results.interval import exact
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.fritz1999.claims import (
    BARE,
    FAST,
    GIGABIT,
    MBPS,
    PAIRS,
    constant_mbps,
    gains_of,
    mean_of,
    rate_mbps,
)

RATES = {FAST: "Fast Ethernet", GIGABIT: "Gigabit Ethernet"}
REMEDIES = (
    ("as they were", "remedies", BARE),
    ("checksum in NIC", "remedies", "checksum-in-nic"),
    ("larger FIFO", "remedies", "larger-fifo"),
    ("wider bus", "remedies", "wider-bus"),
    ("stack for nothing", "remedies", "no-stack"),
    ("all four", "remedies", "all-of-them"),
    ("64 bit, 33 MHz", "remedies", "bus-64-33"),
    ("system bus of 66 MHz", "remedies", "system-bus-66"),
    ("no interrupts", "remedies", "no-interrupts"),
    ("interrupts of 8 frames", "remedies", "coalesced-interrupts"),
    ("wide window", "window", ""),
    ("… and jumbo", "jumbo", BARE),
    ("… and all four", "jumbo", "all-of-them"),
)
"""Name, series and what it varies; first, what the others are compared with."""
DRAWN = REMEDIES[:6]
"""Those of them that a figure has room for."""
AHEAD = ("a request ahead", "ahead", "")
THROUGHPUT = Label("Throughput", "Mb/s")
DELAY = Label("Data to acknowledgement", "µs")
TIME = Label("Time of an octet", "ns")


def build(results: Results, claims: Sequence[Claim]) -> list[Section]:
    """Return every section whose points the run holds."""
    published = {claim.id: claim.published for claim in claims}
    found: list[Section] = []
    for anchor, name, title, bodies in (
        ("files-throughput", "Throughput", "Real-world Fast Ethernet: throughput", (_throughput,)),
        (
            "files-acknowledgements",
            "Acknowledgements",
            "Real-world Fast Ethernet: from data to acknowledgement",
            (_acknowledgements,),
        ),
        ("files-time", "Bottlenecks", "The bottlenecks: where the time goes", (_time, _steps)),
        ("files-remedies", "Remedies", "Improvements on the way: their effect", (_remedies,)),
    ):
        blocks: list[Block] = []
        for body in bodies:
            with suppress(MissingError):
                blocks += body(results, published)
        if blocks:
            found.append(Section(anchor, name, title, blocks))
    return found


def _throughput(results: Results, published: dict[str, float]) -> list[Block]:
    rows: list[list[str]] = []
    drawn: list[tuple[str, str, float]] = []
    for pair in PAIRS:
        # Of both pairs with a Novell server the article has one number on Gigabit Ethernet.
        gigabit = "novell" if pair.startswith("novell") else pair
        measured = {
            rate: published.get(name, float("nan"))
            for rate, name in ((FAST, f"fast-{pair}"), (GIGABIT, f"gigabit-{gigabit}"))
        }
        ours = {rate: rate_mbps(results, "copies", rate, pair) for rate in RATES}
        for rate, name in ((FAST, "Fast"), (GIGABIT, "Gigabit")):
            drawn += [
                (PAIRS[pair], f"{name}, measured", measured[rate]),
                (PAIRS[pair], f"{name}, ours", ours[rate]),
            ]
        constant = constant_mbps(measured[FAST])
        numbers = (measured[FAST], ours[FAST], measured[GIGABIT], ours[GIGABIT], constant)
        off = f"{(ours[GIGABIT] / measured[GIGABIT] - 1) * 100:+.1f}%".replace("-", "−")
        rows.append(
            [
                PAIRS[pair],
                *(f"{number:.1f}" for number in numbers[:4]),
                off,
                f"{constant:.1f}",
            ]
        )
    head = [
        "Server, client",
        "Fast, measured",
        "ours (fitted)",
        "Gigabit, measured",
        "ours (predicted)",
        "off by",
        "constant time alone",
    ]
    figure = _figure(
        drawn,
        THROUGHPUT,
        title="Throughput, both directions averaged",
        text=(
            "One host time of each pair is fitted to its bar on Fast Ethernet; Gigabit Ethernet is"
            " predicted."
        ),
        numbers=Table(head, rows, "Throughput in Mb/s"),
    )
    text = (
        "What each host does with an octet besides sending and receiving it (disk, file service,"
        " application) is one number a pair. If that were all, and came on top of the wire, Gigabit"
        " Ethernet would give 1 / (1/F − 1/100 + 1/1000) of F Mb/s on Fast Ethernet: the last"
        " column. The simulated chain has besides it blocks and their requests, TCP, copy and"
        " checksum, the bus and its FIFO, each after its own source, and overlaps what overlaps:"
        " where several frames of a block are under way, some of the wire’s time is hidden already"
        " on Fast Ethernet, and less is won by taking it away."
    )
    return [Text(text), figure]


def _time(results: Results, _published: dict[str, float]) -> list[Block]:
    def ns(series: str, rate: str, pair: str) -> float:
        return 8e3 / rate_mbps(results, series, rate, pair)

    rows = [
        [
            PAIRS[pair],
            *(f"{ns('copies', rate, pair):.0f}" for rate in RATES),
            *(f"{ns('memory', rate, pair):.0f}" for rate in RATES),
            *(
                f"{(1 - ns('memory', rate, pair) / ns('copies', rate, pair)) * 100:.0f}%"
                for rate in RATES
            ),
        ]
        for pair in PAIRS
    ]
    head = [
        "Server, client",
        "Fast",
        "Gigabit",
        "Fast, no host times",
        "Gigabit, no host times",
        "host times, Fast",
        "host times, Gigabit",
    ]
    text = (
        "Time of an octet in ns, with the fitted host times and without them: then TCP, stack, bus"
        " and wire are all there is. Host times of 215 to 396 ns an octet are what two disks would"
        " take, one after the other, at 5 to 9 MB/s each; what of them is disk, file service or"
        " operating system the article’s numbers cannot tell."
    )
    drawn = [
        (PAIRS[pair], f"{name}{without}", ns(series, rate, pair))
        for pair in PAIRS
        for series, without in (("copies", ""), ("memory", ", no host times"))
        for rate, name in ((FAST, "Fast"), (GIGABIT, "Gigabit"))
    ]
    figure = _figure(
        drawn,
        TIME,
        title="Time of an octet, with host times and without",
        text="What is left without host times are TCP, stack, bus and wire.",
        numbers=Table(head, rows, "Time of an octet, ns"),
    )
    return [Text(text), figure]


def _acknowledgements(results: Results, _published: dict[str, float]) -> list[Block]:
    found = {
        pair: {
            rate: mean_of(results, "copies", rate, Metric.ACKNOWLEDGEMENT_DELAY, pair) * 1e6
            for rate in RATES
        }
        for pair in PAIRS
    }
    drawn = [
        (PAIRS[pair], name, found[pair][rate]) for pair in PAIRS for rate, name in RATES.items()
    ]
    rows = [[PAIRS[pair], *(f"{found[pair][rate]:.0f}" for rate in RATES)] for pair in PAIRS]
    figure = _figure(
        drawn,
        DELAY,
        title="From data to acknowledgement",
        text=(
            "On the wire of who sends the data, from the begin of their frame to that of the frame"
            " that acknowledges them; means."
        ),
        numbers=Table(["Server, client", *RATES.values()], rows, "Data to acknowledgement in µs"),
    )
    text = (
        "The article’s captures show long delays of acknowledgements, shorter on Gigabit Ethernet"
        " but still there. In the simulation the last data of a block are acknowledged by the next"
        " request, or by its answer, after a host time; the others by the receiver’s stack, which"
        " has several frames before it."
    )
    return [Text(text), figure]


STEPS = {
    "every-step": "as they were",
    "no-disk": "file in memory",
    "no-fragments": "breaking up and reassembling for nothing",
    "no-copy": "no copy",
    "no-tcp-checksum": "TCP’s checksum for nothing",
    "no-ip-checksum": "IP’s checksum for nothing",
    "no-bus": "no bus",
}
"""Models of the series chain, and what they are called."""


def _steps(results: Results, _published: dict[str, float]) -> list[Block]:
    def mbps(series: str, flow: str, rate: str, **point: str) -> str:
        where = {"network.rate": rate, **point}
        return f"{results.at(series, where).value(Metric.TRANSFER_RATE, flow) / MBPS:.1f}"

    rows = [
        [
            name,
            *(
                mbps("chain", f"nt-nt-{way}", rate, **{"network.hosts.pc.model": model})
                for rate in RATES
                for way in ("read", "write")
            ),
        ]
        for model, name in STEPS.items()
    ]
    head = [
        "NT, NT",
        *(f"{name}, {way}" for name in RATES.values() for way in ("reading", "writing")),
    ]
    streamed = [[name, mbps("ftp", "win95-win95", rate)] for rate, name in RATES.items()]
    text = (
        "Disk, breaking up the file, copy, checksums and bus each as a stage of its own; what is"
        " left of the host time is fitted. The checksum of IP, over 20 octets, is worth nothing"
        " that shows. With FTP whose file work overlaps the network, Gigabit Ethernet would bring"
        " nothing; the article’s 16 → 20 Mb/s say that it did not overlap."
    )
    return [
        Text(text),
        Table(head, rows, "Throughput in Mb/s, without one step each"),
        Table(["FTP, Windows 95", "Mb/s"], streamed, "A stream whose file work overlaps"),
    ]


def _remedies(results: Results, _published: dict[str, float]) -> list[Block]:
    shown = list(_known(results))
    bars_of = [of for of in shown if of in DRAWN]
    drawn = [
        (PAIRS[pair], name, rate_mbps(results, series, case, pair))
        for pair in PAIRS
        for name, series, case in bars_of
    ]
    rows = []
    for name, series, case in [*shown, AHEAD]:
        try:
            gains = gains_of(results, series, case)
        except MissingError:
            continue
        cells = (
            f"{rate_mbps(results, series, case, pair):.1f} ({gains[pair]:+.1f}%)".replace("-", "−")
            for pair in PAIRS
        )
        rows.append([name, *cells])
    head = ["Remedy", *PAIRS.values()]
    caption = "Throughput in Mb/s on Gigabit Ethernet, and gain"
    numbers = Table(head, rows, caption)
    figure = _figure(
        drawn,
        THROUGHPUT,
        title="Gigabit Ethernet with the article’s remedies",
        text=(
            "“Stack for nothing” is the most that a stack out of the operating system could bring."
        ),
    )
    text = (
        "Each remedy acts on parts that together are a small share of the time, if they cost these"
        " hosts what they cost others of their day. None of them lets the hosts work while they"
        " wait for each other: a second request under way, which the article does not speak of,"
        " nearly doubles the throughput, for one host works on a block while the other works on the"
        " next; so it is if each has half of the host time, as is assumed here."
    )
    return [Text(text), figure, numbers]


def _known(results: Results) -> Iterator[tuple[str, str, str]]:
    """Return the remedies that the run holds; the first must be there."""
    gains_of(results, *REMEDIES[0][1:])
    for name, series, case in REMEDIES:
        if any(next(iter(of.point.values()), "") == case for of in results.points(series)):
            yield name, series, case


def _figure(
    drawn: Sequence[tuple[str, str, float]],
    label: Label,
    *,
    title: str,
    text: str,
    numbers: Table | None = None,
) -> Figure:
    """Return a figure of bars: where each stands, which of those there, and how high."""
    bars = [Bar(group, name, exact(height)) for group, name, height in drawn]
    # On a narrow page the names of pairs fit in two lines only, and two long words beside each
    # other.
    chart = grouped(bars, label, columns=2, separator=", ")
    return Figure(chart, title, text, numbers)
