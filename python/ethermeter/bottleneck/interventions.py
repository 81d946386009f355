"""Interventions: what can be changed of one stage while everything else stays.

A stage is relieved by a factor of two where that is possible: more of what it has to give. Where it
has no limit of its own that could be lifted, it is tightened by two instead, which can only show
that it is *not* the bottleneck, or that nothing else can be.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ethermeter.analysis.bottleneck import NotTried, Way
from ethermeter.bottleneck.setup import LONGEST_SEGMENT_OCTETS, End, Setup

FACTOR = 2
"""By how much a stage is relieved or tightened."""

_SCALES = ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1, "bit/s"))
"""Units of rates, the largest first."""

CONNECTIONS = "connections"
"""No stage: more connections relieve everything that belongs to each connection, so they are
evidence only.
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One intervention.

    `stage`: its name, of `STAGES`, or `connections`. `way`: relieved, tightened, or removed
    altogether, which counts as relieved by `FACTOR`. `factor`: by how much the stage can do more
    (above 1) or less (below 1) than before. `what`: what was changed, for a person. `setup`: the
    transfer with the change.
    """

    stage: str
    way: Way
    factor: float
    what: str
    setup: Setup

    @property
    def is_relief(self) -> bool:
        """Whether the stage can do more than before."""
        return self.factor > 1


def interventions(setup: Setup) -> tuple[list[Change], list[NotTried]]:
    """Return the change of each stage, in the order of a path, and the stages without a change."""
    changes: list[Change] = []
    missing: list[NotTried] = []
    for stage, make in _MAKERS.items():
        made = make(setup)
        if isinstance(made, str):
            missing.append(NotTried(stage, made))
        else:
            way, factor, what, changed = made
            changes.append(Change(stage, way, factor, what, changed))
    return changes, missing


_Made = tuple[Way, float, str, Setup] | str


def _source(setup: Setup) -> _Made:
    if setup.source_bps is not None:
        bps = FACTOR * setup.source_bps
        text = f"{_rate(setup.source_bps)} to {_rate(bps)}"
        return "relieved", FACTOR, text, replace(setup, source_bps=bps)
    if setup.source_file is not None:
        return "removed", FACTOR, "memory instead of a file", replace(setup, source_file=None)
    return "it is memory already"


def _rate(bit_per_s: float) -> str:
    """Write a rate to three digits."""
    size, unit = next(scale for scale in _SCALES if bit_per_s >= scale[0] or scale[0] == 1)
    scaled = bit_per_s / size
    return f"{scaled:.0f} {unit}" if scaled >= 999.5 else f"{scaled:.3g} {unit}"


def _turn_around(setup: Setup) -> _Made:
    if setup.turn_around_ns is None:
        return "nobody asks for blocks"
    if setup.turn_around_ns == 0:
        return "removed", FACTOR, "nobody asks for blocks", replace(setup, turn_around_ns=None)
    half_ns = setup.turn_around_ns // FACTOR
    text = f"{setup.turn_around_ns / 1e6:g} ms to {half_ns / 1e6:g} ms"
    factor = setup.turn_around_ns / max(half_ns, 1)
    return "relieved", factor, text, replace(setup, turn_around_ns=half_ns)


def _processor(setup: Setup, of: Literal["sender", "receiver"]) -> _Made:
    end: End = getattr(setup, of)
    now = end.processor or 1.0
    after = (
        1 / FACTOR
        if end.processor is None or end.processor >= 1
        else min(1.0, FACTOR * end.processor)
    )
    end = replace(end, processor=after)
    changed = replace(setup, sender=end) if of == "sender" else replace(setup, receiver=end)
    return _way(after, now), after / now, f"{now:g} to {after:g} of one", changed


def _way(after: float, now: float) -> Way:
    return "relieved" if after > now else "tightened"


def _room(octets: int | None, make: Callable[[int], Setup]) -> _Made:
    if octets is None:
        return "the system chooses it"
    return "relieved", FACTOR, f"{octets} to {FACTOR * octets} octets", make(FACTOR * octets)


def _frames(setup: Setup) -> _Made:
    now = setup.segment_octets
    after = (
        min(LONGEST_SEGMENT_OCTETS, FACTOR * now) if now < LONGEST_SEGMENT_OCTETS else now // FACTOR
    )
    text = f"segments of {now} to {after} octets"
    return _way(after, now), after / now, text, replace(setup, segment_octets=after)


def _queue(setup: Setup) -> _Made:
    if setup.wire_bps is None and not setup.has_line:
        return "nothing waits: no wire has a rate, and nothing is between them"
    octets, frames = FACTOR * setup.queue_octets, FACTOR * setup.room_frames
    text = f"{setup.queue_octets} to {octets} octets"
    if setup.has_line:
        text += f", {setup.room_frames} to {frames} frames under way"
    return "relieved", FACTOR, text, replace(setup, queue_octets=octets, room_frames=frames)


def _wire(setup: Setup) -> _Made:
    if setup.wire_bps is None:
        return "it has no rate of its own"
    most = max(setup.wire_bps, setup.sender_wire_bps or 0)
    factor = min(FACTOR, 10_000_000_000 / most)
    if factor <= 1:
        return "no faster wire can be made"
    after = int(setup.wire_bps * factor)
    own = None if setup.sender_wire_bps is None else int(setup.sender_wire_bps * factor)
    changed = replace(setup, wire_bps=after, sender_wire_bps=own)
    return "relieved", factor, f"{_rate(setup.wire_bps)} to {_rate(after)}", changed


def _connections(setup: Setup) -> _Made:
    after = FACTOR * setup.connections
    return "relieved", FACTOR, f"{setup.connections} to {after}", replace(setup, connections=after)


_MAKERS: dict[str, Callable[[Setup], _Made]] = {
    "source": _source,
    "turn-around": _turn_around,
    "sender-processor": lambda setup: _processor(setup, "sender"),
    "send-buffer": lambda setup: _room(
        setup.send_octets, lambda octets: replace(setup, send_octets=octets)
    ),
    "window": lambda setup: _room(
        setup.receive_octets, lambda octets: replace(setup, receive_octets=octets)
    ),
    "frames": _frames,
    "queue": _queue,
    "wire": _wire,
    "receiver-processor": lambda setup: _processor(setup, "receiver"),
    CONNECTIONS: _connections,
}
