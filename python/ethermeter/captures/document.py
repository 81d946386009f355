"""Explanations of captures as JSON: counts of the core, and what limited each connection.

docs/reference/capture-json.md describes it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from ethermeter.captures.backoff import StationBackoff
from ethermeter.captures.connection import Caution, Connection
from ethermeter.captures.counts import ConnectionCounts, FileCounts
from ethermeter.captures.estimate import Estimate
from ethermeter.captures.explanation import Explanation
from ethermeter.captures.limits import Limit
from ethermeter.captures.paths import Path as NetworkPath
from ethermeter.captures.verdict import Role, Vantage

S = TypeVar("S", bound=msgspec.Struct)


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """The payload rate that a transfer would reach; rates in bit/s."""

    goodput_bps: float
    most_bps: float
    next_limit: str
    formula: str
    assumptions: tuple[str, ...]

    @classmethod
    def of(cls, estimate: Estimate) -> "Reached":
        """Return an estimate."""
        return cls(
            goodput_bps=estimate.goodput_bps,
            most_bps=estimate.most_bps,
            next_limit=estimate.bound.name,
            formula=estimate.bound.formula,
            assumptions=estimate.assumptions,
        )


class Limited(msgspec.Struct, frozen=True, kw_only=True):
    """What limited a connection; without duration, `by` is None and what is of it left out."""

    by: Limit | None
    share: float | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType = msgspec.UNSET
    role: Role | msgspec.UnsetType = msgspec.UNSET
    end: str | msgspec.UnsetType | None = msgspec.UNSET
    change: str | msgspec.UnsetType | None = msgspec.UNSET
    buffer_octets: int | msgspec.UnsetType | None = msgspec.UNSET
    estimate: Reached | msgspec.UnsetType | None = msgspec.UNSET
    losses: int
    link_bps: float | None
    vantage: Vantage | None
    shares: dict[Limit, float]
    sentence: str
    cautions: tuple[Caution, ...]

    @classmethod
    def of(cls, connection: Connection) -> "Limited":
        """Return what limited a connection."""
        known = cls(
            by=None,
            losses=connection.losses,
            link_bps=connection.link_bps,
            vantage=connection.vantage,
            shares=dict(connection.shares),
            sentence=connection.sentence,
            cautions=connection.cautions,
        )
        verdict = connection.verdict
        if verdict is None:
            return known
        return msgspec.structs.replace(
            known,
            by=verdict.limit,
            share=verdict.share,
            title=verdict.title,
            role=verdict.role,
            end=verdict.end,
            change=verdict.change,
            buffer_octets=verdict.buffer_octets,
            estimate=None if verdict.estimate is None else Reached.of(verdict.estimate),
        )


class ExplainedConnection(ConnectionCounts, frozen=True, kw_only=True):
    """A connection, and what limited it."""

    limited: Limited


class PathSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Two connections or more between two addresses; `connections` are their numbers."""

    addresses: tuple[str, str]
    connections: list[int]
    octets: int
    duration_s: float
    goodput_bps: float | None
    losses: int
    limits: dict[str, int]
    sentence: str

    @classmethod
    def of(cls, path: NetworkPath) -> "PathSummary":
        """Return the sums of a path."""
        return cls(
            addresses=path.addresses,
            connections=[each.number for each in path.connections],
            octets=path.octets,
            duration_s=path.duration_s,
            goodput_bps=path.goodput_bps,
            losses=path.losses,
            limits=dict(path.limits),
            sentence=path.sentence,
        )


class ExplainedFile(FileCounts, frozen=True, kw_only=True):
    """A capture file, explained; `report`: the page that was written of it."""

    file: str
    connections: Sequence[ExplainedConnection]
    path_summaries: list[PathSummary]
    backoffs: list[StationBackoff]
    report: str | None


def explained(found: Explanation, chosen: Connection | None, report: Path | None) -> ExplainedFile:
    """Return an explanation, or that of one connection without flows and paths, for JSON."""
    connections = [
        _with(ExplainedConnection, each.of, limited=Limited.of(each))
        for each in (found.connections if chosen is None else (chosen,))
    ]
    return _with(
        ExplainedFile,
        found.of,
        file=found.name,
        connections=connections,
        flows=found.flows if chosen is None else (),
        backoffs=found.backoffs if chosen is None else [],
        path_summaries=[PathSummary.of(path) for path in found.paths] if chosen is None else [],
        report=None if report is None else str(report),
    )


def _with(kind: type[S], counts: msgspec.Struct, **more: object) -> S:
    """Return counts with more fields."""
    return kind(**{**msgspec.structs.asdict(counts), **more})
