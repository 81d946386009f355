"""Time flows: when a lone frame passes each stage of its way."""

from collections.abc import Iterator, Sequence

from ethermeter.analysis.time_flow import TimeFlow
from ethermeter.blocks import Table, Text

HEAD = ("Stage", "Begins (µs)", "Ends (µs)", "Of it for octets (µs)", "Goes on (µs)")


def time_flows(found: Sequence[TimeFlow]) -> Iterator[Text | Table]:
    """Lay out the way of a frame of each flow, stage by stage."""
    for each in found:
        yield Text(f"{title(each)}: {each.one_way_s * 1e6:.5g} µs")
        yield stages(each)


def title(found: TimeFlow) -> str:
    """Say whose way it is."""
    return f"One frame of {found.octets} B alone, from {found.source} to {found.sink}"


def stages(found: TimeFlow) -> Table:
    """Tabulate the stages of a way, in its order."""
    rows = []
    for each in found.passages:
        times = (each.begins_s, each.ends_s, each.by_length_s, each.goes_on_s)
        rows.append([each.stage, *(f"{time * 1e6:.6g}" for time in times)])
    return Table(HEAD, rows, "Time flow of one frame", "plain")
