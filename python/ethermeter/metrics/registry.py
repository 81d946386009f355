"""Metrics: the closed list of quantities that engines report, one row each.

Lengths and times that are *charged* follow the accounting of Boggs, Mogul and Kent (1988, section
3.3): preamble + frame (FCS included) + inter-frame gap.
"""

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, partial

import numpy as np

from ethermeter.metrics import formulas
from ethermeter.metrics.cautions import Caution
from ethermeter.metrics.definition import Definition, EntityKind, Label, Row, Scale
from ethermeter.metrics.formulas import (
    Formula,
    count,
    count_of_medium,
    is_uncertain,
    is_under_way,
    longest_of_nodes,
    mean_of,
    mean_s,
    of_buffers,
    of_medium,
    of_one_clock,
    parameter,
    per_frame,
    per_second,
    rank_of,
    rank_of_medium,
    rank_read,
    rate,
    rating,
    ratio_of,
    share_lost,
    share_of_medium,
    share_of_time,
    spread,
    unfairness,
)

_PERCENT: Scale = ("", "%", 100.0)
_PPM: Scale = ("", "ppm", 1e6)
_STATIONS: Scale = ("", "stations", 1.0)
_BUFFERS: Scale = ("", "buffers", 1.0)
_MS: Scale = ("s", "ms", 1e3)
_US: Scale = ("s", "µs", 1e6)
_MBPS: Scale = ("bit/s", "Mb/s", 1e-6)
_PACKETS: Scale = ("1/s", "packet/s", 1.0)
_FRAMES: Scale = ("1/s", "frame/s", 1.0)
_MESSAGES: Scale = ("1/s", "message/s", 1.0)

_RANKS = {
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "max": "largest",
}
PERCENTILES = tuple(_RANKS)
"""Suffixes of the percentiles of a time and of its largest value, in rising order."""
_OfRank = Callable[[int], Formula]
_TIMES: Mapping[str, tuple[str, Scale, Mapping[EntityKind, _OfRank]]] = {
    "delay": (
        "transmission delay",
        _MS,
        {EntityKind.STATION: partial(rank_of_medium, "transmission_delay")},
    ),
    "access_delay": (
        "access delay",
        _MS,
        {EntityKind.BUS: partial(rank_of_medium, "access_delay")},
    ),
    "attempt_delay": (
        "access delay from the first attempt",
        _MS,
        {EntityKind.BUS: partial(rank_of_medium, "attempt_delay")},
    ),
    "cycle_time": ("cycle time", _US, {EntityKind.BUS: partial(rank_of_medium, "cycle_time")}),
    "one_way_delay": ("one-way delay", _US, {EntityKind.FLOW: partial(rank_of, "one_way")}),
    "round_trip": ("round trip", _US, {EntityKind.FLOW: partial(rank_of, "round_trip")}),
    "inter_arrival": (
        "time between arrivals",
        _US,
        {EntityKind.FLOW: partial(rank_of, "between_arrivals")},
    ),
    "voice_delay": (
        "voice delay",
        _MS,
        {
            EntityKind.TALKER: partial(rank_of_medium, "voice_delay"),
            EntityKind.CALL: partial(rank_of, "voice.voice_delay"),
        },
    ),
    "sample_delay": (
        "delay of a sample",
        _MS,
        {
            EntityKind.TALKER: partial(rank_of_medium, "sample_delay"),
            EntityKind.CALL: partial(rank_of, "voice.sample_delay"),
        },
    ),
    "clock_delay": (
        "one-way delay by unsynchronised clocks",
        _US,
        {EntityKind.CLOCK: partial(rank_read, formulas.READ_DELAY)},
    ),
    "synchronised_delay": (
        "one-way delay by synchronised clocks",
        _US,
        {EntityKind.SYNCHRONISED: partial(rank_read, formulas.SYNCHRONISED_DELAY)},
    ),
}
"""Times that have percentiles: noun, scale, and by kind of entity the formula of each rank."""
_LONGEST = {
    "access_delay": longest_of_nodes("plca.nodes.access_max_ps", "access_delay"),
    "attempt_delay": longest_of_nodes("plca.nodes.attempt_max_ps", "attempt_delay"),
}
"""Times of buses of which the largest is known of each node too."""
_SIGNED = ("clock_delay", "synchronised_delay")
"""Times by two clocks, which may be below zero."""
_SAMPLES = {"round_trip": "completed", "cycle_time": "plca.cycle.count"}
"""Samples of times that are not those of their kind."""
_UNDER_WAY = (Caution.UNDER_WAY, is_under_way)
_UNCERTAIN = (Caution.CLOCK_UNCERTAIN, is_uncertain)


