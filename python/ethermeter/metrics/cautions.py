"""Cautions: why a value should be looked at before it is trusted."""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ethermeter.arguments import OUTSIDE

Masks = npt.NDArray[np.uint64]
"""Cautions of values, one bit each in the order of `Caution`; room for 64."""


class Caution(StrEnum):
    """The closed list: word and meaning of each.

    `one-replication` applies to a run, every other caution to a value.
    """

    _value_: str
    meaning: str
    """What is doubtful about the value, and why, in one sentence."""

    def __new__(cls, word: str, meaning: str = "") -> "Caution":
        """Make a member from its row; a word alone looks up a member instead."""
        made = str.__new__(cls, word)
        made._value_ = word
        made.meaning = meaning
        return made

    BEYOND_ROUND_TRIP = (
        "beyond-round-trip",
        "the segment is longer than its slot time allows, so collisions may stay undetected",
    )
    ILLEGAL_FRAME_LENGTH = (
        "illegal-frame-length",
        "a frame is shorter or longer than the standard allows",
    )
    LATE_COLLISION = "late-collision", "collisions happened later than the slot time"
    DAMAGED_FRAMES = (
        "damaged-frames",
        "a sender did not detect its collision, and the damaged frame counts as delivered",
    )
    NO_SAMPLES = "no-samples", "nothing was delivered or counted, so there is no value"
    FEW_SAMPLES = (
        "few-samples",
        "the value comes from fewer than 30 frames or messages, or from fewer exchanges "
        "than the experiment wants",
    )
    ONE_REPLICATION = (
        "one-replication",
        "fewer than three replications: intervals come from batches within a trial, and "
        "metrics that have no value for each batch have none",
    )
    UNBOUNDED_QUEUE = (
        "unbounded-queue",
        "unstable queue: the queue is unlimited and the offered load exceeds the capacity "
        "of its segment, link or stage, so delays grow as long as the trial lasts",
    )
    OUTSIDE_MODEL_RANGE = (
        OUTSIDE,
        "the point is outside the range in which the model is valid",
    )
    OTHER_PROTOCOL = (
        "other-protocol",
        "the model's medium access differs from the experiment's",
    )
    UNDER_WAY = (
        "under-way",
        "more than 5% of the messages counted as lost were still in transit at the end of "
        "the trial: use a longer drain",
    )
    LATE_SEND = (
        "late-send",
        "messages left late enough to change the value: more than 1% of them by a tenth of "
        "the time between messages (for times and losses), or one by 1% of the measured "
        "window (for rates and counts)",
    )
    CLOCK_UNCERTAIN = (
        "clock-uncertain",
        "the value is a delay between two clocks whose relation is unknown",
    )
    HOST_LIMITED = "host-limited", "a host, not the network, was at its limit"
    CONTRADICTED = (
        "contradicted",
        "the two ends of a measurement report what cannot both be true",
    )
    MEDIUM_LATE = (
        "medium-late",
        "the emulated medium was late: it learnt of more than 0.01% of the frames too "
        "late, or it delivered or decided on more than 1% of them over 100 µs late",
    )
    CONSENT_LIMITED = (
        "consent-limited",
        "the receiver's consent, not the network, held the sender back: more than 1% of its frames "
        "waited for it, and more than waited for room in its queue",
    )
    CPU_STEAL = (
        "cpu-steal",
        "the hypervisor took more than 1% of a processor's time during the measurement (CPU steal)",
    )
    CORRELATED_BATCHES = (
        "correlated-batches",
        "fewer than five independent batches: the interval may be too narrow; simulate longer, or "
        "replicate",
    )
    FAILED_TRIALS = (
        "failed-trials",
        "one or more trials of the point failed, so it has fewer replications than planned; if all "
        "failed, it has no value",
    )
    CLOCK_STEPPED = (
        "clock-stepped",
        "the wall clock of a host was set by more than 100 µs during the measurement, so "
        "the kernel's time stamps are wrong by that amount",
    )
    UPPER_BOUND = (
        "upper-bound",
        "the value is a worst case by theory: no value exceeds it, and most are far below it",
    )
    NO_BOUND = (
        "no-bound",
        "network calculus has no bound here; `validate --models` and the report give the reason",
    )
    APPROXIMATION = (
        "approximation",
        "the value is an approximate mean: arrivals are no Poisson process, frames come "
        "from another queue, messages have several frames, or nodes of a bus are treated "
        "as queues served in turn",
    )

    GROWING_QUEUE = (
        "growing-queue",
        "a queue grew during the measured window and was not full at its end, or is so near its "
        "capacity that it was not in balance yet: delays and losses are larger in a longer trial",
    )

    @property
    def bit(self) -> int:
        """Bit of this caution in a mask."""
        return _BITS[self]


_BITS: dict[Caution, int] = {caution: 1 << at for at, caution in enumerate(Caution)}


def caution_mask(words: Iterable[str]) -> np.uint64:
    """Return the mask of some cautions; ValueError if a word is no caution."""
    return np.uint64(sum(Caution(word).bit for word in set(words)))


@lru_cache(maxsize=4096)
def caution_text(mask: int) -> str:
    """Words of a mask, separated by a space, in the order of the closed list; empty for none."""
    return " ".join(caution for caution in Caution if mask & caution.bit)


def without_samples(masks: Masks, values: npt.NDArray[np.float64]) -> Masks:
    """Return masks in which values that are NaN have `no-samples` in place of all others."""
    return np.where(np.isnan(values), np.uint64(Caution.NO_SAMPLES.bit), masks)
