"""The question: which calls, and where; and the experiment with a number of calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from ethermeter import plan
from ethermeter.calls.quality import Heard
from ethermeter.experiment import Experiment, toml
from ethermeter.experiment.reading import of_document
from ethermeter.results.query import Results
from ethermeter.trial import Trial
from ethermeter.voice import Medium, TalkPattern, packets
from ethermeter.voice.packets import Packets

PS_PER_S = 10**12
SETTLE_S = 2.0
"""Time in which stations send already and are not measured yet [s]: some hundred packets of each
talker.
"""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of an answer that depend on the venue."""

    # Of a segment: share of the line rate that a call needs, and the segment
    load_of_a_call: float | msgspec.UnsetType = msgspec.UNSET
    segment: dict[str, object] | msgspec.UnsetType = msgspec.UNSET
    # Of a network: its file and the pairs of hosts
    network: str | msgspec.UnsetType = msgspec.UNSET
    pairs: tuple[tuple[str, str], ...] | msgspec.UnsetType = msgspec.UNSET


class Venue(Protocol):
    """Where the calls are: on a segment, or between hosts of a network."""

    @property
    def path(self) -> Path:
        """The file by whose name faults are reported."""

    @property
    def medium(self) -> Medium:
        """The medium of the callers, which adds to each packet."""

    def most(self, question: "Question") -> int:
        """Return how many calls there is room for at most."""

    def tables(self, question: "Question", calls: int) -> Mapping[str, object]:
        """Return the tables of the experiment file that depend on the venue."""

    def phases(self, question: "Question") -> Mapping[str, str]:
        """Return the phases of the experiment file that depend on the venue."""

    def heard(
        self, results: Results, trial: Trial, *, calls: int, talkers: int
    ) -> tuple[Heard, ...]:
        """Return the packets of a trial by receivers that are rated separately."""

    def subject(self, question: "Question") -> str:
        """Return a description of the venue and its other traffic."""

    def facts(self, question: "Question") -> "Facts":
        """Return the fields of an answer that depend on the venue."""


@dataclass(frozen=True, slots=True)
class Question:
    """Which calls, and where."""

    venue: Venue  # Where
    codec: str  # A name of `ethermeter.voice.CODECS`
    packet_s: float  # Speech in a packet [s], whole frames of the codec
    ip: str = "ipv4"  # "ipv4", "ipv6" or "none", as for `ethermeter.voice.packets`
    bit_rate_bps: float | None = None  # Of a codec that has several; None otherwise
    # Talk spurts, if nothing is sent in silence; None if a talker sends all the time
    pattern: TalkPattern | None = None
    talkers: int = 2  # Directions of a call: 2, or 1 for a stream that goes one way
    duration_s: float = 20.0  # Measured time of a trial [s]
    replications: int = 3  # Trials for a number of calls
    seed: int = 1  # Of every draw

    @property
    def packets(self) -> Packets:
        """What one direction puts on the medium while its talker talks.

        Raises `ArgumentError` if the codec cannot be cut like this, or a packet fits no frame.
        """
        return packets(
            self.codec,
            packet_s=self.packet_s,
            medium=self.venue.medium,
            ip=self.ip,
            bit_rate_bps=self.bit_rate_bps,
        )

    @property
    def activity(self) -> float:
        """Share of time in which a talker sends."""
        return 1.0 if self.pattern is None else self.pattern.activity

    @property
    def most(self) -> int:
        """Calls that there is room for at most."""
        return self.venue.most(self)

    @property
    def subject(self) -> str:
        """What an answer is about."""
        return self.venue.subject(self)

    @property
    def arrivals(self) -> dict[str, object]:
        """Arrivals of a talker's packets in an experiment file."""
        if self.pattern is None:
            return {"regular": time_text(self.packet_s)}
        return {
            "on_off": {
                "period": time_text(self.packet_s),
                "on": time_text(self.pattern.talk_s),
                "off": time_text(self.pattern.silence_s),
            }
        }

    def document(self, calls: int) -> dict[str, object]:
        """Return the experiment file with so many calls, as a tree."""
        directions = "both ways" if self.talkers == 2 else "one way"
        return {
            "title": f"{calls} calls of {self.codec}, {1e3 * self.packet_s:g} ms a packet,"
            f" {directions}",
            "seed": self.seed,
            "series": "calls",
            **self.venue.tables(self, calls),
            "phases": {
                "transmit": time_text(SETTLE_S + self.duration_s),
                "measure": f"last {time_text(self.duration_s)}",
                **self.venue.phases(self),
            },
            "run": {"replications": self.replications, "batches": 10},
        }

    def text(self, calls: int) -> str:
        """Return the experiment file with so many calls."""
        return toml.document(self.document(calls))

    def experiment(self, calls: int) -> Experiment:
        """Return the experiment with so many calls.

        Raises `InputError` if the segment or network has faults, or does not hold so many calls.
        """
        return of_document(self.document(calls), self.venue.path, text=self.text(calls))

    def trials(self, calls: int) -> tuple[Trial, ...]:
        """Return the trials that answer for so many calls; raises as `experiment`."""
        return plan.expand([self.experiment(calls)]).trials

    def heard(self, results: Results, trial: Trial, calls: int) -> tuple[Heard, ...]:
        """Return the packets of a trial by receivers that are rated separately."""
        return self.venue.heard(results, trial, calls=calls, talkers=self.talkers)


def time_text(seconds: float) -> str:
    """Return a time as an experiment file has it, to the picosecond."""
    return f"{round(seconds * PS_PER_S)} ps"
