"""Claims: what a study published against what its run found."""

from markupsafe import Markup

from ethermeter.document import Block, Section, Text
from ethermeter.report.data import ReportData
from ethermeter.report.tables import claims_table


def applies(data: ReportData) -> bool:
    """Whether the run is held against published claims."""
    return bool(data.claims)


def build(data: ReportData) -> Section:
    """Tabulate every claim."""
    lead = Markup(data.presentation.lead)
    blocks: list[Block] = [Text(lead, "lead"), claims_table(data.claims)]
    return Section("claims", "Claims", "Published claims against this run", blocks)
