"""What engines are given and what they give back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ethermeter.store.integrity import first_line
from ethermeter.store.trial_result import TrialResult
from ethermeter.traces import Trace


@dataclass(frozen=True, slots=True)
class Work:
    """A trial to be run: index in the plan, id, and the line that its result depends on.

    The line names the traces that it replays by the SHA-256 of their text; `traces` are these.
    """

    place: int
    id: str
    line: str
    traces: Mapping[str, Trace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A trial that was run."""

    place: int
    result: TrialResult


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Share of its time that each trial under way is through, 0 to 1, by its index in the plan.

    Empty if the engine cannot tell.
    """

    shares: Mapping[int, float]


class TrialError(RuntimeError):
    """A trial that broke off, or an engine that cannot run any."""


class LostClusterError(TrialError):
    """A cluster that went away while it ran trials; the finished ones are kept."""


def failure(work: Work | Sequence[Work], error: BaseException) -> TrialError:
    """Say in one line which trial failed and why."""
    which = work.id if isinstance(work, Work) else f"one of {work[0].id} to {work[-1].id}"
    return TrialError(f"trial {which}: {first_line(error)}")
