"""Provenance: what a run was made by."""

from ethermeter.document import Section, Table, Text
from ethermeter.report.data import ReportData
from ethermeter.report.experiments import flat
from ethermeter.report.tables import code


def build(data: ReportData) -> Section:
    """Tabulate keys and values of the run's provenance."""
    if not data.provenance:
        blocks = [Text("The run directory holds no provenance.")]
        return Section("provenance", "Provenance", "Provenance", blocks)
    shown = {key: value for key, value in data.provenance.items() if key != "sha256"}
    rows = [
        [code(key), code(" ".join(map(str, value)) if isinstance(value, list) else value)]
        for key, value in flat(shown).items()
    ]
    table = Table(("Key", "Value"), rows, "Provenance", "plain")
    return Section("provenance", "Provenance", "Provenance", [table])
