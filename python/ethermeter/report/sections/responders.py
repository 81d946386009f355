"""Responders: the round trips of each host that answers the requests of a flow."""

from ethermeter.blocks import Table
from ethermeter.document import Section, Text
from ethermeter.present.responders import responders
from ethermeter.report.data import ReportData

LEAD = (
    "From a request to the answer of each host, all replications together. The round trip of a flow"
    " ends with the last answer."
)


def build(data: ReportData) -> Section | None:
    """Return the table of responders; None if no flow is answered by several hosts."""
    tables = [block for block in responders(data.results) if isinstance(block, Table)]
    if not tables:
        return None
    title = "Round trips by responder"
    return Section("responders", "Responders", title, [Text(LEAD, "lead"), *tables])
