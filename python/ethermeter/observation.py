"""Observations: what an engine saw, as rows of trial · station · metric · value · caution.

The metrics are a closed list; each is defined here once, with its unit and what it counts. Lengths
and times that are *charged* follow the accounting of Boggs, Mogul and Kent (1988, section 3.3):
preamble + frame (FCS included) + inter-frame gap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

WHOLE_SEGMENT = -1
"""Station number of a row that speaks of all stations, or of all flows, together."""


class Caution(StrEnum):
    """Why a value should be looked at before it is trusted; `one-replication` is of a whole run,
    every other of a value.
    """

    BEYOND_ROUND_TRIP = "beyond-round-trip"
    ILLEGAL_FRAME_LENGTH = "illegal-frame-length"
    LATE_COLLISION = "late-collision"
    DAMAGED_FRAMES = "damaged-frames"
    NO_SAMPLES = "no-samples"
    FEW_SAMPLES = "few-samples"
    ONE_REPLICATION = "one-replication"
    UNBOUNDED_QUEUE = "unbounded-queue"
    OUTSIDE_MODEL_RANGE = "outside-model-range"
    OTHER_PROTOCOL = "other-protocol"
    UNDER_WAY = "under-way"
    LATE_SEND = "late-send"
    CLOCK_UNCERTAIN = "clock-uncertain"
    HOST_LIMITED = "host-limited"
    CONSENT_LIMITED = "consent-limited"
    PROCESSORS_TAKEN = "processors-taken"
    CORRELATED_BATCHES = "correlated-batches"

    @property
    def meaning(self) -> str:
        """What is doubtful about the value, and why, in one sentence."""
        return CAUTION_MEANINGS[self]


CAUTION_MEANINGS: dict[Caution, str] = {
    Caution.BEYOND_ROUND_TRIP: "the segment is longer than its slot time allows, so collisions may go unnoticed",
    Caution.ILLEGAL_FRAME_LENGTH: "a frame is shorter or longer than the standard allows",
    Caution.LATE_COLLISION: "collisions happened later than the slot time",
    Caution.DAMAGED_FRAMES: "a sender did not notice its collision, and the damaged frame counts as delivered",
    Caution.NO_SAMPLES: "nothing was delivered or counted, so there is no value",
    Caution.FEW_SAMPLES: "fewer than 30 frames or messages, or fewer exchanges than the experiment wants, are behind the value",
    Caution.ONE_REPLICATION: "fewer than three replications: intervals come from batches within a trial, and do not exist where batches "
    "do not give the value",
    Caution.UNBOUNDED_QUEUE: "an unlimited queue is offered more than its segment or wire carries: delays grow as long as the trial lasts",
    Caution.OUTSIDE_MODEL_RANGE: "the model does not claim to hold at this point",
    Caution.OTHER_PROTOCOL: "the model is of another medium access than the experiment's",
    Caution.UNDER_WAY: "more than 5% of the messages counted as lost were still under way when the trial ended: a longer drain tells",
    Caution.LATE_SEND: "messages left so long after their time that it changes the value: more than 1% of them by a tenth of the time "
    "between messages (times, losses), or one by 1% of the measured window (rates, counts)",
    Caution.CLOCK_UNCERTAIN: "a delay between two clocks whose relation is not known",
    Caution.HOST_LIMITED: "a host, not the network, was at its limit",
    Caution.CONSENT_LIMITED: "the receiver's consent, not the network, held the sender back",
    Caution.PROCESSORS_TAKEN: "the hypervisor took more than 1% of a processor's time while it was measured (CPU steal)",
    Caution.CORRELATED_BATCHES: "fewer than five independent batches: the interval may be too narrow; simulate longer, or replicate",
}
"""One sentence for each caution."""


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric's unit (SI; empty for a ratio or a count), scope and meaning."""

    unit: str
    per_station: bool
    meaning: str
    of_voice: bool = False  # stands only where a station sends voice
    of_flows: bool = False  # stands only in trials of networks, whose stations are flows
    of_flow_voice: bool = False  # of these, only where a flow has a coder
    of_clocks: bool = False  # stands only in simulated trials of networks whose hosts have clocks


