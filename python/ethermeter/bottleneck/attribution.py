"""Attribution: every change of a transfer tried in rounds, in random order, and judged."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from ethermeter.analysis.interval import Estimate, exact, student
from ethermeter.analysis.roofline import DATA, Roofline, Stage
from ethermeter.bottleneck.bench import Outcome
from ethermeter.bottleneck.document import Document
from ethermeter.bottleneck.interventions import CONNECTIONS, STAGES, Change, NotTried, interventions
from ethermeter.bottleneck.setup import Setup
from ethermeter.bottleneck.verdict import ERROR, LOOKS, RULE, Tried, Verdict, judge
from ethermeter.ceilings.constants import FRAME_OCTETS, HEADERS_OCTETS, data_share

_IP_TCP_OCTETS = 20 + 20
"""Headers of IPv4 and TCP without options; those of TCP are in the segment's own length."""


class Place(Protocol):
    """Where transfers run."""

    @property
    def means(self) -> str:
        """How processors are limited there."""

    def run(self, setup: Setup) -> Outcome:
        """Run one transfer."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """What was tried, and what it means.

    Parameters
    ----------
    document
        The file.
    seed
        Of the order.
    changes
        Every intervention.
    not_tried
        Stages without one, and why.
    unchanged
        The transfer as it is, one outcome for each round.
    changed
        The outcomes of each intervention, in the same order of rounds.
    order
        What was run, in its order: `unchanged` or the stage that was changed.
    means
        How processors were limited.
    verdict
        The bottleneck, or that it is undecided.

    """

    document: Document
    seed: int
    changes: tuple[Change, ...]
    not_tried: tuple[NotTried, ...]
    unchanged: tuple[Outcome, ...]
    changed: tuple[tuple[Outcome, ...], ...]
    order: tuple[str, ...]
    means: str
    verdict: Verdict

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON: the evidence, sample by sample."""
        return {
            "title": self.document.title,
            "seed": self.seed,
            "rounds": len(self.unchanged),
            "error": ERROR,
            "rule": RULE,
            "processors_limited_by": self.means,
            "bottleneck": self.verdict.bottleneck,
            "why": self.verdict.why,
            "unchanged": [asdict(outcome) for outcome in self.unchanged],
            "changes": [
                {
                    "stage": change.stage,
                    "way": change.way,
                    "factor": change.factor,
                    "what": change.what,
                    "is_evidence_only": response.is_evidence_only,
                    "gain": response.gain,
                    "response": asdict(response.interval),
                    "samples": [asdict(outcome) for outcome in outcomes],
                }
                for change, response, outcomes in zip(
                    self.changes, self.verdict.responses, self.changed, strict=True
                )
            ],
            "not_tried": [asdict(each) for each in self.not_tried],
            "order": list(self.order),
            "roofline": self.roofline().as_json(),
        }

    def roofline(self) -> Roofline:
        """Return the ceilings along the path as it is, and what was achieved."""
        rates = np.asarray([outcome.throughput_bps for outcome in self.unchanged])
        return Roofline(
            self.document.title,
            DATA,
            _ceilings(self.document.setup(), self.unchanged),
            student(rates),
        )


