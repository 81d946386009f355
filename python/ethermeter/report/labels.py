"""Labels: what a metric is called in a figure, and in which unit it is shown."""

from ethermeter.document import Label
from ethermeter.observation import DEFINITIONS, FLOW_DEFINITIONS, FLOW_VOICE_DEFINITIONS, Metric


def _times(metric: Metric, title: str) -> dict[Metric, Label]:
    """Label a time of flows and its percentiles."""
    ranks = {
        "p50": "median",
        "p90": "90th percentile",
        "p99": "99th percentile",
        "p999": "99.9th percentile",
        "max": "largest",
    }
    found = {
        Metric(f"{metric.value}_{rank}"): Label(f"{title}, {text}", "µs", 1e6)
        for rank, text in ranks.items()
    }
    return {metric: Label(title, "µs", 1e6), **found}


LABELS: dict[Metric, Label] = {
    Metric.UTILISATION: Label("Utilisation", from_zero=False, most=1.0),
    Metric.BIT_RATE: Label("Total bit rate", "Mb/s", 1e-6, from_zero=False),
    Metric.BIT_RATE_SD: Label("Standard deviation of bit rate", "Mb/s", 1e-6),
    Metric.PACKET_RATE: Label("Total packet rate", "packet/s"),
    Metric.PACKET_RATE_SD: Label("Standard deviation of packet rate", "packet/s"),
    Metric.TRANSMISSION_DELAY: Label("Transmission delay", "ms", 1e3),
    Metric.TRANSMISSION_DELAY_SD: Label("Standard deviation of delay", "ms", 1e3),
    Metric.EXCESS_DELAY: Label("Excess delay", "ms", 1e3),
    Metric.UTILISATION_SD_OVER_MEAN: Label("Standard deviation of utilisation over mean"),
    Metric.GOODPUT: Label("Goodput", "Mb/s", 1e-6, from_zero=False),
    Metric.ACCESS_DELAY: Label("Access delay", "ms", 1e3),
    Metric.RESPONSE_TIME: Label("Response time", "ms", 1e3),
    Metric.DELAY_P50: Label("Transmission delay, median", "ms", 1e3),
    Metric.DELAY_P90: Label("Transmission delay, 90th percentile", "ms", 1e3),
    Metric.DELAY_P99: Label("Transmission delay, 99th percentile", "ms", 1e3),
    Metric.DELAY_P999: Label("Transmission delay, 99.9th percentile", "ms", 1e3),
    Metric.DELAY_MAX: Label("Transmission delay, largest", "ms", 1e3),
    Metric.JAIN_INDEX: Label("Jain’s fairness index", from_zero=False, most=1.0),
    Metric.ATTEMPTS_PER_FRAME: Label("Attempts per frame"),
    Metric.COLLISIONS_PER_FRAME: Label("Collisions per frame"),
    Metric.OFFERED_LOAD_G: Label("Offered load G"),
    Metric.OFFERED_LOAD_Q: Label("Offered load Q", "stations"),
    Metric.LOSS: Label("Loss", "%", 100.0, most=100.0),
    Metric.DISCARDED: Label("Frames discarded"),
    Metric.DROPPED: Label("Frames dropped"),
    Metric.RESUMED: Label("Attempt limits passed"),
    Metric.LATE_COLLISIONS: Label("Late collisions"),
    Metric.DAMAGED: Label("Frames damaged"),
    Metric.FRAMES: Label("Frames delivered"),
    Metric.TIME_FRAME: Label("Share of time: frames"),
    Metric.TIME_PREAMBLE: Label("Share of time: preambles"),
    Metric.TIME_GAP: Label("Share of time: gaps"),
    Metric.TIME_COLLISION: Label("Share of time: collisions"),
    Metric.TIME_IDLE: Label("Share of time: idle"),
    Metric.SAMPLES_OFFERED: Label("Samples offered"),
    Metric.SAMPLES_DELIVERED: Label("Samples delivered"),
    Metric.SAMPLES_LOST: Label("Samples lost"),
    Metric.SAMPLES_BUFFERED: Label("Samples left in buffers"),
    Metric.SAMPLE_LOSS: Label("Loss of samples", "%", 100.0, most=100.0),
    Metric.VOICE_DELAY: Label("Voice delay", "ms", 1e3),
    Metric.VOICE_DELAY_P50: Label("Voice delay, median", "ms", 1e3),
    Metric.VOICE_DELAY_P90: Label("Voice delay, 90th percentile", "ms", 1e3),
    Metric.VOICE_DELAY_P99: Label("Voice delay, 99th percentile", "ms", 1e3),
    Metric.VOICE_DELAY_P999: Label("Voice delay, 99.9th percentile", "ms", 1e3),
    Metric.VOICE_DELAY_MAX: Label("Voice delay, largest", "ms", 1e3),
    Metric.VOICE_DELAY_RATIO_MIN: Label(
        "Smallest station delay over mean", from_zero=False, most=1.0
    ),
    Metric.VOICE_DELAY_RATIO_MAX: Label("Largest station delay over mean", from_zero=False),
    Metric.SAMPLE_DELAY: Label("Delay of a sample", "ms", 1e3),
    Metric.SAMPLE_DELAY_P50: Label("Delay of a sample, median", "ms", 1e3),
    Metric.SAMPLE_DELAY_P90: Label("Delay of a sample, 90th percentile", "ms", 1e3),
    Metric.SAMPLE_DELAY_P99: Label("Delay of a sample, 99th percentile", "ms", 1e3),
    Metric.SAMPLE_DELAY_P999: Label("Delay of a sample, 99.9th percentile", "ms", 1e3),
    Metric.SAMPLE_DELAY_MAX: Label("Delay of a sample, largest", "ms", 1e3),
    Metric.VOICE_LOAD: Label("Offered voice load"),
    Metric.VOICE_UTILISATION: Label("Voice utilisation", most=1.0),
    Metric.OFFERED_RATE: Label("Messages offered", "message/s"),
    Metric.MESSAGE_RATE: Label("Messages received", "message/s"),
    Metric.FRAME_RATE: Label("Frames received", "frame/s"),
    Metric.DATA_RATE: Label("Data rate", "Mb/s", 1e-6),
    **_times(Metric.ONE_WAY_DELAY, "One-way delay"),
    **_times(Metric.ROUND_TRIP, "Round trip"),
    **_times(Metric.INTER_ARRIVAL, "Time between arrivals"),
    **_times(Metric.CLOCK_DELAY, "One-way delay by the clocks as they are"),
    **_times(Metric.COMPARED_DELAY, "One-way delay by comparing clocks"),
    Metric.DELAY_ERROR: Label("Largest error of a delay by comparing clocks", "µs", 1e6),
    Metric.DELAY_UNCERTAINTY: Label("Stated bound of that error", "µs", 1e6),
    Metric.CLOCK_AHEAD: Label("Sender’s clock ahead", "ms", 1e3),
    Metric.CLOCK_AHEAD_UNCERTAINTY: Label("Stated bound of what the clock is ahead", "µs", 1e6),
    Metric.CLOCK_DRIFT: Label("Drift of the sender’s clock", "ppm", 1e6),
    Metric.CLOCK_DRIFT_UNCERTAINTY: Label("Stated bound of the drift", "ppm", 1e6),
    Metric.REORDERED: Label("Messages out of order"),
    Metric.DUPLICATES: Label("Messages twice"),
    Metric.TIMED_OUT: Label("Messages not answered in time"),
    Metric.TRANSFER_RATE: Label("Rate of the whole transfer", "Mb/s", 1e-6),
    Metric.ACKNOWLEDGEMENT_DELAY: Label("From data to acknowledgement", "µs", 1e6),
    Metric.RETRANSMITTED: Label("Segments sent again"),
    Metric.TIMEOUTS: Label("Retransmission timeouts"),
    Metric.EXCHANGES: Label("Exchanges"),
    Metric.MESSAGES: Label("Messages counted"),
    Metric.REFUSED: Label("Messages refused by the source’s queue"),
    Metric.LOST_QUEUE: Label("Frames lost in queues"),
    Metric.LOST_BUFFER: Label("Frames lost in memories"),
    Metric.LOST_ATTEMPTS: Label("Frames given up after collisions"),
    Metric.FILTERED: Label("Copies filtered"),
    Metric.IGNORED: Label("Copies ignored"),
    Metric.SAMPLES_LOST_HOST: Label("Samples lost at hosts"),
    Metric.MOUTH_TO_EAR: Label("Delay from mouth to ear", "ms", 1e3),
    Metric.SPEECH_LOSS: Label("Samples lost or late", "%", 100.0, most=100.0),
    Metric.RATING: Label("Rating R", most=100.0),
    Metric.MOS: Label("Mean opinion score", from_zero=False, most=4.5),
}