class Metric(StrEnum):
    """Every quantity that may stand in an observation."""

    UTILISATION = "utilisation"
    BIT_RATE = "bit_rate"
    BIT_RATE_SD = "bit_rate_sd"
    PACKET_RATE = "packet_rate"
    PACKET_RATE_SD = "packet_rate_sd"
    TRANSMISSION_DELAY = "transmission_delay"
    TRANSMISSION_DELAY_SD = "transmission_delay_sd"
    EXCESS_DELAY = "excess_delay"
    UTILISATION_SD_OVER_MEAN = "utilisation_sd_over_mean"
    GOODPUT = "goodput"
    ACCESS_DELAY = "access_delay"
    RESPONSE_TIME = "response_time"
    DELAY_P50 = "delay_p50"
    DELAY_P90 = "delay_p90"
    DELAY_P99 = "delay_p99"
    DELAY_P999 = "delay_p999"
    DELAY_MAX = "delay_max"
    JAIN_INDEX = "jain_index"
    ATTEMPTS_PER_FRAME = "attempts_per_frame"
    COLLISIONS_PER_FRAME = "collisions_per_frame"
    OFFERED_LOAD_G = "offered_load_g"
    OFFERED_LOAD_Q = "offered_load_q"
    LOSS = "loss"
    DISCARDED = "discarded"
    DROPPED = "dropped"
    RESUMED = "resumed"
    LATE_COLLISIONS = "late_collisions"
    DAMAGED = "damaged"
    FRAMES = "frames"
    TIME_FRAME = "time_frame"
    TIME_PREAMBLE = "time_preamble"
    TIME_GAP = "time_gap"
    TIME_COLLISION = "time_collision"
    TIME_IDLE = "time_idle"
    SAMPLES_OFFERED = "samples_offered"
    SAMPLES_DELIVERED = "samples_delivered"
    SAMPLES_LOST = "samples_lost"
    SAMPLES_BUFFERED = "samples_buffered"
    SAMPLE_LOSS = "sample_loss"
    VOICE_DELAY = "voice_delay"
    VOICE_DELAY_P50 = "voice_delay_p50"
    VOICE_DELAY_P90 = "voice_delay_p90"
    VOICE_DELAY_P99 = "voice_delay_p99"
    VOICE_DELAY_P999 = "voice_delay_p999"
    VOICE_DELAY_MAX = "voice_delay_max"
    VOICE_DELAY_RATIO_MIN = "voice_delay_ratio_min"
    VOICE_DELAY_RATIO_MAX = "voice_delay_ratio_max"
    SAMPLE_DELAY = "sample_delay"
    SAMPLE_DELAY_P50 = "sample_delay_p50"
    SAMPLE_DELAY_P90 = "sample_delay_p90"
    SAMPLE_DELAY_P99 = "sample_delay_p99"
    SAMPLE_DELAY_P999 = "sample_delay_p999"
    SAMPLE_DELAY_MAX = "sample_delay_max"
    VOICE_LOAD = "voice_load"
    VOICE_UTILISATION = "voice_utilisation"
    OFFERED_RATE = "offered_rate"
    MESSAGE_RATE = "message_rate"
    FRAME_RATE = "frame_rate"
    DATA_RATE = "data_rate"
    ONE_WAY_DELAY = "one_way_delay"
    ONE_WAY_DELAY_P50 = "one_way_delay_p50"
    ONE_WAY_DELAY_P90 = "one_way_delay_p90"
    ONE_WAY_DELAY_P99 = "one_way_delay_p99"
    ONE_WAY_DELAY_P999 = "one_way_delay_p999"
    ONE_WAY_DELAY_MAX = "one_way_delay_max"
    ROUND_TRIP = "round_trip"
    ROUND_TRIP_P50 = "round_trip_p50"
    ROUND_TRIP_P90 = "round_trip_p90"
    ROUND_TRIP_P99 = "round_trip_p99"
    ROUND_TRIP_P999 = "round_trip_p999"
    ROUND_TRIP_MAX = "round_trip_max"
    INTER_ARRIVAL = "inter_arrival"
    INTER_ARRIVAL_P50 = "inter_arrival_p50"
    INTER_ARRIVAL_P90 = "inter_arrival_p90"
    INTER_ARRIVAL_P99 = "inter_arrival_p99"
    INTER_ARRIVAL_P999 = "inter_arrival_p999"
    INTER_ARRIVAL_MAX = "inter_arrival_max"
    REORDERED = "reordered"
    DUPLICATES = "duplicates"
    TIMED_OUT = "timed_out"
    MESSAGES = "messages"
    REFUSED = "refused"
    LOST_QUEUE = "lost_queue"
    LOST_BUFFER = "lost_buffer"
    LOST_ATTEMPTS = "lost_attempts"
    FILTERED = "filtered"
    IGNORED = "ignored"
    TRANSFER_RATE = "transfer_rate"
    ACKNOWLEDGEMENT_DELAY = "acknowledgement_delay"
    RETRANSMITTED = "retransmitted"
    TIMEOUTS = "timeouts"
    EXCHANGES = "exchanges"
    SAMPLES_LOST_HOST = "samples_lost_host"
    MOUTH_TO_EAR = "mouth_to_ear"
    SPEECH_LOSS = "speech_loss"
    RATING = "rating"
    MOS = "mos"
    CLOCK_DELAY = "clock_delay"
    CLOCK_DELAY_P50 = "clock_delay_p50"
    CLOCK_DELAY_P90 = "clock_delay_p90"
    CLOCK_DELAY_P99 = "clock_delay_p99"
    CLOCK_DELAY_P999 = "clock_delay_p999"
    CLOCK_DELAY_MAX = "clock_delay_max"
    COMPARED_DELAY = "compared_delay"
    COMPARED_DELAY_P50 = "compared_delay_p50"
    COMPARED_DELAY_P90 = "compared_delay_p90"
    COMPARED_DELAY_P99 = "compared_delay_p99"
    COMPARED_DELAY_P999 = "compared_delay_p999"
    COMPARED_DELAY_MAX = "compared_delay_max"
    DELAY_ERROR = "delay_error"
    DELAY_UNCERTAINTY = "delay_uncertainty"
    CLOCK_AHEAD = "clock_ahead"
    CLOCK_AHEAD_UNCERTAINTY = "clock_ahead_uncertainty"
    CLOCK_DRIFT = "clock_drift"
    CLOCK_DRIFT_UNCERTAINTY = "clock_drift_uncertainty"

    @property
    def definition(self) -> MetricDefinition:
        """What this metric means."""
        return DEFINITIONS[self]