def attribute(
    document: Document,
    place: Place,
    *,
    seed: int | None = None,
    repetitions: int | None = None,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> Attribution:
    """Find the bottleneck of a transfer by changing one stage at a time.

    Parameters
    ----------
    document
        The file of the transfer.
    place
        Where it runs: a bench.
    seed, repetitions
        Instead of the file's own; what is undecided after the repetitions is tried as often again,
        and once more.
    tell
        Is told how many transfers of how many are done.

    Raises
    ------
    TestbedError
        If the system refuses something of it.

    """
    setup = document.setup()
    changes, missing = interventions(setup)
    rounds = document.repetitions if repetitions is None else repetitions
    chosen = document.seed if seed is None else seed
    random = np.random.default_rng(chosen)
    unchanged: list[Outcome] = []
    changed: list[list[Outcome]] = [[] for _ in changes]
    order: list[str] = []
    tell(0, 1 + rounds * (1 + len(changes)))
    # The first transfer finds everything cold, and is not counted.
    place.run(setup)
    for look in range(1, LOOKS + 1):
        for _ in range(rounds):
            for at in random.permutation(1 + len(changes)).tolist():
                tell(1 + len(order), 1 + look * rounds * (1 + len(changes)))
                outcome = place.run(setup if at == 0 else changes[at - 1].setup)
                (unchanged if at == 0 else changed[at - 1]).append(outcome)
                order.append("unchanged" if at == 0 else changes[at - 1].stage)
        verdict = judge(
            _throughput(unchanged),
            [
                Tried(
                    change.stage, change.factor, _throughput(outcomes), change.stage == CONNECTIONS
                )
                for change, outcomes in zip(changes, changed, strict=True)
            ],
            looks=LOOKS,
        )
        if verdict.bottleneck is not None:
            break
    tell(1 + len(order), 1 + len(order))
    return Attribution(
        document,
        chosen,
        tuple(changes),
        tuple(missing),
        tuple(unchanged),
        tuple(tuple(outcomes) for outcomes in changed),
        tuple(order),
        place.means,
        verdict,
    )


def _throughput(outcomes: list[Outcome]) -> Any:
    return np.asarray([outcome.throughput_bps for outcome in outcomes], dtype=np.float64)


def _ceilings(setup: Setup, unchanged: tuple[Outcome, ...]) -> tuple[Stage, ...]:
    """Return what each stage would allow if it were alone, in bit/s of the application's data."""
    stages: list[Stage] = []

    def add(name: str, ceiling: Estimate, source: str) -> None:
        if ceiling.value > 0:
            stages.append(Stage(STAGES.get(name, name), ceiling, source))

    if setup.source_bps is not None:
        add("source", exact(float(setup.source_bps)), "as set")
    if setup.turn_around_ns:
        allowed = 8e9 * setup.block_octets * setup.connections / setup.turn_around_ns
        add(
            "turn-around",
            exact(allowed),
            f"{setup.block_octets} octets in each {setup.turn_around_ns / 1e6:g} ms",
        )
    add(
        "sender-processor",
        *_processor(
            [each.sender_processor for each in unchanged], setup.sender.processor, unchanged
        ),
    )
    # Room at the sender allows more than its octets, by how the system counts what it keeps with
    # them: no ceiling follows from it.
    round_trip_s = float(np.mean([each.round_trip_s for each in unchanged]))
    if setup.receive_octets is not None and round_trip_s > 0:
        source = f"{setup.receive_octets} octets for each round trip of {round_trip_s * 1e3:.3g} ms, as TCP measured it"
        add("window", exact(8 * setup.receive_octets * setup.connections / round_trip_s), source)
    frame_octets = setup.segment_octets + _IP_TCP_OCTETS + FRAME_OCTETS
    data_octets = frame_octets - FRAME_OCTETS - HEADERS_OCTETS["tcp"]
    share = data_share(frame_octets, "tcp")
    framed = f"{data_octets} octets of data in frames of {frame_octets}, with preamble and gap"
    if setup.sender_wire_bps is not None:
        add("Sender's wire", exact(setup.sender_wire_bps * share), framed)
    if setup.frame_ns:
        add(
            "Device between",
            exact(8e9 * data_octets / setup.frame_ns),
            f"{data_octets} octets of data in each {setup.frame_ns / 1e3:g} us",
        )
    if setup.delay_ns:
        # A frame takes its room for as long as it is under way; what TCP leaves of it after a loss
        # is another matter.
        allowed = 8e9 * setup.room_frames * data_octets / (setup.delay_ns + setup.frame_ns)
        add(
            "queue",
            exact(allowed),
            f"{setup.room_frames} frames under way in each {setup.delay_ns / 1e6:g} ms",
        )
    if setup.wire_bps is not None:
        add("wire", exact(setup.wire_bps * share), framed)
    add(
        "receiver-processor",
        *_processor(
            [each.receiver_processor for each in unchanged], setup.receiver.processor, unchanged
        ),
    )
    return tuple(stages)


def _processor(
    shares: list[float], limit: float | None, unchanged: tuple[Outcome, ...]
) -> tuple[Estimate, str]:
    """Return what the processor allows, from the time that it took for each octet."""
    used = np.asarray(shares)
    rates = np.asarray([each.throughput_bps for each in unchanged])
    if not (used > 0).all():
        return exact(0.0), ""
    return student(
        rates * (limit or 1.0) / used
    ), f"processor time for each octet as measured, {limit or 1:g} of one processor"
