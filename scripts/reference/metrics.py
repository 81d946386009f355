"""The page of metrics and cautions, from their registry."""

from ethermeter.metrics import Caution, EntityKind, metrics_of

HEAD = """# Metrics and cautions

This page is generated from the registry of metrics, `python/ethermeter/metrics`.

Every value of a run is of one metric; the list is closed.
Units are SI; a metric without a unit is a ratio or a count.
Where an engine cannot know a value it is NaN, with the caution `no-samples`.
"""
TITLES = {
    EntityKind.FLOW: "Flows",
    EntityKind.DUE: "Deadlines of flows",
    EntityKind.CALL: "Voice of flows",
    EntityKind.STATION: "Stations and media",
    EntityKind.DUE_STATION: "Deadlines of stations",
    EntityKind.TALKER: "Voice of stations",
    EntityKind.CALLER: "Calls of stations",
    EntityKind.GENERATOR: "Buffers of generators",
    EntityKind.BUS: "Buses of 10BASE-T1S",
    EntityKind.PEER: "Quick measurements",
    EntityKind.CLOCK: "Clocks of hosts",
    EntityKind.SYNCHRONISED: "Synchronised clocks",
}


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for kind, title in TITLES.items():
        rows = []
        for metric in metrics_of(kind):
            (of,) = (of for of in metric.definitions if of.kind is kind)
            each = f"{kind.entity}, all" if of.is_of_each else "all"
            rows.append(f"| `{metric}` | {metric.unit} | {each} | {of.meaning} |\n")
        parts.append(
            f"\n## {title}\n\nIn {kind.trials}; engines: {kind.engines}.\n\n"
            f"| metric | unit | of each | meaning |\n|---|---|---|---|\n{''.join(rows)}"
        )
    parts.append(
        "\n## Cautions\n\nA caution says why a value should be looked at before it is trusted.\n\n"
        "| caution | meaning |\n|---|---|\n"
    )
    parts += [f"| `{caution}` | {caution.meaning} |\n" for caution in Caution]
    return "".join(parts)
