"""The study myths: what is run, how it is judged and shown."""

from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.studies.definition import Study
from ethermeter.studies.myths import claims, sections

STUDY = Study(
    package=__package__,
    experiments=(
        "one-slot",
        "saturated",
        "carrier-sense",
        "collision-detection",
        "assumptions",
        "ring",
        "knees",
        "regime",
    ),
    rules=claims.RULES,
    presentation=Presentation(
        title="Myths about the Ethernet, and what theory and segment say",
        question=(
            "How well do the theories of the Ethernet, among them the one behind its 37%, "
            "predict what a segment does?"
        ),
        lead=(
            "What sections 2.4 and 2.5 of Boggs, Mogul and Kent (1988) say about the theories, held"
            " against the theories themselves and against simulations. A number is <em>met</em>"
            " within 3% or within what the text’s rounding leaves open; a statement <em>holds</em>"
            " by the rule under its note, which is ours. A formula’s value has no interval. Most of"
            " the original papers are not at hand: their models are reconstructions, and a miss may"
            " be the reconstruction’s. Limits that the text leaves open were set in sight of first"
            " trial runs. <em>References</em> are not the text’s: they are about a variant of a"
            " model that we made to see where two peaks could come from."
        ),
        graphs=(
            Metric.UTILISATION,
            Metric.RESPONSE_TIME,
            Metric.TRANSMISSION_DELAY,
            Metric.COLLISIONS_PER_FRAME,
            Metric.OFFERED_LOAD_Q,
        ),
        has_details=False,
    ),
    sections=sections.build,
    # Three replications: knees need them for their intervals.
    quick=("phases.transmit='1.1 s'", "phases.measure='last 1 s'"),
    quick_replications=3,
)