def _each(unit: str, meaning: str) -> MetricDefinition:
    """Define a metric of each station and of the whole segment."""
    return MetricDefinition(unit, per_station=True, meaning=meaning)


def _whole(unit: str, meaning: str) -> MetricDefinition:
    """Define a metric of the whole segment only."""
    return MetricDefinition(unit, per_station=False, meaning=meaning)


def _voice(unit: str, meaning: str) -> MetricDefinition:
    """Define a metric of voice, of each station and of the whole segment; other stations have none
    of it.
    """
    return MetricDefinition(unit, per_station=True, meaning=meaning, of_voice=True)


def _all_voice(unit: str, meaning: str) -> MetricDefinition:
    """Define a metric of voice of the whole segment only."""
    return MetricDefinition(unit, per_station=False, meaning=meaning, of_voice=True)


def _flow(unit: str, meaning: str) -> MetricDefinition:
    """Define a metric of each flow and of all flows together."""
    return MetricDefinition(unit, per_station=True, meaning=meaning, of_flows=True)


def _talk(unit: str, meaning: str) -> MetricDefinition:
    """Define a metric of each flow with a coder and of all such together."""
    return MetricDefinition(unit, per_station=True, meaning=meaning, of_flow_voice=True)


def _clock(unit: str, meaning: str) -> MetricDefinition:
    """Define a metric of each flow, and of all flows together, that is read of their hosts' clocks."""
    return MetricDefinition(unit, per_station=True, meaning=meaning, of_clocks=True)


