"""Told: what tables of what agents told have in common: columns that say which point, and rows
folded away where they are many.
"""

import math
from collections.abc import Mapping, Sequence

from ethermeter.analysis.accounts import Account
from ethermeter.document import number, plain
from ethermeter.report.html import safe, table
from ethermeter.report.labels import key_title

OPEN_ROWS = 24
"""Rows of a table that are shown at once."""


class Places:
    """Columns that tell points apart: the series where there are several, and every varied key."""

    def __init__(self, accounts: Sequence[Account]) -> None:
        """Look which there are."""
        self._several = len({each.series for each in accounts}) > 1
        self._keys = list(dict.fromkeys(key for each in accounts for key in each.point))

    @property
    def head(self) -> list[str]:
        """Heads of the columns."""
        return [
            *(["Series"] if self._several else []),
            *(safe(key_title(key)) for key in self._keys),
        ]

    def cells(self, account: Account) -> list[str]:
        """Cells of a point."""
        return [
            *([safe(account.series)] if self._several else []),
            *(safe(plain(account.point.get(key, ""))) for key in self._keys),
        ]

    def said(self, account: Account) -> str:
        """Which point, in words; empty where there is only one."""
        words = [
            *([account.series] if self._several else []),
            *(f"{key_title(key)}: {plain(of)}" for key, of in account.point.items()),
        ]
        return ", ".join(words)

    def short(self, account: Account) -> str:
        """Which point, by its values alone, for the axis of a figure; empty where there is only
        one.
        """
        return ", ".join(
            [
                *([account.series] if self._several else []),
                *(plain(of) for of in account.point.values()),
            ]
        )


def folded(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, headers: int
) -> str:
    """Table in a panel, folded away where it has many rows."""
    kind = f"data names{min(headers, 4)}"
    text = f'<div class="panel">{table(head, rows, caption=caption, kind=kind, headers=max(headers, 1))}</div>'
    return (
        text
        if len(rows) <= OPEN_ROWS
        else f"<details><summary>{safe(caption)}: {len(rows)} rows</summary>{text}</details>"
    )


def percent(share: float) -> str:
    """Share of one as per cent; a dash for none."""
    return f"{100 * share:.1f}%" if math.isfinite(share) else "–"


def value(of: float, factor: float = 1.0) -> str:
    """Write a number in the unit of the factor; a dash for none."""
    return number(of * factor)


def window_of(result: Mapping[str, object]) -> tuple[float, float] | None:
    """Begin and end of the measured window of a test, in s since the transmission began."""
    phases = result.get("phases")
    if not isinstance(phases, dict) or not {"measure_from_ns", "measure_to_ns"} <= phases.keys():
        return None
    return phases["measure_from_ns"] * 1e-9, phases["measure_to_ns"] * 1e-9
