"""Metrics: the closed list of quantities that engines report, one row each.

Lengths and times that are *charged* follow the accounting of Boggs, Mogul and Kent (1988, section
3.3): preamble + frame (FCS included) + inter-frame gap.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache

from ethermeter.counts import Floats
from ethermeter.metrics.station_formulas import (
    Formula,
    StationSums,
    attempts_per_frame,
    bit_rate,
    count,
    delay_sd,
    excess_delay,
    fairness,
    loss,
    mean_s,
    per_frame,
    per_second,
    share_of_medium,
    share_of_window,
    spread,
    spread_over_mean,
)


@dataclass(frozen=True, slots=True)
class Label:
    """Title, unit shown and factor from the SI unit, axis from zero or not, largest value."""

    title: str
    unit: str = ""
    factor: float = 1.0
    from_zero: bool = True
    most: float = math.inf

    @property
    def axis(self) -> str:
        """Title, short enough for an axis, with its unit."""
        short = self.title.replace("Standard deviation", "SD")
        return f"{short} ({self.unit})" if self.unit else short


class Group(Enum):
    """Metrics that a trial has together: in which trials, of which entity, by which engines."""

    SEGMENT = ("every trial of a segment", "station", "simulation, theory")
    SEGMENT_VOICE = ("a segment on which some station has a coder", "station", "simulation")
    FLOW = ("every trial of a network", "flow", "simulation, live")
    FLOW_VOICE = ("a network in which some flow has a coder", "flow", "simulation, live")
    CLOCK = ("a simulated network whose hosts have clocks", "flow", "simulation")
    SYNCHRONISED = ("a simulated network whose hosts synchronise clocks", "flow", "simulation")

    def __init__(self, trials: str, entity: str, engines: str) -> None:
        """Make a member from its row."""
        self.trials = trials
        self.entity = entity
        self.engines = engines


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric means in the trials of a group.

    Parameters
    ----------
    group
        The trials that have it.
    meaning
        What it counts or measures.
    is_of_each
        Whether it has a row of every station or flow, besides that of all together.
    formula
        Of stations on a medium; None of what is read from histograms, and of other entities.
    is_estimate
        Whether it is estimated from frames, so that few of them make it doubtful. Counts, shares of
        channel time and parameters are not.

    """

    group: Group
    meaning: str
    is_of_each: bool = True
    formula: Formula | None = None
    is_estimate: bool = True

    def of_all(self, sums: StationSums, with_total: StationSums) -> Floats:
        """Return the value of all stations together, from their sums without and with the total."""
        assert self.formula is not None, "a metric by formula"
        return self.formula(with_total)[..., -1] if self.is_of_each else self.formula(sums)


@dataclass(frozen=True, slots=True, init=False)
class Row:
    """Name, SI unit (empty for a ratio or a count), label in figures, and definitions.

    The first definition is that of segments, if it has one.
    """

    name: str
    unit: str
    label: Label
    definitions: tuple[Definition, ...]

    def __init__(self, name: str, unit: str, label: Label, *definitions: Definition) -> None:
        """Take the definitions one by one."""
        for field, value in zip(self.__slots__, (name, unit, label, definitions), strict=True):
            object.__setattr__(self, field, value)


def _segment(
    meaning: str, formula: Formula | None = None, *, is_estimate: bool = True
) -> Definition:
    return Definition(
        Group.SEGMENT, meaning, is_of_each=False, formula=formula, is_estimate=is_estimate
    )


def _station(meaning: str, formula: Formula, *, is_estimate: bool = True) -> Definition:
    return Definition(Group.SEGMENT, meaning, formula=formula, is_estimate=is_estimate)


def _segment_voice(meaning: str) -> Definition:
    return Definition(Group.SEGMENT_VOICE, meaning, is_of_each=False)


def _voice(meaning: str) -> Definition:
    return Definition(Group.SEGMENT_VOICE, meaning)


def _flow(meaning: str) -> Definition:
    return Definition(Group.FLOW, meaning)


def _flow_voice(meaning: str) -> Definition:
    return Definition(Group.FLOW_VOICE, meaning)


def _clock(meaning: str) -> Definition:
    return Definition(Group.CLOCK, meaning)


def _synchronised(meaning: str) -> Definition:
    return Definition(Group.SYNCHRONISED, meaning)