def _times(
    name: str, of: str, *, define: Callable[[str, str], MetricDefinition] = _flow
) -> dict[Metric, MetricDefinition]:
    """Define the percentiles of a time of flows."""
    words = (
        ("p50", "median"),
        ("p90", "90th percentile of the"),
        ("p99", "99th percentile of the"),
        ("p999", "99.9th percentile of the"),
    )
    found = {Metric(f"{name}_{rank}"): define("s", f"{text} {of}") for rank, text in words}
    return {
        **found,
        Metric(f"{name}_max"): define(
            "s", f"largest {of}; of a simulation, to the width of its histogram bucket"
        ),
    }


DEFINITIONS: dict[Metric, MetricDefinition] = {
    Metric.UTILISATION: _each(
        "", "charged channel time of delivered frames over the window; at most 1"
    ),
    Metric.BIT_RATE: _each(
        "bit/s", "utilisation times the line rate: preamble, frame and gap of delivered frames"
    ),
    Metric.BIT_RATE_SD: _whole("bit/s", "sample standard deviation of the stations' bit rates"),
    Metric.PACKET_RATE: _each("1/s", "frames delivered per second, counted at their end"),
    Metric.PACKET_RATE_SD: _whole("1/s", "sample standard deviation of the stations' packet rates"),
    Metric.TRANSMISSION_DELAY: _each(
        "s", "mean time from the transmitter taking up a frame to the end of its successful attempt"
    ),
    Metric.TRANSMISSION_DELAY_SD: _each(
        "s", "sample standard deviation of the transmission delay over frames"
    ),
    Metric.EXCESS_DELAY: _whole(
        "s", "mean transmission delay minus stations x mean charged time of a frame"
    ),
    Metric.UTILISATION_SD_OVER_MEAN: _whole(
        "", "standard deviation of the stations' bit rates over their mean"
    ),
    Metric.GOODPUT: _each(
        "bit/s", "bits of delivered frames per second, destination address to FCS"
    ),
    Metric.ACCESS_DELAY: _each(
        "s", "mean time from taking up a frame to the start of its successful attempt"
    ),
    Metric.RESPONSE_TIME: _each(
        "s", "mean time from arrival in the queue to the end of the successful attempt"
    ),
    Metric.DELAY_P50: _whole("s", "median transmission delay"),
    Metric.DELAY_P90: _whole("s", "90th percentile of the transmission delay"),
    Metric.DELAY_P99: _whole("s", "99th percentile of the transmission delay"),
    Metric.DELAY_P999: _whole("s", "99.9th percentile of the transmission delay"),
    Metric.DELAY_MAX: _whole(
        "s", "largest transmission delay, to the width of its histogram bucket"
    ),
    Metric.JAIN_INDEX: _whole("", "Jain's fairness index of the stations' bit rates, 1/n to 1"),
    Metric.ATTEMPTS_PER_FRAME: _each(
        "", "attempts ended in the window over frames delivered in it"
    ),
    Metric.COLLISIONS_PER_FRAME: _each("", "failed attempts over frames delivered"),
    Metric.OFFERED_LOAD_G: _each(
        "", "sum over stations of the share of line rate each would use alone"
    ),
    Metric.OFFERED_LOAD_Q: _each(
        "", "time-average number of stations with a frame in the transmitter"
    ),
    Metric.LOSS: _each(
        "", "frames dropped or discarded over frames offered (sources) or taken up (saturated)"
    ),
    Metric.DISCARDED: _each("", "frames given up after the attempt limit or a late collision"),
    Metric.DROPPED: _each("", "frames refused by a full queue"),
    Metric.RESUMED: _each("", "times the attempt limit was passed and the frame handed over again"),
    Metric.LATE_COLLISIONS: _each(
        "", "collisions later than one slot time after the attempt began"
    ),
    Metric.DAMAGED: _each("", "frames overlapped by a transmission their sender did not notice"),
    Metric.FRAMES: _each("", "frames delivered in the window"),
    Metric.TIME_FRAME: _whole(
        "", "share of channel time carrying frames that succeeded, destination address to FCS"
    ),
    Metric.TIME_PREAMBLE: _whole("", "share of channel time in the preambles of these"),
    Metric.TIME_GAP: _whole("", "share of channel time in inter-frame gaps"),
    Metric.TIME_COLLISION: _whole("", "share of channel time in attempts that collided"),
    Metric.TIME_IDLE: _whole("", "the rest: nobody sends, beyond the gap (propagation included)"),
    Metric.SAMPLES_OFFERED: _voice(
        "", "samples made by coders in the window: those delivered, lost and buffered together"
    ),
    Metric.SAMPLES_DELIVERED: _voice(
        "", "of the samples made in the window, those in a frame whose transmission ended in it"
    ),
    Metric.SAMPLES_LOST: _voice(
        "",
        "of the samples made in the window, those that lost their room in a full buffer to newer ones in it",
    ),
    Metric.SAMPLES_BUFFERED: _voice(
        "",
        "of the samples made in the window, those still in a buffer at its end, also of a frame under way",
    ),
    # Not over those offered: what is in a buffer at the end has no fate yet, and counting it as
    # saved would favour short windows.
    Metric.SAMPLE_LOSS: _voice(
        "",
        "samples lost over samples lost or delivered; what is still in a buffer counts as neither",
    ),
    Metric.VOICE_DELAY: _voice(
        "s",
        "mean time from the making of a voice frame's oldest sample to the end of its transmission, over frames",
    ),
    Metric.VOICE_DELAY_P50: _all_voice("s", "median voice delay, over frames"),
    Metric.VOICE_DELAY_P90: _all_voice("s", "90th percentile of the voice delay, over frames"),
    Metric.VOICE_DELAY_P99: _all_voice("s", "99th percentile of the voice delay, over frames"),
    Metric.VOICE_DELAY_P999: _all_voice("s", "99.9th percentile of the voice delay, over frames"),
    Metric.VOICE_DELAY_MAX: _all_voice(
        "s", "largest voice delay, to the width of its histogram bucket"
    ),
    Metric.VOICE_DELAY_RATIO_MIN: _all_voice(
        "", "smallest mean voice delay of a station over the mean of the stations' means"
    ),
    Metric.VOICE_DELAY_RATIO_MAX: _all_voice(
        "", "largest mean voice delay of a station over the mean of the stations' means"
    ),
    Metric.SAMPLE_DELAY: _voice(
        "s", "mean voice delay over samples: each frame counts as often as it has samples"
    ),
    Metric.SAMPLE_DELAY_P50: _all_voice("s", "median voice delay, over samples"),
    Metric.SAMPLE_DELAY_P90: _all_voice("s", "90th percentile of the voice delay, over samples"),
    Metric.SAMPLE_DELAY_P99: _all_voice("s", "99th percentile of the voice delay, over samples"),
    Metric.SAMPLE_DELAY_P999: _all_voice("s", "99.9th percentile of the voice delay, over samples"),
    Metric.SAMPLE_DELAY_MAX: _all_voice(
        "s", "largest voice delay of a sample, to the width of its histogram bucket"
    ),
    Metric.VOICE_LOAD: _voice(
        "",
        "bits of samples that coders make over the line rate, without any overhead and with silence; a parameter",
    ),
    Metric.VOICE_UTILISATION: _voice(
        "",
        "bits of delivered voice frames without their overhead (but with padding) over the line rate",
    ),
    Metric.OFFERED_RATE: _flow(
        "1/s",
        "messages per second that the source offered, those refused by its full queue included",
    ),
    Metric.MESSAGE_RATE: _flow("1/s", "messages per second that came whole to a receiver"),
    Metric.FRAME_RATE: _flow("1/s", "frames per second of these messages"),
    Metric.DATA_RATE: _flow(
        "bit/s",
        "bits of data per second in these messages: of UDP, or of frames between type and check sequence; of a transfer its job's",
    ),
    Metric.ONE_WAY_DELAY: _flow(
        "s",
        "mean time from a message's coming to its source to its last frame's coming to the application",
    ),
    **_times("one_way_delay", "one-way delay"),
    Metric.ROUND_TRIP: _flow(
        "s", "mean time from a message's coming to its source to the last of its answers"
    ),
    **_times("round_trip", "round trip"),
    Metric.INTER_ARRIVAL: _flow("s", "mean time between messages that come to the same receiver"),
    **_times("inter_arrival", "time between messages that come to the same receiver"),
    Metric.REORDERED: _flow("", "messages that came after a later one"),
    Metric.DUPLICATES: _flow("", "messages that came once more"),
    Metric.TIMED_OUT: _flow("", "messages to which not all answers came in time"),
    Metric.MESSAGES: _flow("", "messages that came whole to a receiver in the window"),
    Metric.REFUSED: _flow("", "messages refused by the full queue of their source"),
    Metric.LOST_QUEUE: _flow(
        "",
        "copies of frames that found no room at a stage or at a port out, in the whole trial; answers too",
    ),
    Metric.LOST_BUFFER: _flow(
        "",
        "copies of frames that found no room in the memory of a port in, in the whole trial; answers too",
    ),
    Metric.LOST_ATTEMPTS: _flow(
        "", "copies of frames given up after the attempt limit, in the whole trial; answers too"
    ),
    Metric.FILTERED: _flow(
        "",
        "copies of frames whose destination was where they came from, in the whole trial; answers too",
    ),
    Metric.TRANSFER_RATE: _flow(
        "bit/s", "bits of data of a transfer over the time from its beginning until all were there"
    ),
    Metric.ACKNOWLEDGEMENT_DELAY: _flow(
        "s",
        "mean time on the wire of who sends a transfer's data, from the begin of their first frame to that of its acknowledgement",
    ),
    Metric.RETRANSMITTED: _flow("", "segments of a transfer that had been sent before, both ways"),
    Metric.TIMEOUTS: _flow(
        "", "times that a transfer's retransmission timer ran out, at both ends"
    ),
    Metric.EXCHANGES: _flow("", "messages to which all have answered in time; of a file, blocks"),
    Metric.CLOCK_DELAY: _clock(
        "s",
        "mean of the receiver's clock when a message comes less the sender's clock when it came to its source; may be below zero",
    ),
    **_times("clock_delay", "one-way delay by the clocks as they are", define=_clock),
    Metric.COMPARED_DELAY: _clock(
        "s",
        "mean one-way delay as a live test tells it, by comparing the clocks over the network; may be below zero",
    ),
    **_times("compared_delay", "one-way delay by comparing the clocks", define=_clock),
    Metric.DELAY_ERROR: _clock(
        "s",
        "farthest that a delay by comparing the clocks is from the true one; of all flows, the largest",
    ),
    Metric.DELAY_UNCERTAINTY: _clock(
        "s",
        "how far a delay by comparing the clocks is wrong at most, as it is stated; of all flows, the largest",
    ),
    Metric.CLOCK_AHEAD: _clock(
        "s",
        "how far the sender's clock is ahead of the receiver's in the middle of the window, by comparing them",
    ),
    Metric.CLOCK_AHEAD_UNCERTAINTY: _clock("s", "how far that is wrong at most, as it is stated"),
    Metric.CLOCK_DRIFT: _clock(
        "", "by how much the sender's clock gains on the receiver's, by comparing them"
    ),
    Metric.CLOCK_DRIFT_UNCERTAINTY: _clock("", "how far that is wrong at most, as it is stated"),
    Metric.IGNORED: _flow(
        "",
        "copies of frames that came to hosts for which they were not, in the whole trial; answers too",
    ),
    Metric.SAMPLES_LOST_HOST: _talk(
        "",
        "of the samples lost, those that newer ones replaced at their host; the others were lost on their way",
    ),
    Metric.MOUTH_TO_EAR: _talk(
        "s",
        "delay from mouth to ear with the playout that rates best in hindsight: a sample, look-ahead, delay of the playout, decoder",
    ),
    Metric.SPEECH_LOSS: _talk(
        "",
        "samples that are lost or come after they would have been played, over samples lost or delivered",
    ),
    Metric.RATING: _talk(
        "", "R of the E-model (G.107) with that delay and that loss, of a codec that it knows"
    ),
    Metric.MOS: _talk("", "mean opinion score that this R stands for"),
}

