"""Main metrics: what reports show, and what comparisons of runs are about."""

from collections.abc import Iterable, Mapping

from ethermeter.faults import choices
from ethermeter.metrics.registry import Metric

USUAL_WORDS: Mapping[str, Metric] = {
    "latency": Metric.ONE_WAY_DELAY,
    "delay": Metric.ONE_WAY_DELAY,
    "owd": Metric.ONE_WAY_DELAY,
    "rtt": Metric.ROUND_TRIP,
    "ping": Metric.ROUND_TRIP,
    "throughput": Metric.GOODPUT,
    "bandwidth": Metric.GOODPUT,
    "bitrate": Metric.DATA_RATE,
    "packet_loss": Metric.LOSS,
    "drops": Metric.DROPPED,
    "retransmits": Metric.RETRANSMITTED,
    "fairness": Metric.JAIN_INDEX,
}
"""Words that others have for metrics, and what they are asked about."""


def metric_choices(given: object, known: Iterable[str], lead: str = "one of ") -> str:
    """Return which metrics are allowed where a name is none of them, as `faults.choices`.

    Examples
    --------
    >>> metric_choices("latency", ["loss", "one_way_delay"])
    'did you mean one_way_delay? One of loss, one_way_delay'

    """
    name, _, rank = str(given).strip("\"'").lower().replace(".", "_").partition("_p")
    word = USUAL_WORDS.get(name)
    if word is None:
        return choices(given, known, lead)
    return choices(f"{word.value}_p{rank}" if rank else word.value, known, lead)


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
    Metric.ATTEMPT_DELAY,
    Metric.ATTEMPT_DELAY_P99,
    Metric.ATTEMPT_DELAY_MAX,
    Metric.CYCLE_TIME,
    Metric.CYCLE_TIME_MAX,
    Metric.LOSS,
    Metric.COLLISIONS_PER_FRAME,
    Metric.OFFERED_LOAD_Q,
    Metric.OUTPUT_QUEUE,
    Metric.TRANSMITTED_QUEUE,
    Metric.GENERATOR_BUSY,
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
    Metric.DROPPED,
    Metric.TRANSFER_RATE,
    Metric.ACKNOWLEDGEMENT_DELAY,
    Metric.RETRANSMITTED,
)
"""What a report on networks shows; of voice where there is some."""

COMPARED: tuple[Metric, ...] = tuple(
    metric
    for metric in Metric
    if metric
    in (
        *MAIN_METRICS,
        *FLOW_MAIN_METRICS,
        *(Metric.BIT_RATE, Metric.BIT_RATE_SD, Metric.PACKET_RATE_SD),
        *(Metric.TRANSMISSION_DELAY_SD, Metric.EXCESS_DELAY, Metric.JITTER),
    )
)
"""What a comparison of two runs shows: the main metrics, rates in bits, and deviations."""

HIGHER_IS_BETTER: tuple[Metric, ...] = (
    *(Metric.UTILISATION, Metric.GOODPUT, Metric.DATA_RATE, Metric.MESSAGE_RATE),
    *(Metric.TRANSFER_RATE, Metric.JAIN_INDEX, Metric.RATING, Metric.MOS),
)
LOWER_IS_BETTER: tuple[Metric, ...] = (
    *(Metric.TRANSMISSION_DELAY, Metric.RESPONSE_TIME, Metric.DELAY_P99),
    *(Metric.ONE_WAY_DELAY, Metric.ONE_WAY_DELAY_P99, Metric.ROUND_TRIP, Metric.ROUND_TRIP_P99),
    *(Metric.LOSS, Metric.TIMED_OUT, Metric.DROPPED, Metric.RETRANSMITTED, Metric.JITTER),
    *(Metric.VOICE_DELAY, Metric.SAMPLE_DELAY, Metric.SAMPLE_LOSS, Metric.OVERDUE_SHARE),
)
"""Metrics of which a change is for the better or the worse, whatever the network."""
