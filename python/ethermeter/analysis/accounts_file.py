"""Accounts for programs: what agents reported of a run's tests beside the metrics.

An undefined number is NaN here, and null in JSON (`ethermeter.json_values.plain`).
"""

from collections.abc import Mapping, Sequence

import msgspec

from ethermeter.analysis.accounts import Account
from ethermeter.analysis.connections import Connection
from ethermeter.analysis.emulated import EmulatedMedium
from ethermeter.analysis.hosts import Machine
from ethermeter.analysis.interfaces import Found
from ethermeter.analysis.losses import Drops, Loss
from ethermeter.analysis.pacing import Clock, Pacing


class HopEntry(msgspec.Struct, frozen=True):
    """Frames that were dropped at a node towards another one."""

    place: str
    at: str
    towards: str
    dropped: float


class LossEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Losses of a flow on the path to one receiver: messages, and drops that counters saw."""

    flow: str
    receiver: str
    sent: float
    received: float
    places: Mapping[str, float]
    unexplained: float
    excess: float
    between: Sequence[HopEntry]
    at_switches: float
    missing: float

    @classmethod
    def of(cls, loss: Loss) -> "LossEntry":
        """Return the entry of the losses of a flow."""
        return cls(
            flow=loss.flow,
            receiver=loss.receiver,
            sent=loss.sent,
            received=loss.received,
            places=loss.places,
            unexplained=loss.unexplained,
            excess=loss.excess,
            between=[HopEntry(*hop, dropped) for hop, dropped in loss.between.items()],
            at_switches=loss.at_switches,
            missing=loss.missing,
        )


class InterfaceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of PLCA of an interface, and those of the experiment that differ."""

    host: str
    interface: str
    plca: Mapping[str, str]
    is_ok: bool | None
    differs: Mapping[str, str]

    @classmethod
    def of(cls, found: Found) -> "InterfaceEntry":
        """Return the entry of an interface."""
        return cls(
            host=found.host,
            interface=found.interface,
            plca=found.settings,
            is_ok=found.plca.is_ok,
            differs=found.differs,
        )


class PacingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Lateness of the messages of a flow, with its quantiles; times in s."""

    flow: str
    messages: int
    on_time: float
    worst_s: float
    forced_sleeps: int
    is_real_time: bool | None
    late_p50_s: float
    late_p99_s: float
    late_p999_s: float

    @classmethod
    def of(cls, pacing: Pacing) -> "PacingEntry":
        """Return the entry of the lateness of a flow."""
        return cls(
            flow=pacing.flow,
            messages=pacing.messages,
            on_time=pacing.on_time,
            worst_s=pacing.worst_s,
            forced_sleeps=pacing.forced_sleeps,
            is_real_time=pacing.is_real_time,
            late_p50_s=pacing.quantile_s(0.5),
            late_p99_s=pacing.quantile_s(0.99),
            late_p999_s=pacing.quantile_s(0.999),
        )


class AccountEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the agents of a trial reported; what there is nothing of may be left out."""

    trial: str
    series: str
    point: Mapping[str, str]
    machines: tuple[Machine, ...]
    connections: tuple[Connection, ...]
    losses: Sequence[LossEntry]
    drops: tuple[Drops, ...] | msgspec.UnsetType
    unread: str | msgspec.UnsetType
    interfaces: Sequence[InterfaceEntry] | msgspec.UnsetType
    medium: EmulatedMedium | msgspec.UnsetType
    pacing: Sequence[PacingEntry]
    clocks: tuple[Clock, ...]

    @classmethod
    def of(cls, account: Account) -> "AccountEntry":
        """Return the entry of a trial."""
        return cls(
            trial=account.trial,
            series=account.series,
            point=account.point,
            machines=account.machines,
            connections=account.connections,
            losses=list(map(LossEntry.of, account.losses)),
            drops=account.drops if account.reads_switches else msgspec.UNSET,
            unread=account.unread or msgspec.UNSET,
            interfaces=list(map(InterfaceEntry.of, account.interfaces)) or msgspec.UNSET,
            medium=msgspec.UNSET if account.medium is None else account.medium,
            pacing=list(map(PacingEntry.of, account.pacings)),
            clocks=account.clocks,
        )


class AccountsFile(msgspec.Struct, frozen=True):
    """What agents reported, a trial each."""

    trials: Sequence[AccountEntry]

    @classmethod
    def of(cls, found: Sequence[Account]) -> "AccountsFile":
        """Return accounts as the file has them."""
        return cls(list(map(AccountEntry.of, found)))
