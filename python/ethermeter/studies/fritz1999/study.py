"""The study fritz1999: what is run, how it is judged and shown."""

from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.studies.definition import Study
from ethermeter.studies.fritz1999 import claims, sections

STUDY = Study(
    package=__package__,
    experiments=("copies", "remedies", "jumbo", "window", "memory", "ahead", "ipx", "chain", "ftp"),
    rules=claims.RULES,
    presentation=Presentation(
        title="Gigabit choke points (Fritz, 1999), simulated",
        question=(
            "What limits the copying of files over Gigabit Ethernet, when it is no longer "
            "the network?"
        ),
        lead=(
            "On Fast Ethernet one host time of each pair is <em>fitted</em>, so that these numbers"
            " say nothing; everything else is predicted. A number on Gigabit Ethernet is"
            " <em>met</em> within 15%, which was set before anything was simulated; a statement"
            " <em>holds</em> by the rule under its note, which is ours. The article does not"
            " describe its computers: what stack and bus cost is what others measured on computers"
            " of the time, as the parameters below say. There is no chance in these simulations,"
            " and so no interval."
        ),
        graphs=(Metric.TRANSFER_RATE, Metric.ACKNOWLEDGEMENT_DELAY),
        has_details=False,
        omitted=("copies", "remedies", "jumbo", "window", "memory", "ahead", "ipx", "chain", "ftp"),
    ),
    sections=sections.build,
    # A quick run is the whole study: it takes seconds, and nothing in it is random.
)