STUDY_GRAPHS: tuple[Metric, ...] = (
    Metric.BIT_RATE,
    Metric.BIT_RATE_SD,
    Metric.PACKET_RATE,
    Metric.PACKET_RATE_SD,
    Metric.TRANSMISSION_DELAY,
    Metric.TRANSMISSION_DELAY_SD,
    Metric.EXCESS_DELAY,
    Metric.UTILISATION_SD_OVER_MEAN,
)
"""The eight graphs of a page of the 1988 study's appendix, in its order."""

VOICE_GRAPHS: tuple[Metric, ...] = (
    Metric.VOICE_DELAY,
    Metric.SAMPLE_DELAY,
    Metric.SAMPLE_LOSS,
    Metric.VOICE_UTILISATION,
)
"""What is drawn against offered voice load too, as figures 4.1 to 4.10 of Gonsalves (1982) are."""

MAIN_METRICS: tuple[Metric, ...] = (
    Metric.VOICE_LOAD,
    *VOICE_GRAPHS,
    Metric.SAMPLE_DELAY_P99,
    Metric.VOICE_DELAY_RATIO_MIN,
    Metric.VOICE_DELAY_RATIO_MAX,
    Metric.UTILISATION,
    Metric.GOODPUT,
    Metric.PACKET_RATE,
    Metric.TRANSMISSION_DELAY,
    Metric.RESPONSE_TIME,
    Metric.DELAY_P99,
    Metric.LOSS,
    Metric.COLLISIONS_PER_FRAME,
    Metric.OFFERED_LOAD_Q,
    Metric.JAIN_INDEX,
    Metric.UTILISATION_SD_OVER_MEAN,
)
"""What a report on any other run shows; of voice where there is some."""

