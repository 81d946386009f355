"""The study gonsalves1982: what is run, how it is judged and shown."""

from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.results.estimates import ENOUGH_REPLICATIONS
from ethermeter.studies.definition import Study
from ethermeter.studies.gonsalves1982 import claims, sections

STUDY = Study(
    package=__package__,
    experiments=(
        "minimum",
        "maximum",
        "rate-70",
        "rate-84",
        "conversations",
        "fairness",
        "overload",
        "duration",
        "fixed",
        "admission",
        "connections",
        "data-load",
        "data-queued",
        "sensitivity-turnaround",
        "sensitivity-arming",
        "sensitivity-clock-error",
        "sensitivity-register",
    ),
    rules=claims.RULES,
    least=ENOUGH_REPLICATIONS,
    presentation=Presentation(
        title="Packet voice on the experimental Ethernet (Gonsalves, 1982), re-simulated",
        question=(
            "How many telephone calls does the experimental 3 Mb/s Ethernet carry, and with "
            "what loss and delay of samples?"
        ),
        lead=(
            "A number is <em>met</em> within 1 host, 3 points of throughput, 10% of a delay, 0.4 ms"
            " of a shortest delay, 3% of anything else, or within what the text’s rounding leaves"
            " open (the green band); a statement <em>holds</em> by the rule under its note, which"
            " is ours. The turnaround time of the hosts is <em>fitted</em> to tables 4.1a and"
            " 4.1b; everything else is <em>re-examined</em>: the waits and the arming time were"
            " read in the text again with all tables in view. D is the mean delay over"
            " samples, from the interval of the oldest sample in their packet to the packet’s end:"
            " the study says over packets, but its delays at losses of 1 and 5% can only be that. T"
            " is the share of the capacity that delivered packets take, without 6 bytes of header"
            " and checksum each; in table 4.2 with them. L is the share of samples lost."
        ),
        graphs=(
            Metric.SAMPLE_DELAY,
            Metric.SAMPLE_DELAY_P99,
            Metric.SAMPLE_LOSS,
            Metric.VOICE_UTILISATION,
            Metric.GOODPUT,
        ),
        detailed=("conversations",),
        table_only=("minimum", "maximum", "rate-70", "rate-84", "fixed"),
        omitted=(
            "overload",
            "duration",
            "sensitivity-turnaround",
            "sensitivity-arming",
            "sensitivity-clock-error",
            "sensitivity-register",
        ),
    ),
    sections=sections.build,
    measured=claims.measured,
    measured_section=sections.measured,
    # Three minutes: where the delay takes off, and where 1 and 5% of the samples are lost.
    subset={
        "maximum": (
            'vary."stations.frames.samples.most"=["64 B", "512 B"]',
            'vary."stations.count"=[16, 17, 18, 20, 21, 23, 24]',
        ),
        "minimum": (
            'vary."stations.frames.samples.least"=["64 B"]',
            'vary."stations.count"=[1, 20, 21, 22, 23, 24, 25, 26, 27, 28]',
        ),
    },
    # Half a second fills the buffers. Three replications: values read off curves need them for
    # their intervals.
    quick=("phases.transmit='1.5 s'", "phases.measure='last 1 s'"),
    quick_replications=3,
)
