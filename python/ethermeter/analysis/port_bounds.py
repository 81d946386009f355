"""Bounds of ports: the largest queues by theory beside those of a simulation, and their room."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ethermeter.analysis.facts import BOUNDED, MEAN, Facts, reason_of
from ethermeter.analysis.verdicts import Verdict, together, verdict_of
from ethermeter.json_values import number as known
from ethermeter.metrics.formulas import floats
from ethermeter.nodes import kind_of, links_in, nodes_in, room_of
from ethermeter.results.interval import Floats
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, point_of
from ethermeter.scenario import Hub
from ethermeter.store.columns import PORT_CLASSES, PORTS
from ethermeter.trial import SIMULATION


def known_or(value: float, other: float) -> float:
    """Return a value, or another if it is NaN."""
    return other if math.isnan(value) else value


class Size(NamedTuple):
    """Size of a queue; octets from destination address to FCS. NaN where it is unknown."""

    frames: float
    octets: float


@dataclass(frozen=True, slots=True)
class Queue:
    """The largest queue at a port, or of a traffic class of it, the frame being sent included."""

    series: str
    point: Mapping[str, str]
    port: int
    node: str
    peer: str
    traffic_class: int | None  # 0 is the highest; None of a port without classes
    bound: Size
    reason: str  # Why there is no bound
    simulated: Size  # Over all replications
    dropped: float  # Frames that the simulation dropped there in the window, mean over replications
    room: Size  # What is configured; NaN without a limit
    load: float  # Offered to the port, gaps included, by theory; NaN without one
    mean_frames: float  # In the queue of the port, by theory; NaN without one
    verdict: Verdict

    @property
    def is_lossless(self) -> bool | None:
        """Whether the room suffices for the bound, so that nothing can be lost; None unknown.

        A limited room before a port that is offered more than it carries loses frames, whatever its
        size.
        """
        if math.isnan(self.bound.frames):
            is_limited = not all(map(math.isnan, self.room))
            return False if self.load > 1 and is_limited else None
        return not any(room < need for need, room in zip(self.bound, self.room, strict=True))

    @property
    def is_idle(self) -> bool:
        """Whether no flow leads through the port, as far as is known."""
        for size in (self.bound, self.simulated):
            if not math.isnan(size.frames):
                return size.frames == 0
        return not self.load > 0 and not self.reason


def queues_of(
    run: Results, by_engine: Mapping[str, Sequence[Trial]], facts: Facts
) -> Iterator[Queue]:
    """Yield the queue of every port of a point that has frames to send, and of its classes."""
    (bounded,), simulated = by_engine[BOUNDED], by_engine.get(SIMULATION, ())
    means = by_engine.get(MEAN, ())
    limits, found = (_port_columns(run, trials) for trials in ([bounded], simulated))
    scenario = bounded.scenario
    links = links_in(scenario)
    kinds = {each.name: kind_of(each)[1] for each in nodes_in(scenario)}
    for port in range(2 * len(links)):
        ends = [end.node for end in links[port // 2].ends]
        node, peer = ends[port % 2], ends[1 - port % 2]
        if isinstance(kinds[node], Hub):  # it repeats what it hears and has no queue
            continue
        reason = reason_of([bounded], facts, "port", port)
        queue = facts.get((means[0].id, "queue", port)) if means else None
        keys = sorted({key for key in (*limits, *found) if key[0] == port})
        several = [key for key in keys if key[1] >= 0]
        for key in several or keys:
            seen = found.get(key, {})
            bound, largest = _largest(limits.get(key, {})), _largest(seen)
            traffic_class = key[1] if several else None
            room = room_of(kinds[node], traffic_class)
            yield Queue(
                series=bounded.series,
                point=dict(bounded.point),
                port=port,
                node=node,
                peer=peer,
                traffic_class=traffic_class,
                bound=bound,
                reason=reason if math.isnan(bound.frames) else "",
                simulated=largest,
                dropped=float(np.mean(seen["dropped"])) if seen else math.nan,
                room=Size(*(math.nan if one is None else float(one) for one in room)),
                load=known(None if queue is None else queue.load),
                mean_frames=known(None if queue is None else queue.queue_frames),
                verdict=_within_bound(largest, bound),
            )


def ports_alike(queues: Sequence[Queue]) -> list[Queue]:
    """Return queues with those of ports that are alike together, by point and falling load.

    Ports are alike if their numbers by theory are, and they lead from or to hosts of one name but
    for the number at its end. Their largest queue is that of any, their drops are a sum.
    """
    found: dict[tuple[object, ...], list[Queue]] = {}
    for queue in queues:
        found.setdefault(_likeness_of_port(queue), []).append(queue)
    points = list(dict.fromkeys(map(point_of, queues)))
    return sorted(
        map(_ports, found.values()),
        key=lambda queue: (points.index(point_of(queue)), -known_or(queue.load, -math.inf)),
    )


def _likeness_of_port(queue: Queue) -> tuple[object, ...]:
    at = queue.series, tuple(queue.point.items()), queue.traffic_class, queue.reason, queue.verdict
    numbers = *queue.bound, *queue.room, queue.load, queue.mean_frames
    ends = map(without_number, (queue.node, queue.peer))
    return *at, *ends, *(f"{number:.9g}" for number in numbers)


def without_number(name: str) -> str:
    """Return the name of a node without the number at its end."""
    return name.rstrip("0123456789") or name


def name_together(names: Sequence[str]) -> str:
    """Name nodes whose names differ in the number at their end only: "phone × 4"."""
    count = len(set(names))
    return names[0] if count == 1 else f"{without_number(names[0])} × {count}"


def _ports(queues: Sequence[Queue]) -> Queue:
    """Return ports that are alike as one."""
    first, count = queues[0], len(queues)
    if count == 1:
        return first
    return replace(
        first,
        node=name_together([queue.node for queue in queues]),
        peer=name_together([queue.peer for queue in queues]),
        simulated=Size(
            *(max(sizes) for sizes in zip(*(queue.simulated for queue in queues), strict=True))
        ),
        dropped=sum(queue.dropped for queue in queues),
    )


def _within_bound(found: Size, bound: Size) -> Verdict:
    return together({verdict_of(*pair, scale=1.0) for pair in zip(found, bound, strict=True)})


_Columns = Mapping[tuple[int, int], Mapping[str, Floats]]
"""Counts by port and class, -1 for a port as a whole: of every trial one."""


def _port_columns(run: Results, trials: Sequence[Trial]) -> _Columns:
    """Return the queues and drops of ports and of their classes in some trials."""
    names = ("queue_most", "queue_octets_most", "dropped")
    found: dict[tuple[int, int], dict[str, Floats]] = {}
    ids = [trial.id for trial in trials]
    for table in (PORTS, PORT_CLASSES):
        rows = run.gathered(table, ids)
        if not rows.rows.any():
            continue
        _, columns = rows.each(np.arange(len(ids)))
        port = columns.get("port")
        if port is None:
            port = np.concatenate([np.arange(count) for count in rows.rows.tolist()])
        of_class = columns.get("class", np.full(len(port), -1))
        for key in sorted(set(zip(port.tolist(), of_class.tolist(), strict=True))):
            mine = (port == key[0]) & (of_class == key[1])
            found[key] = {name: floats(columns[name][mine]) for name in names if name in columns}
    return found


def _largest(columns: Mapping[str, Floats]) -> Size:
    """Return the largest queue of several trials."""
    values = [columns.get(name) for name in ("queue_most", "queue_octets_most")]
    known = [None if of is None or np.isnan(of).all() else of for of in values]
    return Size(*(math.nan if of is None else float(np.nanmax(of)) for of in known))
