"""Tables of what theory says of networks, beside what was simulated and measured."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ethermeter.cli.output import print_legend, print_table, print_text
from ethermeter.quantities import UNDEFINED, common_scale, in_scale, number, quantity

if TYPE_CHECKING:
    from ethermeter.analysis.bounds import Answers, Coverage, FlowTime, Observed, Queue, Size
    from ethermeter.quantities import Scale

TABLE_ROWS = 30
MOST_REASONS = 3
"""Reasons why values have no bound that are printed."""
_ENGINES = {"simulation": "simulated", "live": "measured"}


def print_bounds(found: "Answers") -> None:
    """Print the times of flows and the queues of ports, and what is above its bound."""
    from ethermeter.analysis.bounds import where

    if found.times:
        _print_times(found.times)
    _print_queues([queue for queue in found.queues if not queue.is_idle])
    for each in found.saturations:
        at = where(each.series, each.point)
        print_text(f"{at}full at {number(each.scale)} times this load: {each.resource}")
    _print_coverage(found.coverage)
    for text in found.warnings:
        print_text(f"warning: {text}: a defect of the bound, of the engine or of a host")


def _print_coverage(found: "Sequence[Coverage]") -> None:
    """Print which values were compared with their bounds, and which have none, with the reasons."""
    compared = [_counted(each.compared, each.kinds) for each in found if each.compared]
    if compared:
        exceeded = sum(each.exceeded for each in found)
        print_text(f"bounds: {' and '.join(compared)} compared, {exceeded or 'none'} above")
    for each in found:
        if each.unbounded:
            more = len(each.reasons) - MOST_REASONS
            reasons = "; ".join(each.reasons[:MOST_REASONS])
            rest = f"; and {more} more reasons with --json" if more > 0 else ""
            why = f": {reasons}{rest}" if reasons else ""
            print_text(f"no bound for {_counted(each.unbounded, each.kinds)}{why}")


def _counted(count: int, kinds: tuple[str, str]) -> str:
    one, several = kinds
    return f"1 {one}" if count == 1 else f"{count} {several}"


def _print_times(times: "Sequence[FlowTime]") -> None:
    from ethermeter.report.cautions import Marks

    shown = times[:TABLE_ROWS]
    keys = list(dict.fromkeys(key for each in shown for key in each.point))
    engines = [engine for engine in _ENGINES if any(time.of(engine) is not None for time in times)]
    marks = Marks(each.cautions for each in shown if math.isfinite(each.mean_s))
    has_deadline = any(not math.isnan(each.margin_s) for each in times)
    scale = common_scale((each.bound_s for each in shown), "s")
    rows = []
    for time in shown:
        mean = _time_text(time.mean_s, scale) + (
            marks.at(time.cautions) if math.isfinite(time.mean_s) else ""
        )
        of_engines = [cell for engine in engines for cell in _observed(time.of(engine), scale)]
        rows.append(
            [
                *(time.point.get(key, "") for key in keys),
                time.flow,
                time.metric.value,
                _time_text(time.bound_s, scale),
                *([_time_text(time.margin_s, scale)] * has_deadline),
                mean,
                *of_engines,
                time.method,
            ]
        )
    unit = "" if scale is None else f" {scale.unit}"
    head = [*keys, "flow", "time", f"bound{unit}"]
    head += [f"margin to deadline{unit}"] * has_deadline
    head.append(f"mean by theory{unit}")
    for engine in engines:
        head += [f"mean {_ENGINES[engine]}{unit}", f"largest {_ENGINES[engine]}{unit}"]
    print_table([*head, "bound by, or why there is none"], rows, keys=len(keys) + 2)
    if len(times) > len(shown):
        print_text(f"… {len(times) - len(shown)} more with --json")
    print_legend(marks.legend())
    reasons = dict.fromkeys(time.why_no_mean for time in times if time.why_no_mean)
    for reason in reasons:
        flows = [time.flow for time in times if time.why_no_mean == reason]
        print_text(f"no mean of {', '.join(dict.fromkeys(flows))}: {reason}")


def _time_text(time_s: float, scale: "Scale | None", half_width_s: float = math.nan) -> str:
    """Write a time in the scale of its table, or in its own if the table has none."""
    if scale is None:
        return quantity(time_s, "s", half_width_s)
    return in_scale(time_s, half_width_s, scale, has_unit=False)


def _observed(found: "Observed | None", scale: "Scale | None") -> list[str]:
    if found is None:
        return [UNDEFINED, UNDEFINED]
    above = " above!" if found.verdict == "exceeded" else ""
    return [
        _time_text(found.mean.value, scale, found.mean.half_width),
        f"{_time_text(found.largest_s, scale)}{above}",
    ]


def _print_queues(queues: "Sequence[Queue]") -> None:
    """Print the queues of ports: the room that loses nothing."""
    if not queues:
        return
    shown = queues[:TABLE_ROWS]
    keys = list(dict.fromkeys(key for each in shown for key in each.point))
    has_classes = any(queue.traffic_class is not None for queue in shown)
    rows = [
        [
            *(queue.point.get(key, "") for key in keys),
            f"{queue.node} to {queue.peer}",
            *(["" if queue.traffic_class is None else str(queue.traffic_class)] * has_classes),
            number(queue.load),
            number(queue.mean_frames),
            *_size(queue.bound),
            *_size(queue.simulated),
            *_size(queue.room),
            {True: "yes", False: "no", None: UNDEFINED}[queue.is_lossless],
        ]
        for queue in shown
    ]
    lead = [*keys, "port", *(["class"] * has_classes)]
    head = [*lead, "load", "mean frames"]
    head += [f"{what} {of}" for what in ("bound", "simulated", "room") for of in ("frames", "B")]
    print_table([*head, "loses nothing"], rows, keys=len(lead))
    if len(queues) > len(shown):
        print_text(f"… {len(queues) - len(shown)} more with --json")


def _size(size: "Size") -> tuple[str, str]:
    """Return frames and octets of a queue; octets exactly, as a setting needs them."""
    return number(size.frames), number(size.octets, digits=6)