_MS = ("ms", 1e3)
_US = ("µs", 1e6)
_MBPS = ("Mb/s", 1e-6)
_PERCENT = ("%", 100.0)
_PPM = ("ppm", 1e6)


_RANKS = {
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "max": "largest",
}
PERCENTILES = tuple(_RANKS)
"""Suffixes of the percentiles of a time and of its largest value, in rising order."""


def _rank(
    name: str,
    rank: str,
    noun: str,
    scale: tuple[str, float],
    *define: Callable[[str], Definition],
) -> Row:
    """Make the row of a percentile, or of the largest value, of a time."""
    text = _RANKS[rank]
    meaning = (
        f"largest {noun}; of a simulation, to the width of its histogram bucket"
        if rank == "max"
        else f"{text} of the {noun}"
    )
    title = f"{noun[0].upper()}{noun[1:]}, {text}"
    return Row(f"{name}_{rank}", "s", Label(title, *scale), *(each(meaning) for each in define))


class Metric(StrEnum):
    """Every quantity that an observation may hold."""

    _value_: str
    unit: str
    """SI unit; empty for a ratio or a count."""
    label: Label
    definitions: tuple[Definition, ...]

    def __new__(cls, row: Row | str) -> "Metric":
        """Make a member from its row; a name looks up a member instead."""
        assert isinstance(row, Row)
        made = str.__new__(cls, row.name)
        made._value_ = row.name
        made.unit, made.label, made.definitions = row.unit, row.label, row.definitions
        return made

    UTILISATION = Row(
        "utilisation",
        "",
        Label("Utilisation", from_zero=False, most=1.0),
        _station(
            "charged channel time of delivered frames over the window; at most 1",
            share_of_window("charged_ps"),
        ),
    )
    BIT_RATE = Row(
        "bit_rate",
        "bit/s",
        Label("Total bit rate", *_MBPS, from_zero=False),
        _station(
            "utilisation times the line rate: preamble, frame and gap of delivered frames", bit_rate
        ),
    )
    BIT_RATE_SD = Row(
        "bit_rate_sd",
        "bit/s",
        Label("Standard deviation of bit rate", *_MBPS),
        _segment("sample standard deviation of the stations' bit rates", spread(bit_rate)),
    )
    PACKET_RATE = Row(
        "packet_rate",
        "1/s",
        Label("Total packet rate", "packet/s"),
        _station("frames delivered per second, counted at their end", per_second("frames")),
    )
    PACKET_RATE_SD = Row(
        "packet_rate_sd",
        "1/s",
        Label("Standard deviation of packet rate", "packet/s"),
        _segment(
            "sample standard deviation of the stations' packet rates", spread(per_second("frames"))
        ),
    )
    TRANSMISSION_DELAY = Row(
        "transmission_delay",
        "s",
        Label("Transmission delay", *_MS),
        _station(
            "mean time from taking up a frame to the end of its successful attempt",
            mean_s("delay_ps"),
        ),
    )
    TRANSMISSION_DELAY_SD = Row(
        "transmission_delay_sd",
        "s",
        Label("Standard deviation of delay", *_MS),
        _station("sample standard deviation of the transmission delay over frames", delay_sd),
    )
    EXCESS_DELAY = Row(
        "excess_delay",
        "s",
        Label("Excess delay", *_MS),
        _segment(
            "mean transmission delay minus stations x mean charged time of a frame", excess_delay
        ),
    )
    UTILISATION_SD_OVER_MEAN = Row(
        "utilisation_sd_over_mean",
        "",
        Label("Standard deviation of utilisation over mean"),
        _segment("standard deviation of the stations' bit rates over their mean", spread_over_mean),
    )
    OFFERED_RATE = Row(
        "offered_rate",
        "1/s",
        Label("Messages offered", "message/s"),
        _flow(
            "messages offered per second, those dropped by the full queue of their source "
            "included; live: over the whole transmission"
        ),
    )
    MESSAGE_RATE = Row(
        "message_rate",
        "1/s",
        Label("Messages received", "message/s"),
        _flow("messages delivered completely per second"),
    )
    FRAME_RATE = Row(
        "frame_rate",
        "1/s",
        Label("Frames received", "frame/s"),
        _flow("frames per second of delivered messages"),
    )
    GOODPUT = Row(
        "goodput",
        "bit/s",
        Label("Goodput", *_MBPS, from_zero=False),
        _station(
            "bits of delivered frames per second, destination address to FCS", per_second("bits")
        ),
        _flow("bits per second of the frames of delivered messages, destination address to FCS"),
    )
    DATA_RATE = Row(
        "data_rate",
        "bit/s",
        Label("Data rate", *_MBPS),
        _flow(
            "bits of data per second in delivered messages: UDP payload, or what a frame holds "
            "between type and FCS; of a transfer the data of its job"
        ),
    )
    ACCESS_DELAY = Row(
        "access_delay",
        "s",
        Label("Access delay", *_MS),
        _station(
            "mean time from taking up a frame to the start of its successful attempt",
            mean_s("access_ps"),
        ),
    )
    RESPONSE_TIME = Row(
        "response_time",
        "s",
        Label("Response time", *_MS),
        _station(
            "mean time from arrival in the queue to the end of the successful attempt",
            mean_s("response_ps"),
        ),
    )
    DELAY_P50 = _rank("delay", "p50", "transmission delay", _MS, _segment)
    DELAY_P90 = _rank("delay", "p90", "transmission delay", _MS, _segment)
    DELAY_P99 = _rank("delay", "p99", "transmission delay", _MS, _segment)
    DELAY_P999 = _rank("delay", "p999", "transmission delay", _MS, _segment)
    DELAY_MAX = _rank("delay", "max", "transmission delay", _MS, _segment)
    JAIN_INDEX = Row(
        "jain_index",
        "",
        Label("Jain’s fairness index", from_zero=False, most=1.0),
        _segment("Jain's fairness index of the stations' bit rates, 1/n to 1", fairness),
    )
    ATTEMPTS_PER_FRAME = Row(
        "attempts_per_frame",
        "",
        Label("Attempts per frame"),
        _station("attempts ended in the window over frames delivered in it", attempts_per_frame),
    )
    COLLISIONS_PER_FRAME = Row(
        "collisions_per_frame",
        "",
        Label("Collisions per frame"),
        _station("failed attempts over frames delivered", per_frame("collisions")),
    )
    OFFERED_LOAD_G = Row(
        "offered_load_g",
        "",
        Label("Offered load G"),
        _station(
            "sum over stations of the share of line rate each would use alone",
            count("offered_load"),
            is_estimate=False,
        ),
    )
    OFFERED_LOAD_Q = Row(
        "offered_load_q",
        "",
        Label("Offered load Q", "stations"),
        _station(
            "time-average number of stations with a frame in the transmitter",
            share_of_window("waiting_ps"),
            is_estimate=False,
        ),
    )
    LOSS = Row(
        "loss",
        "",
        Label("Loss", *_PERCENT, most=100.0),
        _station(
            "frames dropped or discarded over frames offered (sources) or taken up (saturated)",
            loss,
        ),
        _flow(
            "share of the messages offered in the window (live: sent) that were not delivered "
            "completely, mean over receivers; 0 if no message was dropped and no frame lost, even "
            "if some were under way at the end"
        ),
    )
    DISCARDED = Row(
        "discarded",
        "",
        Label("Frames discarded"),
        _station(
            "frames given up after the attempt limit or a late collision",
            count("discarded"),
            is_estimate=False,
        ),
    )
    ONE_WAY_DELAY = Row(
        "one_way_delay",
        "s",
        Label("One-way delay", *_US),
        _flow(
            "mean time from a message's arrival at its source to the arrival of its last frame at "
            "the receiving application"
        ),
    )
    ONE_WAY_DELAY_P50 = _rank("one_way_delay", "p50", "one-way delay", _US, _flow)
    ONE_WAY_DELAY_P90 = _rank("one_way_delay", "p90", "one-way delay", _US, _flow)
    ONE_WAY_DELAY_P99 = _rank("one_way_delay", "p99", "one-way delay", _US, _flow)
    ONE_WAY_DELAY_P999 = _rank("one_way_delay", "p999", "one-way delay", _US, _flow)
    ONE_WAY_DELAY_MAX = _rank("one_way_delay", "max", "one-way delay", _US, _flow)
    ROUND_TRIP = Row(
        "round_trip",
        "s",
        Label("Round trip", *_US),
        _flow(
            "mean time from a message's arrival at its source to the arrival of the last of its "
            "responses"
        ),
    )
    ROUND_TRIP_P50 = Row(
        "round_trip_p50", "s", Label("Round trip, median", *_US), _flow("median round trip")
    )
    ROUND_TRIP_P90 = _rank("round_trip", "p90", "round trip", _US, _flow)
    ROUND_TRIP_P99 = _rank("round_trip", "p99", "round trip", _US, _flow)
    ROUND_TRIP_P999 = _rank("round_trip", "p999", "round trip", _US, _flow)
    ROUND_TRIP_MAX = _rank("round_trip", "max", "round trip", _US, _flow)
    INTER_ARRIVAL = Row(
        "inter_arrival",
        "s",
        Label("Time between arrivals", *_US),
        _flow("mean time between messages delivered to the same receiver"),
    )
    INTER_ARRIVAL_P50 = _rank("inter_arrival", "p50", "time between arrivals", _US, _flow)
    INTER_ARRIVAL_P90 = _rank("inter_arrival", "p90", "time between arrivals", _US, _flow)
    INTER_ARRIVAL_P99 = _rank("inter_arrival", "p99", "time between arrivals", _US, _flow)
    INTER_ARRIVAL_P999 = _rank("inter_arrival", "p999", "time between arrivals", _US, _flow)
    INTER_ARRIVAL_MAX = _rank("inter_arrival", "max", "time between arrivals", _US, _flow)
    REORDERED = Row(
        "reordered",
        "",
        Label("Messages out of order"),
        _flow(
            "messages delivered after a later one; 0 in a simulation, which has one path between "
            "two hosts and keeps the order on it"
        ),
    )
    DUPLICATES = Row(
        "duplicates",
        "",
        Label("Messages delivered twice"),
        _flow("messages delivered more than once; 0 in a simulation"),
    )
    TIMED_OUT = Row(
        "timed_out",
        "",
        Label("Messages timed out"),
        _flow("messages without all responses before the timeout"),
    )
    MESSAGES = Row(
        "messages",
        "",
        Label("Messages delivered"),
        _flow("messages delivered completely in the window"),
    )
    DROPPED = Row(
        "dropped",
        "",
        Label("Dropped by the source’s full queue"),
        _station(
            "frames dropped by the full queue of their source", count("dropped"), is_estimate=False
        ),
        _flow("messages dropped by the full queue of their source"),
    )
    RESUMED = Row(
        "resumed",
        "",
        Label("Attempt limits passed"),
        _station(
            "frames submitted again after the attempt limit", count("resumed"), is_estimate=False
        ),
    )
    LATE_COLLISIONS = Row(
        "late_collisions",
        "",
        Label("Late collisions"),
        _station(
            "collisions later than one slot time after the attempt began",
            count("late_collisions"),
            is_estimate=False,
        ),
    )
    DAMAGED = Row(
        "damaged",
        "",
        Label("Frames damaged"),
        _station(
            "frames delivered damaged by a collision that their sender did not detect",
            count("damaged"),
            is_estimate=False,
        ),
    )
    FRAMES = Row(
        "frames",
        "",
        Label("Frames delivered"),
        _station("frames delivered in the window", count("frames"), is_estimate=False),
    )
    TIME_FRAME = Row(
        "time_frame",
        "",
        Label("Share of time: frames"),
        _segment(
            "share of channel time carrying frames that succeeded, destination address to FCS",
            share_of_medium(0),
            is_estimate=False,
        ),
    )
    TIME_PREAMBLE = Row(
        "time_preamble",
        "",
        Label("Share of time: preambles"),
        _segment(
            "share of channel time in the preambles of frames that succeeded",
            share_of_medium(1),
            is_estimate=False,
        ),
    )
    TIME_GAP = Row(
        "time_gap",
        "",
        Label("Share of time: gaps"),
        _segment(
            "share of channel time in inter-frame gaps", share_of_medium(2), is_estimate=False
        ),
    )
    TIME_COLLISION = Row(
        "time_collision",
        "",
        Label("Share of time: collisions"),
        _segment(
            "share of channel time in attempts that collided", share_of_medium(3), is_estimate=False
        ),
    )
    TIME_IDLE = Row(
        "time_idle",
        "",
        Label("Share of time: idle"),
        _segment(
            "share of channel time that is idle beyond the gap, propagation included",
            share_of_medium(4),
            is_estimate=False,
        ),
    )
    SAMPLES_OFFERED = Row(
        "samples_offered",
        "",
        Label("Samples offered"),
        _voice("samples made by coders in the window: those delivered, lost and buffered together"),
        _flow_voice(
            "samples made by coders in the window: those delivered, lost and buffered together"
        ),
    )
    SAMPLES_DELIVERED = Row(
        "samples_delivered",
        "",
        Label("Samples delivered"),
        _voice(
            "of the samples made in the window, those in a frame whose transmission ended in it"
        ),
        _flow_voice(
            "of the samples made in the window, those in a packet delivered before the end of the "
            "trial"
        ),
    )
    SAMPLES_LOST = Row(
        "samples_lost",
        "",
        Label("Samples lost"),
        _voice(
            "of the samples made in the window, those displaced from a full buffer by newer ones "
            "in it"
        ),
        _flow_voice(
            "of the samples made in the window, those displaced by newer ones at their host or "
            "lost in the network"
        ),
    )
    SAMPLES_LOST_HOST = Row(
        "samples_lost_host",
        "",
        Label("Samples lost at hosts"),
        _flow_voice(
            "of the samples lost, those displaced by newer ones at their host; the others were "
            "lost in the network"
        ),
    )
    SAMPLES_BUFFERED = Row(
        "samples_buffered",
        "",
        Label("Samples left in buffers"),
        _voice(
            "of the samples made in the window, those still in a buffer at its end, also of a "
            "frame under way"
        ),
        _flow_voice(
            "of the samples made in the window, those still at their host or under way at the end "
            "of the trial"
        ),
    )
    SAMPLE_LOSS = Row(
        "sample_loss",
        "",
        Label("Loss of samples", *_PERCENT, most=100.0),
        _voice(
            "samples lost over samples lost or delivered; what is still in a buffer counts as "
            "neither"
        ),
        _flow_voice(
            "samples lost over samples lost or delivered; those under way count as neither"
        ),
    )
    VOICE_DELAY = Row(
        "voice_delay",
        "s",
        Label("Voice delay", *_MS),
        _voice(
            "mean time from the making of a voice frame's oldest sample to the end of its "
            "transmission, over frames"
        ),
        _flow_voice(
            "mean time from the making of a packet's oldest sample, in the window, to the "
            "packet's arrival at the application, over packets"
        ),
    )
    VOICE_DELAY_P50 = _rank("voice_delay", "p50", "voice delay", _MS, _segment_voice, _flow_voice)
    VOICE_DELAY_P90 = _rank("voice_delay", "p90", "voice delay", _MS, _segment_voice, _flow_voice)
    VOICE_DELAY_P99 = _rank("voice_delay", "p99", "voice delay", _MS, _segment_voice, _flow_voice)
    VOICE_DELAY_P999 = _rank("voice_delay", "p999", "voice delay", _MS, _segment_voice, _flow_voice)
    VOICE_DELAY_MAX = _rank("voice_delay", "max", "voice delay", _MS, _segment_voice, _flow_voice)
    VOICE_DELAY_RATIO_MIN = Row(
        "voice_delay_ratio_min",
        "",
        Label("Smallest station delay over mean", from_zero=False, most=1.0),
        _segment_voice(
            "smallest mean voice delay of a station over the mean of the stations' means"
        ),
    )
    VOICE_DELAY_RATIO_MAX = Row(
        "voice_delay_ratio_max",
        "",
        Label("Largest station delay over mean", from_zero=False),
        _segment_voice(
            "largest mean voice delay of a station over the mean of the stations' means"
        ),
    )
    SAMPLE_DELAY = Row(
        "sample_delay",
        "s",
        Label("Delay of a sample", *_MS),
        _voice("mean voice delay over samples: each frame counts as often as it has samples"),
        _flow_voice(
            "mean voice delay over samples: each packet counts as often as it has samples that "
            "were made in the window"
        ),
    )
    SAMPLE_DELAY_P50 = _rank(
        "sample_delay", "p50", "delay of a sample", _MS, _segment_voice, _flow_voice
    )
    SAMPLE_DELAY_P90 = _rank(
        "sample_delay", "p90", "delay of a sample", _MS, _segment_voice, _flow_voice
    )
    SAMPLE_DELAY_P99 = _rank(
        "sample_delay", "p99", "delay of a sample", _MS, _segment_voice, _flow_voice
    )
    SAMPLE_DELAY_P999 = _rank(
        "sample_delay", "p999", "delay of a sample", _MS, _segment_voice, _flow_voice
    )
    SAMPLE_DELAY_MAX = _rank(
        "sample_delay", "max", "delay of a sample", _MS, _segment_voice, _flow_voice
    )
    VOICE_LOAD = Row(
        "voice_load",
        "",
        Label("Offered voice load"),
        _voice(
            "bits of samples that coders make, silence included and overhead not, over the line "
            "rate; a parameter"
        ),
        _flow_voice(
            "bits of samples that coders make, silence included and overhead not, over the rate "
            "of the slowest link of the path; of all flows the largest sum on any link over its "
            "rate; a parameter"
        ),
    )
    VOICE_UTILISATION = Row(
        "voice_utilisation",
        "",
        Label("Voice utilisation", most=1.0),
        _voice(
            "bits of delivered voice frames without their overhead (but with padding) over the "
            "line rate"
        ),
    )
    LOST_QUEUE = Row(
        "lost_queue",
        "",
        Label("Frames lost in queues"),
        _flow(
            "copies of frames dropped by a full queue of a host stage or an output port, in the "
            "whole trial; responses included; simulation only"
        ),
    )
    LOST_BUFFER = Row(
        "lost_buffer",
        "",
        Label("Frames lost in buffers"),
        _flow(
            "copies of frames dropped by the full buffer of an input port, in the whole trial; "
            "responses included; simulation only"
        ),
    )
    LOST_ATTEMPTS = Row(
        "lost_attempts",
        "",
        Label("Frames given up after collisions"),
        _flow(
            "copies of frames discarded after the attempt limit, in the whole trial; responses "
            "included; simulation only"
        ),
    )
    FILTERED = Row(
        "filtered",
        "",
        Label("Copies filtered"),
        _flow(
            "copies of frames filtered by a switch because the destination is at the port of "
            "arrival, in the whole trial; responses included; simulation only"
        ),
    )
    TRANSFER_RATE = Row(
        "transfer_rate",
        "bit/s",
        Label("Rate of a transfer", *_MBPS),
        _flow(
            "bits of data of a transfer over its flow completion time; of several transfers "
            "together undefined"
        ),
    )
    ACKNOWLEDGEMENT_DELAY = Row(
        "acknowledgement_delay",
        "s",
        Label("From data to acknowledgement", *_US),
        _flow(
            "mean time on the link of the data's sender from the start of a frame of data to the "
            "start of its acknowledgement"
        ),
    )
    RETRANSMITTED = Row(
        "retransmitted",
        "",
        Label("Segments retransmitted"),
        _flow("retransmitted segments of a transfer, both directions"),
    )
    TIMEOUTS = Row(
        "timeouts",
        "",
        Label("Retransmission timeouts"),
        _flow("expiries of a transfer's retransmission timer, at both ends"),
    )
    EXCHANGES = Row(
        "exchanges",
        "",
        Label("Exchanges"),
        _flow("messages with all responses before the timeout; of a file, blocks"),
    )
    IGNORED = Row(
        "ignored",
        "",
        Label("Copies ignored"),
        _flow(
            "copies of frames that reached hosts other than their destination, in the whole "
            "trial; responses included; simulation only"
        ),
    )
    MOUTH_TO_EAR = Row(
        "mouth_to_ear",
        "s",
        Label("Mouth-to-ear delay", *_MS),
        _flow_voice(
            "mouth-to-ear delay with the playout delay that rates best in hindsight: sample, "
            "look-ahead, playout, decoder; of a flow with a codec"
        ),
    )
    SPEECH_LOSS = Row(
        "speech_loss",
        "",
        Label("Samples lost or late", *_PERCENT, most=100.0),
        _flow_voice("samples lost or too late for that playout, over samples lost or delivered"),
    )
    RATING = Row(
        "rating",
        "",
        Label("Rating R", most=100.0),
        _flow_voice(
            "transmission rating R of the E-model (ITU-T G.107) with that delay and that loss; of "
            "all flows undefined unless all have one codec"
        ),
    )
    MOS = Row(
        "mos",
        "",
        Label("Mean opinion score", from_zero=False, most=4.5),
        _flow_voice("mean opinion score by that rating (ITU-T G.107)"),
    )
    CLOCK_DELAY = Row(
        "clock_delay",
        "s",
        Label("One-way delay by unsynchronised clocks", *_US),
        _clock(
            "mean difference of the receiver's clock at a message's arrival and the sender's "
            "clock at its arrival at the source; may be negative"
        ),
    )
    CLOCK_DELAY_P50 = _rank(
        "clock_delay", "p50", "one-way delay by unsynchronised clocks", _US, _clock
    )
    CLOCK_DELAY_P90 = _rank(
        "clock_delay", "p90", "one-way delay by unsynchronised clocks", _US, _clock
    )
    CLOCK_DELAY_P99 = _rank(
        "clock_delay", "p99", "one-way delay by unsynchronised clocks", _US, _clock
    )
    CLOCK_DELAY_P999 = _rank(
        "clock_delay", "p999", "one-way delay by unsynchronised clocks", _US, _clock
    )
    CLOCK_DELAY_MAX = _rank(
        "clock_delay", "max", "one-way delay by unsynchronised clocks", _US, _clock
    )
    SYNCHRONISED_DELAY = Row(
        "synchronised_delay",
        "s",
        Label("One-way delay by synchronised clocks", *_US),
        _synchronised(
            "mean one-way delay as a live test measures it, by clocks synchronised over the "
            "network; may be negative"
        ),
    )
    SYNCHRONISED_DELAY_P50 = _rank(
        "synchronised_delay", "p50", "one-way delay by synchronised clocks", _US, _synchronised
    )
    SYNCHRONISED_DELAY_P90 = _rank(
        "synchronised_delay", "p90", "one-way delay by synchronised clocks", _US, _synchronised
    )
    SYNCHRONISED_DELAY_P99 = _rank(
        "synchronised_delay", "p99", "one-way delay by synchronised clocks", _US, _synchronised
    )
    SYNCHRONISED_DELAY_P999 = _rank(
        "synchronised_delay", "p999", "one-way delay by synchronised clocks", _US, _synchronised
    )
    SYNCHRONISED_DELAY_MAX = _rank(
        "synchronised_delay", "max", "one-way delay by synchronised clocks", _US, _synchronised
    )
    DELAY_ERROR = Row(
        "delay_error",
        "s",
        Label("Largest error of the synchronised delay", *_US),
        _synchronised(
            "maximum absolute error of the synchronised one-way delay; of all flows, the largest"
        ),
    )
    DELAY_UNCERTAINTY = Row(
        "delay_uncertainty",
        "s",
        Label("Stated bound of that error", *_US),
        _synchronised("stated bound of that error; of all flows, the largest"),
    )
    CLOCK_OFFSET = Row(
        "clock_offset",
        "s",
        Label("Offset of the sender’s clock", *_MS),
        _synchronised(
            "offset of the sender's clock from the receiver's in the middle of the window, as "
            "synchronised; of all flows only if one is synchronised"
        ),
    )
    CLOCK_OFFSET_UNCERTAINTY = Row(
        "clock_offset_uncertainty",
        "s",
        Label("Stated bound of the offset’s error", *_US),
        _synchronised("stated bound of the error of that offset"),
    )
    CLOCK_DRIFT = Row(
        "clock_drift",
        "",
        Label("Drift of the sender’s clock", *_PPM),
        _synchronised(
            "relative drift of the sender's clock against the receiver's, as synchronised"
        ),
    )
    CLOCK_DRIFT_UNCERTAINTY = Row(
        "clock_drift_uncertainty",
        "",
        Label("Stated bound of the drift’s error", *_PPM),
        _synchronised("stated bound of the error of that drift"),
    )

    @property
    def group(self) -> Group:
        """The group of its first definition."""
        return self.definitions[0].group

    def meaning(self, *, of_flows: bool = False) -> str:
        """Return what it means, of flows or else of segments if it is of both."""
        return self.definitions[-1 if of_flows else 0].meaning


@cache
def definition_of(metric: Metric, group: Group) -> Definition:
    """Return what a metric means in the trials of a group."""
    return next(found for found in metric.definitions if found.group is group)


def metrics_of(group: Group, *, of_each: bool = False) -> tuple[Metric, ...]:
    """Return the metrics of a group in order; on request only those of stations or flows."""
    return tuple(
        metric
        for metric in Metric
        for found in metric.definitions
        if found.group is group and (found.is_of_each or not of_each)
    )


def percentiles(time: str) -> tuple[Metric, ...]:
    """Return the metrics of a time's percentiles and of its largest value, in rising order."""
    return tuple(Metric(f"{time}_{rank}") for rank in PERCENTILES)


def is_from_histogram(metric: Metric) -> bool:
    """Whether a metric is known to the width of a histogram's bucket only: 0.8% of its value."""
    return metric.rpartition("_")[2] in PERCENTILES
