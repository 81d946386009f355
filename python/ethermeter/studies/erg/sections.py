"""Sections of ERG's LAN tests: tables and figures, published against a run."""

from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from ethermeter.analysis.claims import Claim
from ethermeter.chart import Trace
from ethermeter.document import Block, Figure, Heading, Label, Section, Text
from ethermeter.metrics import Metric
from ethermeter.report.plots import annotated
from ethermeter.report.tables import claims_table
from ethermeter.results.interval import student
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.erg import claims as erg
from ethermeter.studies.families import (
    HOW,
    By,
    ClaimGrid,
    Family,
    claim_table,
    family_sections,
    line_of,
)

MBPS = Label("Rate of data", "Mb/s")


def _rates(
    results: Results, series: str, key: str, flows: Mapping[str, str], of_x: Callable[[str], float]
) -> tuple[Trace, ...]:
    """Return the rates of flows, by name of the line, against what the key's texts are."""
    texts = results.along(series, key)
    if not texts:
        raise MissingError(f"no point of {series}")
    texts = sorted(texts, key=of_x)
    return tuple(
        line_of(
            name,
            [of_x(text) for text in texts],
            [
                student(results.at(series, {key: text}).values(Metric.DATA_RATE, flow) * erg.MBPS)
                for text in texts
            ],
        )
        for name, flow in flows.items()
    )


DATAGRAM_BITS = {"capture": 40_000, "router": 11_776}
"""Data of a datagram, by the series."""
TO_10, TO_100 = "from 100 to 10 Mb/s", "from 10 to 100 Mb/s"


def _offered(text: str, series: str) -> float:
    """Return the Mb/s that datagrams of a series offer, one every so often.

    Examples
    --------
    >>> _offered("4 ms", "capture"), _offered("117.76 us", "router")
    (10.0, 100.0)
    """
    number, unit = text.split(" ")
    return DATAGRAM_BITS[series] / (float(number) * {"us": 1, "ms": 1000}[unit])


def _capture(results: Results, by: By) -> Figure:
    lines = _rates(
        results,
        "capture",
        "flows.from-100.arrivals.regular",
        {TO_10: "from-100", TO_100: "from-10"},
        lambda text: _offered(text, "capture"),
    )
    at = _offered("4192 us", "capture")
    return Figure(
        annotated(
            lines,
            ((TO_10, at, by["3-100-10"].published), (TO_100, at, by["3-10-100"].published)),
            Label("Offered by the 100 Mb/s host", "Mb/s"),
            MBPS,
            "Data",
        ),
        "Both ways, by what the 100 Mb/s host offers",
        "Above some 9.5 Mb/s the port’s queue overflows, and every datagram loses a fragment. The"
        " Sparc keeps a fifth of the link.",
    )


def _host_time(results: Results, by: By) -> Figure:
    key = "network.models.sparc.send.software.fixed"
    lines = _rates(
        results,
        "host-time",
        key,
        {TO_10: "from-100", TO_100: "from-10"},
        lambda text: float(text.removesuffix(" us")),
    )
    return Figure(
        annotated(
            lines,
            ((TO_10, 63, by["3-100-10"].published), (TO_100, 63, by["3-10-100"].published)),
            Label("The Sparc’s time for a fragment", "µs"),
            MBPS,
            "Data",
        ),
        "Both ways, by the Sparc’s time for a fragment",
        "Up to the gap of 9.6 µs both sides contend for every turn; a slower host leaves the next"
        " one to the port that has just sent. 63 µs are fitted, to one way only.",
    )


def _router(results: Results, by: By) -> Figure:
    lines = _rates(
        results,
        "router",
        "flows.load.arrivals.regular",
        {"datagrams": "load"},
        lambda text: _offered(text, "router"),
    )
    return Figure(
        annotated(
            lines,
            (("datagrams", 100, by["1-router-load"].published),),
            Label("Offered", "Mb/s"),
            MBPS,
            "Data",
        ),
        "Through the router, by what is offered",
        "From 24.5 Mb/s on the router passes what it can, whatever is offered: each datagram is one"
        " frame. In four fragments hardly one would come whole.",
    )


FAMILIES = (
    Family(
        "erg-one-way",
        "One way",
        "Tables 1 and 2: one way, 100 and 10 Mb/s offered",
        f"{HOW} Mb/s of data in UDP datagrams that came whole: of 1472 B in table 1, whose size the"
        " study does not tell, of 5000 B in tables 2 and 3. The load of 10 Mb/s is measured on the"
        " wire.",
        (
            ClaimGrid(
                "One way, 100 Mb/s offered (table 1)",
                ("", "Switch", "Hub", "Router", "Room of the link"),
                (("100 / 100", ("1-switch", "1-hub", "1-router-load", "1-theoretical")),),
            ),
            ClaimGrid(
                "One way, 10 Mb/s offered (table 2)",
                ("", "10 / 10", "100 / 10", "10 / 100"),
                (
                    ("One receiver", ("2-unicast-10-10", "2-unicast-100-10", "2-unicast-10-100")),
                    ("A group", ("2-multicast-10-10", "", "2-multicast-10-100")),
                ),
            ),
        ),
        (_router,),
    ),
    Family(
        "erg-duplex",
        "Table 3",
        "Table 3: both ways, 10 Mb/s offered by each",
        "What is behind the numbers that are missed. A half-duplex port of a switch"
        " and a host contend for their link; who is ready within the gap after a frame keeps it.",
        (
            ClaimGrid(
                "Both ways, 10 Mb/s offered by each (table 3)",
                ("", "10 / 10 on a hub", "10 / 10 on a switch", "100 / 10", "10 / 100"),
                (("Mb/s", ("3-10-10-hub", "3-10-10-switch", "3-100-10", "3-10-100")),),
            ),
        ),
        (_capture, _host_time),
    ),
)


def build(results: Results, claims: Sequence[Claim]) -> list[Section]:
    """Return the sections that a run holds."""
    return family_sections(FAMILIES, results, claims)


def measured(claims: Sequence[Claim]) -> Section:
    """Return the tables of the study beside the results of its live tests.

    Every number has its verdict, or the reason why it has none.
    """
    by = {claim.id: claim for claim in claims}
    lead = Markup(
        "Published → measured in this run, Mb/s of data in whole UDP datagrams of 5000 B. A number "
        "is <em>met</em> within 8% where a wire of the study’s rate is the limit, as it was then; "
        "<strong>missed</strong> ones are bold. Numbers in italics are not compared: something "
        "else limited the study, as the note says."
    )
    judged = [claim for claim in claims if claim.verdict in ("met", "missed")]
    met = sum(claim.verdict == "met" for claim in judged)
    blocks: list[Block] = [
        Text(lead, "lead"),
        Text(f"{met} of {len(judged)} numbers that are compared are met."),
        *(block for family in FAMILIES for of in family.tables for block in claim_table(of, by)),
        Heading("Number by number"),
        claims_table(claims),
    ]
    return Section("study", "Study", "The study’s numbers, measured", blocks)
