"""Flows for programs: lines of times against lengths, and fairness.

An undefined number is NaN here, and null in JSON (`ethermeter.json_values.plain`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ethermeter.analysis.curves import Line
from ethermeter.analysis.flows import Sharing, each_flow, of_networks, of_sharing
from ethermeter.analysis.lengths import METRICS, Extra, OfLengths, extras, of_lengths
from ethermeter.metrics import Metric
from ethermeter.results.estimates import EstimateEntry
from ethermeter.results.interval import LEVEL

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory


class OfLine(msgspec.Struct, frozen=True, kw_only=True):
    """Whose times lie on a line; `point`: what is varied besides the length."""

    series: str
    engine: str
    flow: str
    metric: Metric
    point: Mapping[str, str]

    @classmethod
    def of(cls, line: OfLengths) -> "OfLine":
        """Return what a line is of."""
        return cls(
            series=line.series,
            engine=line.engine,
            flow=line.flow,
            metric=line.metric,
            point=line.fixed,
        )


class Coefficients(msgspec.Struct, frozen=True, kw_only=True):
    """A line, and how much of the times' variation it has."""

    intercept_s: EstimateEntry
    slope_s_per_octet: EstimateEntry
    determination: float

    @classmethod
    def of(cls, line: Line) -> "Coefficients":
        """Return the coefficients of a line."""
        return cls(
            intercept_s=EstimateEntry.of(line.intercept),
            slope_s_per_octet=EstimateEntry.of(line.slope),
            determination=line.determination,
        )


class LineOfTimes(OfLine, frozen=True, kw_only=True):
    """Times against a length, the line through them, and lines of pieces where they are better."""

    key: str
    octets: Sequence[float]
    times_s: Sequence[float]
    residuals_s: Sequence[float]
    intercept_s: EstimateEntry
    slope_s_per_octet: EstimateEntry
    determination: float
    knee_octets: float
    pieces: Sequence[Coefficients]

    @classmethod
    def of(cls, line: OfLengths) -> "LineOfTimes":
        """Return a line with its times."""
        return cls(
            **msgspec.structs.asdict(OfLine.of(line)),
            **msgspec.structs.asdict(Coefficients.of(line.whole)),
            key=line.key,
            octets=line.octets.tolist(),
            times_s=line.times_s.tolist(),
            residuals_s=line.residuals_s.tolist(),
            knee_octets=line.break_octets,
            pieces=list(map(Coefficients.of, line.pieces)),
        )


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What one path costs more than another."""

    one: OfLine
    other: OfLine
    intercept_s: EstimateEntry
    slope_s_per_octet: EstimateEntry

    @classmethod
    def of(cls, extra: Extra) -> "Difference":
        """Return what one path costs more."""
        return cls(
            one=OfLine.of(extra.one),
            other=OfLine.of(extra.other),
            intercept_s=EstimateEntry.of(extra.intercept),
            slope_s_per_octet=EstimateEntry.of(extra.slope),
        )


class SharingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """How flows share what they carry together, at a point."""

    series: str
    point: Mapping[str, str]
    engine: str
    replications: int
    flows: str
    metric: Metric
    jain_index: EstimateEntry
    shares: Mapping[str, EstimateEntry]

    @classmethod
    def of(cls, sharing: Sharing) -> "SharingEntry":
        """Return the entry of a point."""
        return cls(
            series=sharing.series,
            point=sharing.point,
            engine=sharing.engine,
            replications=sharing.replications,
            flows=sharing.flows,
            metric=sharing.metric,
            jain_index=EstimateEntry.of(sharing.jain_index),
            shares={flow: EstimateEntry.of(share) for flow, share in sharing.shares.items()},
        )


class FlowsFile(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from the flows of a run besides their estimates."""

    level: float
    lines: Sequence[LineOfTimes]
    differences: Sequence[Difference]
    fairness: Sequence[SharingEntry]

    @classmethod
    def of_run(cls, run: "RunDirectory") -> "FlowsFile":
        """Return lines of times and fairness of a run."""
        trials = of_networks(run.replications())
        lines = of_lengths(each_flow(run, trials, metrics=METRICS))
        return cls(
            level=LEVEL,
            lines=list(map(LineOfTimes.of, lines)),
            differences=list(map(Difference.of, extras(lines))),
            fairness=list(map(SharingEntry.of, of_sharing(run, trials))),
        )
