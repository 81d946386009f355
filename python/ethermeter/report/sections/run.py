"""Run: its claims, its cautions and its provenance."""

from markupsafe import Markup

from ethermeter.document import Block, Section, Table, Text
from ethermeter.report.data import ReportData
from ethermeter.report.experiments import flat
from ethermeter.report.tables import cautions_table, claims_table, code, run_cautions_texts


def claims(data: ReportData) -> Section | None:
    """Tabulate what a study published against what the run found; None without a study."""
    if not data.claims:
        return None
    lead = Markup(data.presentation.lead)
    blocks: list[Block] = [Text(lead, "lead"), claims_table(data.claims)]
    return Section("claims", "Claims", "Published claims against this run", blocks)


def cautions(data: ReportData) -> Section:
    """Tabulate every caution with the points that have it."""
    blocks = [
        Text("A point whose value carries a caution is a triangle in the figures."),
        *run_cautions_texts(data.points),
        cautions_table(data.points),
    ]
    return Section("cautions", "Cautions", "Cautions", blocks)


def provenance(data: ReportData) -> Section:
    """Tabulate keys and values of the provenance."""
    shown = {key: value for key, value in data.provenance.items() if key != "sha256"}
    rows = [
        [code(key), code(" ".join(map(str, value)) if isinstance(value, list) else value)]
        for key, value in flat(shown).items()
    ]
    block = (
        Table(("Key", "Value"), rows, "Provenance", "plain")
        if data.provenance
        else Text("The run directory holds no provenance.")
    )
    return Section("provenance", "Provenance", "Provenance", [block])
