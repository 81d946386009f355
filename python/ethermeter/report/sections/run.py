"""Run: its claims, its cautions and its provenance."""

from collections.abc import Sequence

from markupsafe import Markup

from ethermeter import quantities
from ethermeter.analysis import failures
from ethermeter.analysis.claims import BAD, CONTRADICTED, GOOD, UNDECIDED, Claim, claims_of_text
from ethermeter.document import Block, Section, Table, Text, micro, number
from ethermeter.report.data import ReportData
from ethermeter.report.experiments import flat
from ethermeter.report.tables import cautions_table, claims_table, code, run_cautions_texts

MOST_MISSED = 3
"""Claims that were not met and are named in a sentence."""


def findings(data: ReportData) -> list[str]:
    """Say how many claims are met, and which are not; nothing without claims."""
    return claim_sentences(data.claims)


def claim_sentences(claims: Sequence[Claim]) -> list[str]:
    """Say how many claims are met, which are not, which are contradicted; nothing of none.

    Only what was published counts.
    """
    published = claims_of_text(claims)
    judged = [claim for claim in published if claim.verdict in GOOD + BAD]
    undecided = [claim for claim in published if claim.verdict == UNDECIDED]
    contradicted = [claim for claim in published if claim.verdict == CONTRADICTED]
    bad = [claim for claim in judged if claim.verdict in BAD]
    predicted = [claim for claim in judged if claim.basis == "predicted"]
    good = sum(claim.verdict in GOOD for claim in predicted)
    found: list[str] = []
    shares = f"{len(judged) - len(bad)} of {len(judged)}"
    of_these = f": {good} of {len(predicted)} predicted" if len(predicted) < len(judged) else ""
    if judged:
        text = Markup("<strong>{}</strong> published claims are met or hold{}.")
        found.append(text.format(shares, of_these))
    if bad:
        texts = "; ".join(map(_missed, bad[:MOST_MISSED]))
        more = f"; and {len(bad) - MOST_MISSED} more" if len(bad) > MOST_MISSED else ""
        found.append(f"Not met: {texts}{more}.")
    if undecided:
        found.append(
            f"Undecided: {len(undecided)}, whose intervals are on both sides of what decides; more"
            " replications narrow them."
        )
    if contradicted:
        texts = "; ".join(micro(f"{claim.what} ({claim.note})") for claim in contradicted)
        found.append(f"Contradicted by the text itself or by arithmetic: {texts}.")
    return found


def _missed(claim: Claim) -> str:
    """Say what was published and what was found; of a statement what was compared."""
    if claim.verdict == "fails" and claim.rule_and_finding:
        return micro(f"{claim.what} ({claim.rule_and_finding})")
    unit = f" {claim.unit}" if claim.unit else ""
    half = (claim.high - claim.low) / 2
    ours = number(claim.ours, half)
    if ours == "–" or claim.published != claim.published:
        return micro(claim.what)
    interval = quantities.interval(claim.ours, half)
    return micro(
        f"{claim.what} ({claim.published:,g}{unit} published, {ours}{interval}{unit} here)"
    )


def warnings(data: ReportData) -> list[str]:
    """Say how many trials failed, and how many claims were not run; nothing if none and all."""
    failed = failures.of_run(data.provenance)
    found = [] if failed is None else [f"{failed}."]
    if count := sum(claim.verdict == "not-run" for claim in data.claims):
        text = "claim was not run" if count == 1 else "claims were not run"
        found.append(f"{count} {text}: nothing is known about what they say.")
    return found


def claims(data: ReportData) -> Section | None:
    """Tabulate what a study published against what the run found; None without a study."""
    if not data.claims:
        return None
    lead = Markup(data.presentation.lead)
    blocks: list[Block] = [Text(lead, "lead"), claims_table(data.claims)]
    return Section("claims", "Claims", "Published claims against this run", blocks)


def cautions(data: ReportData) -> Section:
    """Tabulate every caution with the points that have it."""
    blocks = [
        Text("A point whose value carries a caution is a triangle in the figures."),
        *run_cautions_texts(data.points),
        cautions_table(data.points),
    ]
    return Section("cautions", "Cautions", "Cautions", blocks)


def provenance(data: ReportData) -> Section:
    """Tabulate keys and values of the provenance."""
    shown = {key: value for key, value in data.provenance.items() if key != "sha256"}
    rows = [
        [code(key), code(" ".join(map(str, value)) if isinstance(value, list) else value)]
        for key, value in flat(shown).items()
    ]
    block = (
        Table(("Key", "Value"), rows, "Provenance", "plain")
        if data.provenance
        else Text("The run directory holds no provenance.")
    )
    return Section("provenance", "Provenance", "Provenance", [block])