FLOW_MAIN_METRICS: tuple[Metric, ...] = (
    Metric.VOICE_LOAD,
    Metric.SAMPLE_LOSS,
    Metric.VOICE_DELAY,
    Metric.SAMPLE_DELAY,
    Metric.SAMPLE_DELAY_P99,
    Metric.MOUTH_TO_EAR,
    Metric.SPEECH_LOSS,
    Metric.RATING,
    Metric.MOS,
    Metric.MESSAGE_RATE,
    Metric.GOODPUT,
    Metric.DATA_RATE,
    Metric.LOSS,
    Metric.ROUND_TRIP,
    Metric.ROUND_TRIP_P99,
    Metric.ONE_WAY_DELAY,
    Metric.ONE_WAY_DELAY_P99,
    Metric.INTER_ARRIVAL,
    Metric.INTER_ARRIVAL_P99,
    Metric.REORDERED,
    Metric.DUPLICATES,
    Metric.TIMED_OUT,
    Metric.REFUSED,
    Metric.TRANSFER_RATE,
    Metric.ACKNOWLEDGEMENT_DELAY,
    Metric.RETRANSMITTED,
)
"""What a report on networks shows; of voice where there is some."""

TIME_KINDS: dict[Metric, str] = {
    Metric.TIME_FRAME: "frames",
    Metric.TIME_PREAMBLE: "preambles",
    Metric.TIME_GAP: "gaps",
    Metric.TIME_COLLISION: "collisions",
    Metric.TIME_IDLE: "idle",
}

KEY_TITLES: dict[str, str] = {
    "stations.count": "Number of hosts",
    "engine": "Engine",
    "voice_load": "Offered voice load",
    "segment.deaf": "Deaf time",
    "stations": "Stations",
    "position": "Position along the cable",
    "segment.rate": "Line rate",
    "segment.length": "Length of the cable",
    "segment.round_trip": "Round trip",
    "segment.clusters": "Clusters",
    "segment.gap_part1": "First part of the gap",
    "phases.settle": "Time to settle",
    "phases.transmit": "Time of transmission",
    "phases.drain": "Time to drain",
}
"""Titles of keys that are varied often."""

