"""Backlog of a traffic class at a port: frames and octets held and waiting, at most.

Held: from the arrival in the queue until the last bit has left, as simulator and switches count.
Waiting: until the transmission begins. Counts of frames are sums over flows of the frames that each
can have: the shortest frame alone would give far too many.
"""

from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Array
from ethermeter.theory.bounds.curves import Concave, busy_period
from ethermeter.theory.bounds.stairs import ROUNDING, Stairs
from ethermeter.theory.bounds.tfa import ClassAnalysis

_MOST_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Queued:
    """The flows of a class at a port, arrays of shape (flows,).

    `stairs`: their messages, with `frames` and `octets` of the longest. `shortest`, `longest`: work
    of a frame of the class; `gap`: of that the gap. `around`: work of a frame beside its octets;
    `octet`: of an octet. `access`: time that may pass before a frame begins, though it is served.
    """

    stairs: Stairs
    frames: Array
    octets: Array
    is_single: bool
    shortest: float
    longest: float
    gap: float
    around: float
    octet: float
    access: float

    def octets_of(self, work: float) -> float:
        """Return the octets of a frame of so much work, gap included."""
        return (work - self.around) / self.octet


@dataclass(frozen=True, slots=True)
class Backlog:
    """Largest backlog of a traffic class; integers."""

    held_octets: int
    held_frames: int
    waiting_octets: int
    waiting_frames: int


def backlog(analysis: ClassAnalysis, queued: Queued) -> Backlog | None:
    """Return the largest backlog of a class, or None if it has no bound."""
    if not len(queued.frames):
        return Backlog(0, 0, 0, 0)
    options = []
    if queued.is_single:
        most = np.array([queued.octets.sum(), queued.frames.sum()])
        options.append(np.concatenate([most, most]))
    if analysis.arrivals is not None:
        for time in analysis.times:
            if analysis.arrivals.slope * time.slope <= 1 + ROUNDING:
                options += _by_work(analysis.arrivals, time, queued)
                options += _by_messages(analysis.arrivals, time, queued)
        if np.isfinite(analysis.finish) and np.isfinite(queued.stairs.bursts).all():
            options.append(_by_residence(analysis.finish, queued))
    if not options:
        return None
    octets, frames, waiting_octets, waiting_frames = np.floor(
        np.min(options, axis=0) + ROUNDING
    ).astype(int)
    # So many frames have no more octets than the longest ones.
    longest = round(queued.octets_of(queued.longest))
    return Backlog(
        min(int(octets), int(frames) * longest),
        int(frames),
        min(int(waiting_octets), int(waiting_frames) * longest),
        int(waiting_frames),
    )


def _by_work(arrivals: Concave, time: Concave, queued: Queued) -> list[Array]:
    """Return the backlog as work, every frame in the form that is the worst."""
    at = _times(arrivals, time, queued)
    came = arrivals.of(at)
    held = float(np.max(came - _left(time, at, queued)))
    waiting = max(float(np.max(came - _started(time, at, queued))), 0.0)
    ratio = queued.octets_of(queued.longest) / queued.longest
    if queued.around < 0:
        ratio = queued.octets_of(queued.shortest) / queued.shortest
    return [
        np.array([held * ratio, held / queued.shortest, waiting * ratio, waiting / queued.shortest])
    ]


def _by_messages(arrivals: Concave, time: Concave, queued: Queued) -> list[Array]:
    """Return the backlog from the whole messages of each flow, whatever the wires before do."""
    stairs = queued.stairs
    if not np.isfinite(stairs.bursts).all():
        return []
    end = busy_period(arrivals, time) + queued.longest
    if not np.isfinite(end):
        return []
    most = float(np.max(stairs.messages(np.array([end])))) + 1
    if most * len(stairs.message) ** 2 > _MOST_CELLS:
        return []
    at = np.unique(np.concatenate([_times(arrivals, time, queued), stairs.steps(end), [end]]))
    counts = stairs.messages(at[:, None])
    octets, frames = counts @ queued.octets, counts @ queued.frames
    left, started = _left(time, at, queued), _started(time, at, queued)
    least = queued.octets_of(queued.shortest) / queued.shortest
    result = [
        np.max(octets - left * least),
        np.max(frames - left / queued.longest),
        np.max(octets - started * least),
        np.max(frames - started / queued.longest),
    ]
    return [np.maximum(np.array(result), 0.0)]


def _by_residence(finish: float, queued: Queued) -> Array:
    """Return the sum over flows of what each sends in the longest time that a frame is there."""
    begin = max(finish - queued.shortest + queued.access, 0.0)
    held, waiting = queued.stairs.messages(np.array([[finish - queued.gap], [begin]]))
    return np.array(
        [
            held @ queued.octets,
            held @ queued.frames,
            waiting @ queued.octets,
            waiting @ queued.frames,
        ]
    )


def _times(arrivals: Concave, time: Concave, queued: Queued) -> Array:
    """Return the times at which the backlog may be the largest."""
    knots = np.concatenate([arrivals.at, time.value, time.value + queued.longest - queued.gap])
    return np.unique(knots)


def _left(time: Concave, at: Array, queued: Queued) -> Array:
    """Return the work of which the last bit has left since the queue was empty."""
    return time.inverse(np.maximum(at - (queued.longest - queued.gap), 0.0))


def _started(time: Concave, at: Array, queued: Queued) -> Array:
    """Return the work of frames that have begun: at least one as soon as one may."""
    begun: Array = np.where(at >= time.value[0] + queued.access, queued.shortest, 0.0)
    return np.maximum(time.inverse(at), begun)
