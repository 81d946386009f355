"""Failures: trials that were not measured to their end, and are in no estimate."""

from collections import Counter
from collections.abc import Mapping

from ethermeter.store.integrity import failed_in

MOST_REASONS = 3
"""Reasons that a sentence names; the provenance has all."""


def of_run(provenance: Mapping[str, object]) -> str | None:
    """Say how many trials of a run failed, and why; None if none did.

    Examples
    --------
    >>> of_run({"trials": 4, "failed": {"x/00001": "agent b was lost"}})
    '1 of 4 trials failed and is in no estimate: agent b was lost'
    >>> of_run({"trials": 4})

    """
    failed = failed_in(provenance)
    if not failed:
        return None
    reasons = Counter(failed.values()).most_common()
    texts = [f"{why} ({count})" if len(reasons) > 1 else why for why, count in reasons]
    if len(texts) > MOST_REASONS:
        texts[MOST_REASONS:] = [f"{len(texts) - MOST_REASONS} other reasons"]
    verb = "is" if len(failed) == 1 else "are"
    return (
        f"{len(failed)} of {provenance.get('trials')} trials failed and {verb} in no estimate: "
        + "; ".join(texts)
    )
