"""Bounds: what theory says of networks, beside what was simulated and measured."""

import math
from collections.abc import Iterator, Sequence

from ethermeter.analysis.bounds import (
    SEEN,
    Answers,
    Coverage,
    FlowTime,
    Observed,
)
from ethermeter.analysis.port_bounds import Queue, Size, known_or, ports_alike
from ethermeter.blocks import Table, Text
from ethermeter.metrics import Metric
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import (
    UNDEFINED,
    Scale,
    common_scale,
    estimate_text,
    in_scale,
    number,
    quantity,
    scale_of,
)
from ethermeter.results.interval import Estimate

Block = Text | Table

TABLE_ROWS = 30
"""Rows of a table in a terminal."""
OPEN_ROWS = 40
"""Rows of a table of a page that are shown at once."""
MOST_REASONS = 3
"""Reasons why values have no bound that are laid out."""


def bounds(found: Answers) -> Iterator[Block]:
    """Lay out the times of flows and the queues of ports, and what is above its bound."""
    yield from times(found.alike, TABLE_ROWS)
    yield from queues(found.queues, TABLE_ROWS)
    yield from coverage(found.coverage)
    for text in found.warnings:
        yield Text(f"warning: {text}: a defect of the bound, of the engine or of a host")


def times(found: Sequence[FlowTime], most: int | None = None) -> Iterator[Block]:
    """Lay out the first times of flows, all unless `most` is given; nothing of none."""
    if not found:
        return
    shown = found[:most]
    marks = Marks(each.cautions for each in shown if math.isfinite(each.mean_s))
    yield _times_table(found, shown, marks)
    if len(found) > len(shown):
        yield Text(f"… {len(found) - len(shown)} more with --json")
    yield from legend(marks.legend())
    yield from _without_mean(found)


def _without_mean(found: Sequence[FlowTime]) -> Iterator[Text]:
    """Say of which flows there is no mean, and why; reasons that differ by the port once."""
    reasons = [time.why_no_mean for time in found if time.why_no_mean]
    kinds = list(dict.fromkeys(reason.partition(": ")[2] or reason for reason in reasons))
    for kind in kinds[:MOST_REASONS]:
        times = [time for time in found if time.why_no_mean.endswith(kind)]
        flows = list(dict.fromkeys(time.flow for time in times))
        named = ", ".join(flows[:MOST_REASONS])
        more = f" and {len(flows) - MOST_REASONS} more" if len(flows) > MOST_REASONS else ""
        yield Text(f"no mean of {named}{more}: {times[0].why_no_mean}")


def deadlines(found: Answers) -> Iterator[Text]:
    """Say how many flows with a deadline keep it, by their bounds and by what was seen."""
    times = [time for time in found.times if math.isfinite(time.deadline_s)]
    if not times:
        return
    bounded = [time for time in times if math.isfinite(time.margin_s)]
    kept = [time for time in bounded if time.margin_s >= 0]
    said = [f"{len(kept)} of {len(times)} are guaranteed by bounds"] if bounded else []
    if len(kept) < len(bounded):
        worst = min(bounded, key=lambda time: time.margin_s)
        at = "".join(f"at {key} = {text} " for key, text in worst.point.items())
        said.append(f"by its bound, {at}{worst.flow} may be {quantity(-worst.margin_s, 's')} late")
    if len(bounded) < len(times):
        said.append(f"of {len(times) - len(bounded)} there is no bound")
    late = [of for of in _shares(times) if of[0].value > 0]
    if late:
        share, time, how = max(late, key=lambda of: of[0].value)
        flows = len({time.flow for _, time, _ in late})
        several = "1 flow" if flows == 1 else f"{flows} flows"
        said.append(
            f"of the {how} messages some of {several} were late, most of {time.flow},"
            f" {estimate_text(share, Scale('%', 0.01))}"
        )
    elif shares := _shares([time for time in found.alike or times if time.deadline_decision]):
        how = " and ".join(dict.fromkeys(how for _, _, how in shares))
        most = max((known_or(share.high, math.inf) for share, _, _ in shares), default=math.inf)
        limit = f": at most {number(100 * most, digits=2)}% of a flow’s" if most < 1 else ""
        said.append(f"of the {how} messages none was late{limit}")
    yield Text(f"Deadlines: {'; '.join(said)}.")


def _shares(times: Sequence[FlowTime]) -> list[tuple[Estimate, FlowTime, str]]:
    """Return the shares of late messages that are known, with the flow and how they were seen."""
    return [
        (each.missed, time, SEEN[each.engine])
        for time in times
        for each in time.observed
        if each.missed is not None and math.isfinite(each.missed.value)
    ]


