"""The study boggs1988: what is run, how it is judged and shown."""

from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.studies.boggs1988 import claims, sections
from ethermeter.studies.definition import Study

STUDY = Study(
    package=__package__,
    experiments=(
        "schoch-hupp",
        "queues",
        "pair",
        "i-2",
        "i-1",
        "i-5",
        "i-4",
        "i-3",
        "clusters",
        "cable",
        "storm",
        "low-load",
        "backoff",
        "collapse",
    ),
    rules=claims.RULES,
    presentation=Presentation(
        title="Measured Capacity of an Ethernet (Boggs, Mogul and Kent, 1988), re-measured",
        question=(
            "How much of its 10 Mb/s does an Ethernet carry, how long do frames wait and "
            "how fairly do hosts share, when all of them always have a frame to send?"
        ),
        lead=(
            "A number is <em>met</em> within 3% or within what the text’s rounding leaves open (the"
            " green band); a statement <em>holds</em> by the rule under its note. Two numbers are"
            " differences of two single runs of 10 s, which chance moves by more than their"
            " rounding: they are met also where 95% of such differences lie (the note has the"
            " interval). <em>Fitted</em> numbers set the hosts’ service time; everything else is"
            " predicted."
        ),
        graphs=(
            Metric.BIT_RATE,
            Metric.BIT_RATE_SD,
            Metric.PACKET_RATE,
            Metric.PACKET_RATE_SD,
            Metric.TRANSMISSION_DELAY,
            Metric.TRANSMISSION_DELAY_SD,
            Metric.EXCESS_DELAY,
            Metric.UTILISATION_SD_OVER_MEAN,
        ),
        against_hosts=True,
        # The shortest, the maximal and the longest frame of the study.
        detail_curves=("64 B", "1536 B", "4000 B"),
    ),
    quick=(
        "phases.settle='500 ms'",
        "phases.transmit='2 s'",
        "phases.measure='middle 1 s'",
        "phases.drain='500 ms'",
    ),
    sections=sections.problems,
    measured=claims.measured,
    measured_section=sections.measured,
    # Nine minutes, which decide every claim that the live tests measure.
    subset={
        "long-net": (
            'vary."stations.frames"=["64 B", "512 B", "1536 B", "4000 B"]',
            'vary."stations.count"=[1, 2, 3, 5, 10, 15, 20, 24]',
        ),
        "short-net": (
            'vary."stations.frames"=["64 B", "512 B", "1536 B"]',
            'vary."stations.count"=[5, 10, 20]',
        ),
    },
)
