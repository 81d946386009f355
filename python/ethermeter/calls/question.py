"""The question of a segment: which calls, on which segment; and the experiment that answers it for
some number of calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ethermeter import plan
from ethermeter.calls.quality import Heard, of_segment
from ethermeter.experiment import load, toml
from ethermeter.experiment.segment import standards
from ethermeter.plan import Trial
from ethermeter.store.rows import TrialRows
from ethermeter.store.scratch import temporary_directory
from ethermeter.voice import Medium, TalkPattern, packets
from ethermeter.voice.packets import Packets

PS_PER_S = 10**12
SETTLE_S = 2.0
"""Time in which stations send already and are not measured yet [s]: some hundred packets of each
talker.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """Which calls, on which segment.

    Parameters
    ----------
    segment
        The table `segment` of an experiment file.
    codec
        A name of `ethermeter.voice.CODECS`.
    packet_s
        Speech in a packet [s], whole frames of the codec.
    ip
        "ipv4", "ipv6" or "none", as for `ethermeter.voice.packets`.
    bit_rate_bps
        Of a codec that has several; None otherwise.
    pattern
        Talk spurts, if nothing is sent in silence; None if a talker sends all the time.
    talkers
        Stations of a call: 2 where both are on the segment, 1 for a stream that goes one way.
    duration_s
        Measured time of a trial [s].
    replications
        Trials for a number of calls.
    seed
        Of every draw.

    """

    segment: Mapping[str, Any]
    codec: str
    packet_s: float
    ip: str = "ipv4"
    bit_rate_bps: float | None = None
    pattern: TalkPattern | None = None
    talkers: int = 2
    duration_s: float = 20.0
    replications: int = 3
    seed: int = 1

    @property
    def medium(self) -> Medium:
        """What the segment's standard adds to a packet."""
        name = self.segment["standard"]
        return Medium.of(name, standards()[name])

    @property
    def packets(self) -> Packets:
        """What one direction puts on the medium while its talker talks.

        Raises
        ------
        ArgumentError
            If the codec cannot be cut like this, or a packet does not fit into a frame.

        """
        return packets(
            self.codec,
            packet_s=self.packet_s,
            medium=self.medium,
            ip=self.ip,
            bit_rate_bps=self.bit_rate_bps,
        )

    @property
    def activity(self) -> float:
        """Share of time in which a talker sends."""
        return 1.0 if self.pattern is None else self.pattern.activity

    @property
    def load_of_a_call(self) -> float:
        """Share of the line rate that a call asks for on the mean, preamble, frame and gap."""
        return float(self.packets.offered_load) * self.talkers * self.activity

    @property
    def most(self) -> int:
        """Calls that the bits of the segment, or the stations that its standard allows, leave room
        for.
        """
        stations = int(standards()[self.segment["standard"]]["max_stations"])
        return max(1, min(int(1 / self.load_of_a_call), stations // self.talkers))

    def document(self, calls: int) -> dict[str, Any]:
        """Return the experiment file with so many calls, as a tree."""
        period = time_text(self.packet_s)
        arrivals = arrivals_of(period, self.pattern)
        way = "both ways" if self.talkers == 2 else "one way"
        return {
            "title": f"{calls} calls of {self.codec}, {1e3 * self.packet_s:g} ms a packet, {way}",
            "seed": self.seed,
            "series": "calls",
            "segment": dict(self.segment),
            "stations": [
                {
                    "name": "talker",
                    "count": calls * self.talkers,
                    "frames": f"{int(self.packets.frame_octets)} B",
                    "arrivals": arrivals,
                }
            ],
            "phases": {
                "transmit": time_text(SETTLE_S + self.duration_s),
                "measure": f"last {time_text(self.duration_s)}",
                "spread": period,
            },
            "run": {"replications": self.replications, "batches": 10},
        }

    def heard(self, rows: TrialRows, trial: Trial, calls: int) -> tuple[Heard, ...]:
        """Return what all stations heard together: they share one medium, so all are alike."""
        del trial, calls
        return (of_segment(rows),)

    @property
    def subject(self) -> str:
        """What an answer is about: medium, rate, duplex and size of the segment."""
        constants = standards()[self.segment["standard"]]
        mbps = 1e6 / constants["bit_ps"]
        sizes = ("length", "round_trip", "star", "delays")
        size = next(
            (
                f"{key.replace('_', ' ')} {self.segment[key]}"
                for key in sizes
                if isinstance(self.segment.get(key), str)
            ),
            "",
        )
        known = f"{self.segment['standard']}{f', {size}' if size else ''}"
        return f"one shared segment of {mbps:g} Mb/s, half duplex (CSMA/CD): {known}; without other traffic"

    def text(self, calls: int) -> str:
        """Return the experiment file with so many calls."""
        return toml.document(self.document(calls))

    def trials(self, calls: int) -> tuple[Trial, ...]:
        """Return the trials that answer for so many calls.

        Raises
        ------
        InputError
            If the segment's table has faults, or does not hold so many stations.

        """
        with temporary_directory() as folder:
            file = folder / "calls.toml"
            file.write_text(self.text(calls), encoding="utf-8")
            return tuple(plan.expand([load(file)]).trials)


def arrivals_of(period: str, pattern: TalkPattern | None) -> dict[str, Any]:
    """Return the arrivals of a talker's packets in an experiment file: all the time, or in talk
    spurts only.
    """
    if pattern is None:
        return {"regular": period}
    return {
        "on_off": {
            "period": period,
            "on": time_text(pattern.talk_s),
            "off": time_text(pattern.silence_s),
        }
    }


def time_text(seconds: float) -> str:
    """Return a time as an experiment file has it, to the picosecond."""
    return f"{round(seconds * PS_PER_S)} ps"
