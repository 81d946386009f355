"""Sections of the study boggs1988: its live tests, claim by claim."""

from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.analysis.claims import BAD, GOOD, Claim
from ethermeter.document import Section, Text
from ethermeter.report.tables import claims_table

LEAD = Markup(
    "Published and measured in this run, by the rules of the simulated study: a number is "
    "<em>met</em> within 3% or within what the text’s rounding leaves open, a statement "
    "<em>holds</em> by the rule under its note. Frames and hosts are real and the segment is "
    "emulated: its MACs and the service times of the study’s hosts are those of the simulation, "
    "and the hosts always had a frame ready."
)


def measured(claims: Sequence[Claim]) -> Section:
    """Return the claims of the study beside the results of its live tests."""
    judged = [claim for claim in claims if claim.verdict in GOOD + BAD]
    met = sum(claim.verdict in GOOD for claim in judged)
    return Section(
        "study",
        "Study",
        "The study’s claims, measured",
        [
            Text(LEAD, "lead"),
            Text(f"{met} of {len(judged)} claims that this run decides are met or hold."),
            claims_table(claims),
        ],
    )
