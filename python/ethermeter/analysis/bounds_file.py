"""Bounds for programs: what theory says of a run, beside what was simulated and measured.

An undefined number is NaN here, and null in JSON (`ethermeter.json_values.plain`).
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from ethermeter.analysis.bounds import Answers, FlowTime, Observed, Saturation
from ethermeter.analysis.bus_times import BusTime
from ethermeter.analysis.port_bounds import Queue, Size
from ethermeter.analysis.verdicts import Decision, Verdict
from ethermeter.metrics import Metric
from ethermeter.results.estimates import EstimateEntry
from ethermeter.results.interval import LEVEL


class ObservedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A time of a flow as one engine has it; in s.

    `missed`: share of messages after their deadline; absent without one.
    """

    mean: EstimateEntry
    largest: float
    allowance: float
    missed: EstimateEntry | msgspec.UnsetType
    verdict: Verdict

    @classmethod
    def of(cls, observed: Observed) -> "ObservedEntry":
        """Return the entry of what an engine observed."""
        return cls(
            mean=EstimateEntry.of(observed.mean),
            largest=observed.largest_s,
            allowance=observed.allowance_s,
            missed=msgspec.UNSET if observed.missed is None else EstimateEntry.of(observed.missed),
            verdict=observed.verdict,
        )


class FlowTimeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A time of a flow at a point, in s: its bound, its mean, and by engine what was observed.

    `deadline`: absent without one, as is `deadline_verdict`: whether every message keeps it.
    """

    series: str
    point: Mapping[str, str]
    flow: str
    metric: Metric
    deadline: float | msgspec.UnsetType
    deadline_verdict: Decision | msgspec.UnsetType
    bound: float
    margin: float
    method: str
    mean: float
    cautions: tuple[str, ...]
    why_no_mean: str | msgspec.UnsetType
    observed: Mapping[str, ObservedEntry]

    @classmethod
    def of(cls, time: FlowTime) -> "FlowTimeEntry":
        """Return the entry of a time."""
        return cls(
            series=time.series,
            point=time.point,
            flow=time.flow,
            metric=time.metric,
            deadline=time.deadline_s if math.isfinite(time.deadline_s) else msgspec.UNSET,
            deadline_verdict=time.deadline_decision or msgspec.UNSET,
            bound=time.bound_s,
            margin=time.margin_s,
            method=time.method,
            mean=time.mean_s,
            cautions=time.cautions,
            why_no_mean=time.why_no_mean or msgspec.UNSET,
            observed={each.engine: ObservedEntry.of(each) for each in time.observed},
        )


class SizeEntry(msgspec.Struct, frozen=True):
    """Size of a queue."""

    frames: float
    octets: float

    @classmethod
    def of(cls, size: Size) -> "SizeEntry":
        """Return the entry of a size."""
        return cls(*size)


class QueueEntry(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"node": "from", "peer": "to", "traffic_class": "class"},
):
    """The largest queue at a port, or of a traffic class of it."""

    series: str
    point: Mapping[str, str]
    port: int
    node: str
    peer: str
    traffic_class: int | None
    bound: SizeEntry
    simulated: SizeEntry
    room: SizeEntry
    load: float
    mean_frames: float
    reason: str
    dropped: float
    is_lossless: bool | None
    verdict: Verdict

    @classmethod
    def of(cls, queue: Queue) -> "QueueEntry":
        """Return the entry of a queue."""
        return cls(
            series=queue.series,
            point=queue.point,
            port=queue.port,
            node=queue.node,
            peer=queue.peer,
            traffic_class=queue.traffic_class,
            bound=SizeEntry.of(queue.bound),
            simulated=SizeEntry.of(queue.simulated),
            room=SizeEntry.of(queue.room),
            load=queue.load,
            mean_frames=queue.mean_frames,
            reason=queue.reason,
            dropped=queue.dropped,
            is_lossless=queue.is_lossless,
            verdict=queue.verdict,
        )


class BusTimeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The longest time of one kind on a bus, in s: of cycles, or of the stations of a group."""

    series: str
    point: Mapping[str, str]
    metric: Metric
    stations: str | None
    bound: float
    obstacles: tuple[str, ...]
    simulated: float
    verdict: Verdict

    @classmethod
    def of(cls, time: BusTime) -> "BusTimeEntry":
        """Return the entry of a time."""
        return cls(
            series=time.series,
            point=time.point,
            metric=time.metric,
            stations=time.group or None,
            bound=time.bound_s,
            obstacles=time.obstacles,
            simulated=time.simulated_s,
            verdict=time.verdict,
        )


class BoundsFile(msgspec.Struct, frozen=True, kw_only=True):
    """What theory says of the networks and buses of a run, beside the other engines."""

    level: float
    compared: int
    exceeded: int
    unbounded: int
    warnings: Sequence[str]
    flows: Sequence[FlowTimeEntry]
    queues: Sequence[QueueEntry]
    saturations: Sequence[Saturation]
    buses: Sequence[BusTimeEntry] | msgspec.UnsetType

    @classmethod
    def of(cls, found: Answers) -> "BoundsFile":
        """Return answers as the file has them."""
        compared, exceeded = found.verdicts
        return cls(
            level=LEVEL,
            compared=compared,
            exceeded=exceeded,
            unbounded=sum(each.unbounded for each in found.coverage),
            warnings=found.warnings,
            flows=list(map(FlowTimeEntry.of, found.times)),
            queues=list(map(QueueEntry.of, found.queues)),
            saturations=found.saturations,
            buses=list(map(BusTimeEntry.of, found.buses)) or msgspec.UNSET,
        )
