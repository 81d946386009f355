"""The page of metrics and cautions, from their registry."""

from ethermeter.metrics import Caution, Group, metrics_of

HEAD = """# Metrics and cautions

This page is generated from the registry of metrics, `python/ethermeter/metrics`.

Every value of a run is of one metric; the list is closed.
Units are SI; a metric without a unit is a ratio or a count.
Where an engine cannot know a value it is NaN, with the caution `no-samples`.
"""
TITLES = {
    Group.SEGMENT: "Segments",
    Group.SEGMENT_VOICE: "Voice on segments",
    Group.PLCA: "10BASE-T1S",
    Group.FLOW: "Networks",
    Group.FLOW_VOICE: "Voice in networks",
    Group.CLOCK: "Clocks of hosts",
    Group.SYNCHRONISED: "Synchronised clocks",
    Group.PEER: "Quick measurements",
}


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for group, title in TITLES.items():
        rows = []
        for metric in metrics_of(group):
            (of,) = (of for of in metric.definitions if of.group is group)
            each = f"{group.entity}, all" if of.is_of_each else "all"
            rows.append(f"| `{metric}` | {metric.unit} | {each} | {of.meaning} |\n")
        parts.append(
            f"\n## {title}\n\nIn {group.trials}; engines: {group.engines}.\n\n"
            f"| metric | unit | of each | meaning |\n|---|---|---|---|\n{''.join(rows)}"
        )
    parts.append(
        "\n## Cautions\n\nA caution says why a value should be looked at before it is trusted.\n\n"
        "| caution | meaning |\n|---|---|\n"
    )
    parts += [f"| `{caution}` | {caution.meaning} |\n" for caution in Caution]
    return "".join(parts)
