"""Rows of the tables: our station and a peer in turns, their medians, ratios and targets."""

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benches.children import ChildError

TARGET = 1.0
"""Least median ratio to an equally good peer."""


class Rows:
    """Measures rows of tables, ours and theirs in turns."""

    def __init__(self, rounds: int, follow: Callable[[str], None]) -> None:
        self._rounds = rounds
        self._follow = follow

    def measure(
        self,
        what: str,
        peer: str,
        ours: Callable[[], dict[str, float]],
        theirs: Callable[[], dict[str, float]] | None,
        *,
        target: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Measure one row: `target` names the keys whose ratios are judged."""
        missing = bool(peer) and shutil.which(peer) is None
        status = "not installed" if missing else "measured"
        of_ours: list[dict[str, float]] = []
        of_theirs: list[dict[str, float]] = []
        for turn in range(self._rounds):
            self._follow(
                f"{' beside '.join(filter(None, (what, peer)))}, {turn + 1} of {self._rounds}"
            )
            try:
                of_ours.append(ours())
                if theirs is not None and not missing:
                    of_theirs.append(theirs())
            except ChildError as error:
                status = f"failed: {error}"
                break
        row = {"what": what, "peer": peer, "status": status, **compared(of_ours, of_theirs)}
        return row | {"met": met(row["ratio"], target)}


def compared(
    ours: Sequence[dict[str, float]], theirs: Sequence[dict[str, float]]
) -> dict[str, Any]:
    """Compare runs round by round.

    Parameters
    ----------
    ours, theirs
        Figures of each run, by key, in the order in which the runs took turns. A last round without
        a partner has no ratio.

    Returns
    -------
    :
        `ours`, `theirs`: the medians by key, None without a run; `ratio`: of each key that both
        have, ours over theirs as `median`, `low` and `high` over the rounds; None without a round
        in which the peer's figure is above 0.

    """
    ratios: dict[str, list[float]] = {}
    for one, other in zip(ours, theirs, strict=False):
        for key, value in one.items():
            if other.get(key, 0.0) > 0:
                ratios.setdefault(key, []).append(value / other[key])
    spread = {
        key: {"median": float(np.median(of)), "low": min(of), "high": max(of)}
        for key, of in ratios.items()
    }
    return {"ours": _medians(ours), "theirs": _medians(theirs), "ratio": spread or None}


def met(ratio: dict[str, dict[str, float]] | None, target: Sequence[str]) -> dict[str, bool]:
    """Return for each key in `target` with a ratio whether its median is at least `TARGET`."""
    return {key: ratio[key]["median"] >= TARGET for key in target if ratio and key in ratio}


def _medians(runs: Sequence[dict[str, float]]) -> dict[str, float] | None:
    return {key: float(np.median([run[key] for run in runs])) for key in runs[0]} if runs else None
