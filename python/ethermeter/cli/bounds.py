"""Tables of what theory says of networks, beside what was simulated and measured."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ethermeter.cli.output import number, print_table

if TYPE_CHECKING:
    from ethermeter.analysis.bounds import Answers, FlowTime, Observed, Queue

TABLE_ROWS = 30
US_PER_S = 1e6
_ENGINES = {"simulation": "simulated", "live": "measured"}


def print_bounds(found: "Answers") -> None:
    """Print the times of flows and the queues of ports, and what is above its bound."""
    from ethermeter.analysis.bounds import where

    if found.times:
        _print_times(found.times)
    _print_queues([queue for queue in found.queues if queue.bound.frames > 0])
    for each in found.saturations:
        at = where(each.series, each.point)
        typer.echo(f"{at}full at {number(each.scale)} times this load: {each.resource}")
    compared, exceeded = found.verdicts
    if compared:
        typer.echo(f"bounds: {compared} values compared, {exceeded or 'none'} above")
    unbounded = dict.fromkeys(each.obstacles for each in found.buses if each.obstacles)
    for obstacles in unbounded:
        typer.echo(f"no bound of access delays: {'; '.join(obstacles)}")
    for text in found.warnings:
        typer.echo(f"warning: {text}: a defect of the bound, of the engine or of a host")


def _print_times(times: "Sequence[FlowTime]") -> None:
    from ethermeter.report.cautions import Marks

    shown = times[:TABLE_ROWS]
    keys = list(dict.fromkeys(key for each in shown for key in each.point))
    engines = [engine for engine in _ENGINES if any(time.of(engine) is not None for time in times)]
    marks = Marks(each.cautions for each in shown if math.isfinite(each.mean_s))
    rows = []
    for time in shown:
        mean = number(time.mean_s * US_PER_S) + (
            marks.at(time.cautions) if math.isfinite(time.mean_s) else ""
        )
        of_engines = [cell for engine in engines for cell in _observed(time.of(engine))]
        rows.append(
            [
                *(time.point.get(key, "") for key in keys),
                time.flow,
                time.metric.value,
                number(time.bound_s * US_PER_S),
                mean,
                *of_engines,
                time.method,
            ]
        )
    head = [*keys, "flow", "time in µs", "bound", "mean by theory"]
    for engine in engines:
        head += [f"mean {_ENGINES[engine]}", f"largest {_ENGINES[engine]}"]
    print_table([*head, "bound by, or why there is none"], rows)
    if len(times) > len(shown):
        typer.echo(f"… {len(times) - len(shown)} more in bounds.json")
    for line in marks.legend():
        typer.echo(line)
    reasons = dict.fromkeys(time.why_no_mean for time in times if time.why_no_mean)
    for reason in reasons:
        flows = [time.flow for time in times if time.why_no_mean == reason]
        typer.echo(f"no mean of {', '.join(dict.fromkeys(flows))}: {reason}")


def _observed(found: "Observed | None") -> list[str]:
    if found is None:
        return ["–", "–"]
    mean, half = found.mean.value * US_PER_S, found.mean.half_width * US_PER_S
    interval = f" ±{number(half, digits=2)}" if half > 0 else ""
    above = " above!" if found.verdict == "exceeded" else ""
    return [f"{number(mean)}{interval}", f"{number(found.largest_s * US_PER_S)}{above}"]


def _print_queues(queues: "Sequence[Queue]") -> None:
    """Print the queues of ports that have a bound: the room that loses nothing."""
    if not queues:
        return
    shown = queues[:TABLE_ROWS]
    keys = list(dict.fromkeys(key for each in shown for key in each.point))
    has_classes = any(queue.traffic_class is not None for queue in shown)
    rows = [
        [
            *(queue.point.get(key, "") for key in keys),
            f"{queue.node} to {queue.peer}",
            number(queue.load),
            number(queue.mean_frames),
            *(["" if queue.traffic_class is None else str(queue.traffic_class)] * has_classes),
            number(queue.bound.frames),
            number(queue.bound.octets, digits=6),
            number(queue.simulated.frames),
            number(queue.simulated.octets, digits=6),
            number(queue.room.frames),
            number(queue.room.octets, digits=6),
            {True: "loses nothing", False: "may lose", None: "–"}[queue.is_lossless],
        ]
        for queue in shown
    ]
    head = [*keys, "port", "load", "mean frames", *(["class"] * has_classes)]
    head += ["bound frames", "octets"]
    print_table([*head, "simulated frames", "octets", "room frames", "octets", ""], rows)
    if len(queues) > len(shown):
        typer.echo(f"… {len(queues) - len(shown)} more in bounds.json")
