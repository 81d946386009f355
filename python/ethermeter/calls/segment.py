"""Calls on a shared segment that carries nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ethermeter.calls.quality import Heard, of_segment
from ethermeter.calls.question import Facts, Question, time_text
from ethermeter.experiment.segment import standards
from ethermeter.store.rows import TrialRows
from ethermeter.trial import Trial
from ethermeter.voice import Medium

_SIZES = ("length", "round_trip", "star", "delays")
"""Keys of a segment, one of which has its size."""


@dataclass(frozen=True, slots=True)
class OnSegment:
    """A shared segment on which every talker is a station."""

    table: Mapping[str, object]  # The table `segment` of an experiment file
    path: Path = Path("calls.toml")  # The file, for faults

    @property
    def medium(self) -> Medium:
        """The segment's standard."""
        return Medium.of(self._standard, standards()[self._standard])

    @property
    def _standard(self) -> str:
        return str(self.table["standard"])

    @property
    def room(self) -> str:
        """What limits the number of calls, in words."""
        return "the standard's number of stations, or the bits of the segment,"

    def load_of_a_call(self, question: Question) -> float:
        """Return the share of the line rate that a call needs on the mean: preamble, frame, gap."""
        return float(question.packets.offered_load) * question.talkers * question.activity

    def most(self, question: Question) -> int:
        """Return how many calls fit by the bits of the segment and its stations."""
        stations = int(standards()[self._standard]["max_stations"])
        of_bits = int(1 / self.load_of_a_call(question))
        return max(1, min(of_bits, stations // question.talkers))

    def tables(self, question: Question, calls: int) -> Mapping[str, object]:
        """Return the segment, its stations, and when they begin."""
        stations = {
            "name": "talker",
            "count": calls * question.talkers,
            "frames": f"{int(question.packets.frame_octets)} B",
            "arrivals": question.arrivals,
        }
        return {
            "segment": dict(self.table),
            "stations": [stations],
        }

    def phases(self, question: Question) -> Mapping[str, str]:
        """Return the spread of the starts over a packet."""
        return {"spread": time_text(question.packet_s)}

    def heard(
        self, rows: TrialRows, trial: Trial, *, calls: int, talkers: int
    ) -> tuple[Heard, ...]:
        """Return what all stations heard together: they share one medium, so all are alike."""
        del trial, calls, talkers
        return (of_segment(rows),)

    def subject(self, question: Question) -> str:
        """Return medium, rate, duplex and size of the segment."""
        del question
        name = self._standard
        mbps = 1e6 / standards()[name]["bit_ps"]
        size = next(
            (
                f", {key.replace('_', ' ')} {self.table[key]}"
                for key in _SIZES
                if isinstance(self.table.get(key), str)
            ),
            "",
        )
        return (
            f"one shared segment of {mbps:g} Mb/s, half duplex (CSMA/CD): {name}{size}; without"
            " other traffic"
        )

    def facts(self, question: Question) -> Facts:
        """Return load of a call, and the segment."""
        return Facts(load_of_a_call=self.load_of_a_call(question), segment=dict(self.table))