STATION_TITLES: dict[str, str] = {
    "count": "Number of stations",
    "frames": "Frame length",
    "arrivals": "Arrivals",
    "arrivals.poisson": "Arrivals",
    "arrivals.poisson_load": "Offered load",
    "arrivals.regular": "Time between arrivals",
    "arrivals.phase": "Time of the first arrival",
    "arrivals.coder.sample": "Size of a sample",
    "arrivals.coder.every": "Time between samples",
    "arrivals.coder.rate": "Coder rate",
    "arrivals.coder.talk": "Mean talk",
    "arrivals.coder.silence": "Mean silence",
    "frames.samples.least": "Least frame length",
    "frames.samples.most": "Largest frame length",
    "frames.samples.overhead": "Overhead of a frame",
    "service": "Service time",
    "queue": "Room in the queue",
    "priority_wait": "Priority wait",
    "backoff": "Backoff",
    "backoff.exponential.limit": "Backoff limit",
    "backoff.linear.limit": "Backoff limit",
    "backoff.load_register.bits": "Bits of the load register",
    "backoff.load_register.clock": "Time of a clock tick",
    "attempt_limit": "Attempt limit",
    "per_cluster": "Stations in each cluster",
    "position": "Position",
    "cluster": "Cluster",
}
"""Titles of the keys of a group of stations."""


NETWORK_TITLES: dict[str, str] = {
    "hosts.count": "Number of hosts",
    "hosts.clock.offset": "Offset of the clock",
    "hosts.clock.drift": "Drift of the clock",
    "hosts.clock.offset_spread": "Spread of the clocks’ offsets",
    "hosts.clock.drift_spread": "Spread of the clocks’ drifts",
    "clocks": "Clocks",
    "links.rate": "Rate of the link",
    "links.delay": "Delay of the link",
    "links.length": "Length of the link",
    "hosts.model": "Model of the host",
    "switches.model": "Model of the switch",
    "switches.fabric": "Fabric of the switch",
    "routers.model": "Model of the router",
    "switches.queue": "Room at each port of the switch",
    "switches.queue_size": "Room at each port of the switch",
    "switches.overlap": "Octets before the switch sends on",
    "switches.buffer.size": "Memory of each port of the switch",
    "switches.buffer.pause.high": "Memory at which PAUSE is sent",
    "routers.queue": "Room at each port of the router",
    "rate": "Rate of links",
}
"""Titles of keys of networks, without names and numbers."""

FLOW_TITLES: dict[str, str] = {
    **{
        key: STATION_TITLES[key]
        for key in ("frames", "arrivals", "arrivals.poisson_load", "service", "queue")
    },
    "data": "Data of a datagram",
    "arrivals.poisson": "Messages a second",
    "arrivals.regular": "Spacing of messages",
    "arrivals.phase": "Time of the first message",
    "arrivals.on_off.period": "Spacing of messages while on",
    "response.frames": "Frame length of the answer",
    "response.data": "Data of the answer",
    "response.think": "Time to answer",
    "response.timeout": "Patience",
    "response.exchanges": "Exchanges wanted",
    "cast": "Addressed as",
}
"""Titles of the keys of a flow."""


def _network_title(rest: str) -> str | None:
    """Return the title of a key of a network without the name or number of what it is of, and that
    in brackets.
    """
    if rest in NETWORK_TITLES:
        return NETWORK_TITLES[rest]
    kind, _, after = rest.partition(".")
    which, _, leaf = after.partition(".")
    title = NETWORK_TITLES.get(f"{kind}.{leaf}")
    return title and (title if which.isdigit() or which == "*" else f"{title} ({which})")


def key_title(key: str) -> str:
    """Return the title of a varied key; a key that is not known is its own title.

    Examples
    --------
    >>> key_title("stations.count"), key_title("stations.frames"), key_title("stations.pupils.count")
    ('Number of hosts', 'Frame length', 'Number of stations (pupils)')
    >>> key_title("stations.0.arrivals.poisson_load"), key_title("segment.preamble")
    ('Offered load', 'segment.preamble')
    >>> key_title("network.hosts.sender.count"), key_title("flows.load.frames")
    ('Number of hosts (sender)', 'Frame length (load)')
    """
    if key in KEY_TITLES:
        return KEY_TITLES[key]
    top, _, rest = key.partition(".")
    if top == "network":
        return _network_title(rest) or key
    titles = {"stations": STATION_TITLES, "flows": FLOW_TITLES}.get(top, {})
    if rest in titles:
        return titles[rest]
    group, _, leaf = rest.partition(".")
    if leaf not in titles:
        return key
    return titles[leaf] if group.isdigit() or group == "*" else f"{titles[leaf]} ({group})"


def meaning(metric: Metric, *, of_flows: bool = False) -> str:
    """Say what the metric counts, as a sentence."""
    of_network = {**FLOW_DEFINITIONS, **FLOW_VOICE_DEFINITIONS}
    text = (of_network if of_flows else DEFINITIONS)[metric].meaning
    return text[0].upper() + text[1:] + "."
