"""Answers of searches for the stage that limits a transfer."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from ethermeter.analysis.estimated import Interval
from ethermeter.analysis.roofline import Roofline, RooflineEntry

Way = Literal["relieved", "tightened", "removed"]
"""What is done to a stage."""

STAGES = {
    "source": "Source",
    "turn-around": "Application turn-around",
    "sender-processor": "Processor of the sender",
    "send-buffer": "Send buffer",
    "window": "Receiver's window",
    "frames": "Length of frames",
    "queue": "Room in queues",
    "wire": "Wire",
    "receiver-processor": "Processor of the receiver",
}
"""Every stage that is tried, in the order of a path, with its title."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one transfer came to.

    `throughput_bps`: data that the receiving application got, in bit/s. `sent_again`: segments that
    TCP sent again. `round_trip_s`: TCP's smoothed round trip time at the end of the first
    connection, in s. `sender_processor`, `receiver_processor`: share of one processor that the
    applications' threads had, the system's calls included.
    """

    throughput_bps: float
    sent_again: int
    round_trip_s: float
    sender_processor: float
    receiver_processor: float


@dataclass(frozen=True, slots=True)
class NotTried:
    """A stage that nothing was changed of."""

    stage: str
    why: str


class Changed(msgspec.Struct, frozen=True):
    """One intervention and what it did.

    `stage`, `way`, `factor`, `what`: as of `bottleneck.interventions.Change`. `is_evidence_only`,
    `gain`, `response`: as of `bottleneck.verdict.Response`. `samples`: outcomes, one for each
    round.
    """

    stage: str
    way: Way
    factor: float
    what: str
    is_evidence_only: bool
    gain: float
    response: Interval
    samples: tuple[Outcome, ...]


class BottleneckAnswer(msgspec.Struct, frozen=True):
    """The bottleneck of a transfer, with the evidence: `answer.json` of a run.

    `title`: of the file. `seed`: of the order. `rounds`: how often everything was run. `error`,
    `rule`: how a bottleneck is named, and with what probability of an error.
    `processors_limited_by`: how processors were limited. `bottleneck`: the stage, or None if it is
    undecided. `why`: the reason, in a sentence. `unchanged`: outcomes of the unchanged transfer,
    one for each round. `changes`: every intervention; samples are in the same order of rounds.
    `not_tried`: stages without an intervention, and why. `order`: what was run, in its order:
    `unchanged` or the stage that was changed. `roofline`: the ceilings along the unchanged path,
    and the achieved rate.
    """

    title: str
    seed: int
    rounds: int
    error: float
    rule: str
    processors_limited_by: str
    bottleneck: str | None
    why: str
    unchanged: tuple[Outcome, ...]
    changes: tuple[Changed, ...]
    not_tried: tuple[NotTried, ...]
    order: tuple[str, ...]
    roofline: RooflineEntry

    def path(self) -> Roofline:
        """Return the ceilings along the unchanged path, and the achieved rate."""
        return self.roofline.read()
