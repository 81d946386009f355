"""Cautions: what values carry, and what holds for the whole run."""

from ethermeter.document import Section, Text
from ethermeter.report.data import ReportData
from ethermeter.report.tables import cautions_table, run_cautions_texts


def build(data: ReportData) -> Section:
    """Tabulate every caution with the points whose values carry it."""
    blocks = [
        Text("A point whose value carries a caution is a triangle in the figures."),
        *run_cautions_texts(data.points),
        cautions_table(data.points),
    ]
    return Section("cautions", "Cautions", "Cautions", blocks)