FLOW_DEFINITIONS: dict[Metric, MetricDefinition] = {
    Metric.OFFERED_RATE: DEFINITIONS[Metric.OFFERED_RATE],
    Metric.MESSAGE_RATE: DEFINITIONS[Metric.MESSAGE_RATE],
    Metric.FRAME_RATE: DEFINITIONS[Metric.FRAME_RATE],
    Metric.GOODPUT: _flow("bit/s", "bits of these frames per second, destination address to FCS"),
    Metric.DATA_RATE: DEFINITIONS[Metric.DATA_RATE],
    Metric.LOSS: _flow(
        "",
        "share of the messages offered in the window that never came whole; of several receivers, on average",
    ),
    **{
        metric: definition
        for metric, definition in DEFINITIONS.items()
        if definition.of_flows
        and metric
        not in (Metric.OFFERED_RATE, Metric.MESSAGE_RATE, Metric.FRAME_RATE, Metric.DATA_RATE)
    },
}
"""Every metric of flows, in its order: a closed list beside that of segments, with which it shares
two names.
"""


def _talk_times(name: str, of: str, over: str) -> dict[Metric, MetricDefinition]:
    """Define a delay of voice in a network with its percentiles."""
    words = (
        ("p50", "median"),
        ("p90", "90th percentile of the"),
        ("p99", "99th percentile of the"),
        ("p999", "99.9th percentile of the"),
    )
    found = {Metric(f"{name}_{rank}"): _talk("s", f"{text} {of}, {over}") for rank, text in words}
    return {
        **found,
        Metric(f"{name}_max"): _talk(
            "s", f"largest {of}; of a simulation, to the width of its histogram bucket"
        ),
    }