def _rank(name: str) -> Row:
    """Make the row of a percentile, or of the largest value, of a time."""
    time, _, rank = name.rpartition("_")
    noun, scale, kinds = _TIMES[time]
    text, is_largest = _RANKS[rank], rank == "max"
    meaning = f"largest value of the {noun}" if is_largest else f"{text} of the {noun}{_BUCKETS}"
    definitions = tuple(
        Definition(
            kind,
            meaning,
            _LONGEST[time] if is_largest and time in _LONGEST else of_rank(PERCENTILES.index(rank)),
            _SAMPLES.get(time, kind.samples),
            _UNCERTAIN if kind is EntityKind.SYNCHRONISED else None,
        )
        for kind, of_rank in kinds.items()
    )
    title = f"{noun[0].upper()}{noun[1:]}, {text}"
    return Row(name, title, scale, definitions=definitions, is_signed=time in _SIGNED)


_BUCKETS = "; to the width of a histogram bucket, 0.8%, and never outside the values"
"""How well percentiles are known; the largest value is exact."""


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
        made.unit, shown, factor = row.scale
        least = -math.inf if row.is_signed else 0.0
        made.label = Label(row.title, shown, factor, row.from_zero, row.most, row.decimals, least)
        made.definitions = row.definitions
        return made

    UTILISATION = Row("utilisation", "Utilisation", from_zero=False, most=1.0).station(
        "share of the window taken by preambles, frames and gaps of delivered frames; at most 1",
        share_of_time("charged_ps"),
    )
    BIT_RATE = Row("bit_rate", "Total bit rate", _MBPS, from_zero=False).station(
        "utilisation times the line rate: preamble, frame and gap of delivered frames",
        formulas.BIT_RATE,
    )
    BIT_RATE_SD = Row("bit_rate_sd", "Standard deviation of bit rate", _MBPS).station(
        "sample standard deviation of the stations' bit rates", spread(formulas.BIT_RATE)
    )
    PACKET_RATE = Row("packet_rate", "Total packet rate", _PACKETS).station(
        "frames delivered per second, counted at the end of their transmission",
        per_second("frames"),
    )
    PACKET_RATE_SD = Row("packet_rate_sd", "Standard deviation of packet rate", _PACKETS).station(
        "sample standard deviation of the stations' packet rates", spread(per_second("frames"))
    )
    TRANSMISSION_DELAY = Row("transmission_delay", "Transmission delay", _MS).station(
        "mean time from when the transmitter takes up a frame to the end of its successful attempt",
        mean_s("delay_ps"),
    )
    TRANSMISSION_DELAY_SD = Row(
        "transmission_delay_sd", "Standard deviation of delay", _MS
    ).station("sample standard deviation of the transmission delay over frames", formulas.DELAY_SD)
    EXCESS_DELAY = Row("excess_delay", "Excess delay", _MS, is_signed=True).station(
        "mean transmission delay minus the number of stations times the mean time of "
        "preamble, frame and gap",
        formulas.EXCESS_DELAY,
    )
    UTILISATION_SD_OVER_MEAN = Row(
        "utilisation_sd_over_mean", "Standard deviation of utilisation over mean"
    ).station(
        "standard deviation of the stations' bit rates over their mean", formulas.SPREAD_OVER_MEAN
    )
    OFFERED_RATE = Row("offered_rate", "Messages offered", _MESSAGES).flow(
        "messages offered per second, those dropped by the full queue of their source "
        "included; when measured, over the whole transmission",
        formulas.OFFERED_RATE,
        is_exact=True,
    )
    MESSAGE_RATE = Row("message_rate", "Messages received", _MESSAGES).flow(
        "messages delivered completely per second", rate("messages")
    )
    FRAME_RATE = Row("frame_rate", "Frames received", _FRAMES).flow(
        "frames of delivered messages per second", rate("frames")
    )
    GOODPUT = (
        Row("goodput", "Goodput", _MBPS, from_zero=False)
        .station(
            "bits of delivered frames per second, destination address to FCS", per_second("bits")
        )
        .flow(
            "bits per second of the frames of delivered messages, destination address to FCS",
            rate("octets", 8),
        )
    )
    DATA_RATE = Row("data_rate", "Data rate", _MBPS).flow(
        "bits of data per second in delivered messages: UDP payload, or the octets between "
        "type and FCS of a frame; for a transfer, its file or stream",
        formulas.DATA_RATE,
    )
    ACCESS_DELAY = Row("access_delay", "Access delay", _MS).station(
        "mean time from when the transmitter takes up a frame to the start of its "
        "successful attempt; with PLCA it takes up the next one when a frame has left the line, up "
        "to 396 bits after the MAC has sent it",
        mean_s("access_ps"),
    )
    RESPONSE_TIME = Row("response_time", "Response time", _MS).station(
        "mean time from a frame's arrival in the queue to the end of its successful attempt",
        mean_s("response_ps"),
    )
    DELAY_P50 = _rank("delay_p50")
    DELAY_P90 = _rank("delay_p90")
    DELAY_P99 = _rank("delay_p99")
    DELAY_P999 = _rank("delay_p999")
    DELAY_MAX = _rank("delay_max")
    JAIN_INDEX = Row("jain_index", "Jain’s fairness index", from_zero=False, most=1.0).station(
        "Jain's fairness index of the bit rates of n stations, from 1/n (one station "
        "sends) to 1 (equal rates)",
        formulas.FAIRNESS,
    )
    ATTEMPTS_PER_FRAME = Row("attempts_per_frame", "Attempts per frame").station(
        "attempts ended in the window over frames delivered in it", formulas.ATTEMPTS_PER_FRAME
    )
    COLLISIONS_PER_FRAME = Row("collisions_per_frame", "Collisions per frame").station(
        "failed attempts over frames delivered", per_frame("collisions")
    )
    OFFERED_LOAD_G = Row("offered_load_g", "Offered load G").station(
        "sum over stations of the share of the line rate that each would use alone",
        parameter("offered_load"),
        is_exact=True,
    )
    OFFERED_LOAD_Q = Row("offered_load_q", "Offered load Q", _STATIONS).station(
        "time-average number of stations with a frame in the transmitter",
        share_of_time("waiting_ps"),
        is_exact=True,
    )
    OUTPUT_QUEUE = Row("output_queue", "Output queue", _BUFFERS).generator(
        "mean number of buffers in the output queue: filled by the generator, until the host has "
        "served the end of their transmission; of all stations the mean",
        of_buffers("output_ps"),
        is_exact=True,
    )
    TRANSMITTED_QUEUE = Row("transmitted_queue", "Transmitted queue", _BUFFERS).generator(
        "mean number of buffers in the transmitted queue: free for the generator; of all stations "
        "the mean",
        of_buffers("transmitted_ps"),
        is_exact=True,
    )
    GENERATOR_BUSY = Row("generator_busy", "Generator busy", _PERCENT, most=100.0).generator(
        "share of the time in which the generator fills a buffer; it waits in the rest",
        of_buffers("filling_ps"),
        is_exact=True,
    )
    LOSS = (
        Row("loss", "Loss", _PERCENT, most=100.0)
        .station(
            "frames dropped or discarded, over frames offered by sources or taken up by "
            "saturated stations",
            formulas.STATION_LOSS,
        )
        .flow(
            "share of the messages offered in the window (when measured: sent) that were not "
            "delivered completely, mean over receivers; 0 if no message was dropped and no "
            "frame lost, even if some were in transit at the end",
            formulas.FLOW_LOSS,
            samples="offered",
            doubt=_UNDER_WAY,
        )
    )
    DISCARDED = Row("discarded", "Frames discarded").station(
        "frames given up after the attempt limit or a late collision",
        count("discarded"),
        is_exact=True,
    )
    ONE_WAY_DELAY = Row("one_way_delay", "One-way delay", _US).flow(
        "mean time from a message's arrival at its source to the arrival of its last frame "
        "at the receiving application",
        mean_of("one_way"),
    )
    ONE_WAY_DELAY_P50 = _rank("one_way_delay_p50")
    ONE_WAY_DELAY_P90 = _rank("one_way_delay_p90")
    ONE_WAY_DELAY_P99 = _rank("one_way_delay_p99")
    ONE_WAY_DELAY_P999 = _rank("one_way_delay_p999")
    ONE_WAY_DELAY_MAX = _rank("one_way_delay_max")
    ROUND_TRIP = Row("round_trip", "Round trip", _US).flow(
        "mean time from a message's arrival at its source to the arrival of the last of its "
        "responses",
        mean_of("round_trip"),
        samples="completed",
    )
    ROUND_TRIP_P50 = _rank("round_trip_p50")
    ROUND_TRIP_P90 = _rank("round_trip_p90")
    ROUND_TRIP_P99 = _rank("round_trip_p99")
    ROUND_TRIP_P999 = _rank("round_trip_p999")
    ROUND_TRIP_MAX = _rank("round_trip_max")
    INTER_ARRIVAL = Row("inter_arrival", "Time between arrivals", _US).flow(
        "mean time between messages delivered to the same receiver", mean_of("between_arrivals")
    )
    INTER_ARRIVAL_P50 = _rank("inter_arrival_p50")
    INTER_ARRIVAL_P90 = _rank("inter_arrival_p90")
    INTER_ARRIVAL_P99 = _rank("inter_arrival_p99")
    INTER_ARRIVAL_P999 = _rank("inter_arrival_p999")
    INTER_ARRIVAL_MAX = _rank("inter_arrival_max")
    REORDERED = Row("reordered", "Messages out of order").flow(
        "messages delivered after a later one; 0 in a simulation, which has one path between "
        "two hosts and keeps the order on it",
        count("reordered"),
        is_exact=True,
    )
    DUPLICATES = Row("duplicates", "Messages delivered twice").flow(
        "messages delivered again, at every receiver; in a simulation those that are sent again",
        count("duplicates"),
        is_exact=True,
    )
    RESENT = Row("resent", "Messages sent again").flow(
        "messages sent again: requests by their senders, broadcasts by hosts that received them",
        count("resent"),
        is_exact=True,
    )
    TIMED_OUT = Row("timed_out", "Messages timed out").flow(
        "messages without all responses before the timeout", count("timed_out"), is_exact=True
    )
    MESSAGES = Row("messages", "Messages delivered").flow(
        "messages delivered completely in the window", count("messages"), is_exact=True
    )
    DROPPED = (
        Row("dropped", "Dropped by the source’s full queue")
        .station(
            "frames dropped by the full queue of their source", count("dropped"), is_exact=True
        )
        .flow("messages dropped by the full queue of their source", count("dropped"), is_exact=True)
    )
    RESUMED = Row("resumed", "Attempt limits passed").station(
        "frames submitted again after the attempt limit", count("resumed"), is_exact=True
    )
    LATE_COLLISIONS = Row("late_collisions", "Late collisions").station(
        "collisions later than one slot time after the attempt began",
        count("late_collisions"),
        is_exact=True,
    )
    DAMAGED = Row("damaged", "Frames damaged").station(
        "frames delivered damaged by a collision that their sender did not detect",
        count("damaged"),
        is_exact=True,
    )
    FRAMES = Row("frames", "Frames delivered").station(
        "frames delivered in the window", count("frames"), is_exact=True
    )
    TIME_FRAME = Row("time_frame", "Share of time: frames").station(
        "share of channel time carrying frames that succeeded, destination address to FCS",
        share_of_medium("time_ps.frame"),
        is_exact=True,
    )
    TIME_PREAMBLE = Row("time_preamble", "Share of time: preambles").station(
        "share of channel time in the preambles of frames that succeeded",
        share_of_medium("time_ps.preamble"),
        is_exact=True,
    )
    TIME_GAP = Row("time_gap", "Share of time: gaps").station(
        "share of channel time in inter-frame gaps", share_of_medium("time_ps.gap"), is_exact=True
    )
    TIME_COLLISION = Row("time_collision", "Share of time: collisions").station(
        "share of channel time in attempts that collided",
        share_of_medium("time_ps.collision"),
        is_exact=True,
    )
    TIME_IDLE = Row("time_idle", "Share of time: idle").station(
        "share of channel time that is idle beyond the gap, propagation included",
        share_of_medium("time_ps.idle"),
        is_exact=True,
    )
    SAMPLES_OFFERED = (
        Row("samples_offered", "Samples offered")
        .voice(
            "samples made by coders in the window: the sum of those delivered, lost and buffered",
            count("voice.samples"),
            is_exact=True,
        )
        .flow_voice(
            "samples made by coders in the window: the sum of those delivered, lost and buffered",
            count("voice.host.made"),
            is_exact=True,
        )
    )
    SAMPLES_DELIVERED = (
        Row("samples_delivered", "Samples delivered")
        .voice(
            "samples made in the window and contained in a frame whose transmission ended in it",
            count("voice.samples_delivered"),
            is_exact=True,
        )
        .flow_voice(
            "samples made in the window and contained in a packet delivered before the end of "
            "the trial",
            count("voice.delivered"),
            is_exact=True,
        )
    )
    SAMPLES_LOST = (
        Row("samples_lost", "Samples lost")
        .voice(
            "samples made in the window and displaced from a full buffer by newer ones before "
            "its end",
            count("voice.samples_lost"),
            is_exact=True,
        )
        .flow_voice(
            "samples made in the window and displaced by newer ones at their host, or lost in "
            "the network",
            count("voice.samples_lost"),
            is_exact=True,
        )
    )
    SAMPLES_LOST_HOST = Row("samples_lost_host", "Samples lost at hosts").flow_voice(
        "lost samples that newer ones displaced at their host; the network lost the others",
        count("voice.host.lost"),
        is_exact=True,
    )
    SAMPLES_BUFFERED = (
        Row("samples_buffered", "Samples left in buffers")
        .voice(
            "samples made in the window and still in a buffer at its end, those of a frame in "
            "transmission included",
            count("voice.samples_buffered"),
            is_exact=True,
        )
        .flow_voice(
            "samples made in the window and still at their host or in transit at the end of "
            "the trial",
            count("voice.samples_buffered"),
            is_exact=True,
        )
    )
    SAMPLE_LOSS = (
        Row("sample_loss", "Loss of samples", _PERCENT, most=100.0)
        .voice(
            "samples lost over samples lost or delivered; samples still in a buffer count as "
            "neither",
            share_lost("voice.samples_lost", "voice.samples_delivered"),
        )
        .flow_voice(
            "samples lost over samples lost or delivered; samples in transit count as neither",
            share_lost("voice.samples_lost", "voice.delivered"),
        )
    )
    VOICE_DELAY = (
        Row("voice_delay", "Voice delay", _MS)
        .voice(
            "mean time, over frames, from the making of the frame's oldest sample to the end "
            "of its transmission",
            formulas.STATION_VOICE_DELAY,
        )
        .flow_voice(
            "mean time, over packets, from the making of the oldest sample, in the window, to "
            "the packet's arrival at the application",
            mean_of("voice.voice_delay"),
        )
    )
    VOICE_DELAY_P50 = _rank("voice_delay_p50")
    VOICE_DELAY_P90 = _rank("voice_delay_p90")
    VOICE_DELAY_P99 = _rank("voice_delay_p99")
    VOICE_DELAY_P999 = _rank("voice_delay_p999")
    VOICE_DELAY_MAX = _rank("voice_delay_max")
    VOICE_DELAY_RATIO_MIN = Row(
        "voice_delay_ratio_min", "Smallest station delay over mean", from_zero=False, most=1.0
    ).voice(
        "smallest mean voice delay of a station over the mean of the stations' means",
        unfairness(np.fmin),
    )
    VOICE_DELAY_RATIO_MAX = Row(
        "voice_delay_ratio_max", "Largest station delay over mean", from_zero=False
    ).voice(
        "largest mean voice delay of a station over the mean of the stations' means",
        unfairness(np.fmax),
    )
    SAMPLE_DELAY = (
        Row("sample_delay", "Delay of a sample", _MS)
        .voice(
            "mean voice delay over samples: each frame counts as often as it has samples",
            formulas.STATION_SAMPLE_DELAY,
        )
        .flow_voice(
            "mean voice delay over samples: each packet counts as often as it has samples that "
            "were made in the window",
            mean_of("voice.sample_delay"),
        )
    )
    SAMPLE_DELAY_P50 = _rank("sample_delay_p50")
    SAMPLE_DELAY_P90 = _rank("sample_delay_p90")
    SAMPLE_DELAY_P99 = _rank("sample_delay_p99")
    SAMPLE_DELAY_P999 = _rank("sample_delay_p999")
    SAMPLE_DELAY_MAX = _rank("sample_delay_max")
    VOICE_LOAD = (
        Row("voice_load", "Offered voice load")
        .voice(
            "bit rate of the samples that coders make, silence included and overhead excluded, "
            "over the line rate; it follows from the experiment, not from the trial, but for the "
            "time in which stations have calls",
            formulas.STATION_VOICE_LOAD,
            is_exact=True,
        )
        .flow_voice(
            "bit rate of the samples that coders make, silence included and overhead excluded, "
            "over the rate of the slowest link of the path; for all flows, the largest sum on "
            "a link over its rate. It follows from the experiment, not from the trial",
            formulas.VOICE_LOAD,
            is_exact=True,
        )
    )
    VOICE_UTILISATION = Row("voice_utilisation", "Voice utilisation", most=1.0).voice(
        "bit rate of delivered voice frames over the line rate, overhead excluded and "
        "padding included",
        formulas.VOICE_UTILISATION,
    )
    LOST_QUEUE = Row("lost_queue", "Frames lost in queues").flow(
        "copies of frames dropped by a full queue of a host stage or an output port, in the "
        "whole trial; responses included; simulation only",
        count("balance.lost.queue"),
        is_exact=True,
    )
    LOST_BUFFER = Row("lost_buffer", "Frames lost in buffers").flow(
        "copies of frames dropped by the full buffer of an input port, in the whole trial; "
        "responses included; simulation only",
        count("balance.lost.buffer"),
        is_exact=True,
    )
    LOST_ATTEMPTS = Row("lost_attempts", "Frames given up after collisions").flow(
        "copies of frames discarded after the attempt limit, in the whole trial; responses "
        "included; simulation only",
        count("balance.lost.attempts"),
        is_exact=True,
    )
    LOST_DAMAGED = Row("lost_damaged", "Frames damaged on shared segments").flow(
        "copies of frames that reached a port of a shared segment damaged, or while it was down, "
        "in the whole trial; responses included; simulation only",
        count("balance.lost.damaged"),
        is_exact=True,
    )
    FILTERED = Row("filtered", "Copies filtered").flow(
        "copies of frames filtered by a switch because the destination is at the port of "
        "arrival, in the whole trial; responses included; simulation only",
        count("balance.lost.filtered"),
        is_exact=True,
    )
    TRANSFER_RATE = Row("transfer_rate", "Rate of a transfer", _MBPS).flow(
        "bits of data of a transfer over its flow completion time; undefined for several "
        "transfers together",
        formulas.TRANSFER_RATE,
        is_exact=True,
    )
    ACKNOWLEDGEMENT_DELAY = Row("acknowledgement_delay", "From data to acknowledgement", _US).flow(
        "mean time on the link of the data's sender from the start of a frame of data to the "
        "start of its acknowledgement",
        formulas.ACKNOWLEDGEMENT_DELAY,
    )
    RETRANSMITTED = Row("retransmitted", "Segments retransmitted").flow(
        "retransmitted segments of a transfer, in both directions",
        count("transfer.ends.retransmitted.sender", "transfer.ends.retransmitted.receiver"),
        is_exact=True,
    )
    TIMEOUTS = Row("timeouts", "Retransmission timeouts").flow(
        "expiries of a transfer's retransmission timers, at both ends",
        count("transfer.ends.timeouts.sender", "transfer.ends.timeouts.receiver"),
        is_exact=True,
    )
    EXCHANGES = Row("exchanges", "Exchanges").flow(
        "messages with all responses before the timeout; for the transfer of a file, blocks",
        count("completed"),
        is_exact=True,
    )
    IGNORED = Row("ignored", "Copies ignored").flow(
        "copies of frames that reached hosts other than their destination, in the whole "
        "trial; responses included; simulation only",
        count("balance.lost.ignored"),
        is_exact=True,
    )
    MOUTH_TO_EAR = Row("mouth_to_ear", "Mouth-to-ear delay", _MS).flow_voice(
        "mouth-to-ear delay of a flow with a codec: sample, look-ahead, playout and "
        "decoder, with the playout delay that rates best in hindsight",
        rating(0),
    )
    SPEECH_LOSS = Row("speech_loss", "Samples lost or late", _PERCENT, most=100.0).flow_voice(
        "samples lost or too late for the playout delay that rates best, over samples lost "
        "or delivered",
        rating(1),
    )
    RATING = Row("rating", "Rating R", most=100.0).flow_voice(
        "transmission rating R of the E-model (ITU-T G.107) by mouth-to-ear delay and "
        "speech loss; undefined for all flows together unless they have one codec",
        rating(2),
    )
    MOS = Row("mos", "Mean opinion score", from_zero=False, most=4.5, decimals=1).flow_voice(
        "mean opinion score by the transmission rating R (ITU-T G.107)", rating(3)
    )
    CALLS_OFFERED = Row("calls_offered", "Calls offered").caller(
        "calls that came in the window, admitted or not", count("calls.offered"), is_exact=True
    )
    CALLS_REFUSED = Row("calls_refused", "Calls refused").caller(
        "calls that came in the window and were refused, by the rule of admission or because no "
        "station was free",
        count("calls.refused"),
        is_exact=True,
    )
    CALL_REFUSAL = Row("call_refusal", "Share of calls refused", _PERCENT, most=100.0).caller(
        "share of the calls that came in the window that were refused",
        ratio_of("calls.refused", "calls.offered"),
    )
    CALLS = Row("calls", "Calls in progress").caller(
        "time-average number of calls that exist; of a station the share of the time in which it "
        "has one",
        share_of_time("calls.call_ps"),
        is_exact=True,
    )
    OVERDUE = (
        Row("overdue", "Messages after their deadline")
        .due_station(
            "frames delivered in the window whose response time was longer than their deadline",
            count("overdue"),
            is_exact=True,
        )
        .due(
            "messages delivered in the window later than their deadline; simulation only",
            count("overdue"),
            is_exact=True,
        )
    )
    OVERDUE_SHARE = (
        Row("overdue_share", "Share of messages after their deadline", _PERCENT, most=100.0)
        .due_station(
            "share of the delivered frames of stations with a deadline that came later than it",
            ratio_of("overdue", "frames_due"),
        )
        .due(
            "share of the delivered messages of flows with a deadline that came later than it; "
            "lost messages are in the loss; simulation only",
            ratio_of("overdue", "messages_due"),
        )
    )
    DEADLINE_MARGIN = Row(
        "deadline_margin", "Margin to the deadline", _US, from_zero=False, is_signed=True
    ).due(
        "deadline of the flow less its largest one-way delay, below zero if that is longer; by "
        "network calculus less the bound of the delay; for all flows with a deadline the smallest, "
        "unknown if that of one flow is",
        formulas.MARGIN,
    )
    CLOCK_DELAY = Row(
        "clock_delay", "One-way delay by unsynchronised clocks", _US, is_signed=True
    ).clock(
        "mean difference between the receiver's clock at a message's arrival and the "
        "sender's clock at the message's arrival at its source; may be negative",
        mean_of(formulas.READ_DELAY),
    )
    CLOCK_DELAY_P50 = _rank("clock_delay_p50")
    CLOCK_DELAY_P90 = _rank("clock_delay_p90")
    CLOCK_DELAY_P99 = _rank("clock_delay_p99")
    CLOCK_DELAY_P999 = _rank("clock_delay_p999")
    CLOCK_DELAY_MAX = _rank("clock_delay_max")
    SYNCHRONISED_DELAY = Row(
        "synchronised_delay", "One-way delay by synchronised clocks", _US, is_signed=True
    ).synchronised(
        "mean one-way delay as a live test measures it, by clocks synchronised over the "
        "network; may be negative",
        mean_of(formulas.SYNCHRONISED_DELAY),
        doubt=_UNCERTAIN,
    )
    SYNCHRONISED_DELAY_P50 = _rank("synchronised_delay_p50")
    SYNCHRONISED_DELAY_P90 = _rank("synchronised_delay_p90")
    SYNCHRONISED_DELAY_P99 = _rank("synchronised_delay_p99")
    SYNCHRONISED_DELAY_P999 = _rank("synchronised_delay_p999")
    SYNCHRONISED_DELAY_MAX = _rank("synchronised_delay_max")
    DELAY_ERROR = Row("delay_error", "Largest error of the synchronised delay", _US).synchronised(
        "maximum absolute error of the synchronised one-way delay; for all flows, the largest",
        formulas.DELAY_ERROR,
        is_exact=True,
        doubt=_UNCERTAIN,
    )
    DELAY_UNCERTAINTY = Row(
        "delay_uncertainty", "Stated bound of the delay’s error", _US
    ).synchronised(
        "stated bound of the error of the synchronised one-way delay; for all flows, the largest",
        formulas.DELAY_UNCERTAINTY,
        is_exact=True,
        doubt=_UNCERTAIN,
    )
    CLOCK_OFFSET = Row(
        "clock_offset", "Offset of the sender’s clock", _MS, is_signed=True
    ).synchronised(
        "offset of the sender's clock from the receiver's in the middle of the window, as "
        "estimated by synchronisation; for all flows only if one is synchronised",
        of_one_clock("estimate.offset_ns", 1e9),
        is_exact=True,
        doubt=_UNCERTAIN,
    )
    CLOCK_OFFSET_UNCERTAINTY = Row(
        "clock_offset_uncertainty", "Stated bound of the offset’s error", _US
    ).synchronised(
        "stated bound of the error of the estimated clock offset",
        of_one_clock("estimate.uncertainty_ns", 1e9),
        is_exact=True,
        doubt=_UNCERTAIN,
    )
    CLOCK_DRIFT = Row(
        "clock_drift", "Drift of the sender’s clock", _PPM, is_signed=True
    ).synchronised(
        "relative drift of the sender's clock against the receiver's, as estimated by "
        "synchronisation",
        of_one_clock("estimate.drift"),
        is_exact=True,
        doubt=_UNCERTAIN,
    )
    CLOCK_DRIFT_UNCERTAINTY = Row(
        "clock_drift_uncertainty", "Stated bound of the drift’s error", _PPM
    ).synchronised(
        "stated bound of the error of the estimated clock drift",
        of_one_clock("estimate.drift_uncertainty"),
        is_exact=True,
        doubt=_UNCERTAIN,
    )
    ACCESS_DELAY_P50 = _rank("access_delay_p50")
    ACCESS_DELAY_P90 = _rank("access_delay_p90")
    ACCESS_DELAY_P99 = _rank("access_delay_p99")
    ACCESS_DELAY_P999 = _rank("access_delay_p999")
    ACCESS_DELAY_MAX = _rank("access_delay_max")
    ATTEMPT_DELAY = Row("attempt_delay", "Access delay from the first attempt", _MS).bus(
        "mean time from the first attempt of the MAC to send a frame to the start of its "
        "transmission on the line",
        of_medium("plca.access_from_attempt.sum_ps", "plca.access_from_attempt.count"),
    )
    ATTEMPT_DELAY_P50 = _rank("attempt_delay_p50")
    ATTEMPT_DELAY_P90 = _rank("attempt_delay_p90")
    ATTEMPT_DELAY_P99 = _rank("attempt_delay_p99")
    ATTEMPT_DELAY_P999 = _rank("attempt_delay_p999")
    ATTEMPT_DELAY_MAX = _rank("attempt_delay_max")
    CYCLE_TIME = Row("cycle_time", "Cycle time", _US).bus(
        "mean time from one beacon to the next",
        of_medium("plca.cycle.sum_ps", "plca.cycle.count"),
        samples="plca.cycle.count",
    )
    CYCLE_TIME_P50 = _rank("cycle_time_p50")
    CYCLE_TIME_P90 = _rank("cycle_time_p90")
    CYCLE_TIME_P99 = _rank("cycle_time_p99")
    CYCLE_TIME_P999 = _rank("cycle_time_p999")
    CYCLE_TIME_MAX = _rank("cycle_time_max")
    CYCLES = Row("cycles", "Cycles").bus(
        "cycles that ended in the window", count_of_medium("plca.cycle.count"), is_exact=True
    )
    TIME_BEACON = Row("time_beacon", "Share of time: beacons").bus(
        "share of channel time in beacons", share_of_medium("plca.time_ps.beacon"), is_exact=True
    )
    TIME_COMMIT = Row("time_commit", "Share of time: line held").bus(
        "share of channel time in which a node holds the line for its MAC",
        share_of_medium("plca.time_ps.commit"),
        is_exact=True,
    )
    TIME_OPPORTUNITY = Row("time_opportunity", "Share of time: opportunities not used").bus(
        "share of channel time that is silent within cycles",
        share_of_medium("plca.time_ps.opportunity"),
        is_exact=True,
    )
    OPPORTUNITIES = Row("opportunities", "Transmit opportunities").bus(
        "transmit opportunities that ended in the window, by the count of the coordinator",
        count_of_medium("plca.opportunities"),
        is_exact=True,
    )
    OPPORTUNITIES_USED = Row("opportunities_used", "Opportunities used").bus(
        "opportunities of the node in which it sent", count("plca.nodes.used"), is_exact=True
    )
    OPPORTUNITIES_YIELDED = Row("opportunities_yielded", "Opportunities yielded").bus(
        "opportunities of the node that it let pass", count("plca.nodes.yielded"), is_exact=True
    )
    OPPORTUNITIES_MISSED = Row("opportunities_missed", "Opportunities missed").bus(
        "opportunities of the node in which it held the line without sending, or another node sent",
        count("plca.nodes.missed"),
        is_exact=True,
    )
    LOGICAL_COLLISIONS = Row("logical_collisions", "Logical collisions").bus(
        "attempts of the MAC that were answered with a collision, though no bits collided",
        count("plca.nodes.logical_collisions"),
        is_exact=True,
    )
    BURST_FRAMES = Row("burst_frames", "Frames of bursts").bus(
        "frames that followed another frame in the same opportunity",
        count("plca.nodes.burst_frames"),
        is_exact=True,
    )
    BEACONS_LOST = Row("beacons_lost", "Beacons lost").bus(
        "beacons that the node did not receive", count("plca.nodes.beacons_lost"), is_exact=True
    )
    STATUS_CHANGES = Row("status_changes", "Changes of PLCA status").bus(
        "changes of the PLCA status of the node", count("plca.nodes.status_changes"), is_exact=True
    )
    TIME_STATUS_OK = Row("time_status_ok", "Time with PLCA status OK", _PERCENT, most=100.0).bus(
        "share of the window in which the PLCA status of the node was OK; for all nodes, the mean",
        formulas.TIME_STATUS_OK,
        is_exact=True,
    )
    JITTER = Row("jitter", "Jitter", _US).peer(
        "smoothed mean difference of the transit times of successive datagrams (RFC 3550, "
        "section 6.4.1); for several streams, their mean"
    )

    @property
    def kind(self) -> EntityKind:
        """The kind of its first definition."""
        return self.definitions[0].kind

    def meaning(self, entity: str = "") -> str:
        """Return what it means of an entity, "station" or "flow", or of what has it first."""
        of_entity = (found for found in self.definitions if found.kind.entity == entity)
        return next(of_entity, self.definitions[0]).meaning


@cache
def definition_of(metric: Metric, kind: EntityKind) -> Definition:
    """Return what a metric means of a kind of entity."""
    return next(found for found in metric.definitions if found.kind is kind)


def metrics_of(kind: EntityKind, *, of_each: bool = False) -> tuple[Metric, ...]:
    """Return the metrics of a kind in order; on request only those of single entities."""
    return tuple(
        metric
        for metric in Metric
        for found in metric.definitions
        if found.kind is kind and (found.is_of_each or not of_each)
    )


def percentiles(time: str) -> tuple[Metric, ...]:
    """Return the metrics of a time's percentiles and of its largest value, in rising order."""
    return tuple(Metric(f"{time}_{rank}") for rank in PERCENTILES)


def is_from_histogram(metric: Metric) -> bool:
    """Whether a metric is known to the width of a histogram's bucket only: 0.8% of its value."""
    return metric.rpartition("_")[2] in PERCENTILES
