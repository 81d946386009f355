"""Claims: published numbers and statements beside ours."""

import math
from collections.abc import Iterator, Sequence

from ethermeter import quantities
from ethermeter.analysis.claims import CONTRADICTED, UNDECIDED, Claim
from ethermeter.blocks import Table, Text


def claims(found: Sequence[Claim]) -> Iterator[Table | Text]:
    """Lay out every claim of a study with its verdict."""
    rows = [
        [
            claim.id,
            quantities.in_scale(claim.published, math.nan, quantities.Scale(claim.unit)),
            "" if claim.is_statement else _band(claim),
            quantities.with_ends(claim.ours, claim.low, claim.high, quantities.Scale(claim.unit)),
            claim.basis,
            claim.verdict,
        ]
        for claim in found
    ]
    head = ["claim", "published", "met", "ours", "basis", "verdict"]
    yield Table(head, rows, "Published claims against this run")
    for claim in found:
        # The numbers beside a statement do not decide it.
        if claim.is_statement and claim.verdict in _VERBS:
            yield Text(
                f"{claim.id} {_VERBS[claim.verdict]}: {claim.what}; {claim.rule_and_finding}"
            )


def _band(claim: Claim) -> str:
    """Write the values of ours that meet the published number."""
    low, high = claim.band
    # A digit more than the width asks for: ours may be close to an end.
    half = (high - low) / 20
    return f"{quantities.number(low, half)} to {quantities.number(high, half)}"


_VERBS = {"fails": "fails", UNDECIDED: "is undecided", CONTRADICTED: "is contradicted"}


def measured_claims(found: Sequence[Claim], study: str | None) -> Iterator[Table | Text]:
    """Lay out the published numbers of measured points, and count the others."""
    measured = [claim for claim in found if claim.verdict != "not-run"]
    if measured:
        yield from claims(measured)
    if others := len(found) - len(measured):
        yield Text(
            f"{others} published numbers of {study} are of tests or points that were not measured"
        )