FLOW_VOICE_DEFINITIONS: dict[Metric, MetricDefinition] = {
    Metric.SAMPLES_OFFERED: _talk(
        "", "samples made by coders in the window: those delivered, lost and buffered together"
    ),
    Metric.SAMPLES_DELIVERED: _talk(
        "",
        "of the samples made in the window, those in a packet that came to its receiver by the end of the trial",
    ),
    Metric.SAMPLES_LOST: _talk(
        "",
        "of the samples made in the window, those replaced by newer ones at their host or lost on their way",
    ),
    Metric.SAMPLES_LOST_HOST: DEFINITIONS[Metric.SAMPLES_LOST_HOST],
    Metric.SAMPLES_BUFFERED: _talk(
        "",
        "of the samples made in the window, those still at their host or on their way when the trial ended",
    ),
    Metric.SAMPLE_LOSS: _talk(
        "",
        "samples lost over samples lost or delivered; what is still on its way counts as neither",
    ),
    Metric.VOICE_DELAY: _talk(
        "s",
        "mean time from the making of a packet's oldest sample, in the window, to the packet's coming to the application, over packets",
    ),
    **_talk_times("voice_delay", "voice delay", "over packets"),
    Metric.SAMPLE_DELAY: _talk(
        "s",
        "mean voice delay over samples: each packet counts as often as it has samples that were made in the window",
    ),
    **_talk_times("sample_delay", "voice delay of a sample", "over samples"),
    Metric.VOICE_LOAD: _talk(
        "",
        "bits of samples that coders make, with silence and without any overhead, over the rate of the slowest wire on the way; of all "
        "flows the largest sum over the rate of any wire; a parameter",
    ),
    Metric.MOUTH_TO_EAR: DEFINITIONS[Metric.MOUTH_TO_EAR],
    Metric.SPEECH_LOSS: DEFINITIONS[Metric.SPEECH_LOSS],
    Metric.RATING: DEFINITIONS[Metric.RATING],
    Metric.MOS: DEFINITIONS[Metric.MOS],
}
"""Every metric of voice in networks, in its order, after those of all flows; most names are those
of segments.
"""
