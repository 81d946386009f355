"""Sections of the study boggs1988: the problems of section 4.3, and its live tests by claim."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from markupsafe import Markup

from ethermeter.analysis.claims import BAD, GOOD, Claim
from ethermeter.document import Section, Table, Text
from ethermeter.metrics import Metric
from ethermeter.report.tables import claims_table
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.boggs1988.failures import FAULT
from ethermeter.studies.boggs1988.problems import CLIENTS, FAULTY, REBROADCAST, RETRANSMIT

LEAD = Markup(
    "Published and measured in this run, by the rules of the simulated study: a number is "
    "<em>met</em> within 3% or within what the text’s rounding leaves open, a statement "
    "<em>holds</em> by the rule under its note. Frames and hosts are real and the segment is "
    "emulated: its MACs and the service times of the study’s hosts are those of the simulation, "
    "and the hosts always had a frame ready."
)
_DECIMALS = {Metric.UTILISATION: 3, Metric.OUTPUT_QUEUE: 1, Metric.TRANSMITTED_QUEUE: 1}


def problems(results: Results, claims: Sequence[Claim]) -> list[Section]:
    """Return what sections 3.3 and 4.3 of the paper tell in words, simulated, as far as it ran."""
    del claims
    queues = [
        _table(
            results,
            ("queues", "stations.generator.time", "stations.frames", metric),
            f"Buffers in the {name}, one host, by time to generate a packet and its length",
            at={"stations.count": "1"},
        )
        for metric, name in (
            (Metric.OUTPUT_QUEUE, "output queue (OQ)"),
            (Metric.TRANSMITTED_QUEUE, "transmitted queue (TQ)"),
        )
    ]
    tables = [
        _cable(results),
        _table(
            results,
            ("storm", REBROADCAST, FAULTY, Metric.RESENT),
            "Frames sent again after one broadcast, by the number of faulty hosts",
        ),
        _table(
            results,
            ("collapse", RETRANSMIT, CLIENTS, Metric.EXCHANGES),
            "Exchanges completed, by the number of clients and when requests are sent again",
        ),
        _table(
            results,
            ("backoff", "stations.odd.backoff", "stations.others.backoff", Metric.UTILISATION),
            "Utilisation by the backoff of one host (rows) and of the others (columns)",
        ),
    ]
    found = (
        ("queues", "Queues", "The queues of a generator host (section 3.3, figure 3)", queues),
        ("overload", "Overload", "What an Ethernet fails by (section 4.3)", tables),
    )
    return [
        Section(anchor, short, title, shown)
        for anchor, short, title, given in found
        if (shown := [table for table in given if table is not None])
    ]


def _cable(results: Results) -> Table | None:
    """Tabulate what an open or shorted cable carries."""
    points = results.points("cable")
    body = [
        (
            str(of.point[FAULT]),
            f"{of.estimate(Metric.UTILISATION).value:.3f}",
            f"{of.estimate(Metric.DISCARDED).value:.0f}",
        )
        for of in points
    ]
    head = ("cable_fault", "utilisation", "packets given up")
    return (
        Table(head, body, "Open or shorted cable, of which 2 s to 3 s are measured")
        if body
        else None
    )


def _table(
    results: Results,
    of: tuple[str, str, str, Metric],
    title: str,
    *,
    at: Mapping[str, str] = MappingProxyType({}),
) -> Table | None:
    """Tabulate a metric of a series by two keys: rows, columns; others have the values of `at`."""
    series, row_key, column_key, metric = of
    rows, columns = (
        list(dict.fromkeys(map(str, results.along(series, key, None))))
        for key in (row_key, column_key)
    )
    if not rows or not columns:
        return None

    def cell(row: str, column: str) -> str:
        try:
            found = (
                results.at(series, {row_key: row, column_key: column, **at}).estimate(metric).value
            )
        except MissingError:
            return "–"
        return f"{found:.{_DECIMALS.get(metric, 0)}f}"

    body = [(row, *(cell(row, column) for column in columns)) for row in rows]
    return Table(("", *columns), body, title)


def measured(claims: Sequence[Claim]) -> Section:
    """Return the claims of the study beside the results of its live tests."""
    judged = [claim for claim in claims if claim.verdict in GOOD + BAD]
    met = sum(claim.verdict in GOOD for claim in judged)
    return Section(
        "study",
        "Study",
        "The study’s claims, measured",
        [
            Text(LEAD, "lead"),
            Text(f"{met} of {len(judged)} claims that this run decides are met or hold."),
            claims_table(claims),
        ],
    )
