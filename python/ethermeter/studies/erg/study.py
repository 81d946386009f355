"""The study erg: what is run, how it is judged and shown."""

from ethermeter.presentation import Presentation
from ethermeter.studies.definition import Study
from ethermeter.studies.erg import claims, sections

STUDY = Study(
    package=__package__,
    experiments=(
        *("simplex-100", "router", "wire", "simplex-10", "duplex", "capture", "host-time"),
        "back-pressure",
    ),
    rules=claims.RULES,
    presentation=Presentation(
        title="LAN tests with a UDP generator and sink (ERG, University of Aberdeen), simulated",
        question=(
            "How much UDP data passes from host to host through a switch, a hub and a "
            "router, one way and both ways at once?"
        ),
        lead=(
            "A number is <em>met</em> within 8% where it is predicted, within 3% where a parameter"
            " was fitted to it, or within what its rounding leaves open (the green band); a"
            " statement <em>holds</em> by the rule under its note, which is ours. <em>Fitted</em>"
            " are three times for a fragment, each to one number: of the Sparc, of the Ultra 1, and"
            " of the router. Rates are data of UDP datagrams that came whole. What is offered, 10"
            " Mb/s, is taken to be bits on the wire."
        ),
        omitted=("back-pressure", "capture", "host-time", "router", "wire"),
    ),
    sections=sections.build,
    # A host that captures a link holds it for tenths of a second: shorter runs would be too noisy.
    quick=("phases.transmit='11 s'", "phases.measure='last 10 s'"),
    quick_replications=3,
    measured=claims.measured,
    measured_section=sections.measured,
)