def _times_table(times: Sequence[FlowTime], shown: Sequence[FlowTime], marks: Marks) -> Table:
    """Tabulate the first of all times; any of all decides about the columns."""
    keys = list(dict.fromkeys(key for each in shown for key in each.point))
    engines = [engine for engine in SEEN if any(time.of(engine) is not None for time in times)]
    has_deadline = any(not math.isnan(each.deadline_s) for each in times)
    has_round_trips = any(each.metric is not Metric.ONE_WAY_DELAY for each in times)
    largest_s = [seen.largest_s for each in shown for seen in each.observed]
    bounds_s = [each.bound_s for each in shown]
    scale = common_scale(filter(math.isfinite, [*bounds_s, *largest_s]), "s")
    rows = []
    for time in shown:
        mean = time_text(time.mean_s, scale) + (
            marks.at(time.cautions) if math.isfinite(time.mean_s) else ""
        )
        of_engines = [
            cell
            for engine in engines
            for cell in _observed(time.of(engine), scale, has_deadline=has_deadline)
        ]
        rows.append(
            [
                *(time.point.get(key, "") for key in keys),
                time.flow,
                *([time.metric.value] * has_round_trips),
                *([time_text(time.deadline_s, scale)] * has_deadline),
                time_text(time.bound_s, scale),
                *([time_text(time.margin_s, scale)] * has_deadline),
                mean,
                *of_engines,
                *([_IN_TIME[time.deadline_decision]] * has_deadline),
                time.method,
            ]
        )
    unit = "" if scale is None else f" {scale.unit}"
    lead = [*keys, "flow", *(["time"] * has_round_trips)]
    head = [*lead, *([f"deadline{unit}"] * has_deadline), f"bound{unit}"]
    head += [f"margin{unit}"] * has_deadline
    head.append(f"mean by theory{unit}")
    for engine in engines:
        head += [f"mean {SEEN[engine]}{unit}", f"largest {SEEN[engine]}{unit}"]
        head += [f"too late {SEEN[engine]} %"] * has_deadline
    head += ["in time"] * has_deadline
    head.append("bound by, or why there is none")
    return _named(head, rows, "Times of flows, by every engine", len(lead))


_IN_TIME = {"holds": "always", "fails": "missed", "undecided": "undecided", None: UNDEFINED}
"""Whether every message of a flow keeps its deadline, by the decision."""


def time_text(time_s: float, scale: Scale | None, half_width_s: float = math.nan) -> str:
    """Write a time in the scale of its table, or in its own if the table has none."""
    if scale is None:
        return quantity(time_s, "s", half_width_s)
    return in_scale(time_s, half_width_s, scale, has_unit=False)


def _mean_text(mean: Estimate, scale: Scale | None) -> str:
    if scale is None:
        return estimate_text(mean, scale_of(mean.value, "s"))
    return estimate_text(mean, scale, has_unit=False)


def _observed(found: Observed | None, scale: Scale | None, *, has_deadline: bool) -> list[str]:
    if found is None:
        return [UNDEFINED] * (2 + has_deadline)
    above = " above!" if found.verdict == "exceeded" else ""
    allowed = f" of {time_text(found.allowance_s, scale)} unknown" if found.allowance_s > 0 else ""
    late = UNDEFINED
    if found.missed is not None:
        late = estimate_text(found.missed.within(0.0, 1.0), Scale("%", 0.01), has_unit=False)
    return [
        _mean_text(found.mean.within(0.0, math.inf), scale),
        f"{time_text(found.largest_s, scale)}{above}{allowed}",
        *([late] * has_deadline),
    ]


def queues(found: Sequence[Queue], most: int | None = None) -> Iterator[Block]:
    """Lay out the queues of the first ports that flows lead through, and what room they need."""
    found = ports_alike([queue for queue in found if not queue.is_idle])
    if not found:
        return
    shown = found[:most]
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
            *(text if text != UNDEFINED else "no limit" for text in _size(queue.room)),
            _loses(queue),
        ]
        for queue in shown
    ]
    lead = [*keys, "port", *(["class"] * has_classes)]
    head = [*lead, "load", "mean frames"]
    head += [f"{what} {of}" for what in ("bound", "simulated", "room") for of in ("frames", "B")]
    yield _named([*head, "loses"], rows, "Queues of ports", len(lead))
    if len(found) > len(shown):
        yield Text(f"… {len(found) - len(shown)} more with --json")


def _loses(queue: Queue) -> str:
    """Say whether a port loses frames: by its room and bound, and in the simulation."""
    dropped = f", {number(queue.dropped)} simulated" if queue.dropped > 0 else ""
    if queue.verdict == "exceeded":
        return f"above its bound{dropped}"
    if queue.is_lossless is None:
        return f"unknown{dropped}"
    if queue.is_lossless:
        return "nothing"
    return f"{'frames' if math.isnan(queue.bound.frames) else 'perhaps'}{dropped}"


def _named(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, names: int) -> Table:
    """Return a table whose rows begin with names."""
    return Table(head, rows, caption, f"data names{min(names, 3)}", names, OPEN_ROWS)


def _size(size: Size) -> tuple[str, str]:
    """Return frames and octets of a queue; octets exactly, as a setting needs them."""
    return number(size.frames), number(size.octets, digits=6)


def coverage(found: Sequence[Coverage]) -> Iterator[Text]:
    """Say which values were compared with their bounds, and which have none, with the reasons."""
    compared = [_counted(each.compared, each.kinds) for each in found if each.compared]
    if compared:
        exceeded = sum(each.exceeded for each in found)
        yield Text(f"bounds: {' and '.join(compared)} compared, {exceeded or 'none'} above")
    for each in found:
        if each.unbounded:
            every = each.bounded + each.unbounded
            many = f"{each.unbounded} of {every}" if each.bounded else f"{every}"
            kind = each.kinds[every > 1]
            yield Text(f"no bound for {many} {kind}{reasons(each)}")


def reasons(found: Coverage) -> str:
    """Say why values have no bound, after a colon: each reason with the number of its values."""
    shown = [
        f"{reason} ({count:,})" if count < found.unbounded else reason
        for reason, count in found.reasons[:MOST_REASONS]
    ]
    rest = found.reasons[MOST_REASONS:]
    if rest:
        several = "reason" if len(rest) == 1 else "reasons"
        shown.append(f"{len(rest)} more {several} ({sum(count for _, count in rest):,})")
    return f": {'; '.join(shown)}" if shown else ""


def _counted(count: int, kinds: tuple[str, str]) -> str:
    one, several = kinds
    return f"1 {one}" if count == 1 else f"{count} {several}"
