"""Time flow: the way of one frame through its stages, as a picture."""

from ethermeter.analysis.time_flow import TimeFlow
from ethermeter.chart import Axis, Box, Legend, Names, Sign, Span, Spans
from ethermeter.document import Figure, Label, Section, Text
from ethermeter.present import time_flows as layout
from ethermeter.report.data import ReportData

LEAD = (
    "When a frame passes each stage from the sending to the receiving application, if it is alone: "
    "what other frames add is waiting between the stages. Stages that overlap begin before the one "
    "before them has served all of the frame."
)
_PARTS = ("fixed", "by length", "delay after it")
_ROW = 30
"""Height of a stage, in pixels."""


def build(data: ReportData) -> Section | None:
    """Draw the way of a frame in networks whose nodes have stages; None of others."""
    if not data.time_flows:
        return None
    title = "Time flow of one frame"
    return Section("time-flow", title, title, [Text(LEAD, "lead"), *map(figure, data.time_flows)])


def figure(found: TimeFlow) -> Figure:
    """Return the picture of one way, with its table."""
    caption = f"{found.one_way_s * 1e6:.5g} µs from call to call."
    return Figure(chart(found), layout.title(found), caption, numbers=layout.stages(found))


def chart(found: TimeFlow) -> Spans:
    """Draw a way: a row for each stage from the first to the last, with its time in two parts."""
    sign: Sign = "instant"
    spans = []
    for each in found.passages:
        octets_from_s = each.ends_s - each.by_length_s
        text = f"{(each.goes_on_s - each.begins_s) * 1e6:.4g} µs"
        parts = [
            (_PARTS[0], each.begins_s, octets_from_s),
            (_PARTS[1], octets_from_s, each.ends_s),
            (_PARTS[2], each.ends_s, each.goes_on_s),
        ]
        shown = [part for part in parts if part[2] > part[1]] or parts[:1]
        for name, begins_s, ends_s in shown:
            ends = [(sign, "begins", begins_s), (sign, "ends", ends_s)]
            is_last = name == shown[-1][0]
            spans.append(Span(each.stage, name, ends, text if is_last else "", is_drawn_out=True))
    longest_us = max(each.goes_on_s for each in found.passages) * 1e6
    return Spans(
        spans,
        Axis(Label("time since the call", "µs", 1e6), 0.0, longest_us * 1.02),
        Names(is_written=False),
        [("place", "stage", ""), ("curve", "part", ""), ("kind", "what", ""), ("value", "at", "")],
        Legend(),
        names=_PARTS,
        box=Box(height=_ROW * len(found.passages), above=18, right=64),
    )
